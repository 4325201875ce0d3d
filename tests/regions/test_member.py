"""The search for the member that regions speak least against: counts, the one null, and the maximum itself."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from steinball.fitting import as_family
from steinball.models.family import Family
from steinball.regions import member as searched
from steinball.regions.counted import count, simulate
from steinball.regions.design import Design
from steinball.regions.member import Column, MemberSearch, closest_member, uniform_null
from steinball.regions.source import Source, find_grid

pytestmark = pytest.mark.exact
Floats = NDArray[np.float64]


def family(name: str) -> Family:
    found = as_family(name, 1)
    assert isinstance(found, Family)
    return found


def counted_below(name: str, x: Floats, params: Floats) -> Floats:
    found = family(name)
    return MemberSearch(found, Column.of(x[:, None], None, found.support), 0.05).below(params)[0]


def test_a_member_is_compared_as_the_region_test_compares_a_known_model() -> None:
    x = np.random.default_rng(0).normal(1.0, 2.0, size=300)
    known = count(Design.build(Source(cdf=stats.norm(0.8, 2.1).cdf), 300), x[:, None])
    np.testing.assert_array_equal(counted_below("normal", x, np.array([0.8, 2.1])), known.below[0][0])
    search = MemberSearch(family("normal"), Column.of(x[:, None]), 0.05)
    search.surprise(search.family.to_working(np.array([0.8, 2.1])))
    assert search.best.statistic == pytest.approx(known.statistic(0.05), rel=1e-12)
    null, theirs = uniform_null(300, 0.05, 99), simulate(known.design, 0.05, 99)
    np.testing.assert_allclose(null.statistics, theirs.statistics, rtol=1e-9)


def test_rows_are_counted_alike_with_and_without_bisection(monkeypatch: pytest.MonkeyPatch) -> None:
    x, params = np.random.default_rng(1).gamma(2.0, size=700), np.array([1.7, 1.2])
    x[:30] = 1.0  # ties
    found = family("gamma")
    search = MemberSearch(found, Column.of(x[:, None], None, found.support), 0.05)
    whole = search.below(params)
    monkeypatch.setattr(searched, "_WHOLE", 10)
    for one, other in zip(whole, search.below(params), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-12)
    assert np.abs(whole[0] - whole[1]).max() <= 0.5


def test_smooth_counts_take_the_row_at_a_cut_in_parts() -> None:
    x, found = np.sort(np.random.default_rng(7).normal(size=50)), family("normal")
    search = MemberSearch(found, Column.of(x[:, None]), 0.05)
    counts, smooth = search.below(np.array([0.1, 1.2]))
    u, cuts = stats.norm(0.1, 1.2).cdf(x), searched.uniform_design(50).cuts[0].edges[0]
    expected = np.interp(cuts, np.concatenate([[0.0], u, [1.0]]), np.arange(52) - 0.5)
    np.testing.assert_allclose(smooth[1:-1], np.clip(expected, 0.0, 50.0), atol=1e-9)
    assert counts[1:-1].tolist() == [int(np.sum(u <= cut)) for cut in cuts]


def test_the_best_member_around_a_start_is_less_surprising_than_the_start() -> None:
    x, found = np.random.default_rng(8).normal(size=80), family("normal")
    search, units = MemberSearch(found, Column.of(x[:, None]), 0.05), np.array([1.0, 0.7])
    start = found.to_working(np.array([0.9, 1.4]))
    near = search.look_around(start, units)
    assert search.surprise(near) < search.surprise(start) < search.surprise(2.0 * start - near)


def test_rows_outside_the_support_lie_in_no_region() -> None:
    x = np.append(np.random.default_rng(2).gamma(2.0, size=100), [-1.0, 0.0, -3.0])
    found = family("gamma")
    column = Column.of(x[:, None], None, found.support)
    assert (column.n, len(column.low)) == (103, 100)
    assert counted_below("gamma", x, np.array([2.0, 1.0]))[-1] == 100


def test_heights_of_rounded_rows_are_uniform() -> None:
    """Rounded to a third of a standard deviation: without a place between the ends of a cell p would be about 0."""
    x = np.random.default_rng(3).gamma(2.0, size=4000).round(0)
    found, grid = family("gamma"), find_grid(x[:, None])
    assert grid is not None
    column = Column.of(x[:, None], grid, found.support)
    u = column.heights(found, np.array([2.0, 1.0]))
    assert len(u) == 4000
    assert (np.diff(u) >= 0.0).all()
    assert stats.kstest(u, "uniform").pvalue > 0.01


DATA: dict[str, tuple[str, Callable[[np.random.Generator], Floats]]] = {
    "exponential rows": ("normal", lambda rng: rng.exponential(size=60)),
    "an atom": ("normal", lambda rng: np.where(rng.random(60) < 0.2, 3.0, rng.normal(size=60))),
    "two lumps": ("normal", lambda rng: np.append(rng.normal(size=25), rng.normal(9.0, 1.0, size=15))),
    "few rows": ("exponential", lambda rng: rng.gamma(6.0, size=20)),
    "log-normal rows": ("gamma", lambda rng: rng.lognormal(0.0, 1.5, size=60)),
}


@pytest.mark.parametrize("case", DATA)
@pytest.mark.parametrize("share", [0.05, 0.4])
def test_no_member_of_a_brute_force_grid_has_a_larger_pvalue(case: str, share: float) -> None:
    name, draw = DATA[case]
    found, x = family(name), draw(np.random.default_rng(4))
    column = Column.of(x[:, None], None, found.support)
    best, null = closest_member(found, column, share, 499)
    pvalue, brute = null.pvalue(best.statistic), MemberSearch(found, column, share)
    if pvalue > searched.SURE:
        return
    middle, spread = found.to_working(found.start(x[:, None])), 2.0 if name == "exponential" else 1.5
    scales = np.array([spread * x.std() if not positive else spread for positive in found._logarithmic])
    for step in product(np.linspace(-1.0, 1.0, 21 if len(middle) > 1 else 201), repeat=len(middle)):
        brute.surprise(middle + scales * np.array(step))
    assert pvalue >= null.pvalue(brute.best.statistic) - 0.02
    assert (pvalue <= 0.05) == (null.pvalue(brute.best.statistic) <= 0.05)


def test_the_smaller_lump_is_found_where_so_much_may_be_contaminated() -> None:
    """60 % lie far away and close together, in no way normal: the 40 % that are normal are a part of the rows."""
    rng = np.random.default_rng(5)
    x = np.append(rng.normal(size=80), 50.0 + 0.001 * rng.choice([-1.0, 1.0], size=100))
    best, null = closest_member(family("normal"), Column.of(x[:, None]), 0.6, 499)
    assert null.pvalue(best.statistic) > 0.2
    assert abs(best.params[0]) < 1.0


def test_rows_that_are_all_alike_or_outside_the_support_are_refused() -> None:
    with pytest.raises(ValueError, match="give no start for the search"):
        closest_member(family("normal"), Column.of(np.full((30, 1), 2.0)), 0.05, 499)
    found, x = family("gamma"), -np.arange(1.0, 31.0)[:, None]
    with pytest.raises(ValueError, match="lie where its members have a density"):
        closest_member(found, Column.of(x, None, found.support), 0.05, 499)


def test_a_family_without_free_parameters_is_its_one_member() -> None:
    found = as_family(stats.norm, 1, {"loc": 0.0, "scale": 1.0})
    assert isinstance(found, Family)
    x = np.random.default_rng(6).normal(size=100)
    best, null = closest_member(found, Column.of(x[:, None]), 0.05, 499)
    known = count(Design.build(Source(cdf=stats.norm().cdf), 100), x[:, None])
    assert best.statistic == pytest.approx(known.statistic(0.05), rel=1e-12)
    assert null.share == 0.05


def test_a_start_changes_no_logarithm_by_more_than_two() -> None:
    """Nearly equal rows: the log density of an exponential law hardly depends on its rate at the mean of the rows."""
    start = searched._start(family("exponential"), np.linspace(4.99, 5.01, 30)[:, None])
    assert start is not None
    assert start[1].tolist() == [2.0]
