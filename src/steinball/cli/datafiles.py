"""Samples from a file: CSV, NPY, NPZ or Parquet, never anything that can run code; and the rows of a feed."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from steinball.cli.csvtext import TextRows, open_text, read_csv
from steinball.cli.table import Table, choose_columns
from steinball.gram.choose import Settings
from steinball.gram.cost import in_words
from steinball_command.options import DataFile

Check = Callable[[int, float], None]
"""Refuses a file of which a share, the second argument, takes a number of bytes, the first one."""


def memory_check(source: str, memory_limit: int | str | None) -> Check:
    """A check by a limit as users give it."""
    limit = Settings(memory_limit=memory_limit).limit(np.empty(0), 2**62)

    def check(size: int, share: float) -> None:
        if size > share * limit:
            raise ValueError(
                f"the numbers of `{source}` take about {in_words(size / share)}, but {in_words(limit)} of memory may "
                "be used. Read fewer columns with `--columns`, raise `--memory-limit`, or save them as an NPY file, "
                "which is not loaded as a whole."
            )

    return check


def read_parquet(file: DataFile, check: Check) -> tuple[NDArray[Any], tuple[str, ...]]:
    """The chosen columns as one array, and their names; where missing values are dropped later, NaN stands for them."""
    try:
        import pyarrow.parquet
    except ImportError:
        raise ValueError("Parquet files need pyarrow: pip install 'steinball[io]'.") from None
    try:
        with pyarrow.parquet.ParquetFile(file.data, pre_buffer=False, buffer_size=2**20) as opened:
            schema, names = opened.schema_arrow, opened.schema_arrow.names
            marked = (schema.pandas_metadata or {}).get("index_columns", [])  # one that only counts is no column
            chosen = choose_columns(file.columns, names, len(names), [name for name in marked if isinstance(name, str)])
            widths = {i: _width(opened, schema.field(i)) for i in chosen}
            matrix = _matrix(opened, widths, file, check)
    except pyarrow.ArrowException as error:
        raise ValueError(f"`{file.data}` could not be read as Parquet: {error}") from None
    return matrix, tuple(
        names[i] if width == 1 else f"{names[i]}[{k}]" for i, width in widths.items() for k in range(width)
    )


def _matrix(opened: Any, widths: dict[int, int], file: DataFile, check: Check) -> NDArray[Any]:
    """The columns at these places, of so many numbers each, as one array that is filled a few rows at a time."""
    schema, n, drop = opened.schema_arrow, opened.metadata.num_rows, file.missing == "drop"
    names, wanted = schema.names, sorted({schema.names[i] for i in widths})
    dtype = np.result_type(*(_dtype(schema.field(i), file.data) for i in widths))
    dtype = np.result_type(dtype, np.float64) if drop and dtype.kind != "f" else dtype
    check(n * sum(widths.values()) * dtype.itemsize, 1.0)
    matrix, start = np.empty((n, sum(widths.values())), dtype=dtype), 0
    for batch in opened.iter_batches(_ROWS_AT_ONCE, columns=wanted):
        parts = []
        for i, width in widths.items():
            same_name = batch.schema.get_all_field_indices(names[i])
            column, name = batch.column(same_name[names[:i].count(names[i])]), f"`{names[i]}` of `{file.data}`"
            parts.append(_numbers_of_rows(column, width, name, start, drop))
        matrix[start : start + batch.num_rows] = np.hstack(parts)
        start += batch.num_rows
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


def _numbers_of_rows(column: Any, width: int, name: str, start: int, drop: bool) -> NDArray[Any]:
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
    _refuse_not_finite(values, [name] * width, start, drop)
    return values


def _refuse_not_finite(values: NDArray[Any], names: Sequence[str], start: int, drop: bool) -> None:
    """Refuse what is no number in some rows of columns, but for values that are missing and are dropped later."""
    for row, k in np.argwhere(np.isinf(values) if drop else ~np.isfinite(values)):
        what, also = values[row, k], ""
        if np.isnan(what):
            what, also = "no number", ", or drop such rows: `--missing drop`"
        raise ValueError(f"column {names[k]} has {what} in row {start + row + 1}; remove or impute it{also}.")


_TEXT = {".csv", ".tsv", ".txt", ".dat"}
_FOR_TEXT = ("na", "header", "skip_lines", "encoding", "decimal", "thousands")
_ROWS_AT_ONCE = 2**16


def read_table(file: DataFile, memory_limit: int | str | None = None) -> Table:
    """Read samples of shape (n, d), rows are observations, from a file, with the names of the columns.

    An NPY file is mapped into memory, read-only, and not read as a whole. A CSV or Parquet file is read a few rows at a
    time into one array of the columns asked for, and of an NPZ file nothing but the array asked for. A file whose
    numbers take more than ``memory_limit`` is refused before it is read.

    Parameters
    ----------
    file : DataFile
        Its name, which ends in ``.csv``, ``.tsv``, ``.txt``, ``.dat``, ``.npy``, ``.npz`` or ``.parquet`` (``"-"``
        reads CSV from standard input), and how it is read.
    memory_limit : int or str, optional
        Bytes, or a text such as ``"2 GB"``; half of what is free by default.

    Raises
    ------
    ValueError
        With the place in the file, when a cell is missing, not a number or not finite.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "points.csv")
    ...     _ = path.write_text("x,y\\n1,2\\n3,4\\n")
    ...     table = read_table(DataFile(str(path), columns="y"))
    >>> table.names, table.samples.tolist()
    (('y',), [[2.0], [4.0]])
    """
    suffix = ".csv" if file.data == "-" else Path(file.data).suffix.lower()
    check_format(file, suffix)
    check = memory_check(file.data, memory_limit)
    if suffix in _TEXT:
        table = Table(*read_csv(file, check))
    elif suffix == ".parquet":
        table = Table(*read_parquet(file, check))
    else:
        table = Table(_numeric_matrix(_array(file, suffix, check), file))
    return table.complete() if file.missing == "drop" else table


def check_format(file: DataFile, suffix: str) -> None:
    """Refuse options that do not belong to the file, before it is opened."""
    if suffix in (".xlsx", ".xls", ".ods"):
        raise ValueError(
            f"`{file.data}` is a workbook. Save its sheet as CSV (UTF-8) from the spreadsheet, or in Python with "
            "`pandas.read_excel(...).to_csv(..., index=False)`."
        )
    if suffix not in {*_TEXT, ".npy", ".npz", ".parquet"}:
        raise ValueError(f"`{file.data}` must end in .csv, .tsv, .txt, .dat, .npy, .npz or .parquet.")
    if suffix != ".npz" and file.key is not None:
        raise ValueError("`--key` names an array of an NPZ file; this is not one.")
    for name in (name for name in _FOR_TEXT if suffix not in _TEXT and vars(file)[name] != vars(DataFile(""))[name]):
        raise ValueError(f"`--{name.replace('_', '-')}` is for CSV files; this is not one.")
    if file.decimal not in (None, ".", ","):
        raise ValueError(f"`--decimal` must be a point or a comma, got `{file.decimal}`.")
    if file.thousands not in (None, ",", ".", " ", "'") or file.thousands == (file.decimal or "."):
        raise ValueError(
            "`--thousands` must be a comma, a point, a space or an apostrophe, and another mark than `--decimal`, got "
            f"`{file.thousands}`."
        )
    if file.missing not in ("error", "drop"):
        raise ValueError(f"`--missing` must be error or drop, got `{file.missing}`.")


@contextmanager
def open_feed(file: DataFile) -> Iterator[TextRows]:
    """The feed in a text file, or on standard input."""
    if file.data.lower().endswith((".npy", ".npz", ".parquet")):
        raise ValueError(f"`--data {file.data}` must be text, a row a line, such as CSV.")
    check_format(file, ".csv")
    with open_text(file) as stream:
        yield TextRows(stream, file)


def read_npz(
    source: str, check: Check | None = None, choose: Callable[[list[str]], list[str]] = list
) -> dict[str, NDArray[Any]]:
    """Arrays of an NPZ file by name, all or those that are chosen, never unpickled, if there is memory for them."""
    with open(source, "rb") as file:
        with _numpy_errors(source):
            archive = np.load(file, allow_pickle=False).__enter__()
        names = choose(archive.files)
        members = (member for member in archive.zip.infolist() if member.filename.removesuffix(".npy") in names)
        # A small archive may unpack to large arrays.
        (check or memory_check(source, None))(sum(member.file_size for member in members), 1.0)
        with _numpy_errors(source):
            return {name: np.asarray(archive[name]) for name in names}


def _chosen_key(file: DataFile, names: list[str]) -> list[str]:
    if file.key is None and len(names) != 1:
        raise ValueError(f"`{file.data}` holds {len(names)} arrays ({', '.join(names)}); choose one with `--key`.")
    if file.key is not None and file.key not in names:
        raise ValueError(f"`{file.data}` has no array `{file.key}`; it has {', '.join(names)}.")
    return [file.key or names[0]]


def _array(file: DataFile, suffix: str, check: Check) -> NDArray[Any]:
    if suffix == ".npz":
        return next(iter(read_npz(file.data, check, partial(_chosen_key, file)).values()))
    with _numpy_errors(file.data):
        return np.asarray(np.load(file.data, mmap_mode="r", allow_pickle=False))  # on the disk until it is used


@contextmanager
def _numpy_errors(source: str) -> Iterator[None]:
    try:
        yield
    except (ValueError, TypeError, AttributeError, EOFError, BadZipFile, RuntimeError, zlib.error) as error:
        if "allow_pickle" in str(error) or "Python objects" in str(error):
            raise ValueError(
                f"`{source}` holds Python objects, which steinball never unpickles; save a plain array of numbers."
            ) from None
        raise ValueError(f"`{source}` could not be read as a NumPy file: {error}") from None


def _numeric_matrix(values: NDArray[Any], file: DataFile) -> NDArray[Any]:
    if values.dtype.kind not in "fiu":
        raise ValueError(f"`{file.data}` must hold real numbers, got dtype {values.dtype}.")
    if values.ndim not in (1, 2) or values.shape[1:] == (0,):
        raise ValueError(f"`{file.data}` must hold an array of shape (n,) or (n, d), got {values.shape}.")
    matrix = values[:, None] if values.ndim == 1 else values
    chosen = choose_columns(file.columns, None, matrix.shape[1])
    matrix = matrix if file.columns is None else matrix[:, chosen]
    names = [f"{i + 1} of `{file.data}`" for i in chosen]
    for start in range(0, len(matrix), _ROWS_AT_ONCE):
        _refuse_not_finite(matrix[start : start + _ROWS_AT_ONCE], names, start, file.missing == "drop")
    return matrix
