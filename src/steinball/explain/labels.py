"""What a user's frame calls the columns and rows that were tested."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steinball.arrays import Floats
from steinball.frames import column_numbers, frame_columns, frame_index

__all__ = ["Labels", "labels_of"]


@dataclass(frozen=True)
class Labels:
    """Names of the columns, and of the rows where they have any.

    Examples
    --------
    >>> Labels(("x1", "x2")).row(7), Labels(("a",), ("Ann", "Bob")).row(1)
    ('row 7', 'Bob')
    """

    names: tuple[str, ...]
    ids: tuple[str, ...] = ()

    def row(self, i: int) -> str:
        """What row i is called."""
        return self.ids[i] if self.ids else f"row {i}"


def labels_of(data: Any, samples: Floats, rows: NDArray[np.intp], n: int, known: tuple[str, ...] = ()) -> Labels:
    """The names that ``data``, a frame with the n rows that were tested, has for them; ``samples`` are its ``rows``.

    Without it they are those that are ``known``. A column is recognized by its values; otherwise a frame with as many
    columns of numbers as were tested has them in their order. Rows are called by the index of a pandas frame or by the
    first column that is not a tested one.

    Examples
    --------
    >>> labels_of(None, np.zeros((5, 2)), np.arange(5), 5).names
    ('x1', 'x2')
    """
    d = samples.shape[1]
    if data is None:
        return Labels(known if len(known) == d else tuple(f"x{j + 1}" for j in range(d)))
    if isinstance(data, Labels):
        return data
    columns = frame_columns(data)
    if columns is None:
        raise TypeError(
            f"`data` must be the frame that was tested (pandas, polars or pyarrow), got {type(data).__name__}."
        )
    if len(data) != n:
        raise ValueError(f"`data` must have the {n} rows that were tested, got {len(data)}.")
    tested = _tested(columns, samples, rows)
    if len(tested) != d:
        raise ValueError(
            f"`data` must hold the {d} columns that were tested; {len(tested)} of its columns could be they."
        )
    return Labels(tuple(columns[k][0] for k in tested), _ids(data, columns, tested))


def _tested(columns: list[tuple[str, Any]], samples: Floats, rows: NDArray[np.intp]) -> list[int]:
    """Which columns were tested, in their order: those with the same values, or all that hold numbers."""
    numbers = {k: values for k, (_, column) in enumerate(columns) if (values := column_numbers(column)) is not None}
    same = [
        next((k for k, v in numbers.items() if _same(v[rows], samples[:, j])), None) for j in range(samples.shape[1])
    ]
    found = [k for k in same if k is not None]
    return found if len(found) == len(same) == len(set(found)) else list(numbers)


def _same(values: Floats, column: Floats) -> bool:
    return values.shape == column.shape and bool(np.allclose(values, column, rtol=1e-6, atol=0.0))


def _ids(data: Any, columns: list[tuple[str, Any]], tested: list[int]) -> tuple[str, ...]:
    index = frame_index(data)
    if index is not None:
        return tuple(index)
    others = [k for k in range(len(columns)) if k not in tested]
    return tuple(str(value) for value in columns[others[0]][1]) if others else ()
