"""Families of models, and how their parameters are fitted."""

from steinball.fitting.estimators import Estimate, Estimator, MaximumLikelihood, MedianMAD, MinimumKSD
from steinball.fitting.family import ExponentialFamily, Family
from steinball.fitting.foreign import as_family

__all__ = [
    "Estimate",
    "Estimator",
    "ExponentialFamily",
    "Family",
    "MaximumLikelihood",
    "MedianMAD",
    "MinimumKSD",
    "as_family",
]
