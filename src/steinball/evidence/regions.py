"""Rows counted in regions: what they say for every tolerance, of one model or of a whole family."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from steinball.arrays import Floats
from steinball.calibration.base import draw_quantile
from steinball.evidence.base import Evidence, surprise
from steinball.models.family import Family
from steinball.radius.base import Radius
from steinball.regions.counted import Counted, Null, Region, rows_needed
from steinball.regions.member import Column, Member
from steinball.regions.reading import Reading
from steinball.regions.tails import Question

_STEP = 0.005  # tolerated shares at which p-values are looked up: they may fall a little where more is tolerated


def question_of(tolerated: Radius) -> Question:
    """What is asked where this is tolerated."""
    return "tolerance" if tolerated.contamination is None else "contamination"


@dataclass(frozen=True, eq=False)
class RegionEvidence(Evidence):
    """The counts of rows in regions, and the simulated null of the contamination that was asked for.

    Attributes
    ----------
    counted : Counted
        Rows in the regions of a design.
    null : Null or None
        Simulated at one tolerated contamination; at all others, and for differences of shares, binomial tails count
        (theorems B and F of docs/theory/regions.md).
    reading : Reading
        The model as regions see it.
    learned : RegionEvidence or None
        The same of views that were learned on one half of the rows, at the other half. Each of both gets half of the
        level: p = min(1, 2 min p), and all bounds are the larger ones at half of the level (union bound).
    """

    counted: Counted
    null: Null | None
    reading: Reading
    learned: RegionEvidence | None = None

    @property
    def parts(self) -> list[RegionEvidence]:
        """The fixed views alone, and the learned ones where there are any."""
        return [self] if self.learned is None else [self._fixed, self.learned]

    @cached_property
    def _fixed(self) -> RegionEvidence:
        return replace(self, learned=None)

    @property
    def views(self) -> int:
        """Number of views."""
        return sum(part.counted.design.views for part in self.parts)

    @property
    def n_resamples(self) -> int:  # type: ignore[override]
        """Number of replicates that the level asks for; 0 without a simulation, half where the level is halved."""
        found = [0 if part.null is None else len(part.null.statistics) for part in self.parts]
        return 0 if 0 in found else max(found) // len(found)

    def numbers(self, tolerated: Radius, level: float) -> dict[str, Any]:
        """The numbers of one tolerated set and level."""
        question, share = question_of(tolerated), float(tolerated.amount or 0.0)
        null, pvalue = self._simulated(question, share), self.pvalue(question, share)
        low, high = self.bound("tolerance", level), self.upper_bound(level)
        statistic, threshold = surprise(pvalue, level)
        if null is not None and self.learned is None:  # the surprise of the region that decides, and what rejects
            surprising = -self.counted.statistic(share)
            statistic, threshold = surprising - 1e-9 * abs(surprising), draw_quantile(-null.statistics, level)
        return {
            "n": len(self.reading.rows),
            "dimension": self.reading.source.columns,
            "views": self.views,
            "statistic": statistic,
            "threshold": threshold,
            "pvalue": pvalue,
            "tolerance": share if question == "tolerance" else None,
            "contamination_bound": self.share_bound(tolerated, level),
            "difference_interval": (low, high),
            "rows_needed": self.needed(share, level),
            "calibration": "BinomialTails" if null is None else "MonteCarlo",
            "n_resamples": 0 if null is None else len(null.statistics),
        }

    def _simulated(self, question: Question, share: float) -> Null | None:
        """The null of one share, where it was simulated."""
        here = self.null is not None and question == "contamination" and share == self.null.share
        return self.null if here else None

    def pvalue(self, question: Question, share: float) -> float:
        """The p-value at one share: simulated where it was simulated, otherwise the largest up to there."""
        if self.learned is not None:
            return min(1.0, 2.0 * min(part.pvalue(question, share) for part in self.parts))
        if (null := self._simulated(question, share)) is not None:
            return self.counted.pvalue(null)
        found = self.counted.bonferroni(question, share)
        return found if found >= 1.0 else max(found, self._climbed(question, math.floor(share / _STEP + 1e-9)))

    def _climbed(self, question: Question, steps: int) -> float:
        """The largest p-value up to so many steps of half a percent, as far as it was asked for or is 1."""
        known: list[float] = self.once(("climbed", question), lambda: [0.0])
        while len(known) <= steps + 1 and known[-1] < 1.0:
            known.append(max(known[-1], self.counted.bonferroni(question, (len(known) - 1) * _STEP)))
        return known[min(steps + 1, len(known) - 1)]

    def pvalues(self, tolerated: Radius, amounts: Floats) -> list[float]:
        """The p-value at each share."""
        return [self.pvalue(question_of(tolerated), float(amount)) for amount in amounts]

    def bound(self, question: Question, level: float) -> float:
        """The share of contamination, or the difference of shares, that the rows prove at confidence 1 − level."""
        if self.learned is not None:
            return max(part.bound(question, level / 2.0) for part in self.parts)
        return self.once(("bound", question, level), lambda: float(self.counted.bound(question, level)))

    def share_bound(self, tolerated: Radius, level: float) -> float:
        """The share of contamination that is proved, whatever is tolerated."""
        return self.bound("contamination", level)

    def upper_bound(self, level: float) -> float:
        """No region's shares differ by more, at confidence 1 − level."""
        if self.learned is not None:
            return max(part.upper_bound(level / 2.0) for part in self.parts)
        return self.once(("upper", level), lambda: float(self.counted.upper(level)))

    def needed(self, share: float, level: float) -> float:
        """About so many rows of a true model show that no share differs by more; learned views see half of them.

        Infinite where no number does.
        """
        low = self.bound("tolerance", level)
        found = [rows_needed(share, low, part.counted.design.views) for part in self.parts] if share > 0.0 else []
        return max(len(found) * found[-1], found[0]) if found else math.inf

    def region(self, question: Question, share: float) -> Region:
        """The region that decides; families of learned views are numbered behind all others."""
        if self.learned is not None:
            part = min(self.parts, key=lambda part: part.pvalue(question, share))
            found, fixed = part.region(question, share), len(self.counted.design.cuts)
            return found if part is not self.learned else replace(found, family=found.family + fixed)
        return self.once(("region", question, share), lambda: self.counted.region(question, share))

    def part_of(self, region: Region) -> tuple[RegionEvidence, int]:
        """The part that a region is from, and the number of its family there."""
        fixed = len(self.counted.design.cuts)
        if self.learned is None or region.family < fixed:
            return self, region.family
        return self.learned, region.family - fixed

    def check(self, tolerated: Radius) -> None:
        """Refuse what is neither a share of contamination nor a difference of shares."""
        if tolerated.contamination is None and (tolerated.amount is None or tolerated.variation != tolerated.amount):
            raise TypeError(f"regions tolerate `contamination` or `tolerance`, a share, and not {tolerated!r}.")

    def sliding(self, tolerated: Radius) -> Radius | None:
        """The same kind of set."""
        return tolerated


KUIPER, KUIPER_LEVEL = 1.75, 0.05
"""√n times Kuiper's distance of n rows from their distribution exceeds this with probability below the level."""


@dataclass(frozen=True, eq=False, kw_only=True)
class FamilyRegionEvidence(RegionEvidence):
    """The counts of rows in the regions of the member with the largest p-value (theorem D of docs/theory/regions.md).

    Attributes
    ----------
    family, column, member
        The family, the rows in order, and the member.
    """

    family: Family
    column: Column
    member: Member

    @cached_property
    def kuiper(self) -> float:
        """V, the largest difference between the share of rows in an interval and the probability of the member."""
        u, n = self.column.heights(self.family, self.member.params), self.column.n
        above, below = np.arange(1, len(u) + 1) / n - u, u - np.arange(len(u)) / n
        outside = 1.0 - len(u) / n  # may lie on either side
        return float(max(above.max(initial=0.0), 0.0) + outside + max(below.max(initial=0.0), outside))

    def bound(self, question: Question, level: float) -> float:
        """0: the bounds of a known model do not hold for a member that the rows chose."""
        return 0.0

    def upper_bound(self, level: float) -> float:
        """V + 1.75/√n, which holds for all intervals at once and so for a member that the rows chose; at level .05."""
        return self.kuiper + KUIPER / math.sqrt(self.column.n) if level == KUIPER_LEVEL else math.inf

    def needed(self, share: float, level: float) -> float:
        """Infinite: how many rows show a family to be good enough is not known."""
        return math.inf

    def check(self, tolerated: Radius) -> None:
        """Refuse what needs another search over the members."""
        if tolerated.contamination is None:
            raise ValueError("`radius` cannot be given for a family: each member has its own. Give `contamination`.")
        assert self.null is not None
        if tolerated.contamination != self.null.share:
            raise ValueError(
                "another tolerance needs another search over the family: run the test again with "
                f"`contamination={tolerated.contamination:g}` instead of `at`."
            )

    def sliding(self, tolerated: Radius) -> None:
        """Each tolerance needs another search, which no slider makes."""
