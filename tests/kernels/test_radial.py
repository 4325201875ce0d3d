"""The radial profiles φ, φ′, r²φ″ against automatic differentiation, Bessel functions and finite differences."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import gamma, kv

import steinball.kernels
from steinball.arrays import to_host
from steinball.kernels import Gaussian, InverseMultiquadric, Kernel, Matern
from steinball.kernels.base import Product, Scaled, Sum

pytestmark = pytest.mark.exact
torch = pytest.importorskip("torch")

Floats = NDArray[np.float64]
Function = Callable[[Any], Any]

KERNELS: dict[str, Kernel] = {
    "imq": InverseMultiquadric(1.3),
    "imq-0.1": InverseMultiquadric(0.7, 0.1),
    "imq-1": InverseMultiquadric(2.0, 1.0),
    "imq-3": InverseMultiquadric(1.6, 3.0),
    "gaussian": Gaussian(1.1),
    "matern-3/2": Matern(1.4, 1.5),
    "matern-5/2": Matern(0.9, 2.5),
    "matern-7/2": Matern(1.6, 3.5),
    "scaled": 0.3 * Matern(0.9, 2.5),
    "sum": InverseMultiquadric(1.3) + Gaussian(0.4),
    "product": Matern(1.4, 1.5) * Gaussian(1.1),
    "nested": (Gaussian(0.8) + 2.0 * Matern(1.4, 3.5)) * InverseMultiquadric(1.0, 1.5) * Matern(3.0, 1.5),
}

R2 = np.array([1e-6, 1e-3, 0.1, 0.5, 1.0, 2.0, 7.0, 30.0])


def bessel(nu: float, lengthscale: float) -> Function:
    """The Matérn kernel as a function of r², 2^(1−ν)/Γ(ν) t^ν K_ν(t) with t = √(2ν) r/ℓ."""

    def phi(q: Floats) -> Floats:
        t = np.sqrt(2.0 * nu * q) / lengthscale
        return np.asarray(2.0 ** (1.0 - nu) / gamma(nu) * t**nu * kv(nu, t))

    return phi


def test_inverse_multiquadric_and_gaussian_have_the_stated_closed_forms() -> None:
    np.testing.assert_allclose(InverseMultiquadric(2.0, 0.7).profile(R2)[0], (1.0 + R2 / 4.0) ** -0.7, rtol=1e-14)
    np.testing.assert_allclose(InverseMultiquadric(2.0).profile(R2)[0], 1.0 / np.sqrt(1.0 + R2 / 4.0), rtol=1e-14)
    np.testing.assert_allclose(Gaussian(2.0).profile(R2)[0], np.exp(-R2 / 8.0), rtol=1e-14)


@pytest.mark.parametrize("nu", [1.5, 2.5, 3.5])
def test_matern_is_a_bessel_function_and_so_are_its_derivatives(nu: float) -> None:
    """d/dt (t^ν K_ν) = −t^ν K_(ν−1), hence dφ/dr² = −a²/2 · 2^(1−ν)/Γ(ν) t^(ν−1) K_(ν−1), and once more."""
    ell = 1.3
    value, slope, curvature = Matern(ell, nu).profile(R2)
    a2 = 2.0 * nu / ell**2
    t, front = np.sqrt(a2 * R2), 2.0 ** (1.0 - nu) / gamma(nu)
    np.testing.assert_allclose(value, bessel(nu, ell)(R2), rtol=1e-11)
    np.testing.assert_allclose(slope, -a2 / 2.0 * front * t ** (nu - 1.0) * kv(nu - 1.0, t), rtol=1e-11)
    np.testing.assert_allclose(curvature / R2, a2**2 / 4.0 * front * t ** (nu - 2.0) * kv(nu - 2.0, t), rtol=1e-10)


@pytest.mark.parametrize("name", KERNELS)
def test_derivatives_are_those_of_the_value(name: str) -> None:
    """φ is differentiated by torch through the library's own value, so that no formula is trusted."""
    kernel, q = KERNELS[name], torch.tensor(R2, requires_grad=True)
    value = kernel.profile(q)[0]
    (first,) = torch.autograd.grad(value.sum(), q, create_graph=True)
    (second,) = torch.autograd.grad(first.sum(), q)
    _, slope, curvature = kernel.profile(R2)
    np.testing.assert_allclose(slope, first.detach().numpy(), rtol=1e-9)
    np.testing.assert_allclose(curvature, R2 * second.numpy(), rtol=1e-7, atol=1e-13)


@pytest.mark.parametrize("name", KERNELS)
def test_derivatives_are_finite_differences(name: str) -> None:
    kernel, h = KERNELS[name], 1e-5
    q = R2[R2 > 0.05]
    (low, low_slope, _), (high, high_slope, _) = kernel.profile(q - h), kernel.profile(q + h)
    _, slope, curvature = kernel.profile(q)
    np.testing.assert_allclose((high - low) / (2.0 * h), slope, rtol=1e-6, atol=1e-10)
    np.testing.assert_allclose(q * (high_slope - low_slope) / (2.0 * h), curvature, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("name", KERNELS)
def test_profile_at_zero_is_the_limit(name: str) -> None:
    """Finite at 0, where r²φ″ vanishes: even for Matérn-3/2, whose φ″ does not exist there."""
    value, slope, curvature = KERNELS[name].profile(np.array([0.0, 1e-14]))
    assert curvature[0] == 0.0
    assert value[0] > 0.0
    assert slope[0] < 0.0
    assert value[1] == pytest.approx(value[0], rel=1e-6)
    assert slope[1] == pytest.approx(slope[0], rel=1e-5)
    assert abs(curvature[1]) < 1e-5 * abs(slope[0])


@pytest.mark.parametrize(
    ("kernel", "slope"),
    [
        (InverseMultiquadric(2.0, 0.7), -0.7 / 4.0),
        (Gaussian(2.0), -1.0 / 8.0),
        (Matern(2.0, 1.5), -3.0 / 8.0),  # −a²/2 · 1/(2ν − 2) with a² = 2ν/ℓ²
        (Matern(2.0, 2.5), -5.0 / 24.0),
        (Matern(2.0, 3.5), -7.0 / 40.0),
    ],
)
def test_slopes_at_zero_are_the_known_ones(kernel: Kernel, slope: float) -> None:
    value, slopes, _ = kernel.profile(np.zeros(1))
    assert value[0] == 1.0
    assert slopes[0] == pytest.approx(slope, rel=1e-15)


@pytest.mark.parametrize("name", KERNELS)
def test_profiles_vanish_at_large_distances_without_overflow(name: str) -> None:
    parts = KERNELS[name].profile(np.array([1e8, 1e40, 1e300]))
    for part in parts:
        assert np.isfinite(part).all()
        assert np.abs(part[2]) < 1e-20
        assert (np.diff(np.abs(part)) <= 0.0).all()


@pytest.mark.parametrize("name", KERNELS)
def test_profile_leaves_its_argument_alone_and_takes_any_shape(name: str) -> None:
    q = np.arange(12.0).reshape(3, 4)
    parts = KERNELS[name].profile(q)
    np.testing.assert_array_equal(q, np.arange(12.0).reshape(3, 4))
    flat = KERNELS[name].profile(np.arange(12.0))
    for part, same in zip(parts, flat, strict=True):
        assert part.shape == (3, 4)
        np.testing.assert_allclose(part.ravel(), same, rtol=1e-15)


@pytest.mark.parametrize("name", KERNELS)
def test_combining_is_the_formula_of_the_profile(name: str) -> None:
    """An override that saves passes computes φ·inner + φ′·cross − 4r²φ″·stretch all the same."""
    rng = np.random.default_rng(0)
    r2, inner, cross, stretch = np.abs(rng.normal(size=(4, 5, 3)))
    r2[0, 0] = 0.0
    value, slope, curvature = KERNELS[name].profile(r2)
    for factor in (None, stretch):
        expected = value * inner + slope * -cross - 4.0 * curvature * (1.0 if factor is None else factor)
        copies = r2.copy(), inner.copy(), -cross
        got = KERNELS[name].combine(*copies) if factor is None else KERNELS[name].combine(*copies, factor.copy())
        np.testing.assert_allclose(got, expected, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("name", KERNELS)
def test_a_kernel_matrix_is_the_profile_of_the_distances(name: str) -> None:
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=(4, 3)), rng.normal(size=(2, 3))
    r2 = np.array([[np.sum((a - b) ** 2) for b in y] for a in x])
    np.testing.assert_allclose(KERNELS[name](x, y), KERNELS[name].profile(r2)[0], rtol=1e-13)


def test_a_metric_measures_the_distances() -> None:
    rng = np.random.default_rng(2)
    x, y, c = rng.normal(size=(4, 2)), rng.normal(size=(3, 2)), np.array([[2.0, -0.5], [-0.5, 0.3]])
    r2 = np.array([[(a - b) @ c @ (a - b) for b in y] for a in x])
    np.testing.assert_allclose(Gaussian(1.5, c)(x, y), np.exp(-r2 / 4.5), rtol=1e-12)


@pytest.mark.backend
@pytest.mark.parametrize("name", KERNELS)
def test_profiles_agree_across_array_libraries(name: str, xp: Any) -> None:
    theirs = KERNELS[name].profile(xp.asarray(R2, dtype=xp.float64))
    for part, ours in zip(theirs, KERNELS[name].profile(R2), strict=True):
        np.testing.assert_allclose(to_host(part), ours, rtol=1e-12, atol=1e-300)


@pytest.mark.parametrize("name", KERNELS)
def test_single_precision_stays_single(name: str) -> None:
    for part in KERNELS[name].profile(R2.astype(np.float32)):
        assert part.dtype == np.float32


def test_whole_numbers_are_refused_where_a_metric_would_be_truncated() -> None:
    x = np.array([[0, 0], [1, 2]])
    with pytest.raises(TypeError, match="must be floating, got int64"):
        Gaussian(1.0, [0.3, 0.7])(x, x)


@pytest.mark.parametrize("make", [InverseMultiquadric, Gaussian, Matern])
@pytest.mark.parametrize("bad", [0.0, -1.0, np.nan, np.inf])
def test_lengthscale_must_be_positive(make: type, bad: float) -> None:
    with pytest.raises(ValueError, match=r"`lengthscale` must be a finite number in \(0, inf\), got"):
        make(bad)


def test_other_parameters_are_checked_by_name() -> None:
    with pytest.raises(TypeError, match="`lengthscale` must be a number, got 'wide'"):
        Gaussian("wide")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"`exponent` must be a finite number in \(0, inf\), got 0"):
        InverseMultiquadric(1.0, 0)
    with pytest.raises(ValueError, match=r"`smoothness` must be one of 1.5, 2.5, 3.5, got 0.5"):
        Matern(1.0, 0.5)


@pytest.mark.parametrize(
    ("metric", "message"),
    [
        (np.ones((2, 3)), r"`metric` must be a finite \(d, d\) matrix or \(d,\) diagonal, got shape \(2, 3\)"),
        ([[1.0, np.nan], [np.nan, 1.0]], r"`metric` must be a finite \(d, d\) matrix"),
        ([[1.0, 0.5], [0.0, 1.0]], "`metric` must be symmetric"),
        ([[1.0, 2.0], [2.0, 1.0]], "`metric` must be positive definite"),
        ([1.0, 0.0], "`metric` must be positive definite"),
    ],
)
def test_a_metric_must_be_symmetric_and_positive(metric: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Gaussian(1.0, metric)


def test_a_metric_cannot_be_changed_behind_the_kernel() -> None:
    mine = np.eye(2)
    kernel = Gaussian(1.0, mine)
    mine[0, 0] = 7.0
    assert kernel.metric is not None
    assert kernel.metric[0, 0] == 1.0
    with pytest.raises(ValueError, match="read-only"):
        kernel.metric[0, 0] = 7.0


def test_kernels_are_equal_when_all_their_parameters_are() -> None:
    assert Gaussian(1.0) == Gaussian(1.0)
    assert hash(Gaussian(1.0, np.eye(2))) == hash(Gaussian(1.0, np.eye(2)))
    different = [Gaussian(1.0), Gaussian(2.0), Gaussian(1.0, np.eye(2)), Gaussian(1.0, [1.0, 2.0]), Matern(1.0)]
    assert len({*different, InverseMultiquadric(1.0), InverseMultiquadric(1.0, 0.6)}) == 7


def test_every_exported_kernel_is_in_this_table() -> None:
    exported = {getattr(steinball.kernels, name) for name in steinball.kernels.__all__}
    made = {Sum, Product, Scaled}  # by adding and multiplying kernels
    concrete = {k for k in exported if isinstance(k, type) and issubclass(k, Kernel) and k is not Kernel} | made
    assert concrete == {type(kernel) for kernel in KERNELS.values()}
