"""Slopes of the Stein features, against small steps and pairs of points."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import steinball as sb
from steinball import radius as r
from steinball.tau.lipschitz import feature_slopes, lipschitz_constant
from tests.tau.posed import METRIC, TAU, X, distance, problem

pytestmark = pytest.mark.exact

CASES: dict[str, dict[str, Any]] = {
    "multiquadric": {},
    "gaussian kernel": {"kernel": sb.kernels.Gaussian(0.8)},
    "matern 5/2": {"kernel": sb.kernels.Matern(1.5, 2.5)},
    "metric": {"kernel": sb.InverseMultiquadric(1.2, metric=METRIC)},
    "sum": {"kernel": sb.InverseMultiquadric(1.2) + 2.0 * sb.kernels.Gaussian(1.0)},
    "precision tilt": {"tilt": sb.PolynomialTilt(0.7, center=[0.3, -0.2], precision=METRIC)},
    "mixture": {"model": sb.models.GaussianMixture([0.3, 0.7], [[-1.0, 0.0], [1.0, 0.5]])},
    "all at once": {  # s and ∇w point different ways: the Jacobian of w s + ∇w is not symmetric
        "model": sb.models.GaussianMixture([0.3, 0.7], [[-1.0, 0.0], [1.0, 2.5]]),
        "kernel": sb.InverseMultiquadric(1.2, metric=METRIC),
        "tilt": sb.PolynomialTilt(0.9, center=[2.0, -1.0], precision=[0.3, 2.0]),
    },
    "student": {"model": sb.models.StudentT(4.0, dimension=2), "tilt": None},
}


@pytest.mark.parametrize("name", CASES)
def test_the_slope_of_the_features_is_that_of_small_steps(name: str) -> None:
    """The largest of |φ(x + h v) − φ(x − h v)| / 2h over a circle of directions v, h = 2e-3."""
    here, x = problem(**CASES[name]), X[:8]
    h = 2e-3
    best = np.zeros(len(x))
    for angle in np.linspace(0.0, math.pi, 181):
        v = h * np.array([math.cos(angle), math.sin(angle)])
        best = np.maximum(best, distance(here, x + v, x - v) / (2 * h))
    assert feature_slopes(here, x) == pytest.approx(best, rel=3e-3 if name == "matern 5/2" else 3e-4)


@pytest.mark.parametrize("name", ["multiquadric", "metric", "mixture", "student"])
def test_no_pair_of_points_exceeds_the_lipschitz_constant(name: str) -> None:
    here, rng = problem(**CASES[name]), np.random.default_rng(1)
    found = lipschitz_constant(here)
    assert found.kind == "optimized"
    x = 3.0 * rng.normal(size=(4000, 2))
    y = x + rng.normal(size=(4000, 2)) * 10.0 ** rng.uniform(-2, 0.5, size=(4000, 1))
    ratios = distance(here, x, y) / np.linalg.norm(x - y, axis=1)
    assert 0.75 * found.value < ratios.max() <= found.value * (1 + 1e-6)


def test_a_lipschitz_constant_that_does_not_exist_is_refused() -> None:
    with pytest.raises(ValueError, match="not Lipschitz"):
        r.Wasserstein(0.1)(problem(kernel=sb.kernels.Matern(1.0, 1.5)), TAU)
