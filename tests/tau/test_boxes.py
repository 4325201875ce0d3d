"""Branch and bound over boxes: above the truth, close to it, and honest when it runs out of boxes."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

import steinball as sb
from steinball.kernels import InverseMultiquadric
from steinball.problem import pose
from steinball.stein import SteinKernel
from steinball.tau.boxes import GAP, _bounded, largest_box
from steinball.tau.shells import Majorant, Setting
from steinball.tau.supremum import find_supremum
from steinball.tilts import PolynomialTilt, Tilt

pytestmark = pytest.mark.exact

PROBLEMS: dict[str, tuple[Any, Tilt | None]] = {
    "line": (sb.models.GaussianMixture([0.5, 0.5], [-3.0, 3.0]), PolynomialTilt(scale=2.0)),
    "widths": (sb.models.GaussianMixture([0.2, 0.8], [-2.0, 2.0], [0.2, 2.0]), PolynomialTilt(0.7)),
    "kernel family": (sb.models.KernelExponentialFamily([1.0, -2.0, 0.0, 1.5]), PolynomialTilt()),
    "at infinity": (sb.models.GaussianMixture([0.5, 0.5], [-1.0, 1.0]), PolynomialTilt(scale=10.0)),
    "student": (sb.models.StudentT(2.0, 1.0), None),
    "plane": (sb.models.GaussianMixture([0.3, 0.7], [[-1.5, 0.5], [1.0, -1.0]]), PolynomialTilt(0.5, (0.3, -0.2), 1.5)),
    "rbm": (
        sb.models.GaussianBernoulliRBM([[2.0, -1.0], [0.5, 1.5]], [0.4, -0.3], [0.1, 1.0]),
        PolynomialTilt(0.5, 0.0, precision=[[1.0, 0.4], [0.4, 2.0]]),
    ),
}


def parts(name: str) -> tuple[Any, Majorant, Any]:
    model, tilt = PROBLEMS[name]
    kernel = InverseMultiquadric(1.3)
    setting = Setting.of(kernel, tilt, model, model.dimension)
    assert setting is not None
    majorant = Majorant.of(setting, model)
    assert majorant is not None
    stein = SteinKernel(kernel, tilt)
    return model, majorant, lambda x: stein.diagonal(x, model.score(x))


@cache
def on_a_grid(name: str) -> float:
    """The largest u(x, x) on a fine grid, and far out."""
    model, _, value = parts(name)
    step = 0.0005 if model.dimension == 1 else 0.03
    axis = np.arange(-12.0, 12.0, step)
    grid = np.stack(np.meshgrid(*[axis] * model.dimension), axis=-1).reshape(-1, model.dimension)
    angles = np.linspace(0.0, 2.0 * np.pi, 721)
    circle = np.stack([np.cos(angles), np.sin(angles)], axis=1)[:, : model.dimension]
    return max(float(value(grid).max()), *(float(value(r * circle).max()) for r in (15.0, 50.0, 1e4)))


@pytest.mark.parametrize("name", PROBLEMS)
def test_the_bound_lies_above_the_supremum_and_within_the_gap(name: str) -> None:
    model, majorant, value = parts(name)
    true = on_a_grid(name)
    found = largest_box(majorant, model, value, 0.0)
    assert true * (1.0 - 1e-9) <= found <= true * (1.0 + GAP + 0.003)


@pytest.mark.parametrize("budget", [1, 30, 300, 3000])
def test_a_small_budget_gives_a_larger_bound_never_a_wrong_one(budget: int) -> None:
    model, majorant, value = parts("plane")
    assert largest_box(majorant, model, value, 0.0, budget) >= on_a_grid("plane") * (1.0 - 1e-9)


def test_a_good_start_does_not_change_what_is_bounded() -> None:
    model, majorant, value = parts("line")
    true = on_a_grid("line")
    assert true * (1.0 - 1e-9) <= largest_box(majorant, model, value, true) <= true * (1.0 + GAP + 1e-6)


@pytest.mark.parametrize("name", PROBLEMS)
def test_no_point_of_a_box_exceeds_its_bound(name: str) -> None:
    model, majorant, value = parts(name)
    rng = np.random.default_rng(0)
    center = rng.normal(size=(300, model.dimension)) * 4.0
    half = 10.0 ** rng.uniform(-3.0, 0.7, size=center.shape)
    boxes = _bounded(majorant, model, center - half, center + half)
    for _ in range(60):
        share = rng.uniform(-1.0, 1.0, size=center.shape)
        share = np.sign(share) if rng.random() < 0.3 else share
        assert (value(center + share * half) <= boxes.bound * (1.0 + 1e-10)).all()


def test_bounds_of_small_boxes_are_values() -> None:
    """First order: a box a tenth as wide has a tenth of the slack."""
    model, majorant, value = parts("rbm")
    x = np.random.default_rng(1).normal(size=(50, 2))
    slack = [(_bounded(majorant, model, x - h, x + h).bound - value(x)).max() for h in (1e-3, 1e-4)]
    assert 0.0 < slack[1] < 0.15 * slack[0] < 0.15 * 0.1


def test_a_bound_that_is_nan_is_open_and_not_settled() -> None:
    """A model whose ``score_bounds`` answers NaN in places gets no bound below the truth."""

    class Odd(sb.models.Gaussian):
        def score_bounds(self, lower: Any, upper: Any) -> Any:
            low, high = super().score_bounds(lower, upper)
            return np.where(lower > 0.0, np.nan, low), high

    x = np.random.default_rng(0).normal(size=(50, 1))
    taus = [
        find_supremum("auto", pose(x, model, InverseMultiquadric(1.0), PolynomialTilt(0.6, center=1.0))).value
        for model in (sb.models.Gaussian(), Odd())
    ]
    assert taus[1] >= taus[0] * 0.98
