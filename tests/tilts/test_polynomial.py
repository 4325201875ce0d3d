"""The polynomial weight: closed form, gradient and boundedness."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays as any_array
from numpy.typing import NDArray

import steinball.tilts
from steinball.arrays import to_host
from steinball.kernels import InverseMultiquadric
from steinball.problem import pose
from steinball.stein import SteinKernel
from steinball.tau.tilting import base_tilt
from steinball.tilts import PolynomialTilt, PowerTilt, Tilt

pytestmark = pytest.mark.exact

Floats = NDArray[np.float64]
PRECISION = np.array([[2.0, -0.6, 0.1], [-0.6, 0.7, 0.2], [0.1, 0.2, 1.5]])
TILTS = {
    "default": PolynomialTilt(),
    "scale": PolynomialTilt(0.8, (0.5, -1.0, 0.2), 2.5),
    "precision": PolynomialTilt(1.5, 0.3, precision=PRECISION),
}

EXPORTED = [v for v in (getattr(steinball.tilts, name) for name in steinball.tilts.__all__) if isinstance(v, type)]


def weight(name: str, x: Floats) -> float:
    """w at one point, from the formulas of the paper."""
    if name == "default":
        return float((1.0 + x @ x) ** -0.5)
    if name == "scale":
        e = x - np.array([0.5, -1.0, 0.2])
        return float((1.0 + e @ e / 6.25) ** -0.8)
    return float((1.0 + (x - 0.3) @ PRECISION @ (x - 0.3)) ** -1.5)


finite = any_array(float, (4, 3), elements=st.floats(-20.0, 20.0, allow_subnormal=False))


@given(x=finite, name=st.sampled_from(sorted(TILTS)))
def test_log_weight_is_the_logarithm_of_the_stated_weight(x: Floats, name: str) -> None:
    expected = [np.log(weight(name, row)) for row in x]
    np.testing.assert_allclose(TILTS[name].log_weight(x), expected, rtol=1e-12, atol=1e-13)


@given(x=finite, name=st.sampled_from(sorted(TILTS)))
def test_gradient_is_a_central_difference_of_the_log_weight(x: Floats, name: str) -> None:
    tilt, h = TILTS[name], 1e-5
    gradient = tilt.log_weight_gradient(x)
    for k, step in enumerate(h * np.eye(3)):
        difference = (tilt.log_weight(x + step) - tilt.log_weight(x - step)) / (2.0 * h)
        np.testing.assert_allclose(gradient[:, k], difference, rtol=1e-6, atol=1e-8)


def test_a_precision_of_a_multiple_of_the_identity_is_a_scale() -> None:
    x = np.random.default_rng(0).normal(size=(5, 3))
    scale, precision = PolynomialTilt(0.5, 1.0, 2.0), PolynomialTilt(0.5, 1.0, precision=np.eye(3) / 4.0)
    np.testing.assert_allclose(scale.log_weight(x), precision.log_weight(x), rtol=1e-14)
    np.testing.assert_allclose(scale.log_weight_gradient(x), precision.log_weight_gradient(x), rtol=1e-14)


@pytest.mark.parametrize("far", [1e3, 1e9, 1e20, 1e100])
def test_a_tilt_bounds_the_diagonal_at_any_distance(far: float) -> None:
    """Gaussian score, b = ½: w²(|s + ∇log w|² + d/ℓ²) → 1 from the first term alone."""
    x = np.array([[far, 0.0], [0.0, -far]])
    stein = SteinKernel(InverseMultiquadric(1.0), PolynomialTilt())
    np.testing.assert_allclose(stein.diagonal(x, -x), 1.0, rtol=1e-5)


def test_largest_value_of_the_tilted_diagonal_is_the_published_one() -> None:
    """N(0, 1), lengthscale² = 2, b = ½: the maximum 1.38138 lies at 1.109; at 3 it is 1.139 (¼: 3.296, 1: 0.135)."""
    x = np.linspace(-3.0, 3.0, 6001)[:, None]
    kernel = InverseMultiquadric(2.0**0.5)
    half = SteinKernel(kernel, PolynomialTilt(0.5)).diagonal(x, -x)
    assert half.max() == pytest.approx(1.38138, abs=5e-6)
    assert abs(x[half.argmax(), 0]) == pytest.approx(1.109, abs=1e-3)
    for b, value in ((0.25, 3.296), (0.5, 1.139), (1.0, 0.135)):
        assert SteinKernel(kernel, PolynomialTilt(b)).diagonal(x, -x)[-1] == pytest.approx(value, abs=6e-4)
    assert SteinKernel(kernel).diagonal(x, -x)[-1] == pytest.approx(9.5, rel=1e-12)


@pytest.mark.parametrize("kind", EXPORTED)
def test_every_exported_tilt_obeys_the_protocol(kind: Any) -> None:
    if kind is Tilt:
        return
    tilt = kind(*[lambda x: -(x**2).sum(axis=1) / 2.0, lambda x: -x][: 2 * (kind is PowerTilt)])
    assert isinstance(tilt, Tilt)
    x = np.random.default_rng(1).normal(size=(4, 2))
    assert tilt.log_weight(x).shape == (4,)
    assert tilt.log_weight_gradient(x).shape == (4, 2)


@pytest.mark.backend
@pytest.mark.parametrize("name", TILTS)
def test_every_array_library_gives_the_same_numbers(name: str, xp: Any) -> None:
    x = np.random.default_rng(2).normal(size=(4, 3))
    for dtype, tolerance in ((xp.float64, 1e-13), (xp.float32, 1e-5)):
        theirs = xp.asarray(x, dtype=dtype)
        for method in ("log_weight", "log_weight_gradient"):
            values = getattr(TILTS[name], method)(theirs)
            assert values.dtype == dtype
            np.testing.assert_allclose(to_host(values), getattr(TILTS[name], method)(x), rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"exponent": 0.0}, ValueError, r"`exponent` must be a finite number in \(0, inf\), got 0"),
        ({"scale": -1.0}, ValueError, r"`scale` must be a finite number in \(0, inf\), got -1"),
        ({"scale": "wide"}, TypeError, "`scale` must be a number, got 'wide'"),
        ({"center": np.nan}, ValueError, r"`center` must be a finite number or a \(d,\) array"),
        ({"center": np.ones((2, 2))}, ValueError, r"`center` must be a finite number or a \(d,\) array"),
        ({"precision": [[1.0, 0.5], [0.0, 1.0]]}, ValueError, "`precision` must be symmetric"),
        ({"precision": [[1.0, 2.0], [2.0, 1.0]]}, ValueError, "`precision` must be positive definite"),
        ({"precision": np.ones((2, 3))}, ValueError, r"`precision` must be a finite \(d, d\) matrix"),
    ],
)
def test_parameters_are_checked_by_name(arguments: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        PolynomialTilt(**arguments)


def test_a_tilt_of_another_dimension_is_refused() -> None:
    x = np.zeros((4, 2))
    with pytest.raises(ValueError, match="`center` of the tilt has 3 entries, but the samples have 2 columns"):
        PolynomialTilt(center=[0.0, 1.0, 2.0]).log_weight(x)
    with pytest.raises(ValueError, match=r"`precision` of the tilt is \(3, 3\), but the samples have 2 columns"):
        PolynomialTilt(precision=np.eye(3)).log_weight_gradient(x)


def test_whole_numbers_are_refused_where_the_center_would_be_truncated() -> None:
    with pytest.raises(TypeError, match="must be floating, got int64"):
        PolynomialTilt(center=0.5).log_weight(np.array([[0], [1]]))


def test_tilts_are_equal_when_all_their_parameters_are() -> None:
    assert PolynomialTilt(0.5, [0.0, 1.0]) == PolynomialTilt(0.5, np.array([0.0, 1.0]))
    assert hash(PolynomialTilt(precision=np.eye(2))) == hash(PolynomialTilt(precision=np.eye(2)))
    different = [PolynomialTilt(), PolynomialTilt(0.6), PolynomialTilt(center=1.0), PolynomialTilt(scale=2.0)]
    assert len({*different, PolynomialTilt(precision=np.eye(2)), PolynomialTilt(precision=[1.0, 2.0])}) == 6


def test_posing_a_problem_takes_a_tilt_by_name_or_value() -> None:
    x = np.random.default_rng(9).normal(size=(20, 2))
    assert pose(x, lambda x: -x).stein.tilt is None
    assert pose(x, lambda x: -x, tilt="auto").stein.tilt == base_tilt(x)
    with pytest.raises(ValueError, match="`tilt` must be a tilt, None or \"auto\", got 'automatic'"):
        pose(x, lambda x: -x, tilt="automatic")
    with pytest.raises(TypeError, match=r"`tilt` must be a tilt of `steinball\.tilts`"):
        pose(x, lambda x: -x, tilt=0.5)  # type: ignore[arg-type]
