"""PIT intervals of every type of y, and tables of fresh rows, against the laws themselves."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import stats

from steinball.arrays import Floats
from steinball.predictive.pit import Classes, EdgeIntervals, Fresh, Pit, fresh_tables
from steinball.predictive.table import BINS, CELLS, EDGES, WIDTHS, Features, spread, tabulate
from tests.predictive.laws import from_cdf_values, from_class_probabilities, from_distribution, from_draws

pytestmark = pytest.mark.exact

N = 40
X = np.linspace(-2.0, 2.0, N)
U = np.tile(np.concatenate([np.linspace(0.0005, 0.9995, 1999), EDGES[:-1]]), (N, 1))


def binary(chance: Floats) -> Floats:
    return np.column_stack([1.0 - chance, chance])


def cells_at(fresh: Fresh, u: Floats) -> Floats:
    """Cells of the rows' categories at u (N, count), shape (N, count, 18)."""
    assert isinstance(fresh, EdgeIntervals)
    everything = slice(0, N)
    row = 0 if fresh.shared else np.arange(N)[:, None]
    return np.asarray(fresh.spreads(everything)[0][row, fresh.category(u, everything)])


def steps(cdf: Callable[[Any], Any], values: Floats) -> Callable[[Floats], tuple[Floats, Floats]]:
    """The interval around u of laws that jump at ``values``, by looking through all of them."""
    upto = np.array([np.broadcast_to(cdf(v), N) for v in values])  # (v, N)
    ends = np.concatenate([np.zeros((1, N)), upto, np.ones((1, N))])

    def interval(u: Floats) -> tuple[Floats, Floats]:
        at = (ends[1:-1, :, None] <= u).sum(axis=0)
        row = np.arange(N)[:, None]
        return ends[at, row], ends[at + 1, row]

    return interval


def censored_steps(
    inner: Callable[[Floats], tuple[Floats, Floats]], start: Floats
) -> Callable[[Floats], tuple[Floats, Floats]]:
    def interval(u: Floats) -> tuple[Floats, Floats]:
        low, high = inner(u)
        beyond = u >= start[:, None]
        return np.where(beyond, start[:, None], low), np.where(beyond, 1.0, high)

    return interval


def point(u: Floats) -> tuple[Floats, Floats]:
    return u, u


RATE, COUNTS = np.exp(1.0 + 0.5 * X), np.arange(200.0)
SHARES = np.random.default_rng(0).dirichlet([1.0, 2.0, 0.3, 1.0], size=N)
LIMITS = 1.2 * np.exp(-0.4 * X)
TIMES = stats.expon(scale=np.exp(-0.3 * X))
LAWS: dict[str, tuple[Pit, Callable[[Floats], tuple[Floats, Floats]]]] = {
    "continuous": (from_distribution(X, stats.norm(X, 2.0)), point),
    "poisson": (from_distribution(np.round(RATE), stats.poisson(RATE)), steps(stats.poisson(RATE).cdf, COUNTS)),
    "rare": (from_distribution(0.0 * X, stats.poisson(RATE / 90)), steps(stats.poisson(RATE / 90).cdf, COUNTS)),
    "one law": (from_distribution(0.0 * X, stats.poisson(2.5)), steps(stats.poisson(2.5).cdf, COUNTS)),
    "large counts": (
        from_distribution(np.round(30 * RATE), stats.nbinom(50, 50 / (50 + 30 * RATE))),
        steps(stats.nbinom(50, 50 / (50 + 30 * RATE)).cdf, np.arange(2000.0)),
    ),
    "binary": (
        from_class_probabilities(np.arange(N) % 2, binary(SHARES[:, 0])),
        steps(lambda k: np.where(k < 0.5, 1.0 - SHARES[:, 0], 1.0), np.array([0.0, 1.0])),
    ),
    "ordinal": (
        from_class_probabilities(np.arange(N) % 4, SHARES, ordered=True),
        steps(lambda k: np.cumsum(SHARES, axis=1)[:, int(k)], np.arange(3.0)),
    ),
    "rounded": (
        from_distribution(0.5 * np.round(2 * X), stats.norm(X, 1.0), step=0.5),
        steps(lambda v: stats.norm(X, 1.0).cdf(v + 0.25), np.arange(-30.0, 30.0, 0.5)),
    ),
    "censored": (
        from_distribution(np.minimum(1.0, LIMITS), TIMES, limits=LIMITS), censored_steps(point, TIMES.cdf(LIMITS))
    ),
    "censored counts": (
        from_distribution(np.minimum(np.round(RATE), 4.0), stats.poisson(RATE), limits=np.full(N, 4.0)),
        censored_steps(steps(stats.poisson(RATE).cdf, COUNTS), stats.poisson(RATE).cdf(3.0)),
    ),
    "19 draws": (
        from_draws(X, np.random.default_rng(1).normal(size=(N, 19)), np.random.default_rng(2)),
        steps(lambda k: np.full(N, k / 20), np.arange(1.0, 20.0)),
    ),
    "99 draws": (
        from_draws(X, np.random.default_rng(1).normal(size=(N, 99)), np.random.default_rng(2)),
        steps(lambda k: np.full(N, k / 100), np.arange(1.0, 100.0)),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", LAWS)
def test_the_category_of_u_is_spread_as_the_interval_of_the_law_that_holds_u(name: str) -> None:
    pit, interval = LAWS[name]
    shifted = U + 1e-7 * (U < 1.0)  # off the jumps, where either side would do
    np.testing.assert_allclose(cells_at(pit.fresh, shifted), spread(*interval(shifted)), atol=1e-6)


@pytest.mark.parametrize("name", LAWS)
def test_a_fresh_row_of_any_type_has_mean_widths(name: str) -> None:
    fresh = LAWS[name][0].fresh
    u = np.tile((np.arange(200_000) + 0.5) / 200_000, (N, 1))[:2]
    assert isinstance(fresh, EdgeIntervals)
    two = EdgeIntervals(fresh.low[:, :2], fresh.high[:, :2])
    cells = two.spreads(slice(0, 2))[0]
    found = two.category(u, slice(0, 2))
    for row in (0, 1):
        chances = np.bincount(found[row], minlength=37) / u.shape[1]
        np.testing.assert_allclose(chances @ cells[0 if two.shared else row], WIDTHS, atol=3e-5)


@pytest.mark.parametrize("name", LAWS)
def test_points_are_told_from_spread_rows(name: str) -> None:
    assert LAWS[name][0].fresh.points == (name == "continuous")


def test_observed_intervals_are_those_of_the_laws() -> None:
    y = np.round(RATE)
    pit = LAWS["poisson"][0]
    np.testing.assert_allclose(pit.low[0], stats.poisson(RATE).cdf(y - 1))
    np.testing.assert_allclose(pit.high[0], stats.poisson(RATE).cdf(y))
    rounded, middle = LAWS["rounded"][0], 0.5 * np.round(2 * X)
    np.testing.assert_allclose(rounded.low[0], stats.norm(X, 1.0).cdf(middle - 0.25))
    np.testing.assert_allclose(rounded.high[0], stats.norm(X, 1.0).cdf(middle + 0.25))
    censored, gone = LAWS["censored"][0], LIMITS <= 1.0
    np.testing.assert_allclose(censored.low[0], TIMES.cdf(np.minimum(1.0, LIMITS)))
    assert censored.high[0][gone].tolist() == [1.0] * gone.sum()
    np.testing.assert_allclose(censored.high[0][~gone], TIMES.cdf(1.0)[~gone])
    counts = LAWS["censored counts"][0]
    np.testing.assert_allclose(counts.low[0], stats.poisson(RATE).cdf(np.minimum(y, 4.0) - 1.0))
    assert (counts.high[0] == 1.0).tolist() == (y >= 4).tolist()


def test_infinite_limits_censor_nothing() -> None:
    free, limited = (from_distribution(X, stats.norm(X, 1.0), limits=limits) for limits in (None, np.full(N, np.inf)))
    np.testing.assert_array_equal(free.low, limited.low)
    np.testing.assert_array_equal(free.high, limited.high)
    assert limited.fresh.points


def test_values_of_the_distribution_function_are_enough() -> None:
    times = np.minimum(1.0, LIMITS)
    found = from_cdf_values(TIMES.cdf(times), at_limits=TIMES.cdf(LIMITS))
    expected = LAWS["censored"][0]
    np.testing.assert_allclose([found.low, found.high], [expected.low, expected.high])
    np.testing.assert_allclose(cells_at(found.fresh, U), cells_at(expected.fresh, U))


def test_ranks_count_the_draws_below_and_ties_are_broken_evenly() -> None:
    draws = np.tile(np.repeat([0.0, 1.0, 2.0], [5, 9, 10]), (4000, 1))
    pit = from_draws(np.ones(4000), draws, np.random.default_rng(0))
    ranks = np.rint(pit.low[0] * 25).astype(int)
    np.testing.assert_allclose(pit.high - pit.low, 1 / 25)
    counts = np.bincount(ranks, minlength=25)
    assert counts[:5].sum() == counts[15:].sum() == 0
    assert stats.chisquare(counts[5:15]).pvalue > 1e-3


def test_quantiles_are_those_of_the_law_or_of_the_draws() -> None:
    levels = np.array([0.05, 0.5, 0.95])
    law, draws = LAWS["continuous"][0], np.random.default_rng(1).normal(size=(N, 99))
    assert law.quantiles is not None
    np.testing.assert_allclose(law.quantiles(levels), stats.norm(X, 2.0).ppf(levels[:, None]))
    ranked = from_draws(X, draws, np.random.default_rng(2)).quantiles
    assert ranked is not None
    np.testing.assert_allclose(ranked(levels), np.quantile(draws, levels, axis=1))


def test_nominal_classes_are_compared_one_against_the_rest() -> None:
    y = np.arange(N) % 4
    pit = from_class_probabilities(y, SHARES)
    for j in range(4):
        alone = from_class_probabilities((y == j).astype(int), binary(SHARES[:, j]))
        np.testing.assert_allclose([pit.low[j], pit.high[j]], [alone.low[0], alone.high[0]])
        assert pit.predicted is not None
        assert pit.observed is not None
        np.testing.assert_array_equal(pit.predicted[j], SHARES[:, j])
        np.testing.assert_array_equal(pit.observed[j], y == j)


def test_fresh_nominal_rows_have_one_class_for_all_outputs_and_mean_widths() -> None:
    fresh = Classes(SHARES)
    drawn = fresh.draw(np.random.default_rng(0), slice(0, 5), 20_000)
    frequencies = np.array([np.bincount(one, minlength=4) / 20_000 for one in drawn])
    np.testing.assert_allclose(frequencies, SHARES[:5], atol=0.015)
    cells = fresh.spreads(slice(0, 5))  # (4, 5, 4, 18)
    np.testing.assert_allclose(np.einsum("qiyc,iy->qic", cells, SHARES[:5]), np.tile(WIDTHS, (4, 5, 1)), atol=1e-12)
    low, high = fresh.intervals(np.array([[2]]), slice(0, 1))
    np.testing.assert_allclose(low[:, 0, 0], [0.0, 0.0, 1.0 - SHARES[0, 2], 0.0])
    np.testing.assert_allclose(high[:, 0, 0], np.where(np.arange(4) == 2, 1.0, 1.0 - SHARES[0]))


def moments(tables: Floats) -> tuple[Floats, Floats]:
    flat = tables.reshape(len(tables), -1)
    return flat.mean(axis=0), flat.var(axis=0)


@pytest.mark.parametrize("p", [1, 2])
@pytest.mark.parametrize("share", [0.0, 0.3])
def test_fresh_points_are_multinomial_in_every_bin(p: int, share: float) -> None:
    """One feature goes by patterns of bins, two by rows."""
    rng, n = np.random.default_rng(p), 401
    features = Features.of({f"x{j}": rng.normal(size=n) for j in range(p)})
    tables = fresh_tables(from_cdf_values(np.full(n, 0.5)).fresh, features, 4000, rng, share)
    assert tables.shape == (4000, p, BINS, CELLS)
    mean, variance = moments(tables)
    chance = (1.0 - share) * WIDTHS
    expected = features.counts[..., None] * chance
    np.testing.assert_allclose(mean, expected.ravel(), atol=5 * np.sqrt(expected.max() / 4000))
    np.testing.assert_allclose(variance, (expected * (1.0 - chance)).ravel(), rtol=0.2)
    if not share:
        assert (tables.sum(axis=-1) == features.counts).all()


def test_patterns_and_rows_draw_the_same_joint_law() -> None:
    """A row is in one cell for all its features: the tables of equal features are equal."""
    n, rng = 30_000, np.random.default_rng(0)
    x = rng.normal(size=n)
    for columns in ({"x": x, "same": x}, {f"x{j}": x for j in range(4)}):
        tables = fresh_tables(from_cdf_values(np.full(n, 0.5)).fresh, Features.of(columns), 3, rng)
        np.testing.assert_array_equal(tables, np.repeat(tables[:, :1], len(columns), axis=1))
        assert len(np.unique(tables[:, 0], axis=0)) == 3


@pytest.mark.parametrize("name", ["poisson", "censored", "binary", "19 draws"])
@pytest.mark.parametrize("share", [0.0, 0.3])
def test_fresh_tables_have_the_moments_of_rows_drawn_from_the_law(name: str, share: float) -> None:
    pit, interval = LAWS[name]
    rng = np.random.default_rng(6)
    features = Features.of({"x": X, "g": np.arange(N) % 3})
    tables = fresh_tables(pit.fresh, features, 4000, rng, share)
    low, high = interval(rng.random((N, 4000)))
    kept = rng.random((4000, N, 1)) >= share
    brute = np.moveaxis(spread(low, high), 1, 0) * kept  # (4000, N, 18)
    onehot = np.array([[own == k for k in range(BINS)] for own in features.bins], dtype=float)  # (2, 8, N)
    expected = np.einsum("fkn,bnc->bfkc", onehot, brute)
    for found, wanted in zip(moments(tables), moments(expected), strict=True):
        np.testing.assert_allclose(found, wanted, atol=0.12)
    np.testing.assert_allclose(moments(tables)[0], moments(expected)[0], atol=0.1)


def test_nominal_tables_are_laid_out_class_by_class() -> None:
    features = Features.of({"x": X, "g": np.arange(N) % 3})
    pit = from_class_probabilities(np.arange(N) % 4, SHARES)
    tables = fresh_tables(pit.fresh, features, 2000, np.random.default_rng(0))
    assert tables.shape[1] == tabulate(pit.low, pit.high, features).shape[0] == 8
    expected = np.tile(features.counts[..., None] * WIDTHS, (4, 1, 1))
    np.testing.assert_allclose(tables.mean(axis=0), expected, atol=0.12)


def test_many_rows_are_kept_in_half_the_memory() -> None:
    n = 100_001
    fresh = from_class_probabilities(np.zeros(n), binary(np.full(n, 0.3))).fresh
    assert isinstance(fresh, EdgeIntervals)
    assert fresh.low.dtype == np.float32
    tables = fresh_tables(fresh, Features.of({"x": np.arange(n)}), 2, np.random.default_rng(0))
    assert tables.sum() == pytest.approx(2 * n, rel=1e-6)


DRAWS = np.random.default_rng(0).normal(size=(3, 20))


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (lambda: from_cdf_values([0.2, 1.2]), r"`predictive\(y\)` must lie in \[0, 1\], got 1.2 in row 1"),
        (lambda: from_cdf_values([0.2, np.nan]), "got nan in row 1"),
        (lambda: from_cdf_values([[0.2]]), r"shape \(n,\)"),
        (lambda: from_cdf_values([]), r"shape \(n,\)"),
        (lambda: from_cdf_values([0.9], at_limits=[0.5]), "`y` must be at most `censoring`"),
        (lambda: from_distribution([1.5], stats.poisson([2.0])), "whole numbers for a discrete law, got 1.5 in row 0"),
        (lambda: from_distribution([0.5, 0.7], stats.norm(0.0, 1.0), step=0.5), "`step=0.5`, got 0.7 in row 1"),
        (lambda: from_distribution([np.nan], stats.norm([0.0], 1.0)), "`y` must be numbers.* got nan in row 0"),
        (lambda: from_distribution([0.0, 1.0], stats.norm([0.0, np.nan], 1.0)), "cdf.* got nan in row 1"),
        (lambda: from_distribution([2.0], stats.expon(), limits=[1.0]), "`y` must be at most `censoring`"),
        (lambda: from_draws([0.0] * 20, DRAWS, np.random.default_rng(0)), "pass its transpose"),
        (lambda: from_draws([0.0] * 4, DRAWS, np.random.default_rng(0)), r"shape \(4, S\)"),
        (lambda: from_draws([0.0] * 3, DRAWS[:, :18], np.random.default_rng(0)), "S ≥ 19"),
        (lambda: from_draws([0.0] * 3, DRAWS * np.nan, np.random.default_rng(0)), "predictive.* got nan in row 0"),
        (lambda: from_class_probabilities([0, 1], [[0.5, 0.5], [-0.2, 1.2]]), r"lie in \[0, 1\]"),
        (lambda: from_class_probabilities([0, 1], [[0.5, 0.4], [0.5, 0.5]]), "add up to 1"),
        (lambda: from_class_probabilities([0, 1], [[0.5, 0.5], [np.nan, 0.5]]), "add up to 1"),
        (lambda: from_class_probabilities([0], [[0.5, 0.5], [0.5, 0.5]]), r"shape \(1, J\)"),
    ],
)  # fmt: skip
def test_what_is_no_law_or_no_observation_is_refused(call: Callable[[], Pit], told: str) -> None:
    with pytest.raises(ValueError, match=told):
        call()
