"""Models with an edge or a steep place, each with its score, support, sampler and the worst places for outliers."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import expit

import steinball as sb
from steinball.arrays import Floats

__all__ = ["EDGED", "STEEP", "Line"]

End = float | None


@dataclass(frozen=True)
class Line:
    """A density on an interval: its score, its draws, where it ends, and where outliers hurt most."""

    score: Callable[[Floats], Floats]
    sample: Callable[[int, np.random.Generator], Floats]
    support: tuple[End, End] = (None, None)
    growth: float | None = None
    outliers: tuple[float, ...] = ()

    def model(self, *, declared: bool = True) -> Any:
        """As a model; without its support and sampler for somebody who does not know that they matter."""
        if not declared:
            return sb.from_score(self.score)
        return sb.from_score(self.score, support=self.support, sample=self._rows, growth=self.growth)

    def _rows(self, n: int, rng: np.random.Generator) -> Floats:
        return self.sample(n, rng)[:, None]

    def draw(self, n: int, share: float, outlier: float, rng: np.random.Generator) -> Floats:
        """n draws, each replaced by the outlier with probability ``share``."""
        x = self.sample(n, rng)
        return np.where(rng.random(n) < share, outlier, x)[:, None]


def _gamma(shape: float) -> Line:
    return Line(
        lambda x: (shape - 1.0) / x - 1.0, lambda n, g: g.gamma(shape, size=n), (0.0, None), outliers=(1e-3, 1e3)
    )


def _beta(shape: float) -> Line:
    return Line(
        lambda x: (shape - 1.0) * (1.0 / x - 1.0 / (1.0 - x)),
        lambda n, g: np.clip(g.beta(shape, shape, size=n), 1e-12, 1.0 - 1e-12),
        (0.0, 1.0),
        outliers=(1e-3, 0.999),
    )


def _weibull(shape: float) -> Line:
    return Line(
        lambda x: (shape - 1.0) / x - shape * x ** (shape - 1.0),
        lambda n, g: g.weibull(shape, size=n),
        (0.0, None),
        outliers=(1e-3, 1e3),
    )


EDGED = {
    "exponential": Line(
        lambda x: -np.ones_like(x), lambda n, g: g.exponential(size=n), (0.0, None), outliers=(1e-3, 1e3)
    ),
    "uniform": Line(np.zeros_like, lambda n, g: g.random(n), (0.0, 1.0), outliers=(1e-3, 0.999)),
    "half-normal": Line(lambda x: -x, lambda n, g: np.abs(g.normal(size=n)), (0.0, None), outliers=(1e-3, 1e3)),
    "gamma(0.5)": _gamma(0.5),
    "gamma(1.5)": _gamma(1.5),
    "beta(0.5)": _beta(0.5),
    "beta(1.2)": _beta(1.2),
    "Pareto(1)": Line(lambda x: -2.0 / x, lambda n, g: 1.0 + g.pareto(1.0, size=n), (1.0, None), outliers=(1.001, 1e6)),
    "Weibull(0.7)": _weibull(0.7),
}

_WIDTH = 1e-3


def _smoothed_score(x: Floats) -> Floats:
    """Of a uniform variable plus .001 times a logistic one."""
    low, high = expit(x / _WIDTH), expit((x - 1.0) / _WIDTH)
    density = np.maximum(low - high, 1e-300)
    inside = (low * (1.0 - low) - high * (1.0 - high)) / (_WIDTH * density)
    return np.asarray(np.where(x < -0.03, 1.0 / _WIDTH, np.where(x > 1.03, -1.0 / _WIDTH, inside)))


def _flat(n: int, rng: np.random.Generator) -> Floats:
    """exp(−|x|¹⁰⁰), whose hundredth power is a gamma variable."""
    return np.asarray(rng.choice([-1.0, 1.0], n) * rng.gamma(0.01, size=n) ** 0.01)


STEEP = {
    "uniform + .001 logistic": Line(
        _smoothed_score, lambda n, g: g.random(n) + _WIDTH * g.logistic(size=n), growth=0.0
    ),
    "exp(-|x|^100)": Line(lambda x: -100.0 * np.sign(x) * np.abs(x) ** 99, _flat),
    "exp(-x^4)": Line(
        lambda x: -4.0 * x**3,
        lambda n, g: g.choice([-1.0, 1.0], n) * g.gamma(0.25, size=n) ** 0.25,
        growth=3.0,
        outliers=(math.sqrt(2.0), 100.0),
    ),
}
