"""Radial base kernels and their length scale."""

from steinball.kernels.base import Kernel, median_distance
from steinball.kernels.radial import Gaussian, InverseMultiquadric, Matern

__all__ = ["Gaussian", "InverseMultiquadric", "Kernel", "Matern", "median_distance"]
