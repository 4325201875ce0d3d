"""What the experiments on the paper's text compute with: against closed forms, brute force and the library's tests."""

from __future__ import annotations

import math
from contextlib import nullcontext
from typing import Any

import numpy as np
import pytest
from scipy import stats
from scipy.integrate import quad

import steinball as sb
from experiments.paper import bounded_score, dependence, growing_score, localized, u_statistic, weighted_norm
from experiments.paper.draws import drawn
from experiments.paper.weights import stein_diagonal
from steinball.models import Gaussian
from steinball.stein import SteinKernel
from steinball.tau.tilting import choose_tilt
from steinball.tilts import PolynomialTilt

pytestmark = pytest.mark.exact


@pytest.mark.parametrize("memory", [0, 0.5, 0.9])
def test_the_chain_is_stationary_and_its_neighbors_have_the_correlation(memory: float) -> None:
    """Over 4,000 chains: variance 1 at the first and the last row, ρ between neighbors and ρ³ three rows on."""
    rng = np.random.default_rng(0)
    x = np.hstack([dependence.chain(6, memory, rng) for _ in range(4000)])
    np.testing.assert_allclose([x[0].var(), x[5].var()], 1.0, atol=0.1)
    found = np.corrcoef(x)
    np.testing.assert_allclose([found[2, 3], found[1, 4]], [memory, memory**3], atol=0.06)


def test_the_markov_signs_decide_as_the_librarys_test_does() -> None:
    cell = {"n": 300, "dimension": 1, "rate": 0.5, "shift": 0.2}
    rows = {row["bootstrap"]: row for row in dependence.trial(cell, np.random.default_rng(2))}
    rng = np.random.default_rng(2)
    x = dependence.chain(300, 0.5, rng) + 0.2
    made = {"weighted": sb.WeightedBootstrap(300), "markov": sb.WildBootstrap(300, dependence="auto")}
    for name, calibration in made.items():
        with pytest.warns(sb.cautions.DependentRowsWarning) if name == "weighted" else nullcontext():
            result = sb.ksd_test(x, Gaussian(), tilt=PolynomialTilt(), calibration=calibration, rng=rng)
        assert rows[name]["pvalue"] == result.pvalue


def test_a_chain_that_is_too_short_is_not_rejected() -> None:
    [_, markov] = dependence.trial({"n": 50, "dimension": 1, "rate": 0.99, "shift": 0.0}, np.random.default_rng(0))
    assert (markov["rejected"], markov["pvalue"]) == (0, 1.0)


@pytest.mark.parametrize("r", growing_score.POWERS)
def test_the_model_of_a_growing_score_is_the_density_that_it_says(r: int) -> None:
    model = growing_score.model(r)
    x = np.array([[-1.3], [0.4], [2.0]])
    h = 1e-6
    numeric = (-(np.abs(x + h) ** r) + np.abs(x - h) ** r) / (2 * h)
    np.testing.assert_allclose(model.score(x), numeric, rtol=1e-5)
    total = quad(lambda v: math.exp(-(v**r)), 0.0, math.inf)[0]
    draws = model.sample(4000, np.random.default_rng(1))[:, 0]

    def cdf(v: Any) -> Any:
        tail = stats.gamma(1.0 / r).cdf(np.abs(v) ** r) / 2.0
        return 0.5 + np.sign(v) * tail

    assert 2.0 * total == pytest.approx(2.0 * math.gamma(1.0 + 1.0 / r))
    assert stats.kstest(draws, cdf).pvalue > 1e-3


@pytest.mark.parametrize("r", growing_score.POWERS)
def test_the_needed_exponent_is_the_least_that_bounds_u(r: int) -> None:
    """w²s² → r² for b = (r − 1)/2; a little less grows without limit. The library takes the same."""
    b = growing_score.needed(r)
    far = np.array([1e4, 1e8])
    np.testing.assert_allclose(growing_score.diagonal(r, b, far), float(r * r), rtol=1e-3)
    less = growing_score.diagonal(r, b - 0.05, far)
    assert less[1] > 2.0 * less[0]
    assert growing_score.printed(2) == growing_score.needed(2)
    model = growing_score.model(r)
    tilt = choose_tilt(model.sample(200, np.random.default_rng(0)), model, sb.InverseMultiquadric(1.0))
    assert isinstance(tilt, PolynomialTilt)
    assert tilt.exponent == b


@pytest.mark.parametrize("kind", bounded_score.MODELS)
def test_a_bounded_score_is_that_of_its_density_and_bounds_u(kind: str) -> None:
    density = {bounded_score.STUDENT: stats.t(5.0), bounded_score.LOGISTIC: stats.logistic()}[kind]
    x, h = np.array([-30.0, -1.0, 0.2, 7.0]), 1e-5
    numeric = (density.logpdf(x + h) - density.logpdf(x - h)) / (2 * h)
    np.testing.assert_allclose(bounded_score.MODELS[kind].score(x[:, None])[:, 0], numeric, rtol=1e-4)
    assert np.isfinite(bounded_score.diagonal(kind, 0.0, [1e150])).all()
    np.testing.assert_allclose(bounded_score.diagonal(kind, 0.0, x), numeric**2 + 1.0, rtol=1e-4)


def test_the_localized_supremum_is_the_maximum_over_a_fine_grid() -> None:
    for exponent in (0.5, 0.0):
        for bound in (0.5, 1.0, 3.0):
            grid = stein_diagonal(exponent, np.linspace(-bound, bound, 20_001))
            assert localized.localized(exponent, bound) == pytest.approx(grid.max(), rel=1e-6)
    assert localized.localized(0.0, 3.0) == pytest.approx(9.5)


def test_both_statistics_are_those_of_all_pairs() -> None:
    x = np.random.default_rng(4).normal(1.0, 1.0, size=(40, 1))
    kernel = sb.InverseMultiquadric(1.5)
    found = drawn(x, Gaussian(), np.random.default_rng(0), kernel, PolynomialTilt())
    matrix = SteinKernel(kernel, PolynomialTilt())(x, -x, x, -x)
    apart = matrix[~np.eye(40, dtype=bool)]
    assert u_statistic.distance(found, "v") == pytest.approx(math.sqrt(matrix.mean()))
    assert u_statistic.distance(found, "u") == pytest.approx(math.sqrt(apart.mean()))


def test_the_precision_of_each_strategy_is_what_its_name_says() -> None:
    rng = np.random.default_rng(0)
    x = rng.multivariate_normal(np.zeros(5), weighted_norm.covariance(), size=20_000)
    exact = np.linalg.inv(weighted_norm.covariance())
    for strategy in (weighted_norm.SAMPLE, weighted_norm.ROBUST, weighted_norm.TRUE):
        found = weighted_norm.tilt(strategy, x).precision
        np.testing.assert_allclose(found @ weighted_norm.covariance(), np.eye(5), atol=0.35)
    np.testing.assert_allclose(weighted_norm.tilt(weighted_norm.TRUE, x).precision, exact, atol=1e-9)
    np.testing.assert_allclose(weighted_norm.tilt(weighted_norm.MAD, x).precision, np.eye(5), atol=0.05)
    assert weighted_norm.tilt(weighted_norm.IDENTITY, x).precision is None
