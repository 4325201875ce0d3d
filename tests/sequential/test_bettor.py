"""A bettor on a stream: projections, renewals, the reservoir; bounded, and blind to what comes."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from steinball.calibration.betting import log_wealth
from steinball.sequential import bettor
from steinball.sequential.bettor import Direction, KeptPoints
from steinball.sequential.stream import KEPT
from steinball.stein import SteinKernel
from tests.sequential.streams import KERNEL, TILT, a_test, stream

pytestmark = pytest.mark.exact


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
        assert test._bettor is not None
        direction, kept = test._bettor.directions[0], test._bettor.kept
        if kept.full:
            weights = np.linalg.solve(direction.factor.T, direction.coordinates)
            points = kept.prepared(direction.stein)
            square = weights @ direction.stein.block(points, points) @ weights
            assert square <= direction.square * (1.0 + 1e-9)


def test_kept_points_are_renewed_from_the_whole_past() -> None:
    """Points that come late and are of a new kind are among the kept ones after the next renewal."""
    x = np.concatenate([stream(100, 1, 0.0), np.full((100, 1), 7.0)])
    test = a_test(budget=20).update(x)  # renewals at 40, 80 and 160: a quarter of the 160 points before the last are 7
    assert test._bettor is not None
    late = np.sum(test._bettor.kept.points[:, 0] == 7.0)
    assert 1 <= late <= 16
    assert test._bettor.kept.seen + test._bettor.kept.room() == 320


def test_a_reservoir_is_a_uniform_sample_of_the_past() -> None:
    """Over 400 seeds each of 60 points is kept with probability 1/6: within five standard errors."""
    x = np.arange(60.0)[:, None]
    counts = np.zeros(60)
    for seed in range(400):
        kept = KeptPoints.empty(10, np.zeros(1))
        for part in (x[:10], x[10:20], x[20:47], x[47:]):
            kept.add(np.stack([part, part], axis=1), np.random.default_rng([seed, len(part)]))
        counts[kept.spare[:, 0, 0].astype(int)] += 1
    error = math.sqrt(400 * (1 / 6) * (5 / 6))
    assert np.abs(counts - 400 / 6).max() < 5.0 * error


def test_kept_points_are_bounded_by_the_budget() -> None:
    test = a_test(budget=25).update(stream(500, 2))
    assert test._bettor is not None
    held = [array for array in test._bettor.arrays().values() if array.ndim]
    assert max(array.shape[0] for array in held if array.ndim == 2) <= 25
    assert test._bettor.kept.points.shape == test._bettor.kept.spare.shape == (25, 2, 2)
    assert sum(array.size for array in held) < 4 * 25 * 2 + 25**2 + 25 + bettor.GRID.size * 20 + 2 * KEPT + 200


@pytest.mark.parametrize("options", [{}, {"budget": 20}, {"burn_in": 10, "kernel": None}])
def test_points_to_come_change_nothing_that_was(options: dict[str, Any]) -> None:
    x = stream(90)
    for cut in (11, 30, 75):
        other = x.copy()
        other[cut:] = np.random.default_rng(5).uniform(-5.0, 5.0, size=(90 - cut, 1))
        first, second = (a_test(**options).update(part) for part in (x, other))
        np.testing.assert_allclose(first.history[1][:cut], second.history[1][:cut], atol=1e-9)
        assert not np.allclose(first.history[1][cut:], second.history[1][cut:])


class Products:
    """A Stein kernel u(x, y) = xᵀy, under which points can cancel each other."""

    def prepare(self, samples: Any, scores: Any, center: Any) -> Any:
        return samples

    def diagonal(self, samples: Any, scores: Any) -> Any:
        return np.sum(samples**2, axis=1)

    def block(self, rows: Any, columns: Any) -> Any:
        return rows @ columns.T


@pytest.mark.parametrize("cuts", [[], [1], [2], [1, 2]])
def test_points_that_cancel_show_no_direction_in_whatever_batches(cuts: list[int]) -> None:
    stein: Any = Products()
    x = np.array([1.0, -0.9999, 1.0])
    kept, direction, found = KeptPoints.empty(10, np.zeros(1)), Direction(stein), []
    for part in np.split(np.stack([x, x], axis=1)[:, :, None], cuts):
        found.append(direction.advance(kept, part))
        kept.add(part, np.random.default_rng(0))
    np.testing.assert_allclose(np.concatenate(found), [math.nan, -0.9999, math.nan])


def test_the_wealth_is_linear_in_the_payoff_of_the_last_point() -> None:
    """No bet depends on the point it is made on: W(a) against the payoff of a is a straight line."""
    x = stream(40, seed=2)
    stein = SteinKernel(KERNEL, TILT)
    last = np.array([[-2.0], [0.3], [1.7]])
    past = stein(x, -x, x, -x).sum()
    payoff = stein(x, -x, last, -last).sum(axis=0) / math.sqrt(past)
    wealth = np.array([a_test().update(x).update(point).evalue for point in last])
    slope = (wealth[1] - wealth[0]) / (payoff[1] - payoff[0])
    assert wealth[2] == pytest.approx(wealth[0] + slope * (payoff[2] - payoff[0]), rel=1e-8)


def test_a_history_is_short_however_long_the_stream() -> None:
    test = a_test(budget=20)
    for part in np.split(stream(3000, share=0.0), 30):
        test.update(part)
    n, path = test.history
    assert n.size == path.size <= 512
    assert set(np.diff(n)) == {8}
    assert n[-1] == 3000
    assert path[-1] == test.log_evalue
