"""Bounds of differences of shares against exact tails of sums, and their errors in simulations."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats
from scipy.special import ndtr

from steinball.arrays import Floats
from steinball.predictive.difference import Difference, _binomial_quantile
from steinball.predictive.null import Null
from steinball.predictive.pit import Pit
from steinball.predictive.table import ARC_WIDTHS, BLOCKS, Features, tabulate
from tests.predictive.laws import from_cdf_values, from_class_probabilities


def sum_of(laws: list[Floats]) -> Floats:
    """Probabilities of a sum of independent variables on multiples of a step."""
    found = np.ones(1)
    for law in laws:
        found = np.convolve(found, law)
    return found


@pytest.mark.exact
def test_tails_of_unequal_indicators_are_below_the_binomial_one_from_a_row_below_the_mean_on() -> None:
    """Hoeffding (1956), theorem 4, which the limits of points rest on; and where it ends."""
    rng, beyond = np.random.default_rng(0), 0
    for _ in range(300):
        m = int(rng.integers(2, 25))
        chances = rng.beta(rng.uniform(0.1, 3.0), rng.uniform(0.1, 3.0), size=m)
        tails = np.cumsum(sum_of([np.array([1.0 - q, q]) for q in chances]))
        binomial = stats.binom.cdf(np.arange(m + 1), m, chances.mean())
        applies = np.arange(m + 1) <= chances.sum() - 1.0
        assert (tails[applies] <= binomial[applies] + 1e-12).all()
        beyond += (tails[~applies] > binomial[~applies] + 1e-9).sum()
    assert beyond > 0


@pytest.mark.exact
def test_tails_that_count_end_more_than_a_row_below_the_mean() -> None:
    """So the restriction of Hoeffding's theorem never binds: weights of boxes are below .0015."""
    for tolerance in (0.0, 0.05):
        for m in (*range(1, 80), 1000):
            chance = np.clip(ARC_WIDTHS - tolerance, 0.0, 1.0)
            first = np.floor(m * chance - 1.0) + 1.0
            assert stats.binom.cdf(np.minimum(first, m), m, chance).min() > 0.0099
    assert difference_of(np.linspace(0.01, 0.99, 9), np.zeros(9))._weights.max() < 0.0015


@pytest.mark.exact
def test_tails_of_sums_of_shares_are_below_e_times_the_binomial_one() -> None:
    """Rows that are spread over cells add numbers in [0, 1]; checked with values on tenths, at every whole number."""
    rng, largest = np.random.default_rng(1), 0.0
    for _ in range(200):
        m = int(rng.integers(1, 15))
        laws = [rng.dirichlet(np.full(11, 0.2)) for _ in range(m)]
        mean = sum(law @ np.arange(11) / 10 for law in laws) / m
        tails = np.cumsum(sum_of(laws))[::10]  # P(sum ≤ 0), P(sum ≤ 1), …
        ratio = tails / stats.binom.cdf(np.arange(m + 1), m, mean)
        largest = max(largest, float(ratio.max()))
        assert ratio.max() <= math.e
    assert largest > 1.0  # the binomial tail alone would not do


@pytest.mark.exact
def test_binomial_quantiles_are_the_largest_counts_with_a_small_tail() -> None:
    alpha = np.array([1e-9, 1e-4, 0.01, 0.05])[:, None, None]
    m, chance = np.array([1, 5, 50, 400, 100_000])[:, None], np.array([0.01, 0.3, 0.99])
    found = _binomial_quantile(np.broadcast_to(alpha, (4, 5, 3)), m, chance)
    assert (np.where(found >= 0, stats.binom.cdf(found, m, chance), 0.0) <= alpha).all()
    assert (stats.binom.cdf(found + 1, m, chance) > alpha).all()


def difference_of(u: Floats, x: Floats) -> Difference:
    features = Features.of({"x": x})
    return Difference.of(tabulate(u[None], u[None], features), from_cdf_values(u), features)


@pytest.mark.exact
def test_limits_are_clopper_and_pearsons_in_every_box() -> None:
    rng, n = np.random.default_rng(2), 200
    x, u = rng.normal(size=n), rng.random(n) ** 1.5
    found, features = difference_of(u, x), Features.of({"x": x})
    low, high = found.lower_bound(0.1), found.upper_bound(0.1)
    pointwise, together, weights = [], [], found.block_rows[0] * ARC_WIDTHS
    weights = weights / weights.sum()
    for b, (first, last) in enumerate(BLOCKS):
        inside = (features.bins[0] >= first) & (features.bins[0] < last)
        m = int(inside.sum())
        for a, width in enumerate(ARC_WIDTHS):
            count = round(found.counts[0, b, a])
            least = stats.beta.ppf(0.1, count, m - count + 1) if count else 0.0
            most = stats.beta.isf(0.1 * weights[b, a], count + 1, m - count) if count < m else 1.0
            pointwise.append(m * (width - min(least, max(count - 1, 0) / m)) / n)
            law = m * (width - most) / n
            cut = stats.binom.ppf(0.1 * weights[b, a], m, width)
            cut -= stats.binom.cdf(cut, m, width) > 0.1 * weights[b, a]
            together.append(min(law, (cut - count + 1) / n))
    assert high == pytest.approx(max(pointwise), rel=1e-6)
    assert low == pytest.approx(max(0.0, *together), rel=1e-6)


@pytest.mark.exact
@pytest.mark.parametrize("kind", ["points", "spread"])
def test_a_tolerance_is_rejected_exactly_below_the_lower_limit(kind: str) -> None:
    rng, n = np.random.default_rng(3), 300
    x = rng.uniform(-2.0, 2.0, size=n)
    if kind == "points":
        found = difference_of(ndtr(1.7 * rng.normal(size=n)), x)
    else:
        chance, features = 1.0 / (1.0 + np.exp(-x)), Features.of({"x": x})
        pit = from_class_probabilities(
            (x + rng.normal(size=n) < 0).astype(int), np.column_stack([1.0 - chance, chance])
        )
        found = Difference.of(tabulate(pit.low, pit.high, features), pit, features)
        assert found.factor == math.e
    low = found.lower_bound(0.05)
    assert low > 0.05
    for tolerance in (0.0, 0.5 * low, low - 1e-6, low + 1e-6, 1.5 * low, 1.0):
        assert (found.pvalue(tolerance) <= 0.05) == (tolerance < low)


@pytest.mark.exact
def test_spread_rows_pay_a_factor() -> None:
    rng, n = np.random.default_rng(4), 500
    features, u = Features.of({"x": rng.normal(size=n)}), rng.random(n)
    table, pit = tabulate(u[None], u[None], features), from_cdf_values(u)
    points, censored = (Difference.of(table, p, features) for p in (pit, from_cdf_values(u, at_limits=np.full(n, 1.0))))
    assert points.factor == censored.factor == 1.0  # limits that censor nothing
    spread = Difference(points.counts, points.block_rows, n, math.e)
    assert spread.upper_bound(0.05) > points.upper_bound(0.05)


@pytest.mark.exact
def test_rows_needed_shrink_as_the_square_of_the_room() -> None:
    rng, n = np.random.default_rng(5), 400
    found = difference_of(rng.random(n), rng.normal(size=n))
    null = Null(from_cdf_values(np.full(n, 0.5)), Features.of({"x": np.arange(n)}), pilot=50, n_resamples=9, rng=0)
    needed = [found.rows_needed(null.tables[:50], tolerance, 0.05) for tolerance in (0.05, 0.1)]
    assert needed[0] == pytest.approx(4 * needed[1], rel=0.01)
    assert 1000 < needed[0] < 2000
    wrong = difference_of(rng.random(n) ** 3, rng.normal(size=n))
    assert wrong.rows_needed(null.tables[:50], 0.05, 0.05) == math.inf


def tilted(pit: str, n: int, rng: np.random.Generator) -> tuple[Pit, Features, float]:
    """Rows whose difference δ is known: in half of the rows a share .3 of the upper half moves to the lower half."""
    x = np.arange(n) / n
    u = rng.random(n)
    if pit == "points":
        moved = (x >= 0.5) & (u > 0.5) & (rng.random(n) < 0.3)
        return from_cdf_values(np.where(moved, u - 0.5, u)), Features.of({"x": x}), 0.5 * 0.5 * 0.3
    seen = np.where(x >= 0.5, 0.5 * 0.7, 0.5)
    return from_class_probabilities((u < seen).astype(int), np.full((n, 2), 0.5)), Features.of({"x": x}), 0.5 * 0.15


@pytest.mark.calibration
@pytest.mark.parametrize("kind", ["points", "spread"])
@pytest.mark.parametrize("n", [60, 400])
def test_either_end_errs_no_more_often_than_its_level(kind: str, n: int) -> None:
    """At level .2, so that errors would show; 80 repeats, band of 3 standard errors."""
    rng, errors = np.random.default_rng(6), []
    for _ in range(80):
        pit, features, truth = tilted(kind, n, rng)
        found = Difference.of(tabulate(pit.low, pit.high, features), pit, features)
        low, high = found.lower_bound(0.2), found.upper_bound(0.2)
        errors.append((low > truth, high < truth))
    assert (np.mean(errors, axis=0) <= 0.2 + 3 * math.sqrt(0.2 * 0.8 / 80)).all()


@pytest.mark.calibration
def test_somebody_who_has_seen_all_rows_and_changes_as_many_as_are_tolerated_is_not_caught() -> None:
    rng, n = np.random.default_rng(7), 400
    rejected = []
    for _ in range(60):
        u = rng.random(n)
        inner = np.argsort(np.abs(u - 0.5))[: round(0.05 * n)]
        u[inner] = 0.97
        rejected.append(difference_of(u, np.arange(1.0 * n)).pvalue(0.05) <= 0.05)
    assert np.mean(rejected) <= 0.05


@pytest.mark.exact
def test_one_row_in_a_box_proves_nothing_of_its_share() -> None:
    """Hoeffding's theorem begins a row above the mean, so the lower limit from one row is 0."""
    found = difference_of(np.array([0.3, *[0.97] * 8]), np.zeros(9))
    assert found.upper_bound(0.2) == pytest.approx(1.0 - (0.99 - 15 / 16))


@pytest.mark.exact
def test_the_lower_end_is_the_largest_over_all_boxes_whichever_limit_binds() -> None:
    for seed in range(8):
        rng, n = np.random.default_rng(seed), 80
        u, features = 0.35 + 0.3 * rng.random(n), Features.of({"x": rng.normal(size=n)})
        found = Difference.of(tabulate(u[None], u[None], features), from_cdf_values(u), features)
        count, m = np.round(found.counts), np.broadcast_to(found.block_rows, found.counts.shape)
        alpha = 0.2 * found.block_rows * ARC_WIDTHS / (found.block_rows * ARC_WIDTHS).sum()
        most = np.where(count < m, stats.beta.isf(alpha, count + 1, np.maximum(m - count, 1)), 1.0)
        cut = stats.binom.ppf(alpha, m, ARC_WIDTHS)
        cut -= stats.binom.cdf(cut, m, ARC_WIDTHS) > alpha
        limits = np.minimum(m * (ARC_WIDTHS - most), cut - count + 1) / n
        assert found.lower_bound(0.2) == pytest.approx(max(0.0, limits.max()), rel=1e-6)
