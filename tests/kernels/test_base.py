"""Sums, products and multiples of kernels."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.distance import cdist

from steinball.kernels import Gaussian, InverseMultiquadric, Kernel, Matern
from steinball.kernels.base import Product, Scaled, Sum, direct_squared_distances, metric_root, squared_distances

pytestmark = pytest.mark.exact

R2 = np.array([0.0, 1e-4, 0.3, 2.0, 11.0])
SIMPLE = [InverseMultiquadric(1.3), InverseMultiquadric(0.7, 2.0), Gaussian(0.9), Matern(1.2, 1.5), Matern(2.0, 3.5)]
simple = st.sampled_from(SIMPLE)
factors = st.floats(1e-3, 1e3)


def same(first: Kernel, second: Kernel) -> None:
    for a, b in zip(first.profile(R2), second.profile(R2), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-14 * np.abs(b).max())


def test_operators_build_the_classes() -> None:
    f, g = SIMPLE[:2]
    assert f + g == Sum(f, g)
    assert f * g == Product(f, g)
    assert 2.0 * f == f * 2 == np.float64(2.0) * f == Scaled(f, 2.0)


def test_a_sum_adds_and_a_multiple_multiplies_every_part() -> None:
    f, g = SIMPLE[0], SIMPLE[3]
    for a, b, total, multiple in zip(*(k.profile(R2) for k in (f, g, f + g, 2.5 * f)), strict=True):
        np.testing.assert_allclose(total, a + b, rtol=1e-15)
        np.testing.assert_allclose(multiple, 2.5 * a, rtol=1e-15)


@given(first=st.floats(0.3, 5.0), second=st.floats(0.3, 5.0))
def test_a_product_of_gaussians_is_a_gaussian(first: float, second: float) -> None:
    """1/ℓ² = 1/ℓ₁² + 1/ℓ₂²: a closed form in which every term of Leibniz' rule counts."""
    same(Gaussian(first) * Gaussian(second), Gaussian((first**-2 + second**-2) ** -0.5))


@given(a=st.floats(0.1, 3.0), b=st.floats(0.1, 3.0), lengthscale=st.floats(0.3, 5.0))
def test_a_product_of_inverse_multiquadrics_adds_the_exponents(a: float, b: float, lengthscale: float) -> None:
    product = InverseMultiquadric(lengthscale, a) * InverseMultiquadric(lengthscale, b)
    same(product, InverseMultiquadric(lengthscale, a + b))


@given(f=simple, g=simple, h=simple, c=factors)
def test_the_laws_of_algebra_hold(f: Kernel, g: Kernel, h: Kernel, c: float) -> None:
    same(f + g, g + f)
    same(f * g, g * f)
    same((f + g) + h, f + (g + h))
    same((f * g) * h, f * (g * h))
    same(f * (g + h), f * g + f * h)
    same(c * (f * g), (c * f) * g)
    same(c * (f + g), c * f + c * g)


@pytest.mark.parametrize("combine", [operator.add, operator.mul])
def test_kernels_of_different_metrics_do_not_combine(combine: Any) -> None:
    plain, flat, tall = Gaussian(1.0), Gaussian(1.0, [1.0, 2.0]), Gaussian(1.0, [2.0, 1.0])
    for first, second in ((plain, flat), (flat, plain), (flat, tall)):
        with pytest.raises(ValueError, match="combined only with equal `metric`s"):
            combine(first, second)
    np.testing.assert_array_equal(combine(flat, Gaussian(3.0, [1.0, 2.0])).metric, np.diag([1.0, 2.0]))
    assert combine(plain, plain).metric is None


def test_a_multiple_keeps_the_metric() -> None:
    np.testing.assert_array_equal((2.0 * Gaussian(1.0, [1.0, 2.0])).metric, np.diag([1.0, 2.0]))


@pytest.mark.parametrize("factor", [0, -1.0, np.nan, np.inf])
def test_a_factor_must_be_positive(factor: float) -> None:
    with pytest.raises(ValueError, match=r"`factor` must be a finite number in \(0, inf\), got"):
        factor * Gaussian(1.0)


@pytest.mark.parametrize("other", ["2", None, [1.0]])
def test_kernels_combine_with_kernels_and_numbers_only(other: Any) -> None:
    with pytest.raises(TypeError, match=r"unsupported operand|can't multiply"):
        Gaussian(1.0) * other
    with pytest.raises(TypeError, match=r"unsupported operand|can only concatenate"):
        Gaussian(1.0) + other


def test_kernels_are_immutable() -> None:
    with pytest.raises(AttributeError):
        Gaussian(1.0).lengthscale = 2.0  # type: ignore[misc]


RNG = np.random.default_rng(0)
METRIC = np.array([[2.0, 0.5, 0.0], [0.5, 1.0, 0.3], [0.0, 0.3, 3.0]])


@pytest.mark.parametrize("d", [1, 3])
def test_they_are_the_squares_of_the_distances(d: int) -> None:
    x, y = RNG.normal(size=(7, d)), RNG.normal(size=(4, d))
    np.testing.assert_allclose(squared_distances(x, y), cdist(x, y, "sqeuclidean"), rtol=1e-13)


def test_a_metric_is_applied_to_the_differences() -> None:
    x, y = RNG.normal(size=(7, 3)), RNG.normal(size=(4, 3))
    apart = x[:, None] - y[None]
    expected = np.einsum("ijk,kl,ijl->ij", apart, METRIC, apart)
    np.testing.assert_allclose(squared_distances(x, y, METRIC), expected, rtol=1e-12)
    root = metric_root(METRIC)
    np.testing.assert_allclose(root @ root.T, METRIC, rtol=1e-13)


def test_a_large_offset_costs_no_digits() -> None:
    x = np.array([[0.0], [1.0]])
    np.testing.assert_array_equal(direct_squared_distances(x + 2.0**40, x + 2.0**40), [[0.0, 1.0], [1.0, 0.0]])


@pytest.mark.backend
def test_every_array_library_gives_the_same_distances(xp: Any) -> None:
    x, y = RNG.normal(size=(5, 3)), RNG.normal(size=(2, 3))
    found = squared_distances(xp.asarray(x), xp.asarray(y), METRIC)
    np.testing.assert_allclose(np.asarray(found), squared_distances(x, y, METRIC), rtol=1e-12)
