"""Estimators: influence functions, standard errors, and which of them a tolerance takes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import steinball as sb
from steinball import fitting
from steinball.fitting import Estimator, MaximumLikelihood, MinimumKSD
from steinball.fitting.families import as_estimator
from steinball.kernels import InverseMultiquadric
from steinball.stein import SteinKernel
from steinball.tilts import PolynomialTilt
from tests.fitting.conftest import case

fit_test: Any = sb.fit_test  # of one or the other result

as_family: Any = fitting.as_family
pytestmark = pytest.mark.exact
STEIN = SteinKernel(InverseMultiquadric(2.0), PolynomialTilt())


@pytest.mark.parametrize("estimator", [MaximumLikelihood(), MinimumKSD()], ids=lambda e: e.label)
def test_standard_errors_are_those_of_repeated_samples(estimator: Estimator) -> None:
    """100 samples of 200: a standard deviation of that many has a standard error of 7 %; three of them are allowed."""
    family = as_family("normal", 1)
    samples = np.random.default_rng(0).normal(1.0, 2.0, size=(100, 200, 1))
    found = np.array([estimator.params(family, x, STEIN) for x in samples])
    claimed = np.array([estimator.estimate(family, x, STEIN).standard_errors(x) for x in samples[:20]])
    np.testing.assert_allclose(claimed.mean(axis=0), found.std(axis=0), rtol=0.22)


@pytest.mark.parametrize("estimator", [MaximumLikelihood(), MinimumKSD()], ids=lambda e: e.label)
def test_influence_is_bounded_where_it_is_said_to_be(estimator: Estimator) -> None:
    x = np.random.default_rng(0).normal(size=(200, 1))
    influence = estimator.estimate(as_family("normal", 1), x, STEIN).influence
    largest = np.abs(influence(np.array([[1e3], [1e6]]))).max()
    assert (largest < 50.0) == estimator.bounded_influence
    assert np.abs(influence(x).mean(axis=0)).max() < 0.2


def test_what_is_no_estimator_is_refused() -> None:
    assert as_estimator(None) == MaximumLikelihood()
    with pytest.raises(TypeError, match="must be None"):
        as_estimator("least squares")


def test_standard_errors_of_maximum_likelihood_hold_where_the_family_is_wrong() -> None:
    """The mean of 350 rows, 8 of them at −99.9, and exponential data in a normal family: sd/√n, and the bootstrap's."""
    rng = np.random.default_rng(0)
    x = np.append(rng.normal(17.0, 3.0, 342), np.full(8, -99.9))
    fit = fit_test(x, "normal", rng=0)
    assert fit.standard_errors["mean"] == pytest.approx(x.std() / np.sqrt(350), rel=1e-6)
    y = rng.exponential(size=400)
    found = fit_test(y, "normal", rng=0).standard_errors
    draws = [rng.choice(y, 400) for _ in range(400)]
    assert found["mean"] == pytest.approx(np.std([draw.mean() for draw in draws]), rel=0.15)
    assert found["sd"] == pytest.approx(np.std([draw.std() for draw in draws]), rel=0.15)


@pytest.mark.parametrize("name", ["gamma", "weibull", "student-t", "lognormal"])
def test_the_influence_of_maximum_likelihood_is_what_one_more_point_does(name: str) -> None:
    family, x, _ = case(name)
    estimate = MaximumLikelihood().estimate(family, x, STEIN)
    points = np.quantile(x, [0.1, 0.9])[:, None]
    more = [family.fit(np.vstack([np.repeat(x, 20, axis=0), point[None]])) for point in points]
    moved = (np.array(more) - estimate.params) * (20 * len(x) + 1)
    np.testing.assert_allclose(estimate.influence(points), moved, rtol=0.02, atol=0.02 * np.abs(moved).max())


def test_a_parameter_at_the_edge_of_its_family_is_not_fitted() -> None:
    """Light tails: the t is the normal distribution, and its location and scale have the errors of that."""
    x = np.random.default_rng(1).uniform(size=200)
    student, normal = (fit_test(x, family, rng=0) for family in ("student-t", "normal"))
    assert student.params["df"] == np.inf
    assert student.standard_errors["loc"] == pytest.approx(normal.standard_errors["mean"], rel=1e-4)
    assert student.pvalue == pytest.approx(normal.pvalue, abs=0.01)
    assert "df inf (at the edge of the family)" in str(student)


@pytest.mark.parametrize("unit", [1e-9, 1e9])
def test_standard_errors_of_maximum_likelihood_change_with_the_unit_of_the_data(unit: float) -> None:
    family, x = as_family("weibull", 1), np.random.default_rng(0).gamma(2.0, size=(200, 1))
    plain, scaled = (MaximumLikelihood().estimate(family, c * x, STEIN).standard_errors(c * x) for c in (1.0, unit))
    np.testing.assert_allclose(scaled, plain * [1.0, unit], rtol=1e-5)
