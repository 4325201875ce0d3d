"""What backs the claims that go beyond the paper: simulations under a name, each with expectations that can fail."""

from steinball.evidence.registry import EVIDENCE, EXPERIMENTS

__all__ = ["EVIDENCE", "EXPERIMENTS"]
