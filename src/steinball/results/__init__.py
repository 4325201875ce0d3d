"""What a test found: the decision, how far it can be trusted, and what it would have been."""

from steinball.results.gof import GofResult

__all__ = ["GofResult"]
