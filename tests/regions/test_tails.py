"""Tails and limits of counts: against SciPy, Fisher's exact test and their own definitions."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats
from scipy.special import ndtr

from steinball.regions.tails import (
    Question,
    floor_of,
    lower_limit,
    pool_law,
    shortfall,
    tail,
    upper_limit,
)

pytestmark = pytest.mark.exact

Floats = NDArray[np.float64]


def known(*shares: float) -> tuple[Floats, Floats]:
    return pool_law(np.array(shares), np.full(len(shares), np.inf), 1)


@pytest.mark.parametrize("n", [5, 50, 2000])
@pytest.mark.parametrize("share", [0.001, 0.05, 0.5, 0.95, 0.999])
def test_a_shortfall_stands_for_the_binomial_tail_and_does_not_rise_with_the_count(n: int, share: float) -> None:
    counts = np.arange(n + 1)
    found = shortfall(counts, n, np.full(n + 1, share))
    assert (np.diff(found) <= 0.0).all()
    assert np.isfinite(found).all()
    exact = stats.binom.cdf(counts, n, share)
    tails = (exact < 0.1) & (exact > 1e-12)
    ratio = ndtr(-np.sqrt(2.0 * found[tails])) / exact[tails]
    large = n * share * (1.0 - share) >= 1.0
    assert ((ratio > (0.85 if large else 0.7)) & (ratio < (1.15 if large else 2.5))).all()


def test_a_region_that_is_not_expected_is_never_short() -> None:
    assert shortfall(np.array([0, 3]), 10, np.zeros(2)) == pytest.approx([0.0, 0.0])
    assert shortfall(np.array([10]), 10, np.array([1.0 - 1e-16])) == pytest.approx([0.0], abs=1e-9)


def test_with_a_known_probability_the_tail_is_binomial() -> None:
    found = tail("contamination", np.array([3, 40]), 50, known(0.2, 0.9), 0.05)
    assert found == pytest.approx(stats.binom.cdf([3, 40], 50, [0.19, 0.855]), rel=1e-12)


@pytest.mark.parametrize(
    ("heads", "size", "n", "count"),
    [(7, 50, 30, 0), (200, 500, 500, 120), (480, 500, 500, 400), (250, 500, 500, 80), (20, 20, 1000, 664)],
)
def test_with_a_pool_the_tail_is_beta_binomial(heads: int, size: int, n: int, count: int) -> None:
    law = pool_law(np.array([float(heads)]), np.array([float(size)]), n)
    exact = stats.betabinom.cdf(count, n, heads, size + 1 - heads)
    assert tail("contamination", np.array([count]), n, law, 0.0)[0] == pytest.approx(exact, rel=1e-6)


def test_without_contamination_counts_of_a_pool_give_fishers_exact_test() -> None:
    """Altham (1969): k of n rows against G of M draws in a set that was fixed before both."""
    n, size = 12, 20
    for drawn in (1, 8, 20):
        for count in (0, 3, 9):
            law = pool_law(np.array([float(drawn)]), np.array([float(size)]), n)
            fisher = stats.hypergeom.cdf(count, n + size, count + drawn, n)
            assert tail("contamination", np.array([count]), n, law, 0.0)[0] == pytest.approx(fisher, rel=1e-7)


def test_no_draw_in_a_set_proves_nothing() -> None:
    law = pool_law(np.zeros(1), np.array([100.0]), 50)
    assert tail("contamination", np.array([0]), 50, law, 0.05)[0] == pytest.approx(1.0)


@pytest.mark.parametrize("question", ["contamination", "tolerance"])
@pytest.mark.parametrize("share", [0.02, 0.1, 0.5])
@pytest.mark.parametrize(("n", "size"), [(10, 20), (30, 30), (20, 200)])
def test_fixed_sets_counted_in_a_pool_keep_the_level(question: Question, share: float, n: int, size: int) -> None:
    """All outcomes enumerated: the level of {p ≤ α} at the edge of the null, whatever P(A); for ε > 0 not proved."""
    counts, drawn = np.arange(n + 1), np.arange(size + 1)
    law = pool_law(drawn.astype(float), np.full(size + 1, float(size)), n)
    pvalues = np.stack([tail(question, np.full(size + 1, k), n, law, share) for k in counts])
    for probability in np.linspace(0.02, 1.0, 99):
        rows = stats.binom.pmf(counts, n, floor_of(question, probability, share))
        draws = stats.binom.pmf(drawn, size, probability)
        for level in (0.05, 0.001):
            assert rows @ (pvalues <= level) @ draws <= level * (1.0 + 1e-9)


def test_a_tolerance_covers_independent_rows_and_changed_rows() -> None:
    n, share = 200, 0.05
    for probability, count in ((0.1, 0), (0.9, 150)):
        found = tail("tolerance", np.array([count]), n, known(probability), share)[0]
        independent = stats.binom.cdf(count, n, probability - share)
        changed = stats.binom.cdf(count + 10, n, probability)
        assert found == pytest.approx(max(independent, changed))
        assert independent != pytest.approx(changed)


def test_the_number_of_changed_rows_is_rounded_down_but_not_by_a_rounding_error() -> None:
    assert math.floor(0.29 * 100) == 28
    found = tail("tolerance", np.array([0]), 100, known(0.3), 0.29)[0]
    assert found == pytest.approx(stats.binom.cdf(29, 100, 0.3))


@pytest.mark.parametrize("level", [0.05, 1e-6])
def test_limits_invert_the_binomial_tails(level: float) -> None:
    n, counts = 60, np.arange(61)
    low, high = lower_limit(counts, n, level), upper_limit(counts, n, level)
    assert low[0] == 0.0
    assert high[-1] == 1.0
    assert stats.binom.sf(counts[1:] - 1, n, low[1:]) == pytest.approx(level, rel=1e-8)
    assert stats.binom.cdf(counts[:-1], n, high[:-1]) == pytest.approx(level, rel=1e-8)


def test_many_counts_are_looked_up_and_few_computed() -> None:
    few, many = np.array([3, 0, 7]), np.tile([3, 0, 7], 10)
    assert lower_limit(many, 9, 0.05).tolist() == np.tile(lower_limit(few, 9, 0.05), 10).tolist()
