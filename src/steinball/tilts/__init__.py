"""Weights that bound the Stein kernel."""

from steinball.tilts.base import EdgeTilt, PolynomialTilt, PowerTilt, Tilt
from steinball.tilts.scatter import robust_scatter

__all__ = ["EdgeTilt", "PolynomialTilt", "PowerTilt", "Tilt", "robust_scatter"]
