"""Rows to blame: those that are too many, and no others."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from steinball.regions.counted import MOST_STEPS, blame
from steinball.regions.design import Design
from steinball.regions.source import Source, from_sampler, from_second_sample

Floats = NDArray[np.float64]
NORMAL = Source(cdf=stats.norm().cdf, quantile=stats.norm().ppf)


def standard(d: int) -> Source:
    return from_sampler(lambda n, rng: rng.normal(size=(n, d)), d, np.zeros(d), np.eye(d))


@pytest.mark.exact
def test_twenty_rows_far_out_are_named_and_described() -> None:
    x = np.random.default_rng(0).normal(size=(500, 1))
    x[40:60] = 10.0
    first, *others = blame(Design.build(NORMAL, 500), x)
    assert set(range(40, 60)) <= set(first.rows)
    assert len(first.rows) <= 21
    assert others == []
    assert first.region.observed == pytest.approx(len(first.rows) / 500)
    assert first.region.expected < 0.003
    assert first.region.pvalue < 1e-6
    value = x[first.rows, 0]
    assert ((value > first.region.low) & (value <= first.region.high)).all()
    assert first.region.inside
    assert first.region.high == np.inf


@pytest.mark.exact
def test_two_places_are_named_one_after_the_other_with_no_row_twice() -> None:
    rng = np.random.default_rng(1)
    x = rng.normal(size=(600, 1))
    x[:60], x[60:90] = 6.0, -4.0
    found = blame(Design.build(NORMAL, 600), x)
    named = np.concatenate([step.rows for step in found])
    assert len(named) == len(set(named))
    assert set(range(90)) <= set(named)
    assert len(named) <= 95
    assert set(found[0].rows) >= set(range(60))
    assert found[1].region.observed == pytest.approx(len(found[1].rows) / (600 - len(found[0].rows)))


@pytest.mark.exact
def test_after_much_was_removed_shares_are_those_of_what_is_left() -> None:
    """Rows where the model has 55 % are removed: compared with all of the model, the others would look too many."""
    rng = np.random.default_rng(2)
    bad = np.concatenate([rng.uniform(0.35, 0.65, size=2400), rng.uniform(0.65, 0.9, size=1120)])
    x = stats.norm.ppf(np.concatenate([bad, rng.random(480)]))[:, None]
    found = blame(Design.build(NORMAL, 4000), x)
    named = np.concatenate([step.rows for step in found])
    assert np.sum(named < 3520) > 3300
    inside = (x[named, 0] > stats.norm.ppf(0.33)) & (x[named, 0] < stats.norm.ppf(0.92))
    assert inside.all()


@pytest.mark.exact
def test_rows_are_named_only_where_at_least_half_of_them_are_unexplained() -> None:
    x = 0.8 * np.random.default_rng(6).normal(size=(4000, 1))
    assert blame(Design.build(NORMAL, 4000), x) == []


@pytest.mark.calibration
@pytest.mark.parametrize("d", [1, 4])
def test_clean_rows_are_seldom_blamed(d: int) -> None:
    rng, design = np.random.default_rng(3), Design.build(NORMAL if d == 1 else standard(d), 200)
    assert sum(bool(blame(design, rng.normal(size=(200, d)))) for _ in range(60)) <= 4


@pytest.mark.calibration
def test_a_cluster_in_ten_columns_is_named() -> None:
    rng, design = np.random.default_rng(4), Design.build(standard(10), 500)
    shares = []
    for _ in range(5):
        x = rng.normal(size=(500, 10))
        x[:25] = 2.0 + 0.3 * rng.normal(size=(25, 10))
        named = np.concatenate([step.rows for step in blame(design, x)])
        shares.append((np.mean(named < 25), np.sum(named < 25) / 25))
    assert np.mean(shares, axis=0) == pytest.approx([0.93, 1.0], abs=0.1)


@pytest.mark.exact
def test_a_second_sample_can_blame_too() -> None:
    rng = np.random.default_rng(5)
    x = rng.normal(size=(200, 1))
    x[:20] = 8.0
    found = blame(Design.build(from_second_sample(rng.normal(size=(1000, 1))), 200), x)
    assert set(range(20)) <= set(found[0].rows)


@pytest.mark.exact
def test_there_are_only_so_many_steps() -> None:
    x = np.repeat(np.linspace(3.0, 40.0, 15), 20)[:, None]
    assert len(blame(Design.build(NORMAL, 300), x)) <= MOST_STEPS


@pytest.mark.exact
@pytest.mark.parametrize("place", [1e300, -1e308])
def test_rows_beyond_all_squares_are_blamed_without_a_warning(place: float) -> None:
    x = np.random.default_rng(7).normal(size=(100, 3))
    x[:30] = place
    named = np.concatenate([step.rows for step in blame(Design.build(standard(3), 100), x)])
    assert set(range(30)) <= set(named)
