"""A power of the density as a weight: its gradient is that of its logarithm, and the shifted score is (1 + κ)s."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import steinball as sb
from steinball.stein import SteinKernel
from steinball.tilts import PowerTilt

pytestmark = pytest.mark.exact


def log_density(x: Any) -> Any:
    return (x - np.exp(x)).sum(axis=1)


def score(x: Any) -> Any:
    return 1.0 - np.exp(x)


def test_the_shifted_score_is_a_multiple_of_the_score() -> None:
    x, stein = np.random.default_rng(0).normal(size=(5, 2)), SteinKernel(sb.InverseMultiquadric(1.0))
    tilt = PowerTilt(log_density, score, power=0.5, reference=-2.0)
    weight, shifted = SteinKernel(stein.kernel, tilt).tilted(x, score(x))
    np.testing.assert_allclose(shifted, 1.5 * score(x))
    assert weight is not None
    np.testing.assert_allclose(weight, np.exp(0.5 * (log_density(x) + 2.0)))


def test_it_bounds_a_score_that_grows_exponentially() -> None:
    x = np.linspace(-30.0, 6.0, 500)[:, None]
    diagonal = SteinKernel(sb.InverseMultiquadric(1.0), PowerTilt(log_density, score, reference=-1.0)).diagonal(
        x, score(x)
    )
    assert diagonal.max() < 10.0
    assert SteinKernel(sb.InverseMultiquadric(1.0), sb.PolynomialTilt()).diagonal(x, score(x)).max() > 1e3


@pytest.mark.parametrize("power", [0.0, -1.0, float("nan")])
def test_an_impossible_power_is_refused(power: float) -> None:
    with pytest.raises(ValueError, match="`power` must be a finite number"):
        PowerTilt(log_density, score, power=power)
