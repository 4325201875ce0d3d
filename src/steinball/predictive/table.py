"""The table of a predictive check: rows spread over cells of [0, 1] and summed in bins of features, and its views.

A row with PIT interval [a, b] adds to cell c of its bin the share of [a, b] that lies in c (the PIT without
randomisation of Czado, Gneiting and Held 2009), so that N[k, c] has mean n_k W_c under the model for every type of y.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from numbers import Number
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from steinball.arrays import Floats, chunks

BINS = 8
EDGES = np.concatenate([[0.0, 0.01], np.arange(1, 16) / 16, [0.99, 1.0]])
WIDTHS = np.diff(EDGES)
CELLS = WIDTHS.size
BLOCKS = ((0, 8), (0, 4), (4, 8), (2, 6), (0, 2), (2, 4), (4, 6), (6, 8), *((k, k + 1) for k in range(BINS)))
IN_BLOCK = np.array([[low <= k < high for k in range(BINS)] for low, high in BLOCKS], dtype=float)  # (16, 8)
ARCS = tuple((start, length) for start in range(CELLS) for length in range(1, CELLS))
_IN_ARC = np.array([np.roll(np.arange(CELLS) < length, start) for start, length in ARCS], dtype=float).T  # (18, 306)
ARC_WIDTHS = WIDTHS @ _IN_ARC
BOXES = len(BLOCKS) * len(ARCS)
TOGETHER = 300_000  # rows of all replicates whose cells are in memory together: some 50 MB


@dataclass(frozen=True, eq=False)
class Features:
    """Columns that a misfit may depend on, with the bin of every row.

    Attributes
    ----------
    columns : dict
        Name to an array of shape (n,): numbers, or text for categories.
    bins : int array, shape (p, n)
        Bin 0 … 7 of each row for each feature.
    covariates : tuple of array
        Columns that the model depends on, along which a robust fit may be biased.

    Examples
    --------
    >>> found = Features.of({"dose": [0.1, 0.2, 0.3, 0.4], "ward": ["a", "b", "a", "b"]})
    >>> found.counts.tolist()
    [[0, 1, 0, 1, 0, 1, 0, 1], [2, 2, 0, 0, 0, 0, 0, 0]]
    """

    columns: Mapping[str, NDArray[Any]]
    bins: NDArray[np.int64]
    covariates: tuple[NDArray[Any], ...] = ()

    @classmethod
    def of(cls, columns: Mapping[str, Any], covariates: tuple[str, ...] | None = None) -> Features:
        """Features from columns of equal length: numbers and dates are ranked, anything else is a category.

        ``covariates`` names those that the model depends on; None for all.
        """
        read = {str(name): _column(values, str(name)) for name, values in columns.items()}
        sizes = {column.size for column in read.values()}
        if len(sizes) != 1 or 0 in sizes:
            raise ValueError(f"`features` must hold columns of one length, at least 1, got lengths {sorted(sizes)}.")
        bins = [_level_bins(c) if c.dtype.kind == "U" else _rank_bins(c) for c in read.values()]
        chosen = (column for name, column in read.items() if covariates is None or name in covariates)
        return cls(read, np.array(bins), tuple(chosen))

    def distinct(self) -> Features:
        """Without features that do not vary, and without those whose bins, or mirrored bins, an earlier one has."""
        kept: list[int] = []
        for f, own in enumerate(self.bins):
            others = (self.bins[e] for e in kept)
            if np.ptp(own) and not any(np.array_equal(own, b) or np.array_equal(own, BINS - 1 - b) for b in others):
                kept.append(f)
        names, kept = list(self.columns), kept or [len(self.columns) - 1]
        return Features({names[f]: self.columns[names[f]] for f in kept}, self.bins[kept], self.covariates)

    @property
    def n(self) -> int:
        """Number of rows."""
        return int(self.bins.shape[1])

    @cached_property
    def counts(self) -> NDArray[np.int64]:
        """Rows in each bin of each feature, shape (p, 8)."""
        return np.array([np.bincount(own, minlength=BINS) for own in self.bins])

    @cached_property
    def corners(self) -> NDArray[np.int64]:
        """Position in all tables (p, 8, 18), as one line, of the first cell of each row's bin; shape (p, n)."""
        return np.asarray(CELLS * (BINS * np.arange(len(self.bins))[:, None] + self.bins))

    @cached_property
    def design(self) -> Floats:
        """A column of ones, and numeric covariates with mean 0, variance 1 and correlation 0 (each less its regression
        on those before it, those that depend on them left out); shape (n, 1 + …)."""
        numeric = [c for c in self.covariates if c.dtype.kind == "f" and np.ptp(c) > 0.0]
        basis, left = np.linalg.qr(np.column_stack([np.ones(self.n), *((c - c.mean()) / c.std() for c in numeric)]))
        sizes = np.diagonal(left) / np.sqrt(self.n)
        return np.asarray((basis * np.sqrt(self.n) * np.sign(sizes))[:, np.abs(sizes) > 1e-6])


def _column(values: Any, name: str) -> NDArray[Any]:
    """One feature as an array: numbers (of dtype object, too) and dates as float64, anything else as text."""
    column = np.asarray(values)
    if column.dtype.kind == "O" and all(isinstance(value, Number) for value in column.flat):
        column = column.astype(np.float64)
    if column.ndim != 1:
        raise ValueError(f"Feature `{name}` must have shape (n,), got {column.shape}; pass one entry per column.")
    column = column.astype(np.float64) if column.dtype.kind in "biufmM" else column.astype(str)
    if column.dtype.kind == "f" and not np.isfinite(column).all():
        first = np.flatnonzero(~np.isfinite(column))[0]
        raise ValueError(f"Feature `{name}` must be finite, got {column[first]} in row {first}. Remove such rows.")
    return column


def _rank_bins(values: NDArray[Any]) -> NDArray[np.int64]:
    """Bin ⌊8 (r − ½)/n⌋ of every row by the mean rank r of its value: equal values share a bin."""
    return np.asarray(np.minimum(BINS * (scipy.stats.rankdata(values) - 0.5) / values.size, BINS - 1), dtype=np.int64)


def _level_bins(values: NDArray[Any]) -> NDArray[np.int64]:
    """Bin of every row by its category, the most frequent first; from the eighth on categories share the last bin."""
    _, inverse, sizes = np.unique(values, return_inverse=True, return_counts=True)
    place = np.argsort(np.argsort(-sizes, kind="stable"))
    return np.minimum(place, BINS - 1)[inverse.ravel()]


def cosine(j: int) -> Floats:
    """Mean of ψ_j(u) = √2 cos(π j u) over each cell, shape (18,)."""
    return np.asarray(np.diff(np.sqrt(2.0) * np.sin(np.pi * j * EDGES) / (np.pi * j)) / WIDTHS)


def _capped_scores() -> Floats:
    """g = M − min(±b_k(x) ψ_j(u), M) ≥ 0 for cosines k ≤ 4 of the bins and 1 ≤ j ≤ 4 of the cells, shape (v, 8, 18)."""
    middle, found = (np.arange(BINS) + 0.5) / BINS, []
    for k in range(5):
        across = np.sqrt(2.0) * np.cos(np.pi * k * middle) if k else np.ones(BINS)
        for score in (sign * np.outer(across, cosine(j)) for j in range(1, 5) for sign in (1.0, -1.0)):
            caps = {min(cap, float(score.max())) for cap in (0.3, 0.6, 1.0, 1.5, 2.0)}
            found += [cap - np.minimum(score, cap) for cap in sorted(caps)]
    return np.array(found)


_BOX_VIEWS = np.einsum("bk,ca->bakc", IN_BLOCK, _IN_ARC).reshape(BOXES, BINS, CELLS)
VIEWS = np.concatenate([_BOX_VIEWS, _capped_scores()])  # boxes first, then scores; shape (v, 8, 18)
VIEW_MEANS = VIEWS @ WIDTHS  # E_k g = Σ_c W_c g[k, c], shape (v, 8)
VIEW_TOPS = VIEWS.max(axis=(1, 2))  # max g


def views_of(tables: Floats) -> Floats:
    """⟨N, g⟩ for every view g of tables N of shape (…, 8, 18): boxes first, then scores; shape (…, v)."""
    lead, scores = tables.shape[:-2], VIEWS[BOXES:].reshape(-1, BINS * CELLS)
    found = np.empty((*lead, len(VIEWS)))
    found[..., :BOXES] = (np.matmul(IN_BLOCK, tables).reshape(-1, CELLS) @ _IN_ARC).reshape(*lead, BOXES)
    found[..., BOXES:] = (tables.reshape(-1, BINS * CELLS) @ scores.T).reshape(*lead, -1)
    return found


def cells_of(u: Floats) -> NDArray[np.int64]:
    """Cell 0 … 17 of numbers in [0, 1]; an inner edge belongs to the cell on its right."""
    return np.asarray((16.0 * u).astype(np.int64) + (u >= EDGES[1]) + (u >= EDGES[-2]) - (u >= 1.0))


def spread(low: Floats, high: Floats) -> Floats:
    """Share of [low, high] in each cell, shape (…, 18); an interval of no width is a point.

    Examples
    --------
    >>> spread(np.array([0.4, 0.5]), np.array([0.4, 0.5625])).nonzero()[1].tolist()
    [7, 9]
    """
    below = np.clip((EDGES - low[..., None]) / np.maximum(high - low, 1e-12)[..., None], 0.0, 1.0)
    below[..., 0], below[..., -1] = 0.0, 1.0
    return np.asarray(np.diff(below, axis=-1))


def membership(bins: NDArray[np.int64]) -> Floats:
    """0/1 matrix of shape (8 p, n): its row 8 f + k marks the rows in bin k of feature f."""
    marked = bins[:, None] == np.arange(BINS)[:, None]  # (p, 8, n)
    return np.asarray(marked.reshape(-1, bins.shape[1]), dtype=np.float64)


def tabulate(low: Floats, high: Floats, features: Features) -> Floats:
    """Tables N[k, c] of rows with PIT intervals ``low``, ``high`` of shape (q, n), for every feature.

    Returns
    -------
    array, shape (q p, 8, 18)
        Output by output, feature by feature.

    Examples
    --------
    >>> u = np.array([[0.005, 0.3, 0.6, 0.995]])
    >>> tabulate(u, u, Features.of({"x": [0, 0, 1, 1]}))[0, [2, 6]].sum(axis=1).tolist()
    [2.0, 2.0]
    """
    if np.array_equal(low, high):
        size, codes = BINS * CELLS * len(features.bins), ((features.corners + cell).ravel() for cell in cells_of(low))
        return np.array([np.bincount(c, minlength=size) for c in codes], dtype=float).reshape(-1, BINS, CELLS)
    found = np.zeros((len(low), BINS * len(features.bins), CELLS))
    for rows in chunks(features.n, BINS * len(features.bins), TOGETHER):
        member = membership(features.bins[:, rows])
        for q, ends in enumerate(zip(low[:, rows], high[:, rows], strict=True)):
            found[q] += member @ spread(*ends)
    return found.reshape(-1, BINS, CELLS)
