"""PIT intervals of rows under their predictive laws, and tables of fresh rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from steinball.arrays import Floats, as_numbers, chunks
from steinball.predictive.table import BINS, CELLS, EDGES, TOGETHER, Features, cells_of, membership, spread

Whole: TypeAlias = NDArray[np.int64]
Redraw: TypeAlias = Callable[[np.random.Generator], tuple[Floats, Floats]]
LEAST_DRAWS = 19
_LARGE = 100_000


@dataclass(frozen=True, eq=False)
class EdgeIntervals:
    """Rows whose PIT intervals are known where they hold an edge of the cells.

    A uniform u belongs to the interval of its row that contains it. If that interval lies inside of one cell, the table
    cannot tell it from the point u; so a law is given by the intervals around the 19 edges alone.

    Attributes
    ----------
    low, high : array, shape (19, n) or (19, 1)
        The interval of the row that contains each edge, low = high = edge where there is none. One column: all rows
        have the same intervals.

    Examples
    --------
    A coin in every row: u below ½ gives [0, ½], any other u gives [½, 1].

    >>> coin = EdgeIntervals.around(lambda edge: (0.0, 0.5) if edge < 0.5 else (0.5, 1.0), 2)
    >>> drawn = coin.category(np.array([[0.3, 0.6]]), slice(0, 1))[0]
    >>> coin.low[drawn - 18, 0].tolist(), coin.high[drawn - 18, 0].tolist()
    ([0.0, 0.5], [0.5, 1.0])
    """

    low: Floats
    high: Floats
    outputs = 1

    @classmethod
    def around(cls, interval: Callable[[float], Any], n: int) -> EdgeIntervals:
        """The intervals around all edges, edge by edge; float32 for many rows, which moves no row to another cell."""
        ends = zip((0.0, 0.0), *map(interval, EDGES[1:-1]), (1.0, 1.0), strict=True)
        kind: Any = np.float32 if n > _LARGE else np.float64
        return cls(*(np.array(np.broadcast_arrays(*map(np.atleast_1d, end)), dtype=kind) for end in ends))

    @property
    def shared(self) -> bool:
        """Whether all rows have the same intervals."""
        return bool(self.low.shape[1] == 1)

    @property
    def points(self) -> bool:
        """Whether the table takes every interval for a point, so that N[k, c] is a count."""
        return bool((self.low == self.high).all())

    def category(self, u: Floats, rows: slice) -> Whole:
        """Categories of u (rows, count): the cell 0 … 17, or 18 + e where the interval around edge e contains u."""
        cell, row = cells_of(u), np.arange(self.low.shape[1])[slice(None) if self.shared else rows, None]
        left, right = u < self.high[cell, row], u >= self.low[cell + 1, row]
        return np.where(left | right, CELLS + cell + right, cell)

    def draw(self, rng: np.random.Generator, rows: slice, count: int) -> Whole:
        """Categories of fresh uniform numbers, shape (rows, count)."""
        return self.category(rng.random((rows.stop - rows.start, count)), rows)

    def spreads(self, rows: slice) -> Floats:
        """Cells of every category, shape (1, rows, 37, 18)."""
        around = slice(None) if self.shared else rows
        intervals = spread(self.low[:, around].T, self.high[:, around].T)  # (rows, 19, 18)
        return np.concatenate([np.broadcast_to(np.eye(CELLS), (len(intervals), CELLS, CELLS)), intervals], axis=1)[None]


# Fresh rows of continuous laws: no edge lies inside of an interval.
POINTS = EdgeIntervals(EDGES[:, None], EDGES[:, None])


@dataclass(frozen=True, eq=False)
class Classes:
    """Rows that fall into one of J unordered classes: J intervals per row, class j against the rest.

    Attributes
    ----------
    probabilities : array, shape (n, J)
        Predicted probability of each class.
    """

    probabilities: Floats
    points = False

    @property
    def outputs(self) -> int:
        """One interval per class."""
        return int(self.probabilities.shape[1])

    def intervals(self, y: Whole, rows: slice = slice(None)) -> tuple[Floats, Floats]:
        """Intervals of classes y (rows, count): [1 − π_j, 1] for the own class, [0, 1 − π_j] for the others."""
        rest, own = 1.0 - self.probabilities[rows].T[..., None], y == np.arange(self.outputs)[:, None, None]
        return np.where(own, rest, 0.0), np.where(own, 1.0, rest)

    def draw(self, rng: np.random.Generator, rows: slice, count: int) -> Whole:
        """Fresh classes, shape (rows, count)."""
        upto = np.cumsum(self.probabilities[rows], axis=1)[:, :-1, None]
        return np.asarray((rng.random((len(upto), 1, count)) >= upto).sum(axis=1))

    def spreads(self, rows: slice) -> Floats:
        """Cells of every output for every class that may be drawn, shape (J, rows, J, 18)."""
        return spread(*self.intervals(np.arange(self.outputs)[None], rows))


# What draws fresh rows: a category for each, and the cells that each category is spread over.
Fresh: TypeAlias = EdgeIntervals | Classes


def fresh_tables(fresh: Fresh, features: Features, count: int, rng: np.random.Generator, share: float = 0.0) -> Floats:
    """Tables of ``count`` samples of the model, (count, q p, 8, 18); rows are left out with probability ``share``."""
    if isinstance(fresh, EdgeIntervals) and fresh.shared:
        return _shared_tables(fresh, features.bins, count, rng, share)
    found = np.zeros((fresh.outputs, BINS * len(features.bins), count * CELLS))
    most = max(count, 2 * CELLS, fresh.outputs**2)  # draws, or cells of categories
    for rows in chunks(features.n, most, TOGETHER):
        member, drawn = membership(features.bins[:, rows]), fresh.draw(rng, rows, count)
        kept = rng.random((*drawn.shape, 1)) >= share if share else 1.0
        for q, cells in enumerate(fresh.spreads(rows)):
            found[q] += member @ (cells[np.arange(len(drawn))[:, None], drawn] * kept).reshape(len(drawn), -1)
    return np.moveaxis(found.reshape(*found.shape[:2], count, CELLS), 2, 0).reshape(count, -1, BINS, CELLS)


def _shared_tables(fresh: EdgeIntervals, bins: Whole, count: int, rng: np.random.Generator, share: float) -> Floats:
    """Where all rows have the same intervals, rows are counted by category."""
    ends, cells = np.unique(np.concatenate([fresh.low, fresh.high, EDGES[:, None]])), fresh.spreads(slice(0, 1))[0, 0]
    drawn = fresh.category((ends[None, 1:] + ends[None, :-1]) / 2.0, slice(0, 1))[0]
    chances = (1.0 - share) * np.bincount(drawn, weights=np.diff(ends), minlength=len(cells))
    draw = _counts_by_pattern if 50 * BINS ** len(bins) < bins.shape[1] else _counts_by_row
    return np.asarray(draw(bins, np.append(chances, share), count, rng)[..., :-1] @ cells)


def _counts_by_pattern(bins: Whole, chances: Floats, count: int, rng: np.random.Generator) -> Whole:
    """Counts by bin and segment, (count, p, 8, s), from multinomials over the rows that agree in all bins."""
    shape = (BINS,) * len(bins)
    sizes = np.bincount(np.ravel_multi_index(tuple(bins), shape), minlength=BINS ** len(bins))
    counts = rng.multinomial(sizes, chances, size=(count, sizes.size)).reshape(count, *shape, -1)
    axes = {*range(1, 1 + len(bins))}
    return np.stack([counts.sum(axis=tuple(axes - {own})) for own in sorted(axes)], axis=1)


def _counts_by_row(bins: Whole, chances: Floats, count: int, rng: np.random.Generator) -> Whole:
    """Counts by bin and segment, (count, p, 8, s), from one segment drawn for every row."""
    found = np.empty((count, len(bins), BINS * chances.size), dtype=np.int64)
    for b in range(count):
        segment = np.searchsorted(np.cumsum(chances)[:-1], rng.random(bins.shape[1]), side="right")
        found[b] = [np.bincount(own * chances.size + segment, minlength=found.shape[2]) for own in bins]
    return found.reshape(count, len(bins), BINS, -1)


@dataclass(frozen=True, eq=False)
class Pit:
    """PIT intervals of n rows, [F(y⁻ | x), F(y | x)], and the law of fresh ones.

    Attributes
    ----------
    low, high : array, shape (q, n)
        Ends of the intervals, equal for a continuous law; q = 1, or the number of classes of a nominal response.
    fresh : Fresh
        Draws intervals under the model.
    redraw : callable or None
        Simulates y, fits the model to it, and gives the ends of its PIT intervals under that fit: where fresh rows are
        to be those of refits.
    quantiles : callable or None
        ``quantiles(levels)`` gives quantiles of every row's law, shape (levels, n).
    predicted, observed : array of shape (q, n), or None
        Of classes: probability, and 1 for the class that was seen.
    """

    low: Floats
    high: Floats
    fresh: Fresh
    quantiles: Callable[[Floats], Floats] | None = None
    predicted: Floats | None = None
    observed: Floats | None = None
    redraw: Redraw | None = None


def as_rows(values: Any, name: str, n: int | None = None, low: float = -np.inf, high: float = np.inf) -> Floats:
    """One number per row, from ``low`` to ``high``."""
    found = as_numbers(values, name)
    if found.ndim != 1 or n not in (None, found.size) or not found.size:
        raise ValueError(f"`{name}` must have shape ({n or 'n'},), one number for each row, got {found.shape}.")
    bad = np.flatnonzero(np.isnan(found) | (found < low) | (found > high))
    if bad.size:
        wanted = "be numbers" if low == -np.inf else f"lie in [{low:g}, {high:g}]"
        raise ValueError(f"`{name}` must {wanted}, got {found[bad[0]]:g} in row {bad[0]}; leave out or mend such rows.")
    return found


def as_draws(draws: Any, n: int, name: str = "draws") -> Floats:
    """Draws of every row, shape (n, S)."""
    found = as_numbers(draws, name)
    if found.ndim != 2 or found.shape[0] != n or found.shape[1] < LEAST_DRAWS:
        hint = "; pass its transpose" if found.ndim == 2 and found.shape[1] == n else ""
        raise ValueError(f"`{name}` must have shape ({n}, S), S ≥ {LEAST_DRAWS} for each y, got {found.shape}{hint}.")
    as_rows(found.max(axis=1), name)  # NaN
    return found
