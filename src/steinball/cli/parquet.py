"""Samples from a Parquet file, a few rows at a time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steinball.cli.table import Budget, choose_columns
from steinball_command.options import DataFile

_ROWS_AT_ONCE = 2**16


def read_parquet(file: DataFile, budget: Budget) -> tuple[NDArray[Any], tuple[str, ...]]:
    """The chosen columns as one array, and their names; where missing values are dropped later, NaN stands for them."""
    try:
        import pyarrow.parquet
    except ImportError:
        raise ValueError("Parquet files need pyarrow: pip install 'steinball[io]'.") from None
    try:
        with pyarrow.parquet.ParquetFile(file.data, pre_buffer=False, buffer_size=2**20) as opened:
            names = opened.schema_arrow.names
            chosen = choose_columns(file.columns, names, len(names), _index_columns(opened.schema_arrow))
            widths = [_width(opened, opened.schema_arrow.field(i)) for i in chosen]
            matrix = _matrix(opened, chosen, widths, budget, file.missing == "drop")
    except pyarrow.ArrowException as error:
        raise ValueError(f"`{file.data}` could not be read as Parquet: {error}") from None
    called = ([names[i]] if width == 1 else [f"{names[i]}[{k}]" for k in range(width)]
              for i, width in zip(chosen, widths, strict=True))  # fmt: skip
    return matrix, tuple(name for group in called for name in group)


def _index_columns(schema: Any) -> list[str]:
    """The columns that pandas has marked as the index of its frame; one that only counts is no column."""
    marked = (schema.pandas_metadata or {}).get("index_columns", [])
    return [name for name in marked if isinstance(name, str)]


def _matrix(file: Any, chosen: Sequence[int], widths: list[int], budget: Budget, drop: bool) -> NDArray[Any]:
    """The chosen columns as one array, filled a few rows at a time, row group by row group."""
    names = file.schema_arrow.names
    dtype = np.result_type(*(_dtype(file.schema_arrow.field(i), budget.source) for i in chosen))
    dtype = np.result_type(dtype, np.float64) if drop and dtype.kind != "f" else dtype
    budget.check(file.metadata.num_rows * sum(widths) * dtype.itemsize)
    matrix = np.empty((file.metadata.num_rows, sum(widths)), dtype=dtype)
    start, wanted, places = 0, sorted({names[i] for i in chosen}), np.cumsum([0, *widths])
    for group in range(file.num_row_groups):
        for batch in file.iter_batches(_ROWS_AT_ONCE, row_groups=[group], columns=wanted):
            stop = start + batch.num_rows
            for k, i in enumerate(chosen):
                same_name = batch.schema.get_all_field_indices(names[i])
                column, name = batch.column(same_name[names[:i].count(names[i])]), f"`{names[i]}` of `{budget.source}`"
                matrix[start:stop, places[k] : places[k + 1]] = _part(column, widths[k], name, start, drop)
            start = stop
    return matrix


def _is_list(kind: Any) -> bool:
    import pyarrow.types as types

    return bool(types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind))


def _width(file: Any, field: Any) -> int:
    """How many numbers a row of a column holds: as many as the first list of a column of lists."""
    if not _is_list(field.type):
        return 1
    batches = file.iter_batches(1024, columns=[field.name])
    return next((len(value) for batch in batches for value in batch.column(0).to_pylist() if value is not None), 0)


def _dtype(field: Any, source: str) -> np.dtype[Any]:
    """The NumPy type of a column, by the file's schema."""
    import pyarrow

    kind = field.type.value_type if _is_list(field.type) else field.type
    if pyarrow.types.is_integer(kind) or pyarrow.types.is_floating(kind):
        return np.asarray(pyarrow.nulls(0, kind).to_numpy(zero_copy_only=False)).dtype
    raise ValueError(
        f"column `{field.name}` of `{source}` holds {field.type}, not numbers; choose others with `--columns`."
    )


def _part(column: Any, width: int, name: str, start: int, drop: bool) -> NDArray[Any]:
    """The numbers of some rows of a column, shape (rows, width); the first is row ``start`` (from 0) of the file."""
    lengths = np.full(len(column), width)
    if _is_list(column.type):
        lengths = np.asarray(column.value_lengths().fill_null(-1).to_numpy(zero_copy_only=False))
        column = column.flatten()
    there = lengths >= 0
    for row in np.flatnonzero(there & (lengths != width)):
        raise ValueError(
            f"column {name} holds lists of {width} numbers, but {lengths[row]} in row {start + row + 1}; all rows must "
            "have the same length."
        )
    values = np.asarray(column.to_numpy(zero_copy_only=False)).reshape(there.sum(), width)
    if not there.all():
        known, values = values, np.full((len(there), width), np.nan)
        values[there] = known
    for row, k in np.argwhere(np.isinf(values) if drop else ~np.isfinite(values)):
        missing = bool(np.isnan(values[row, k]))
        what = "no number" if missing else values[row, k]
        remedy = "remove or impute it" + ", or drop such rows: `--missing drop`" * missing
        raise ValueError(f"column {name} has {what} in row {start + row + 1}; {remedy}.")
    return values
