"""Adversaries of a radius: who finds, inside a stated set, the distribution farthest from the model?

On a grid of points x with the model's masses p, D(q, P)² = qᵀUq is convex in the masses q, and its maximum over a
convex set is approached by maximizing its linearisation there again and again: each step is exact and none goes down.
What a set has to give is the q in it that is best for a given function f on the grid.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steinball.kernels.base import Kernel
from steinball.problem import Problem, pose
from steinball.tilts import Tilt

__all__ = ["RESPONSES", "Grid", "Response", "farthest"]

Vector = NDArray[np.float64]
Response = Callable[["Grid", Vector, float], Vector]
"""``response(grid, f, size)``: the masses q of the set of that size with the largest Σ q f."""


@dataclass(frozen=True, eq=False)
class Grid:
    """A model on a grid: the points (m, d), their masses under the model, and the Stein Gram matrix."""

    problem: Problem
    mass: Vector

    @classmethod
    def of(cls, model: Any, kernel: Kernel, tilt: Tilt, *, reach: float, per_axis: int, dimension: int) -> Grid:
        """The model on a cube of half-width ``reach``."""
        axis = np.linspace(-reach, reach, per_axis)
        points = np.stack(np.meshgrid(*[axis] * dimension, indexing="ij"), axis=-1).reshape(-1, dimension)
        density = np.exp(np.asarray(model.log_density(points)))
        return cls(pose(points, model, kernel, tilt), density / density.sum())

    @cached_property
    def gram(self) -> Vector:
        """u between all points."""
        return np.asarray(self.problem.stein.block(self.problem.points, self.problem.points))

    @cached_property
    def distances(self) -> Vector:
        """|x − y| between all points."""
        x = self.problem.host_samples
        return np.asarray(np.linalg.norm(x[:, None, :] - x[None, :, :], axis=2))

    def ksd(self, mass: Vector) -> float:
        """D(q, P)."""
        return math.sqrt(max(0.0, float(mass @ self.gram @ mass)))

    @property
    def slack(self) -> float:
        """D of the model's own masses: what the grid adds to any D."""
        return self.ksd(self.mass)


def farthest(
    grid: Grid, response: Response, size: float, rng: np.random.Generator, starts: int = 8, steps: int = 25
) -> float:
    """The largest D(q, P) found in a set, from random directions."""
    best = 0.0
    for _ in range(starts):
        first, second = rng.choice(len(grid.mass), size=2, replace=False)
        witness, last = grid.gram[first] - rng.integers(0, 2) * grid.gram[second], -1.0
        for _ in range(steps):
            mass = response(grid, witness, size)
            value = grid.ksd(mass)
            if value <= last * (1.0 + 1e-9):
                break
            witness, last = grid.gram @ mass, value
        best = max(best, last)
    return best


def huber(grid: Grid, f: Vector, size: float) -> Vector:
    """A share of the mass at the maximum of f."""
    mass = (1.0 - size) * grid.mass
    mass[np.argmax(f)] += size
    return mass


def total_variation(grid: Grid, f: Vector, size: float) -> Vector:
    """Mass from where f is smallest to where it is largest."""
    order = np.argsort(f)
    before = np.cumsum(grid.mass[order]) - grid.mass[order]
    mass = grid.mass.copy()
    mass[order] -= np.clip(size - before, 0.0, grid.mass[order])
    mass[order[-1]] += 1.0 - mass.sum()
    return mass


def density_band(grid: Grid, f: Vector, size: float) -> Vector:
    """Within a band of half-widths 0.8 p + 0.2 (even over the grid), scaled to ``size`` in all."""
    half = size * (0.8 * grid.mass + 0.2 / len(f))
    low, high = np.maximum(grid.mass - half, 0.0), grid.mass + half
    order = np.argsort(-f)
    room = (high - low)[order]
    before = np.cumsum(room) - room
    mass = low.copy()
    mass[order] += np.clip(1.0 - low.sum() - before, 0.0, room)
    return mass


def hellinger(grid: Grid, f: Vector, size: float) -> Vector:
    """q = p (λ / (μ − f))², with μ such that Σ √(pq) = 1 − H²."""

    def tilted(log_gap: float) -> Vector:
        mass = grid.mass / (f.max() - f + math.exp(log_gap)) ** 2
        return np.asarray(mass / mass.sum())

    return _bisect(tilted, lambda q: 1.0 - float(np.sqrt(q * grid.mass).sum()) - size**2, 25.0, -40.0)


def kullback_leibler(grid: Grid, f: Vector, size: float) -> Vector:
    """q ∝ p exp(f / λ)."""

    def tilted(log_slope: float) -> Vector:
        mass = grid.mass * np.exp(math.exp(log_slope) * (f - f.max()))
        return np.asarray(mass / mass.sum())

    def divergence(q: Vector) -> float:
        some = q > 0.0
        return float((q[some] * np.log(q[some] / grid.mass[some])).sum()) - size

    return _bisect(tilted, divergence, -25.0, 12.0)


def chi_squared(grid: Grid, f: Vector, size: float) -> Vector:
    """q ∝ p (f − s)₊ (s may lie below all of f)."""
    top, width = float(f.max()), float(f.max() - f.min()) or 1.0

    def tilted(log_room: float) -> Vector:
        mass = grid.mass * np.maximum(f - top + width * math.exp(log_room), 0.0)
        return np.asarray(mass / mass.sum())

    return _bisect(tilted, lambda q: float(((q - grid.mass) ** 2 / grid.mass).sum()) - size, 20.0, -20.0)


def wasserstein(grid: Grid, f: Vector, size: float) -> Vector:
    """Every point goes to where f less a price for the way is largest; two close prices are mixed to W₁ = size."""

    def moved(price: float) -> tuple[Vector, float]:
        target = np.argmax(f[None, :] - price * grid.distances, axis=1)
        cost = float(grid.mass @ grid.distances[np.arange(len(f)), target])
        return np.asarray(np.bincount(target, weights=grid.mass, minlength=len(f)), dtype=np.float64), cost

    low, high = 0.0, 1e-6 + float(np.ptp(f)) / grid.distances[grid.distances > 0.0].min()
    for _ in range(30):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if moved(middle)[1] > size else (low, middle)
    (far, dear), (near, cheap) = moved(low), moved(high)
    share = min(1.0, (size - cheap) / max(dear - cheap, 1e-300)) if dear > size else 1.0
    return np.asarray(share * far + (1.0 - share) * near)


def _bisect(
    tilted: Callable[[float], Vector], excess: Callable[[Vector], float], inside: float, outside: float
) -> Vector:
    """The member of a one-parameter family at the edge of the set, from within."""
    if excess(tilted(outside)) <= 0.0:
        return tilted(outside)
    for _ in range(50):
        middle = 0.5 * (inside + outside)
        inside, outside = (inside, middle) if excess(tilted(middle)) > 0.0 else (middle, outside)
    return tilted(inside)


RESPONSES: dict[str, Response] = {
    "huber": huber,
    "total variation": total_variation,
    "density band": density_band,
    "hellinger": hellinger,
    "kullback-leibler": kullback_leibler,
    "chi-squared": chi_squared,
    "wasserstein": wasserstein,
}
