"""τ∞ = sup u(x, x): how large one point's share of D can be, and how that number was obtained (paper §4.2, App. B)."""

from steinball.tau.certificate import Supremum
from steinball.tau.search import Ball, Box

__all__ = ["Ball", "Box", "Supremum"]
