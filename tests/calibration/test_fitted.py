"""Calibrations for fitted models are for those alone."""

from __future__ import annotations

import math
import tracemalloc
import warnings
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy import stats
from scipy.signal import lfilter

import steinball as sb
from steinball import fitting
from steinball.arrays import as_seed, generator_at
from steinball.calibration.fitted import FittedModel, _leverages_of_the_model, leverage_ratio
from steinball.fitting import MinimumKSD
from steinball.gram.request import Request
from steinball.gram.whole import DenseGram
from steinball.kernels import InverseMultiquadric
from steinball.problem import pose

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
    for family, known in ((stats.gamma, {"loc": 0.0}), (stats.norm, {}), (stats.t, {})):
        found: Any = as_family(family, 1, {"scale": 2.0, **known})
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


NORMAL = np.random.default_rng(0).normal(1.0, 2.0, size=(60, 1))
KERNEL = InverseMultiquadric(2.0)
as_family: Any = fitting.as_family


def u_and_scores(params: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    family = as_family("normal", 1)
    problem = pose(NORMAL, family.model(params), KERNEL)
    return np.asarray(problem.stein(NORMAL, problem.scores, NORMAL, problem.scores)), family.parameter_scores(
        params, NORMAL
    )


def weights_of(result: sb.FitResult) -> np.ndarray:
    return np.concatenate([np.asarray(chunk, dtype=float) for chunk in result._evidence.request.weights])


@pytest.mark.exact
@pytest.mark.parametrize("engine", ["dense", "blocked"])
@pytest.mark.parametrize("least", [False, True], ids=["maximum likelihood", "minimum KSD"])
def test_the_draws_are_quadratic_forms_of_projected_weights(engine: str, least: bool) -> None:
    fit = MinimumKSD() if least else None
    options: dict[str, Any] = {"fit": fit, "kernel": KERNEL, "engine": engine, "rng": 0}
    result: Any = sb.fit_test(NORMAL, "normal", calibration=sb.ProjectedBootstrap(50), level=0.1, **options)
    u, s = u_and_scores(np.array(list(result.params.values())))
    w = weights_of(result)
    c = np.linalg.solve(s.T @ u @ s, s.T @ u @ w.T) if least else np.linalg.solve(s.T @ s, s.T @ w.T)
    turned = w - (s @ c).T
    gamma = result._evidence.calibration.projection.inflation
    np.testing.assert_allclose(result.draws**2, gamma * np.sum((turned @ u) * turned, axis=1) / 60**2, rtol=1e-8)


@pytest.mark.exact
def test_the_leverages_are_those_of_the_regression() -> None:
    u, s = u_and_scores(np.array([0.5, 1.5]))
    hat = s @ np.linalg.solve(s.T @ s, s.T)
    residual = (np.eye(60) - hat) @ u @ (np.eye(60) - hat)
    squares = np.diag(residual)
    problem = pose(NORMAL, sb.models.Gaussian(0.5, 2.25), KERNEL)
    summary = DenseGram(problem).summarise(Request(directions=s))
    wanted = np.sum(squares / (1.0 - np.diag(hat))) / np.sum(squares)
    np.testing.assert_allclose(leverage_ratio(summary, s), wanted, rtol=1e-9)


@pytest.mark.exact
def test_leverages_of_many_rows_take_no_matrix_of_all_pairs() -> None:
    """4,000 rows and 2 parameters: 128 MB for a matrix of pairs."""
    s = np.random.default_rng(0).normal(size=(4000, 2))
    summary: Any = SimpleNamespace(direction_products=s, diagonal=np.full(4000, 10.0))
    tracemalloc.start()
    try:
        leverage_ratio(summary, s)
        assert tracemalloc.get_traced_memory()[1] < 10**7
    finally:
        tracemalloc.stop()


@pytest.mark.exact
def test_units_do_not_matter() -> None:
    """A change of units changes neither p-value nor correction."""
    first, second = (sb.fit_test(scale * NORMAL, "normal", rng=0) for scale in (1.0, 1e-7))
    assert abs(first.pvalue - second.pvalue) < 0.002


@pytest.mark.exact
def test_more_draws_keep_the_old_ones_and_the_naive_test_is_read_from_them() -> None:
    result: Any = sb.fit_test(NORMAL, "normal", calibration=sb.ProjectedBootstrap(100), rng=0)
    more = result.extend(50)
    np.testing.assert_allclose(more.draws[:100], result.draws, rtol=1e-12)
    assert more.n_resamples == 150
    assert result.at(calibration=sb.WeightedBootstrap(100)).pvalue > result.pvalue


@pytest.mark.exact
def test_refusals_name_the_remedy() -> None:
    with pytest.raises(ValueError, match="needs products with directions"):
        sb.fit_test(NORMAL, "normal", engine="lowrank", rng=0)
    with pytest.raises(ValueError, match=r"needs parameter scores.*RefitBootstrap"):
        sb.fit_test(
            NORMAL, lambda x: sb.models.Gaussian(x.mean(), x.var()), calibration=sb.ProjectedBootstrap(99), rng=0
        )
    with pytest.raises(ValueError, match="needs at least 18"):
        sb.fit_test(
            np.random.default_rng(0).normal(size=(9, 3)), "normal", calibration=sb.ProjectedBootstrap(99), rng=0
        )


@pytest.mark.exact
def test_a_model_without_a_sampler_is_corrected_by_the_leverages_of_the_data() -> None:
    problem = pose(NORMAL, sb.from_score(lambda x: -(x - 1.0) / 4.0), KERNEL)
    fitted = FittedModel(problem.model, lambda x: problem.model, lambda x: x - 1.0, (NORMAL - 1.0) * 1.0)
    found = sb.ProjectedBootstrap(20).for_fit(fitted, problem, as_seed(0)).projection
    assert found is not None
    assert found.inflation > 1.0


@pytest.mark.calibration
@pytest.mark.parametrize(
    ("family", "dimension", "n"),
    [("normal", 1, 50), ("normal", 2, 50), ("normal", 5, 50), ("gamma", 1, 50)],
    ids=["normal", "normal in 2 dimensions", "normal in 5 dimensions", "gamma"],
)
def test_the_level_holds_where_the_naive_test_never_rejects(family: str, dimension: int, n: int) -> None:
    """120 samples: at most 12 rejections of a true level .05 (probability .02 of more), and the naive test's 0 to 2."""
    rejected = naive = 0
    for seed in range(120):
        rng = np.random.default_rng([seed, dimension])
        x = rng.gamma(2.0, size=(n, 1)) if family == "gamma" else rng.normal(size=(n, dimension))
        result = sb.fit_test(x, family, calibration=sb.ProjectedBootstrap(99), rng=seed)
        rejected += result.rejected
        naive += result.at(calibration=sb.WeightedBootstrap(99)).rejected
    assert rejected <= 12
    assert naive <= 2


def series(n: int, rng: np.random.Generator) -> np.ndarray:
    noise = rng.normal(size=n)
    noise[1:] *= np.sqrt(1.0 - 0.6**2)
    return np.asarray(3.0 + 2.0 * lfilter([1.0], [1.0, -0.6], noise))


@pytest.mark.exact
def test_signs_for_dependent_rows_are_projected_like_other_weights() -> None:
    x = series(200, np.random.default_rng(0))[:, None]
    options: dict[str, Any] = {"kernel": KERNEL, "rng": 0}
    result: Any = sb.fit_test(x, "normal", calibration=sb.ProjectedBootstrap(50, dependence=8.0), level=0.1, **options)
    same: Any = sb.fit_test(x, "normal", calibration=sb.WildBootstrap(50, dependence=8.0), level=0.1, **options)
    np.testing.assert_array_equal(result.draws, same.draws)
    family = as_family("normal", 1)
    params = family.fit(x)
    problem = pose(x, family.model(params), KERNEL)
    u = np.asarray(problem.stein(x, problem.scores, x, problem.scores))
    s, w = family.parameter_scores(params, x), weights_of(result)
    assert set(np.unique(w)) == {-1.0, 1.0}
    turned = w - (s @ np.linalg.solve(s.T @ s, s.T @ w.T)).T
    gamma = result._evidence.calibration.projection.inflation
    np.testing.assert_allclose(result.draws**2, gamma * np.sum((turned @ u) * turned, axis=1) / 200**2, rtol=1e-8)


@pytest.mark.calibration
def test_a_series_is_fitted_as_the_warning_advises() -> None:
    """40 normal series with correlation .6: none of the advice is refused, and at most 6 are rejected at level .05."""
    rng, advised, naive = np.random.default_rng(1), 0, 0
    for seed in range(40):
        x = series(300, rng)
        advised += sb.fit_test(x, "normal", calibration=sb.WildBootstrap(199, dependence="auto"), rng=seed).rejected
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            naive += sb.fit_test(x, "normal", calibration=sb.ProjectedBootstrap(199), rng=seed).rejected
    assert advised <= 6
    assert naive > advised


@pytest.mark.exact
def test_draws_along_the_mean_feature_lose_what_the_fit_takes_up() -> None:
    """w̃ᵀU1/n², which the draws on the edge of a ball need, by matrices: it is not wᵀU1/n²."""
    result: Any = sb.fit_test(NORMAL, "normal", calibration=sb.ProjectedBootstrap(50), kernel=KERNEL, level=0.1, rng=0)
    u, s = u_and_scores(np.array(list(result.params.values())))
    w = weights_of(result)
    turned = w - (s @ np.linalg.solve(s.T @ s, s.T @ w.T)).T
    null = result._evidence.null
    gamma = result._evidence.calibration.projection.inflation
    wanted = np.sqrt(gamma) * (turned @ u.sum(axis=1)) / 60**2 / result.ksd
    np.testing.assert_allclose(null.projections, np.clip(wanted, -null.draws, null.draws), rtol=1e-6, atol=1e-9)
    assert np.abs(null.projections - np.sqrt(gamma) * (w @ u.sum(axis=1)) / 60**2 / result.ksd).max() > 1e-3


@pytest.mark.exact
def test_leverages_of_few_draws_are_stretched_to_all_rows() -> None:
    """The correction falls like 1/n: from 256 rows to 2,048 by a factor of 8, with leverages of 256 draws in both."""
    model, sizes = sb.models.Gaussian(), (256, 2048)
    x = np.random.default_rng(0).normal(size=(2048, 1))
    fitted = FittedModel(model, lambda x: model, lambda x: np.hstack([x, x**2 - 1.0]))
    few, many = (_leverages_of_the_model(fitted, pose(x[:n], model, KERNEL), 2) for n in sizes)
    assert few is not None
    assert many is not None
    assert many - 1.0 == pytest.approx((few - 1.0) / 8.0, rel=0.35)
