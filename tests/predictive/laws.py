"""Rows of laws of every type, in one call."""

from __future__ import annotations

from typing import Any

import numpy as np

from steinball.predictive.law import ClassProbabilities, Distribution, DistributionFunction, Draws, Observed
from steinball.predictive.pit import Pit


def from_cdf_values(u: Any, *, at_limits: Any = None) -> Pit:
    """Rows of continuous laws, given by u = F(y | x), and where they are censored."""
    limits = None if at_limits is None else np.asarray(at_limits)
    return DistributionFunction(np.asarray).pit(u, Observed(limits))


def from_distribution(y: Any, law: Any, *, step: float | None = None, limits: Any = None) -> Pit:
    """Rows of a law with vector parameters."""
    return Distribution(law).pit(y, Observed(None if limits is None else np.asarray(limits), step))


def from_draws(y: Any, draws: Any, rng: np.random.Generator) -> Pit:
    """Rows with predictive draws."""
    return Draws(draws).pit(y, rng=rng)


def from_class_probabilities(y: Any, probabilities: Any, *, ordered: bool = False) -> Pit:
    """Rows of a classifier or an ordinal model."""
    return ClassProbabilities(np.asarray(probabilities), ordered=ordered).pit(y)
