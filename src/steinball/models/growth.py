"""What a model may say of its score beyond its values: bounds that make an upper bound on sup u(x, x) possible."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["RadialScore", "ScoreGrowth", "linear_bounds", "unit_root"]

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]
Bounds = tuple[Matrix, Matrix]


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

    def at(self, distance: Vector) -> Vector:
        """The bound on |s| at given distances ρ, shape as theirs."""
        square = self.offset**2 + 2.0 * self.middle * distance + (self.slope * distance) ** 2
        return np.asarray(np.sqrt(square))


@dataclass(frozen=True, eq=False)
class RadialScore:
    r"""A score that is the same on every shell of one family of ellipsoids

    .. math:: s(x) = -\frac{\beta P y}{1 + \kappa t}, \qquad y = x - m, \quad t = y^\top P y,

    which is what Gaussians (β = 1, κ = 0) and Student t distributions (β = (ν + d)/ν, κ = 1/ν) have.

    Parameters
    ----------
    center : (d,) array
        :math:`m`.
    precision : (d, d) array
        :math:`P`.
    rate, decay : float
        :math:`\beta` and :math:`\kappa`.

    Examples
    --------
    >>> student = RadialScore(np.zeros(1), np.eye(1), rate=4.0 / 3.0, decay=1.0 / 3.0)  # ν = 3
    >>> round(float(student.most(0.0, np.inf)), 4)
    1.1547
    """

    center: Vector
    precision: Matrix
    rate: float = 1.0
    decay: float = 0.0

    @cached_property
    def steepness(self) -> float:
        """The largest eigenvalue of P."""
        return float(np.linalg.eigvalsh(self.precision)[-1])

    def most(self, low: Vector | float, high: Vector | float) -> Vector:
        """The largest |s| where √t lies between ``low`` and ``high``: β √(‖P‖ t) / (1 + κ t) rises up to t = 1/κ."""
        peak = np.inf if self.decay == 0.0 else self.decay**-0.5
        root = np.clip(peak, low, high)
        with np.errstate(invalid="ignore", over="ignore"):
            at_infinity = np.inf if self.decay == 0.0 else 0.0
            far = np.where(np.isfinite(root), root / (1.0 + self.decay * root * root), at_infinity)
        return np.asarray(self.rate * self.steepness**0.5 * far)


def unit_root(precision: Matrix | None, dimension: int) -> Matrix:
    """A matrix T that takes the unit ball onto (x − a)ᵀM(x − a) ≤ 1: M = (T Tᵀ)⁻¹.

    Examples
    --------
    >>> unit_root(np.diag([4.0, 1.0]), 2)
    array([[0.5, 0. ],
           [0. , 1. ]])
    """
    if precision is None:
        return np.eye(dimension)
    return np.asarray(np.linalg.inv(np.linalg.cholesky(precision)).T)


def linear_bounds(matrix: Matrix, lower: Matrix, upper: Matrix) -> Bounds:
    """The smallest and largest of each coordinate of ``matrix @ x`` over boxes, rows of ``lower`` and ``upper``.

    Examples
    --------
    >>> linear_bounds(np.array([[1.0, -2.0]]), np.zeros((1, 2)), np.ones((1, 2)))
    (array([[-2.]]), array([[1.]]))
    """
    middle, half = (lower + upper) / 2.0 @ matrix.T, (upper - lower) / 2.0 @ np.abs(matrix).T
    return middle - half, middle + half
