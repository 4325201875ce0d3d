"""τ∞ = sup u(x, x): how large one point's share of D can be, and how that number was obtained (paper §4.2, App. B)."""

from steinball.features.kinds import UPPER_BOUNDS, Supremum, UnboundedSteinKernelWarning, UncertifiedSupremumWarning
from steinball.features.regions import Ball, Box
from steinball.features.supremum import find_supremum
from steinball.features.tilting import choose_tilt, tilt_efficiency
from steinball.features.unbounded import warn_if_unbounded

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
