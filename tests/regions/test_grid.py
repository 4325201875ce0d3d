"""Grids of rounded rows: found where they are, and not where they are not."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from steinball.regions.source import Grid, find_grid, spread_over_cells

pytestmark = pytest.mark.exact

Floats = NDArray[np.float64]


def normal(n: int = 500, seed: int = 0) -> Floats:
    return np.random.default_rng(seed).normal(size=(n, 1))


def to(step: float, x: Floats, offset: float = 0.0) -> Floats:
    return offset + step * np.round((x - offset) / step)


def step_of(x: Floats) -> float | None:
    grid = find_grid(x)
    return None if grid is None else float(grid.step[0])


@pytest.mark.parametrize("step", [0.01, 0.1, 0.5, 0.25, 0.2, 1.0, 2.54, 1.0 / 16.0, 1.0 / 3.0, 0.3])
@pytest.mark.parametrize("n", [100, 2000])
def test_the_step_of_rounded_rows_is_found(step: float, n: int) -> None:
    assert step_of(to(step, normal(n))) == pytest.approx(step, rel=1e-9)


@pytest.mark.parametrize(("scale", "location"), [(1e-6, 0.0), (1e6, 0.0), (1.0, 1e6), (8.0, 170.0)])
def test_units_and_locations_do_not_matter(scale: float, location: float) -> None:
    x = location + scale * normal()
    assert step_of(to(scale / 10.0, x)) == pytest.approx(scale / 10.0, rel=1e-6)
    assert step_of(x) is None


def test_a_grid_that_does_not_hold_zero_is_found() -> None:
    grid = find_grid(to(0.7, normal(), offset=0.1))
    assert grid is not None
    assert grid.step[0] == pytest.approx(0.7)
    assert np.abs(to(0.7, grid.offset, offset=0.1) - grid.offset).max() < 1e-9


@pytest.mark.parametrize("share", [0.05, 0.2])
@pytest.mark.parametrize("garbage", [lambda k, g: g.normal(size=k) * 1e4, lambda k, g: np.full(k, 1.109)])
def test_contaminated_rows_need_not_lie_on_the_grid(
    share: float, garbage: Callable[[int, np.random.Generator], Floats]
) -> None:
    rng = np.random.default_rng(1)
    x = to(0.1, normal())
    bad = rng.random(len(x)) < share
    x[bad, 0] = garbage(int(bad.sum()), rng)
    assert step_of(x) == pytest.approx(0.1)


def test_decimals_that_were_single_precision_are_seen() -> None:
    x = to(0.1, 5.0 + normal()).astype(np.float32).astype(np.float64)
    assert step_of(x) == pytest.approx(0.1)


@pytest.mark.parametrize(
    "x",
    [
        normal(),
        np.repeat(normal(), 2, axis=0),
        normal().astype(np.float32).astype(np.float64),
        np.where(normal() < 0.0, 0.0, normal(seed=1)),
        np.clip(normal(), -1.0, 1.0),
        np.random.default_rng(0).exponential(size=(500, 1)),
        np.zeros((50, 1)),
        np.repeat([[0.0], [1.0]], 20, axis=0),
    ],
    ids=["normal", "doubled", "single precision", "zeros", "censored", "exponential", "constant", "two values"],
)
def test_rows_that_were_not_rounded_have_no_grid(x: Floats) -> None:
    assert find_grid(x) is None


def test_a_step_that_no_region_can_see_is_no_grid() -> None:
    assert step_of(to(1e-5, normal())) is None


def test_columns_have_grids_of_their_own() -> None:
    x = np.concatenate([to(0.1, normal()), normal(seed=1), to(0.5, normal(seed=2))], axis=1)
    grid = find_grid(x)
    assert grid is not None
    assert grid.step == pytest.approx([0.1, 0.0, 0.5])
    fresh = np.random.default_rng(3).normal(size=(10, 3))
    rounded = grid.round(fresh)
    assert rounded[:, 1].tolist() == fresh[:, 1].tolist()
    assert rounded[:, 2] == pytest.approx(to(0.5, fresh[:, 2]))


def test_rounding_again_changes_no_bit() -> None:
    grid = Grid(np.array([0.1]), np.array([0.03]))
    once = grid.round(normal())
    assert grid.round(once).tolist() == once.tolist()


def test_cuts_lie_half_a_step_above_values_of_the_grid() -> None:
    grid = Grid(np.array([0.5]), np.array([0.25]))
    assert grid.above(np.array([0.3, 0.74, 0.76])) == pytest.approx([0.5, 1.0, 1.0])


@pytest.mark.parametrize("place", [-1e300, 1e300, 1e308, -1e17])
def test_a_row_far_out_neither_invents_a_grid_nor_hides_one(place: float) -> None:
    x = normal(200)
    x[0] = place
    assert step_of(x) is None
    x[1:] = to(0.254, x[1:])
    assert step_of(x) == pytest.approx(0.254, rel=1e-6)
    assert step_of(np.array([[place], [-place], [0.5 * place]])) in (None, pytest.approx(0.5 * abs(place)))


def test_rows_of_the_model_are_standard_normal_once_they_are_spread_over_their_cells() -> None:
    """Exponential rows to a half, whose first cell is half as wide: F(a) ≤ Φ(z) ≤ F(b) for each, and a KS test."""
    law, ends = stats.expon(), (np.array([0.0]), np.array([np.inf]))
    x = np.round(2.0 * law.rvs((2000, 1), random_state=1)) / 2.0
    x[7] = 0.3  # not on the grid
    mapped = stats.norm.ppf(law.cdf(x + 1e-9))

    def to_base(v: Floats) -> Floats:
        assert (v >= 0.0).all(), "a model need not know anything outside its support"
        return np.asarray(stats.norm.ppf(law.cdf(v)))

    z = spread_over_cells(x, mapped, ends, to_base)
    u, on = stats.norm.cdf(z), np.arange(2000) != 7
    assert (u[on] >= law.cdf(x - 0.25)[on] - 1e-12).all()
    assert (u[on] <= law.cdf(x + 0.25)[on] + 1e-12).all()
    assert z[7] == mapped[7]
    assert stats.kstest(u[on].ravel(), "uniform").pvalue > 0.01
    for value, high in ((0.0, law.cdf(0.25)), (0.5, law.cdf(0.75))):
        places = np.sort(u[(x == value) & on[:, None]])
        low = law.cdf(value - 0.25)
        even = low + (high - low) * (np.arange(len(places)) + 0.5) / len(places)
        np.testing.assert_allclose(places, even, rtol=1e-9)
    assert abs(np.corrcoef(u[(x == 0.5)], np.arange((x == 0.5).sum()))[0, 1]) < 0.2, "not in the order of the rows"


def test_cells_far_out_keep_their_places_in_either_tail() -> None:
    """At ±12 standard deviations 1 − Φ is 0 in floats: the smaller tail is counted from."""
    x = np.concatenate([[-12.0, 12.0], np.arange(-3.0, 4.0).repeat(30)])[:, None]
    z = spread_over_cells(x, x, (np.array([-np.inf]), np.array([np.inf])), lambda v: v)
    assert (np.abs(z - x) <= 0.5 + 1e-9).all()
    assert len(np.unique(z)) == len(x)


def test_a_finer_grid_that_holds_more_rows_is_the_grid() -> None:
    """Halves whose commonest value is ½: of the other rows three quarters are whole, and all of them halves."""
    for seed in range(20):
        x = to(0.5, np.random.default_rng(seed).exponential(size=(500, 1)))
        assert step_of(x) == 0.5
