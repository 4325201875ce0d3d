"""What a predictive check gives back: where the predictions are wrong, how, and by how much at most."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from steinball.arrays import check_resamples
from steinball.evidence.predictive import PredictiveEvidence
from steinball.explain.regions import points
from steinball.predictive.finding import Finding
from steinball.results.base import Result
from steinball.results.regions import SharesResult
from steinball.text import Row, Summarized, count, number, percent, render

_FITTED = {
    "": "a law for each row, fitted to other rows or to none",
    "other-rows": "a law for each row, fitted to other rows",
    "same-rows": "a model that was fitted to these rows",
    "loo": "a posterior, each row predicted from the others (leave-one-out)",
}
_WITHHELD = "nothing is called good enough for these rows, because the model was fitted to them"


@dataclass(frozen=True, eq=False)
class PredictiveExplanation(Summarized):
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

    def to_dict(self) -> dict[str, Any]:
        """A plain dictionary for JSON."""
        keys = ("feature", "values", "rows", "word", "share", "expected", "predicted", "observed")
        told = [{key: vars(f)[key] for key in keys} | {"sentence": f.sentence} for f in self.findings]
        return {"schema": "steinball.predictive-explanation/1", "rejected": self.rejected, "findings": told}


def _place(finding: Finding) -> str:
    return f"{'all' if finding.everywhere else finding.span} ({count(finding.rows, 'row')})"


def _how(finding: Finding) -> str:
    if finding.predicted is None or finding.observed is None:
        return f"{finding.word} ({percent(finding.share)} for {percent(finding.expected)})"
    whose = f"class {finding.name}: " * bool(finding.name)
    return f"{whose}predicted {finding.predicted:.2g}, observed {finding.observed:.2g}"


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class PredictiveResult(SharesResult):
    """The result of :func:`steinball.predictive_test`: a Result, and more.

    Attributes
    ----------
    verdict : {"misfit", "good enough", "undecided"}
        ``"misfit"`` where the p-value is at most ``level``; ``"good enough"`` by ``difference_interval`` alone.
    contamination, tolerance : float or None
        The share of rows that may be anything, or that may have been changed; one of them is None.
    contamination_bound : float
        At confidence 1 − ``level`` at least this share of the rows is contaminated, or would have to be changed.
    difference_interval : pair of float
        [δ_L, δ_U] of the largest difference between shares of rows and of predictions, over ranges of a feature and of
        the PIT; each end alone holds at confidence 1 − ``level``. (0, ∞) for a model that was fitted to these rows.
    rows_needed : float
        Rows from which on a true model is called good enough in about three of four samples; infinite if it never is.
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

    Examples
    --------
    >>> import numpy as np, steinball as sb
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=2000)
    >>> result = sb.predictive_test(rng.normal(x), (x, 1.0), {"x": x}, tolerance=0.05, rng=0)
    >>> result.verdict, result.at(tolerance=0.01).verdict
    ('good enough', 'undecided')
    """

    feature: str
    words: str
    bad_rows: str
    fitted: str
    features: tuple[str, ...]
    _evidence: PredictiveEvidence

    schema: ClassVar[str] = "steinball.predictive/1"
    _in_repr: ClassVar[tuple[str, ...]] = ("verdict", "feature")
    _subject: ClassVar[str] = "the rows"
    _target: ClassVar[str] = "the predictions"
    _unproved: ClassVar[str] = "This does not prove the predictions"

    @property
    def region(self) -> str:
        """Where and how predictions are wrong, in words."""
        return self.words

    def explain(self, data: Any = None, top: int = 10) -> PredictiveExplanation:  # type: ignore[override]
        """Feature and range where predictions are wrong, and in which way; ``top`` features at most.

        Examples
        --------
        >>> import numpy as np, steinball as sb
        >>> rng = np.random.default_rng(0)
        >>> x = rng.uniform(0.0, 4.0, size=400)
        >>> y = rng.normal(x, 0.5 + 0.5 * x)
        >>> found = sb.predictive_test(y, (x, 1.5), {"dose": x}, contamination=0.05, rng=0).explain()
        >>> found.findings[0].feature, found.findings[0].word
        ('dose', 'too wide')
        """
        worst = self._evidence.worst(self._tolerated, self._share)[: check_resamples(top, "top")]
        findings = tuple(self._evidence.finding(table, block) for table, block, *_ in worst)
        return PredictiveExplanation(findings, tuple(value for *_, value in worst), self.rejected)

    @property
    def title(self) -> str:
        """What was tested."""
        return "Predictive test" + " of a model that was fitted to these rows" * (self.fitted == "same-rows")

    def rows(self) -> list[Row]:
        """The table of the summary."""
        placed = {"any": "wherever they lie", "independent": "independent of the features"}[self.bad_rows]
        kind = f"rows that may be anything, {placed}" if self.tolerance is None else "rows that may have been changed"
        return [
            ("data", f"{count(self.n, 'row')}, {count(len(self.features), 'feature')}: {', '.join(self.features)}"),
            ("predictive", _FITTED[self.fitted]),
            ("tolerated", percent(self._share), kind),
            self._difference_row(),
            ("share bound", f"≥ {percent(self.contamination_bound, down=True)}", self._whose()),
            ("p-value", number(self.pvalue), self._calibrated()),
            ("region", self.region),
        ]

    def _misfit(self) -> str:
        """The region, and that the rows contradict the predictions."""
        return f"{self.region} {Result._finding(self)}"

    def _but(self) -> str:
        if self.fitted in ("same-rows", "loo"):
            return _WITHHELD
        enough = self.rows_needed <= self.n
        return f"shares may differ by up to {points(self.difference_bound)}" if enough else super()._but()

    def _detectable(self) -> str:
        if self.rejected:
            return "The predictions were rejected: more rows like these would not show that they are good enough."
        return f"{_WITHHELD.capitalize()}." if self.fitted in ("same-rows", "loo") else super()._detectable()

    def _concession(self) -> str:
        if self.contamination is not None or not self.contamination_bound:
            return super()._concession()
        bound, level = percent(self.contamination_bound, down=True), percent(1.0 - self.level)
        return f"At confidence {level}, more than {bound} of the rows would have to be changed."

    def _tolerance_words(self) -> str:
        if not self.tolerance:
            return super()._tolerance_words()
        return f"if up to {percent(self.tolerance)} of them may have been changed"

    def _whose(self) -> str:
        return "of the rows are contaminated" if self.tolerance is None else "of the rows would have to be changed"
