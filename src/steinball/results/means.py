"""The result of a test by means of bounded functions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

from steinball.evidence.means import MeansEvidence
from steinball.radius.contamination import Huber
from steinball.record import Record
from steinball.results.base import OF_DISTRIBUTION, Result
from steinball.text import Row, describe, number, short


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class SharpResult(Result):
    """The result of a test of Huber's model with bounded functions: :class:`~steinball.results.base.Result`, and more.

    Attributes
    ----------
    statistic, threshold : float
        Betting: log e-value and log(1/level). Asymptotic: the t statistic and its quantile.
    contamination_bound : float
        At confidence 1 − ``level`` at least this share of the distribution is contaminated.
    share : float
        The mean of f: an estimate (from below) of the contaminated share.
    method : {"betting", "asymptotic"}
        Proved for every n; for n → ∞.
    name : str
        Which test.
    details : dict
        How f was made.
    """

    share: float
    method: str
    name: str
    details: dict[str, Any]
    _evidence: MeansEvidence

    schema: ClassVar[str] = "steinball.sharp/2"
    _shown: ClassVar[tuple[str, ...]] = ("share", "contamination_bound")

    @classmethod
    def of(
        cls, evidence: MeansEvidence, contamination: float, level: float, name: str, shape: Any, details: dict[str, Any]
    ) -> Self:
        """The result that the values of bounded functions give."""
        fixed: dict[str, Any] = {
            "n": int(shape[0]),
            "dimension": int(shape[1]),
            "calibration": evidence.method.capitalize(),
        }
        about: dict[str, Any] = {"share": evidence.share, "method": evidence.method, "name": name, "details": details}
        numbers = evidence.decide(Huber(contamination), evidence.checked_level(level))
        return cls(**fixed, **about, **numbers, _evidence=evidence, _record=Record())

    @property
    def title(self) -> str:
        """Which test it was."""
        return self.name

    def rows(self) -> list[Row]:
        """The table of the summary."""
        compared, when = ("log e-value", "every n") if self.method == "betting" else ("t statistic", "n → ∞")
        told = ((key, value) for key, value in self.details.items() if not isinstance(value, (list, dict)))
        return [
            ("data", self._points()),
            ("share", number(self.share), "estimate of the contaminated share of the distribution, from below"),
            ("statistic", number(self.statistic), f"{compared}; {self._rule()}"),
            ("p-value", number(self.pvalue), f"{self._calibrated()}, valid for {when}"),
            *((key, value if isinstance(value, str) else describe(value)) for key, value in told),
        ]

    def _measured(self) -> str:
        return f"estimated share {short(self.share)}"

    def _whose(self) -> str:
        return OF_DISTRIBUTION
