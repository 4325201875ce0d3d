"""Bands around the model's density."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import scipy

from steinball.arrays import as_number, as_numbers
from steinball.problem import Problem
from steinball.radius.base import Radius
from steinball.radius.contamination import TotalVariation
from steinball.tau.certificate import Supremum


@dataclass(frozen=True)
class DensityBand(Radius):
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
    closed_under_moves = True  # the image stays in the ball of total variation that the radius covers
    invariant = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "mass", as_number(self.mass, "mass", low=0.0, high=2.0))
        self._declare(variation=0.5 * self.mass)

    @classmethod
    def between(
        cls,
        first: Callable[[float], float],
        second: Callable[[float], float],
        *,
        interval: tuple[float, float] = (-math.inf, math.inf),
        points: tuple[float, ...] = (),
        sharp: bool = True,
    ) -> DensityBand:
        """The band between two densities on the line, δ = |q − p|, by adaptive integration.

        Parameters
        ----------
        first, second : callable
            Normalized densities of one real variable.
        interval : (float, float)
            Where to integrate.
        points : tuple of float
            Where to look closely: narrow peaks or jumps that an integrator could miss.
        sharp : bool
            As in :class:`DensityBand`.
        """
        for name, density in (("first", first), ("second", second)):
            if isinstance(density, type) or not callable(density):
                raise TypeError(f"`{name}` must be a function of one number, got {density!r}.")
        edges = _edges(interval, points)
        for name, density in (("first", first), ("second", second)):
            total, _ = _integrate(_numeric(density, name), edges)
            if not abs(total - 1.0) <= 1e-6:  # a peak that the integrator missed shows here, and nowhere else
                raise ValueError(
                    f"`{name}` integrates to {total:g} and not to 1. Normalize it, widen `interval`, give `points` "
                    "near its peaks, or give the mass of the band itself: DensityBand(mass)."
                )
        mass, error = _integrate(lambda x: abs(float(first(x)) - float(second(x))), edges)
        if not error <= 1e-6 * max(mass, 1e-3):
            raise ValueError(
                f"the mass of the band could not be integrated (estimate {mass:g} ± {error:g}); give `points` near the "
                "peaks of the densities, or the mass itself: DensityBand(mass)."
            )
        return cls(min(mass, 2.0), sharp)

    def __call__(self, problem: Problem, tau: Supremum) -> float:
        """(δ₀/2) Δ, at most √τ; or the paper's δ₀ √τ."""
        if not self.sharp:
            return self.mass * math.sqrt(tau.value)
        return TotalVariation(0.5 * self.mass)(problem, tau)


def _edges(interval: Any, points: Any) -> tuple[float, ...]:
    """Where the parts begin and end."""
    ends, inner = as_numbers(interval, "interval"), as_numbers(points, "points")
    if ends.shape != (2,) or not ends[0] < ends[1]:
        raise ValueError(f"`interval` must be a pair (low, high), low below high, got {interval!r}.")
    if inner.ndim != 1 or not ((ends[0] < inner) & (inner < ends[1])).all():
        raise ValueError(f"`points` must be numbers inside of `interval`, got {points!r}.")
    return float(ends[0]), *np.sort(inner).tolist(), float(ends[1])


def _numeric(density: Callable[[float], Any], name: str) -> Callable[[float], float]:
    """The density, if what it returns are numbers."""

    def value(x: float) -> float:
        found = density(x)
        try:
            return float(found)
        except (TypeError, ValueError):
            raise TypeError(f"`{name}` must return a number, got {found!r}.") from None

    return value


def _integrate(function: Callable[[float], float], edges: tuple[float, ...]) -> tuple[float, float]:
    """The integral over consecutive intervals and its estimated error, which replaces SciPy's warnings."""
    options = {"limit": 500, "epsabs": 1e-12, "epsrel": 1e-10, "full_output": 1}
    parts = [scipy.integrate.quad(function, *pair, **options)[:2] for pair in pairwise(edges)]
    value, error = (math.fsum(column) for column in zip(*parts, strict=True))
    return value, error
