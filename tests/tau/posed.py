"""Problems that several tests of τ pose, and u(x, x) by hand."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import steinball as sb
from steinball.arrays import Floats
from steinball.problem import Problem, pose
from steinball.tau.certificate import Supremum
from steinball.tau.supremum import find_supremum

X = np.random.default_rng(5).normal(size=(60, 2))
TAU = Supremum(2.25, "given")
TILT = sb.PolynomialTilt(0.5)


def problem(model: Any = None, kernel: Any = None, tilt: Any = TILT, x: Any = X) -> Problem:
    return pose(x, (lambda x: -x) if model is None else model, kernel or sb.InverseMultiquadric(1.3), tilt)


def distance(here: Problem, x: Any, y: Any) -> Any:
    """|φ(x) − φ(y)| row by row."""
    both = here.at(np.vstack([x, y])).points
    n = len(x)
    first, second = both.rows(0, n), both.rows(n, 2 * n)
    pairs = here.stein.pairs
    return np.sqrt(np.maximum(pairs(first, first) + pairs(second, second) - 2 * pairs(first, second), 0.0))


METRIC = np.array([[2.0, 0.5], [0.5, 1.0]])


def closed_form(d: int, lengthscale2: float) -> tuple[float, float]:
    """sup u(x, x) and where, for N(0, I), inverse multiquadric (exponent ½), tilt exponent ½, center 0, scale 1.

    With v = 1/(1 + |x|²) and c = d/ℓ², u(x, x) = 1 + (1 + c)v − v² − v³, largest at v = min(1, (√(4 + 3c) − 1)/3).
    """
    c = d / lengthscale2
    v = min(1.0, (math.sqrt(4 + 3 * c) - 1) / 3)
    return 1 + (1 + c) * v - v**2 - v**3, math.sqrt(1 / v - 1)


def u_of(x: Any, exponent: float = 0.5, lengthscale2: float = 2.0) -> Any:
    """u(x, x) for N(0, 1): (w s + w′)² + w²/ℓ² with w = (1 + x²)^(−b), differentiated by hand."""
    w = (1 + x**2) ** -exponent
    slope = -2 * exponent * x * (1 + x**2) ** (-exponent - 1)
    return (-w * x + slope) ** 2 + w**2 / lengthscale2


def tau_of(tau: Any, x: Any, model: Any = None, *, lengthscale2: float = 2.0, exponent: float = 0.5) -> Supremum:
    kernel, tilt = sb.InverseMultiquadric(math.sqrt(lengthscale2)), sb.PolynomialTilt(exponent)
    return find_supremum(tau, pose(x, (lambda x: -x) if model is None else model, kernel, tilt))


def sample(n: int = 50, d: int = 1, seed: int = 0) -> Floats:
    return np.random.default_rng(seed).normal(size=(n, d))
