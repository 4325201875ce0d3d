"""The evidence of a kernel Stein test: pairs of points under one kernel, and how a calibration reads them."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from steinball.arrays import Floats
from steinball.calibration import BoundingNull, Calibration, combination
from steinball.calibration.deviation import hoeffding
from steinball.evidence.base import CLOSE, Decision, Evidence, PairSums
from steinball.evidence.bounds import upper_bound
from steinball.gram.base import Gram, GramSummary
from steinball.gram.cost import check_room
from steinball.gram.request import Request
from steinball.jumps.modes import count_groups
from steinball.problem import Problem
from steinball.radius import FixedRadius, Huber, Radius
from steinball.remarks import Remark
from steinball.tau.certificate import Supremum
from steinball.tau.supremum import Boundedness, boundedness

_VISITS = 10.0
"""Below so many visits to where a point weighs most, draws may miss it: their bound then missed .12 to .31 of the time
(docs/theory/equivalence.md)."""


@dataclass(frozen=True, eq=False)
class Reading:
    """Sums over pairs as calibration, τ and estimator read them: decisions and one-sided confidence bounds.

    ``rare`` says that what weighs most under the model is too rare for the draws to have seen it, so that the upper
    bound of the KSD must not come from them.
    """

    summary: GramSummary
    calibration: Calibration
    tau: Supremum
    estimator: str
    rare: bool = False

    @cached_property
    def null(self) -> BoundingNull:
        """The null distribution that the calibration makes of the sums."""
        return self.calibration.null(self.summary, self.tau, self.estimator)

    @cached_property
    def ends(self) -> list[Reading]:
        """The same of the sums most and least inclined to reject within their bounds; none without bounds."""
        return [self.at(end) for end in self.summary.ends() or ()]

    def at(self, summary: GramSummary) -> Reading:
        """The same of these sums, as if they were exact."""
        return dataclasses.replace(self, summary=dataclasses.replace(summary, grade="exact"))

    @property
    def squared_ksd(self) -> float:
        """D²; the U-statistic may be negative."""
        return max(0.0, self.summary.mean) if self.estimator == "v" else self.summary.unbiased_mean

    @cached_property
    def ksd(self) -> float:
        """D."""
        return math.sqrt(max(0.0, self.squared_ksd))

    def decide(self, radius: float, level: float) -> Decision:
        """The decision at the radius θ."""
        return Decision(
            statistic=max(0.0, self.ksd - radius),
            pvalue=self.null.pvalue(self.ksd, radius),
            threshold=self.null.threshold(level, radius),
            level=level,
        )

    def lower_bound(self, level: float) -> float:
        """A lower bound of the KSD of the population at confidence 1 − ``level``, at both ends of approximate sums."""
        return min(side.null.lower_bound(side.ksd, level) for side in self.ends or [self])

    def share_bound(self, level: float) -> float:
        """The same of the share of contamination."""
        if self.tau.value <= 0.0:
            return 0.0
        return min(side.null.share_bound(side.ksd, level, self.tau.value) for side in self.ends or [self])

    def upper_bound(self, level: float) -> float:
        """An upper bound of the KSD of the population at confidence 1 − ``level``: above the V-statistic.

        √max(0, D²_U) is 0 for half of all samples near the model, and a bound above it misses too often. Between two
        ends it holds for every D and all draws: it has the largest D, and the largest quantile or standard error.
        """
        favorable, unfavorable = self.ends or (self, self)
        mean = favorable.summary.mean
        ksd = math.sqrt(max(0.0, mean))
        if self.rare:
            return hoeffding(ksd, self.tau.value, len(self.summary), level)
        null = self.null
        if self.ends:
            null = self.at(dataclasses.replace(unfavorable.summary, mean=mean)).null
        return upper_bound(null, ksd, level, favorable.null.draws)

    def grade(self, radius: float, level: float) -> str:
        """``"exact"``; ``"certified"`` when both ends decide alike; otherwise ``"approximate"``.

        Between two ends that decide alike so does everything else, unless a U-statistic's quantile crosses 0 on the
        way: below 0 nothing is rejected (App. C), and a larger quantile then favors a rejection.
        """
        if self.summary.grade == "exact":
            return "exact"
        decisions = [end.decide(radius, level) for end in self.ends]
        alike = {(decision.rejected, math.isinf(decision.threshold)) for decision in decisions}
        return "certified" if len(alike) == 1 else "approximate"


@dataclass(frozen=True, eq=False)
class KSDEvidence(Evidence):
    """All that a decision of a kernel Stein test follows from.

    ``request`` is what ``summary`` answers. ``moved`` says whether jumps moved the data, which not every tolerated set
    survives; ``predictable`` whether kernel and tilt were chosen without them.
    """

    problem: Problem
    gram: Gram
    request: Request
    summary: GramSummary
    calibration: Calibration
    seed: np.random.SeedSequence
    tau: Supremum
    estimator: str
    moved: bool = False
    predictable: bool = False
    close: ClassVar[str] = CLOSE

    @property
    def n_resamples(self) -> int:  # type: ignore[override]
        """Number of bootstrap draws."""
        return self.calibration.n_resamples

    @cached_property
    def bounded(self) -> Boundedness:
        """What is known of sup u(x, x) < ∞."""
        return "proved" if self.tau.is_proved else boundedness(self.problem, self.tau)

    @cached_property
    def reading(self) -> Reading:
        """The sums as calibration, τ and estimator read them."""
        return Reading(self.summary, self.calibration, self.tau, self.estimator, self.rare)

    @property
    def null(self) -> BoundingNull:
        """The null distribution that the calibration makes of the summary."""
        return self.reading.null

    @cached_property
    def visits(self) -> float:
        """n E_P u(X, X) / τ: about how many of n points of the model lie where a point weighs most (over the data,
        where the model has no sampler)."""
        return len(self.summary) * self.problem.efficiency(self.tau.value) if self.tau.value > 0 else 0.0

    @property
    def rare(self) -> bool:
        """Whether the bound of the KSD from above is Hoeffding's, which needs no draw to have seen what matters."""
        return self.tau.is_upper_bound and self.visits < _VISITS

    @cached_property
    def doubt(self) -> str:
        """Why these data cannot be called close, whatever the bound says; empty where they can."""
        if not self.moved and (count_groups(self.problem.model) or 1) > 1:
            return "the score of this model does not know the weights of its separated modes"
        if not self.tau.is_upper_bound and self.visits < _VISITS:
            return "places that matter are so rare under the model that a sample of this size need not show them"
        return ""

    # The decision.

    def numbers(self, tolerated: Radius, level: float) -> dict[str, Any]:
        """The numbers of one tolerated set and level."""
        evidence, theta = self.for_set(tolerated), self.limit(tolerated)
        reading, summary = evidence.reading, self.summary
        upper, told = reading.upper_bound(level), dict(summary.details)
        if reading.ends:
            most, least = reading.ends
            told["ksd_bounds"] = least.ksd, most.ksd
            told["pvalue_bounds"] = most.null.pvalue(most.ksd, theta), least.null.pvalue(least.ksd, theta)
        return {
            **vars(reading.decide(theta, level)),
            "squared_ksd": reading.squared_ksd,
            "ksd": reading.ksd,
            "n": len(summary),
            "dimension": int(self.problem.samples.shape[1]),
            "tau": self.tau.value,
            "tau_kind": self.tau.kind,
            "bounded": self.bounded,
            "estimator": self.estimator,
            "kernel": self.problem.stein.kernel,
            "tilt": self.problem.stein.tilt,
            "engine": summary.engine,
            "lower_bound": reading.lower_bound(level),
            "upper_bound": upper,
            "contamination_bound": evidence.share_bound(tolerated, level),
            "radius": theta,
            "calibration": type(self.calibration).__name__,
            "n_resamples": self.calibration.n_resamples,
            "grade": reading.grade(theta, level),
            "details": told | self.problem.rows.remarks | reading.null.remarks(reading.ksd, level),
            "_evidence": evidence,
            "_doubt": self.doubt if upper <= theta else "",
        }

    def pvalues(self, tolerated: Radius, amounts: Floats) -> list[float]:
        """The p-value at each amount."""
        ksd, sets = self.distance(), [tolerated.resized(float(amount)) for amount in amounts]
        return [self.for_set(one).null.pvalue(ksd, self.limit(one)) for one in sets]

    def share_bound(self, tolerated: Radius, level: float) -> float:
        """The share of contamination that is proved; 0 where u(x, x) has no bound."""
        return 0.0 if self.bounded == "unbounded" else self.for_set(tolerated).reading.share_bound(level)

    def limit(self, tolerated: Radius) -> float:
        """θ of a tolerated set, worked out once: some sets need thousands of draws."""

        def found() -> tuple[float, Radius, Supremum]:  # holds what it is about, so that no other gets its place
            return combination.radius_of(tolerated, self.calibration, self.problem, self.tau), tolerated, self.tau

        return self.problem.once(("radius", id(tolerated), id(self.tau)), found)[0]

    def upper_bound(self, level: float) -> float:
        """An upper bound of the KSD of the population, at both ends of an approximate summary; infinite where it must
        not be called close."""
        if self.bounded in ("unbounded", "unknown") or self.doubt:
            return math.inf
        return self.reading.upper_bound(level)

    def interval(self, level: float) -> tuple[float, float]:
        """A two-sided confidence interval for the KSD of the population: bounds at half of ``level`` each."""
        return self.reading.lower_bound(level / 2.0), self.reading.upper_bound(level / 2.0)

    def decidable(self, level: float) -> bool:
        """A U-statistic whose quantile is negative rejects nothing (paper, App. C)."""
        return self.estimator == "v" or math.isfinite(self.null.threshold(level, 0.0))

    def distance(self) -> float:
        """D."""
        return self.reading.ksd

    # Other tolerated sets, draws and calibrations.

    def check(self, tolerated: Radius) -> None:
        """Refuse a set that does not go with the calibration, the estimator, jumps or excluded points."""
        combination.check_combination(self.calibration, self.estimator, tolerated, self.moved)
        combination.check_isolated(tolerated, len(self.problem.rows.excluded))

    def remarks(self, tolerated: Radius) -> Iterator[Remark]:
        """Remarks on boundedness and removal."""
        return combination.doubts(tolerated, self.calibration, self.problem, self.tau)

    def sliding(self, tolerated: Radius) -> Radius | None:
        """The tolerated set itself where it has an amount, otherwise a distance, or else a share of contamination."""
        for kind in (tolerated, FixedRadius(self.limit(tolerated)), Huber(0.0)):
            some = kind.resized(0.5) if kind.sized_by else None
            if some is not None and self.calibration.tolerates(some) and (not self.moved or some.closed_under_moves):
                return kind
        return None

    def for_set(self, tolerated: Radius) -> KSDEvidence:
        """The same, read by its calibration for the set behind ``tolerated``."""
        calibration = self.calibration.for_set(tolerated, self.problem, self.tau)
        return self if calibration == self.calibration else dataclasses.replace(self, calibration=calibration)

    def extended(self, n_more: int) -> KSDEvidence:
        """The same evidence with more bootstrap draws; the earlier ones are kept."""
        old, n = self.calibration.n_resamples, len(self.summary)
        if old == 0:
            raise TypeError(f"{self.calibration!r} makes no bootstrap draws, so there is nothing to extend.")
        check_room(2 * n * n_more, f"n_more={n_more}")
        calibration = dataclasses.replace(self.calibration, n_resamples=old + n_more)  # type: ignore[type-var]
        more = self.gram.summarise(
            dataclasses.replace(calibration.request(n, self.seed, old), orders=None, directions=None)
        )
        request = calibration.request(n, self.seed)
        return dataclasses.replace(self, calibration=calibration, request=request, summary=self.summary.join(more))

    def recalibrated(self, calibration: Calibration) -> KSDEvidence:
        """The same answers, read by another calibration that asks for them too, or for less."""
        combination.check_rows_and_model(combination.as_calibration(calibration), self.problem.rows)
        calibration = calibration.for_rows(self.problem)
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

    def pair_sums(self, tolerated: Radius, level: float) -> tuple[PairSums, ...]:
        """What explanations are made from."""
        radius = self.limit(tolerated)
        critical = radius + self.null.threshold(level, radius) if self.null.by_distance else math.nan
        return (PairSums(self.problem, self.summary, critical, radius, self.tau.value, self.estimator, self.bounded),)


@dataclass(frozen=True, eq=False, kw_only=True)
class FamilyEvidence(KSDEvidence):
    """The evidence about a family, at the fitted member."""

    @property
    def doubt(self) -> str:
        """The bounds of a known model do not hold for one that the data chose."""
        return "the member of the family was chosen by the same data"

    def numbers(self, tolerated: Radius, level: float) -> dict[str, Any]:
        """The numbers of one level, and what there is to doubt."""
        return {**super().numbers(tolerated, level), "_doubt": self.doubt}

    def share_bound(self, tolerated: Radius, level: float) -> float:
        """Nothing: a member that was not fitted may need less contamination."""
        return 0.0

    def check(self, tolerated: Radius) -> None:
        """Refuse a tolerance, which is a question about all members."""
        if tolerated.contamination is None:
            raise ValueError("`radius` cannot be given for a family: each member has its own. Give `contamination`.")
        if tolerated.contamination > 0.0:
            raise ValueError(
                "a tolerance is a question about all members of the family: run `fit_test` again with "
                f"`contamination={tolerated.contamination:g}` instead of `at`."
            )
        super().check(tolerated)

    def sliding(self, tolerated: Radius) -> None:
        """No slider: only 0 is tolerated."""
