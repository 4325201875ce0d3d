"""A power of the density as a weight: its gradient is that of its logarithm, and the shifted score is (1 + κ)s."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays as any_array
from numpy.typing import NDArray

import steinball as sb
import steinball.tilts
from steinball.arrays import to_host
from steinball.kernels import Gaussian, InverseMultiquadric, Matern
from steinball.kernels.base import Kernel
from steinball.problem import pose
from steinball.stein import SteinKernel, center_of
from steinball.tau.tilting import base_tilt
from steinball.tilts import EdgeTilt, PolynomialTilt, PowerTilt, Tilt

pytestmark = pytest.mark.exact


def log_density(x: Any) -> Any:
    return (x - np.exp(x)).sum(axis=1)


def score(x: Any) -> Any:
    return 1.0 - np.exp(x)


def test_the_shifted_score_is_a_multiple_of_the_score() -> None:
    x, stein = np.random.default_rng(0).normal(size=(5, 2)), SteinKernel(sb.InverseMultiquadric(1.0))
    tilt = PowerTilt(log_density, score, power=0.5, reference=-2.0)
    weight, shifted = SteinKernel(stein.kernel, tilt).tilted(x, score(x))
    np.testing.assert_allclose(shifted, 1.5 * score(x))
    assert weight is not None
    np.testing.assert_allclose(weight, np.exp(0.5 * (log_density(x) + 2.0)))


def test_it_bounds_a_score_that_grows_exponentially() -> None:
    x = np.linspace(-30.0, 6.0, 500)[:, None]
    diagonal = SteinKernel(sb.InverseMultiquadric(1.0), PowerTilt(log_density, score, reference=-1.0)).diagonal(
        x, score(x)
    )
    assert diagonal.max() < 10.0
    assert SteinKernel(sb.InverseMultiquadric(1.0), sb.PolynomialTilt()).diagonal(x, score(x)).max() > 1e3


@pytest.mark.parametrize("power", [0.0, -1.0, float("nan")])
def test_an_impossible_power_is_refused(power: float) -> None:
    with pytest.raises(ValueError, match="`power` must be a finite number"):
        PowerTilt(log_density, score, power=power)


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


@pytest.mark.parametrize("other", sorted(TILTS))
@pytest.mark.parametrize("name", sorted(TILTS))
def test_a_weight_and_its_gradient_together_are_those_found_apart(name: str, other: str) -> None:
    x, edge = np.random.default_rng(0).random((5, 3)), EdgeTilt(low=0.0, high=1.0, scale=0.5)
    for tilt in (TILTS[name], edge, TILTS[name] * TILTS[other], edge * TILTS[name] * TILTS[other]):
        log_weight, gradient = tilt.log_weight_and_gradient(x)
        np.testing.assert_allclose(log_weight, tilt.log_weight(x), rtol=1e-14)
        np.testing.assert_allclose(gradient, tilt.log_weight_gradient(x), rtol=1e-14)


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
    with pytest.raises(ValueError, match="`precision` of the tilt has 3 entries, but the samples have 2 columns"):
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


def score_edge(x: Any) -> Any:
    return 1.0 - x * x


def stein_by_definition(kernel: Any, weights: Any, x: Floats, y: Floats) -> float:
    """Σⱼ ξⱼ ξⱼ′ k(x, y) with ξⱼ f = wⱼ sⱼ f + ∂ⱼ(wⱼ f), differentiated by torch."""
    torch = pytest.importorskip("torch")
    a, b = (torch.tensor(v, dtype=torch.float64, requires_grad=True) for v in (x, y))
    total = torch.zeros((), dtype=torch.float64)
    for j in range(len(x)):
        value = weights(a)[j] * kernel(a, b) * weights(b)[j]
        by_x = torch.autograd.grad(value, a, create_graph=True)[0][j]
        by_y = torch.autograd.grad(value, b, create_graph=True)[0][j]
        by_both = torch.autograd.grad(by_x, b, create_graph=True)[0][j]
        total = (
            total
            + score_edge(a)[j] * score_edge(b)[j] * value
            + score_edge(a)[j] * by_y
            + score_edge(b)[j] * by_x
            + by_both
        )
    return float(total.detach())


def edge_weights(low: list[float | None], high: list[float | None], scale: float) -> Any:
    """The weights as the docstring states them, times (1 + |x − .3|²/4)^(−½)."""
    torch = pytest.importorskip("torch")

    def weights(x: Any) -> Any:
        parts = []
        for j, (below, above) in enumerate(zip(low, high, strict=True)):
            part = (1.0 + ((x - 0.3) ** 2).sum() / 4.0) ** -0.5
            part = part if below is None else part * (x[j] - below) / (scale + x[j] - below)
            parts.append(part if above is None else part * (above - x[j]) / (scale + above - x[j]))
        return torch.stack(parts)

    return weights


@pytest.mark.parametrize("metric", [False, True])
@pytest.mark.parametrize("d", [1, 2, 4])
def test_the_stein_kernel_with_weights_by_coordinate_equals_its_definition(d: int, metric: bool) -> None:
    rng = np.random.default_rng(d)
    root = rng.normal(size=(d, d))
    precision = root @ root.T + np.eye(d) if metric else np.eye(d)
    low: list[float | None] = [0.0] * d
    high: list[float | None] = [None] * (d - 1) + [5.0]
    if d > 1:
        low[0] = None
    tilt = EdgeTilt(tuple(low), tuple(high), scale=0.7) * PolynomialTilt(0.5, 0.3, 2.0)
    stein = SteinKernel(InverseMultiquadric(1.3, metric=precision if metric else None), tilt)
    x, y = rng.uniform(0.1, 4.0, size=(6, d)), rng.uniform(0.1, 4.0, size=(5, d))

    def kernel(a: Any, b: Any) -> Any:
        return (1.0 + (a - b) @ a.new_tensor(precision) @ (a - b) / 1.3**2) ** -0.5

    weights = edge_weights(low, high, 0.7)
    expected = np.array([[stein_by_definition(kernel, weights, a, b) for b in y] for a in x])
    scale = np.abs(expected).max()
    assert stein(x, score_edge(x), y, score_edge(y)) == pytest.approx(expected, rel=1e-10, abs=1e-12 * scale)
    rows, columns = (stein.prepare(v, score_edge(v), center_of(x)) for v in (x[:5], y))
    assert stein.pairs(rows, columns) == pytest.approx(np.diag(expected), rel=1e-10, abs=1e-12 * scale)
    on_itself = [stein_by_definition(kernel, weights, a, a) for a in x]
    assert stein.diagonal(x, score_edge(x)) == pytest.approx(on_itself, rel=1e-10)


@pytest.mark.parametrize(
    "kernel", [Gaussian(0.8), InverseMultiquadric(1.1), Matern(1.2, 1.5), Matern(1.2, 2.5)], ids=repr
)
@pytest.mark.parametrize("d", [1, 3, 6])
def test_equal_weights_of_coordinates_are_an_ordinary_tilt(kernel: Kernel, d: int) -> None:
    class ByCoordinate(Tilt):
        """A constant weight, once for all coordinates and once for each."""

        def log_weight(self, x: Any) -> Any:
            return PLAIN.log_weight(x)

        def log_weight_gradient(self, x: Any) -> Any:
            return PLAIN.log_weight_gradient(x)

        def coordinate_weights(self, x: Any) -> Any:
            return np.full_like(x, 0.5)

    PLAIN = PolynomialTilt(0.5, 0.1, 1.5)
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(7, d)), rng.normal(size=(4, d))
    ordinary, apart = SteinKernel(kernel, PLAIN), SteinKernel(kernel, ByCoordinate())
    expected = 0.25 * ordinary(x, -x, y, -y)
    assert apart(x, -x, y, -y) == pytest.approx(expected, rel=1e-9, abs=1e-12)
    assert apart.diagonal(x, -x) == pytest.approx(0.25 * ordinary.diagonal(x, -x), rel=1e-12)


def test_the_weight_vanishes_at_finite_edges_only_and_in_its_own_coordinate() -> None:
    tilt = EdgeTilt(low=(0.0, None), high=(1.0, None), scale=0.5)
    weights = tilt.coordinate_weights(np.array([[1e-12, 5.0], [1.0 - 1e-12, -1e9], [0.5, 0.0]]))
    assert weights[:, 1].tolist() == [1.0, 1.0, 1.0]
    assert (weights[:2, 0] < 1e-11).all()
    assert weights[2, 0] == pytest.approx(0.25)


def test_the_weighted_score_of_an_unbounded_density_stays_finite_next_to_the_edge() -> None:
    """Γ(½): s = −1/(2r) − 1. The limit of e·(s + ∂ log e) at r = 0 is (−½ + 1)/a."""
    stein, r = SteinKernel(InverseMultiquadric(1.0), EdgeTilt(low=0.0, scale=0.5)), np.array([[1e-300], [1e-12]])
    points = stein.prepare(r, -0.5 / r - 1.0, np.zeros(1))
    assert points.s[:, 0] == pytest.approx([1.0, 1.0])


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"low": 1.0, "high": 0.0}, "`low` must be below `high`"),
        ({"low": float("nan")}, "`low` must be a number"),
        ({"scale": 0.0}, "`scale` must be a positive number"),
        ({"power": 0.5}, r"`power` must be a finite number in \[1, inf"),
    ],
)
def test_an_impossible_edge_is_refused(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        EdgeTilt(**given)


def test_tilts_multiply() -> None:
    x = np.random.default_rng(0).uniform(0.1, 3.0, size=(5, 2))
    first, second = EdgeTilt(low=0.0), EdgeTilt(high=4.0, scale=2.0)
    both = first * second
    weights = first.coordinate_weights(x) * second.coordinate_weights(x)
    assert both.coordinate_weights(x) == pytest.approx(weights)
    assert EdgeTilt(low=0.0, high=4.0, scale=2.0).coordinate_weights(x) == pytest.approx(
        (EdgeTilt(low=0.0, scale=2.0) * second).coordinate_weights(x)
    )
    with pytest.raises(TypeError):
        first * 2.0
