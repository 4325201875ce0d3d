"""Parameters get the checks that samples get: masks, dates and text are refused by the name of the argument."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import steinball as sb
from steinball.arrays import MemoryLimitError, OutOfRangeError
from steinball.jumps import Modes
from steinball.tau import Ball, Box
from steinball.tilts import EdgeTilt

pytestmark = pytest.mark.exact

MAKERS: dict[str, Callable[[Any], Any]] = {
    "mean": lambda v: sb.models.Gaussian(mean=v),
    "cov": lambda v: sb.models.Gaussian(cov=v),
    "sd": lambda v: sb.models.Gaussian(sd=v),
    "location": lambda v: sb.models.StudentT(3.0, location=v),
    "means": lambda v: sb.models.GaussianMixture([0.5, 0.5], v),
    "weights": lambda v: sb.models.GaussianMixture(v, [0.0, 1.0]),
    "visible_bias": lambda v: sb.models.GaussianBernoulliRBM(np.ones((2, 2)), v, [0.0, 0.0]),
    "coefficients": lambda v: sb.models.KernelExponentialFamily(v),
    "center": lambda v: sb.PolynomialTilt(center=v),
    "precision": lambda v: sb.PolynomialTilt(precision=v),
    "metric": lambda v: sb.InverseMultiquadric(1.0, metric=v),
    "scale": lambda v: EdgeTilt(low=0.0, scale=v),
    "low": lambda v: EdgeTilt(low=v),
    "lower": lambda v: Box(v, [9.0, 9.0]),
    "modes": lambda v: Modes(v),
}
MASKED = np.ma.masked_array([0.5, 0.5], mask=[False, True])
DATES = np.array(["2020-01-01", "2020-01-02"], dtype="datetime64[D]")


@pytest.mark.parametrize("name", list(MAKERS))
@pytest.mark.parametrize(
    "bad", [MASKED, DATES, ["a", "b"], [1j, 2.0], [None, {}]], ids=["masked", "dates", "text", "complex", "objects"]
)
def test_a_parameter_that_is_not_numbers_is_refused_by_name(name: str, bad: Any) -> None:
    with pytest.raises((TypeError, ValueError), match=f"`{name}`"):
        MAKERS[name](bad)


def test_the_center_of_a_ball_is_checked_likewise() -> None:
    for bad in (MASKED, DATES, "here", np.zeros((2, 2))):
        with pytest.raises((TypeError, ValueError), match="`center`"):
            Ball(1.0, bad)


@pytest.mark.parametrize("lengthscale", [1e-155, 1e-320, 1e160])
def test_a_length_whose_square_is_no_float_is_refused(lengthscale: float) -> None:
    with pytest.raises(ValueError, match="`lengthscale` must lie between 1e-150 and 1e\\+150"):
        sb.InverseMultiquadric(lengthscale)


@pytest.mark.parametrize("level", [1e-320, 1e-301])
def test_a_level_whose_inverse_is_no_float_is_refused(level: float) -> None:
    with pytest.raises(ValueError, match="`level` must be at least 1e-300"):
        sb.ksd_test([0.0, 1.0, 2.0], sb.models.Gaussian(), level=level)
    with pytest.raises(ValueError, match=r"`n_resamples=999` cannot reach `level=1e-290`.*at least 1e"):
        sb.ksd_test([0.0, 1.0, 2.0], sb.models.Gaussian(), level=1e-290)


def test_a_count_beyond_all_memory_is_refused() -> None:
    with pytest.raises(ValueError, match="`n_resamples` must be at most"):
        sb.WeightedBootstrap(10**30)
    with pytest.raises(ValueError, match="`n` must be at most"):
        sb.predict_cost(10**400, 1)


@pytest.mark.parametrize("n_jobs", [0, True, 1.5, "all", math.nan])
def test_what_is_no_number_of_workers_is_refused(n_jobs: Any) -> None:
    with pytest.raises(ValueError, match="`n_jobs` must be None or a non-zero whole number"):
        sb.predict_cost(100, 1, n_jobs=n_jobs)
    with pytest.raises(ValueError, match="`n_jobs` must be None or a non-zero whole number"):
        sb.ksd_test([0.0, 1.0, 2.0], sb.models.Gaussian(), n_jobs=n_jobs)


@pytest.mark.parametrize("ours", [OutOfRangeError, MemoryLimitError])
def test_what_overflows_and_what_does_not_fit_is_a_value_error_too(ours: type) -> None:
    assert issubclass(ours, ValueError)
    assert issubclass(ours, (FloatingPointError, MemoryError))
