"""A weight that vanishes at the edge of the support, one per coordinate: against automatic differentiation."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from steinball.kernels import Gaussian, InverseMultiquadric, Matern
from steinball.kernels.base import Kernel
from steinball.stein import SteinKernel, center_of
from steinball.tilts import EdgeTilt, PolynomialTilt, Tilt

pytestmark = pytest.mark.exact

Floats = NDArray[np.float64]


def score(x: Any) -> Any:
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
        total = total + score(a)[j] * score(b)[j] * value + score(a)[j] * by_y + score(b)[j] * by_x + by_both
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
    assert stein(x, score(x), y, score(y)) == pytest.approx(expected, rel=1e-10, abs=1e-12 * scale)
    rows, columns = (stein.prepare(v, score(v), center_of(x)) for v in (x[:5], y))
    assert stein.pairs(rows, columns) == pytest.approx(np.diag(expected), rel=1e-10, abs=1e-12 * scale)
    on_itself = [stein_by_definition(kernel, weights, a, a) for a in x]
    assert stein.diagonal(x, score(x)) == pytest.approx(on_itself, rel=1e-10)


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
