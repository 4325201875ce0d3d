"""What backs the claims that go beyond the paper: simulations under a name, each with expectations that can fail."""

from experiments.evidence.registry import EVIDENCE, EXPERIMENTS

__all__ = ["EVIDENCE", "EXPERIMENTS"]
