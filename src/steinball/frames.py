"""Frames of pandas, polars and pyarrow: their values, and what they call their columns and rows."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

_FRAMES = ("pandas", "polars", "pyarrow")
_LABELED = ("arviz", "arviz_base", "xarray")
_NUMERIC = re.compile(r"(sparse\[)?(u?int\d+|float\d*|halffloat|double)\b")  # how pandas, polars, pyarrow write dtypes


def _of_frames(x: Any) -> bool:
    return type(x).__module__.partition(".")[0] in _FRAMES


def from_frame(x: Any, name: str) -> Any:
    """The values of a data frame or series as NumPy; anything else unchanged, if it is rows and columns."""
    _refuse_labeled(x, name)
    if not _of_frames(x):
        return x
    if (found := frame_columns(x)) is None:
        raise TypeError(f"`{name}` is a lazy frame; call its `collect()` first.")
    columns = [_column_values(label, column, name) for label, column in found]
    if not hasattr(x, "columns"):
        return columns[0]
    return np.column_stack(columns) if columns else np.empty((len(x), 0))


def frame_columns(x: Any) -> list[tuple[str, Any]] | None:
    """Names and columns of a data frame (whose names may repeat), or of a series; ``None`` for anything else.

    A lazy frame has no values yet: even its columns must not be asked for, which would compute.
    """
    if not _of_frames(x) or type(x).__name__ == "LazyFrame":
        return None
    if not hasattr(x, "columns"):
        return [(str(getattr(x, "name", None) or "values"), x)]
    if hasattr(x, "column_names"):  # pyarrow
        return list(zip(x.column_names, x.columns, strict=True))
    if hasattr(x, "iter_columns"):  # polars
        return [(column.name, column) for column in x.iter_columns()]
    return [(str(label), column) for label, column in x.items()]


def column_names(x: Any) -> list[str] | None:
    """The names of the columns of a frame or series, for reports; those of a column of lists are numbered.

    Examples
    --------
    >>> column_names(np.zeros((3, 2))) is None
    True
    """
    if (found := frame_columns(x)) is None:
        return None
    if not hasattr(x, "columns"):
        name = getattr(x, "name", None)
        return [name] if isinstance(name, str) and name else None
    if type(x).__module__.startswith("pandas") and not any(isinstance(label, str) for label in x.columns):
        return None  # numbers that count the columns name nothing
    return [name for label, column in found for name in _names(label, column)]


def _names(label: str, column: Any) -> list[str]:
    values = _column_values(label, column, "samples")
    return [label] if values.ndim == 1 else [f"{label}[{k}]" for k in range(values.shape[1])]


def column_numbers(column: Any) -> NDArray[np.float64] | None:
    """A column as numbers, or ``None`` where it holds something else."""
    try:
        return np.asarray(_column_values("values", column, "data"), dtype=np.float64)
    except (TypeError, ValueError):
        return None


def _column_values(label: Any, column: Any, name: str) -> NDArray[Any]:
    """One column as numbers, with NaN for what is missing."""
    kind = getattr(column, "dtype", None) or getattr(column, "type", "unknown")
    if _NUMERIC.match(str(kind).lower()):
        options = {"zero_copy_only": False} if str(type(column).__module__).startswith("pyarrow") else {}
        values = np.asarray(column.to_numpy(**options))
        return values if values.dtype.kind in "fiu" else np.asarray(column.to_numpy(dtype=np.float64, na_value=np.nan))
    if (lists := _list_values(label, column, name)) is not None:
        return lists
    raise TypeError(f"`{name}` must hold numbers only, but column `{label}` is {kind}. Drop or encode it.")


def _refuse_labeled(x: Any, name: str) -> None:
    """ArviZ's and xarray's objects, whose chains and draws only their owner can put into rows."""
    if type(x).__module__.partition(".")[0] not in _LABELED:
        return
    if not hasattr(x, "dims") or hasattr(x, "data_vars") or "chain" in x.dims:
        raise TypeError(
            f"`{name}` is a {type(x).__name__}, whose chains, draws and variables are no rows yet. `sb.mcmc_test` "
            "tests them against the posterior that they were drawn from. As data, stack them, chain "
            "behind chain: `np.stack([idata.posterior[v].values.ravel() for v in names], axis=1)` for scalars, and "
            'pass `WildBootstrap(dependence="auto", chains=...)` as calibration: draws of a chain are not independent.'
        )


def _list_values(label: Any, column: Any, name: str) -> NDArray[Any] | None:
    """A column of lists of numbers, such as embeddings, as an array (n, width); ``None`` for anything else."""
    rows = column.to_pylist() if hasattr(column, "to_pylist") else list(column)
    if not rows or isinstance(rows[0], (str, bytes, dict)) or np.ndim(rows[0]) != 1:
        return None
    if any(np.asarray(row).dtype.kind not in "fiu" for row in rows if row is not None):
        return None
    try:
        return np.array([np.asarray(row, dtype=np.float64) for row in rows])
    except (TypeError, ValueError):
        raise ValueError(f"`{name}` must be rectangular, but the lists of column `{label}` differ in length.") from None


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


def labels_of(
    data: Any, samples: NDArray[np.float64], rows: NDArray[np.intp], n: int, known: tuple[str, ...] = ()
) -> Labels:
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
    tested = _tested_columns(columns, samples, rows)
    if len(tested) != d:
        raise ValueError(
            f"`data` must hold the {d} columns that were tested; {len(tested)} of its columns could be they."
        )
    return Labels(tuple(columns[k][0] for k in tested), _row_names(data, columns, tested))


def _tested_columns(columns: list[tuple[str, Any]], samples: NDArray[np.float64], rows: NDArray[np.intp]) -> list[int]:
    """Which columns were tested, in their order: those with the same values, or all that hold numbers."""
    numbers = {k: values for k, (_, column) in enumerate(columns) if (values := column_numbers(column)) is not None}
    flat = {k: values[rows] for k, values in numbers.items() if values.ndim == 1}
    same = [[k for k, v in flat.items() if np.allclose(v, column, rtol=1e-6, atol=0.0)][:1] for column in samples.T]
    found = [k for first in same for k in first]
    return found if len(found) == len(same) == len(set(found)) else list(numbers)


def _row_names(data: Any, columns: list[tuple[str, Any]], tested: list[int]) -> tuple[str, ...]:
    """The labels of a pandas frame, where they are more than numbers, or the first column that is not tested."""
    index = getattr(data, "index", None)
    if index is not None and not callable(index) and type(index).__name__ != "RangeIndex":
        return tuple(str(label) for label in index)
    others = [k for k in range(len(columns)) if k not in tested]
    return tuple(str(value) for value in columns[others[0]][1]) if others else ()
