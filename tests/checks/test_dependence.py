"""Rows that are alike because they stand near each other: seen in chains, sorted files and stored outliers alike."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import steinball as sb
from steinball.cautions import DependentRowsWarning
from steinball.checks import dependence
from steinball.checks.dependence import (
    _Neighbors,
    as_chains,
    autocorrelation_time,
    blocks_with,
    chain_lengths,
    chain_starts,
    dependent_rows,
    find_dependence,
    landmarks,
)
from steinball.gram.request import Request
from steinball.gram.whole import DenseGram
from steinball.problem import pose

Floats = NDArray[np.float64]
KERNEL = sb.InverseMultiquadric(1.4)


def problem_of(x: Any) -> Any:
    x = np.asarray(x, dtype=float).reshape(len(x), -1)
    return pose(x, sb.models.Gaussian(np.zeros(x.shape[1])), KERNEL, "auto")


def remarked(x: Any) -> bool:
    problem = problem_of(x)
    found = list(dependent_rows(problem, DenseGram(problem).summarise(Request())))
    return [remark.category for remark in found] == [DependentRowsWarning]


@pytest.mark.calibration
def test_independent_rows_are_hardly_ever_called_dependent() -> None:
    """200 samples, with a misfit and outliers among them: at a rate of .0025 more than 3 have probability .002."""
    rng = np.random.default_rng(1)
    samples = [rng.normal(rng.choice([0.0, 0.5]), 1.0, size=(int(rng.choice([25, 200, 700])), 2)) for _ in range(200)]
    for x in samples[::3]:
        x[rng.random(len(x)) < 0.05] = 6.0
    assert sum(map(remarked, samples)) <= 3


@pytest.mark.calibration
def test_chains_sorted_files_and_stored_outliers_are_called_dependent(chain: Callable[..., Floats]) -> None:
    """10 samples each: in larger simulations .85 are seen at n = 200 and ρ = .5, and all of the others."""
    rng = np.random.default_rng(2)

    def interleaved() -> Floats:
        return np.stack([chain(125, 1, 0.9, rng) for _ in range(4)], axis=1).reshape(500, 1)

    def stored() -> Floats:
        return np.concatenate([np.full((40, 1), 3.0), rng.normal(size=(160, 1))])

    for make in (interleaved, stored, lambda: np.sort(rng.normal(size=200)), lambda: chain(2000, 5, 0.9, rng)):
        assert sum(remarked(make()) for _ in range(10)) == 10
    assert sum(remarked(chain(200, 1, 0.5, rng)) for _ in range(10)) >= 5


@pytest.mark.exact
def test_the_first_look_misses_nothing_that_the_random_orders_call_dependent(chain: Callable[..., Floats]) -> None:
    rng = np.random.default_rng(3)
    samples = [chain(int(rng.choice([60, 600])), int(rng.choice([1, 4, 200])), 0.25, rng) for _ in range(20)]
    found = [find_dependence(problem_of(x)).dependent for x in samples]
    assert 3 < sum(found) < 20
    assert [remarked(x) for x in samples] == found


@pytest.mark.exact
def test_every_test_says_so_once_and_can_be_silenced() -> None:
    x = np.sort(np.random.default_rng(4).normal(size=60))
    model, few = sb.models.Gaussian(), sb.BoundaryBootstrap(19)
    tests: list[Callable[[], Any]] = [
        lambda: sb.ksd_test(x, model, calibration=sb.WeightedBootstrap(19)),
        lambda: sb.robust_ksd_test(x, model, 0.05, calibration=few),
        lambda: sb.robust_ksd_test(x, model, 0.05, calibration=sb.Betting()),
        lambda: sb.ksdagg_test(x, model, n_resamples=99, n_resamples_level=99),
        lambda: sb.robust_ksdagg_test(x, model, 0.05, calibration=sb.BoundaryBootstrap(99)),
    ]
    for test in tests:
        with pytest.warns(DependentRowsWarning, match="sorted file.*shuffle the rows.*`sb.thin`") as caught:
            test()
        assert len(caught) == 1
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            warnings.simplefilter("ignore", DependentRowsWarning)
            test()


@pytest.mark.exact
def test_nothing_is_said_where_the_calibration_is_for_dependent_rows_or_there_are_few() -> None:
    x = np.sort(np.random.default_rng(5).normal(size=400))
    wild, arrival = sb.WildBootstrap(19, dependence=20), sb.Betting(order="arrival")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sb.ksd_test(x, sb.models.Gaussian(), calibration=wild)
        sb.robust_ksd_test(x, sb.models.Gaussian(), 0.05, calibration=arrival)
        sb.ksd_test(x[:19], sb.models.Gaussian())


@pytest.mark.backend
def test_every_array_library_is_looked_at(xp: Any) -> None:
    x = xp.asarray(np.sort(np.random.default_rng(6).normal(size=(60, 1)), axis=0))
    with pytest.warns(DependentRowsWarning):
        sb.robust_ksd_test(x, lambda x: -x, 0.05, calibration=sb.BoundaryBootstrap(19), rng=0)


@pytest.mark.exact
def test_equal_rows_are_not_divided_by_their_spread() -> None:
    assert not remarked(np.ones(50))
    assert autocorrelation_time(problem_of(np.ones(50))) == 1.0


@pytest.mark.calibration
def test_the_autocorrelation_time_of_repeated_rows_is_their_number() -> None:
    """x, x, …, x, y, y, …: correlations 1 − k/m up to lag m add up to m."""
    rng = np.random.default_rng(7)
    for m in (1, 5, 20):
        x = np.repeat(rng.normal(size=(4000 // m, 2)), m, axis=0)
        assert autocorrelation_time(problem_of(x)) == pytest.approx(m, rel=0.35)


@pytest.mark.exact
def test_pairs_of_two_chains_are_left_out() -> None:
    """Two chains that sit at two places: their one jump is no step of a chain."""
    rng = np.random.default_rng(8)
    x = np.concatenate([rng.normal(size=300), rng.normal(size=100)])
    ours, whole = (autocorrelation_time(problem_of(x), chains) for chains in ((300, 100), 1))
    assert ours != whole
    assert ours == pytest.approx(whole, abs=0.2)


@pytest.mark.exact
def test_features_whose_squares_overflow_say_nothing() -> None:
    x = np.random.default_rng(9).normal(size=60)
    x[:5] = 1e80
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sb.ksd_test(x, sb.models.Gaussian(), kernel=KERNEL, calibration=sb.WeightedBootstrap(19), rng=0)


pytestmark = pytest.mark.exact


def test_a_number_of_chains_and_their_lengths_say_the_same() -> None:
    assert chain_lengths(12, 3) == chain_lengths(12, (4, 4, 4))
    assert chain_starts(12, 3).tolist() == [0, 4, 8]
    assert chain_starts(12, (5, 7)).tolist() == [0, 5]
    assert as_chains(np.array([5, 7])) == (5, 7)


@pytest.mark.parametrize("chains", [5, 13, (4, 4), (12, 1)])
def test_chains_add_up_to_the_rows(chains: Any) -> None:
    with pytest.raises(ValueError, match="n = 12"):
        chain_lengths(12, chains)


@pytest.mark.parametrize("chains", [0, -1, 2.5, "two", [], [3, 0]])
def test_what_is_no_number_of_chains_is_refused(chains: Any) -> None:
    with pytest.raises((TypeError, ValueError), match="`chains`"):
        as_chains(chains)


@pytest.mark.exact
@pytest.mark.parametrize(("n", "d"), [(20, 1), (65, 3), (200, 2), (600, 2)])
def test_the_first_look_is_at_all_pairs_of_near_rows(n: int, d: int) -> None:
    x = np.random.default_rng(n).normal(size=(n, d))
    problem = pose(x, sb.models.Gaussian(np.zeros(d)), sb.InverseMultiquadric(1.0), "auto")
    summary = DenseGram(problem).summarise(Request())
    near = _Neighbors.of(problem)
    u = problem.stein.block(problem.points, problem.points)
    means, level = u.mean(axis=0), u.mean()
    centered = u - means[:, None] - means + level
    mean = (level - np.diag(u).mean()) / (n - 1)
    stretches = near.rows.reshape(-1, near.length)
    lags = [np.concatenate([centered[s[:-k], s[k:]] for s in stretches]) for k in range(1, 17)]
    scale = np.sqrt(np.mean([lag.var() for lag in lags]))
    expected = [(lag - mean).sum() / (scale * np.sqrt(len(lag))) for lag in lags]
    np.testing.assert_allclose(near.first_look(summary)[:16], expected, rtol=1e-9, atol=1e-9)


@pytest.mark.exact
@pytest.mark.parametrize(("n", "seed", "correlation"), [(150, 2, 0.0), (150, 0, 0.2), (700, 1, 0.3), (60, 3, 0.9)])
def test_orders_looked_at_together_say_what_they_say_one_by_one(n: int, seed: int, correlation: float) -> None:
    noise, x = np.random.default_rng(seed).normal(size=n), np.zeros(n)
    for i in range(n):
        x[i] = noise[i] * np.sqrt(1.0 - correlation**2) + correlation * x[i - 1]
    problem, rng, reached, done = problem_of(x), np.random.default_rng(0), 0, 0
    near, found = _Neighbors.of(problem), find_dependence(problem)
    while done < dependence.N_PERMUTATIONS:
        done += 1
        (excesses,) = near.excesses(rng.permutation(len(near.rows))[None, :])
        reached += bool(excesses.max() >= found.excess)
        if 1 + reached > dependence.RARE * (1 + dependence.N_PERMUTATIONS):
            break
    expected = (1 + reached) / (1 + done) if found.excess >= 3.0 else 1.0
    assert found.pvalue == expected


@pytest.mark.exact
def test_hardly_more_orders_are_looked_at_than_an_early_end_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[int] = []
    excesses = _Neighbors.excesses

    def counted(near: _Neighbors, orders: NDArray[np.intp]) -> Floats:
        seen.append(len(orders))
        return excesses(near, orders)

    monkeypatch.setattr(_Neighbors, "excesses", counted)
    ends = 0
    for seed in range(400):
        seen.clear()
        found = find_dependence(problem_of(np.random.default_rng(seed).normal(size=40)))
        looked, needed = sum(seen[1:]), round(2.0 / found.pvalue) - 1
        if found.excess >= 3.0 and not found.dependent:
            ends += 1
            assert needed <= looked <= max(2 * needed, 1)
    assert ends > 5


@pytest.mark.exact
def test_blocks_of_rows_are_all_rows_with_points_spread_over_them() -> None:
    problem = problem_of(np.random.default_rng(4).normal(size=5000))
    some, points = landmarks(problem, 3), problem.points
    np.testing.assert_array_equal(some.z, points.z[[0, 2499, 4999]])
    found = np.concatenate(list(blocks_with(problem, some)))
    np.testing.assert_allclose(found, problem.stein.block(points, some), rtol=1e-12)
