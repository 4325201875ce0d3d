"""The Gaussian mixture against SciPy, quadrature and automatic differentiation."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from scipy import integrate, stats
from scipy.special import logsumexp

from steinball.arrays import dtype_name, namespace, to_host
from steinball.models.autodiff import difference_jacobian
from steinball.models.family import NormalFamily
from steinball.models.mixture import GaussianMixture, MixtureFamily

jax = pytest.importorskip("jax")
jax.config.update("jax_enable_x64", True)

pytestmark = pytest.mark.exact

WEIGHTS = np.array([0.2, 0.5, 0.3])
MEANS = np.array([[-2.0, 0.0], [1.0, 1.0], [0.0, 3.0]])
COV = np.array([[1.0, 0.4], [0.4, 0.5]])
COVS = np.stack([COV, 4.0 * np.eye(2), np.array([[0.3, -0.1], [-0.1, 0.9]])])

MODELS = {
    "unit": GaussianMixture(WEIGHTS, MEANS),
    "shared": GaussianMixture(WEIGHTS, MEANS, COV),
    "own": GaussianMixture(WEIGHTS, MEANS, COVS),
    "line": GaussianMixture([0.25, 0.75], [-3.0, 1.0], [0.25, 4.0]),
    "absent": GaussianMixture([0.0, 1.0], [[-1.0], [2.0]], 0.5),
}


def autodiff_score(model: Any, x: np.ndarray) -> np.ndarray:
    gradient = jax.grad(lambda point: model.log_density(point[None, :])[0])
    return np.asarray(jax.vmap(gradient)(jax.numpy.asarray(x)))


def scipy_log_density(model: GaussianMixture, x: np.ndarray) -> np.ndarray:
    triples = zip(model.weights, model.means, model.cov, strict=True)
    terms = [np.log(w) + stats.multivariate_normal(m, c).logpdf(x) for w, m, c in triples if w > 0.0]
    return np.asarray(logsumexp(np.stack(terms), axis=0))


@pytest.mark.parametrize("name", MODELS)
def test_the_score_is_the_gradient_of_the_log_density(name: str) -> None:
    model = MODELS[name]
    x = np.concatenate([stretch * model.sample(60, rng=3) for stretch in (1.0, 30.0, 1e6)])
    expected = autodiff_score(model, x)
    size = np.abs(expected).max(axis=1, keepdims=True)
    np.testing.assert_allclose(model.score(x) / size, expected / size, atol=1e-9)


@pytest.mark.parametrize("name", MODELS)
def test_the_log_density_is_scipys(name: str) -> None:
    model = MODELS[name]
    x = np.concatenate([model.sample(50, rng=1), 50.0 * model.sample(50, rng=2)])
    np.testing.assert_allclose(model.log_density(x), scipy_log_density(model, x), rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("distance", [1e20, 1e150, 1e200])
def test_far_out_the_score_is_that_of_the_widest_component(distance: float) -> None:
    x = distance * np.array([[1.0, -1.0], [0.5, 2.0]])
    np.testing.assert_allclose(MODELS["own"].score(x), -x / 4.0, rtol=1e-12)
    np.testing.assert_allclose(MODELS["unit"].score(x), -x, rtol=1e-12)
    np.testing.assert_allclose(MODELS["absent"].score(x[:, :1]), -2.0 * x[:, :1], rtol=1e-12)


def test_single_precision_does_not_overflow_either() -> None:
    x = np.array([[1e20, -1e20]], dtype=np.float32)
    np.testing.assert_allclose(MODELS["own"].score(x), -x / 4.0, rtol=1e-6)


def test_components_that_are_far_apart_do_not_cost_each_other_digits() -> None:
    model = GaussianMixture([0.5, 0.25, 0.25], [0.0, 1e7, 1e7 + 1.0])
    pair = GaussianMixture([0.5, 0.5], [0.0, 1.0])
    x = np.linspace(-3.0, 4.0, 8)
    np.testing.assert_allclose(model.score(1e7 + x), pair.score(x), atol=1e-8)
    np.testing.assert_allclose(model.log_density(1e7 + x), pair.log_density(x) - np.log(2.0), atol=1e-8)


def test_moments_are_those_of_the_whole_mixture() -> None:
    model = MODELS["line"]

    def moment(power: int) -> float:
        def integrand(t: float) -> float:
            return float(t**power * np.exp(model.log_density(np.array([t]))[0]))

        return float(sum(integrate.quad(integrand, a, b)[0] for a, b in pairwise(np.linspace(-30.0, 30.0, 61))))

    assert moment(0) == pytest.approx(1.0, abs=1e-10)
    assert model.location[0] == pytest.approx(moment(1), abs=1e-9)
    assert model.covariance[0, 0] == pytest.approx(moment(2) - moment(1) ** 2, abs=1e-8)


def test_moments_in_two_dimensions_are_those_of_the_draws() -> None:
    """n = 40,000, every first and second moment within 4.5 standard errors."""
    n, model = 40_000, MODELS["own"]
    offset = model.sample(n, rng=4) - model.location
    assert np.all(np.abs(offset.mean(axis=0)) < 4.5 * offset.std(axis=0) / np.sqrt(n))
    second = offset[:, :, None] * offset[:, None, :]
    assert np.all(np.abs(second.mean(axis=0) - model.covariance) < 4.5 * second.std(axis=0) / np.sqrt(n))


@pytest.mark.parametrize("direction", [[1.0, 0.0], [0.0, 1.0], [1.0, 2.0], [1.0, -2.0]])
@pytest.mark.parametrize("name", ["unit", "shared", "own"])
def test_projections_of_draws_follow_the_mixtures_law(name: str, direction: list[float]) -> None:
    """Kolmogorov–Smirnov with n = 20,000 at level 1e-3 against Σ π Φ((t − aᵀμ)/√(aᵀΣa))."""
    model, a = MODELS[name], np.array(direction)
    centers, spreads = model.means @ a, np.sqrt(np.einsum("i,kij,j->k", a, model.cov, a))

    def law(t: np.ndarray) -> np.ndarray:
        return np.asarray(stats.norm.cdf((t[:, None] - centers) / spreads) @ model.weights)

    assert stats.kstest(model.sample(20_000, rng=6) @ a, law).pvalue > 1e-3


def test_covariances_are_held_for_every_component() -> None:
    assert MODELS["unit"].cov.shape == (3, 2, 2)
    np.testing.assert_array_equal(MODELS["shared"].cov[2], COV)
    np.testing.assert_array_equal(MODELS["line"].cov[:, 0, 0], [0.25, 4.0])
    assert repr(MODELS["own"]) == "GaussianMixture(3 components, dimension=2)"
    with pytest.raises(ValueError, match="read-only"):
        MODELS["own"].weights[0] = 1.0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([0.5, 0.6], [0.0, 1.0]), "`weights` must sum to 1, got 1.1"),
        (([-0.5, 1.5], [0.0, 1.0]), r"`weights` must have shape \(k,\), be finite and not negative"),
        (([[1.0]], [0.0]), r"`weights` must have shape \(k,\)"),
        (([1.0], [0.0, 1.0]), "`weights` has 1 entries but `means` 2 rows"),
        (([1.0], [np.nan]), "`means` must be finite"),
        (([1.0], [[[0.0]]]), r"`means` must be finite, of shape \(k, d\)"),
        (([0.5, 0.5], np.zeros((2, 3)), [1.0, 2.0]), r"`cov` must be a variance, \(3, 3\) or \(2, 3, 3\)"),
        (([1.0], [[0.0, 0.0]], [[1.0, 2.0], [2.0, 1.0]]), "`cov` must be positive definite"),
    ],
)
def test_bad_parameters_are_named(arguments: tuple[Any, ...], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        GaussianMixture(*arguments)


@pytest.mark.backend
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_libraries_agree(xp: Any, dtype: str) -> None:
    model = MODELS["own"]
    x = np.concatenate([model.sample(30, rng=0), [[1e8, -1e8]]]).astype(dtype)
    tolerance = 1e-12 if dtype == "float64" else 5e-5
    theirs = xp.asarray(x.copy())
    for function in (model.score, model.log_density):
        value = function(theirs)
        assert namespace(value) is namespace(theirs)
        assert dtype_name(value) == dtype
        expected = function(x.astype(np.float64))
        np.testing.assert_allclose(to_host(value), expected, rtol=tolerance, atol=tolerance)


# The family

RNG = np.random.default_rng(0)
DATA = np.vstack([RNG.normal(-2.0, 1.0, (120, 2)), RNG.normal(2.0, 0.5, (60, 2))])


def test_scores_in_two_dimensions_are_derivatives() -> None:
    family = MixtureFamily(2, 2)
    params = family.fit(DATA)
    assert len(params) == len(family.names) == 11
    found = difference_jacobian(lambda at: np.asarray(family.model(at).log_density(DATA)), params)
    scores = family.parameter_scores(params, DATA)
    np.testing.assert_allclose(scores, found, atol=1e-6 * np.abs(scores).max())
    assert np.abs(scores.mean(axis=0)).max() < 1e-5


def test_the_order_of_rows_does_not_name_the_components() -> None:
    family = MixtureFamily(2, 1)
    first, second = (family.fit(x[:, :1]) for x in (DATA, DATA[::-1]))
    np.testing.assert_allclose(first, second, atol=1e-4)
    assert first[1] < first[3]


def test_too_few_rows_are_refused() -> None:
    with pytest.raises(ValueError, match="at least 22 rows"):
        MixtureFamily(2, 2).fit(DATA[:20])


def test_equal_points_do_not_swallow_a_component() -> None:
    x = np.vstack([DATA[:, :1], np.zeros((30, 1))])
    weights, _, covs = MixtureFamily(3, 1).parts(MixtureFamily(3, 1).fit(x))
    assert (covs > 0.0).all()
    assert abs(weights.sum() - 1.0) < 1e-12


@pytest.mark.parametrize("dimension", [1, 2, 120])
def test_every_parameter_has_a_name_of_its_own(dimension: int) -> None:
    for family in (NormalFamily(dimension), MixtureFamily(2, dimension)):
        assert len(set(family.names)) == len(family.names)


def test_data_without_a_fit_are_refused_by_name() -> None:
    """A matrix that is not definite was the error."""
    with pytest.raises(ValueError, match="no fit of a mixture of 2 normal distributions: some component has no spread"):
        MixtureFamily(2, 1).fit(np.ones((20, 1)))


def test_a_fit_ends_with_no_component_on_a_point() -> None:
    """The ascent behind the EM algorithm found the unbounded likelihood of a point in this sample."""
    x = np.random.default_rng(4).normal(size=(237, 1))
    parts = MixtureFamily(2, 1).parts(MixtureFamily(2, 1).fit(x))
    assert parts[2].min() > 1e-3 * x.var()
