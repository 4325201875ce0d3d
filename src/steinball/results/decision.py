"""What a summary of the pairs decides, and whether an approximate one decides it for certain."""

from __future__ import annotations

import math
from dataclasses import dataclass

from steinball.calibration.base import BoundingNull, Calibration
from steinball.features import Supremum
from steinball.gram.base import GramSummary
from steinball.results.base import Decision
from steinball.results.equivalence import upper_bound

__all__ = ["Answer", "Question"]


@dataclass(frozen=True, eq=False, kw_only=True)
class Answer(Decision):
    """The numbers of one decision: D² and D, and one-sided confidence bounds for the KSD of the population."""

    squared_ksd: float
    ksd: float
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

    def answer(self, summary: GramSummary, null: BoundingNull | None = None) -> Answer:
        """The decision that ``summary`` gives; ``null`` spares making it again."""
        null = null or self.calibration.null(summary, self.tau, self.estimator)
        squared = max(0.0, summary.mean) if self.estimator == "v" else summary.unbiased_mean
        ksd = math.sqrt(max(0.0, squared))
        return Answer(
            statistic=max(0.0, ksd - self.radius),
            pvalue=null.pvalue(ksd, self.radius),
            threshold=null.threshold(self.level, self.radius),
            level=self.level,
            squared_ksd=squared,
            ksd=ksd,
            lower_bound=null.lower_bound(ksd, self.level),
            upper_bound=upper_bound(null, ksd, self.level),
        )

    def ends(self, summary: GramSummary) -> tuple[Answer, Answer] | None:
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
