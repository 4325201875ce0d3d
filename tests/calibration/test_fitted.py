"""Calibrations for fitted models are for those alone."""

from __future__ import annotations

import math
import warnings
from functools import partial
from typing import Any

import numpy as np
import pytest
from scipy import stats

import steinball as sb
from steinball.arrays import generator_at
from steinball.fitting import as_family

fit_test: Any = sb.fit_test  # of one or the other result

pytestmark = pytest.mark.exact
RNG = np.random.default_rng(8)


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
    result: Any = fit_test(X, "normal", calibration=sb.RefitBootstrap(19), rng=0)
    refits = result._evidence.calibration.refits
    draws = result.model.sample(40, generator_at(refits.seed, 3))
    moved = X.mean() + X.std() * (draws - draws.mean()) / draws.std()  # to the fit of the data
    again = sb.models.Gaussian(moved.mean(), moved.var())
    kernel = sb.InverseMultiquadric(2.0 * sb.kernels.median_distance(moved))
    assert math.isclose(result.draws[3], sb.ksd(moved, again, kernel=kernel), rel_tol=1e-9)
    given: Any = fit_test(X, "normal", calibration=sb.RefitBootstrap(19), kernel=sb.InverseMultiquadric(3.0), rng=0)
    assert math.isclose(given.draws[3], sb.ksd(moved, again, kernel=given.kernel), rel_tol=1e-9)


def test_refits_go_with_any_function_and_extend() -> None:
    result: Any = fit_test(X, lambda x: sb.models.Gaussian(x.mean(), x.var()), calibration=sb.RefitBootstrap(19), rng=0)
    more = result.extend(20)
    np.testing.assert_array_equal(more.draws[:19], result.draws)
    assert more.n_resamples == len(more.draws) == 39
    assert result.params == {}


def test_a_tolerance_and_a_model_without_a_sampler_are_refused() -> None:
    with pytest.raises(ValueError, match="`calibration` cannot be given with `contamination"):
        fit_test(X, "normal", contamination=0.05, calibration=sb.RefitBootstrap(19), rng=0)
    with pytest.raises(ValueError, match="has no `sample"):
        fit_test(X, lambda x: sb.from_score(lambda y: x.mean() - y), calibration=sb.RefitBootstrap(19), rng=0)


@pytest.mark.calibration
def test_the_level_holds_the_warp_speed_way() -> None:
    """One refit for each of 150 samples, whose 95 % quantile is the threshold of all.

    Both rates have a standard error of .018: at most 17 rejections (.05 and 2.5 standard errors of the difference).
    """
    statistics, draws = [], []
    for seed in range(150):
        x = np.random.default_rng(seed).normal(size=50)
        result: Any = fit_test(x, "normal", calibration=sb.RefitBootstrap(1), level=0.5, rng=seed)
        statistics.append(result.ksd * math.sqrt(50.0))
        draws.append(float(result.draws[0]) * math.sqrt(50.0))
    assert np.sum(np.array(statistics) > np.quantile(draws, 0.95)) <= 17


FAMILIES = {
    "normal": RNG.normal(3.0, 2.0, size=(15, 1)),
    "normal in 2 dimensions": RNG.normal(size=(15, 2)) @ np.array([[1.0, 50.0], [0.0, 1.0]]),
    "lognormal": RNG.lognormal(1.0, 2.0, size=(15, 1)),
    "exponential": RNG.exponential(7.0, size=(15, 1)),
    "weibull": RNG.weibull(1.5, size=(15, 1)),
}


@pytest.mark.parametrize("name", FAMILIES)
def test_a_draw_has_the_fit_of_the_data(name: str) -> None:
    """Then it is a draw given the sufficient statistic, and the level is exact."""
    x, family = FAMILIES[name], as_family(name.split(" ")[0], FAMILIES[name].shape[1])
    assert isinstance(family, sb.fitting.Family)
    params = family.fit(x)
    draws = np.asarray(family.model(params).sample(15, np.random.default_rng(1)))  # type: ignore[attr-defined]
    np.testing.assert_allclose(family.fit(family.matched(draws, family.fit(draws), params)), params, rtol=1e-6)


def test_a_known_scale_is_not_moved() -> None:
    for family, known in (("gamma", "scale"), ("normal", "sd"), ("student-t", "scale")):
        found: Any = as_family(family, 1, {known: 2.0})
        x = np.abs(X)
        moved = found.matched(x, found.fit(x), found.fit(x[:30]))
        ratio = (moved - moved.mean()).std() / x.std()
        assert math.isclose(ratio, 1.0, rel_tol=1e-9)


def test_small_samples_are_refitted_and_large_ones_projected() -> None:
    normal = np.random.default_rng(3).normal(size=(100, 10))
    for x, kind in ((normal[:59, 0], "Refit"), (normal[:60, 0], "Projected"), (normal, "Refit")):
        assert type(fit_test(x, "normal", rng=0)._evidence.calibration).__name__.startswith(kind)
    mixture = fit_test(np.r_[normal[:25, 0], 3.0 + normal[25:50, 0]], "mixture:2", rng=0)
    assert type(mixture._evidence.calibration).__name__.startswith("Projected")  # its fits take long


@pytest.mark.calibration
def test_the_level_is_exact_in_the_normal_family() -> None:
    """p-values of 100 samples of ten rows, with 9 draws each, are uniform on .1, …, 1 (χ² in five cells, level .001).

    The projection rejects a quarter of them at level .05.
    """
    rng = np.random.default_rng(4)
    run = partial(sb.fit_test, family="normal", calibration=sb.RefitBootstrap(9), level=0.1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pvalues = [run(rng.normal(5.0, 3.0, size=10), rng=seed).pvalue for seed in range(100)]
    cells = np.bincount(np.ceil(np.array(pvalues) * 5 - 1e-9).astype(int), minlength=6)[1:]
    assert stats.chisquare(cells).pvalue > 0.001
