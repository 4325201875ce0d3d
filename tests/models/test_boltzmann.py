"""The Gaussian–Bernoulli RBM against enumeration, quadrature and automatic differentiation."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from scipy import integrate, stats
from scipy.special import logsumexp

from steinball.arrays import dtype_name, namespace, to_host
from steinball.models.boltzmann import GaussianBernoulliRBM

jax = pytest.importorskip("jax")
jax.config.update("jax_enable_x64", True)

pytestmark = pytest.mark.exact


def random_rbm(dimension: int, hidden: int, rng: int, *, normal: bool = False) -> GaussianBernoulliRBM:
    """Standard normal biases, and weights ±1 or ``normal`` ones."""
    generator, size = np.random.default_rng(rng), (dimension, hidden)
    weights = generator.standard_normal(size) if normal else generator.choice([-1.0, 1.0], size=size)
    return GaussianBernoulliRBM(weights, generator.standard_normal(dimension), generator.standard_normal(hidden))


LINE = GaussianBernoulliRBM([[1.5, -0.7, 0.4]], [0.3], [0.2, -0.5, 0.1])
SMALL = random_rbm(4, 3, rng=1, normal=True)
PAPER = random_rbm(50, 10, rng=1)


def autodiff_score(model: Any, x: np.ndarray) -> np.ndarray:
    gradient = jax.grad(lambda point: model.log_density(point[None, :])[0])
    return np.asarray(jax.vmap(gradient)(jax.numpy.asarray(x)))


def hidden_states(model: GaussianBernoulliRBM) -> np.ndarray:
    """Every h in {−1, 1}^d', in the order of the model's own numbering."""
    states = itertools.product([-1.0, 1.0], repeat=model.hidden)
    return np.array([state[::-1] for state in states])


def log_joint(model: GaussianBernoulliRBM, x: np.ndarray, h: np.ndarray) -> float:
    """½xᵀBh + bᵀx + cᵀh − ½|x|², as the paper states it."""
    return float(0.5 * x @ model.weights @ h + model.visible_bias @ x + model.hidden_bias @ h - 0.5 * x @ x)


def exact_mixture(model: GaussianBernoulliRBM) -> tuple[np.ndarray, np.ndarray]:
    """Weights and centers of the Gaussian components, by completing the square in the joint density."""
    states = hidden_states(model)
    centers = model.visible_bias + 0.5 * states @ model.weights.T
    logs = np.array([model.hidden_bias @ h + 0.5 * m @ m for h, m in zip(states, centers, strict=True)])
    return np.exp(logs - logsumexp(logs)), centers


def projected_law(model: GaussianBernoulliRBM, a: np.ndarray) -> Any:
    """Distribution function of aᵀx for |a| = 1."""
    weights, centers = exact_mixture(model)
    places = centers @ a
    return lambda t: np.concatenate(  # in parts: a thousand components for each of many points
        [stats.norm.cdf(part[:, None] - places) @ weights for part in np.array_split(t, 1 + len(t) // 1000)]
    )


def unit(direction: np.ndarray) -> np.ndarray:
    return np.asarray(direction / np.linalg.norm(direction))


@pytest.mark.parametrize("model", [LINE, SMALL, PAPER], ids=["line", "small", "paper"])
@pytest.mark.parametrize("stretch", [0.0, 1.0, 10.0, 1e20])
def test_the_score_is_the_gradient_of_the_log_density(model: GaussianBernoulliRBM, stretch: float) -> None:
    x = stretch * np.random.default_rng(0).standard_normal((30, model.dimension))
    np.testing.assert_allclose(model.score(x), autodiff_score(model, x), rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("model", [LINE, SMALL], ids=["line", "small"])
def test_the_log_density_sums_the_joint_density_over_the_hidden_states(model: GaussianBernoulliRBM) -> None:
    x = 3.0 * np.random.default_rng(1).standard_normal((20, model.dimension))
    joint = np.array([[log_joint(model, point, h) for h in hidden_states(model)] for point in x])
    np.testing.assert_allclose(model.log_density(x), logsumexp(joint, axis=1), rtol=1e-12)


def test_the_paper_s_printed_score_is_not_the_gradient() -> None:
    """The printed formula drops both halves; it must not come back."""
    x = np.random.default_rng(0).standard_normal((5, 4))
    printed = SMALL.visible_bias - x + np.tanh(x @ SMALL.weights + SMALL.hidden_bias) @ SMALL.weights.T
    assert np.abs(printed - autodiff_score(SMALL, x)).max() > 0.1


def test_hidden_probabilities_are_integrals_of_the_joint_density() -> None:
    def integral(h: np.ndarray) -> float:
        return float(integrate.quad(lambda t: np.exp(log_joint(LINE, np.array([t]), h)), -12.0, 12.0)[0])

    masses = np.array([integral(h) for h in hidden_states(LINE)])
    np.testing.assert_allclose(LINE.hidden_probabilities(), masses / masses.sum(), rtol=1e-10)


def test_hidden_probabilities_complete_the_square() -> None:
    np.testing.assert_array_equal(SMALL.hidden_states(np.arange(8)), hidden_states(SMALL))
    np.testing.assert_allclose(SMALL.hidden_probabilities(), exact_mixture(SMALL)[0], rtol=1e-12)


@pytest.mark.parametrize("model", [LINE, SMALL, PAPER], ids=["line", "small", "paper"])
def test_exact_draws_have_the_moments_of_the_enumerated_mixture(model: GaussianBernoulliRBM) -> None:
    """n = 20,000: means within 4.5 and covariances within 5 standard errors (up to 1,275 of them)."""
    n = 20_000
    weights, centers = exact_mixture(model)
    mean = weights @ centers
    covariance = np.eye(model.dimension) + (weights[:, None] * (centers - mean)).T @ (centers - mean)
    offset = model.sample(n, rng=2) - mean
    assert np.all(np.abs(offset.mean(axis=0)) < 4.5 * np.sqrt(np.diag(covariance) / n))
    spread = np.sqrt((offset**2).T @ offset**2 / n - covariance**2)
    assert np.all(np.abs(offset.T @ offset / n - covariance) < 5.0 * spread / np.sqrt(n))


@pytest.mark.parametrize("model", [LINE, SMALL, PAPER], ids=["line", "small", "paper"])
@pytest.mark.parametrize("column", [0, 1])
def test_projections_of_exact_draws_follow_the_enumerated_law(model: GaussianBernoulliRBM, column: int) -> None:
    """Kolmogorov–Smirnov, n = 20,000, level 1e-3, along columns of B, where the modes separate."""
    a = unit(model.weights[:, column])
    assert stats.kstest(model.sample(20_000, rng=3) @ a, projected_law(model, a)).pvalue > 1e-3


def test_too_many_hidden_units_are_refused_with_advice() -> None:
    model = random_rbm(3, 17, rng=0)
    with pytest.raises(ValueError, match=r"2\^17 hidden states.*`draw_visible`"):
        model.sample(5)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([1.0, 2.0], [0.0], [0.0]), r"`weights` must be finite, of shape \(d, d'\)"),
        (([[1.0, 2.0]], [0.0, 1.0], [0.0, 0.0]), r"`visible_bias` must be a number or have shape \(1,\), got \(2,\)"),
        (([[1.0, 2.0]], [0.0], [0.0]), r"`hidden_bias` must be a number or have shape \(2,\), got \(1,\)"),
        (([[np.nan]], [0.0], [0.0]), "`weights` must be finite"),
    ],
)
def test_bad_parameters_are_named(arguments: tuple[Any, ...], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        GaussianBernoulliRBM(*arguments)


@pytest.mark.backend
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_libraries_agree(xp: Any, dtype: str) -> None:
    x = PAPER.sample(20, rng=0).astype(dtype)
    tolerance = 1e-12 if dtype == "float64" else 1e-5
    theirs = xp.asarray(x.copy())
    for function in (PAPER.score, PAPER.log_density):
        value = function(theirs)
        assert namespace(value) is namespace(theirs)
        assert dtype_name(value) == dtype
        expected = function(x.astype(np.float64))
        np.testing.assert_allclose(to_host(value), expected, rtol=tolerance, atol=10 * tolerance)
