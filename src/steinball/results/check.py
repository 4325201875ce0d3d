"""The result of a check: one verdict of all tests that a model allows."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

from steinball.evidence.base import CLOSE, PairSums, three_way_verdict
from steinball.evidence.check import CheckEvidence
from steinball.explain.explanation import Explanation
from steinball.explain.regions import Profile, RegionExplanation
from steinball.results.base import Result
from steinball.results.fitted import FitResult
from steinball.results.gof import GofResult
from steinball.results.region_fit import RegionFitResult
from steinball.results.regions import RegionResult, SharesResult
from steinball.results.words import whose
from steinball.text import Row, count, number, percent

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
    _shown: ClassVar[tuple[str, ...]] = ("verdict",)

    @property
    def parts(self) -> dict[str, Result]:
        """The results of the tests that were made, at the same tolerance and level."""
        return {
            name: found
            if found._tolerated is self._tolerated and found.level == self.level
            else found.at(radius=self._tolerated, level=self.level)
            for name, found in self._tests.items()
        }

    @property
    def verdict(self) -> str:
        """``"misfit"``, ``"good enough"``, ``"close in KSD"`` or ``"undecided"``."""
        if self.rejected:
            return "misfit"
        if "regions" in self._tests:
            return three_way_verdict(False, self.difference_bound, self._share)
        return CLOSE if self.parts[_KSD].verdict == CLOSE else "undecided"

    @property
    def _decides(self) -> str:
        """The name of the test with the smallest p-value."""
        parts = self.parts
        return min(parts, key=lambda name: parts[name].pvalue)

    @property
    def region(self) -> str:
        """The region that decides, in words; empty where only scores were compared."""
        regions = self.parts.get("regions")
        if not isinstance(regions, RegionResult):
            return ""
        return regions._called(self._record.call, self._columns).region

    def summary(self, details: bool = False) -> str:
        """As of every test; of a family, the fit in a line before it."""
        leading, found = self._leading, super().summary(details)
        fitted = isinstance(leading, (FitResult, RegionFitResult)) and not details
        return f"{leading._fit_line()}\n{found}" if fitted else found  # type: ignore[attr-defined]

    def _finding(self) -> str:
        distance = self.parts.get(_KSD)
        if len(self._tests) == 1:
            return self._leading._called(self._record.call, self._columns)._finding()
        if self.rejected and isinstance(distance, GofResult) and self._decides == _KSD:
            also = f" {self._differs().capitalize()}." if self._differs() else ""
            tolerated = f", even {self._tolerance_words()}" if self._tolerance_words() else ""
            return f"The {count(self.n, 'row')} contradict the model{tolerated}: their scores show it.{also}"
        return super()._finding()

    def _unseen(self) -> str:
        distance = self.parts.get(_KSD)
        return distance._unseen() if distance is not None and "regions" not in self._tests else ""

    def _whose(self) -> str:
        distance = self._tests.get(_KSD)
        return super()._whose() if not isinstance(distance, GofResult) else whose(distance.tau_kind)

    def _measured(self) -> str:
        return super()._measured() if "regions" in self._tests else self.parts[_KSD]._measured()

    def _calibrated(self) -> str:
        return f"{len(self._tests)} tests" if len(self._tests) > 1 else next(iter(self._tests.values()))._calibrated()

    def explain(self, data: Any = None, top: int = 10) -> RegionExplanation | Explanation:  # type: ignore[override]
        """The region that is short of rows and the rows that the model does not explain; where only scores were
        compared, the points, coordinates and places that the distance is made of."""
        return self._leading._called(self._record.call, self._columns).explain(data, top)

    @property
    def _leading(self) -> Result:
        parts = self.parts
        return parts["regions" if "regions" in parts else _KSD]

    @property
    def _has_sums(self) -> bool:  # type: ignore[override]
        return "regions" not in self._tests

    def _sums(self) -> tuple[PairSums, ...]:
        return self.parts[_KSD]._sums()

    def _profile(self) -> Profile | None:
        regions = self.parts.get("regions")
        return None if regions is None else regions._called(self._record.call, self._columns)._profile()

    @property
    def title(self) -> str:
        """Which tests were made."""
        names = {"regions": "shares of rows in regions", _KSD: "kernel Stein discrepancy"}
        return f"Check: {' and '.join(names[name] for name in self._tests)}"

    def rows(self) -> list[Row]:
        """The table of the summary."""
        found: list[Row] = [("data", f"{count(self.n, 'row')} in {count(self.dimension, 'column')}")]
        found += [(name, str(value)) for name, value in self.details.items() if name != "columns"]
        found.append(("tolerated", self._tolerance().removeprefix("tolerated: ")))
        found += [(name, f"p-value {number(part.pvalue)}", part._calibrated()) for name, part in self.parts.items()]
        if "regions" in self._tests:
            low, high = self.difference_interval
            words = f"of shares; each end at confidence {percent(1 - self.level)}"
            found.append(("difference", f"{100 * low:.3g} – {100 * high:.3g} points", words))
        found.append(("p-value", number(self.pvalue), f"the smallest times {len(self._tests)}"))
        return found

    def to_dict(self) -> dict[str, Any]:
        """A plain dictionary for JSON, with those of the tests under ``parts``."""
        return super().to_dict() | {"parts": {name: part.to_dict() for name, part in self.parts.items()}}
