"""τ∞ = sup u(x, x): how large one point's share of D can be, and how that number was obtained (paper §4.2, App. B)."""

from steinball.cautions import UnboundedSteinKernelWarning, UncertifiedSupremumWarning
from steinball.features.kinds import Supremum
from steinball.features.regions import Ball, Box
from steinball.features.tilting import tilt_efficiency

__all__ = [
    "Ball",
    "Box",
    "Supremum",
    "UnboundedSteinKernelWarning",
    "UncertifiedSupremumWarning",
    "tilt_efficiency",
]
