"""The result of comparing shares of rows with probabilities of one model, or of a whole family."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

from steinball.evidence.regions import FamilyRegionEvidence, RegionEvidence
from steinball.explain.regions import Profile, RegionExplanation, explain_regions, points, profile, region_sentence
from steinball.results.base import FamilyResult, Result
from steinball.text import OF_DISTRIBUTION, Row, count, number, percent


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class SharesResult(Result):
    """A result about shares of rows in regions: what :func:`region_test` and :func:`check` have in common.

    Attributes
    ----------
    tolerance : float or None
        The tolerated difference of shares; ``None`` where ``contamination`` is tolerated.
    contamination_bound : float
        At confidence 1 − ``level`` at least this share of the distribution of the rows is contaminated.
    difference_interval : pair of float
        One-sided confidence bounds, each at 1 − ``level``, for the largest difference between the shares of data and
        model over all regions that were looked at.
    rows_needed : float
        About so many rows of a true model show that it is good enough; infinite where no number does.
    """

    tolerance: float | None = None
    difference_interval: tuple[float, float] = (0.0, math.inf)
    rows_needed: float = math.inf

    _noun: ClassVar[str] = "row"

    @property
    def difference_bound(self) -> float:
        """The upper end of ``difference_interval``: in no region looked at do the shares differ by more."""
        return self.difference_interval[1]

    @property
    def _share(self) -> float:
        return float(self._tolerated.amount or 0.0)

    def _tolerance_words(self) -> str:
        if not self.tolerance:
            return super()._tolerance_words()
        return f"if shares may differ by up to {points(self.tolerance)}"

    def _differs(self) -> str:
        """How far the shares can differ, in a sentence."""
        if not math.isfinite(self.difference_bound):
            return ""
        bound = points(math.ceil(1e4 * self.difference_bound) / 1e4)
        return f"in no region looked at do the shares of data and model differ by more than {bound}"

    def _finding(self) -> str:
        if self.verdict == "misfit":
            also = f" But {self._differs()}." if self._share and self.difference_bound <= 2.0 * self._share else ""
            return self._misfit() + also
        if self.verdict == "good enough":
            return f"At confidence {percent(1 - self.level)}, {self._differs()}."
        return super()._finding()

    def _misfit(self) -> str:
        """Where the misfit is, in a sentence."""
        return self.region

    def _but(self) -> str:
        if not self.n < self.rows_needed < math.inf:  # draws of the model can be the shorter sample
            return "the data do not show that the model is that close"
        return (
            f"they are too few to show that no share differs by more than {points(self._share)}: about "
            f"{count(_rounded(self.rows_needed))} rows like these would"
        )

    def _data_rows(self, details: dict[str, Any]) -> list[Row]:
        data: Row = "data", f"{count(self.n, 'row')} in {count(self.dimension, 'column')}"
        return [data, *((name, str(value)) for name, value in details.items())]

    def _tolerated_row(self) -> Row:
        some = f"differences of up to {points(self.tolerance)}" if self.tolerance else self._tolerance()
        return "tolerated", some.removeprefix("tolerated: ")

    def _difference_row(self) -> Row:
        low, high = self.difference_interval
        interval = f"{100 * low:.3g} – {100 * high:.3g} points" if math.isfinite(high) else "not known"
        return "difference", interval, f"of shares; each end at confidence {percent(1 - self.level)}"

    def _concession(self) -> str:
        """The least difference that is proved; where contamination is tolerated, the least share of it."""
        low = math.floor(1e4 * self.difference_interval[0]) / 1e4
        if self.tolerance is None or not math.isfinite(self.difference_bound):
            return super()._concession()
        where = f"At confidence {percent(1 - self.level)}, in some region the shares of data and model differ by"
        return f"{where} at least {points(low)}." if low > 0.0 else ""

    def _measured(self) -> str:
        low, high = self.difference_interval
        return f"largest difference of shares {100 * low:.3g} to {points(high)}" if math.isfinite(high) else ""

    def _whose(self) -> str:
        return OF_DISTRIBUTION

    def _detectable(self) -> str:
        if self.rejected or not self.n < self.rows_needed < math.inf:
            return (
                f"{self._differs().capitalize()}." if self._differs() else "Nothing is known of differences of shares."
            )
        rows = count(_rounded(self.rows_needed))
        return f"About {rows} rows like these show, in most samples, that the model is good enough."

    @property
    def region(self) -> str:
        """The region that decides, in words."""
        return ""


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class RegionResult(SharesResult):
    """The result of :func:`steinball.region_test`: a Result, and more.

    Attributes
    ----------
    verdict : {"misfit", "good enough", "undecided"}
        ``"misfit"`` where some region is too short of rows; ``"good enough"`` where in no region looked at the shares
        of data and model differ by more than is tolerated, at confidence 1 − ``level``.
    statistic, threshold : float
        The surprise of the region that decides, −log of its probability times the number of regions, and what rejects.
    views : int
        Number of functions of a row that were looked at.
    details : dict
        Where the rows were compared, what they were rounded to, and how the null was obtained.

    Examples
    --------
    >>> import numpy as np, steinball as sb
    >>> x = np.random.default_rng(0).normal(scale=1.3, size=500)
    >>> result = sb.region_test(x, sb.models.Gaussian(), contamination=0.05)
    >>> result.verdict, result.at(tolerance=0.2).verdict
    ('misfit', 'good enough')
    """

    views: int
    details: dict[str, Any]
    _evidence: RegionEvidence

    schema: ClassVar[str] = "steinball.region/1"
    title = "Region test: shares of rows against probabilities of the model"
    _in_repr: ClassVar[tuple[str, ...]] = ("difference_interval",)

    @property
    def region(self) -> str:
        """The region that decides, in words."""
        return region_sentence(self._evidence, self._tolerated, self._columns)

    def explain(self, data: Any = None, top: int = 10) -> RegionExplanation:  # type: ignore[override]
        """The region that is short of rows, and the rows that the model does not explain.

        ``data`` is the frame that was tested, for the names of its columns and rows; ``top`` rows are listed.

        Examples
        --------
        >>> import numpy as np, steinball as sb
        >>> x = np.random.default_rng(0).normal(size=500)
        >>> x[::25] = 10.0
        >>> found = sb.region_test(x, sb.models.Gaussian(), contamination=0.01).explain(top=20)
        >>> sorted(found.points.tolist()) == list(range(0, 500, 25))
        True
        """
        return explain_regions(self._evidence, self.region, self.level, data, top, self._columns)

    def _profile(self) -> Profile:
        return profile(self._evidence, self._tolerated, self._columns)

    def rows(self) -> list[Row]:
        """The table of the summary."""
        return [
            *self._data_rows(self.details),
            ("views", count(self.views), "functions of a row whose regions were looked at"),
            self._tolerated_row(),
            self._difference_row(),
            ("contaminated", f"≥ {percent(self.contamination_bound, down=True)}", "of the rows' distribution"),
            ("p-value", number(self.pvalue), self._calibrated()),
        ]


def _rounded(size: float) -> float:
    """A size in two digits."""
    return float(f"{size:.2g}")


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class RegionFitResult(FamilyResult, RegionResult):
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

    _evidence: FamilyRegionEvidence

    schema: ClassVar[str] = "steinball.region-fit/1"
    _in_repr: ClassVar[tuple[str, ...]] = ("family",)
    _target: ClassVar[str] = "the family"
    _member: ClassVar[str] = "closest member"

    @property
    def model(self) -> Any:
        """The closest member."""
        return self._evidence.family.model(self._evidence.member.params)

    @property
    def title(self) -> str:  # type: ignore[override]
        """With the name of the family."""
        return f"Region test of a fitted family: {self.family}"

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
        most = f"≤ {100 * self.difference_bound:.3g} points"
        words = f"between shares of rows and the closest member, at confidence {percent(1 - self.level)}"
        return [found[0], *self._parameter_rows(), *found[1:-1], ("difference", most, words), found[-1]]
