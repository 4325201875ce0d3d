"""What every kind of evidence answers: the decision at a tolerance and level, and the same along many tolerances."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from steinball.arrays import Floats, check_level, to_host
from steinball.gram.base import GramSummary
from steinball.problem import Findings, Problem
from steinball.radius import Huber, Radius
from steinball.remarks import Remark

_HAIR = 1e-12
GOOD_ENOUGH = "good enough"
CLOSE = "close in KSD"
"""The best that a test of scores can say: a small distance does not make shares of rows alike."""


def three_way_verdict(rejected: bool, upper: float, limit: float, close: str = GOOD_ENOUGH) -> str:
    """``"misfit"``, the best answer of the test (``close``) or ``"undecided"``.

    *Misfit*: the hypothesis that the misfit is within ``limit`` was rejected. *Close*: the reversed hypothesis was,
    since an upper confidence bound lies within the limit; never at a limit of 0, which no data can certify.
    *Undecided*: neither.

    Examples
    --------
    >>> three_way_verdict(False, 0.08, 0.1), three_way_verdict(False, 0.12, 0.1), three_way_verdict(True, 0.4, 0.1)
    ('good enough', 'undecided', 'misfit')
    """
    if rejected:
        return "misfit"
    return close if limit > 0.0 and upper <= limit else "undecided"


def surprise(pvalue: float, level: float) -> tuple[float, float]:
    """−log p, and what it must exceed where a p-value alone decides; the p-value decides, not the rounding of it.

    Examples
    --------
    >>> statistic, threshold = surprise(0.05, 0.05)
    >>> statistic > threshold
    True
    """
    limit = -math.log(level)
    return abs(math.log(max(pvalue, 1e-300))), limit - _HAIR * (1.0 + abs(limit))


def last_place(holds: Callable[[float], bool], low: float, high: float, steps: int = 40) -> float:
    """Where ``holds`` ends to be true, between a place where it is and one where it is not, by bisection from below.

    Examples
    --------
    >>> round(last_place(lambda share: share <= 0.3, 0.0, 1.0), 6)
    0.3
    """
    for _ in range(steps):
        middle = (low + high) / 2.0
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low


@dataclass(frozen=True, eq=False, kw_only=True)
class Decision:
    """A p-value with its level, and a statistic with its threshold.

    Examples
    --------
    >>> Decision(statistic=0.4, pvalue=0.01, threshold=0.2, level=0.05).rejected
    True
    """

    statistic: float
    pvalue: float
    threshold: float
    level: float

    @property
    def rejected(self) -> bool:
        """``pvalue <= level and statistic > threshold``: the rule of every test.

        The two conditions say the same, except for U-statistics. Their quantile may be negative; then the threshold is
        infinite and nothing is rejected (paper, App. C).
        """
        return self.pvalue <= self.level and self.statistic > self.threshold


@dataclass(frozen=True, eq=False)
class Curve:
    """p-values and verdicts of one test along amounts of tolerance, at one level.

    Attributes
    ----------
    amounts, pvalues, limits : (m,) arrays
        The amounts, the p-value at each, and the largest upper bound of the misfit that each allows.
    verdicts : tuple of str
        The verdict at each amount.
    close : str
        The best that the test can say.
    """

    amounts: Floats
    pvalues: Floats
    limits: Floats
    verdicts: tuple[str, ...]
    close: str


class Evidence(Findings, ABC):
    """All that decisions follow from: one object, shared by the results at every tolerance and level.

    ``n_resamples`` is the number of draws, which limits the levels that can be decided; 0 without draws.
    ``close`` is the best that the test can say of a model.
    """

    n_resamples: int
    close: ClassVar[str] = GOOD_ENOUGH

    def decide(self, tolerated: Radius, level: float) -> dict[str, Any]:
        """The fields of the result at a tolerated set and level."""
        asked = {"level": level, "contamination": tolerated.contamination, "_tolerated": tolerated, "_evidence": self}
        return asked | self.numbers(tolerated, level)

    @abstractmethod
    def numbers(self, tolerated: Radius, level: float) -> dict[str, Any]:
        """The fields that the evidence gives: statistic, p-value and threshold, and those that stay the same."""

    def curve(self, tolerated: Radius, amounts: Floats, level: float) -> Curve:
        """The same along many amounts of one kind of tolerated set, in one call and without whole results."""
        pvalues, limits = np.array(self.pvalues(tolerated, amounts)), self.limits(tolerated, amounts)
        rejected, upper = (pvalues <= level) & self.decidable(level), self.upper_bound(level)
        pairs = zip(rejected.tolist(), limits.tolist(), strict=True)
        verdicts = tuple(three_way_verdict(out, upper, limit, self.close) for out, limit in pairs)
        return Curve(amounts, pvalues, limits, verdicts, self.close)

    def verdict(self, rejected: bool, tolerated: Radius, level: float) -> str:
        """What a decision comes to: a misfit, undecided, or the best that the test can say."""
        upper = self.once(("upper bound", level), lambda: self.upper_bound(level))
        return three_way_verdict(rejected, upper, self.limit(tolerated), self.close)

    @abstractmethod
    def pvalues(self, tolerated: Radius, amounts: Floats) -> Any:
        """The p-value at each amount."""

    def share_bound(self, tolerated: Radius, level: float) -> float:
        """The share of contamination that is proved at confidence 1 − ``level``."""
        return float(self.numbers(tolerated, level)["contamination_bound"])

    def limit(self, tolerated: Radius) -> float:
        """The largest upper bound of the misfit that a set allows."""
        return float(tolerated.amount or 0.0)

    def limits(self, tolerated: Radius, amounts: Floats) -> Floats:
        """The same at each amount of one kind of tolerated set."""
        return np.array([self.limit(tolerated.resized(float(amount))) for amount in amounts])

    def upper_bound(self, level: float) -> float:
        """An upper bound of the misfit at confidence 1 − ``level``; infinite where none is known or can be trusted."""
        return math.inf

    def decidable(self, level: float) -> bool:
        """Whether anything can be rejected at ``level``."""
        return True

    def check(self, tolerated: Radius) -> None:
        """Refuse a set that this test cannot tolerate."""
        if tolerated.contamination is None:
            raise TypeError(f"this test tolerates a share of contamination, and not {tolerated!r}.")

    def remarks(self, tolerated: Radius) -> Iterator[Remark]:
        """What has to be said of a set without refusing it."""
        return iter(())

    def recalibrated(self, calibration: Any) -> Evidence:
        """The same answers, read by another calibration."""
        raise TypeError("`calibration` cannot be changed: the draws of this test serve one calibration alone.")

    def extended(self, n_more: int) -> Evidence:
        """The same evidence with more draws."""
        raise TypeError("this test cannot be extended by further draws: run it again with more `n_resamples`.")

    def checked_level(self, level: float) -> float:
        """A level that the draws can reach."""
        return check_level(level, self.n_resamples)

    def sliding(self, tolerated: Radius) -> Radius | None:
        """The set whose amount sliders and pictures change; ``None`` where no other can be tolerated."""
        return tolerated if tolerated.contamination is not None else Huber(0.0)

    def pair_sums(self, tolerated: Radius, level: float) -> tuple[PairSums, ...]:
        """The sums over pairs under every kernel, the leading one first; empty where none are kept."""
        return ()

    def distance(self) -> float:
        """The amount on the scale of :meth:`limits` at which p-values jump to 1; NaN where they do not."""
        return math.nan


@dataclass(frozen=True, eq=False)
class PairSums:
    """The sums over pairs under one kernel, and what D had to exceed.

    Attributes
    ----------
    problem : Problem
        Samples, model, kernel and tilt; without the points that the model excludes.
    summary : GramSummary
        The sums over all points.
    critical : float
        What D had to exceed for a rejection under this kernel; infinite where no D rejects, NaN where it is not known.
    radius, tau : float
        θ, and the supremum of u(x, x) that was used; NaN where none was.
    estimator : {"v", "u"}
        V-statistic or U-statistic.
    bounded : str
        What is known of sup u(x, x) < ∞.
    """

    problem: Problem
    summary: GramSummary
    critical: float
    radius: float = 0.0
    tau: float = math.nan
    estimator: str = "v"
    bounded: str = "apparent"

    def __len__(self) -> int:
        return len(self.summary)

    @cached_property
    def row_means(self) -> Floats:
        """(1/n) Σⱼ u(xᵢ, xⱼ) of all points, on the host."""
        return to_host(self.summary.row_means)

    @cached_property
    def diagonal(self) -> Floats:
        """u(xᵢ, xᵢ) of all points, on the host."""
        return to_host(self.summary.diagonal)

    @property
    def rows(self) -> NDArray[np.intp]:
        """Places of the points that are in ``problem``."""
        return self.problem.rows.kept

    @property
    def contributions(self) -> Floats:
        """What each point adds to D²."""
        n = len(self)
        if self.estimator == "v":
            return self.row_means / n
        return np.asarray((n * self.row_means - self.diagonal) / (n * (n - 1)))

    @property
    def ksd(self) -> float:
        """D."""
        return math.sqrt(max(0.0, float(self.contributions.sum())))

    @property
    def length(self) -> float:
        """The norm of the mean embedding: D of the V-statistic."""
        return math.sqrt(max(0.0, float(self.row_means.mean())))
