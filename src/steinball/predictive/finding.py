"""What a misfit looks like: the feature, its range, the words, the pictures' numbers, and the largest difference."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy
from numpy.typing import NDArray

from steinball.arrays import Floats
from steinball.predictive.pit import Pit
from steinball.predictive.table import (
    ARC_WIDTHS,
    ARCS,
    BINS,
    BLOCKS,
    BOXES,
    IN_BLOCK,
    WIDTHS,
    Features,
    cosine,
    spread,
    views_of,
)
from steinball.text import count, number, percent

BAND_LEVELS = np.array([0.05, 0.25, 0.5, 0.75, 0.95])
_SAID = {"too high": "lie below its median", "too low": "lie above its median", "too wide": "lie in its central half",
         "too narrow": "lie outside of its 5 % and 95 % quantiles"}  # fmt: skip


@dataclass(frozen=True)
class Finding:
    """Where a prediction is wrong, and how.

    Attributes
    ----------
    feature : str
        The feature that shows it.
    values : tuple
        Smallest and largest value of the feature there, or its categories as text.
    rows : int
        Number of rows there.
    everywhere : bool
        Whether these are all rows.
    word : str
        "too high", "too low", "too narrow" or "too wide".
    share, expected : float
        Share of these rows beyond the median, outside of the 5 % and 95 % quantiles, or in the central half of their
        predictions, and what it should be.
    output : int
        Class of a nominal response; 0 otherwise.
    predicted, observed : float or None
        Mean probability and frequency of a class.
    name : str
        What the class is called, where there are several.
    """

    feature: str
    values: tuple[Any, ...]
    rows: int
    everywhere: bool
    word: str
    share: float
    expected: float
    output: int
    predicted: float | None
    observed: float | None
    name: str = ""

    @property
    def span(self) -> str:
        """The values of the feature, in words."""
        shown = [v if isinstance(v, str) else number(v) for v in dict.fromkeys(self.values)]
        if len(shown) == 2 and not isinstance(self.values[0], str):
            return f"between {shown[0]} and {shown[1]}"
        return ", ".join(shown[:5]) + " …" * (len(shown) > 5)

    @property
    def sentence(self) -> str:
        """The finding in words."""
        rows = count(self.rows, "row")
        place = f"Over all {rows}" if self.everywhere else f"For {self.feature} {self.span} ({rows})"
        if self.predicted is not None and self.observed is not None:
            whose = f", class {self.name}" * bool(self.name)
            return f"{place}{whose}: predicted {self.predicted:.2g}, observed {self.observed:.2g}."
        return f"{place} the prediction is {self.word}: {percent(self.share)} of the rows {_SAID[self.word]}."


def describe_block(pit: Pit, features: Features, table: int, block: int) -> Finding:
    """The finding for the rows in a block of bins of one table.

    Parameters
    ----------
    pit, features : Pit, Features
        The rows.
    table, block : int
        Position of the table (output by output, feature by feature), and of the block in ``BLOCKS``.

    Examples
    --------
    >>> from steinball.predictive.pit import from_cdf_values
    >>> features = Features.of({"dose": np.arange(8.0)})
    >>> describe_block(from_cdf_values(np.full(8, 0.9)), features, 0, 2).sentence
    'For dose between 4 and 7 (4 rows) the prediction is too low: 100 % of the rows lie above its median.'
    """
    output, feature = divmod(table, len(features.bins))
    inside = IN_BLOCK[block, features.bins[feature]] > 0.0
    name, column = list(features.columns.items())[feature]
    found = np.unique(column[inside]).tolist()
    values = tuple(found) if column.dtype.kind == "U" else (found[0], found[-1])
    rates = [None if a is None else float(a[output, inside].mean()) for a in (pit.predicted, pit.observed)]
    said = _word(pit.low[output, inside], pit.high[output, inside])
    return Finding(name, values, int(inside.sum()), bool(inside.all()), *said, output, rates[0], rates[1])


def _word(low: Floats, high: Floats) -> tuple[str, float, float]:
    """The word from the larger of Σψ₁ and Σψ₂, the share that shows it, and the share expected."""
    cells = spread(low, high).sum(axis=0)
    height, width = (float(cosine(j) @ cells) for j in (1, 2))
    below = np.clip((BAND_LEVELS[:, None] - low) / np.maximum(high - low, 1e-12), 0.0, 1.0).mean(axis=1).tolist()
    if abs(height) >= abs(width):
        return ("too high", below[2], 0.5) if height > 0.0 else ("too low", 1.0 - below[2], 0.5)
    return ("too narrow", below[0] + 1.0 - below[4], 0.1) if width > 0.0 else ("too wide", below[3] - below[1], 0.5)


class BoxPicture(NamedTuple):
    """The table of one feature, and the PIT histogram of one block of its bins.

    Attributes
    ----------
    ratio : array, shape (8, 18)
        N[k, c]/(n_k W_c): rows over expected rows; NaN in an empty bin.
    histogram : array, shape (18,)
        The same ratio for all rows of the block.
    envelope : array, shape (2, 18)
        Its 2.5 % and 97.5 % quantiles, cell by cell, over simulated tables.
    """

    ratio: Floats
    histogram: Floats
    envelope: Floats


def box_picture(table: Floats, fresh: Floats, block: int) -> BoxPicture:
    """From an observed table (8, 18), fresh ones (b, 8, 18), and the position of a block in ``BLOCKS``."""
    sizes = table.sum(axis=1)  # (8,)
    expected = np.where(sizes > 0.0, sizes, np.nan)[:, None] * WIDTHS
    whole = IN_BLOCK[block] @ sizes * WIDTHS
    simulated = np.quantile(IN_BLOCK[block] @ fresh / whole, [0.025, 0.975], axis=0)
    return BoxPicture(table / expected, IN_BLOCK[block] @ table / whole, simulated)


class Bands(NamedTuple):
    """Predicted and observed quantiles of y against a feature, at ``BAND_LEVELS``.

    Attributes
    ----------
    centers : array, shape (8,)
        Mean of the feature in each bin (of a category the bin); NaN in an empty bin.
    predicted, observed : array, shape (5, 8)
        Mean over the rows of a bin of their predictive quantiles, and quantiles of their y.
    """

    centers: Floats
    predicted: Floats
    observed: Floats


def bands(y: Floats, pit: Pit, features: Features, feature: int) -> Bands | None:
    """Bands over the bins of a feature; None where the law has no quantiles."""
    if pit.quantiles is None:
        return None
    bins, column = features.bins[feature], list(features.columns.values())[feature]
    values = column if column.dtype.kind == "f" else bins.astype(float)
    quantiles = np.broadcast_to(pit.quantiles(BAND_LEVELS), (BAND_LEVELS.size, features.n))
    found = np.full((1 + 2 * BAND_LEVELS.size, BINS), np.nan)
    for k in np.unique(bins):
        rows = bins == k
        found[:, k] = [values[rows].mean(), *quantiles[:, rows].mean(axis=1), *np.quantile(y[rows], BAND_LEVELS)]
    return Bands(found[0], found[1 : 1 + BAND_LEVELS.size], found[1 + BAND_LEVELS.size :])


_ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class Difference:
    """How far the shares of data and model differ in a box: rows of a block whose PIT lies in an arc A.

    The difference is δ = max over boxes of |Σ_{i in block} (Q_i(A) − W_A)|/n, with Q_i the law of the PIT of row i
    (uniform on its interval). Each of `lower_bound` and `upper_bound` holds with probability 1 − level.

    Attributes
    ----------
    counts : array, shape (t, 16, 306)
        Rows in every box.
    block_rows : int array, shape (t, 16, 1)
        Rows in every block.
    n : int
        All rows.
    factor : float
        1 where rows are points, so that counts are whole numbers; e where rows are spread over cells.

    Notes
    -----
    Proved at every n for independent rows and a model that was not fitted to them, by Hoeffding's theorem on sums of
    unequal indicators; for rows that are spread, by a bound of convex order that costs the factor e.

    Examples
    --------
    >>> from steinball.predictive.pit import from_cdf_values
    >>> from steinball.predictive.table import tabulate
    >>> u = (np.arange(4000)[None] * 0.618034) % 1.0
    >>> features = Features.of({"order": np.arange(4000)})
    >>> found = Difference.of(tabulate(u, u, features), from_cdf_values(u[0]), features)
    >>> found.lower_bound(0.05), round(found.upper_bound(0.05), 3)
    (0.0, 0.013)
    """

    counts: Floats
    block_rows: NDArray[np.int64]
    n: int
    factor: float

    @classmethod
    def of(cls, tables: Floats, pit: Pit, features: Features) -> Difference:
        """From observed tables (t, 8, 18), of a model that was not fitted to these rows."""
        rows = np.tile(features.counts, (pit.fresh.outputs, 1)) @ IN_BLOCK.T.astype(int)
        counts = views_of(tables)[:, :BOXES].reshape(len(tables), len(BLOCKS), len(ARCS))
        return cls(counts, rows[..., None], features.n, 1.0 if pit.fresh.points else math.e)

    @property
    def _weights(self) -> Floats:
        """Bonferroni's weights: equal votes of tables, and of boxes in proportion to their share of the rows."""
        shares = self.block_rows * ARC_WIDTHS
        return np.asarray(shares / shares.sum(axis=(1, 2), keepdims=True) / len(shares))

    def pvalue(self, tolerance: float) -> float:
        """Of the hypothesis that no box is short of more than ``tolerance`` of all rows, by law or by changed rows."""
        count, m = np.ceil(self.counts - _ROUNDING), self.block_rows
        chance = np.clip(ARC_WIDTHS - tolerance * self.n / np.maximum(m, 1), 0.0, 1.0)
        changed = math.floor(tolerance * self.n + _ROUNDING)
        by_change = scipy.special.bdtr(np.minimum(count + changed, m), m, ARC_WIDTHS)
        tails = self.factor * np.maximum(scipy.special.bdtr(count, m, chance), by_change)
        tails /= np.maximum(self._weights, np.finfo(float).tiny)
        return float(min(1.0, tails.min()))

    def lower_bound(self, level: float) -> float:
        """δ_L, the largest of limits of the shortages of all boxes that hold together, by law and by changed rows."""
        count, alpha = np.ceil(self.counts - _ROUNDING), level * self._weights / self.factor
        m, width = (np.broadcast_to(part, count.shape) for part in (self.block_rows, ARC_WIDTHS))
        chance = np.where(count < m, scipy.special.betainccinv(count + 1.0, np.maximum(m - count, 1.0), alpha), 1.0)
        by_law, best = m * (width - chance) / self.n, 0.0
        boxes = by_law >= by_law.max()
        for _ in range(2):  # the limit by changed rows is slow: of the largest box, then of those that may exceed it
            by_change = (_binomial_quantile(alpha[boxes], m[boxes], width[boxes]) - count[boxes] + 1.0) / self.n
            best = float(np.minimum(by_law[boxes], by_change).max(initial=best))
            boxes = by_law > best
        return best

    def upper_bound(self, level: float) -> float:
        """δ_U, the largest of pointwise upper limits of the shortages of all boxes, which need no correction."""
        count, m = np.floor(self.counts + _ROUNDING), self.block_rows
        chance = scipy.special.betaincinv(np.maximum(count, 1.0), m - count + 1.0, level / self.factor)
        if self.factor == 1.0:
            chance = np.minimum(chance, (count - 1.0) / np.maximum(m, 1))
        return float((m * (ARC_WIDTHS - np.where(count > 0, np.maximum(chance, 0.0), 0.0)) / self.n).max())

    def rows_needed(self, tables: Floats, tolerance: float, level: float) -> float:
        """Rows from which on a true model is called good enough in about three of four samples, (C/(ε − δ_L))².

        C = √n times the 75 % quantile of δ_U, by the normal approximation, over fresh ``tables`` (b, t, 8, 18).
        """
        room = tolerance - self.lower_bound(level)
        noise = -scipy.special.ndtri(level / self.factor) * np.sqrt(self.block_rows * ARC_WIDTHS * (1.0 - ARC_WIDTHS))
        mean = self.block_rows * ARC_WIDTHS + noise
        highs = [(mean - views_of(one)[:, :BOXES].reshape(self.counts.shape)).max() for one in tables]
        return math.ceil(np.quantile(highs, 0.75) ** 2 / self.n / room**2) if room > 0.0 else math.inf


def _binomial_quantile(alpha: Floats, m: NDArray[np.int64], chance: Floats) -> Floats:
    """The largest count c with P(Bin(m, chance) ≤ c) ≤ alpha; −1 if there is none."""
    from scipy.stats import binom

    reached = binom.ppf(alpha, m, chance)
    return np.asarray(reached - (binom.cdf(reached, m, chance) > alpha))
