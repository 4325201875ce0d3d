"""Calibrations for fitted models are for those alone."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import steinball as sb
from steinball.arrays import generator_at

pytestmark = pytest.mark.exact


@pytest.mark.parametrize("calibration", [sb.ProjectedBootstrap(99), sb.RefitBootstrap(99)], ids=["projected", "refit"])
def test_a_known_model_is_not_tested_by_them(calibration: sb.calibration.Calibration) -> None:
    with pytest.raises(TypeError, match="is for models that were fitted on the tested data"):
        sb.ksd_test(np.arange(5.0), sb.models.Gaussian(), calibration=calibration, rng=0)
    result = sb.ksd_test(np.arange(5.0), sb.models.Gaussian(), rng=0)
    with pytest.raises(TypeError, match=r"use|Use `sb.fit_test"):
        result.at(calibration=calibration)
    assert "99" in repr(calibration)


X = np.random.default_rng(0).normal(1.0, 2.0, size=(40, 1))


def test_a_draw_is_the_ksd_of_a_sample_from_its_own_fit() -> None:
    result: Any = sb.fit_test(X, "normal", calibration=sb.RefitBootstrap(19), rng=0)
    refits = result._evidence.calibration.refits
    draws = result.model.sample(40, generator_at(refits.seed, 3))
    again = sb.models.Gaussian(draws.mean(), draws.var())
    wanted = sb.ksd(draws, again, kernel=result.kernel)
    assert math.isclose(result.draws[3], wanted, rel_tol=1e-9)


def test_refits_go_with_any_function_and_extend() -> None:
    result: Any = sb.fit_test(
        X, lambda x: sb.models.Gaussian(x.mean(), x.var()), calibration=sb.RefitBootstrap(19), rng=0
    )
    more = result.extend(20)
    np.testing.assert_array_equal(more.draws[:19], result.draws)
    assert more.n_resamples == len(more.draws) == 39
    assert result.params == {}


def test_a_tolerance_and_a_model_without_a_sampler_are_refused() -> None:
    with pytest.raises(ValueError, match="does not hold over the set behind"):
        sb.fit_test(X, "normal", contamination=0.05, calibration=sb.RefitBootstrap(19), rng=0)
    with pytest.raises(ValueError, match="has no `sample"):
        sb.fit_test(X, lambda x: sb.from_score(lambda y: x.mean() - y), calibration=sb.RefitBootstrap(19), rng=0)


@pytest.mark.calibration
def test_the_level_holds_the_warp_speed_way() -> None:
    """One refit for each of 150 samples, whose 95 % quantile is the threshold of all.

    Both rates have a standard error of .018: at most 17 rejections (.05 and 2.5 standard errors of the difference).
    """
    statistics, draws = [], []
    for seed in range(150):
        x = np.random.default_rng(seed).normal(size=50)
        result: Any = sb.fit_test(x, "normal", calibration=sb.RefitBootstrap(1), level=0.5, rng=seed)
        statistics.append(result.ksd * math.sqrt(50.0))
        draws.append(float(result.draws[0]) * math.sqrt(50.0))
    assert np.sum(np.array(statistics) > np.quantile(draws, 0.95)) <= 17
