"""Data that ship with the library: known numbers, the known slip, the paper's scaling."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import steinball as sb
from steinball.datasets import load_galaxies, load_nile, load_wages

pytestmark = pytest.mark.exact


def test_velocities_are_the_published_eighty_two() -> None:
    velocities = load_galaxies(standardize=False)
    assert velocities.shape == (82, 1)
    assert velocities.dtype == np.float64
    assert np.all(np.diff(velocities[:, 0]) >= 0.0)
    assert (velocities[0, 0], velocities[-1, 0]) == (9172.0, 34279.0)
    assert velocities.mean() == pytest.approx(20828.17, abs=0.01)  # 20,831.46 without the slip


def test_the_slip_is_kept() -> None:
    assert load_galaxies(standardize=False)[77, 0] == 26690.0


def test_standardized_velocities_have_mean_zero_and_deviation_two() -> None:
    x, raw = load_galaxies(), load_galaxies(standardize=False)
    assert x.mean() == pytest.approx(0.0, abs=1e-14)
    assert x.std() == pytest.approx(2.0, rel=1e-14)
    np.testing.assert_allclose(np.diff(x[:, 0]) * raw.std(), 2.0 * np.diff(raw[:, 0]), rtol=1e-9)


def test_every_call_returns_its_own_array() -> None:
    load_galaxies()[0, 0] = 99.0
    assert load_galaxies()[0, 0] != 99.0


def test_flows_are_the_published_hundred() -> None:
    flow = load_nile()
    assert flow.shape == (100, 1)
    assert flow.sum() == 91_935.0  # a mean of 919.35
    assert (flow[0, 0], flow[42, 0], flow[-1, 0]) == (1120.0, 456.0, 740.0)
    assert flow[:28].mean() - flow[28:].mean() == pytest.approx(247.8, abs=0.1)


def test_the_wages_are_those_of_the_survey() -> None:
    wages = load_wages()
    assert wages.shape == (25631, 1)
    assert wages.dtype == np.float64
    assert (wages.min(), wages.max()) == (50.39, 18777.2)
    assert int((wages == 712.25).sum()) == 808
    assert wages.sum() == pytest.approx(16408004.26)


def test_the_order_is_always_the_same_and_looks_independent() -> None:
    np.testing.assert_array_equal(load_wages(), load_wages())
    with warnings.catch_warnings():
        warnings.simplefilter("error", sb.cautions.DependentRowsWarning)
        sb.check(load_wages()[:500], sb.models.Gaussian(650.0, sd=450.0), tolerance=0.1, rng=0)
