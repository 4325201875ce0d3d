"""Designs: cuts, arcs and what the model expects in them, against enumeration and closed forms."""

from __future__ import annotations

import pickle
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

import steinball as sb
from steinball.regions.counted import count
from steinball.regions.design import Arcs, Design, counts_below, cumulative, levels
from steinball.regions.reading import read
from steinball.regions.source import Grid, Source, from_probabilities, from_sampler, from_second_sample
from steinball.regions.views import column_families, user_family

pytestmark = pytest.mark.exact

Floats = NDArray[np.float64]
NORMAL = Source(cdf=stats.norm().cdf, quantile=stats.norm().ppf)


def standard(d: int) -> Source:
    return from_sampler(lambda n, rng: rng.normal(size=(n, d)), d, np.zeros(d), np.eye(d))


@pytest.mark.parametrize(("n", "cells"), [(20, 8), (200, 17), (2000, 40), (10**6, 40)])
def test_levels_are_equal_cells_and_tails_by_factors_of_four(n: int, cells: int) -> None:
    found = levels(n)
    assert found == pytest.approx(1.0 - found[::-1])
    inner = found[(found > 0.9 / cells) & (found < 1.0 - 0.9 / cells)]
    assert inner == pytest.approx(np.arange(1, cells) / cells)
    tails = found[found < 0.9 / cells]
    assert tails[-1] == pytest.approx(0.5 / cells)
    assert tails[1:] / tails[:-1] == pytest.approx(4.0)
    assert 0.02 / n <= tails[0] < 0.08 / n


def test_a_pool_ends_the_tails() -> None:
    assert levels(200, pool=1000.0)[0] >= 0.005


def sets_of(arcs: Arcs, cells: int) -> list[frozenset[int]]:
    """The cells of each arc: sums of indicators of single cells."""
    one = np.concatenate([np.zeros((cells, 1), dtype=int), np.cumsum(np.eye(cells, dtype=int), axis=1)], axis=1)
    inside = arcs.sums(one)  # (cells, arcs)
    return [frozenset(np.flatnonzero(column).tolist()) for column in inside.T]


def test_arcs_are_all_intervals_and_all_complements_each_once() -> None:
    cells = 6
    found = sets_of(Arcs.between(cells - 1), cells)
    intervals = {frozenset(range(i, j)) for i, j in combinations(range(cells + 1), 2)} - {frozenset(range(cells))}
    every = intervals | {frozenset(range(cells)) - interval for interval in intervals}
    assert len(found) == len(set(found))
    assert set(found) == every


def test_the_level_is_shared_by_all_arcs_of_a_view() -> None:
    arcs = Arcs.between(9)
    distinct = np.ones((2, len(arcs.start)), dtype=bool)
    distinct[1, ::3] = False
    votes = arcs.votes(distinct)
    assert votes.sum(axis=1) == pytest.approx([1.0, 1.0])
    assert votes[1, ::3].max() < 1e-100
    coarse = sets_of(arcs, 10).index(frozenset(range(4, 8)))
    fine = sets_of(arcs, 10).index(frozenset(range(5, 8)))
    assert votes[0, coarse] > 5.0 * votes[0, fine]
    assert votes[0, fine] > 0.3 / distinct.shape[1]


def test_few_cuts_share_the_whole_level() -> None:
    arcs = Arcs.between(1)
    assert arcs.votes(np.ones((1, 2), dtype=bool)) == pytest.approx(np.full((1, 2), 0.5))


def test_counts_below_cuts_are_counted() -> None:
    rng = np.random.default_rng(0)
    values, edges = rng.integers(0, 5, size=(3, 4, 20)).astype(float), np.array([[0.0, 2.0], [1.5, 3.0], [-1.0, 9.0]])
    values[1, 2, :5] = np.nan
    found = cumulative(values, edges)
    for t in range(3):
        for r in range(4):
            below = [int(np.sum(values[t, r] <= edge)) for edge in edges[t]]
            assert found[t, r].tolist() == [0, *below, int(np.sum(~np.isnan(values[t, r])))]


def test_a_distribution_function_gives_exact_cuts_and_probabilities() -> None:
    design = Design.build(NORMAL, 200)
    (cut,) = design.cuts
    assert stats.norm.cdf(cut.edges[0]) == pytest.approx(levels(200), rel=1e-9)
    assert cut.heads[0, 1:-1] == pytest.approx(levels(200))
    assert np.isinf(cut.size)
    assert design.cuts is design.halves
    assert design.expected.share == pytest.approx(cut.arcs.sums(cut.heads)[0])


def test_without_atoms_the_design_in_one_column_is_the_same_for_all_models() -> None:
    other = Design.build(Source(cdf=stats.expon().cdf, quantile=stats.expon().ppf), 200)
    assert Design.build(NORMAL, 200).expected.share.tolist() == other.expected.share.tolist()


def test_regions_of_counts_are_sets_of_values() -> None:
    law = stats.poisson(3)
    design = Design.build(Source(cdf=law.cdf, quantile=law.ppf, discrete=True), 300)
    edges, below = design.cuts[0].edges[0], design.cuts[0].heads[0]
    assert (edges % 1.0 == 0.5).all()
    assert below[1:-1] == pytest.approx(law.cdf(edges))
    assert (np.diff(below) > 0.0).all()
    assert {0.5, 1.5, 2.5, 3.5, 4.5} <= set(edges)
    assert design.cuts[0].distinct.all()


def test_large_counts_are_grouped() -> None:
    law = stats.poisson(10_000)
    design = Design.build(Source(cdf=law.cdf, quantile=law.ppf, discrete=True), 300)
    assert len(design.cuts[0].edges[0]) <= len(levels(300))


def test_regions_of_categories_have_the_sums_of_their_probabilities() -> None:
    design = Design.build(from_probabilities([0.1, 0.2, 0.3, 0.4]), 100)
    found = {round(float(share), 12) for share in design.expected.share}
    assert {0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9} == found


def test_rounded_rows_are_cut_between_values_with_the_probabilities_of_rounding_cells() -> None:
    grid = Grid(np.array([0.5]), np.array([0.1]))
    design = Design.build(Source(cdf=stats.norm().cdf, grid=grid), 500)
    edges = design.cuts[0].edges[0]
    assert ((edges - 0.1) / 0.5) % 1.0 == pytest.approx(np.full(len(edges), 0.5))
    assert design.cuts[0].heads[0, 1:-1] == pytest.approx(stats.norm.cdf(edges))


def test_cuts_of_a_pool_are_order_statistics_of_one_part_and_counted_in_the_other() -> None:
    seen: list[Floats] = []

    def sample(n: int, rng: np.random.Generator) -> Floats:
        seen.append(rng.normal(size=(n, 2)))
        return seen[-1]

    design = Design.build(from_sampler(sample, 2, [0, 0], np.eye(2)), 100)
    (pool,) = seen
    for cut, family in zip(design.cuts, column_families(design.source), strict=True):
        values = family.values(design.source.rows(pool), slice(None))
        first = int(cut.size)
        ordered = np.sort(values[:, :first], axis=1)
        ranks = cut.heads[0, 1:-1].astype(int)
        assert cut.heads[0, -1] == first + 1
        assert cut.edges.tolist() == ordered[:, ranks - 1].tolist()
        assert cut.rest == len(pool) - first
        assert cut.apart[0, 5] == np.sum(values[0, first:] <= cut.edges[0, 4])
        assert not cut.atoms
    assert ranks / (first + 1) == pytest.approx(levels(100, pool=first), abs=1e-4)


def test_the_design_is_the_same_whenever_it_is_built() -> None:
    first, second = (Design.build(standard(3), 80) for _ in range(2))
    for a, b in zip(first.cuts, second.cuts, strict=True):
        assert a.edges.tolist() == b.edges.tolist()
        assert a.apart.tolist() == b.apart.tolist()


def test_values_with_atoms_are_cut_between_values_and_counted_apart() -> None:
    source = from_sampler(lambda n, rng: rng.normal(size=(n, 2)), 2, [0, 0], np.eye(2))
    rounded = Source(2, source.sample, location=source.location, whitening=source.whitening,
                     grid=Grid(np.array([0.5, 0.5]), np.zeros(2)))  # fmt: skip
    design = Design.build(rounded, 200)
    columns = design.cuts[0]
    assert columns.atoms
    assert columns.size == columns.rest
    inner = columns.edges[0][np.isfinite(columns.edges[0])]
    assert set(np.round(np.abs(inner[np.abs(inner) < 2.6]) % 0.5, 9)) == {0.25}
    share = columns.apart[0, 1:-1] / columns.rest
    assert share == pytest.approx(stats.norm.cdf(columns.edges[0]), abs=0.02)
    assert design.expected.share[: columns.distinct.size] == pytest.approx(
        (columns.arcs.sums(columns.heads) * columns.distinct).ravel() / columns.rest
    )


def test_arcs_that_repeat_another_one_are_dropped() -> None:
    design = Design.build(from_sampler(lambda n, rng: rng.integers(0, 3, size=n), 1), 100)
    (cut,) = design.cuts
    assert cut.atoms
    used = cut.arcs.sums(cut.heads)[cut.distinct]
    assert sorted((used / cut.rest).round(1)) == [0.3, 0.3, 0.3, 0.7, 0.7, 0.7]


def test_a_users_view_with_atoms_is_seen() -> None:
    families = [user_family([lambda x: x[:, 0] > 0.0, lambda x: x[:, 1]])]
    assert Design.build(standard(2), 100, families).cuts[0].atoms
    smooth = [user_family(lambda x: x[:, 0] - x[:, 1])]
    assert not Design.build(standard(2), 100, smooth).cuts[0].atoms


def test_ties_of_single_precision_are_no_atoms() -> None:
    source = from_sampler(lambda n, rng: rng.normal(size=(n, 2)).astype(np.float32), 2, [0, 0], np.eye(2))
    assert not any(cut.atoms for cut in Design.build(source, 500).cuts)


def test_a_second_sample_gives_cuts_by_all_rows_and_by_halves() -> None:
    draws = np.random.default_rng(1).normal(size=(600, 1))
    design = Design.build(from_second_sample(draws), 100)
    assert design.cuts[0].size == 600
    assert design.halves[0].size == 300
    assert design.halves[0].rest == 300
    tied = Design.build(from_second_sample(draws.round()), 100)
    assert tied.cuts is tied.halves


def test_of_views_with_equal_arcs_the_smallest_count_decides() -> None:
    design = Design.build(standard(3), 60)
    x = np.random.default_rng(2).normal(size=(60, 3))
    below = counts_below(design.source.rows(x), design.cuts)
    found = design.deciding([counts[:, None] for counts in below])[0]
    start = 0
    for cut, counts in zip(design.cuts, below, strict=True):
        least = [min(int(row) for row in column) for column in cut.arcs.sums(counts).T]
        assert found[start : start + len(least)].tolist() == least
        start += len(least)
    assert start == len(design.expected.share)
    assert design.views == 3 + 3 + 3


def test_each_family_has_one_vote() -> None:
    design = Design.build(standard(4), 60)
    ends = [*design.expected.starts[1:], None]
    for start, end, cut in zip(design.expected.starts, ends, design.cuts, strict=True):
        assert np.sum(1.0 / design.expected.weight[start:end]) * cut.family.size == pytest.approx(1.0 / 3.0)


def test_a_model_with_one_value_has_no_region() -> None:
    with pytest.raises(ValueError, match="one value alone"):
        Design.build(from_probabilities([1.0]), 50)


def test_the_smallest_second_sample_has_a_design() -> None:
    rng = np.random.default_rng(3)
    for d in (1, 2):
        design = Design.build(from_second_sample(rng.normal(size=(10, d))), 20)
        for cut in (*design.cuts, *design.halves):
            assert (np.diff(cut.heads[0]) > 0.0).all()
    with pytest.raises(ValueError, match="at least 10 rows, got 9"):
        from_second_sample(rng.normal(size=(9, 1)))


@pytest.mark.parametrize("place", [1e308, -1e308, 1e200])
def test_rows_beyond_all_squares_are_counted_without_a_warning(place: float) -> None:
    design = Design.build(standard(2), 30)
    x = np.random.default_rng(4).normal(size=(30, 2))
    x[0] = place
    x[1] = [place, -place]
    below = counts_below(design.source.rows(x), design.cuts)
    assert all((counts[:, -1] >= 28).all() for counts in below)


NORMAL_ROWS = np.random.default_rng(0).normal(size=(100, 2))


@pytest.mark.parametrize(
    ("model", "rows"),
    [
        (stats.norm(), NORMAL_ROWS[:, 0]),
        (sb.models.Gaussian([0.0, 0.0]), NORMAL_ROWS),
        (sb.from_draws(np.random.default_rng(1).normal(size=(400, 2))), NORMAL_ROWS),
        ({"a": 0.5, "b": 0.5}, ["a", "b"] * 20),
    ],
    ids=["a distribution function", "a sampler", "a second sample", "categories"],
)
def test_a_design_may_be_pickled(model: Any, rows: Any) -> None:
    design = read(model, rows).design()
    again = pickle.loads(pickle.dumps(design))
    x = read(model, rows).rows
    assert count(again, x).bonferroni("contamination", 0.05) == count(design, x).bonferroni("contamination", 0.05)


def test_the_result_of_a_family_may_be_pickled() -> None:
    found = sb.fit_test(NORMAL_ROWS[:, 0], "normal", contamination=0.05)
    assert pickle.loads(pickle.dumps(found)).to_dict() == found.to_dict()
