"""Weights that bound the Stein kernel."""

from steinball.tilts.base import PowerTilt, Tilt
from steinball.tilts.edge import EdgeTilt
from steinball.tilts.polynomial import PolynomialTilt
from steinball.tilts.scatter import robust_scatter

__all__ = [
    "EdgeTilt",
    "PolynomialTilt",
    "PowerTilt",
    "Tilt",
    "robust_scatter",
]
