"""The decision on a whole family by shares of rows in regions."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, ClassVar

from steinball.evidence.families import FamilyRegionEvidence
from steinball.explain.regions import points
from steinball.results.regions import RegionResult
from steinball.text import Row, count, number, percent, short


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class RegionFitResult(RegionResult):
    """The result of :func:`steinball.fit_test` with a tolerance in one column: a :class:`RegionResult`, and more.

    Attributes
    ----------
    family : str
        The family.
    params : dict
        The closest member, the one with the largest p-value, by names; ``pvalue`` and the region are of this member.
    known_params : dict
        Parameters that were not fitted.

    Notes
    -----
    ``rejected`` is about every member. ``"good enough"`` is said of the closest member: in no interval do the shares of
    rows and its probabilities differ by more than is tolerated. It is said at level .05 alone, and
    ``contamination_bound`` is 0: the bounds of a known model do not hold for a member that the rows chose.

    Examples
    --------
    >>> import numpy as np, steinball as sb
    >>> x = np.random.default_rng(0).normal(3.0, 2.0, size=500)
    >>> x[::25] = 40.0
    >>> result = sb.fit_test(x, "normal", contamination=0.05)
    >>> result.rejected, {name: round(value) for name, value in result.params.items()}
    (False, {'mean': 3, 'sd': 2})
    >>> sb.fit_test(np.random.default_rng(0).uniform(size=500), "normal", contamination=0.05).rejected
    True
    """

    family: str = ""
    params: dict[str, float] = field(default_factory=dict)
    known_params: dict[str, float] = field(default_factory=dict)
    _evidence: FamilyRegionEvidence

    schema: ClassVar[str] = "steinball.region-fit/1"
    _shown: ClassVar[tuple[str, ...]] = ("family",)
    _target: ClassVar[str] = "the family"

    @property
    def model(self) -> Any:
        """The closest member."""
        return self._evidence.family.model(self._evidence.member.params)

    @property
    def title(self) -> str:
        """With the name of the family."""
        return f"Region test of a fitted family: {self.family}"

    def summary(self, details: bool = False) -> str:
        """The closest member in a line, and then the result as of every test; ``details=True``: a table."""
        return super().summary(details) if details else f"{self._fit_line()}\n{super().summary()}"

    def _fit_line(self) -> str:
        """The family, n, and the closest member."""
        told = [f"{name} {short(value)}" for name, value in self.params.items()]
        told += [f"{name} {short(value)} (known)" for name, value in self.known_params.items()]
        return f"{self.family}, n = {count(self.n)}; closest member: {', '.join(told)}"

    def _finding(self) -> str:
        if self.verdict == "misfit":
            return f"{self.region} That is the closest member: every other one fits worse."
        return super()._finding()

    def _but(self) -> str:
        if not math.isfinite(self.difference_bound):
            return "at this level nothing is shown of how far the closest member is from them"
        return f"of the closest member it is only shown that shares differ by at most {points(self.difference_bound)}"

    def _differs(self) -> str:
        return super()._differs().replace("region looked at", "interval").replace("model", "closest member")

    def rows(self) -> list[Row]:
        """The table of the summary: the closest member first."""
        found = [row for row in super().rows() if row[0] not in ("difference", "contaminated")]
        member: list[Row] = [(name, number(value), "of the closest member") for name, value in self.params.items()]
        member += [(name, number(value), "known") for name, value in self.known_params.items()]
        most = f"≤ {100 * self.difference_bound:.3g} points"
        words = f"between shares of rows and the closest member, at confidence {percent(1 - self.level)}"
        return [found[0], *member, *found[1:-1], ("difference", most, words), found[-1]]
