"""What several kernels say together: by boundary draws that share their weights, or by wealth averaged over them."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from steinball.calibration import Betting
from steinball.calibration.base import kth_largest_index, tie_tolerance
from steinball.calibration.betting import average_evidence, log_wealth
from steinball.calibration.boundary import boundary_draws, moved_to_the_edge
from steinball.features import Supremum
from steinball.gram.base import GramSummary
from steinball.gram.choose import Settings
from steinball.gram.prefix import prefix_sums
from steinball.stein import SteinProblem

__all__ = ["BettingJudge", "BoundaryJudge", "Judge"]

Floats = NDArray[np.float64]
_SCALE_LEVEL = 0.05


class Judge(Protocol):
    """A joint decision over k kernels, for any k radii."""

    @property
    def n_resamples(self) -> int:
        """Number of bootstrap draws; 0 for bets."""

    def ratios(self, radii: Floats) -> Floats:
        """How strongly each kernel speaks against its radius, shape (k,)."""

    def statistic(self, radii: Floats) -> float:
        """How strongly they do together."""

    def threshold(self, radii: Floats, level: float) -> float:
        """What ``statistic`` must exceed."""

    def pvalue(self, radii: Floats) -> float:
        """The p-value of all radii together."""


@dataclass(frozen=True, eq=False)
class BoundaryJudge:
    r"""The largest excess over a radius in units of its own bootstrap quantile

    .. math:: T = \max_\lambda (D_\lambda - \theta_\lambda) / q_\lambda, \qquad
       T^*_b = \max_\lambda (D^*_{\lambda, b}(\theta_\lambda) - \theta_\lambda) / q_\lambda.

    Quantiles rather than standard deviations: at long length scales the draws are skewed, and in units of a standard
    deviation those kernels would rule the maximum of the draws.

    Parameters
    ----------
    ksds : (k,) array
        D of every kernel.
    lengths, along : (k, B) arrays
        The draws of every kernel, and their components along its mean embedding; a column is one row of weights.
    tolerance : float
        The relative difference below which values are ties, which count against a rejection.

    Examples
    --------
    >>> judge = BoundaryJudge(np.array([1.0]), np.array([[0.1, 0.2, 0.3]]), np.zeros((1, 3)))
    >>> judge.pvalue(np.array([0.5])), judge.pvalue(np.array([1.0]))
    (0.25, 1.0)
    """

    ksds: Floats
    lengths: Floats
    along: Floats
    tolerance: float = 1e-10

    @classmethod
    def of(cls, summaries: Sequence[GramSummary]) -> BoundaryJudge:
        """From one summary per kernel, all with the same rows of weights."""
        ksds, lengths, along = (np.array(part) for part in zip(*map(boundary_draws, summaries), strict=True))
        return cls(ksds, lengths, along, tie_tolerance(summaries[0].diagonal))

    @property
    def n_resamples(self) -> int:
        """B."""
        return int(self.lengths.shape[1])

    def _excesses(self, radii: Floats) -> tuple[Floats, Floats]:
        """D − θ and D* − θ, both in units of q: shapes (k,) and (k, B)."""
        theta = radii[:, None]
        excess = moved_to_the_edge(self.lengths, self.along, theta) * (1.0 + self.tolerance) - theta
        at = kth_largest_index(_SCALE_LEVEL, self.n_resamples)
        scale = np.maximum(np.sort(excess, axis=1)[:, -1 if at is None else at], np.finfo(float).tiny)
        return (self.ksds - radii) / scale, excess / scale[:, None]

    def ratios(self, radii: Floats) -> Floats:
        """(D − θ)/q of every kernel."""
        return self._excesses(radii)[0]

    def statistic(self, radii: Floats) -> float:
        """T."""
        return float(self.ratios(radii).max())

    def threshold(self, radii: Floats, level: float) -> float:
        """The quantile of T*, at least 0; infinite where it does not exist."""
        at = kth_largest_index(level, self.n_resamples)
        return math.inf if at is None else max(0.0, float(np.sort(self._excesses(radii)[1].max(axis=0))[at]))

    def pvalue(self, radii: Floats) -> float:
        """The share of draws, the data among them, with T* ≥ T; 1 where no D exceeds its radius."""
        if not (self.ksds > radii).any():
            return 1.0
        ours, draws = self._excesses(radii)
        reached = int(np.count_nonzero(draws.max(axis=0) >= ours.max()))
        return (1 + reached) / (self.n_resamples + 1)


@dataclass(frozen=True, eq=False)
class BettingJudge:
    r"""Wealth won on every kernel against its own radius, averaged: an e-process again, however they depend.

    Parameters
    ----------
    gains : (k, n) array
        The payoffs f_t(x_t) of every kernel, in the order of arrival.
    taus : (k,) array
        An upper bound of u(x, x) for every kernel.
    strategy : {"mixture", "newton"}
        How much is bet.

    Examples
    --------
    >>> BettingJudge(np.ones((2, 30)), np.ones(2)).pvalue(np.zeros(2)) < 1e-6
    True
    """

    gains: Floats
    taus: Floats
    strategy: str = "mixture"

    @classmethod
    def of(
        cls,
        calibration: Betting,
        problems: Sequence[SteinProblem],
        summaries: Sequence[GramSummary],
        taus: Sequence[Supremum],
        settings: Settings,
    ) -> BettingJudge:
        """From one problem per kernel."""
        if calibration.n_orders != 1:
            raise ValueError("`Betting` over several kernels takes the points as they came: use n_orders=1.")
        ranks, rows = np.arange(len(problems[0]))[None, :], []
        for problem, summary, tau in zip(problems, summaries, taus, strict=True):
            sums = prefix_sums(problem, ranks, n_jobs=settings.n_jobs, progress=settings.progress)
            rows.append(calibration.null(dataclasses.replace(summary, prefix_sums=sums), tau, "v").payoffs[0])
        return cls(np.array(rows), np.array([tau.value for tau in taus]), calibration.strategy)

    @property
    def n_resamples(self) -> int:
        """No draws."""
        return 0

    def _paths(self, radii: Floats) -> Floats:
        """log W_t of every kernel, (k, n)."""
        cases = zip(self.gains, radii, self.taus, strict=True)
        return np.array([log_wealth(gains, radius, tau, self.strategy) for gains, radius, tau in cases])

    def ratios(self, radii: Floats) -> Floats:
        """The logarithm of the largest wealth of every kernel."""
        return np.asarray(self._paths(radii).max(axis=1))

    def statistic(self, radii: Floats) -> float:
        """The logarithm of the largest average wealth."""
        return float(np.max(average_evidence(self._paths(radii))))

    def threshold(self, radii: Floats, level: float) -> float:
        """log(1/level), and a hair less: wealth of exactly 1/level is enough."""
        return float(np.nextafter(-math.log(level), -math.inf))

    def pvalue(self, radii: Floats) -> float:
        """1 / max W, at most 1."""
        return math.exp(-max(0.0, self.statistic(radii)))
