"""Means of bounded functions against Huber's model: bets and t statistics."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy

from steinball.arrays import Floats
from steinball.calibration.base import Null
from steinball.calibration.betting import average_evidence
from steinball.evidence.base import Evidence, last_place
from steinball.radius.base import Radius

METHODS = ("betting", "asymptotic")
_BETS, _HAIR = 24, 1e-14


@dataclass(frozen=True, eq=False)
class MeansEvidence(Evidence):
    r"""Independent values, in [low, 1], of k functions with E_P f = 0, and tests of E f ≤ ε for all of them

    .. math:: E(\varepsilon) = \frac1J \sum_j \prod_t \left(1 + \lambda_j (f_t - \varepsilon)\right),
       \qquad 0 < \lambda_j < 1 / (\varepsilon - \text{low}).

    Under E f ≤ ε each product has mean at most 1, so that P(E ≥ 1/α) ≤ α for every n (Markov), and so for the average
    of E over the functions; this is proved. The asymptotic test is the one-sided t statistic against the normal
    quantile, for n → ∞ with f fixed, with Bonferroni's correction over the functions; its standard deviation is at
    least what f has under P: a rare value that was not seen leaves none in the sample.

    Attributes
    ----------
    values : (k, n) array
        The values of every function.
    lows, deviations : (k,) arrays
        The least value of every function, and its standard deviation under P.
    method : {"betting", "asymptotic"}
        Which of the two tests.
    """

    values: Floats
    lows: Floats
    deviations: Floats
    method: str
    n_resamples = 0

    def numbers(self, tolerated: Radius, level: float) -> dict[str, Any]:
        """The numbers of one tolerated share and level."""
        share, (k, n) = float(tolerated.contamination or 0.0), self.values.shape
        betting = self.method == "betting"
        threshold = -math.log(level) if betting else -float(scipy.special.ndtri(level / k))
        return {
            "n": n,
            "calibration": self.method.capitalize(),
            "method": self.method,
            "share": float(self.values.mean(axis=1).max()),
            "statistic": self.log_evalue(share) if betting else self.largest_z_score(share),
            "pvalue": self.pvalue(share),
            "threshold": threshold - _HAIR * (1.0 + abs(threshold)),  # the p-value decides, not the rounding of it
            "contamination_bound": self.bound(level),
        }

    def pvalues(self, tolerated: Radius, amounts: Floats) -> list[float]:
        """The p-value at each share."""
        return [self.pvalue(float(amount)) for amount in amounts]

    def pvalue(self, share: float) -> float:
        """The p-value at one share."""
        if self.method == "betting":
            return math.exp(-max(0.0, self.log_evalue(share)))
        return min(1.0, len(self.values) * float(scipy.special.ndtr(-self.largest_z_score(share))))

    def bound(self, level: float) -> float:
        """The largest rejected share, by bisection: p-values do not fall as the share grows."""
        if self.pvalue(0.0) > level:
            return 0.0
        return self.once(("bound", level), lambda: last_place(lambda share: self.pvalue(share) <= level, 0.0, 1.0))

    def log_evalue(self, share: float) -> float:
        """log E(ε), E averaged over the functions."""
        bets = np.geomspace(0.95 / 64.0, 0.95, _BETS)
        rooms = np.maximum(share - self.lows, 1e-300).tolist()
        gains = [
            np.log1p((bets / room)[:, None] * (values - share)).sum(axis=1)
            for room, values in zip(rooms, self.values, strict=True)
        ]
        return float(average_evidence(average_evidence(np.stack(gains, axis=1))))

    def largest_z_score(self, share: float) -> float:
        """The largest √n (mean − ε) / sd; 0 for constant values that do not exceed ε."""
        excess = self.values.mean(axis=1) - share
        deviations = np.maximum(self.deviations, self.values.std(axis=1, ddof=1))
        constant = np.where(excess > 0.0, math.inf, 0.0)
        scaled = math.sqrt(self.values.shape[1]) * excess
        return float(np.divide(scaled, deviations, out=constant, where=deviations > 0.0).max())


@dataclass(frozen=True, eq=False)
class MMDEvidence(Evidence):
    """D² of two samples and its null distribution; θ is ``shift`` times the tolerated share."""

    squared_mmd: float
    null: Null
    shift: float

    @property
    def n_resamples(self) -> int:  # type: ignore[override]
        """Number of random splits; 0 for a bound."""
        return 0 if self.null.draws is None else self.null.draws.size

    def distance(self) -> float:
        """D."""
        return math.sqrt(self.squared_mmd)

    def numbers(self, tolerated: Radius, level: float) -> dict[str, Any]:
        """The numbers of one tolerated share and level."""
        mmd, radius = self.distance(), self.limit(tolerated)
        threshold = self.null.threshold(level, radius)
        return {
            "mmd": mmd,
            "squared_mmd": self.squared_mmd,
            "calibration": "RandomSplits" if self.n_resamples else "DeviationBound",
            "n_resamples": self.n_resamples,
            "statistic": max(0.0, mmd - radius),
            "pvalue": self.null.pvalue(mmd, radius),
            "threshold": threshold,
            "contamination_bound": min(1.0, max(0.0, mmd - threshold) / self.shift),
            "radius": radius,
        }

    def pvalues(self, tolerated: Radius, amounts: Floats) -> list[float]:
        """The p-value at each share."""
        return [self.null.pvalue(self.distance(), radius) for radius in self.limits(tolerated, amounts).tolist()]

    def limit(self, tolerated: Radius) -> float:
        """θ."""
        return float(tolerated.amount or 0.0) * self.shift
