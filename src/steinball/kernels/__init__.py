"""Radial base kernels and their length scale."""

from steinball.kernels.bandwidth import median_distance
from steinball.kernels.base import Kernel, Product, Scaled, Sum
from steinball.kernels.radial import Gaussian, InverseMultiquadric, Matern

__all__ = ["Gaussian", "InverseMultiquadric", "Kernel", "Matern", "Product", "Scaled", "Sum", "median_distance"]
