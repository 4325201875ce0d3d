"""Names, distributions of SciPy, estimators as in scikit-learn, and anything that fits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.stats as st

import steinball as sb
from steinball import fitting
from steinball.fitting.foreign import Fitter, model_of
from tests.fitting.conftest import DATA

as_family: Any = fitting.as_family
pytestmark = pytest.mark.exact


@pytest.mark.parametrize(
    ("distribution", "name", "known"),
    [(st.norm, "normal", {}), (st.gamma, "gamma", {"loc": 0}), (st.weibull_min, "weibull", {"loc": 0})],
    ids=["normal", "gamma", "weibull"],
)  # fmt: skip
def test_a_distribution_of_scipy_is_the_family_of_that_name(
    distribution: Any, name: str, known: dict[str, float]
) -> None:
    x = DATA[name]
    theirs, ours = as_family(distribution, 1, known), as_family(name, 1)
    params = theirs.fit(x)
    np.testing.assert_allclose(params, ours.fit(x), rtol=1e-3)
    np.testing.assert_allclose(theirs.parameter_scores(params, x), ours.parameter_scores(params, x), atol=1e-5)
    np.testing.assert_allclose(theirs.score(params, x), ours.score(params, x), atol=1e-6)
    np.testing.assert_allclose(theirs.margins(params, x), ours.margins(params, x), atol=1e-10)
    assert theirs.numerical
    assert theirs.model(params).sample(3, 0).shape == (3, 1)


@pytest.mark.parametrize("distribution", [st.expon, st.uniform, st.gamma, st.genpareto], ids=lambda d: d.name)
def test_a_support_that_would_be_fitted_is_refused_with_its_remedy(distribution: Any) -> None:
    with pytest.raises(ValueError, match=r"would be fitted.*known_params=\{\"loc\": 0\}"):
        as_family(distribution, 1)


def test_data_outside_a_known_support_are_refused() -> None:
    with pytest.raises(ValueError, match="1 values of `x` lie outside the support"):
        as_family(st.expon, 1, {"loc": 0}).fit(np.array([[-1.0], [2.0], [3.0]]))


@pytest.mark.parametrize(
    ("family", "words"),
    [
        ("cauchy", "must be one of"), ("mixture", "must be one of"), ("mixture:0", "must be one of"),
        (st.norm(0.0, 1.0), "frozen distribution"), (3.0, "must be one of"),
        (sb.models.StudentT, "must be an instance"),
        (sb.models.KernelExponentialFamily([1.0]), "is one model"),
    ],
    ids=["unknown", "no number", "no components", "frozen", "number", "class", "member"],
)  # fmt: skip
def test_what_is_no_family_is_refused_by_name(family: Any, words: str) -> None:
    with pytest.raises((TypeError, ValueError), match=words):
        as_family(family, 1)


@pytest.mark.parametrize(
    ("family", "known", "words"),
    [
        ("normal", {"scale": 1.0}, "names `scale`, but the family has mean, sd"),
        ("normal", {"sd": -1.0}, "must be positive"), ("mixture:2", {"mean[1]": 0.0}, "constrain each other"),
        (st.norm, {"a": 1.0}, "names `a`"), (lambda x: None, {"a": 1.0}, "its own affair"),
    ],
    ids=["another name", "not positive", "mixture", "scipy", "function"],
)  # fmt: skip
def test_known_parameters_must_be_parameters(family: Any, known: dict[str, float], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        as_family(family, 1, known)


@pytest.mark.parametrize("name", ["student-t", "gamma", st.norm], ids=["student-t", "gamma", "scipy"])
def test_families_on_the_line_want_one_column(name: Any) -> None:
    with pytest.raises(ValueError, match="is on the line, but `x` has 2 columns"):
        as_family(name, 2)


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

    normal: Any = model_of(Covariance())
    assert normal.covariance == 4.0
    model: Any = model_of(Density())
    np.testing.assert_allclose(model.score(np.array([[2.0]])), [[-2.0]], atol=1e-6)
    assert model.sample(4, 0).shape == (4, 1)


def test_a_fit_that_gives_no_model_is_refused() -> None:
    class Nothing:
        def fit(self, x: Any) -> float:
            return 3.0

    with pytest.raises(TypeError, match="must return a model with `score"):
        as_family(Nothing(), 1).fit(np.zeros((3, 1)))
