"""Null distributions: the statistic by its definition, replicates of each kind, and their levels."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats
from scipy.special import ndtr

from steinball.regions import counted as module
from steinball.regions.counted import Null, affordable_draws, count, simulate, statistics
from steinball.regions.design import Design
from steinball.regions.source import Source, from_sampler, from_second_sample
from steinball.regions.tails import shortfall

Floats = NDArray[np.float64]
NORMAL = Source(cdf=stats.norm().cdf, quantile=stats.norm().ppf)


def standard(d: int) -> Source:
    return from_sampler(lambda n, rng: rng.normal(size=(n, d)), d, np.zeros(d), np.eye(d))


@pytest.mark.exact
def test_a_pvalue_counts_replicates_at_least_as_extreme_and_ties() -> None:
    null = Null(0.0, np.array([-8.0, -5.0, -5.0, -2.0]))
    assert null.pvalue(-9.0) == 1.0 / 5.0
    assert null.pvalue(-5.0) == 4.0 / 5.0
    assert null.pvalue(-5.0 - 1e-12) == 4.0 / 5.0
    assert null.pvalue(0.0) == 1.0


@pytest.mark.exact
def test_the_statistic_is_the_smallest_weighted_tail() -> None:
    design = Design.build(standard(3), 50)
    counts = count(design, np.random.default_rng(0).normal(size=(50, 3)) * 1.3).counts
    best = np.inf
    for k, (share, got) in enumerate(zip(design.expected.share, counts, strict=True)):
        family = int(np.searchsorted(design.expected.starts, k, side="right")) - 1
        d = float(shortfall(np.array([got]), 50, np.array([0.9 * share]))[0])
        best = min(best, design.cuts[family].family.size * ndtr(-np.sqrt(2.0 * d)))
    assert np.exp(statistics(design, counts[None], 0.1)[0]) == pytest.approx(best, rel=1e-9)


@pytest.mark.exact
def test_fewer_rows_in_any_region_are_never_less_extreme() -> None:
    design = Design.build(standard(2), 40)
    rng = np.random.default_rng(1)
    counts = count(design, rng.normal(size=(40, 2))).counts
    fewer = np.maximum(counts - rng.integers(0, 3, size=(50, len(counts))), 0)
    assert (statistics(design, fewer, 0.05) <= statistics(design, counts[None], 0.05)[0]).all()


@pytest.mark.exact
def test_the_number_of_draws_depends_on_sizes_alone() -> None:
    assert affordable_draws(Design.build(NORMAL, 10**6)) == 1999
    design = Design.build(standard(3), 100)
    assert affordable_draws(design) == 1999
    assert affordable_draws(design, wanted=10**6) == 399
    assert affordable_draws(design, wanted=10**8, least=10**7) == 0


@pytest.mark.exact
def test_a_second_sample_gives_replicates_from_ten_times_the_rows_on() -> None:
    rng = np.random.default_rng(2)
    small, large = (Design.build(from_second_sample(rng.normal(size=(m, 2))), 50) for m in (500, 700))
    assert affordable_draws(small) == 0  # a fifth of the rows standardizes the others
    assert affordable_draws(large) == 1999
    line = Design.build(from_second_sample(rng.normal(size=(50, 1))), 50)
    assert affordable_draws(line) == 1999
    tied = Design.build(from_second_sample(rng.normal(size=(50, 1)).round()), 50)
    assert affordable_draws(tied) == 0


@pytest.mark.exact
@pytest.mark.parametrize("d", [1, 3])
def test_the_null_has_a_seed_of_its_own(d: int) -> None:
    design = Design.build(NORMAL if d == 1 else standard(d), 30)
    first, second = simulate(design, 0.05, 60), simulate(design, 0.05, 60)
    assert first.statistics.tolist() == second.statistics.tolist()
    assert len(first.statistics) == 60
    assert first.share == 0.05


def two_samples(first: Null, second: Null) -> float:
    return float(stats.ks_2samp(first.statistics, second.statistics).pvalue)


@pytest.mark.calibration
@pytest.mark.parametrize("share", [0.0, 0.2])
def test_replicates_of_one_view_are_those_of_fresh_draws(share: float) -> None:
    design = Design.build(NORMAL, 40)
    rng = np.random.default_rng(3)
    fresh = []
    for _ in range(1000):
        x = rng.normal(size=(40, 1))
        x[rng.random(40) < share] = np.nan  # dropped rows lie in no region
        fresh.append(count(design, x).statistic(share))
    assert two_samples(simulate(design, share, 1000), Null(share, np.array(fresh))) > 0.01


@pytest.mark.calibration
def test_replicates_of_one_view_of_a_second_sample_vary_with_its_cuts_too() -> None:
    """Unconditional law: fresh draws and fresh data each time."""
    rng = np.random.default_rng(4)
    found = [
        count(Design.build(from_second_sample(rng.normal(size=(60, 1))), 50), rng.normal(size=(50, 1))).statistic(0.0)
        for _ in range(800)
    ]
    design = Design.build(from_second_sample(rng.normal(size=(60, 1))), 50)
    assert two_samples(simulate(design, 0.0, 2000), Null(0.0, np.array(found))) > 0.01


@pytest.mark.calibration
def test_fresh_replicates_are_samples_of_the_model() -> None:
    design = Design.build(standard(2), 40)
    rng = np.random.default_rng(5)
    fresh = []
    for _ in range(600):
        x = rng.normal(size=(40, 2))
        x[rng.random(40) < 0.1] = np.nan
        fresh.append(count(design, x).statistic(0.1))
    assert two_samples(simulate(design, 0.1, 1000), Null(0.1, np.array(fresh))) > 0.01


@pytest.mark.exact
def test_rows_taken_out_are_counted_below_cuts_of_the_rest() -> None:
    rng = np.random.default_rng(6)
    values = rng.normal(size=(3, 200))
    taken = rng.permutation(200)[:30]
    shares = np.array([[0.1, 0.5, 0.93]])
    ranks = values.argsort(axis=1).argsort(axis=1)
    found = module._recut(ranks[:, taken], shares, 200)
    for t in range(3):
        rest = np.sort(np.delete(values[t], taken))
        cuts = [rest[int(np.rint(share * 171)) - 1] for share in shares[0]]
        assert found[t].tolist() == [0, *(int(np.sum(values[t, taken] <= cut)) for cut in cuts), 30]


@pytest.mark.exact
def test_less_is_kept_the_more_is_tolerated() -> None:
    """The same draws and labels at every share: the counts of a replicate are nested."""
    design = Design.build(standard(2), 30)
    few, many = (module._fresh(design, share, 5, np.random.default_rng(7)) for share in (0.3, 0.1))
    for a, b in zip(few, many, strict=True):
        assert (np.diff(a, axis=-1) <= np.diff(b, axis=-1)).all()
        assert a[..., -1].sum() < b[..., -1].sum()


BAD: dict[str, Callable[[int, np.random.Generator], Floats]] = {
    "far": lambda k, rng: np.full(k, 50.0),
    "near": lambda k, rng: 1.0 + 0.1 * rng.normal(size=k),
    "wide": lambda k, rng: 100.0 * rng.normal(size=k),
}


@pytest.mark.calibration
@pytest.mark.parametrize("bad", BAD)
@pytest.mark.parametrize(("n", "share"), [(20, 0.2), (200, 0.05)])
def test_the_level_is_kept_whatever_the_bad_rows_are(bad: str, n: int, share: float) -> None:
    design, rng = Design.build(NORMAL, n), np.random.default_rng(8)
    null, rejected = simulate(design, share, 999), 0
    for _ in range(400):
        x, struck = rng.normal(size=n), rng.random(n) < share
        x[struck] = BAD[bad](int(struck.sum()), rng)
        rejected += count(design, x[:, None]).pvalue(null) <= 0.05
    assert rejected / 400 <= 0.05 + 2.0 * np.sqrt(0.05 * 0.95 / 400)


@pytest.mark.calibration
def test_at_the_edge_the_level_is_attained() -> None:
    design, rng = Design.build(NORMAL, 20), np.random.default_rng(9)
    null, rejected = simulate(design, 0.2, 1999), 0
    for _ in range(600):
        x = rng.normal(size=20)
        x[rng.random(20) < 0.2] = 50.0
        rejected += count(design, x[:, None]).pvalue(null) <= 0.05
    assert rejected / 600 >= 0.03


@pytest.mark.calibration
@pytest.mark.parametrize(("d", "repeats", "draws"), [(1, 500, 999), (3, 100, 99)])
def test_replicates_out_of_a_second_sample_keep_the_level(d: int, repeats: int, draws: int) -> None:
    rng, rejected = np.random.default_rng(10), 0
    null = None
    for _ in range(repeats):
        design = Design.build(from_second_sample(rng.normal(size=(1000, d))), 40)
        if null is None or d > 1:  # the null of one view depends on the number of draws alone
            null = simulate(design, 0.0, draws)
        rejected += count(design, rng.normal(size=(40, d))).pvalue(null) <= 0.05
    assert rejected / repeats <= 0.05 + 2.0 * np.sqrt(0.05 * 0.95 / repeats)


@pytest.mark.exact
def test_replicates_of_a_second_sample_have_the_shares_of_the_cuts() -> None:
    draws = np.random.default_rng(9).normal(size=(1000, 2))
    design = Design.build(from_second_sample(draws), 60)
    assert design.source.draws is not None
    found = module._from_sample(design)(design, 0.2, 200, np.random.default_rng(1))
    for cut, below in zip(design.cuts, found, strict=True):
        assert below.shape == (cut.family.size, 200, cut.heads.shape[1])
        expected = 0.8 * 60 * cut.heads[0] / (len(design.source.draws) + 1.0)
        assert below.mean(axis=1) == pytest.approx(np.tile(expected, (cut.family.size, 1)), abs=1.0)
