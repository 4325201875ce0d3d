"""Samples from a file: CSV, NPY, NPZ or Parquet, never anything that can run code."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from steinball.cli.csvtext import choose_columns, read_csv_text

__all__ = ["read_npz", "read_samples"]

_TEXT = {".csv", ".tsv", ".txt", ".dat"}
_ROWS_AT_ONCE = 2**16


def read_samples(
    source: str, *, columns: str | None = None, key: str | None = None, header: bool | None = None
) -> NDArray[Any]:
    """Read samples of shape (n, d), rows are observations, from the file ``source``.

    An NPY file is mapped into memory, read-only, and not read as a whole. A Parquet file is read a few rows at a time
    into one array of the columns asked for.

    Parameters
    ----------
    source : str
        A path that ends in ``.csv``, ``.tsv``, ``.txt``, ``.dat``, ``.npy``, ``.npz`` or ``.parquet``;
        ``"-"`` reads CSV from standard input.
    columns : str, optional
        Comma-separated column names or positions counted from 1. All columns by default.
    key : str, optional
        Which array of an NPZ file to read, when it holds several.
    header : bool, optional
        Whether the first line of a CSV file names the columns. By default it does when no cell of it is a number.

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
    ...     read_samples(str(path), columns="y")
    array([[2.],
           [4.]])
    """
    suffix = ".csv" if source == "-" else Path(source).suffix.lower()
    if suffix != ".npz" and key is not None:
        raise ValueError("`--key` names an array of an NPZ file; this is not one.")
    if suffix not in _TEXT and header is not None:
        raise ValueError("`--header` and `--no-header` are for CSV files; this is not one.")
    if suffix in _TEXT:
        return read_csv_text(_text_of(source), columns=columns, header=header)
    if suffix in {".npy", ".npz"}:
        return _numeric_matrix(_load_numpy(source, key), source, columns)
    if suffix == ".parquet":
        return _read_parquet(source, columns)
    raise ValueError(f"`{source}` must end in .csv, .tsv, .txt, .dat, .npy, .npz or .parquet.")


def _text_of(source: str) -> str:
    raw = sys.stdin.buffer.read() if source == "-" else Path(source).read_bytes()
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(f"`{source}` must be UTF-8 text, but byte {error.start + 1} is not.") from None


def read_npz(source: str) -> dict[str, NDArray[Any]]:
    """All arrays of an NPZ file by name, never unpickled."""
    with _numpy_errors(source), open(source, "rb") as file, np.load(file, allow_pickle=False) as archive:
        return {name: archive[name] for name in archive.files}


def _load_numpy(source: str, key: str | None) -> NDArray[Any]:
    if Path(source).suffix.lower() == ".npz":
        return _pick(read_npz(source), source, key)
    with _numpy_errors(source):
        return np.asarray(np.load(source, mmap_mode="r", allow_pickle=False))  # it stays on the disk until it is used


@contextmanager
def _numpy_errors(source: str) -> Iterator[None]:
    try:
        yield
    except (ValueError, TypeError, AttributeError, EOFError, BadZipFile) as error:
        if "allow_pickle" in str(error) or "Python objects" in str(error):
            raise ValueError(
                f"`{source}` holds Python objects, which steinball never unpickles; save a plain array of numbers."
            ) from None
        raise ValueError(f"`{source}` could not be read as a NumPy file: {error}") from None


def _pick(arrays: dict[str, NDArray[Any]], source: str, key: str | None) -> NDArray[Any]:
    names = ", ".join(arrays)
    if key is None and len(arrays) != 1:
        raise ValueError(f"`{source}` holds {len(arrays)} arrays ({names}); choose one with `--key`.")
    if key is not None and key not in arrays:
        raise ValueError(f"`{source}` has no array `{key}`; it has {names}.")
    return arrays[key] if key is not None else next(iter(arrays.values()))


def _numeric_matrix(values: NDArray[Any], source: str, columns: str | None) -> NDArray[Any]:
    if values.dtype.kind not in "fiu":
        raise ValueError(f"`{source}` must hold real numbers, got dtype {values.dtype}.")
    if values.ndim not in (1, 2):
        raise ValueError(f"`{source}` must hold an array of shape (n,) or (n, d), got {values.shape}.")
    matrix = values[:, None] if values.ndim == 1 else values
    if columns is not None:
        matrix = matrix[:, choose_columns(columns, None, matrix.shape[1])]
    for start in range(0, len(matrix), _ROWS_AT_ONCE):
        bad = np.argwhere(~np.isfinite(matrix[start : start + _ROWS_AT_ONCE]))
        if bad.size:
            row, column = start + bad[0, 0], bad[0, 1]
            raise ValueError(
                f"`{source}` has {matrix[row, column]} in row {row + 1}, column {column + 1}; remove or impute it."
            )
    return matrix


def _read_parquet(source: str, columns: str | None) -> NDArray[Any]:
    try:
        import pyarrow.parquet
    except ImportError:
        raise ValueError("Parquet files need pyarrow: pip install 'steinball[io]'.") from None
    try:
        with pyarrow.parquet.ParquetFile(source, pre_buffer=False, buffer_size=2**20) as file:
            names = file.schema_arrow.names
            chosen = range(len(names)) if columns is None else choose_columns(columns, names, len(names))
            return _parquet_matrix(file, list(chosen), source)
    except pyarrow.ArrowException as error:
        raise ValueError(f"`{source}` could not be read as Parquet: {error}") from None


def _parquet_matrix(file: Any, chosen: list[int], source: str) -> NDArray[Any]:
    """The chosen columns as one array, filled a few rows at a time, row group by row group."""
    names = file.schema_arrow.names
    types = [_parquet_type(file.schema_arrow.field(i), source) for i in chosen]
    matrix = np.empty((file.metadata.num_rows, len(chosen)), dtype=np.result_type(*types))
    start, wanted = 0, sorted({names[i] for i in chosen})
    for group in range(file.num_row_groups):
        for batch in file.iter_batches(_ROWS_AT_ONCE, row_groups=[group], columns=wanted):
            stop = start + batch.num_rows
            for k, i in enumerate(chosen):
                same_name = batch.schema.get_all_field_indices(names[i])
                column = batch.column(same_name[names[:i].count(names[i])])
                matrix[start:stop, k] = _parquet_numbers(column, names[i], start, source)
            start = stop
    return matrix


def _parquet_type(field: Any, source: str) -> np.dtype[Any]:
    """The NumPy type of a column, by the file's schema."""
    import pyarrow

    if pyarrow.types.is_integer(field.type) or pyarrow.types.is_floating(field.type):
        return np.asarray(pyarrow.nulls(0, field.type).to_numpy(zero_copy_only=False)).dtype
    raise ValueError(
        f"column `{field.name}` of `{source}` holds {field.type}, not numbers; choose others with `--columns`."
    )


def _parquet_numbers(column: Any, name: str, start: int, source: str) -> NDArray[Any]:
    """Some values of one column, the first of them in row ``start`` (from 0) of the file."""
    if column.null_count:
        row = start + int(np.argmax(column.is_null().to_numpy(zero_copy_only=False))) + 1
        raise ValueError(f"column `{name}` of `{source}` has no number (null) in row {row}; remove or impute it.")
    values = np.asarray(column.to_numpy(zero_copy_only=False))
    bad = np.flatnonzero(~np.isfinite(values))
    if bad.size:
        row = start + int(bad[0]) + 1
        raise ValueError(f"column `{name}` of `{source}` has {values[bad[0]]} in row {row}; remove or impute it.")
    return values
