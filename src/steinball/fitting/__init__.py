"""Families of models, how their parameters are fitted, and the least KSD over a family."""

from steinball.fitting.estimation import (
    Ellipsoid,
    MinimumKSDFit,
    fit_kernel_exponential_family,
    fit_minimum_ksd,
    minimum_ksd_coefficients,
)
from steinball.fitting.families import Estimate, Estimator, MaximumLikelihood, MedianMAD, MinimumKSD, as_family
from steinball.models.family import ExponentialFamily, Family

__all__ = [
    "Ellipsoid",
    "Estimate",
    "Estimator",
    "ExponentialFamily",
    "Family",
    "MaximumLikelihood",
    "MedianMAD",
    "MinimumKSD",
    "MinimumKSDFit",
    "as_family",
    "fit_kernel_exponential_family",
    "fit_minimum_ksd",
    "minimum_ksd_coefficients",
]
