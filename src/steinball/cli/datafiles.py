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


def read_samples(
    source: str, *, columns: str | None = None, key: str | None = None, header: bool | None = None
) -> NDArray[Any]:
    """Read samples of shape (n, d), rows are observations, from the file ``source``.

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
    with _numpy_errors(source), open(source, "rb") as file:
        return np.asarray(np.load(file, allow_pickle=False))


@contextmanager
def _numpy_errors(source: str) -> Iterator[None]:
    try:
        yield
    except (ValueError, TypeError, AttributeError, EOFError, BadZipFile) as error:
        if "allow_pickle" in str(error):
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
    matrix = values.reshape(values.shape[0], -1)
    if columns is not None:
        matrix = matrix[:, choose_columns(columns, None, matrix.shape[1])]
    bad = np.argwhere(~np.isfinite(matrix))
    if bad.size:
        row, column = bad[0]
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
        table = pyarrow.parquet.read_table(source)
    except pyarrow.ArrowException as error:
        raise ValueError(f"`{source}` could not be read as Parquet: {error}") from None
    chosen = (
        range(table.num_columns) if columns is None else choose_columns(columns, table.column_names, table.num_columns)
    )
    return np.column_stack([_parquet_column(table, i, source) for i in chosen])


def _parquet_column(table: Any, position: int, source: str) -> NDArray[Any]:
    name, column = table.column_names[position], table.column(position)
    kind = str(column.type)
    if not kind.startswith(("int", "uint", "float", "double", "halffloat")):
        raise ValueError(f"column `{name}` of `{source}` holds {kind}, not numbers; choose others with `--columns`.")
    values = np.asarray(column.to_numpy())
    bad = np.flatnonzero(column.is_null().to_numpy() | ~np.isfinite(values.astype(np.float64)))
    if bad.size:
        raise ValueError(
            f"column `{name}` of `{source}` has no finite number in row {bad[0] + 1}; remove or impute it."
        )
    return values
