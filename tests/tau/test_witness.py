"""Stein functions with compact support: their mean under the model is 0, and their supremum is bounded."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from steinball.kernels import Gaussian as GaussianKernel
from steinball.kernels import InverseMultiquadric
from steinball.models import Gaussian, GaussianMixture
from steinball.tau.witness import Basis, Window, Witness, certified_supremum, cover, lipschitz_of

pytestmark = pytest.mark.exact

Host = NDArray[np.float64]
LINE = GaussianMixture([0.3, 0.7], [-2.0, 2.0], [0.5, 1.5])
PLANE = GaussianMixture([0.4, 0.6], [[-1.5, 0.0], [1.5, 1.0]])
SPACE = Gaussian(dimension=3)


def box(d: int, side: float = 4.0) -> Window:
    return Window(np.full(d, -side), np.full(d, side), np.full(d, 1.0))


def some_witness(model: Any, d: int, kernel: Any = None, seed: int = 0) -> Witness:
    rng = np.random.default_rng(seed)
    basis = Basis(model, kernel or GaussianKernel(1.2), box(d), rng.uniform(-3.0, 3.0, size=(5, d)), np.zeros((1, d)))
    return Witness(basis, rng.normal(size=(5, d)))


@pytest.mark.parametrize("kernel", [GaussianKernel(0.8), InverseMultiquadric(1.0), InverseMultiquadric(2.0, 1.5)])
def test_the_mean_under_the_model_is_zero(kernel: Any) -> None:
    line = np.linspace(-4.0, 4.0, 20_001)[:, None]
    f = some_witness(LINE, 1, kernel)(line)
    p = np.exp(LINE.log_density(line))
    assert abs(np.trapezoid(f * p, line[:, 0])) < 1e-7 * np.abs(f).max()
    side = np.linspace(-4.0, 4.0, 401)
    plane = np.stack(np.meshgrid(side, side, indexing="ij"), axis=-1).reshape(-1, 2)
    f = some_witness(PLANE, 2, kernel)(plane)
    values = (f * np.exp(PLANE.log_density(plane))).reshape(401, 401)
    assert abs(np.trapezoid(np.trapezoid(values, side), side)) < 1e-6 * np.abs(f).max()


def test_the_function_is_the_divergence_of_its_field_against_the_density() -> None:
    witness = some_witness(LINE, 1, InverseMultiquadric(1.0))
    y, step = np.linspace(-4.5, 4.5, 200)[:, None], 1e-5

    def flux(y: Host) -> Host:
        chi, _ = witness.basis.window(y)
        return np.asarray(
            np.exp(LINE.log_density(y)) * chi * (witness.basis.kernel(y, witness.basis.centers) @ witness.charges)[:, 0]
        )

    numerical = (flux(y + step) - flux(y - step)) / (2.0 * step) / np.exp(LINE.log_density(y))
    assert np.allclose(witness(y), numerical, atol=1e-5)
    assert np.allclose(witness(y), witness.basis(y) @ witness.charges.ravel())
    assert np.all(witness(np.array([[-4.0], [4.1], [100.0]])) == 0.0)


@pytest.mark.parametrize(("model", "d"), [(LINE, 1), (PLANE, 2), (SPACE, 3)])
@pytest.mark.parametrize("kernel", [GaussianKernel(1.2), InverseMultiquadric(1.2)])
def test_no_slope_exceeds_its_bound(model: Any, d: int, kernel: Any) -> None:
    rng, witness, half = np.random.default_rng(1), some_witness(model, d, kernel), 0.3
    centers = rng.uniform(-4.0, 4.0, size=(300, d))
    _, v, s = witness.parts(centers)
    bounds = witness.slope_bound(centers, np.full(d, half), lipschitz_of(model)(centers, half * d**0.5), v, s)
    steepest = np.zeros(300)
    for _ in range(20):
        y = centers + rng.uniform(-half, half, size=(300, d))
        slope = np.stack([(witness(y + 1e-5 * e) - witness(y - 1e-5 * e)) / 2e-5 for e in np.eye(d)], axis=1)
        steepest = np.maximum(steepest, np.linalg.norm(slope, axis=1))
    assert np.all(steepest <= bounds)
    assert np.median(bounds / np.maximum(steepest, 1e-3)) < 60.0  # no bound at all would pass the line above


@pytest.mark.parametrize(("model", "d", "count"), [(LINE, 1, 20_001), (PLANE, 2, 400)])
def test_the_supremum_is_bounded_from_above_and_closely(model: Any, d: int, count: int) -> None:
    for seed in range(3):
        witness = some_witness(model, d, seed=seed)
        side = np.linspace(-4.0, 4.0, count)
        values = witness(np.stack(np.meshgrid(*[side] * d, indexing="ij"), axis=-1).reshape(-1, d))
        for sign in (1.0, -1.0):
            top, seen = certified_supremum(witness, lipschitz_of(model), sign=sign)
            assert float(np.max(sign * values)) <= top * (1.0 + 1e-9)
            assert seen <= top <= 1.021 * float(np.max(sign * values))


def test_a_bound_that_ran_out_of_budget_is_looser_and_still_a_bound() -> None:
    witness, slopes = some_witness(PLANE, 2), lipschitz_of(PLANE)
    tops = [certified_supremum(witness, slopes, budget=budget)[0] for budget in (300, 3_000, 300_000)]
    assert tops[0] > tops[1] > tops[2]
    rough = witness(np.random.default_rng(0).uniform(-4.0, 4.0, size=(100_000, 2))).max()
    assert rough <= tops[2]


def test_boxes_cover_the_window() -> None:
    lower, upper, half = np.array([0.0, -1.0]), np.array([1.0, 2.3]), 0.25
    centers, halves = cover(lower, upper, half, 1000)
    assert (halves == half).all()
    points = np.random.default_rng(0).uniform(lower, upper, size=(2000, 2))
    assert np.abs(points[:, None] - centers).max(axis=2).min(axis=1).max() <= half
