"""Samples from a Parquet file, a few rows at a time."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from steinball.cli.columns import choose_columns
from steinball.cli.csvtext import refuse_index

_ROWS_AT_ONCE = 2**16


class Budget(Protocol):
    """Whose file it is, and how much memory its numbers may take."""

    @property
    def source(self) -> str: ...

    def check(self, size: int) -> None:
        """Refuse more bytes than are allowed."""


def read_parquet(
    source: str, columns: str | None, budget: Budget, missing: bool = False
) -> tuple[NDArray[Any], tuple[str, ...]]:
    """The chosen columns as one array, and their names; with ``missing``, NaN for what is not there."""
    try:
        import pyarrow.parquet
    except ImportError:
        raise ValueError("Parquet files need pyarrow: pip install 'steinball[io]'.") from None
    try:
        with pyarrow.parquet.ParquetFile(source, pre_buffer=False, buffer_size=2**20) as file:
            names = file.schema_arrow.names
            if columns is None:
                refuse_index(names, _index_columns(file.schema_arrow))
            chosen = range(len(names)) if columns is None else choose_columns(columns, names, len(names))
            widths = [_width(file, i) for i in chosen]
            matrix = _matrix(file, list(chosen), widths, budget, missing)
            return matrix, _numbered([names[i] for i in chosen], widths)
    except pyarrow.ArrowException as error:
        raise ValueError(f"`{source}` could not be read as Parquet: {error}") from None


def _index_columns(schema: Any) -> list[str]:
    """The columns that pandas has marked as the index of its frame; one that only counts is no column."""
    marked = (schema.pandas_metadata or {}).get("index_columns", [])
    return [name for name in marked if isinstance(name, str)]


def _numbered(names: list[str], widths: list[int]) -> tuple[str, ...]:
    """The names of columns; those of a column of lists are numbered, as in a frame."""
    return tuple(
        name if width == 1 else f"{name}[{k}]" for name, width in zip(names, widths, strict=True) for k in range(width)
    )


def _matrix(file: Any, chosen: list[int], widths: list[int], budget: Budget, missing: bool) -> NDArray[Any]:
    """The chosen columns as one array, filled a few rows at a time, row group by row group."""
    names, source = file.schema_arrow.names, budget.source
    dtype = np.result_type(*(_type(file.schema_arrow.field(i), source) for i in chosen))
    dtype = np.result_type(dtype, np.float64) if missing and dtype.kind != "f" else dtype
    budget.check(file.metadata.num_rows * sum(widths) * dtype.itemsize)
    matrix = np.empty((file.metadata.num_rows, sum(widths)), dtype=dtype)
    start, wanted, places = 0, sorted({names[i] for i in chosen}), np.cumsum([0, *widths])
    for group in range(file.num_row_groups):
        for batch in file.iter_batches(_ROWS_AT_ONCE, row_groups=[group], columns=wanted):
            stop = start + batch.num_rows
            for k, i in enumerate(chosen):
                same_name = batch.schema.get_all_field_indices(names[i])
                column = batch.column(same_name[names[:i].count(names[i])])
                part = _Part(column, names[i], start, source, missing)
                matrix[start:stop, places[k] : places[k + 1]] = part.rows(widths[k])
            start = stop
    return matrix


def _is_list(kind: Any) -> bool:
    import pyarrow

    return bool(
        pyarrow.types.is_list(kind) or pyarrow.types.is_large_list(kind) or pyarrow.types.is_fixed_size_list(kind)
    )


def _width(file: Any, i: int) -> int:
    """How many numbers a row of a column holds: as many as the first list of a column of lists."""
    field = file.schema_arrow.field(i)
    if not _is_list(field.type):
        return 1
    for batch in file.iter_batches(1024, columns=[field.name]):
        found = [len(value) for value in batch.column(0).to_pylist() if value is not None]
        if found:
            return found[0]
    return 0


def _type(field: Any, source: str) -> np.dtype[Any]:
    """The NumPy type of a column, by the file's schema."""
    import pyarrow

    kind = field.type.value_type if _is_list(field.type) else field.type
    if pyarrow.types.is_integer(kind) or pyarrow.types.is_floating(kind):
        return np.asarray(pyarrow.nulls(0, kind).to_numpy(zero_copy_only=False)).dtype
    raise ValueError(
        f"column `{field.name}` of `{source}` holds {field.type}, not numbers; choose others with `--columns`."
    )


class _Part:
    """Some values of one column, the first of them in row ``start`` (from 0) of the file."""

    def __init__(self, column: Any, name: str, start: int, source: str, missing: bool) -> None:
        self.column, self.name, self.start, self.source, self.missing = column, name, start, source, missing

    def rows(self, width: int) -> NDArray[Any]:
        """The values, shape (rows, width)."""
        if not _is_list(self.column.type):
            return self._numbers(self.column, 1)[:, None]
        lengths = self._lengths(width)
        values = self._numbers(self.column.flatten(), width)
        if lengths.all():
            return values.reshape(-1, width)
        matrix = np.full((len(lengths), width), np.nan)
        matrix[lengths] = values.reshape(-1, width)
        return matrix

    def _lengths(self, width: int) -> NDArray[np.bool_]:
        """Which rows have their list; all must be as long as the first."""
        lengths = np.asarray(self.column.value_lengths().fill_null(-1).to_numpy(zero_copy_only=False))
        there = lengths >= 0
        if not there.all() and not self.missing:
            self._refuse("no list (null)", int(np.argmin(there)))
        wrong = there & (lengths != width)
        if wrong.any():
            k = int(np.argmax(wrong))
            raise ValueError(
                f"column `{self.name}` of `{self.source}` holds lists of {width} numbers, but {lengths[k]} in row "
                f"{self.start + k + 1}; all rows must have the same length."
            )
        return there

    def _numbers(self, column: Any, width: int) -> NDArray[Any]:
        if column.null_count and not self.missing:
            self._refuse("no number (null)", int(np.argmax(column.is_null().to_numpy(zero_copy_only=False))) // width)
        values = np.asarray(column.to_numpy(zero_copy_only=False))
        bad = ~np.isfinite(values) if not self.missing else np.isinf(values)
        if bad.any():
            self._refuse(str(values[np.argmax(bad)]), int(np.argmax(bad)) // width)
        return values

    def _refuse(self, what: str, row: int) -> None:
        remedy = "remove or impute it" if "inf" in what else "remove or impute it, or drop such rows: `--missing drop`"
        raise ValueError(f"column `{self.name}` of `{self.source}` has {what} in row {self.start + row + 1}; {remedy}.")
