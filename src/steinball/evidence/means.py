"""Means of bounded functions against Huber's model: bets and t statistics."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy

from steinball.arrays import Floats, check_choice
from steinball.calibration.base import Null
from steinball.evidence.base import Evidence, last_place
from steinball.radius.base import Radius

METHODS = ("betting", "asymptotic")
_BETS, _HAIR = 24, 1e-14


@dataclass(frozen=True, eq=False)
class BoundedMean:
    r"""Independent values in [low, 1] of a function with E_P f = 0, and tests of E f ≤ ε

    .. math:: E(\varepsilon) = \frac1J \sum_j \prod_t \left(1 + \lambda_j (f_t - \varepsilon)\right),
       \qquad 0 < \lambda_j < 1 / (\varepsilon - \text{low}).

    Under E f ≤ ε each product has mean at most 1, so that P(E ≥ 1/α) ≤ α for every n (Markov); this is proved. The
    asymptotic test is the one-sided t statistic against the normal quantile, for n → ∞ with f fixed; its standard
    deviation is at least ``deviation``, what f has under P: a rare value that was not seen leaves none in the sample.

    """

    values: Floats
    low: float
    deviation: float = 0.0

    def log_evalue(self, contamination: float) -> float:
        """log E(ε)."""
        room = max(contamination - self.low, 1e-300)
        bets = np.geomspace(0.95 / 64.0, 0.95, _BETS) / room
        gains = np.log1p(bets[:, None] * (self.values - contamination)).sum(axis=1)
        return float(scipy.special.logsumexp(gains) - math.log(_BETS))

    def z_score(self, contamination: float) -> float:
        """√n (mean − ε) / sd; 0 for constant values that do not exceed ε."""
        deviation = max(self.deviation, float(self.values.std(ddof=1)))
        excess = float(self.values.mean()) - contamination
        if deviation == 0.0:
            return math.inf if excess > 0.0 else 0.0
        return math.sqrt(self.values.size) * excess / deviation

    def pvalue(self, contamination: float, method: str) -> float:
        """The p-value of E f ≤ ε."""
        if method == "betting":
            return math.exp(-max(0.0, self.log_evalue(contamination)))
        return float(scipy.special.ndtr(-self.z_score(contamination)))


@dataclass(frozen=True, eq=False)
class MeansEvidence(Evidence):
    """The values of several bounded functions: an average of e-values, or Bonferroni over t statistics."""

    means: tuple[BoundedMean, ...]
    method: str
    n_resamples = 0

    def __post_init__(self) -> None:
        check_choice(self.method, "method", METHODS)

    def numbers(self, tolerated: Radius, level: float) -> dict[str, Any]:
        """The numbers of one tolerated share and level."""
        share = float(tolerated.contamination or 0.0)
        if self.method == "betting":
            statistic, threshold = self._log_evalue(share), -math.log(level)
        else:
            statistic = max(mean.z_score(share) for mean in self.means)
            threshold = -float(scipy.special.ndtri(level / len(self.means)))
        return {
            "statistic": statistic,
            "pvalue": self.pvalue(share),
            "threshold": threshold - _HAIR * (1.0 + abs(threshold)),  # the p-value decides, not the rounding of it
            "contamination_bound": self.bound(level),
        }

    def pvalues(self, tolerated: Radius, amounts: Floats) -> list[float]:
        """The p-value at each share."""
        return [self.pvalue(float(amount)) for amount in amounts]

    def pvalue(self, contamination: float) -> float:
        """The p-value at one share."""
        if self.method == "betting":
            return math.exp(-max(0.0, self._log_evalue(contamination)))
        return min(1.0, len(self.means) * min(mean.pvalue(contamination, self.method) for mean in self.means))

    def bound(self, level: float) -> float:
        """The largest rejected share, by bisection: p-values do not fall as the share grows."""
        if self.pvalue(0.0) > level:
            return 0.0
        return self.once(("bound", level), lambda: last_place(lambda share: self.pvalue(share) <= level, 0.0, 1.0))

    @property
    def share(self) -> float:
        """The largest mean: an estimate, from below, of the contaminated share."""
        return max(float(mean.values.mean()) for mean in self.means)

    def _log_evalue(self, contamination: float) -> float:
        values = [mean.log_evalue(contamination) for mean in self.means]
        return float(scipy.special.logsumexp(values) - math.log(len(values)))


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
        mmd, radius = self.distance(), float(self.limits(tolerated, np.array([tolerated.contamination or 0.0]))[0])
        threshold = self.null.threshold(level, radius)
        return {
            "statistic": max(0.0, mmd - radius),
            "pvalue": self.null.pvalue(mmd, radius),
            "threshold": threshold,
            "contamination_bound": min(1.0, max(0.0, mmd - threshold) / self.shift),
            "radius": radius,
        }

    def pvalues(self, tolerated: Radius, amounts: Floats) -> list[float]:
        """The p-value at each share."""
        return [self.null.pvalue(self.distance(), radius) for radius in self.limits(tolerated, amounts).tolist()]

    def limits(self, tolerated: Radius, amounts: Floats) -> Floats:
        """θ at each share."""
        return np.asarray(amounts * self.shift)
