"""What a predictive check gives back: where the predictions are wrong, how, and by how much at most."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from steinball.evidence.base import three_way_verdict
from steinball.evidence.predictive import PredictiveEvidence
from steinball.predictive.finding import Finding
from steinball.radius.contamination import TotalVariation
from steinball.results.base import Result
from steinball.text import Row, count, number, percent, render, short

_FITTED = {
    "": "a law for each row, fitted to other rows or to none",
    "other-rows": "a law for each row, fitted to other rows",
    "same-rows": "a model that was fitted to these rows",
    "loo": "a posterior, each row predicted from the others (leave-one-out)",
}
_WITHHELD = "nothing is called good enough for these rows, because the model was fitted to them"


@dataclass(frozen=True, eq=False)
class PredictiveExplanation:
    """Where predictions are wrong, feature by feature, the one that decides first.

    Attributes
    ----------
    findings : tuple of Finding
        Of every feature: its range, and in which way rows lie there.
    shortages : tuple of float
        How unusual the worst shortage of rows of each feature is, in standard deviations of the largest one.
    rejected : bool
        Whether the decision was a misfit.
    """

    findings: tuple[Finding, ...]
    shortages: tuple[float, ...]
    rejected: bool

    def summary(self) -> str:
        """The sentence of the feature that decides, and a table of all features."""
        pairs = zip(self.findings, self.shortages, strict=True)
        rows: list[Row] = [(f.feature, _place(f), f"{_how(f)}; shortage {value:.1f} sd") for f, value in pairs]
        words = "This describes these rows; only the p-value of the test is a statement with an error rate."
        return render(self.findings[0].sentence, rows, words if self.rejected else f"Nothing was rejected. {words}")

    def __str__(self) -> str:
        return self.summary()

    def to_dict(self) -> dict[str, Any]:
        """A plain dictionary for JSON."""
        keys = ("feature", "values", "rows", "word", "share", "expected", "predicted", "observed")
        told = [{key: getattr(f, key) for key in keys} | {"sentence": f.sentence} for f in self.findings]
        return {"schema": "steinball.predictive-explanation/1", "rejected": self.rejected, "findings": told}


def _place(finding: Finding) -> str:
    return f"{'all' if finding.everywhere else finding.span} ({count(finding.rows, 'row')})"


def _how(finding: Finding) -> str:
    if finding.predicted is None or finding.observed is None:
        return f"{finding.word} ({percent(finding.share)} for {percent(finding.expected)})"
    whose = f"class {finding.name}: " * bool(finding.name)
    return f"{whose}predicted {finding.predicted:.2g}, observed {finding.observed:.2g}"


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class PredictiveResult(Result):
    """The result of :func:`steinball.predictive_test`: a Result, and more.

    Attributes
    ----------
    contamination, tolerance : float or None
        The share of rows that may be anything, or that may have been changed; one of them is None.
    contamination_bound : float
        At confidence 1 − ``level`` at least this share of the rows is contaminated, or would have to be changed.
    difference_interval : pair of floats, or None
        [δ_L, δ_U] of the largest difference between shares of rows and of the prediction, over all ranges of a feature
        and intervals of the PIT; each end alone holds at confidence 1 − ``level``. None for a model that was fitted to
        these rows.
    difference_bound : float
        δ_U; infinite where there is no interval.
    rows_needed : float or None
        Rows from which on a true model is called good enough in about three of four samples.
    feature, region : str
        The feature that decides, and where and how predictions are wrong, in words.
    bad_rows : {"any", "independent"}
        Where contaminated rows may lie.
    fitted : {"", "same-rows", "other-rows", "loo"}
        Whether the model was fitted to these rows.
    features : tuple of str
        All features.
    statistic, threshold : float
        −log₁₀ of p-value and level.

    Notes
    -----
    *Misfit* if the p-value is at most the level. *Good enough* only by the interval: not rejected, and δ_U at most the
    tolerated share. Otherwise *undecided*.
    """

    tolerance: float | None = None
    difference_interval: tuple[float, float] | None = None
    difference_bound: float = math.inf
    rows_needed: float | None = None
    feature: str
    region: str
    bad_rows: str
    fitted: str
    features: tuple[str, ...]
    _evidence: PredictiveEvidence

    schema: ClassVar[str] = "steinball.predictive/1"
    _shown: ClassVar[tuple[str, ...]] = ("verdict", "feature")
    _subject: ClassVar[str] = "the rows"
    _noun: ClassVar[str] = "row"
    _target: ClassVar[str] = "the predictions"
    _unproved: ClassVar[str] = "This does not prove the predictions"

    @property
    def amount(self) -> float:
        """The tolerated share, of either kind."""
        return float(self._tolerated.amount or 0.0)

    @property
    def verdict(self) -> str:
        """``"misfit"``, ``"good enough"`` by the interval, or ``"undecided"``."""
        return three_way_verdict(self.rejected, self.difference_bound, self.amount)

    def at(self, *, tolerance: float | None = None, **asked: Any) -> Self:
        """The decision at another share or level: :meth:`Result.at`, and ``tolerance``."""
        if tolerance is None:
            return super().at(**asked)
        if asked.keys() & {"contamination", "radius"}:
            raise ValueError("give `tolerance` or `contamination`, not both: each of them sets what is tolerated.")
        return super().at(radius=TotalVariation(tolerance), **asked)

    def explain(self, data: Any = None, top: int = 10) -> PredictiveExplanation:  # type: ignore[override]
        """Feature and range where predictions are wrong, and in which way; ``top`` features at most.

        Examples
        --------
        >>> import numpy as np, steinball as sb
        >>> x = np.linspace(0.0, 4.0, 400)
        >>> y = np.random.default_rng(0).normal(x, 0.5 + 0.5 * x)
        >>> found = sb.predictive_test(y, (x, 1.5), {"dose": x}, contamination=0.05, rng=0).explain()
        >>> found.findings[0].feature, found.findings[0].word
        ('dose', 'too wide')
        """
        worst = self._evidence.worst(self._tolerated, self.amount)[:top]
        findings = tuple(self._evidence.finding(table, block) for table, block, *_ in worst)
        return PredictiveExplanation(findings, tuple(value for *_, value in worst), self.rejected)

    @property
    def title(self) -> str:
        """What was tested."""
        return "Predictive test" + " of a model fitted to these rows" * (self.fitted == "same-rows")

    def rows(self) -> list[Row]:
        """The table of the summary."""
        placed = {"any": "wherever they lie", "independent": "independent of the features"}[self.bad_rows]
        shares = ", ".join(self.features)
        needed = self.rows_needed
        return [
            ("data", f"{count(self.n, 'row')}, {count(len(self.features), 'feature')}: {shares}"),
            ("predictive", _FITTED[self.fitted]),
            (
                "tolerated",
                percent(self.amount),
                "changed rows" if self.contamination is None else f"bad rows, {placed}",
            ),
            ("p-value", number(self.pvalue), self._calibrated()),
            ("difference of shares", self._interval_words(), "the largest, over ranges of features and of the PIT"),
            *([("rows needed", count(needed), "for good enough")] if needed and math.isfinite(needed) else []),
            ("share bound", percent(self.contamination_bound, down=True), self._whose()),
            ("worst region", self.region),
        ]

    def _interval_words(self) -> str:
        if self.difference_interval is None:
            return "not known"
        low, high = self.difference_interval
        return f"{_points(low)} to {_points(high)} points"

    def _answer(self) -> list[str]:
        """The region first where predictions are rejected."""
        said = super()._answer()
        if not self.rejected:
            return said
        close = self.amount > 0.0 and self.difference_bound <= self.amount
        though = f"In no region, though, do shares differ by more than {_points(self.difference_bound)} points."
        return [self.region, *said, though * close]

    def _finding(self) -> str:
        if self.verdict != "good enough":
            return super()._finding()
        most = _points(self.difference_bound)
        return (
            f"In no range of a feature and of the PIT do shares of rows and predictions differ by over {most} points."
        )

    def _but(self) -> str:
        if self.difference_interval is None:
            return _WITHHELD
        said = f"shares may differ by up to {_points(self.difference_bound)} points"
        needed = self.rows_needed or math.inf
        return f"{said}; about {count(needed, 'row')} would decide" if self.n < needed < math.inf else said

    def _concession(self) -> str:
        if self.contamination is not None or not self.contamination_bound:
            return super()._concession()
        bound, level = percent(self.contamination_bound, down=True), percent(1.0 - self.level)
        return f"At confidence {level}, more than {bound} of the rows would have to be changed."

    def _measured(self) -> str:
        known = self.difference_interval is not None
        return f"largest difference of shares {self._interval_words()}" if known else ""

    def _tolerance_words(self) -> str:
        if self.tolerance is None:
            return super()._tolerance_words()
        return f"if up to {percent(self.tolerance)} of them may have been changed" if self.tolerance else ""

    def _calibrated(self) -> str:
        return f"{self.calibration}, {count(self.n_resamples, 'draw')}"

    def _whose(self) -> str:
        return (
            "of the rows are contaminated" if self.contamination is not None else "of the rows would have to be changed"
        )


def _points(share: float) -> str:
    """A difference of shares in percentage points."""
    return short(100.0 * share)
