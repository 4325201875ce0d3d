"""Bands around the model's density, and the band that Student tails in place of Gaussian ones fill."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import scipy

from steinball.arrays import as_number, as_numbers, dtype_name, to_host
from steinball.problem import Problem
from steinball.radius.base import Radius
from steinball.radius.contamination import WithinVariation
from steinball.tau.certificate import Supremum


@dataclass(frozen=True)
class DensityBand(WithinVariation):
    r"""All distributions whose density q stays within a band |q − p| ≤ δ(x) of mass δ₀ (paper, Proposition on bands)

    .. math:: \theta = \min\left(\tfrac{\delta_0}{2} \Delta, \sqrt{\tau_\infty}\right) \le \delta_0 \sqrt{\tau_\infty},
       \qquad \delta_0 = \int \delta(x)\, dx, \quad \Delta = \sup_{x, y} |\varphi(x) - \varphi(y)|.

    The paper's radius is δ₀√τ. But q − p integrates to 0, so that q is p with a mass of at most δ₀/2 moved: a total
    variation of δ₀/2 (docs/theory/radii.md), and the radius is smaller wherever Δ < 2√τ is known.

    Parameters
    ----------
    mass : float
        δ₀ in [0, 2]: two densities never differ by more.
    sharp : bool
        ``False`` for the paper's δ₀√τ.

    Examples
    --------
    >>> from scipy import stats
    >>> round(DensityBand.between(stats.norm.pdf, stats.norm(0.1).pdf).mass, 6)
    0.079755
    """

    mass: float
    sized_by, axis, in_percent = "mass", "tolerated mass of a density band", True
    sharp: bool = True

    def __post_init__(self) -> None:
        mass = as_number(self.mass, "mass", low=0.0, high=2.0)
        vars(self).update(mass=mass, variation=0.5 * mass)

    @classmethod
    def between(
        cls, first: Callable[[float], float], second: Callable[[float], float], *, points: tuple[float, ...] = ()
    ) -> DensityBand:
        """The band between two densities on the line, δ = |q − p|, by adaptive integration.

        Parameters
        ----------
        first, second : callable
            Normalized densities of one real variable.
        points : tuple of float
            Where to look closely: narrow peaks or jumps that an integrator could miss.
        """
        inner = as_numbers(points, "points")
        if inner.ndim != 1 or not np.isfinite(inner).all():
            raise ValueError(f"`points` must be finite numbers, got {points!r}.")
        edges = (-math.inf, *np.sort(inner).tolist(), math.inf)
        for name, density in (("first", first), ("second", second)):
            if isinstance(density, type) or not callable(density):
                raise TypeError(f"`{name}` must be a function of one number, got {density!r}.")
            total, _ = _integrate(partial(_value, density, name), edges)
            if not abs(total - 1.0) <= 1e-6:  # a peak that the integrator missed shows here, and nowhere else
                raise ValueError(
                    f"`{name}` integrates to {total:g} and not to 1. Normalize it, give `points` near its peaks, "
                    "or give the mass of the band itself: DensityBand(mass)."
                )
        mass, error = _integrate(lambda x: abs(float(first(x)) - float(second(x))), edges)
        if not error <= 1e-6 * max(mass, 1e-3):
            raise ValueError(
                f"the mass of the band could not be integrated (estimate {mass:g} ± {error:g}); give `points` near the "
                "peaks of the densities, or the mass itself: DensityBand(mass)."
            )
        return cls(min(mass, 2.0))

    def __call__(self, problem: Problem, tau: Supremum) -> float:
        """(δ₀/2) Δ, at most √τ; or the paper's δ₀ √τ."""
        return super().__call__(problem, tau) if self.sharp else self.mass * math.sqrt(tau.value)


def _value(density: Callable[[float], Any], name: str, x: float) -> float:
    """The density at x, if that is a number."""
    try:
        return float(density(x))
    except (TypeError, ValueError):
        raise TypeError(f"`{name}` must return a number, got {density(x)!r}.") from None


def _integrate(function: Callable[[float], float], edges: tuple[float, ...]) -> tuple[float, float]:
    """The integral over consecutive intervals and its estimated error, which replaces SciPy's warnings."""
    options = {"limit": 500, "epsabs": 1e-12, "epsrel": 1e-10, "full_output": 1}
    parts = [scipy.integrate.quad(function, *pair, **options)[:2] for pair in pairwise(edges)]
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
class StudentTails(Radius):
    r"""Student tails instead of Gaussian ones: all scaled t distributions of unit variance with ν ≥ df (paper App. A)

    .. math:: \theta = \min\left(\tfrac{\delta_0}{2} \Delta, \sqrt{\tau_\infty}\right)
       \le \delta_0 \sqrt{\tau_\infty}, \qquad
       \delta_0 = 4 \left( F_\nu(a_1) - F_\infty(a_1) + F_\infty(a_2) - F_\nu(a_2) \right),

    with :math:`a_1 < a_2` the places on :math:`(0, \infty)` where the two densities cross. For one-dimensional Gaussian
    models, of any mean and variance: δ₀ does not change under shifts and scalings.

    Parameters
    ----------
    df : float
        Degrees of freedom ν > 2.
    sharp : bool
        ``False`` for the paper's δ₀√τ, as in :class:`DensityBand`.

    Examples
    --------
    >>> [round(StudentTails(df).mass, 5) for df in (5, 10, 20)]
    [0.17448, 0.07711, 0.03664]
    """

    df: float
    sharp: bool = True
    anchored = True
    closed_under_moves = True  # as of a DensityBand

    def __post_init__(self) -> None:
        vars(self).update(df=as_number(self.df, "df", low=2.0, open_low=True))

    @property
    def crossings(self) -> tuple[float, float]:
        """a₁ < a₂."""
        # In v = x², log q − log p is convex with a minimum at v = 3: one root on either side.
        ends = (0.0, 3.0), (3.0, 1e6)
        first, second = (scipy.optimize.brentq(self._log_ratio, *pair, xtol=1e-300, rtol=1e-15) for pair in ends)
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
        near = scipy.special.stdtr(self.df, low / scale) - scipy.special.ndtr(low)
        far = scipy.special.stdtr(self.df, -high / scale) - scipy.special.ndtr(-high)
        return max(0.0, float(4.0 * (near + far)))

    def __call__(self, problem: Problem, tau: Supremum) -> float:
        """(δ₀/2) Δ, at most √τ; or the paper's δ₀ √τ."""
        self._check_gaussian(problem)
        return DensityBand(min(self.mass, 2.0), self.sharp)(problem, tau)

    @staticmethod
    def _check_gaussian(problem: Problem) -> None:
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
