"""What a model may say of its score beyond its values: bounds that make an upper bound on sup u(x, x) possible."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from steinball.arrays import Floats

Bounds = tuple[Floats, Floats]


class ScoreGrowth(NamedTuple):
    r"""A bound on the score in terms of the distance from a center (docs/theory/supremum.md)

    .. math:: |s(x)|^2 \le A^2 + 2 K \rho + B^2 \rho^2, \qquad \rho^2 = (x - a)^\top M (x - a).

    A model with a method ``score_growth(center)`` that returns it, or a plain pair (A, B), can be given a certified τ.
    With the pair, :math:`K = A B` and the bound reads :math:`|s(x)| \le A + B |x - a|`. A list of them says that all
    hold, one sharper near the center and another far out. A method that takes ``precision`` as well is asked in the
    metric M of the tilt, and answers more sharply where M is not round.

    Parameters
    ----------
    offset : float
        :math:`A \ge 0`.
    slope : float
        :math:`B \ge 0`.
    cross : float, optional
        :math:`K \ge 0`; by default :math:`A B`.

    Examples
    --------
    >>> ScoreGrowth(1.0, 2.0).at(np.array([3.0]))
    array([7.])
    """

    offset: float
    slope: float
    cross: float | None = None

    @property
    def middle(self) -> float:
        """K, which is never worth more than A B."""
        most = self.offset * self.slope
        return most if self.cross is None else min(self.cross, most)

    def at(self, distance: Floats) -> Floats:
        """The bound on |s| at given distances ρ, shape as theirs."""
        square = self.offset**2 + 2.0 * self.middle * distance + (self.slope * distance) ** 2
        return np.asarray(np.sqrt(square))


@dataclass(frozen=True, eq=False)
class RadialScore:
    r"""A score that is the same on every shell of one family of ellipsoids

    .. math:: s(x) = -\frac{\beta P y}{1 + \kappa t}, \qquad y = x - m, \quad t = y^\top P y,

    which is what Gaussians (β = 1, κ = 0) and Student t distributions (β = (ν + d)/ν, κ = 1/ν) have. ``center`` is m,
    ``precision`` P, (d, d) or, of more columns than certificates are looked for, its diagonal (d,); ``rate`` β and
    ``decay`` κ.
    """

    center: Floats
    precision: Floats
    rate: float = 1.0
    decay: float = 0.0

    @cached_property
    def steepness(self) -> float:
        """The largest eigenvalue of P."""
        if self.precision.ndim == 1:
            return float(self.precision.max())
        axes = np.diag(self.precision)
        if np.count_nonzero(self.precision) == np.count_nonzero(axes):
            return float(axes.max())
        return float(np.linalg.eigvalsh(self.precision)[-1])

    @property
    def isotropic_variance(self) -> float | None:
        """σ² where this is the score −(x − m)/σ² of a round Gaussian, otherwise ``None``."""
        first = float(self.precision.ravel()[0])
        unit = np.eye(len(self.precision)) if self.precision.ndim == 2 else 1.0
        is_round = bool(np.all(self.precision == first * unit))
        return 1.0 / (self.rate * first) if is_round and self.decay == 0.0 else None

    def most(self, low: Floats | float, high: Floats | float) -> Floats:
        """The largest |s| where √t lies between ``low`` and ``high``: β √(‖P‖ t) / (1 + κ t) rises up to t = 1/κ."""
        peak = np.inf if self.decay == 0.0 else self.decay**-0.5
        root = np.clip(peak, low, high)
        with np.errstate(invalid="ignore", over="ignore"):
            at_infinity = np.inf if self.decay == 0.0 else 0.0
            far = np.where(np.isfinite(root), root / (1.0 + self.decay * root * root), at_infinity)
        return np.asarray(self.rate * self.steepness**0.5 * far)


def unit_root(precision: Floats | None, dimension: int) -> Floats:
    """A matrix T that takes the unit ball onto (x − a)ᵀM(x − a) ≤ 1: M = (T Tᵀ)⁻¹."""
    if precision is None:
        return np.eye(dimension)
    return np.asarray(np.linalg.inv(np.linalg.cholesky(precision)).T)


def linear_bounds(matrix: Floats, lower: Floats, upper: Floats) -> Bounds:
    """The smallest and largest of each coordinate of ``matrix @ x`` over boxes, rows of ``lower`` and ``upper``."""
    middle, half = (lower + upper) / 2.0 @ matrix.T, (upper - lower) / 2.0 @ np.abs(matrix).T
    return middle - half, middle + half
