"""Rows of chains that are far enough apart."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import steinball as sb
from steinball.arrays import to_host
from tests.rates import happens

Floats = NDArray[np.float64]


@pytest.mark.exact
def test_a_step_picks_rows_of_each_chain_from_its_first() -> None:
    x = np.arange(10.0)
    assert sb.thin(x, step=3)[:, 0].tolist() == [0, 3, 6, 9]
    assert sb.thin(x, step=3, chains=2)[:, 0].tolist() == [0, 3, 5, 8]
    assert sb.thin(x, step=3, chains=[4, 6])[:, 0].tolist() == [0, 3, 4, 7]
    kept, scores = sb.thin(x, -x, step=4)
    assert np.array_equal(scores, -kept)


@pytest.mark.exact
def test_independent_rows_are_all_kept() -> None:
    x = np.random.default_rng(0).normal(size=(300, 2))
    assert np.array_equal(sb.thin(x), x)


@pytest.mark.exact
@pytest.mark.parametrize("unit", [1e-3, 1e3])
def test_the_unit_of_the_rows_does_not_matter(unit: float, chain: Callable[..., Floats]) -> None:
    x = chain(600, 2, 0.8, np.random.default_rng(4)) + 1.0
    np.testing.assert_allclose(sb.thin(unit * x), unit * sb.thin(x))


@pytest.mark.backend
def test_rows_stay_in_their_array_library(xp: Any, chain: Callable[..., Floats]) -> None:
    x = chain(400, 2, 0.8, np.random.default_rng(1))
    there, scores = sb.thin(xp.asarray(x), xp.asarray(-x))
    here, _ = sb.thin(x, -x)
    assert type(there) is type(scores) is type(xp.asarray(x))
    assert np.array_equal(to_host(there), here)
    assert 10 < len(here) < 100


@pytest.mark.exact
@pytest.mark.parametrize("options", [{"step": 0}, {"step": "some"}, {"chains": 7}])
def test_what_is_no_step_or_chain_is_refused(options: dict[str, Any]) -> None:
    with pytest.raises((TypeError, ValueError), match=f"`{next(iter(options))}"):
        sb.thin(np.arange(100.0), **options)


@pytest.mark.exact
def test_a_chain_that_stays_where_it_is_is_refused_and_a_column_that_does_is_not() -> None:
    with pytest.raises(ValueError, match=r"stays at one point for 46 of its 50 rows.*give `step`"):
        sb.thin(np.r_[np.ones(45), np.arange(5.0)])
    x = np.random.default_rng(3).normal(size=(200, 2))
    x[:, 1] = 4.0
    assert np.array_equal(sb.thin(x), x)
    assert all(len(sb.thin(x[:n])) == n for n in (2, 3, 10))


@pytest.mark.calibration
@pytest.mark.parametrize("rho", [0.5, 0.9])
def test_a_test_of_thinned_rows_keeps_its_level(rho: float, chain: Callable[..., Floats]) -> None:
    """d = 5, n = 600: a rate of .05 and not .3, which at most 9 of 60 would tell as well; unthinned .6 and 1."""
    rng, model = np.random.default_rng(2), sb.models.Gaussian(np.zeros(5))
    draws = sb.WeightedBootstrap(199)
    samples = (sb.thin(chain(600, 5, rho, rng)) for _ in count())
    tests = (sb.ksd_test(x, model, calibration=draws, rng=k) for k, x in enumerate(samples))
    assert happens((test.rejected for test in tests), 0.05, 0.3)
