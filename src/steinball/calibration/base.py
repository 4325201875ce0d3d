"""The one p-value convention, and what every calibration offers."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from steinball.arrays import Array, dtype_name
from steinball.features import Supremum
from steinball.gram.base import GramSummary
from steinball.gram.weights import Weights

_TIES = {"float64": 1e-10, "float32": 1e-4}


def tie_tolerance(x: Array) -> float:
    """The relative difference below which values computed in the precision of ``x`` are ties."""
    return _TIES.get(dtype_name(x), 1e-4)


class Null(Protocol):
    """The null distribution of Δ_θ = max(0, D − θ), answering for every radius θ at once."""

    def pvalue(self, ksd: float, radius: float) -> float:
        """The p-value of an observed D against the radius θ."""

    def threshold(self, level: float, radius: float) -> float:
        """The value that Δ_θ must exceed for a rejection at ``level``."""


class BoundingNull(Null, Protocol):
    """A null distribution whose decisions over all radii are also confidence bounds for D(Q, P)."""

    def lower_bound(self, ksd: float, level: float) -> float:
        """The largest radius such that every smaller one is rejected: D(Q, P) is at least that, at confidence
        1 − ``level``."""

    def upper_bound(self, ksd: float, level: float) -> float:
        """D(Q, P) is at most that, at confidence 1 − ``level``; infinite where nothing can be said."""

    def critical_range(
        self, level: float, radius: float, moved: float, draws_moved: NDArray[np.float64]
    ) -> tuple[float, float] | None:
        """Between which values the critical D stays while D moves by up to ``moved`` and each draw by its own of
        ``draws_moved``; ``None`` where that is not known."""


@runtime_checkable
class Calibration(Protocol):
    """A way to obtain a null distribution: from bootstrap draws of the Gram matrix, or from a bound."""

    @property
    def n_resamples(self) -> int:
        """Number of bootstrap draws; 0 for a bound."""

    def weights(self, n: int, seed: np.random.SeedSequence, start: int = 0) -> Weights:
        """The weights of draws ``start``, …, ``n_resamples - 1`` for n points, in chunks."""

    def null(self, summary: GramSummary, tau: Supremum, estimator: str) -> BoundingNull:
        """The null distribution that the draws in ``summary`` (or a bound in τ) give."""


@dataclass(frozen=True, eq=False)
class BootstrapNull:
    r"""Bootstrap draws of the KSD as a null distribution (paper §2.2 and Algorithm 1)

    .. math:: p(\theta) = \frac{1 + \#\{ D_b \ge D - \theta \}}{B + 1} \quad (D > \theta), \qquad 1 \text{ otherwise}.

    This is the paper's quantile rule, with the observed value among the B + 1: Δ_θ exceeds the (1 − α)-quantile
    exactly when p ≤ α. Values within a relative 1e-10 (float32: 1e-4) count as equal, and toward the p-value, so
    that the order of a summation never moves it.

    Parameters
    ----------
    draws : (B,) array
        The draws :math:`D_b`; for U-statistics with the sign of :math:`D_b^2`.
    tolerance : float
        The relative difference below which values are ties.

    Examples
    --------
    >>> null = BootstrapNull(np.arange(1.0, 20.0))
    >>> null.pvalue(20.0, 0.0), null.pvalue(20.0, 2.0), null.pvalue(1.0, 2.0)
    (0.05, 0.15, 1.0)
    >>> round(null.threshold(0.05, 0.0), 6)
    19.0
    """

    draws: NDArray[np.float64]
    tolerance: float = 1e-10

    def __post_init__(self) -> None:
        object.__setattr__(self, "_sorted", np.sort(self.draws) * (1.0 + self.tolerance))

    @classmethod
    def from_summary(cls, summary: GramSummary, estimator: str) -> BootstrapNull:
        """The draws of the V-statistic (never negative) or of the U-statistic."""
        squares = np.maximum(summary.quadratic_forms, 0.0) if estimator == "v" else summary.unbiased_forms
        return cls(np.sign(squares) * np.sqrt(np.abs(squares)), tie_tolerance(summary.diagonal))

    def pvalue(self, ksd: float, radius: float) -> float:
        """The p-value of an observed D against the radius θ."""
        if ksd <= radius:
            return 1.0
        upper: NDArray[np.float64] = self._sorted  # type: ignore[attr-defined]
        below = int(np.searchsorted(upper, ksd - radius, side="left"))
        return (1 + upper.size - below) / (upper.size + 1)

    def threshold(self, level: float, radius: float) -> float:
        """The k-th smallest draw, k = B + 1 − ⌊level (B + 1)⌋; infinite where it does not exist or is negative."""
        upper: NDArray[np.float64] = self._sorted  # type: ignore[attr-defined]
        k = kth_largest_index(level, upper.size)
        if k is None or upper[k] < 0.0:  # App. C: a negative quantile has no root, and nothing is rejected
            return math.inf
        return float(upper[k])

    def lower_bound(self, ksd: float, level: float) -> float:
        """max(0, D − q): the draws imitate |gₙ − μ|, by which D exceeds D(Q, P) at most."""
        return max(0.0, ksd - self.threshold(level, 0.0))

    def upper_bound(self, ksd: float, level: float) -> float:
        """D + q: by the same triangle inequality, D(Q, P) exceeds D by no more."""
        return ksd + self.threshold(level, 0.0)

    def critical_range(
        self, level: float, radius: float, moved: float, draws_moved: NDArray[np.float64]
    ) -> tuple[float, float]:
        """θ + q for all draws moved down, and for all moved up."""
        low, high = (draw_quantile(self.draws + sign * draws_moved, level, self.tolerance) for sign in (-1.0, 1.0))
        return radius + low, radius + high


def draw_quantile(draws: NDArray[np.float64], level: float, tolerance: float) -> float:
    """The threshold among draws, 0 in place of negative ones; infinite beyond the largest."""
    k = kth_largest_index(level, draws.size)
    return math.inf if k is None else float(np.partition(np.maximum(0.0, draws), k)[k]) * (1.0 + tolerance)


def kth_largest_index(level: float, draws: int) -> int | None:
    """Where, among the sorted draws, the threshold of a test at ``level`` stands; ``None`` beyond the largest."""
    k = draws - largest_count(level, draws + 1)
    return None if k == draws else k


def largest_count(level: float, total: int) -> int:
    """The largest c with c / total ≤ level, by the very comparison that decides a p-value."""
    count = math.floor(level * total)
    return count + 1 if (count + 1) / total <= level else count - (count / total > level)
