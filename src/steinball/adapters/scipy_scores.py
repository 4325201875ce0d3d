"""Scores of the distributions of SciPy in closed form, in x and in shape parameters, for location 0 and scale 1."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.special import log_ndtr

from steinball.arrays import Floats
from steinball.models.positive import GammaFamily, LogNormalFamily, WeibullFamily
from steinball.models.student_t import StudentFamily

Number = float | Floats


class ClosedScore(NamedTuple):
    """The score at z with the shape parameters of SciPy, and r with |s| = O(1 + |z|^r), and O(1/distance) at an edge.

    ``growth`` is ``None`` where no such r exists.
    """

    score: Callable[..., Any]
    growth: Callable[..., float | None] | float | None

    def rate(self, *shapes: Number) -> float | None:
        """The growth for these shape parameters: the largest of the columns, where every column has one."""
        if not callable(self.growth):
            return self.growth
        columns = np.stack(np.broadcast_arrays(*map(np.ravel, shapes)), axis=1)
        rates = [self.growth(*column) for column in columns.tolist()]
        return None if any(rate is None for rate in rates) else max(rates)  # type: ignore[type-var]


def _zero(z: Floats, *_: Number) -> Floats:
    return np.zeros_like(z)


def _weibull(z: Floats, c: Number) -> Floats:
    return np.asarray((c - 1.0) / z - c * z ** (np.asarray(c) - 1.0))


def _mills(z: Floats) -> Floats:
    """φ(z)/Φ(z); far to the left |z| + 1/|z|, where the two logarithms would cancel."""
    near = np.maximum(z, -1e3)
    far = np.maximum(-z, 1e3)
    ratio = np.exp(-0.5 * near * near - 0.5 * np.log(2.0 * np.pi) - log_ndtr(near))
    return np.where(z < -1e3, far + 1.0 / far, ratio)


def _general_normal(z: Floats, beta: Number) -> Floats:
    return np.asarray(-beta * np.sign(z) * np.abs(z) ** (np.asarray(beta) - 1.0))


def _log_logistic(z: Floats, c: Number, d: Number = 1.0) -> Floats:
    """(c − 1)/z − (d + 1) c z^(c−1)/(1 + z^c), with the last quotient written so that it does not overflow."""
    return np.asarray((c - 1.0) / z - (d + 1.0) * c / z / (1.0 + z ** -np.asarray(c)))


def _johnson(z: Floats, a: Number, b: Number) -> Floats:
    root = np.hypot(z, 1.0)
    return np.asarray(-z / root / root - b * (a + b * np.arcsinh(z)) / root)


def _least_one(beta: float) -> float | None:
    return beta - 1.0 if beta >= 1.0 else None


def _student(z: Floats, df: Number = 1.0) -> Floats:
    return np.asarray(-(df + 1.0) * z / (df + z * z))


_GAMMA = ClosedScore(lambda z, a: (a - 1.0) / z - 1.0, 0.0)
_NORMAL = ClosedScore(lambda z, *_: -z, 1.0)
_TANH = ClosedScore(lambda z: -np.tanh(z / 2.0), 0.0)

SCORES: dict[str, ClosedScore] = {
    "arcsine": ClosedScore(lambda z: 0.5 / (1.0 - z) - 0.5 / z, 0.0),
    "beta": ClosedScore(lambda z, a, b: (a - 1.0) / z - (b - 1.0) / (1.0 - z), 0.0),
    "betaprime": ClosedScore(lambda z, a, b: (a - 1.0) / z - (a + b) / (1.0 + z), 0.0),
    "burr12": ClosedScore(_log_logistic, 0.0),
    "cauchy": ClosedScore(_student, 0.0),
    "chi": ClosedScore(lambda z, df: (df - 1.0) / z - z, 1.0),
    "chi2": ClosedScore(lambda z, df: (df / 2.0 - 1.0) / z - 0.5, 0.0),
    "erlang": _GAMMA,
    "expon": ClosedScore(lambda z: -np.ones_like(z), 0.0),
    "f": ClosedScore(lambda z, m, n: (m / 2.0 - 1.0) / z - (m + n) / 2.0 * m / (n + m * z), 0.0),
    "fisk": ClosedScore(_log_logistic, 0.0),
    "gamma": _GAMMA,
    "genpareto": ClosedScore(lambda z, c: -(1.0 + c) / (1.0 + c * z), 0.0),
    "gennorm": ClosedScore(_general_normal, _least_one),
    "gumbel_l": ClosedScore(lambda z: 1.0 - np.exp(z), None),
    "gumbel_r": ClosedScore(lambda z: np.exp(-z) - 1.0, None),
    "halfcauchy": ClosedScore(_student, 0.0),
    "halflogistic": _TANH,
    "halfnorm": _NORMAL,
    "hypsecant": ClosedScore(lambda z: -np.tanh(z), 0.0),
    "invgamma": ClosedScore(lambda z, a: (1.0 / z - a - 1.0) / z, None),
    "invgauss": ClosedScore(lambda z, mu: (0.5 / z - 1.5) / z - 0.5 / mu**2, None),
    "invweibull": ClosedScore(lambda z, c: (c * z ** -np.asarray(c) - c - 1.0) / z, None),
    "johnsonsu": ClosedScore(_johnson, 0.0),
    "laplace": ClosedScore(lambda z: -np.sign(z), 0.0),
    "levy": ClosedScore(lambda z: (0.5 / z - 1.5) / z, None),
    "loggamma": ClosedScore(lambda z, c: c - np.exp(z), None),
    "logistic": _TANH,
    "lognorm": ClosedScore(lambda z, s: -(1.0 + np.log(z) / s**2) / z, None),
    "lomax": ClosedScore(lambda z, c: -(c + 1.0) / (1.0 + z), 0.0),
    "loguniform": ClosedScore(lambda z, *_: -1.0 / z, 0.0),
    "maxwell": ClosedScore(lambda z: 2.0 / z - z, 1.0),
    "nakagami": ClosedScore(lambda z, nu: (2.0 * nu - 1.0) / z - 2.0 * nu * z, 1.0),
    "norm": _NORMAL,
    "pareto": ClosedScore(lambda z, b: -(b + 1.0) / z, 0.0),
    "powerlaw": ClosedScore(lambda z, a: (a - 1.0) / z, 0.0),
    "rayleigh": ClosedScore(lambda z: 1.0 / z - z, 1.0),
    "reciprocal": ClosedScore(lambda z, *_: -1.0 / z, 0.0),
    "semicircular": ClosedScore(lambda z: -z / (1.0 - z * z), 0.0),
    "skewnorm": ClosedScore(lambda z, a: a * _mills(a * z) - z, 1.0),
    "t": ClosedScore(_student, 0.0),
    "truncexpon": ClosedScore(lambda z, *_: -np.ones_like(z), 0.0),
    "truncnorm": _NORMAL,
    "uniform": ClosedScore(_zero, 0.0),
    "weibull_max": ClosedScore(lambda z, c: -_weibull(-z, c), lambda c: max(c - 1.0, 0.0)),
    "weibull_min": ClosedScore(_weibull, lambda c: max(c - 1.0, 0.0)),
}
"""By the name of SciPy."""

SHAPE_SCORES: dict[str, Callable[..., Floats]] = {
    "gamma": lambda z, a: GammaFamily().parameter_scores(np.array([a, 1.0]), z)[:, :1],
    "lognorm": lambda z, s: LogNormalFamily().parameter_scores(np.array([0.0, s]), z)[:, 1:],
    "t": lambda z, df: -StudentFamily().parameter_scores(np.array([1.0 / df, 0.0, 1.0]), z)[:, :1] / df**2,
    "weibull_min": lambda z, c: WeibullFamily().parameter_scores(np.array([c, 1.0]), z)[:, :1],
}
"""∂ log p / ∂ of the shapes at a column z, (n, 1) to (n, k), where a family of our own has it, by the name of SciPy."""
