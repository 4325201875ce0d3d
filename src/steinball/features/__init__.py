"""τ∞ = sup u(x, x): how large one point's share of D can be, and how that number was obtained (paper §4.2, App. B)."""

from typing import TYPE_CHECKING

from steinball.cautions import UnboundedSteinKernelWarning, UncertifiedSupremumWarning
from steinball.cautions import renamed_names as _renamed_names
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

if not TYPE_CHECKING:
    __getattr__ = _renamed_names(
        __name__,
        {
            "choose_tilt": "steinball.features.tilting.choose_tilt",
            "find_supremum": "steinball.features.supremum.find_supremum",
            "warn_if_unbounded": "steinball.features.unbounded.warn_if_unbounded",
        },
    )
