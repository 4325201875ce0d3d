"""The kernel exponential family against its definition, quadrature and automatic differentiation."""

from __future__ import annotations

import dataclasses
import math
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from scipy import integrate, stats

from steinball.arrays import dtype_name, namespace, to_host
from steinball.models import GaussianMixture
from steinball.models.kernel_exponential import KernelDensity, KernelExponentialFamily

jax = pytest.importorskip("jax")
jax.config.update("jax_enable_x64", True)

pytestmark = pytest.mark.exact

GENERATOR = np.random.default_rng(0)

MODELS = {
    "base": KernelExponentialFamily(np.zeros(3)),
    "small": KernelExponentialFamily([1.0, -1.5, 0.8]),
    "paper": KernelExponentialFamily(GENERATOR.normal(scale=2.0, size=25)),
    "peaked": KernelExponentialFamily(GENERATOR.normal(scale=500.0, size=12)),
    "narrow": KernelExponentialFamily([5.0, -3.0], base_scale=1e-3),
    "wide": KernelExponentialFamily([3.0, 4.0, -2.0], base_scale=40.0),
}


def autodiff_score(model: Any, x: np.ndarray) -> np.ndarray:
    gradient = jax.grad(lambda point: model.log_density(point[None, :])[0])
    return np.asarray(jax.vmap(gradient)(jax.numpy.asarray(x)))


def plain_log_density(model: KernelExponentialFamily, t: float) -> float:
    """The definition, with powers and factorials written out."""
    terms = [
        eta * t**order / math.sqrt(math.factorial(order)) * math.exp(-t * t / 2.0)
        for order, eta in enumerate(model.coefficients, start=1)
    ]
    return float(sum(terms) - t * t / (2.0 * model.base_scale**2))


@cache
def quadrature(name: str) -> tuple[np.ndarray, np.ndarray, float]:
    """Edges, the unnormalized mass below each over exp(top), and top, by quadrature of the definition."""
    model = MODELS[name]
    reach = max(12.0 * model.base_scale, 12.0 if model.base_scale > 0.1 else 0.0)
    edges = np.linspace(-reach, reach, 801)
    top = max(plain_log_density(model, t) for t in np.linspace(-reach, reach, 20_001))

    def density(t: float) -> float:
        return math.exp(plain_log_density(model, t) - top)

    masses = [integrate.quad(density, a, b)[0] for a, b in pairwise(edges)]
    return edges, np.concatenate([[0.0], np.cumsum(masses)]), top


@pytest.mark.parametrize("name", MODELS)
def test_the_score_is_the_gradient_of_the_log_density(name: str) -> None:
    model = MODELS[name]
    x = np.concatenate([np.linspace(-12.0, 12.0, 97), [0.0, 45.0, -1e3, 1e10, 1e20, -1e20]])[:, None]
    expected = autodiff_score(model, x)
    scale = 1.0 + np.abs(model.coefficients).sum()
    np.testing.assert_allclose(model.score(x), expected, rtol=1e-11, atol=1e-11 * scale)
    np.testing.assert_allclose(model.score(x[-4:]), -x[-4:] / model.base_scale**2, rtol=1e-14)


def test_basis_functions_are_powers_over_root_factorials_times_a_gaussian() -> None:
    x = np.linspace(-9.0, 9.0, 37)
    columns = [x**k / math.sqrt(math.factorial(k)) * np.exp(-(x**2) / 2.0) for k in range(1, 26)]
    expected = np.stack(columns, axis=1)
    np.testing.assert_allclose(MODELS["paper"].basis(x), expected, rtol=1e-12)


def test_basis_gradients_are_derivatives_of_the_basis() -> None:
    model, x = MODELS["paper"], np.linspace(-9.0, 9.0, 37)
    expected = jax.vmap(jax.jacfwd(lambda t: model.basis(t[None])[0]))(jax.numpy.asarray(x))
    np.testing.assert_allclose(model.basis_gradient(x), expected, rtol=1e-10, atol=1e-14)


@pytest.mark.parametrize("distance", [39.0, 1e3, 1e20, 1e200, 1e300])
def test_far_points_have_no_basis_values_and_no_nan(distance: float) -> None:
    x = np.array([distance, -distance])
    for values in (MODELS["paper"].basis(x), MODELS["paper"].basis_gradient(x)):
        assert np.abs(values).max() < 1e-280
    np.testing.assert_allclose(MODELS["paper"].score(x)[:, 0], -x / 9.0)


@pytest.mark.parametrize("name", MODELS)
def test_the_log_density_is_the_definition(name: str) -> None:
    model, x = MODELS[name], np.linspace(-10.0, 10.0, 41)
    expected = [plain_log_density(model, t) for t in x]
    scale = 1.0 + np.abs(model.coefficients).sum()
    np.testing.assert_allclose(model.log_density(x), expected, rtol=1e-11, atol=1e-12 * scale)


@pytest.mark.parametrize("name", MODELS)
def test_the_normalizer_is_the_integral(name: str) -> None:
    _, mass, top = quadrature(name)
    assert MODELS[name].log_normalizer == pytest.approx(top + math.log(mass[-1]), abs=1e-10)


def test_the_density_without_coefficients_is_the_base() -> None:
    x = np.linspace(-8.0, 8.0, 33)
    density = np.exp(MODELS["base"].log_density(x) - MODELS["base"].log_normalizer)
    np.testing.assert_allclose(density, stats.norm(0.0, 3.0).pdf(x), rtol=1e-12)


@pytest.mark.parametrize("name", MODELS)
def test_draws_follow_the_law_by_quadrature(name: str) -> None:
    """n = 20,000: Kolmogorov–Smirnov at level 1e-3, at the 801 edges, and two moments within 4.5 s.e."""
    n, (edges, mass, _) = 20_000, quadrature(name)
    law = mass / mass[-1]
    draws = MODELS[name].sample(n, rng=1)
    assert draws.shape == (n, 1)
    empirical = np.searchsorted(np.sort(draws[:, 0]), edges, side="right") / n
    assert np.abs(empirical - law).max() < stats.kstwo(n).isf(1e-3)
    for power in (1, 2):
        values = (draws[:, 0] / MODELS[name].base_scale) ** power
        assert abs(values.mean() - moment(name, power)) < 4.5 * values.std() / math.sqrt(n)


def moment(name: str, power: int) -> float:
    """E (x/σ₀)^power under the normalized density, by quadrature of the definition."""
    model, (edges, mass, top) = MODELS[name], quadrature(name)

    def integrand(t: float) -> float:
        return float((t / model.base_scale) ** power * math.exp(plain_log_density(model, t) - top))

    total = sum(integrate.quad(integrand, a, b)[0] for a, b in pairwise(edges))
    return float(total / mass[-1])


@pytest.mark.parametrize("name", ["small", "paper", "wide"])
def test_the_grid_has_the_distribution_function(name: str) -> None:
    """Far beyond what draws could show: what lies below every edge, by interpolation on the grid of the sampler."""
    edges, mass, _ = quadrature(name)
    x, below, _ = MODELS[name]._grid
    assert np.abs(np.interp(edges, x, below) - mass / mass[-1]).max() < 1e-5


def test_extreme_uniforms_give_finite_draws() -> None:
    for name in MODELS:
        x, below, _ = MODELS[name]._grid
        assert np.isfinite(x).all()
        assert below[0] == 0.0
        assert below[-1] == 1.0
        assert (np.diff(below) >= 0.0).all()


def test_other_coefficients_keep_the_base() -> None:
    model = dataclasses.replace(MODELS["wide"], coefficients=[1.0])
    assert (model.base_scale, model.n_basis, model.dimension) == (40.0, 1, 1)
    assert model.log_normalizer != MODELS["wide"].log_normalizer
    assert repr(model) == "KernelExponentialFamily(n_basis=1, base_scale=40)"
    with pytest.raises(ValueError, match="read-only"):
        model.coefficients[0] = 2.0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([],), r"`coefficients` must be finite, of shape \(L,\)"),
        (([[1.0]],), r"`coefficients` must be finite, of shape \(L,\)"),
        (([np.nan],), "`coefficients` must be finite"),
        (([1.0], 0.0), "`base_scale` must be a finite number"),
    ],
)
def test_bad_parameters_are_named(arguments: tuple[Any, ...], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        KernelExponentialFamily(*arguments)


def test_two_columns_are_refused() -> None:
    with pytest.raises(ValueError, match=r"`x` must have shape \(n, 1\)"):
        MODELS["small"].score(np.zeros((3, 2)))


@pytest.mark.backend
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_libraries_agree(xp: Any, dtype: str) -> None:
    model = MODELS["paper"]
    x = np.concatenate([np.linspace(-9.0, 9.0, 37), [1e15]])[:, None].astype(dtype)
    tolerance = 1e-12 if dtype == "float64" else 2e-5
    theirs = xp.asarray(x.copy())
    for function in (model.score, model.log_density, model.basis, model.basis_gradient):
        value = function(theirs)
        assert namespace(value) is namespace(theirs)
        assert dtype_name(value) == dtype
        expected = function(x.astype(np.float64))
        np.testing.assert_allclose(to_host(value), expected, rtol=tolerance, atol=tolerance)


RNG = np.random.default_rng(0)
COV = np.array([[0.5, 0.1], [0.1, 0.3]])
DENSITY = KernelDensity(RNG.normal(size=(30, 2)), COV, RNG.uniform(size=30))
MIXTURE = GaussianMixture(DENSITY.weights, DENSITY.centers, COV)
X = RNG.normal(size=(40, 2)) * 3.0


def test_it_is_the_mixture_of_its_points() -> None:
    for name in ("score", "log_density", "to_base"):
        np.testing.assert_allclose(getattr(DENSITY, name)(X), getattr(MIXTURE, name)(X), rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(DENSITY.location, MIXTURE.location)
    np.testing.assert_allclose(DENSITY.covariance, MIXTURE.covariance)


def test_the_score_is_finite_far_out_and_its_growth_is_a_bound() -> None:
    far = np.concatenate([X * 10.0**k for k in (0, 3, 8)])
    scores = np.linalg.norm(DENSITY.score(far), axis=1)
    assert np.isfinite(scores).all()
    center = np.array([0.3, -0.2])
    bound = DENSITY.score_growth(center)
    assert (scores <= bound.at(np.linalg.norm(far - center, axis=1)) * (1.0 + 1e-9)).all()


def test_many_points_are_worked_through_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = DENSITY.score(X)
    monkeypatch.setattr("steinball.models.kernel_exponential._TOGETHER", 64)
    np.testing.assert_allclose(DENSITY.score(X), whole)


def test_draws_have_its_distribution() -> None:
    z = DENSITY.to_base(DENSITY.sample(2000, rng=1))
    assert all(stats.kstest(column, "norm").pvalue > 1e-3 for column in z.T)


def test_a_center_without_weight_is_left_out() -> None:
    whole, weights = KernelDensity(DENSITY.centers[:5], COV, np.arange(5.0)), np.arange(1.0, 5.0)
    left = KernelDensity(DENSITY.centers[1:5], COV, weights)
    x = RNG.normal(size=(7, 2))
    for name in ("score", "log_density", "to_base"):
        np.testing.assert_array_equal(getattr(whole, name)(x), getattr(left, name)(x))
    np.testing.assert_array_equal(whole.sample(9, rng=0), left.sample(9, rng=0))
    assert repr(whole) == "KernelDensity(4 points, dimension=2)"
