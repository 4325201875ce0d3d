"""Estimators of scikit-learn, by stand-ins with the same attributes; tests/adapters has the real ones."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import steinball as sb

pytestmark = pytest.mark.exact


def estimator(base: str, name: str, **attributes: Any) -> Any:
    """An object of a class of scikit-learn's, with what ``fit`` leaves."""
    above = type(base, (), {"__module__": "sklearn.stand_in", "score": lambda self, x: 0.0})
    made = type(name, (above,), {"__module__": "sklearn.stand_in"})()
    vars(made).update(attributes)
    return made


MEANS, WEIGHTS = np.array([[0.0, 1.0], [3.0, -1.0]]), np.array([0.3, 0.7])
COVARIANCES = {
    "full": np.array([[[2.0, 0.5], [0.5, 1.0]], np.eye(2)]),
    "tied": np.array([[2.0, 0.5], [0.5, 1.0]]),
    "diag": np.array([[2.0, 1.0], [1.0, 3.0]]),
    "spherical": np.array([2.0, 0.5]),
}


@pytest.mark.parametrize("kind", COVARIANCES)
def test_mixtures_of_all_four_covariance_types(kind: str) -> None:
    attributes = {"weights_": WEIGHTS, "means_": MEANS, "covariances_": COVARIANCES[kind], "covariance_type": kind}
    model: Any = sb.as_model(estimator("BaseMixture", "GaussianMixture", **attributes))
    expected = {
        "full": COVARIANCES["full"],
        "tied": np.stack([COVARIANCES["tied"]] * 2),
        "diag": np.stack([np.diag(row) for row in COVARIANCES["diag"]]),
        "spherical": np.stack([2.0 * np.eye(2), 0.5 * np.eye(2)]),
    }[kind]
    np.testing.assert_allclose(model.cov, expected)
    np.testing.assert_allclose(model.weights, WEIGHTS)


def test_a_gaussian_kernel_density() -> None:
    points = np.random.default_rng(0).normal(size=(20, 2))
    tree = SimpleNamespace(data=points, sample_weight=None)
    shared = {"tree_": tree, "bandwidth_": 0.5, "metric": "euclidean"}
    model: Any = sb.as_model(estimator("BaseEstimator", "KernelDensity", kernel="gaussian", **shared))
    np.testing.assert_allclose(model.location, points.mean(axis=0))
    assert sb.check_score(model, points).ok
    with pytest.raises(TypeError, match=r'kernel="tophat".*edges or corners'):
        sb.as_model(estimator("BaseEstimator", "KernelDensity", kernel="tophat", **shared))


def test_covariance_estimators_are_gaussians() -> None:
    made = estimator("EmpiricalCovariance", "LedoitWolf", location_=np.zeros(2), covariance_=2.0 * np.eye(2))
    assert isinstance(sb.as_model(made), sb.models.Gaussian)


def test_an_estimator_that_is_not_fitted_and_one_without_a_density() -> None:
    with pytest.raises(ValueError, match=r"GaussianMixture that is not fitted; call its `fit\(data\)` first"):
        sb.as_model(estimator("BaseMixture", "GaussianMixture"))
    with pytest.raises(TypeError, match="`model` must be"):
        sb.as_model(estimator("BaseEstimator", "KMeans"))


def test_covariances_of_a_fit_in_single_precision_are_symmetric_to_its_rounding() -> None:
    cov = np.array([[[2.0, 0.5], [0.5 * (1.0 + 1e-7), 1.0]], np.eye(2)])
    attributes = {"weights_": WEIGHTS, "means_": MEANS, "covariances_": cov, "covariance_type": "full"}
    model: Any = sb.as_model(estimator("BaseMixture", "GaussianMixture", **attributes))
    np.testing.assert_allclose(model.cov, COVARIANCES["full"], rtol=1e-6)
    made = estimator("EmpiricalCovariance", "LedoitWolf", location_=np.zeros(2), covariance_=cov[0])
    assert isinstance(sb.as_model(made), sb.models.Gaussian)
