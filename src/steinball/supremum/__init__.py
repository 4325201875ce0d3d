"""τ∞ = sup u(x, x): how large one point's share of D can be, and how that number was obtained (paper §4.2, App. B)."""

from steinball.supremum.choose import find_supremum
from steinball.supremum.kinds import UPPER_BOUNDS, Supremum, UnboundedSteinKernelWarning, UncertifiedSupremumWarning
from steinball.supremum.regions import Ball, Box
from steinball.supremum.tilting import choose_tilt, tilt_efficiency
from steinball.supremum.unbounded import warn_if_unbounded

__all__ = [
    "UPPER_BOUNDS",
    "Ball",
    "Box",
    "Supremum",
    "UnboundedSteinKernelWarning",
    "UncertifiedSupremumWarning",
    "choose_tilt",
    "find_supremum",
    "tilt_efficiency",
    "warn_if_unbounded",
]
