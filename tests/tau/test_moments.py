"""Moments of a model's features from draws of it: their inequality, and that they are upper bounds."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy import stats

import steinball as sb
from steinball.problem import pose
from steinball.tau.moments import ModelMoments, chernoff_upper, largest_eigenvalue

KERNEL, TILT, TAU = sb.InverseMultiquadric(1.0), sb.PolynomialTilt(), 1.6312


@pytest.mark.exact
@pytest.mark.parametrize("p", [0.01, 0.2, 0.7])
@pytest.mark.parametrize("n", [20, 200])
def test_the_upper_value_covers_a_binomial_share(p: float, n: int) -> None:
    """P(upper < p) summed over all counts, exactly: at most the risk, and not absurdly below it."""
    counts = np.arange(n + 1)
    miss = np.array([chernoff_upper(k / n, n, 0.05) < p for k in counts])
    assert stats.binom.pmf(counts[miss], n, p).sum() <= 0.05
    assert all(a <= b for a, b in zip(counts / n, [chernoff_upper(k / n, n, 0.05) for k in counts], strict=True))


@pytest.mark.exact
def test_ends_of_the_upper_value() -> None:
    assert chernoff_upper(1.0, 10, 0.1) == chernoff_upper(1.5, 10, 0.1) == 1.0
    assert chernoff_upper(0.3, 10, 0.0) == 1.0
    assert chernoff_upper(0.3, 10**9, 0.1) == pytest.approx(0.3, abs=1e-4)
    assert chernoff_upper(0.0, 50, 0.01) == pytest.approx(1 - 0.01 ** (1 / 50))


@pytest.mark.exact
@pytest.mark.parametrize("m", [2, 40, 150])
def test_the_largest_eigenvalue_is_the_best_mean_square(m: int) -> None:
    """Of f = Σ aᵢ φ(xᵢ) with |f| = 1: no a does better, and power iteration reaches it."""
    x = np.random.default_rng(m).normal(size=(m, 1))
    problem = pose(x, sb.models.Gaussian(), KERNEL, TILT)
    gram = problem.stein(x, -x, x, -x)
    found = largest_eigenvalue(gram)
    a = np.ones(m) + x[:, 0]
    for _ in range(3000):
        a = gram @ a
        a /= np.linalg.norm(a)
    assert np.mean((gram @ a) ** 2) / (a @ gram @ a) == pytest.approx(found, rel=1e-7)


@pytest.mark.exact
def test_moments_lie_above_those_of_quadrature_and_close_to_them() -> None:
    x = np.linspace(-8, 8, 401)[:, None]
    p = stats.norm.pdf(x[:, 0])
    root = np.sqrt(p / p.sum())
    gram = pose(x, sb.models.Gaussian(), KERNEL, TILT).stein(x, -x, x, -x)
    trace, norm = root**2 @ np.diag(gram), np.linalg.eigvalsh(root[:, None] * gram * root)[-1]
    found = ModelMoments.of(sb.models.Gaussian(), kernel=KERNEL, tilt=TILT, tau=TAU)
    assert trace < found.trace < 1.05 * trace
    assert norm < found.norm < 1.12 * norm
    assert found.failure == pytest.approx(0.001)


@pytest.mark.exact
@pytest.mark.parametrize("given", [{"trace": -1.0, "norm": 0.1}, {"trace": 1.0, "norm": math.inf}])
def test_moments_are_numbers(given: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="must be a finite number"):
        ModelMoments(**given)
    with pytest.raises(TypeError, match=r"`model` must have `sample\(n, rng\)`, and function has not"):
        ModelMoments.of(lambda x: -x, kernel=KERNEL, tilt=TILT, tau=TAU)
