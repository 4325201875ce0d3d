"""Kept points and the direction of a bet: projections, renewals, the reservoir."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from steinball.calibration.wealth import log_wealth
from steinball.kernels import InverseMultiquadric
from steinball.sequential.direction import KeptPoints
from steinball.sequential.stream import SequentialTest
from steinball.stein import SteinKernel
from steinball.tilts import PolynomialTilt

pytestmark = pytest.mark.exact
Floats = NDArray[np.float64]

KERNEL, TILT = InverseMultiquadric(math.sqrt(2.0)), PolynomialTilt()


def score(x: Any) -> Any:
    return -x


def stream(n: int, d: int = 1, share: float = 0.2, place: float = 3.0, seed: int = 0) -> Floats:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, d))
    x[rng.random(n) < share] = place
    return x


def a_test(model: Any = score, **options: Any) -> SequentialTest:
    given = {"kernel": KERNEL, "tilt": TILT, "tau": 3.0, "contamination": 0.05, "rng": 0}
    return SequentialTest(model, **{**given, **options})


def test_beyond_the_budget_the_direction_is_projected_on_the_kept_points() -> None:
    """An oracle by eigenvectors: f = ΠS/|ΠS|, Π on the span of the first 12 points, until 24 points have come."""
    x = stream(24, 3, share=0.0, seed=3)
    stein = SteinKernel(KERNEL, TILT)
    u = stein(x, -x, x, -x)
    values, vectors = np.linalg.eigh(u[:12, :12])
    features = (vectors / np.sqrt(values)).T @ u[:12]  # coordinates of the projections, (12, 24)
    payoffs = np.full(24, np.nan)
    for t in range(1, 24):
        past = features[:, :t].sum(axis=1)
        payoffs[t] = features[:, t] @ past / np.linalg.norm(past)
    path = log_wealth(payoffs, 0.05 * math.sqrt(3.0), 3.0)
    test = a_test(budget=12).update(x)
    np.testing.assert_allclose(test.history[1], path, atol=2e-4)  # what is added to the diagonal shows in the 5th digit
    full = a_test().update(x)
    np.testing.assert_allclose(test.history[1][:13], full.history[1][:13], atol=1e-10)
    assert not np.allclose(test.history[1][13:], full.history[1][13:], atol=1e-3)
    assert test.ksd <= full.ksd + 1e-9


@pytest.mark.parametrize("d", [1, 3])
def test_the_projected_direction_is_never_longer_than_one(d: int) -> None:
    """Its length in the RKHS, from the weights of the kept points; outliers in one place make the matrix singular."""
    test = a_test(budget=20)
    for part in np.split(stream(200, d), 20):
        test.update(part)
        assert test._books is not None
        direction, kept = test._books.directions[0], test._books.kept
        if kept.full:
            weights = np.linalg.solve(direction.factor.T, direction.coordinates)
            points = kept.prepared(direction.stein)
            square = weights @ direction.stein.block(points, points) @ weights
            assert square <= direction.length() ** 2 * (1.0 + 1e-9)


def test_kept_points_are_renewed_from_the_whole_past() -> None:
    """Points that come late and are of a new kind are among the kept ones after the next renewal."""
    x = np.concatenate([stream(100, 1, 0.0), np.full((100, 1), 7.0)])
    test = a_test(budget=20).update(x)  # renewals at 40, 80 and 160: a quarter of the 160 points before the last are 7
    assert test._books is not None
    late = np.sum(test._books.kept.samples == 7.0)
    assert 1 <= late <= 16
    assert test._books.kept.renewal == 320


def test_a_reservoir_is_a_uniform_sample_of_the_past() -> None:
    """Over 400 seeds each of 60 points is kept with probability 1/6: within five standard errors."""
    x = np.arange(60.0)[:, None]
    counts = np.zeros(60)
    for seed in range(400):
        kept = KeptPoints.empty(10, np.zeros(1))
        for part in (x[:10], x[10:20], x[20:47], x[47:]):
            kept.add(part, part, np.random.default_rng([seed, len(part)]))
        counts[kept.spare_samples[:, 0].astype(int)] += 1
    error = math.sqrt(400 * (1 / 6) * (5 / 6))
    assert np.abs(counts - 400 / 6).max() < 5.0 * error
