"""What a summary of the pairs decides, and whether an approximate one decides it for certain."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from steinball.calibration.base import BoundingNull, Calibration
from steinball.calibration.combination import as_calibration, check_combination, check_isolated, radius_of
from steinball.features import Supremum
from steinball.features.unbounded import Boundedness, boundedness
from steinball.gram.base import Gram, GramSummary
from steinball.gram.request import Request
from steinball.radius.base import Radius
from steinball.results.base import Decision
from steinball.results.equivalence import upper_bound
from steinball.stein import SteinProblem

__all__ = ["Answer", "Evidence", "Question"]


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


@dataclass(frozen=True, eq=False)
class Evidence:
    """All that a decision follows from; shared by the results for every radius and level.

    ``request`` is what ``summary`` answers. ``moved`` says whether jumps moved the data, which not every tolerated set
    survives; ``predictable`` whether kernel and tilt were chosen without them. ``remarks`` are what a result says of
    the data, ``isolated`` the number of points that the model excludes.
    """

    problem: SteinProblem
    gram: Gram
    request: Request
    summary: GramSummary
    calibration: Calibration
    seed: np.random.SeedSequence
    tau: Supremum
    estimator: str
    moved: bool = False
    predictable: bool = False
    remarks: Mapping[str, Any] = field(default_factory=dict)
    isolated: int = 0

    @cached_property
    def bounded(self) -> Boundedness:
        """What is known of sup u(x, x) < ∞."""
        return boundedness(self.problem, self.tau)

    @cached_property
    def null(self) -> BoundingNull:
        """The null distribution that the calibration makes of the summary."""
        return self.calibration.null(self.summary, self.tau, self.estimator)

    def question(self, radius: float, level: float) -> Question:
        """What is asked of the summary at one radius θ and level."""
        return Question(self.calibration, self.tau, self.estimator, radius, level)

    def radius_of(self, radius: Radius, known: float | None = None) -> float:
        """θ, after all checks and warnings a new radius or calibration calls for; ``known`` spares computing it."""
        check_combination(self.calibration, self.estimator, radius, self.moved)
        check_isolated(radius, self.isolated)
        return radius_of(radius, self.calibration, self.problem, self.tau, known)

    def extended(self, n_more: int) -> Evidence:
        """The same evidence with more bootstrap draws; the earlier ones are kept."""
        old, n = self.calibration.n_resamples, len(self.summary)
        if old == 0:
            raise TypeError(f"{self.calibration!r} makes no bootstrap draws, so there is nothing to extend.")
        calibration = dataclasses.replace(self.calibration, n_resamples=old + n_more)  # type: ignore[type-var]
        more = self.gram.summarise(
            dataclasses.replace(calibration.request(n, self.seed, old), orders=None, directions=None)
        )
        request = calibration.request(n, self.seed)
        return dataclasses.replace(self, calibration=calibration, request=request, summary=self.summary.join(more))

    def recalibrated(self, calibration: Calibration) -> Evidence:
        """The same answers, read by another calibration that asks for them too, or for less."""
        calibration = as_calibration(calibration).settled(self.problem)
        if missing := self.request.missing(calibration.request(len(self.summary), self.seed)):
            raise ValueError(
                f"`calibration={calibration!r}` needs {missing}, which this result of {self.calibration!r} does not "
                "hold. Only a calibration that asks for the same draws, as many of them and in the same orders, or for "
                "nothing, can be answered from it; otherwise run the test again."
            )
        if calibration.predictable and not self.predictable:
            raise ValueError(
                f"`calibration={calibration!r}` must not look ahead, and kernel and tilt of this result may come from "
                "its data. Run the test again with this calibration."
            )
        return dataclasses.replace(self, calibration=calibration)
