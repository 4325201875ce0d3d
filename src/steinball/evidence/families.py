"""A family compared with rows in regions: what the closest member says of all members."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from steinball.arrays import Floats
from steinball.evidence.regions import RegionEvidence
from steinball.models.family import Family
from steinball.radius.base import Radius
from steinball.regions.member import Column, Member
from steinball.regions.tails import Question

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

    def pvalues(self, tolerated: Radius, amounts: Floats) -> list[float]:
        """The p-value at the share that was asked for."""
        for amount in amounts:
            self.check(tolerated.resized(float(amount)))
        return super().pvalues(tolerated, amounts)

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
