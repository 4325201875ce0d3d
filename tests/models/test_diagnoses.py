"""Mistakes that people make, planted and named by `check_score`; a log density that is taken for a score."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from scipy import stats

import steinball as sb
from steinball.models.diagnoses import find_endings

pytestmark = pytest.mark.exact

RNG = np.random.default_rng(0)
COV = np.array([[2.0, 0.9], [0.9, 1.0]])
MEAN = np.array([1.0, -2.0])
GAUSSIAN = sb.models.Gaussian(MEAN, COV)
X = GAUSSIAN.sample(30, rng=1)
WHITENER = np.linalg.inv(np.linalg.cholesky(COV))


@pytest.mark.parametrize(
    ("score", "words"),
    [
        (lambda x: -GAUSSIAN.score(x), "The sign is flipped"),
        (lambda x: 3.0 * GAUSSIAN.score(x), "3 times the gradient"),
        (lambda x: -(x - MEAN) @ COV, "the covariance in place of its inverse"),
        (lambda x: -(x - MEAN) @ WHITENER @ WHITENER.T, "factor of the covariance is transposed"),
        (lambda x: -(x - MEAN) @ WHITENER.T, "whitened once"),
        (lambda x: -(x - MEAN) @ WHITENER, "whitened once"),
        (lambda x: GAUSSIAN.score(x) @ np.array([[1.0, 0.3], [0.2, 1.1]]), "times a constant matrix"),
    ],
    ids=["sign", "factor", "not inverted", "transposed", "once", "once, transposed", "a matrix"],
)
def test_a_wrong_sign_factor_or_covariance_is_named(score: Any, words: str) -> None:
    found = sb.check_score(score, X, log_density=GAUSSIAN.log_density)
    assert not found.ok
    assert words in found.message


@pytest.mark.parametrize(
    ("x", "log_density", "extra", "words"),
    [
        (stats.lognorm(1.0).rvs((30, 1), random_state=0), stats.lognorm(1.0).logpdf, lambda x: 1.0 / x, "y = log x"),
        (stats.beta(2, 3).rvs((30, 1), random_state=0), stats.beta(2, 3).logpdf, lambda x: 1 / x - 1 / (1 - x),
         "y = logit x"),
        (RNG.normal(size=(30, 1)), lambda x: 2 * x - np.exp(x), lambda x: -np.ones_like(x), "x = exp y"),
        (RNG.normal(size=(30, 1)), stats.genlogistic(3.0).logpdf, lambda x: np.tanh(x / 2), "x = sigmoid y"),
    ],
    ids=["log", "logit", "exp", "sigmoid"],
)  # fmt: skip
def test_a_missing_jacobian_is_named(x: Any, log_density: Any, extra: Any, words: str) -> None:
    truth = sb.from_log_density(lambda z: log_density(z)[:, 0], backend="numerical")
    support = (0, 1) if "logit" in words else (0, None) if "log" in words else None
    wrong = sb.from_score(lambda z: truth.score(z) + extra(z), support=support)
    found = sb.check_score(wrong, x, log_density=truth.log_density)
    assert not found.ok
    assert f"The Jacobian of {words} is missing" in found.message


@pytest.mark.parametrize(
    ("distribution", "edge", "words"),
    [
        (stats.expon(), 0.0, "does not vanish there: Stein's identity fails"),
        (stats.uniform(1.0, 2.0), 1.0, "does not vanish there"),
        (stats.gamma(1.5), 0.0, r"like r^0.5 in the distance r: E u(x, x) is infinite"),
    ],
    ids=["exponential", "uniform", "gamma"],
)
def test_an_edge_that_nobody_declared_is_named(distribution: Any, edge: float, words: str) -> None:
    x = distribution.rvs((40, 1), random_state=0)
    model: Any = sb.as_model(distribution)
    found = sb.check_score(model.score, x, log_density=model.log_density)
    assert not found.ok
    assert words in found.message
    declared = sb.from_score(model.score, support=model.support.ends, log_density=model.log_density)
    assert sb.check_score(declared, x).ok
    assert find_endings(model._log_density, x)[0].edge == pytest.approx(edge, abs=1e-6)


def test_densities_that_vanish_at_their_edge_or_have_none_are_left_alone() -> None:
    for distribution in (stats.lognorm(1.0), stats.gamma(4.0), stats.t(3.0), stats.norm()):

        def log_density(z: Any, of: Any = distribution) -> Any:
            return of.logpdf(z)[:, 0]

        assert find_endings(log_density, distribution.rvs((40, 1), random_state=0)) == []


def test_it_runs_by_itself_and_warns_every_time() -> None:
    x = RNG.normal(size=60)
    wrong = sb.from_score(lambda z: -2.0 * z, log_density=lambda z: -0.5 * z[:, 0] ** 2)
    for _ in range(2):
        with pytest.warns(sb.cautions.WrongScoreWarning, match="a factor 1/2 is missing"):
            sb.ksd_test(x, wrong, rng=0)
    half = sb.from_log_density(lambda z: np.where(z[:, 0] > 0, -z[:, 0], -np.inf), backend="numerical")
    with pytest.warns(sb.cautions.WrongScoreWarning, match=r"ends at .* and does not vanish there.*support="):
        sb.ksd_test(np.abs(x) + 0.01, half, rng=0)


def test_right_models_are_not_warned_of() -> None:
    x = RNG.normal(size=60)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sb.ksd_test(x, sb.from_score(lambda z: -z, log_density=lambda z: -0.5 * z[:, 0] ** 2), rng=0)
        sb.ksd_test(x, sb.from_log_density(lambda z: -0.5 * z[:, 0] ** 2, backend="numerical"), rng=0)
        broken = sb.from_score(lambda z: -z, log_density=lambda z: 1 / 0)
        sb.ksd_test(x, broken, rng=0)
        sb.ksd_test(x, sb.from_score(lambda z: -2.0 * z, log_density=lambda z: -(z[:, 0] ** 2)), rng=0, level=0.01)
