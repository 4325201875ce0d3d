"""How much misfit is tolerated: radii θ of KSD balls that contain a stated set (paper §4.2, App. A)."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np
from scipy import stats
from scipy.integrate import quad
from scipy.optimize import brentq

from steinball.arrays import Array, as_number, as_samples, check_share, dtype_name, to_host
from steinball.gram.dense import DenseGram
from steinball.stein import SteinProblem
from steinball.supremum import Supremum

__all__ = ["Alternative", "DensityBand", "FixedRadius", "Huber", "Radius", "StudentTails", "as_radius"]


@runtime_checkable
class Radius(Protocol):
    """A radius θ ≥ 0 on the KSD scale, for a problem and its τ."""

    needs_bounded: ClassVar[bool]
    """Whether it means anything only where sup u(x, x) is finite."""

    def __call__(self, problem: SteinProblem, tau: Supremum) -> float:
        """The radius."""


def as_radius(radius: Any) -> Radius:
    """A :class:`Radius` from what the user passed: one already, or a number."""
    if isinstance(radius, Radius) and not isinstance(radius, type):
        return radius
    return FixedRadius(radius)


@dataclass(frozen=True)
class FixedRadius:
    """A stated number on the KSD scale. Valid with any kernel, tilted or not.

    Examples
    --------
    >>> FixedRadius(0.1).value
    0.1
    """

    value: float
    needs_bounded: ClassVar[bool] = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "value", as_number(self.value, "radius", low=0.0))

    def __call__(self, problem: SteinProblem, tau: Supremum) -> float:
        """The number."""
        return self.value


@dataclass(frozen=True)
class Huber:
    r"""All distributions with at most a share ε of contamination (paper, Proposition on Huber's model)

    .. math:: \theta = \varepsilon \sqrt{\tau_\infty}, \qquad
       \{ (1 - \varepsilon') P + \varepsilon' R : \varepsilon' \le \varepsilon \} \subseteq B(P; \theta).

    The bound is tight: contamination at the point where u(x, x) is largest reaches it.

    Parameters
    ----------
    contamination : float
        ε in [0, 1].

    Examples
    --------
    >>> Huber(0.05)
    Huber(contamination=0.05)
    """

    contamination: float
    needs_bounded: ClassVar[bool] = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "contamination", check_share(self.contamination, "contamination"))

    def __call__(self, problem: SteinProblem, tau: Supremum) -> float:
        """ε √τ."""
        return self.contamination * math.sqrt(tau.value)


@dataclass(frozen=True)
class DensityBand:
    r"""All distributions whose density q stays within a band |q − p| ≤ δ(x) of mass δ₀ (paper, Proposition on bands)

    .. math:: \theta = \delta_0 \sqrt{\tau_\infty}, \qquad \delta_0 = \int \delta(x)\, dx.

    Parameters
    ----------
    mass : float
        δ₀ in [0, 2]: two densities never differ by more.

    Examples
    --------
    >>> from scipy import stats
    >>> round(DensityBand.between(stats.norm.pdf, stats.norm(0.1).pdf).mass, 6)
    0.079755
    """

    mass: float
    needs_bounded: ClassVar[bool] = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "mass", as_number(self.mass, "mass", low=0.0, high=2.0))

    @classmethod
    def between(
        cls,
        first: Callable[[float], float],
        second: Callable[[float], float],
        *,
        interval: tuple[float, float] = (-math.inf, math.inf),
        points: tuple[float, ...] = (),
    ) -> DensityBand:
        """The band between two densities on the line, δ = |q − p|, by adaptive integration.

        Parameters
        ----------
        first, second : callable
            Normalised densities of one real variable.
        interval : (float, float)
            Where to integrate.
        points : tuple of float
            Where to look closely: narrow peaks or jumps that an integrator could miss.
        """
        edges = (interval[0], *sorted(points), interval[1])
        for name, density in (("first", first), ("second", second)):
            total, _ = _integrate(density, edges)
            if not abs(total - 1.0) <= 1e-6:  # a peak that the integrator missed shows here, and nowhere else
                raise ValueError(
                    f"`{name}` integrates to {total:g} and not to 1. Normalise it, widen `interval`, give `points` "
                    "near its peaks, or give the mass of the band itself: DensityBand(mass)."
                )
        mass, error = _integrate(lambda x: abs(float(first(x)) - float(second(x))), edges)
        if not error <= 1e-6 * max(mass, 1e-3):
            raise ValueError(
                f"the mass of the band could not be integrated (estimate {mass:g} ± {error:g}); give `points` near the "
                "peaks of the densities, or the mass itself: DensityBand(mass)."
            )
        return cls(min(mass, 2.0))

    def __call__(self, problem: SteinProblem, tau: Supremum) -> float:
        """δ₀ √τ."""
        return self.mass * math.sqrt(tau.value)


def _integrate(function: Callable[[float], float], edges: tuple[float, ...]) -> tuple[float, float]:
    """The integral over consecutive intervals and its estimated error, which replaces SciPy's warnings."""
    options = {"limit": 500, "epsabs": 1e-12, "epsrel": 1e-10, "full_output": 1}
    parts = [quad(function, *pair, **options)[:2] for pair in pairwise(edges)]
    value, error = (math.fsum(column) for column in zip(*parts, strict=True))
    return value, error


def _log_gamma_step(x: float) -> float:
    """log Γ(x + ½) − log Γ(x) − ½ log x, by its asymptotic series: differences of logarithms would cancel."""
    if x < 15.0:
        return _log_gamma_step(x + 1.0) + 0.5 * math.log1p(1.0 / x) - math.log1p(0.5 / x)
    series = (-1 / 8, 1 / 192, -1 / 640, 17 / 14336, -31 / 18432, 691 / 180224)
    return math.fsum(c * x ** -(2 * k + 1) for k, c in enumerate(series))


def _log1p_minus(z: float) -> float:
    """log(1 + z) − z for z ≥ 0, by its power series where the two would cancel."""
    if z > 0.05:
        return math.log1p(z) - z
    return math.fsum((-1) ** (k + 1) * z**k / k for k in range(2, 14))


@dataclass(frozen=True)
class StudentTails:
    r"""Student tails instead of Gaussian ones: all scaled t distributions of unit variance with ν ≥ df (paper App. A)

    .. math:: \theta = \delta_0 \sqrt{\tau_\infty}, \qquad
       \delta_0 = 4 \left( F_\nu(a_1) - F_\infty(a_1) + F_\infty(a_2) - F_\nu(a_2) \right),

    with :math:`a_1 < a_2` the places on :math:`(0, \infty)` where the two densities cross. For one-dimensional Gaussian
    models, of any mean and variance: δ₀ does not change under shifts and scalings.

    Parameters
    ----------
    df : float
        Degrees of freedom ν > 2.

    Examples
    --------
    >>> [round(StudentTails(df).mass, 5) for df in (5, 10, 20)]
    [0.17448, 0.07711, 0.03664]
    """

    df: float
    needs_bounded: ClassVar[bool] = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "df", as_number(self.df, "df", low=2.0, open_low=True))

    @property
    def crossings(self) -> tuple[float, float]:
        """a₁ < a₂."""
        # In v = x², log q − log p is convex with a minimum at v = 3: one root on either side.
        high = 4.0
        while self._log_ratio(high) <= 0.0:
            high *= 2.0
        roots = (brentq(self._log_ratio, *ends, xtol=1e-300, rtol=1e-15) for ends in ((0.0, 3.0), (3.0, high)))
        first, second = roots
        return math.sqrt(first), math.sqrt(second)

    def _log_ratio(self, v: float) -> float:
        """log q(√v) − log p(√v) for the scaled t and the standard Gaussian."""
        nu, rest, z = self.df, self.df - 2.0, v / (self.df - 2.0)
        spread = math.log1p(-2.0 / nu) if nu > 4.0 else math.log(rest / nu)  # ν − 2 is exact near 2, 1 − 2/ν is not
        constant = _log_gamma_step(nu / 2.0) - 0.5 * spread
        if z > 1.0:
            return constant + 0.5 * v - 0.5 * (nu + 1.0) * math.log1p(z)
        # The same, written so that no O(1) terms cancel: for large ν the ratio itself is O(1/ν).
        return constant - 1.5 * z - 0.5 * (nu + 1.0) * _log1p_minus(z)

    @property
    def mass(self) -> float:
        """δ₀, the mass of |q − p|."""
        scale = math.sqrt((self.df - 2) / self.df)
        low, high = self.crossings
        # Upper tails at a₂: there the distribution functions are close to 1 and their difference loses digits.
        near = stats.t.cdf(low / scale, self.df) - stats.norm.cdf(low)
        far = stats.t.sf(high / scale, self.df) - stats.norm.sf(high)
        return float(4.0 * (near + far))

    def __call__(self, problem: SteinProblem, tau: Supremum) -> float:
        """δ₀ √τ."""
        self._check_gaussian(problem)
        return self.mass * math.sqrt(tau.value)

    @staticmethod
    def _check_gaussian(problem: SteinProblem) -> None:
        """The promise is about Gaussian models on the line, whose score is affine with negative slope."""
        x, s = to_host(problem.samples), to_host(problem.scores)
        if x.shape[1] != 1:
            raise ValueError(
                f"`StudentTails` is for one-dimensional data, got d = {x.shape[1]}. Use DensityBand(mass)."
            )
        order = np.argsort(x[:, 0])
        x, s = x[order, 0], s[order, 0]
        # Quartiles: a far outlier must not set the scale that residuals are compared with.
        low, high = len(x) // 4, (3 * len(x)) // 4
        if x[low] == x[high]:
            low, high = 0, -1
        slope = (s[high] - s[low]) / (x[high] - x[low]) if x[high] > x[low] else -1.0
        residual = np.abs(s - s[low] - slope * (x - x[low]))
        rounding = 1e-6 if dtype_name(problem.samples) == "float64" else 1e-4
        if slope >= 0.0 or (residual > rounding * (np.abs(s - s[low]) + abs(s[high] - s[low]))).any():
            raise ValueError(
                "`StudentTails` compares a t distribution with a Gaussian model, but the scores are not those of a "
                "Gaussian (not affine). Use DensityBand.between(p, q)."
            )


@dataclass(frozen=True, eq=False)
class Alternative:
    r"""The KSD of a stated alternative, from a sample of it (paper App. B, mean-shift experiment)

    .. math:: \theta = \sqrt{\max(0, D_U^2)},

    the root of the unbiased U-statistic under the kernel, tilt and model of the test: whatever is no farther from the
    model than this alternative is tolerated.

    Parameters
    ----------
    samples : (m, d) array
        A sample of the alternative, independent of the data tested; the larger, the sharper θ.

    Examples
    --------
    >>> Alternative(np.zeros((5, 1)))
    Alternative(m=5)
    """

    samples: Array
    needs_bounded: ClassVar[bool] = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "samples", as_samples(self.samples, "samples of the alternative"))

    def __repr__(self) -> str:
        return f"Alternative(m={self.samples.shape[0]})"

    def __call__(self, problem: SteinProblem, tau: Supremum) -> float:
        """The KSD of the alternative from the model."""
        if not problem.evaluable:
            raise TypeError("`Alternative` needs the score at its own samples; `model` is an array of scores.")
        ours, theirs = self.samples.shape[1], problem.samples.shape[1]
        if ours != theirs:
            raise ValueError(f"`samples` of the alternative have {ours} columns, the samples tested {theirs}.")
        there = problem.at(self.samples)
        return math.sqrt(max(0.0, DenseGram(there).summarise(()).unbiased_mean))
