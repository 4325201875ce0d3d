"""Readings of one pass: the numbers of the public tests."""

from __future__ import annotations

import numpy as np
import pytest

import steinball as sb
from experiments.framework.passes import columns_of, factor_of, factored_summary, read, summary_of
from steinball.gram.request import Request
from steinball.gram.whole import DenseGram
from steinball.problem import pose

pytestmark = pytest.mark.exact


def sample(n: int, d: int = 1) -> np.ndarray:
    x = np.random.default_rng(n).normal(size=(n, d))
    x[: n // 12] = 3.0
    return x


@pytest.mark.parametrize(("n", "d"), [(60, 1), (300, 1), (1200, 1), (300, 3)])
def test_a_reading_is_what_the_public_test_says(n: int, d: int) -> None:
    """At radius 0, at two tolerances, and by the boundary bootstrap: p-values agree exactly."""
    x, model, tilt = sample(n, d), sb.models.Gaussian(dimension=d), sb.PolynomialTilt()
    ours = read(x, model, np.random.default_rng(1), 99, None, tilt)
    theirs = sb.ksd_test(
        x, model, tilt=tilt, calibration=sb.WeightedBootstrap(99), check_model=False, rng=np.random.default_rng(1)
    )
    assert (ours.ksd, ours.tau) == pytest.approx((theirs.ksd, theirs.tau), rel=1e-13)
    assert (ours.n, ours.n_resamples, ours.pvalue, ours.rejected) == (n, 99, theirs.pvalue, theirs.rejected)
    for share in (0.02, 0.05):
        here, there = ours.at(contamination=share), theirs.at(contamination=share)
        boundary = there.at(calibration=sb.BoundaryBootstrap(99))
        assert here.radius == pytest.approx(there.radius, rel=1e-13)
        assert (here.pvalue, here.at_the_boundary().pvalue) == (there.pvalue, boundary.pvalue)
    assert ours.at(radius=0.1).pvalue == theirs.at(radius=0.1).pvalue


@pytest.mark.parametrize("lengthscale", [0.1, 1.0, 10.0])
@pytest.mark.parametrize("tilt", [None, sb.PolynomialTilt()], ids=["untilted", "tilted"])
def test_draws_through_a_factor_are_those_of_the_matrix(lengthscale: float, tilt: sb.PolynomialTilt | None) -> None:
    problem = pose(sample(250), sb.models.Gaussian(), sb.InverseMultiquadric(lengthscale), tilt)
    weights = np.random.default_rng(0).integers(-1, 3, size=(40, 250))
    exact = DenseGram(problem).summarise(Request((weights,)))
    found = factored_summary(problem, [weights[:10].astype(float), weights[10:].astype(float)])
    np.testing.assert_allclose(found.quadratic_forms, exact.quadratic_forms, rtol=1e-9)
    np.testing.assert_allclose(found.linear_forms, exact.linear_forms, rtol=1e-9, atol=1e-15)
    assert found.mean == pytest.approx(exact.mean, rel=1e-13)


def test_both_factors_give_the_matrix_back() -> None:
    problem = pose(sample(200), sb.models.Gaussian(), sb.InverseMultiquadric(1.0))
    matrix = problem.stein.block(problem.points, problem.points)
    columns = columns_of(problem)
    assert columns is not None
    for factor in (factor_of(matrix), columns):
        assert factor.shape[1] < 100
        np.testing.assert_allclose(factor @ factor.T, matrix, atol=1e-11)


def test_a_matrix_of_many_columns_is_left_to_the_engine() -> None:
    problem = pose(sample(1100), sb.models.Gaussian(), sb.InverseMultiquadric(0.01))
    assert columns_of(problem) is None
    weights = np.random.default_rng(0).integers(-1, 2, size=(3, 1100))
    assert summary_of(problem, weights).engine == "blocked"
