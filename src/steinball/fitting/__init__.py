"""Families of models, how their parameters are fitted, and the least KSD over a family."""

from steinball.fitting.families import (
    Estimate,
    Estimator,
    MaximumLikelihood,
    MinimumKSD,
    MinimumKSDFit,
    as_family,
    fit_minimum_ksd,
)
from steinball.fitting.minimum_ksd import fit_kernel_exponential_family
from steinball.models.family import ExponentialFamily, Family

__all__ = ["Estimate", "Estimator", "ExponentialFamily", "Family", "MaximumLikelihood", "MinimumKSD", "MinimumKSDFit"]
__all__ += ["as_family", "fit_kernel_exponential_family", "fit_minimum_ksd"]
