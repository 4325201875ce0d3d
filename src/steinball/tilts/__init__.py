"""Weights that bound the Stein kernel."""

from steinball.tilts.base import Tilt
from steinball.tilts.edge import EdgeTilt
from steinball.tilts.polynomial import PolynomialTilt, automatic_tilt

__all__ = ["EdgeTilt", "PolynomialTilt", "Tilt", "automatic_tilt"]
