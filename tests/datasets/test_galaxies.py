"""The galaxy velocities: known numbers, the known slip, the paper's scaling."""

from __future__ import annotations

import numpy as np
import pytest

from steinball.datasets import load_galaxies

pytestmark = pytest.mark.exact


def test_velocities_are_the_published_eighty_two() -> None:
    velocities = load_galaxies(standardize=False)
    assert velocities.shape == (82, 1)
    assert velocities.dtype == np.float64
    assert np.all(np.diff(velocities[:, 0]) >= 0.0)
    assert (velocities[0, 0], velocities[-1, 0]) == (9172.0, 34279.0)
    assert velocities.mean() == pytest.approx(20828.17, abs=0.01)  # 20,831.46 without the slip


def test_the_slip_is_kept_unless_it_is_corrected() -> None:
    kept, corrected = load_galaxies(standardize=False), load_galaxies(corrected=True, standardize=False)
    assert (kept[77, 0], corrected[77, 0]) == (26690.0, 26960.0)
    assert np.flatnonzero(kept != corrected).tolist() == [77]


@pytest.mark.parametrize("corrected", [False, True])
def test_standardized_velocities_have_mean_zero_and_deviation_two(corrected: bool) -> None:
    x, raw = load_galaxies(corrected), load_galaxies(corrected, standardize=False)
    assert x.mean() == pytest.approx(0.0, abs=1e-14)
    assert x.std() == pytest.approx(2.0, rel=1e-14)
    np.testing.assert_allclose(np.diff(x[:, 0]) * raw.std(), 2.0 * np.diff(raw[:, 0]), rtol=1e-9)


def test_every_call_returns_its_own_array() -> None:
    load_galaxies()[0, 0] = 99.0
    assert load_galaxies()[0, 0] != 99.0
