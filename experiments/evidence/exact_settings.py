"""The models of the exact test's evidence, each with kernel, tilt and an upper bound of u(x, x), and its cells."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from experiments.evidence.contaminations import lengthscale, supremum
from experiments.framework.base import Cell
from steinball.kernels.radial import InverseMultiquadric
from steinball.models import Gaussian
from steinball.problem import Problem, pose
from steinball.tilts import EdgeTilt, PolynomialTilt, Tilt

__all__ = ["GRID", "LEVEL_CELLS", "POWER_CELLS", "Setting", "sample", "setting_of"]

Floats = NDArray[np.float64]

WIDTH = 1e-3
"""Of the logistic edges of the steep model: its score is 1/WIDTH there."""


@dataclass(frozen=True)
class Line:
    """A model on the line by its score and its sampler."""

    slope: Callable[[Floats], Floats]
    draw: Callable[[np.random.Generator, int], Floats]
    support: tuple[float | None, float | None] | None = None

    def score(self, x: Floats) -> Floats:
        """∇log p."""
        return np.asarray(self.slope(x))

    def sample(self, n: int, rng: np.random.Generator) -> Floats:
        """n independent draws, (n, 1)."""
        return np.asarray(self.draw(rng, n)).reshape(n, 1)


@dataclass(frozen=True)
class Setting:
    """A model, its Stein kernel, τ, and the point where u(x, x) comes nearest to it."""

    model: Line | Gaussian
    kernel: InverseMultiquadric
    tilt: Tilt
    tau: float
    worst: Floats

    def problem(self, x: Floats) -> Problem:
        """Data against the model."""
        return pose(x, self.model, self.kernel, self.tilt)


def _steep_score(x: Floats) -> Floats:
    """Of U(−1, 1) plus WIDTH times a logistic variable: a plateau with walls."""
    left, right = (1.0 + np.tanh((x + 1.0) / (2.0 * WIDTH))) / 2.0, (1.0 + np.tanh((x - 1.0) / (2.0 * WIDTH))) / 2.0
    return np.asarray((1.0 - left - right) / WIDTH)


LINES: dict[str, tuple[Line, float, Tilt, Floats]] = {
    "steep": (
        Line(_steep_score, lambda g, n: g.uniform(-1.0, 1.0, n) + WIDTH * g.logistic(size=n)),
        0.586,
        PolynomialTilt(),
        np.concatenate([np.linspace(-1.2, 1.2, 200_001), np.linspace(1.2, 50.0, 20_001)]),
    ),
    "exponential": (
        Line(lambda x: np.full_like(x, -1.0), lambda g, n: g.exponential(size=n), (0.0, None)),
        math.log(2.0),
        EdgeTilt(low=0.0, scale=math.log(2.0)),
        np.geomspace(1e-6, 1e6, 200_001),
    ),
    "uniform": (
        Line(np.zeros_like, lambda g, n: g.uniform(size=n), (0.0, 1.0)),
        0.293,
        EdgeTilt(low=0.0, high=1.0, scale=0.5),
        np.linspace(1e-6, 1.0 - 1e-6, 200_001),
    ),
}
"""Model, length scale, tilt, and places among which u(x, x) is largest."""


@cache
def setting_of(name: str, d: int) -> Setting:
    """The setting of one model; τ on the line is the largest of very many values, and one percent."""
    if name == "gaussian":
        tau, radius = supremum(d)
        return Setting(
            Gaussian(dimension=d), InverseMultiquadric(lengthscale(d)), PolynomialTilt(), tau, radius * np.eye(1, d)
        )
    model, length, tilt, places = LINES[name]
    kernel = InverseMultiquadric(length)
    values = pose(places[:, None], model, kernel, tilt).diagonal
    return Setting(model, kernel, tilt, 1.01 * float(values.max()), places[[int(np.argmax(values))], None])


def sample(cell: Cell, setting: Setting, rng: np.random.Generator) -> tuple[Floats, int]:
    """n draws of which each is contaminated with the probability of the cell, and how many are.

    *worst*: where u(x, x) is largest; *far*: at 10; *cluster*: around one point at 1.5 times the worst place, in rows
    that are sorted afterwards.
    """
    n, kind = cell["n"], cell["kind"].partition(" ")[2]
    x = np.asarray(setting.model.sample(n, rng), dtype=np.float64).reshape(n, -1)
    struck = rng.random(n) < cell["contamination"]
    if kind == "cluster":
        x[struck] = np.abs(1.5 * setting.worst * (1.0 + 0.05 * rng.standard_normal((int(struck.sum()), 1))))
        x = x[np.argsort(x[:, 0])]
    else:
        x[struck] = np.full_like(setting.worst, 10.0) if kind == "far" else setting.worst
    return x, int(struck.sum())


def _cells(kind: str, tolerance: float, sizes: tuple[int, ...], dimensions: tuple[int, ...] = (1,)) -> list[Cell]:
    """Cells on the edge of Huber's model: the contamination is the tolerated one."""
    shared = {"kind": kind, "contamination": tolerance, "tolerance": tolerance, "strategy": "level"}
    return [{**shared, "dimension": d, "n": n} for d in dimensions for n in sizes]


LEVEL_CELLS: tuple[Cell, ...] = (
    *_cells("gaussian worst", 0.05, (10, 30, 100, 300, 1000), (1, 10, 50)),
    *_cells("gaussian worst", 0.0, (10, 100, 1000), (1, 50)),
    *_cells("gaussian cluster", 0.1, (10, 30, 100, 300), (1, 10)),
    *_cells("steep worst", 0.0, (10, 30, 100, 300)),
    *_cells("steep worst", 0.05, (30, 300)),
    *_cells("exponential cluster", 0.05, (10, 30, 100, 1000)),
    *_cells("uniform worst", 0.0, (10, 100, 300)),
)

POWER_CELLS: tuple[Cell, ...] = tuple(
    {"kind": f"gaussian {kind}", "contamination": e, "tolerance": 0.05, "strategy": "power", "dimension": d, "n": n}
    for kind, d, n, e in (
        ("worst", 1, 20, 0.4), ("worst", 1, 50, 0.2), ("worst", 1, 50, 0.3), ("worst", 1, 100, 0.2),
        ("worst", 1, 100, 0.3), ("worst", 1, 500, 0.1), ("worst", 1, 500, 0.15), ("far", 1, 500, 0.15),
        ("worst", 10, 20, 0.3), ("worst", 10, 50, 0.2), ("worst", 10, 300, 0.1),
    )
)  # fmt: skip

GRID = LEVEL_CELLS + POWER_CELLS
