"""Distributions on (0, ∞) with their edge at 0, and their families: gamma, log-normal and Weibull."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import scipy

from steinball.arrays import Array, Floats, namespace
from steinball.models.family import ExponentialFamily, Family
from steinball.models.gaussian import BuiltIn, as_points
from steinball.models.support import Support
from steinball.tilts.scatter import median_and_scales

_HALF_LINE = Support.of((0, None))
_NEWTON, _STEPS = 5, 60


@dataclass(frozen=True)
class _OnHalfLine(BuiltIn):
    dimension: ClassVar[int] = 1
    support: ClassVar[Support] = _HALF_LINE


@dataclass(frozen=True)
class Gamma(_OnHalfLine):
    r"""The gamma distribution of shape k and scale θ, with score :math:`s(x) = (k - 1)/x - 1/\theta`.

    Examples
    --------
    >>> Gamma(3.0, 2.0).score(np.array([1.0]))
    array([[1.5]])
    """

    shape: float
    scale: float
    growth: ClassVar[float] = 0.0

    def log_density(self, x: Array) -> Array:
        """log p at each row of ``x``, normalized, shape (n,)."""
        ratio = as_points(x, 1)[:, 0] / self.scale
        constant = float(scipy.special.gammaln(self.shape)) + float(np.log(self.scale))
        return (self.shape - 1.0) * namespace(ratio).log(ratio) - ratio - constant

    def score(self, x: Array) -> Array:
        """∇ log p at each row of ``x``, shape (n, 1)."""
        return (self.shape - 1.0) / as_points(x, 1) - 1.0 / self.scale

    def sample(self, n: int, rng: Any = None) -> Floats:
        """``n`` independent draws, shape (n, 1)."""
        return np.random.default_rng(rng).gamma(self.shape, self.scale, size=(n, 1))


@dataclass(frozen=True)
class LogNormal(_OnHalfLine):
    r"""The distribution of exp(Y), Y normal with mean μ and standard deviation σ, with score

    .. math:: s(x) = -(1 + (\log x - \mu)/\sigma^2) / x.

    Examples
    --------
    >>> LogNormal(0.0, 1.0).score(np.array([1.0]))
    array([[-1.]])
    """

    log_mean: float
    log_sd: float

    def _logs(self, x: Array) -> tuple[Array, Array]:
        logs = namespace(x).log(x)
        return logs, (logs - self.log_mean) / self.log_sd

    def log_density(self, x: Array) -> Array:
        """log p at each row of ``x``, normalized, shape (n,)."""
        logs, z = self._logs(as_points(x, 1)[:, 0])
        return -logs - 0.5 * z * z - float(np.log(self.log_sd) + 0.5 * np.log(2.0 * np.pi))

    def score(self, x: Array) -> Array:
        """∇ log p at each row of ``x``, shape (n, 1)."""
        points = as_points(x, 1)
        return -(1.0 + self._logs(points)[1] / self.log_sd) / points

    def sample(self, n: int, rng: Any = None) -> Floats:
        """``n`` independent draws, shape (n, 1)."""
        return np.random.default_rng(rng).lognormal(self.log_mean, self.log_sd, size=(n, 1))


@dataclass(frozen=True)
class Weibull(_OnHalfLine):
    r"""The Weibull distribution of shape k and scale λ, with score :math:`s(x) = (k - 1 - k (x/\lambda)^k)/x`.

    Examples
    --------
    >>> Weibull(1.0, 2.0).score(np.array([1.0]))
    array([[-0.5]])
    """

    shape: float
    scale: float

    @property
    def growth(self) -> float:
        """The exponent k − 1 with which the score grows."""
        return max(self.shape - 1.0, 0.0)

    def log_density(self, x: Array) -> Array:
        """log p at each row of ``x``, normalized, shape (n,)."""
        ratio = as_points(x, 1)[:, 0] / self.scale
        constant = float(np.log(self.shape / self.scale))
        return constant + (self.shape - 1.0) * namespace(ratio).log(ratio) - ratio**self.shape

    def score(self, x: Array) -> Array:
        """∇ log p at each row of ``x``, shape (n, 1)."""
        points = as_points(x, 1)
        return (self.shape - 1.0 - self.shape * (points / self.scale) ** self.shape) / points

    def sample(self, n: int, rng: Any = None) -> Floats:
        """``n`` independent draws, shape (n, 1)."""
        return self.scale * np.random.default_rng(rng).weibull(self.shape, size=(n, 1))


def _logs_of(x: Floats, fitted: str = "") -> Floats:
    """The logarithms of positive rows, which must vary where something is ``fitted``."""
    if not (x > 0.0).all():
        raise ValueError(
            f"`x` must be positive for a family on (0, ∞), got {int((x <= 0.0).sum())} values that are not. Choose "
            "another family, or leave them out."
        )
    logs = np.log(x[:, 0])
    if fitted and not logs.std() > 0.0:
        raise ValueError(f"`x` must not be constant to fit a {fitted} distribution.")
    return np.asarray(logs)


def _center_and_spread(x: Floats) -> tuple[float, float]:
    """Median and median absolute deviation, as a standard deviation, of the logarithms."""
    center, spread = median_and_scales(_logs_of(x)[:, None], squared=False)
    return float(center[0]), float(spread[0])


class GammaFamily(ExponentialFamily):
    """The gamma family, with natural parameters ν = (k − 1, 1/θ): s = ν₁/x − ν₂.

    Examples
    --------
    >>> GammaFamily().fit(Gamma(3.0, 2.0).sample(4000, rng=0)).round(1)
    array([2.9, 2.1])
    """

    label, support = "gamma", _HALF_LINE
    names, positive = ("shape", "scale"), (True, True)

    def model(self, params: Floats) -> Gamma:
        return Gamma(*params.tolist())

    def start(self, x: Floats) -> Floats:
        """Parameters by the median and the spread of the logarithms: the variance of log x is about 1/(k − ½)."""
        center, spread = _center_and_spread(x)
        shape = 0.5 * (1.0 + np.tanh(1.0 / spread)) * max(spread**-2, 0.05) + 0.1
        return np.array([shape, np.exp(center) / max(shape - 1.0 / 3.0, 0.05)])

    def fit(self, x: Floats) -> Floats:
        """The root of log k − ψ(k) = log of the mean less mean of the logs, by Newton's method in log k."""
        mean = float(x.mean())
        gap = -float(np.mean(_logs_of(x) - np.log(mean)))
        if not gap > 1e-15:
            raise ValueError("`x` must not be constant to fit a gamma distribution.")
        shape = (3.0 - gap + math.sqrt((gap - 3.0) ** 2 + 24.0 * gap)) / (12.0 * gap)  # within 1.5 % of the root
        for _ in range(_NEWTON):
            rest = math.log(shape) - float(scipy.special.digamma(shape)) - gap
            shape *= math.exp(-rest / (1.0 - shape * float(scipy.special.polygamma(1, shape))))
        return np.array([shape, mean / shape])

    def matched(self, x: Floats, own: Floats, target: Floats) -> Floats:
        """The change of unit from one mean to the other; none where the scale is known."""
        return x if own[1] == target[1] else np.asarray(x * (np.prod(target) / np.prod(own)))

    def margins(self, params: Floats, x: Floats) -> Floats:
        return np.asarray(scipy.special.gammainc(params[0], x / params[1]))

    def parameter_scores(self, params: Floats, x: Floats) -> Floats:
        shape, scale = params
        ratio = x[:, 0] / scale
        return np.stack([np.log(ratio) - scipy.special.digamma(shape), (ratio - shape) / scale], axis=1)

    def score_basis(self, x: Floats) -> Floats:
        return np.stack([1.0 / x, -np.ones_like(x)], axis=2)

    def natural(self, params: Floats) -> Floats:
        return np.array([params[0] - 1.0, 1.0 / params[1]])

    def from_natural(self, natural: Floats) -> Floats:
        inside = natural[0] > -1.0 and natural[1] > 0.0
        return np.array([natural[0] + 1.0, 1.0 / natural[1]]) if inside else np.full(2, np.nan)


class ExponentialDistributions(Family):
    """The exponential distributions on (0, ∞): the gamma family at shape 1, with its scale as the one parameter.

    Examples
    --------
    >>> ExponentialDistributions().fit(np.array([[1.0], [3.0]]))
    array([2.])
    """

    label, support = "exponential", _HALF_LINE
    names, positive = ("scale",), (True,)

    def model(self, params: Floats) -> Gamma:
        return Gamma(1.0, float(params[0]))

    def start(self, x: Floats) -> Floats:
        """The median, over that of the standard exponential distribution."""
        return np.array([np.exp(np.median(_logs_of(x))) / math.log(2.0)])

    def fit(self, x: Floats) -> Floats:
        """The mean."""
        _logs_of(x)
        return np.asarray(x.mean(axis=0))

    def matched(self, x: Floats, own: Floats, target: Floats) -> Floats:
        """The change of unit from one scale to the other."""
        return np.asarray(x * (target / own))

    def margins(self, params: Floats, x: Floats) -> Floats:
        return -np.expm1(-x / params)

    def parameter_scores(self, params: Floats, x: Floats) -> Floats:
        return np.asarray((x / params - 1.0) / params)


class LogNormalFamily(ExponentialFamily):
    """The log-normal family, with natural parameters ν = (μ/σ², 1/σ²): s = −1/x + ν₁/x − ν₂ log(x)/x.

    Examples
    --------
    >>> LogNormalFamily().fit(np.exp([[1.0], [3.0]]))
    array([2., 1.])
    """

    label, support = "lognormal", _HALF_LINE
    names, positive = ("log_mean", "log_sd"), (False, True)

    def model(self, params: Floats) -> LogNormal:
        return LogNormal(*params.tolist())

    def start(self, x: Floats) -> Floats:
        """Median and median absolute deviation of the logarithms."""
        return np.array(_center_and_spread(x))

    def fit(self, x: Floats) -> Floats:
        """Mean and standard deviation of the logarithms."""
        logs = _logs_of(x, "log-normal")
        return np.array([logs.mean(), logs.std()])

    def matched(self, x: Floats, own: Floats, target: Floats) -> Floats:
        """The affine map of the logarithms."""
        return np.asarray(np.exp(target[0] + target[1] * (np.log(x) - own[0]) / own[1]))

    def margins(self, params: Floats, x: Floats) -> Floats:
        return np.asarray(scipy.special.ndtr((np.log(x) - params[0]) / params[1]))

    def parameter_scores(self, params: Floats, x: Floats) -> Floats:
        z = (np.log(x[:, 0]) - params[0]) / params[1]
        return np.asarray(np.stack([z, z * z - 1.0], axis=1) / params[1])

    def base_score(self, x: Floats) -> Floats:
        return -1.0 / x

    def score_basis(self, x: Floats) -> Floats:
        return np.stack([1.0 / x, -np.log(x) / x], axis=2)

    def natural(self, params: Floats) -> Floats:
        return np.asarray(np.array([params[0], 1.0]) / params[1] ** 2)

    def from_natural(self, natural: Floats) -> Floats:
        inside = natural[1] > 0.0
        return np.array([natural[0] / natural[1], natural[1] ** -0.5]) if inside else np.full(2, np.nan)


class WeibullFamily(Family):
    """The Weibull family.

    Examples
    --------
    >>> WeibullFamily().fit(Weibull(2.0, 3.0).sample(4000, rng=0)).round(1)
    array([2., 3.])
    """

    label, support = "weibull", _HALF_LINE
    names, positive = ("shape", "scale"), (True, True)

    def model(self, params: Floats) -> Weibull:
        return Weibull(*params.tolist())

    def start(self, x: Floats) -> Floats:
        """Parameters by the median and the spread of the logarithms, whose standard deviation is about 1.15/k."""
        center, spread = _center_and_spread(x)
        shape = 1.15 / spread
        return np.array([shape, np.exp(center + 0.3665 / shape)])

    def fit(self, x: Floats) -> Floats:
        """The root of 1/k = mean of log x weighted by xᵏ, less mean of log x, by Newton's method in log k."""
        logs = _logs_of(x, "Weibull")
        shape = min(float(self.start(x)[0]), 1.28 / float(logs.std()))
        for _ in range(_STEPS):
            weights = np.exp(shape * (logs - logs.max()))
            weights /= weights.sum()
            mean = float(weights @ logs)
            rest, slope = mean - float(logs.mean()) - 1.0 / shape, float(weights @ (logs - mean) ** 2)
            step = rest / (shape * slope + 1.0 / shape)
            shape *= math.exp(-min(max(step, -1.0), 1.0))
            if abs(step) < 1e-13:
                break
        top = float(logs.max())
        return np.array([shape, math.exp(top + math.log(np.mean(np.exp(shape * (logs - top)))) / shape)])

    def matched(self, x: Floats, own: Floats, target: Floats) -> Floats:
        """The affine map of the logarithms."""
        return np.asarray(target[1] * (x / own[1]) ** (own[0] / target[0]))

    def margins(self, params: Floats, x: Floats) -> Floats:
        return np.asarray(-np.expm1(-((x / params[1]) ** params[0])))

    def parameter_scores(self, params: Floats, x: Floats) -> Floats:
        shape, scale = params
        logs = np.log(x[:, 0] / scale)
        power = np.exp(shape * logs)
        return np.stack([1.0 / shape + (1.0 - power) * logs, (power - 1.0) * shape / scale], axis=1)
