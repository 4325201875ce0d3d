"""How much of a sample can be kept: no shares beat the dual bound."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import steinball as sb
from steinball.explain.kept_mass import _dual_bound, keep_most
from steinball.problem import Problem, pose

pytestmark = pytest.mark.exact

KERNEL, TILT = sb.InverseMultiquadric(1.0), sb.PolynomialTilt()


def problem_of(x: Any) -> Problem:
    d = 1 if np.ndim(x) == 1 else x.shape[1]
    return pose(x, sb.models.Gaussian(np.zeros(d), np.eye(d)), KERNEL, TILT)


def gram(problem: Problem) -> NDArray[np.float64]:
    return np.asarray(problem.stein.block(problem.points, problem.points))


def outliers(seed: int, n: int, share: float, d: int = 1) -> NDArray[np.float64]:
    """N(0, I) with the first rows around 3 in every coordinate."""
    rng = np.random.default_rng(seed)
    x, m = rng.normal(size=(n, d)), round(n * share)
    x[:m] = 3.0 + 0.3 * rng.normal(size=(m, d))
    return x


def test_no_shares_beat_the_dual_bound() -> None:
    rng = np.random.default_rng(0)
    matrix = gram(problem_of(outliers(3, 15, 0.3)))
    rho = 0.5 * math.sqrt(matrix.mean())
    best = keep_most(lambda v: matrix @ v, 15, rho, 1e-9)
    for _ in range(300):
        guess = rng.random(15) ** rng.choice([0.1, 1.0, 4.0])
        bound = _dual_bound(matrix @ guess / 15, math.sqrt(guess @ matrix @ guess) / 15, rho)
        assert best.kept.mean() <= bound + 1e-9
    assert best.gap < 1e-4


def test_the_dual_bound_is_the_least_over_its_scale() -> None:
    rng = np.random.default_rng(1)
    for _ in range(200):
        values, norm, rho = rng.normal(0.3, 1.0, size=9), rng.random(), rng.random()
        scales = [0.0, *(1.0 / values[values > 0.0]), *rng.exponential(3.0, size=50)]
        wanted = min(rho * norm * t + np.maximum(1.0 - t * values, 0.0).mean() for t in scales)
        assert _dual_bound(values, norm, rho) == pytest.approx(wanted, abs=1e-12)
