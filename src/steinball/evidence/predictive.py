"""The numbers of a predictive check at every tolerated share: nulls, share bounds, differences and findings."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from steinball.arrays import Floats
from steinball.cautions import FittedOnDataWarning
from steinball.evidence.base import Evidence
from steinball.predictive.difference import Difference
from steinball.predictive.finding import Finding, describe_block
from steinball.predictive.law import ClassProbabilities, Prediction
from steinball.predictive.null import SHARES, Null, recalibrate, recalibrated
from steinball.predictive.pit import Pit, Redraw
from steinball.predictive.table import Features, tabulate
from steinball.radius.base import Radius
from steinball.remarks import Remark

_SEARCHED = (0.0, 0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5)
"""Shares of a model that was fitted to the rows: each needs a search over recalibrations."""

_BATCH, _CERTAIN, _HAIR, _FORECAST = 8, 0.9, 1e-12, 100
PILOT = 200  # replicates that scale the views
Worst = list[tuple[int, int, int, float]]


@dataclass(frozen=True, eq=False)
class PredictiveEvidence(Evidence):
    """PIT intervals of the rows, and what they are compared with at every share.

    The p-value at a share ε is the largest one at the shares up to ε of a grid, so that it does not fall and ε may be
    chosen after the rows were seen; a share between two of the grid has the p-value of the larger one.

    Attributes
    ----------
    y : array, shape (n,)
        Observed values, classes as whole numbers.
    pit, features : Pit, Features
        The rows.
    prediction : Prediction
        How the rows were predicted.
    rows : {"any", "independent"}
        Where contaminated rows may lie.
    redraw : Redraw or None
        Refits, for share 0.
    proven : bool
        Whether p-values of ``rows="any"`` are the proven ones.
    own : float
        A share to add to the grid.
    n_resamples : int
        Number of replicates.
    seed : SeedSequence
        Of all replicates.
    """

    y: Floats
    pit: Pit
    features: Features
    prediction: Prediction
    rows: str
    redraw: Redraw | None
    proven: bool
    own: float
    n_resamples: int
    seed: np.random.SeedSequence

    @cached_property
    def tables(self) -> Floats:
        """Observed tables (t, 8, 18), output by output, feature by feature."""
        return tabulate(self.pit.low, self.pit.high, self.features)

    @cached_property
    def difference(self) -> Difference | None:
        """Limits of differences of shares; None for a model that was fitted to these rows."""
        known = self.prediction.fitted not in ("same-rows", "loo")
        return Difference.of(self.tables, self.pit, self.features) if known else None

    def null(self, rows: str) -> Null:
        """The null of fresh rows for ``"any"``, ``"independent"`` or ``"changed"`` rows, or of ``"refits"``."""
        return self.once(("null", rows), lambda: self._null(rows))

    def _null(self, rows: str) -> Null:
        if rows not in ("any", "refits"):
            return self.null("any").with_rows(rows)
        pit = replace(self.pit, redraw=self.redraw) if rows == "refits" else self.pit
        return Null(pit, self.features, pilot=PILOT, n_resamples=self.n_resamples, rng=self.seed)

    def _rows(self, tolerated: Radius) -> str:
        return self.rows if tolerated.contamination is not None else "changed"

    @cached_property
    def grid(self) -> Floats:
        """The shares at which p-values are computed; at 1 everything is tolerated."""
        return np.unique([*(_SEARCHED if self.prediction.fitted == "same-rows" else SHARES), self.own, 1.0])

    def _place(self, amount: float) -> int:
        """Position of the smallest share of the grid that is not below an amount."""
        return int(np.searchsorted(self.grid, amount - _HAIR))

    def _path(self, rows: str, last: int, beyond: float = math.inf) -> list[float]:
        """p-values, each the largest so far, at the grid up to position ``last`` or until one exceeds ``beyond``."""
        path: list[float] = self.once(("path", rows), list)
        while len(path) <= last and (not path or path[-1] <= beyond):
            size = 1 if self.prediction.fitted == "same-rows" else _BATCH
            batch = self.grid[len(path) : len(path) + size]
            certain = bool(path) and path[-1] >= _CERTAIN  # more tolerance cannot make it smaller
            found = np.ones(batch.size) if certain else self._pvalues(rows, batch)
            path += np.maximum.accumulate([path[-1] if path else 0.0, *found])[1:].tolist()
        return path

    def _pvalues(self, rows: str, shares: Floats) -> Floats:
        """The p-value at each share of a batch."""
        some = shares[shares < 1.0]
        if self.prediction.fitted == "same-rows":
            found = [self.of_fit(rows, share)[0] for share in some.tolist()]
        else:
            found = self.null(rows).pvalues(self.tables, some, proven=self.proven).tolist()
        if rows == "changed" and self.difference is not None:
            found = [min(1.0, 2.0 * min(p, self.difference.pvalue(s))) for p, s in zip(found, some, strict=True)]
        return np.array([*found, *[1.0] * (shares.size - some.size)])

    def of_fit(self, rows: str, share: float) -> tuple[float, Floats]:
        """p-value and tables of a model fitted to these rows: refits at share 0, otherwise the best recalibration."""
        return self.once((rows, share), lambda: self._of_fit(rows, share))

    def _of_fit(self, rows: str, share: float) -> tuple[float, Floats]:
        refits = share == 0.0 and self.redraw is not None
        null, tables = self.null("refits" if refits else rows), self.tables
        if share == 0.0 or self.pit.fresh.outputs > 1:
            return null.pvalue(tables, share), tables
        pvalue, t = recalibrate(self.pit, self.features, null, share)
        tables = tabulate(*recalibrated(self.pit, self.features, t), self.features)
        return pvalue or null.pvalue(tables, share), tables

    def pvalues(self, tolerated: Radius, amounts: Floats) -> Floats:
        """The p-value at each amount."""
        places = [self._place(float(amount)) for amount in amounts]
        return np.array(self._path(self._rows(tolerated), max(places, default=0)))[places]

    def share_bound(self, tolerated: Radius, level: float) -> float:
        """The last rejected share of the grid before the first that is not."""
        path = self._path(self._rows(tolerated), self.grid.size - 1, level)
        rejected = [p <= level for p in path[: self.grid.size]]
        return float(np.append(0.0, self.grid)[[*rejected, False].index(False)])

    def worst(self, tolerated: Radius, amount: float) -> Worst:
        """Position, block and arc of the largest box of every table, and its shortage, largest first."""
        rows, share = self._rows(tolerated), float(min(self.grid[self._place(amount)], SHARES[-1]))
        if self.prediction.fitted != "same-rows":
            return self.null(rows).worst(self.tables, share)
        null = self.null("refits" if share == 0.0 and self.redraw is not None else rows)
        return null.worst(self.of_fit(rows, share)[1], share)

    def finding(self, table: int, block: int) -> Finding:
        """What is found in a block of bins of one table; classes by their names."""
        found, law = describe_block(self.pit, self.features, table, block), self.prediction.law
        named = isinstance(law, ClassProbabilities) and self.pit.fresh.outputs > 1
        return replace(found, name=str(law.labels[found.output])) if named else found  # type: ignore[attr-defined]

    def interval(self, level: float) -> tuple[float, float]:
        """[δ_L, δ_U], the lower end at half of the level, as one of two tests of a tolerance; (0, ∞) after a fit."""
        found = self.difference
        if found is None:
            return 0.0, math.inf
        return self.once(("interval", level), lambda: (found.lower_bound(level / 2.0), found.upper_bound(level)))

    def rows_needed(self, amount: float, level: float) -> float:
        """Rows from which on a true model would be called good enough; infinite where that is never said."""
        if self.difference is None or amount <= 0.0:
            return math.inf
        return self.difference.rows_needed(self.null("any").tables[:_FORECAST], amount, level)

    def numbers(self, tolerated: Radius, level: float) -> dict[str, Any]:
        """The numbers of one tolerated set and level."""
        amount = float(tolerated.amount or 0.0)
        pvalue = float(self.pvalues(tolerated, np.array([amount]))[0])
        table, block, *_ = self.worst(tolerated, amount)[0]
        finding = self.finding(table, block)
        return {
            "n": self.features.n,
            "dimension": len(self.features.columns),
            "calibration": "Refits" if self.redraw and not amount else "SimulatedRows",
            "n_resamples": self.n_resamples,
            "bad_rows": self.rows,
            "fitted": self.prediction.fitted,
            "features": tuple(self.features.columns),
            "statistic": abs(math.log10(max(pvalue, 1e-300))),
            "pvalue": pvalue,
            "threshold": -math.log10(level) - _HAIR,  # the p-value decides, not the rounding of its logarithm
            "tolerance": None if tolerated.contamination is not None else amount,
            "contamination_bound": self.share_bound(tolerated, level),
            "difference_interval": self.interval(level),
            "rows_needed": self.rows_needed(amount, level),
            "feature": finding.feature,
            "words": finding.sentence,
        }

    def upper_bound(self, level: float) -> float:
        """δ_U; infinite after a fit."""
        return math.inf if self.difference is None else self.difference.upper_bound(level)

    def check(self, tolerated: Radius) -> None:
        """Shares of contaminated and of changed rows."""
        if tolerated.variation is None or tolerated.variation != tolerated.amount:
            raise TypeError(
                f"this test tolerates `contamination` or `tolerance`, a share of the rows, and not {tolerated!r}."
            )

    def sliding(self, tolerated: Radius) -> Radius | None:
        """Contamination and tolerance slide alike."""
        return tolerated

    def remarks(self, tolerated: Radius) -> Iterator[Remark]:
        """What has to be said of a model that was fitted to these rows."""
        prediction, some = self.prediction, (tolerated.amount or 0.0) > 0.0
        if prediction.fitted != "same-rows" or prediction.remarks:
            return
        if some and not prediction.robust:
            cause = "The model was fitted to these rows, bad ones among them, by a fit that is not known to be robust."
            yield Remark(FittedOnDataWarning, cause, f"Use {prediction.instead}, or predict rows that were not fitted.")
        if not some and self.redraw is None:
            cause = "The model was fitted to these rows, and the null does not fit it again."
            yield Remark(FittedOnDataWarning, cause, "Pass `refit`, a function from y to the fitted `predictive`.")
