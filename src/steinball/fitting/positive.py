"""Families on (0, ∞) with their edge at 0: gamma, log-normal and Weibull, and the models that they are made of."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.special import digamma, gammainc, gammaln, ndtr

from steinball.arrays import Array, Floats, namespace
from steinball.fitting.family import ExponentialFamily, Family
from steinball.models.gaussian import as_points
from steinball.models.support import Support

_HALF_LINE = Support.of((0, None))


@dataclass(frozen=True)
class _PositiveModel:
    """A density on (0, ∞) with two parameters."""

    first: float
    second: float
    dimension: ClassVar[int] = 1
    support: ClassVar[Support] = _HALF_LINE
    takes_numpy: ClassVar[bool] = True
    verified: ClassVar[bool] = True

    @abstractmethod
    def log_density(self, x: Array) -> Array:
        """log p at each row of ``x``, normalized, shape (n,)."""

    @abstractmethod
    def score(self, x: Array) -> Array:
        """∇ log p at each row of ``x``, shape (n, 1)."""


@dataclass(frozen=True)
class GammaModel(_PositiveModel):
    """The gamma distribution of shape k and scale θ.

    Examples
    --------
    >>> GammaModel(3.0, 2.0).score(np.array([1.0]))
    array([[1.5]])
    """

    growth: ClassVar[float] = 0.0

    def log_density(self, x: Array) -> Array:
        """log p at each row of ``x``, normalized, shape (n,)."""
        ratio = as_points(x, 1)[:, 0] / self.second
        constant = float(gammaln(self.first)) + float(np.log(self.second))
        return (self.first - 1.0) * namespace(ratio).log(ratio) - ratio - constant

    def score(self, x: Array) -> Array:
        """(k − 1)/x − 1/θ."""
        return (self.first - 1.0) / as_points(x, 1) - 1.0 / self.second

    def sample(self, n: int, rng: Any = None) -> Floats:
        """``n`` independent draws, shape (n, 1)."""
        return np.random.default_rng(rng).gamma(self.first, self.second, size=(n, 1))


@dataclass(frozen=True)
class LogNormalModel(_PositiveModel):
    """The distribution of exp(Y), Y normal with mean μ and standard deviation σ.

    Examples
    --------
    >>> LogNormalModel(0.0, 1.0).score(np.array([1.0]))
    array([[-1.]])
    """

    def _logs(self, x: Array) -> tuple[Array, Array]:
        logs = namespace(x).log(x)
        return logs, (logs - self.first) / self.second

    def log_density(self, x: Array) -> Array:
        """log p at each row of ``x``, normalized, shape (n,)."""
        logs, z = self._logs(as_points(x, 1)[:, 0])
        return -logs - 0.5 * z * z - float(np.log(self.second) + 0.5 * np.log(2.0 * np.pi))

    def score(self, x: Array) -> Array:
        """−(1 + (log x − μ)/σ²)/x."""
        points = as_points(x, 1)
        return -(1.0 + self._logs(points)[1] / self.second) / points

    def sample(self, n: int, rng: Any = None) -> Floats:
        """``n`` independent draws, shape (n, 1)."""
        return np.random.default_rng(rng).lognormal(self.first, self.second, size=(n, 1))


@dataclass(frozen=True)
class WeibullModel(_PositiveModel):
    """The Weibull distribution of shape k and scale λ.

    Examples
    --------
    >>> WeibullModel(1.0, 2.0).score(np.array([1.0]))
    array([[-0.5]])
    """

    @property
    def growth(self) -> float:
        """k − 1."""
        return max(self.first - 1.0, 0.0)

    def log_density(self, x: Array) -> Array:
        """log p at each row of ``x``, normalized, shape (n,)."""
        ratio = as_points(x, 1)[:, 0] / self.second
        constant = float(np.log(self.first / self.second))
        return constant + (self.first - 1.0) * namespace(ratio).log(ratio) - ratio**self.first

    def score(self, x: Array) -> Array:
        """(k − 1 − k(x/λ)^k)/x."""
        points = as_points(x, 1)
        return (self.first - 1.0 - self.first * (points / self.second) ** self.first) / points

    def sample(self, n: int, rng: Any = None) -> Floats:
        """``n`` independent draws, shape (n, 1)."""
        return self.second * np.random.default_rng(rng).weibull(self.first, size=(n, 1))


class _Positive(Family):
    """What the three families share."""

    support = _HALF_LINE

    @property
    def names(self) -> tuple[str, ...]:
        """As in SciPy."""
        return "shape", "scale"

    @property
    def positive(self) -> tuple[bool, ...]:
        """Both."""
        return True, True


def _logs_of(x: Floats) -> Floats:
    if not (x > 0.0).all():
        raise ValueError(
            f"`x` must be positive for a family on (0, ∞), got {int((x <= 0.0).sum())} values that are not. Choose "
            "another family, or leave them out."
        )
    return np.log(x[:, 0])


def _center_and_spread(logs: Floats) -> tuple[float, float]:
    center = float(np.median(logs))
    spread = 1.4826 * float(np.median(np.abs(logs - center)))
    return center, spread if spread > 0.0 else max(float(logs.std()), 1e-8)


class Gamma(_Positive, ExponentialFamily):
    """The gamma family.

    Examples
    --------
    >>> Gamma().fit(GammaModel(3.0, 2.0).sample(4000, rng=0)).round(1)
    array([2.9, 2.1])
    """

    label = "gamma"

    def model(self, params: Floats) -> GammaModel:
        """The model."""
        return GammaModel(*params.tolist())

    def start(self, x: Floats) -> Floats:
        """From the median and the spread of the logarithms: the variance of log x is about 1/(k − ½)."""
        center, spread = _center_and_spread(_logs_of(x))
        shape = 0.5 * (1.0 + np.tanh(1.0 / spread)) * max(spread**-2, 0.05) + 0.1
        return np.array([shape, np.exp(center) / max(shape - 1.0 / 3.0, 0.05)])

    def margins(self, params: Floats, x: Floats) -> Floats:
        """The distribution function."""
        return np.asarray(gammainc(params[0], x / params[1]))

    def parameter_scores(self, params: Floats, x: Floats) -> Floats:
        """In closed form."""
        shape, scale = params
        ratio = x[:, 0] / scale
        return np.stack([np.log(ratio) - digamma(shape), (ratio - shape) / scale], axis=1)

    def base_score(self, x: Floats) -> Floats:
        """0."""
        return np.zeros_like(x)

    def score_basis(self, x: Floats) -> Floats:
        """Of ν = (k − 1, 1/θ): s = ν₁/x − ν₂."""
        return np.stack([1.0 / x, -np.ones_like(x)], axis=2)

    def natural(self, params: Floats) -> Floats:
        """(k − 1, 1/θ)."""
        return np.array([params[0] - 1.0, 1.0 / params[1]])

    def from_natural(self, natural: Floats) -> Floats:
        """Shape and scale."""
        inside = natural[0] > -1.0 and natural[1] > 0.0
        return np.array([natural[0] + 1.0, 1.0 / natural[1]]) if inside else np.full(2, np.nan)


class LogNormal(_Positive, ExponentialFamily):
    """The log-normal family: mean and standard deviation of log x.

    Examples
    --------
    >>> LogNormal().fit(np.exp([[1.0], [3.0]]))
    array([2., 1.])
    """

    label = "lognormal"

    @property
    def names(self) -> tuple[str, ...]:
        """Of the logarithm."""
        return "log_mean", "log_sd"

    @property
    def positive(self) -> tuple[bool, ...]:
        """The standard deviation."""
        return False, True

    def model(self, params: Floats) -> LogNormalModel:
        """The model."""
        return LogNormalModel(*params.tolist())

    def start(self, x: Floats) -> Floats:
        """Median and median absolute deviation of the logarithms."""
        return np.array(_center_and_spread(_logs_of(x)))

    def fit(self, x: Floats) -> Floats:
        """Mean and standard deviation of the logarithms."""
        logs = _logs_of(x)
        if not logs.std() > 0.0:
            raise ValueError("`x` must not be constant to fit a log-normal distribution.")
        return np.array([logs.mean(), logs.std()])

    def margins(self, params: Floats, x: Floats) -> Floats:
        """The distribution function."""
        return np.asarray(ndtr((np.log(x) - params[0]) / params[1]))

    def parameter_scores(self, params: Floats, x: Floats) -> Floats:
        """In closed form."""
        z = (np.log(x[:, 0]) - params[0]) / params[1]
        return np.asarray(np.stack([z, z * z - 1.0], axis=1) / params[1])

    def base_score(self, x: Floats) -> Floats:
        """−1/x."""
        return -1.0 / x

    def score_basis(self, x: Floats) -> Floats:
        """Of ν = (μ/σ², 1/σ²): s = −1/x + ν₁/x − ν₂ log(x)/x."""
        return np.stack([1.0 / x, -np.log(x) / x], axis=2)

    def natural(self, params: Floats) -> Floats:
        """(μ/σ², 1/σ²)."""
        return np.asarray(np.array([params[0], 1.0]) / params[1] ** 2)

    def from_natural(self, natural: Floats) -> Floats:
        """μ and σ."""
        inside = natural[1] > 0.0
        return np.array([natural[0] / natural[1], natural[1] ** -0.5]) if inside else np.full(2, np.nan)


class Weibull(_Positive):
    """The Weibull family.

    Examples
    --------
    >>> Weibull().fit(WeibullModel(2.0, 3.0).sample(4000, rng=0)).round(1)
    array([2., 3.])
    """

    label = "weibull"

    def model(self, params: Floats) -> WeibullModel:
        """The model."""
        return WeibullModel(*params.tolist())

    def start(self, x: Floats) -> Floats:
        """From the median and the spread of the logarithms, which have standard deviation about 1.15/k."""
        center, spread = _center_and_spread(_logs_of(x))
        shape = 1.15 / spread
        return np.array([shape, np.exp(center + 0.3665 / shape)])

    def steepest(self, params: Floats) -> Floats:
        """With half as large a shape again: the score grows like x^(k − 1)."""
        return params * [1.5, 1.0]

    def margins(self, params: Floats, x: Floats) -> Floats:
        """The distribution function."""
        return np.asarray(-np.expm1(-((x / params[1]) ** params[0])))

    def parameter_scores(self, params: Floats, x: Floats) -> Floats:
        """In closed form."""
        shape, scale = params
        logs = np.log(x[:, 0] / scale)
        power = np.exp(shape * logs)
        return np.stack([1.0 / shape + (1.0 - power) * logs, (power - 1.0) * shape / scale], axis=1)
