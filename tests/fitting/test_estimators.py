"""Estimators: influence functions, standard errors, and which of them a tolerance takes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from steinball import fitting
from steinball.fitting import Estimator, MaximumLikelihood, MedianMAD, MinimumKSD
from steinball.fitting.estimators import as_estimator
from steinball.kernels import InverseMultiquadric
from steinball.stein import SteinKernel
from steinball.tilts import PolynomialTilt

as_family: Any = fitting.as_family
pytestmark = pytest.mark.exact
STEIN = SteinKernel(InverseMultiquadric(2.0), PolynomialTilt())


@pytest.mark.parametrize("estimator", [MaximumLikelihood(), MinimumKSD(), MedianMAD()], ids=lambda e: e.label)
def test_standard_errors_are_those_of_repeated_samples(estimator: Estimator) -> None:
    """100 samples of 200: a standard deviation of that many has a standard error of 7 %; three of them are allowed."""
    family = as_family("normal", 1)
    samples = np.random.default_rng(0).normal(1.0, 2.0, size=(100, 200, 1))
    found = np.array([estimator.params(family, x, STEIN) for x in samples])
    claimed = np.array([estimator.estimate(family, x, STEIN).standard_errors(x) for x in samples[:20]])
    np.testing.assert_allclose(claimed.mean(axis=0), found.std(axis=0), rtol=0.22)


@pytest.mark.parametrize("estimator", [MaximumLikelihood(), MinimumKSD(), MedianMAD()], ids=lambda e: e.label)
def test_influence_is_bounded_where_it_is_said_to_be(estimator: Estimator) -> None:
    x = np.random.default_rng(0).normal(size=(200, 1))
    influence = estimator.estimate(as_family("normal", 1), x, STEIN).influence
    largest = np.abs(influence(np.array([[1e3], [1e6]]))).max()
    assert (largest < 50.0) == estimator.bounded_influence
    assert np.abs(influence(x).mean(axis=0)).max() < 0.2


def test_the_default_depends_on_the_tolerance() -> None:
    assert as_estimator(None, 0.0) == MaximumLikelihood()
    assert as_estimator(None, 0.05) == MinimumKSD()
    assert as_estimator("mle", 0.0) == MaximumLikelihood()


@pytest.mark.parametrize(
    ("fit", "contamination", "words"),
    [(MaximumLikelihood(), 0.05, "unbounded influence.*MinimumKSD"), ("least squares", 0.0, "must be None")],
    ids=["unbounded", "unknown"],
)
def test_what_does_not_fit_is_refused(fit: Any, contamination: float, words: str) -> None:
    with pytest.raises((TypeError, ValueError), match=words):
        as_estimator(fit, contamination)


def test_median_and_mad_are_for_the_normal_family() -> None:
    with pytest.raises(ValueError, match="for the normal family on the line, got gamma"):
        MedianMAD().params(as_family("gamma", 1), np.ones((3, 1)), STEIN)
