"""All that the pictures and the page of a result are drawn from, worked out once and only when it is needed."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steinball.evidence.base import PairSums
from steinball.explain.explanation import Explanation
from steinball.explain.regions import Profile
from steinball.results.base import Result
from steinball.show.tolerance import Zones, zones_of
from steinball.show.view import View, view_of

TOP = 10
"""Points that are named."""


@dataclass(frozen=True, eq=False)
class Scene:
    """A result, and the frame that was tested where there is one."""

    result: Result
    data: Any = None

    @cached_property
    def explanation(self) -> Explanation:
        """Which points, columns and places count."""
        return self.result.explain(self.data, top=min(TOP, self.result.n))

    @cached_property
    def sums(self) -> PairSums:
        """What the leading kernel says of every point."""
        return self.result._sums()[0]

    @cached_property
    def blamed(self) -> NDArray[np.intp]:
        """The most responsible points: ten, or as many as must be conceded to be contaminated."""
        found = self.explanation.contributions
        many = max(min(TOP, self.result.n), math.ceil(self.result.contamination_bound * self.result.n))
        order = np.argsort(-found, kind="stable")[:many]
        return order[found[order] > 0.0]

    @cached_property
    def view(self) -> View:
        """The data in their window."""
        return view_of(self.explanation, self.sums, self.blamed)

    @cached_property
    def profile(self) -> Profile:
        """The view that decides, where shares of rows were compared."""
        found = self.result._profile()
        assert found is not None
        return found

    @cached_property
    def zones(self) -> Zones:
        """The p-value against the tolerance."""
        return zones_of(self.result)
