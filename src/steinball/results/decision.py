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
from steinball.calibration.combination import (
    as_calibration,
    check_combination,
    check_every_row,
    check_isolated,
    radius_of,
)
from steinball.calibration.deviation import hoeffding
from steinball.features import Supremum, tilt_efficiency
from steinball.features.unbounded import Boundedness, boundedness
from steinball.gram.base import Gram, GramSummary
from steinball.gram.request import Request
from steinball.jumps.separated import is_multimodal
from steinball.radius.base import Radius
from steinball.results.base import Decision
from steinball.results.equivalence import upper_bound
from steinball.stein import SteinProblem

__all__ = ["Answer", "Evidence", "Question"]

_DRAWS = 512
_VISITS = 10.0
"""Below so many visits to where a point weighs most, draws may miss it: their bound then missed .12 to .31 of the time
(docs/theory/equivalence.md)."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Answer(Decision):
    """The numbers of one decision: D² and D, and one-sided confidence bounds for the KSD of the population."""

    squared_ksd: float
    ksd: float
    lower_bound: float
    upper_bound: float


@dataclass(frozen=True, eq=False)
class Question:
    """Everything but the pairs: calibration, τ, estimator, radius θ and level.

    ``rare`` says that what weighs most under the model is too rare for the draws to have seen it, so that the upper
    bound of the KSD must not come from them.
    """

    calibration: Calibration
    tau: Supremum
    estimator: str
    radius: float
    level: float
    rare: bool = False

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
            upper_bound=self.upper_bound(null, ksd, len(summary)),
        )

    def upper_bound(self, null: BoundingNull, ksd: float, n: int) -> float:
        """An upper bound of the KSD of the population at confidence 1 − ``level``."""
        return hoeffding(ksd, self.tau.value, n, self.level) if self.rare else upper_bound(null, ksd, self.level)

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

    def settled_by(self, summary: GramSummary) -> bool:
        """Whether ``summary`` decides for certain."""
        return self.grade(summary) != "approximate"


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
        return Question(self.calibration, self.tau, self.estimator, radius, level, self.rare)

    @cached_property
    def visits(self) -> float:
        """n E_P u(X, X) / τ: about how many of n points of the model lie where a point weighs most (over the data,
        where the model has no sampler)."""
        return len(self.summary) * tilt_efficiency(self.problem, self.tau.value, _DRAWS) if self.tau.value > 0 else 0.0

    @property
    def rare(self) -> bool:
        """Whether the bound of the KSD from above is Hoeffding's, which needs no draw to have seen what matters."""
        return self.tau.is_upper_bound and self.visits < _VISITS

    def doubt(self) -> str:
        """Why these data cannot be called good enough, whatever the bound says; empty where they can."""
        if not self.moved and is_multimodal(self.problem.model):
            return "the score of this model does not know the weights of its separated modes"
        if not self.tau.is_upper_bound and self.visits < _VISITS:
            return "places that matter are so rare under the model that a sample of this size need not show them"
        return ""

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
        check_every_row(as_calibration(calibration), self.isolated)
        calibration = calibration.settled(self.problem)
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
