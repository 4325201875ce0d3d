"""The wild bootstrap: fair independent signs, reproducible, and exact against enumeration."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

import steinball as sb

pytestmark = pytest.mark.exact

SEED = np.random.SeedSequence(99)


def rows(n: int, n_resamples: int, start: int = 0) -> NDArray[np.integer]:
    return np.concatenate(list(sb.WildBootstrap(n_resamples).request(n, SEED, start).weights))


def test_weights_are_plus_or_minus_one() -> None:
    weights = rows(40, 130)
    assert weights.shape == (130, 40)
    assert set(np.unique(weights).tolist()) == {-1, 1}


def test_all_patterns_of_signs_are_equally_likely() -> None:
    """Chi-square over the 16 patterns of four signs, 20,000 draws, level 1e-4: fair and independent at once."""
    signs = rows(4, 20_000)
    observed = [(signs == pattern).all(axis=1).sum() for pattern in product((-1, 1), repeat=4)]
    assert sum(observed) == 20_000
    assert stats.chisquare(observed).pvalue > 1e-4


def test_signs_of_successive_draws_are_uncorrelated() -> None:
    column = rows(10, 20_000)[:, 0].astype(float)
    for lag in (1, 64):
        assert abs(np.mean(column[:-lag] * column[lag:])) < 5 / np.sqrt(20_000)


@pytest.mark.parametrize("start", [0, 1, 63, 64, 65, 150])
def test_any_range_of_draws_is_the_same_whoever_asks_for_it(start: int) -> None:
    assert np.array_equal(rows(25, 200, start), rows(25, 1000)[start:200])


def test_draws_take_exactly_the_values_of_the_enumerated_signs() -> None:
    """Four points: up to a common sign eight patterns, so the draws take the eight values of n⁻² wᵀUw and no other."""
    x = np.array([[-1.0], [0.2], [0.9], [2.5]])
    kernel = sb.InverseMultiquadric(1.0)
    u = sb.SteinKernel(kernel)(x, -x, x, -x)
    result = sb.ksd_test(x, -x, kernel=kernel, calibration=sb.WildBootstrap(2000), rng=0)
    assert result.draws is not None
    values = [np.sqrt(max(0.0, np.array(w) @ u @ np.array(w))) / 4 for w in product((-1, 1), repeat=4)]
    nearest = np.abs(result.draws[:, None] - np.array(values)).argmin(axis=1)
    assert np.allclose(result.draws, np.array(values)[nearest], rtol=1e-12)
    assert len(np.unique(np.round(result.draws, 9))) == 8


@pytest.mark.parametrize("n", [2, 3, 5])
def test_draws_that_repeat_the_statistic_count_as_ties(n: int) -> None:
    """All signs equal give D itself, up to the order of summation: with few points that is frequent, and must count."""
    rng = np.random.default_rng(n)
    for _ in range(20):
        x = rng.normal(loc=3.0, size=(n, 3))
        result = sb.ksd_test(x, -x, calibration=sb.WildBootstrap(500), rng=rng)
        assert result.draws is not None
        equal = np.isclose(result.draws, result.ksd, rtol=1e-9, atol=0.0)
        assert equal.mean() > 0.5 * 2.0 ** (1 - n)
        assert result.pvalue == (1 + np.sum(equal | (result.draws > result.ksd))) / 501
