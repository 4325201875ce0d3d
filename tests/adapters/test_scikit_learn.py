"""Estimators of scikit-learn, by stand-ins with the same attributes; tests/adapters has the real ones."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy import stats

import steinball as sb
from steinball import fitting
from steinball.adapters.estimators import ADAPTERS, fitted_model
from steinball.fitting.families import Fitter
from steinball.models.kernel_exponential import KernelDensity

as_family: Any = fitting.as_family
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


@pytest.mark.parametrize("name", ["PCA", "FactorAnalysis"])
def test_models_of_low_rank_are_gaussians(name: str) -> None:
    cov = np.array([[2.0, 0.5], [0.5, 1.0]])
    made = estimator(name, name, components_=np.eye(2), mean_=np.array([1.0, 2.0]), get_covariance=lambda: cov)
    model: Any = sb.as_model(made)
    assert isinstance(model, sb.models.Gaussian)
    np.testing.assert_allclose(model.covariance, cov)
    with pytest.raises(ValueError, match=f"{name} that is not fitted"):
        sb.as_model(estimator(name, name))


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


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_an_estimator_predicts_from_the_columns_that_it_was_fitted_to(library: str) -> None:
    """Columns of a pyarrow table were asked for as those of pandas are, which it refuses."""

    class Regressor:
        feature_names_in_ = np.array(["b", "a"], dtype=object)

        def fit(self, x: Any, y: Any) -> Any:
            return self

        def predict(self, x: Any) -> Any:
            return np.asarray(x) @ [2.0, 1.0]

    Regressor.__module__ = "sklearn.stand_in"
    module, rng = pytest.importorskip(library), np.random.default_rng(0)
    columns = {"other": rng.normal(size=80), "a": rng.normal(size=80), "b": rng.normal(size=80)}
    frame = module.table(columns) if library == "pyarrow" else module.DataFrame(columns)
    y = columns["a"] + 2.0 * columns["b"] + rng.normal(size=80)
    found = ADAPTERS["sklearn"].prediction(Regressor(), y, frame)
    assert found is not None
    np.testing.assert_allclose(found.law.center(80)["prediction"], columns["a"] + 2.0 * columns["b"])


def test_a_robust_fit_that_most_rows_lie_on_has_a_spread_of_the_others() -> None:
    """Their median deviation is 0, which made a law that is none."""

    class Line:
        def fit(self, x: Any, y: Any) -> Any:
            return self

        def predict(self, x: Any) -> Any:
            return x[:, 0]

    Line.__module__, Line.__name__ = "sklearn.stand_in", "HuberRegressor"
    x, off = np.arange(100.0)[:, None], np.random.default_rng(0).normal(size=40)
    y = x[:, 0] + np.concatenate([np.zeros(60), off])
    found: Any = ADAPTERS["sklearn"].prediction(Line(), y, x)
    assert found.robust
    assert found.law.law.std() == pytest.approx(1.4826 * np.median(np.abs(off)))


# What fits


class Mixture:
    """As scikit-learn has it."""

    def __init__(self, kind: str, covariances: Any) -> None:
        self.kind, self.covariances = kind, covariances

    def fit(self, x: Any) -> Mixture:
        self.weights_, self.means_ = np.array([0.4, 0.6]), np.array([[0.0, 0.0], [3.0, 3.0]])
        self.covariance_type, self.covariances_ = self.kind, np.asarray(self.covariances, dtype=float)
        return self


@pytest.mark.parametrize(
    ("kind", "covariances"),
    [
        ("full", [np.diag([1.0, 2.0])] * 2), ("tied", np.diag([1.0, 2.0])),
        ("diag", [[1.0, 2.0]] * 2), ("spherical", [1.5, 1.5]),
    ],
    ids=["full", "tied", "diag", "spherical"],
)  # fmt: skip
def test_mixtures_of_scikit_learn_become_ours_and_stay_unfitted(kind: str, covariances: Any) -> None:
    estimator = Mixture(kind, covariances)
    family = as_family(estimator, 2)
    assert isinstance(family, Fitter)
    model: Any = family.fit(np.zeros((5, 2)))
    wanted = np.diag([1.5, 1.5]) if kind == "spherical" else np.diag([1.0, 2.0])
    np.testing.assert_array_equal(model.cov, [wanted, wanted])
    assert not hasattr(estimator, "means_")


def test_covariances_and_densities_of_scikit_learn_become_models() -> None:
    class Covariance:
        location_, covariance_ = [1.0], [[4.0]]

    class Density:
        def score_samples(self, x: Any) -> Any:
            return -0.5 * (x**2).sum(axis=1)

        def sample(self, n: int, random_state: int) -> Any:
            return np.random.default_rng(random_state).normal(size=(n, 1)), None

    normal: Any = fitted_model(Covariance())
    assert normal.covariance == 4.0
    model: Any = fitted_model(Density())
    np.testing.assert_allclose(model.score(np.array([[2.0]])), [[-2.0]], atol=1e-6)
    assert model.sample(4, 0).shape == (4, 1)


def test_a_fitted_kernel_density_is_the_model_that_it_is_elsewhere() -> None:
    """In closed form, and not the numerical derivative of ``score_samples``."""

    class Refitted:
        kernel, metric, bandwidth_ = "gaussian", "euclidean", 0.5

        def fit(self, x: Any) -> None:
            self.tree_ = SimpleNamespace(data=x, sample_weight=None)

        def score_samples(self, x: Any) -> Any:
            raise AssertionError("not needed")

    x = np.random.default_rng(0).normal(size=(20, 2))
    model = as_family(Refitted(), 2).fit(x)
    assert isinstance(model, KernelDensity)


def test_a_fit_may_give_an_object_of_any_library_that_is_read() -> None:
    class Exponential:
        def fit(self, x: Any) -> Any:
            return stats.expon(scale=float(np.mean(x)))

    model: Any = as_family(Exponential(), 1).fit(np.array([[1.0], [3.0]]))
    np.testing.assert_allclose(model.score(np.array([[1.0]])), [[-0.5]])
