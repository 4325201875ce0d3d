"""What a summary of the pairs decides, and whether an approximate one decides it for certain."""

from __future__ import annotations

import math
from dataclasses import dataclass

from steinball.calibration.base import BoundingNull, Calibration
from steinball.features import Supremum
from steinball.gram.base import GramSummary
from steinball.results.equivalence import upper_bound

__all__ = ["Question", "Verdict"]


@dataclass(frozen=True)
class Verdict:
    """The numbers of one decision."""

    squared_ksd: float
    ksd: float
    statistic: float
    threshold: float
    pvalue: float
    rejected: bool
    lower_bound: float
    upper_bound: float


@dataclass(frozen=True, eq=False)
class Question:
    """Everything but the pairs: calibration, τ, estimator, radius θ and level."""

    calibration: Calibration
    tau: Supremum
    estimator: str
    radius: float
    level: float

    def answer(self, summary: GramSummary, null: BoundingNull | None = None) -> Verdict:
        """The decision that ``summary`` gives; ``null`` spares making it again."""
        null = null or self.calibration.null(summary, self.tau, self.estimator)
        squared = max(0.0, summary.mean) if self.estimator == "v" else summary.unbiased_mean
        ksd = math.sqrt(max(0.0, squared))
        statistic, threshold = max(0.0, ksd - self.radius), null.threshold(self.level, self.radius)
        pvalue = null.pvalue(ksd, self.radius)
        rejected = pvalue <= self.level and statistic > threshold
        bounds = null.lower_bound(ksd, self.level), upper_bound(null, ksd, self.level)
        return Verdict(squared, ksd, statistic, threshold, pvalue, rejected, *bounds)

    def ends(self, summary: GramSummary) -> tuple[Verdict, Verdict] | None:
        """The decisions most and least inclined to reject within the bounds of ``summary``, if it has bounds."""
        ends = summary.ends()
        return None if ends is None else (self.answer(ends[0]), self.answer(ends[1]))

    def grade(self, summary: GramSummary) -> str:
        """``"exact"``; ``"certified"`` when both ends decide alike; otherwise ``"approximate"``.

        Between two ends that decide alike so does everything else, unless a U-statistic's quantile crosses 0 on the
        way: below 0 nothing is rejected (App. C), and a larger quantile then favors a rejection.
        """
        if summary.grade == "exact":
            return "exact"
        ends = self.ends(summary)
        if ends is None or math.isinf(ends[0].threshold) != math.isinf(ends[1].threshold):
            return "approximate"
        return "certified" if ends[0].rejected == ends[1].rejected else "approximate"
