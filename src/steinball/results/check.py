"""The result of a check: one verdict of all tests that a model allows."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

from steinball.evidence.base import CLOSE, GOOD_ENOUGH
from steinball.evidence.check import CheckEvidence, ColumnsEvidence
from steinball.explain.explanation import Explanation
from steinball.explain.regions import Profile, RegionExplanation
from steinball.explain.tolerance import whose
from steinball.results.base import Result
from steinball.results.gof import GofResult
from steinball.results.regions import SharesResult
from steinball.text import Row, count, number, short

_KSD = "distance"


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class CheckResult(SharesResult):
    """The result of :func:`steinball.check`: a Result, and more.

    Attributes
    ----------
    verdict : {"misfit", "good enough", "close in KSD", "undecided"}
        ``"misfit"`` where the p-value is at most ``level``. ``"good enough"`` where in no region looked at the shares
        of data and model differ by more than is tolerated. ``"close in KSD"`` where a model has a score alone, and the
        distance of the data is shown to be within what is tolerated. ``"undecided"`` otherwise.
    pvalue : float
        The smallest p-value of the tests times their number.
    parts : dict
        The results of the tests by name: ``"regions"``, ``"distance"``.
    details : dict
        What was left out, and why.

    Examples
    --------
    >>> import numpy as np, steinball as sb
    >>> x = np.random.default_rng(0).normal(size=4000)
    >>> sb.check(x, sb.models.Gaussian(), tolerance=0.05, rng=0).verdict
    'good enough'
    >>> sb.check(x, sb.models.Gaussian(0.0, 1.5), tolerance=0.05, rng=0).verdict
    'misfit'
    """

    details: dict[str, Any] = field(default_factory=dict)
    _evidence: CheckEvidence
    _tests: dict[str, Result]

    schema: ClassVar[str] = "steinball.check/1"
    _in_repr: ClassVar[tuple[str, ...]] = ("verdict",)

    @cached_property
    def parts(self) -> dict[str, Result]:
        """The results of the tests that were made, at the same tolerance and level."""
        return {
            name: found
            if found._tolerated is self._tolerated and found.level == self.level
            else found.at(radius=self._tolerated, level=self.level)
            for name, found in self._tests.items()
        }

    @property
    def _compares_shares(self) -> bool:
        return self._evidence.close != CLOSE

    @property
    def region(self) -> str:
        """The region that decides, in words; empty where only scores were compared."""
        leading = self._leading
        return leading.region if isinstance(leading, SharesResult) else ""

    def _preface(self) -> str:
        return self._leading._preface()

    def _finding(self) -> str:
        parts = self.parts
        if len(parts) == 1:
            return self._leading._finding()
        if self.rejected and parts[_KSD].pvalue < parts["regions"].pvalue:
            also = f" {self._differs().capitalize()}." if self._differs() else ""
            return f"{Result._finding(self).removesuffix('.')}: their scores show it.{also}"
        return super()._finding()

    def _unseen(self) -> str:
        return "" if self._compares_shares else self._leading._unseen()

    def _whose(self) -> str:
        distance = self._tests.get(_KSD)
        return super()._whose() if not isinstance(distance, GofResult) else whose(distance.tau_kind)

    def _measured(self) -> str:
        return super()._measured() if self._compares_shares else self._leading._measured()

    def _calibrated(self) -> str:
        return f"{len(self._tests)} tests" if len(self._tests) > 1 else self._leading._calibrated()

    def explain(self, data: Any = None, top: int = 10) -> RegionExplanation | Explanation:  # type: ignore[override]
        """The region that is short of rows and the rows that the model does not explain; where only scores were
        compared, the points, coordinates and places that the distance is made of. Of a frame with one model a column
        the column with the smallest p-value is explained, another one by ``result.parts[name].explain()``."""
        return self._leading.explain(data, top)

    @property
    def _leading(self) -> Result:
        """The result that is shown and explained, with the names of the columns."""
        parts = self.parts
        return parts["regions" if self._compares_shares else _KSD]._called(self._record.call, self._columns)

    def _profile(self) -> Profile | None:
        return self._leading._profile()

    @property
    def title(self) -> str:
        """Which tests were made."""
        names = {"regions": "shares of rows in regions", _KSD: "kernel Stein discrepancy"}
        return f"Check: {' and '.join(names[name] for name in self._tests)}"

    def rows(self) -> list[Row]:
        """The table of the summary."""
        found = [*self._data_rows(self.details), self._tolerated_row()]
        found += [(name, f"p-value {number(part.pvalue)}", part._calibrated()) for name, part in self.parts.items()]
        found += [self._difference_row()] if self._compares_shares else []
        return [*found, ("p-value", number(self.pvalue), f"the smallest times {len(self._tests)}")]

    def to_dict(self) -> dict[str, Any]:
        """A plain dictionary for JSON, with those of the tests under ``parts``."""
        return super().to_dict() | {"parts": {name: part.to_dict() for name, part in self.parts.items()}}


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class ColumnsResult(CheckResult):
    """The result of :func:`steinball.check` of a frame with one model a column: a Result, and more.

    Attributes
    ----------
    verdict : {"misfit", "good enough", "undecided"}
        ``"misfit"`` where a column is, by Holm's procedure; ``"good enough"`` where all columns are, each at
        ``level`` divided by their number.
    pvalue : float
        The smallest of the adjusted p-values.
    pvalues, verdicts : dict
        Holm's adjusted p-value and the verdict of each column.
    parts : dict
        The check of each column by itself, at ``level``.
    difference_interval, contamination_bound : pair of float, float
        The largest over the columns, at ``level`` divided by their number.

    Notes
    -----
    With probability at least 1 − ``level`` no column is falsely called a misfit, and with the same probability none is
    falsely called good enough. The verdict of the whole is false with probability at most ``level``. Nothing is said of
    how columns depend on each other: for that give one model of all columns.

    Examples
    --------
    >>> import numpy as np, pandas as pd, steinball as sb
    >>> from scipy import stats
    >>> rng = np.random.default_rng(0)
    >>> people = pd.DataFrame({"height": rng.normal(170.0, 8.0, 500), "visits": rng.poisson(4.0, 500)})
    >>> models = {"height": stats.norm(170, 8), "visits": stats.poisson(3.0)}
    >>> sb.check(people, models, contamination=0.05, rng=0).verdicts
    {'height': 'undecided', 'visits': 'misfit'}
    """

    _evidence: ColumnsEvidence  # type: ignore[assignment]

    schema: ClassVar[str] = "steinball.columns/1"
    title = "Check of each column with a model of its own"

    @property
    def pvalues(self) -> dict[str, float]:
        """Holm's adjusted p-value of each column."""
        return self._evidence.adjusted(self._tolerated)

    @property
    def verdicts(self) -> dict[str, str]:
        """The verdict of each column."""
        return self._evidence.verdicts(self._tolerated, self.level)

    @property
    def _leading(self) -> CheckResult:
        """The check of the column with the smallest p-value."""
        return min(self.parts.values(), key=lambda part: part.pvalue)  # type: ignore[return-value]

    def _preface(self) -> str:
        return ""

    def _named(self, verdict: str) -> str:
        return ", ".join(name for name, found in self.verdicts.items() if found == verdict)

    def _finding(self) -> str:
        if self.verdict == GOOD_ENOUGH:
            return SharesResult._finding(self)
        rows, words, models = f"The {count(self.n, 'row')}", self._tolerance_words(), count(self.dimension, "model")
        if self.rejected:
            first = self.region or f"{rows} contradict a model{', even ' * bool(words)}{words}."
            return f"{first} Misfits, of {count(self.dimension, 'column')}: {self._named('misfit')}."
        found = "; ".join(f"{verdict}: {self._named(verdict)}" for verdict in dict.fromkeys(self.verdicts.values()))
        return f"{rows} contradict none of {models}{' ' * bool(words)}{words}; {found}."

    def _whose(self) -> str:
        return self._leading._whose()

    def _calibrated(self) -> str:
        return f"{count(self.dimension, 'column')}, Holm"

    def rows(self) -> list[Row]:
        """The table of the summary."""
        found, adjusted, parts = [*self._data_rows({}), self._tolerated_row()], self.pvalues, self.parts
        for name, verdict in self.verdicts.items():
            found.append((name, verdict, f"p-value {short(parts[name].pvalue)}, {short(adjusted[name])} by Holm"))
        return [*found, ("p-value", number(self.pvalue), "the smallest by Holm")]

    def to_dict(self) -> dict[str, Any]:
        """A plain dictionary for JSON, with the checks of the columns under ``parts``."""
        return super().to_dict() | {"pvalues": self.pvalues, "verdicts": self.verdicts}
