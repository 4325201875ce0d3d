"""The grid that rounded rows lie on, column by column."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from steinball.arrays import Floats

__all__ = ["Grid", "find_grid"]

ON_GRID = 0.75
"""The share of rows that must lie on a grid: contaminated rows may lie anywhere."""

LOOKED_AT = 4096
"""Rows that are enough to see a grid."""

_VISIBLE = 0.02  # steps whose product with √n is below this share of the spread cannot be seen by any region
_QUANTILES = np.array([0.25, 0.1, 0.02, 0.0])  # the first of these that differs from its mirror gives the spread
_PRECISIONS = (1e-15, 2e-7)  # relative errors of decimals in float64, and in float64 that was float32
_DECIMALS = np.sort(np.outer([1.0, 2.0, 2.5, 5.0], 10.0 ** np.arange(-12, 13)).ravel())[::-1]


@dataclass(frozen=True, eq=False)
class Grid:
    """Values offset + step·k in each column, k whole; a step of 0 is a column that is not rounded.

    Examples
    --------
    >>> grid = Grid(np.array([0.5, 0.0]), np.array([0.0, 0.0]))
    >>> grid.round(np.array([[1.3, 1.3]])), Grid(np.array([0.5]), np.array([0.0])).above(np.array([1.3]))
    (array([[1.5, 1.3]]), array([1.75]))
    """

    step: Floats
    offset: Floats

    def round(self, x: Floats) -> Floats:
        """Rows (n, d) moved to the nearest value of the grid."""
        step = np.where(self.step > 0.0, self.step, 1.0)
        return np.where(self.step > 0.0, self.offset + step * np.round((x - self.offset) / step), x)

    def above(self, values: Floats) -> Floats:
        """For one column: the middle between the nearest value of the grid and the next one."""
        return np.asarray(self.offset + self.step * (np.round((values - self.offset) / self.step) + 0.5))


def find_grid(x: Floats) -> Grid | None:
    """The grid that the rows were rounded to, or ``None`` where no column was visibly rounded.

    A column lies on a grid if at least 75 % of its rows do, those with its most frequent value left out. The steps that
    are tried are 1, 2, 2.5 or 5 times a power of ten, and the greatest common divisor of the differences of the values
    in the column (of those that occur twice, where there are some). The largest that fits counts.

    Parameters
    ----------
    x : array
        Shape (n, d).

    Notes
    -----
    Rounding to the nearest value is assumed; rows that were cut off (ages in whole years) are half a step away.

    Examples
    --------
    >>> x = np.random.default_rng(0).normal(size=(200, 1))
    >>> find_grid(x), find_grid(x.round(1)).step, find_grid(2.54 * x.round()).step.round(12)
    (None, array([0.1]), array([2.54]))
    """
    found = [_column_grid(column) for column in x.T]
    if not any(step for step, _ in found):
        return None
    step, offset = np.array(found, dtype=np.float64).T
    return Grid(step, offset)


def _column_grid(x: Floats) -> tuple[float, float]:
    """Step and offset of one column, (0, 0) where there is no grid."""
    n, x = len(x), x[:: len(x) // LOOKED_AT + 1]
    values, times = np.unique(x, return_counts=True)
    low, high = np.quantile(x, [_QUANTILES, 1.0 - _QUANTILES])
    spread = float(next(iter((high - low)[high > low]), 0.0))
    best, twice = (0.0, 0.0), values[times > 1]
    others = x[x != values[np.argmax(times)]]  # one value that most rows share lies on every grid
    for precision in _PRECISIONS if len(values) > 2 else ():
        error = precision * (float(np.abs(np.median(x))) + 10.0 * spread)
        least = max(_VISIBLE * spread / math.sqrt(n), 100.0 * error)
        steps = [(_divisor(v - v[0], error, least), float(v[0])) for v in (twice, values) if len(v) > 2]
        for step, offset in ((_decimal(others, error, least, 4.0 * spread), 0.0), *steps):
            if step >= max(least, 1.01 * best[0]):
                away = np.abs(others - offset - step * np.round((others - offset) / step))
                best = (float(step), offset) if np.mean(away <= 4.0 * error) >= ON_GRID else best
    return best


def _decimal(x: Floats, error: float, least: float, most: float) -> float:
    """The largest decimal step from ``least`` to ``most`` that the values (n,) are multiples of, 0 where none is."""
    steps = _DECIMALS[(least <= _DECIMALS) & (most >= _DECIMALS)][:, None]
    fits = np.mean(np.abs(x - steps * np.round(x / steps)) <= 4.0 * error, axis=1) >= ON_GRID
    return float(steps[np.argmax(fits), 0]) if fits.any() else 0.0


def _divisor(differences: Floats, error: float, least: float) -> float:
    """The greatest common divisor of differences known up to an error (Euclid's algorithm), 0 where there is none; one
    below ``least`` is not followed further."""
    left, step = differences[differences > 4.0 * error], 0.0
    while left.size:
        step = float(left.min())
        rest = np.abs(differences - step * np.round(differences / step))
        left = rest[rest > 8.0 * error] if step > 100.0 * error and step >= least else left[:0]
    return step
