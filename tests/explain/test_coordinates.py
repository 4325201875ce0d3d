from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import steinball as sb
from steinball.explain import coordinates
from steinball.explain.coordinates import coordinate_shares
from steinball.problem import pose
from steinball.tilts import EdgeTilt

pytestmark = pytest.mark.exact

X = np.random.default_rng(3).normal(size=(60, 3)) * [1.0, 2.0, 0.5] + [5.0, 0.3, 0.0]
METRIC = np.array([[2.0, 0.3, 0.0], [0.3, 1.0, 0.1], [0.0, 0.1, 0.5]])
KERNELS = {
    "inverse multiquadric": sb.InverseMultiquadric(1.3),
    "gaussian": sb.kernels.Gaussian(0.9),
    "matern": sb.Matern(1.5),
    "metric": sb.InverseMultiquadric(1.0, metric=METRIC),
}
TILTS = {"no tilt": None, "tilt": sb.PolynomialTilt(0.5, center=1.0), "one each": EdgeTilt(low=-30.0, scale=2.0)}


def by_differences(problem: Any) -> Any:
    """The parts of D² by central differences of the vector-valued features: an oracle that knows no formula of u.

    u_j(x, y) = w(x) w(y) [s_j s_j' k + s_j ∂'_j k + s_j' ∂_j k + ∂_j ∂'_j k] for k = e_j(x) h e_j(y), s the score.
    """
    x, s, h = problem.host_samples, np.asarray(problem.scores), 1e-4
    n, d = x.shape
    tilt = problem.stein.tilt

    def weight(y: Any, j: int) -> Any:
        if tilt is None:
            return np.ones(len(y))
        each = tilt.coordinate_weights(y)
        return np.exp(tilt.log_weight(y)) * (1.0 if each is None else each[:, j])

    def kernel(y: Any, z: Any, j: int) -> Any:
        return weight(y, j)[:, None] * problem.stein.kernel(y, z) * weight(z, j)[None, :]

    parts = []
    for j in range(d):
        step = h * np.eye(d)[j]
        k = kernel(x, x, j)
        left = (kernel(x + step, x, j) - kernel(x - step, x, j)) / (2 * h)
        right = (kernel(x, x + step, j) - kernel(x, x - step, j)) / (2 * h)
        both = (
            kernel(x + step, x + step, j) - kernel(x + step, x - step, j)
            - kernel(x - step, x + step, j) + kernel(x - step, x - step, j)
        ) / (4 * h * h)  # fmt: skip
        parts.append(np.sum(s[:, None, j] * s[None, :, j] * k + s[:, None, j] * right + s[None, :, j] * left + both))
    return np.array(parts) / n**2


@pytest.mark.parametrize("tilt", TILTS.values(), ids=list(TILTS))
@pytest.mark.parametrize("kernel", KERNELS.values(), ids=list(KERNELS))
def test_the_parts_are_those_of_the_coordinates(kernel: Any, tilt: Any) -> None:
    problem = pose(X, sb.models.Gaussian([5.0, 0.0, 0.0]), kernel, tilt)
    expected = by_differences(problem)
    np.testing.assert_allclose(coordinate_shares(problem), expected / expected.sum(), rtol=2e-4, atol=1e-6)
    block = problem.stein.block(problem.points, problem.points)
    np.testing.assert_allclose(expected.sum(), block.mean(), rtol=2e-4)


def test_shares_sum_to_one_and_none_is_negative() -> None:
    shares = coordinate_shares(pose(X, lambda x: -x))
    assert shares.min() >= 0.0
    assert shares.sum() == pytest.approx(1.0)


@pytest.mark.parametrize("wrong", [0, 4, 9])
@pytest.mark.parametrize("what", ["mean", "spread"])
def test_a_planted_wrong_coordinate_is_named(wrong: int, what: str) -> None:
    x = np.random.default_rng(wrong).normal(size=(300, 10))
    x[:, wrong] = x[:, wrong] + 1.0 if what == "mean" else 2.5 * x[:, wrong]
    result = sb.robust_ksd_test(x, sb.models.Gaussian(np.zeros(10)), 0.02, rng=0)
    assert result.rejected
    shares = result.explain().coordinates
    assert shares.argmax() == wrong
    assert shares[wrong] > 3.0 * np.delete(shares, wrong).max()


def test_a_planted_wrong_coordinate_is_named_among_five_hundred() -> None:
    x = np.random.default_rng(0).normal(size=(100, 500))
    x[:, 123] += 3.0
    assert coordinate_shares(pose(x, sb.models.Gaussian(np.zeros(500)), tilt="auto")).argmax() == 123


def test_an_offset_costs_no_digits() -> None:
    near = coordinate_shares(pose(X, lambda x: -x, sb.InverseMultiquadric(1.0)))
    far = coordinate_shares(pose(X + 2.0**20, lambda x: -(x - 2.0**20), sb.InverseMultiquadric(1.0)))
    np.testing.assert_allclose(far, near, rtol=1e-7)


def test_many_points_are_represented_by_some(monkeypatch: pytest.MonkeyPatch) -> None:
    x = np.random.default_rng(0).normal([0.0, 1.0], size=(900, 2))
    problem = pose(x, lambda x: -x, sb.InverseMultiquadric(1.0))
    whole = coordinate_shares(problem)
    monkeypatch.setattr(coordinates, "MOST_POINTS", 300)
    np.testing.assert_allclose(coordinate_shares(problem), whole, atol=0.03)


def test_a_distance_of_zero_is_shared_evenly() -> None:
    problem = pose(np.zeros((4, 2)), sb.from_scores(np.zeros((4, 2))), sb.InverseMultiquadric(1e12))
    assert coordinate_shares(problem).sum() == pytest.approx(1.0)
