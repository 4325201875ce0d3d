r"""Six kinds of contamination of N(0, I), with their exact distance from it: no line of the package computes them.

The base kernel is the inverse multiquadric φ(r²) = (1 + r²/ℓ²)^(−½) with ℓ the median distance under N(0, I), the
weight w(x) = (1 + |x|²)^(−½). Contamination R by a share ε gives Q = (1 − ε) P + ε R, and D(Q, P) = ε D(R, P) since the
model's own mean embedding is 0. For points, D(R, P) is a value of u. For a density r it is an integral of what
separates the scores, by Stein's identity for r,

.. math:: D(R, P)^2 = \mathbb{E}\, w(Y) w(Y') \varphi(|Y - Y'|^2)\, \delta(Y)^\top \delta(Y'), \qquad
   \delta = \nabla \log p - \nabla \log r,

which needs no derivative of a kernel and is done by Gauss quadrature in three dimensions, whatever that of the data.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special, stats

__all__ = ["KINDS", "Contamination", "cells_of", "infimum", "lengthscale", "supremum"]

Samples = NDArray[np.float64]
Function = Callable[[Samples], Samples]

FAR, APART, SHIFT, SPREAD, FREEDOM = 10.0, 3.0, 1.5, 3.0, 2.0
"""Coordinates of the far point, of the two points (±) and of the shifted mean; standard deviation; degrees of
freedom."""

_RADII, _ANGLES, _SCALES = 240, 48, 120


def lengthscale(d: int) -> float:
    """The median distance of two draws of N(0, I): |X − X′|² is twice a χ² with d degrees of freedom.

    Examples
    --------
    >>> round(lengthscale(1), 6)
    0.953873
    """
    return math.sqrt(2.0 * stats.chi2.ppf(0.5, d))


def supremum(d: int) -> tuple[float, float]:
    r"""τ = sup u(x, x) and the norm of x where it lies, in closed form: with v = 1/(1 + |x|²) and c = d/ℓ²

    .. math:: u(x, x) = 1 + (1 + c) v - v^2 - v^3, \qquad v^* = \min(1, (\sqrt{4 + 3c} - 1)/3).

    Examples
    --------
    >>> [round(value, 5) for value in supremum(1)]
    [1.68639, 0.87369]
    """
    v = min(1.0, (math.sqrt(4.0 + 3.0 * _curvature(d)) - 1.0) / 3.0)
    return _diagonal(1.0 / v - 1.0, d), math.sqrt(1.0 / v - 1.0)


def infimum(d: int) -> float:
    """inf u(x, x): it is concave in v, so smallest far out, where v = 0 and it is 1, or at 0, where it is c.

    Examples
    --------
    >>> infimum(1), round(infimum(2), 6)
    (1.0, 0.721348)
    """
    return min(1.0, _curvature(d))


def _curvature(d: int) -> float:
    """−Δφ(0) = d/ℓ²."""
    return d / lengthscale(d) ** 2


def _diagonal(square: float, d: int) -> float:
    """u(x, x) at |x|²."""
    v = 1.0 / (1.0 + square)
    return 1.0 + (1.0 + _curvature(d)) * v - v**2 - v**3


def _opposite(square: float, d: int) -> float:
    """u(x, −x) at |x|²: the shifted scores there are ∓ (1 + v) x."""
    v, length2 = 1.0 / (1.0 + square), lengthscale(d) ** 2
    base = 1.0 + 4.0 * square / length2
    slope, bend = -0.5 / length2 * math.pow(base, -1.5), 0.75 / length2**2 * math.pow(base, -2.5)
    inner, cross = -square * (1.0 + v) ** 2, 4.0 * square * (1.0 + v)
    return v * (inner / math.sqrt(base) + 2.0 * slope * cross - 16.0 * bend * square - 2.0 * d * slope)


def _half_line(nodes: int, scale: float) -> tuple[Samples, Samples]:
    """Nodes and weights on (0, ∞): Gauss–Legendre in v, at scale · v / (1 − v)."""
    x, weight = special.roots_legendre(nodes)
    v = (x + 1.0) / 2.0
    return scale * v / (1.0 - v), weight / 2.0 * scale / (1.0 - v) ** 2


def _cosines(d: int) -> tuple[Samples, Samples]:
    """Nodes and weights for the cosine between two independent uniform directions."""
    if d == 1:
        return np.array([-1.0, 1.0]), np.array([0.5, 0.5])
    nodes, weights = special.roots_jacobi(_ANGLES, (d - 3) / 2.0, (d - 3) / 2.0)
    return nodes, weights / weights.sum()


def _isotropic(density: Function, factor: Function, d: int, scale: float) -> float:
    """D(R, P) for R without a direction: |Y| has ``density``, and δ(y) = factor(|y|) y."""
    r, weight = _half_line(_RADII, math.sqrt(d) * scale)
    cosine, angle = _cosines(d)
    side = weight * density(r) * factor(r) * r / np.sqrt(1.0 + r * r)  # with the weight w
    r2 = r[:, None, None] ** 2 + r[None, :, None] ** 2 - 2.0 * r[:, None, None] * r[None, :, None] * cosine
    kernel = (1.0 + r2 / lengthscale(d) ** 2) ** -0.5
    return math.sqrt(float(side @ (kernel @ (angle * cosine)) @ side))


def _shifted(d: int) -> float:
    r"""D(R, P) for R = N(m, I): δ = −m, and each of w, w′, φ is :math:`\frac{2}{\sqrt\pi} \int e^{-a^2 q} da` of its
    q, which leaves a Gaussian expectation of (Y, Y′) for every triple of a."""
    a, weight = _half_line(_SCALES, 1.0 / math.sqrt(d))
    weight = weight * np.exp(-a * a) * 2.0 / math.sqrt(math.pi)
    first, second, link = a[:, None, None] ** 2, a[None, :, None] ** 2, a**2 / lengthscale(d) ** 2
    determinant = (1.0 + 2.0 * (first + link)) * (1.0 + 2.0 * (second + link)) - 4.0 * link**2
    within = (1.0 + first + second + 4.0 * link) / determinant
    square = d * SHIFT**2
    value = determinant ** (-d / 2.0) * np.exp(-square * (1.0 - within))
    return math.sqrt(square * float(weight @ (value @ weight) @ weight))


def _wide(d: int) -> float:
    density: Function = lambda r: stats.chi.pdf(r, d, scale=SPREAD)  # noqa: E731
    return _isotropic(density, lambda r: np.full_like(r, SPREAD**-2 - 1.0), d, SPREAD)


def _heavy(d: int) -> float:
    density: Function = lambda r: 2.0 * r / d * stats.f.pdf(r * r / d, d, FREEDOM)  # noqa: E731
    return _isotropic(density, lambda r: (FREEDOM + d) / (FREEDOM + r * r) - 1.0, d, 1.0)


def _first_axis(length: float, m: int, d: int) -> Samples:
    return np.tile(length * np.eye(1, d), (m, 1))


def _two_points(m: int, d: int, rng: np.random.Generator) -> Samples:
    return np.repeat(APART * rng.choice([-1.0, 1.0], size=(m, 1)), d, axis=1)


def _student(m: int, d: int, rng: np.random.Generator) -> Samples:
    return rng.standard_normal((m, d)) / np.sqrt(rng.chisquare(FREEDOM, size=(m, 1)) / FREEDOM)


@dataclass(frozen=True)
class Contamination:
    """A distribution R: ``draw(m, d, rng)`` gives (m, d) draws, ``distance(d)`` is D(R, N(0, I))."""

    draw: Callable[[int, int, np.random.Generator], Samples]
    distance: Callable[[int], float]


KINDS = {
    "worst point": Contamination(
        lambda m, d, rng: _first_axis(supremum(d)[1], m, d), lambda d: math.sqrt(supremum(d)[0])
    ),
    "far point": Contamination(lambda m, d, rng: np.full((m, d), FAR), lambda d: math.sqrt(_diagonal(d * FAR**2, d))),
    "two points": Contamination(
        _two_points, lambda d: math.sqrt((_diagonal(d * APART**2, d) + _opposite(d * APART**2, d)) / 2.0)
    ),
    "shifted": Contamination(lambda m, d, rng: SHIFT + rng.standard_normal((m, d)), cache(_shifted)),
    "wide": Contamination(lambda m, d, rng: SPREAD * rng.standard_normal((m, d)), cache(_wide)),
    "heavy tails": Contamination(_student, cache(_heavy)),
}
"""Name to contamination: a point where u(x, x) is largest, 10 in every coordinate, ±3 in every coordinate, N(1.5, I),
N(0, 9 I), and Student's t with 2 degrees of freedom."""


def cells_of(sizes: Sequence[int], dimensions: Sequence[int], shares: Sequence[float]) -> tuple[dict[str, Any], ...]:
    """One cell for every size, dimension, share and kind of contamination."""
    return tuple(
        {"kind": kind, "dimension": d, "contamination": share, "n": n}
        for n in sizes
        for d in dimensions
        for share in shares
        for kind in KINDS
    )
