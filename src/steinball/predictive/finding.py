"""What a misfit looks like: the feature, its range, the words, and the pictures' numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from steinball.arrays import Floats
from steinball.predictive.pit import Pit
from steinball.predictive.table import BINS, IN_BLOCK, WIDTHS, Features, cosine, spread
from steinball.text import count, number, percent

BAND_LEVELS = np.array([0.05, 0.25, 0.5, 0.75, 0.95])
_SAID = {
    "too high": "lie below its median",
    "too low": "lie above its median",
    "too narrow": "lie outside of its 5 % and 95 % quantiles",
    "too wide": "lie in its central half",
}


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
    >>> from steinball.predictive.law import DistributionFunction
    >>> features = Features.of({"dose": np.arange(8.0)})
    >>> describe_block(DistributionFunction(np.sqrt).pit(np.full(8, 0.81)), features, 0, 2).sentence
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
