"""Estimators of scikit-learn as models, on the real library."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats

import steinball as sb

mixture = pytest.importorskip("sklearn.mixture", reason="scikit-learn is not installed")
neighbors = pytest.importorskip("sklearn.neighbors", reason="scikit-learn is not installed")
covariance = pytest.importorskip("sklearn.covariance", reason="scikit-learn is not installed")
decomposition = pytest.importorskip("sklearn.decomposition", reason="scikit-learn is not installed")

TRUTH = sb.models.GaussianMixture([0.4, 0.6], [[0.0, 0.0], [3.0, 1.0]], [[[1.0, 0.3], [0.3, 0.5]], np.eye(2)])
DATA, FRESH = TRUTH.sample(1000, rng=0), TRUTH.sample(200, rng=1)


@pytest.mark.parametrize("kind", ["full", "tied", "diag", "spherical"])
@pytest.mark.parametrize("name", ["GaussianMixture", "BayesianGaussianMixture"])
def test_mixtures_are_mixtures(name: str, kind: str) -> None:
    fitted = vars(mixture)[name](n_components=2, covariance_type=kind, random_state=0).fit(DATA)
    model: Any = sb.as_model(fitted)
    if name == "GaussianMixture":
        np.testing.assert_allclose(model.log_density(FRESH), fitted.score_samples(FRESH), rtol=1e-6)
    assert sb.check_score(model, FRESH[:25], rtol=1e-6).ok
    drawn = np.random.default_rng(0).permutation(fitted.sample(1000)[0])  # it draws one component after the other
    ours = model.sample(1000, rng=2)
    assert all(stats.ks_2samp(a, b).pvalue > 1e-3 for a, b in zip(drawn.T, ours.T, strict=True))
    assert not sb.robust_ksd_test(drawn[:300], fitted, contamination=0.05, rng=0).rejected


@pytest.mark.parametrize("weights", [None, np.linspace(0.1, 1.0, 1000)], ids=["plain", "weighted"])
def test_a_kernel_density_is_a_mixture_of_its_points(weights: Any) -> None:
    fitted = neighbors.KernelDensity(bandwidth=0.4).fit(DATA, sample_weight=weights)
    model: Any = sb.as_model(fitted)
    np.testing.assert_allclose(model.log_density(FRESH), fitted.score_samples(FRESH), rtol=1e-5)
    assert sb.check_score(model, FRESH[:25]).ok
    assert not sb.robust_ksd_test(model.sample(200, rng=0), fitted, contamination=0.05, rng=0).rejected
    with pytest.raises(TypeError, match='kernel="tophat"'):
        sb.as_model(neighbors.KernelDensity(kernel="tophat").fit(DATA))


@pytest.mark.parametrize(
    "fitted",
    [covariance.LedoitWolf(), covariance.MinCovDet(random_state=0), decomposition.PCA(1),
     decomposition.FactorAnalysis(1)],
    ids=["LedoitWolf", "MinCovDet", "PCA", "FactorAnalysis"],
)  # fmt: skip
def test_estimators_of_a_covariance_are_gaussians(fitted: Any) -> None:
    model: Any = sb.as_model(fitted.fit(DATA))
    assert isinstance(model, sb.models.Gaussian)
    if "score_samples" in dir(fitted):
        np.testing.assert_allclose(model.log_density(FRESH), fitted.score_samples(FRESH), rtol=1e-6)


def test_what_is_not_fitted_or_has_no_density_is_refused() -> None:
    with pytest.raises(ValueError, match="not fitted"):
        sb.as_model(mixture.GaussianMixture(2))
    with pytest.raises(TypeError, match="`model`"):
        sb.as_model(pytest.importorskip("sklearn.cluster").KMeans(2))


@pytest.mark.parametrize("kind", ["full", "tied"])
def test_a_mixture_that_was_fitted_in_single_precision_is_one(kind: str) -> None:
    fitted = mixture.GaussianMixture(2, covariance_type=kind, random_state=0).fit(DATA.astype(np.float32))
    model: Any = sb.as_model(fitted)
    np.testing.assert_allclose(model.log_density(FRESH), fitted.score_samples(FRESH), rtol=1e-4)


INPUTS = np.random.default_rng(3).normal(size=(200, 2))
TARGET = INPUTS @ [1.0, -0.5] + np.random.default_rng(4).normal(size=200)
LABELS = np.where(TARGET > 0.0, "yes", "no")


@pytest.mark.parametrize("name", ["LinearRegression", "BayesianRidge", "HuberRegressor"])
def test_regressors_predict_normal_laws_and_are_fitted_again(name: str) -> None:
    linear = pytest.importorskip("sklearn.linear_model")
    fitted = vars(linear)[name]().fit(INPUTS, TARGET)
    share = 0.05 if name == "HuberRegressor" else 0.0
    result = sb.predictive_test(TARGET, fitted, INPUTS, contamination=share, n_resamples=39, rng=0)
    assert result.fitted == "same-rows"
    assert not result.rejected
    bent = TARGET + INPUTS[:, 0] ** 2
    found = sb.predictive_test(bent, vars(linear)[name]().fit(INPUTS, bent), INPUTS, contamination=0.0, n_resamples=39)
    assert found.rejected


def test_classifiers_predict_by_labels_and_rows_of_frames_by_name() -> None:
    linear = pytest.importorskip("sklearn.linear_model")
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(INPUTS, columns=["a", "b"])
    fitted = linear.LogisticRegression().fit(frame, LABELS)
    more = frame.assign(group=np.tile(["u", "v"], 100))[["group", "b", "a"]]
    result = sb.predictive_test(LABELS, fitted, more, contamination=0.0, n_resamples=39, rng=0)
    assert result.features == ("group", "b", "a", "probability of yes", "row")
    assert not result.rejected
    held = sb.predictive_test(LABELS, fitted, more, contamination=0.2, fitted="other-rows", n_resamples=39, rng=0)
    assert np.isfinite(held.difference_bound)


def test_estimators_that_give_no_law_are_refused() -> None:
    linear = pytest.importorskip("sklearn.linear_model")
    with pytest.raises(TypeError, match="`features` must hold"):
        sb.predictive_test(TARGET, linear.LinearRegression().fit(INPUTS, TARGET), contamination=0.0)
    with pytest.raises(TypeError, match="without `predict_proba`"):
        sb.predictive_test(LABELS, linear.RidgeClassifier().fit(INPUTS, LABELS), INPUTS, contamination=0.0)
    fitted = linear.LinearRegression().fit(INPUTS, TARGET)
    with pytest.raises(ValueError, match="other-rows"):
        sb.predictive_test(TARGET, fitted, INPUTS, contamination=0.0, fitted="other-rows")
