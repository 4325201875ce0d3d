"""Radial base kernels and their length scale."""

from steinball.kernels.bandwidth import median_distance
from steinball.kernels.base import Kernel
from steinball.kernels.radial import Gaussian, InverseMultiquadric, Matern

__all__ = ["Gaussian", "InverseMultiquadric", "Kernel", "Matern", "median_distance"]
