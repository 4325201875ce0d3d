"""Samples from a file: CSV, NPY, NPZ or Parquet, never anything that can run code."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from steinball.cli.csvtext import read_csv
from steinball.cli.parquet import read_parquet
from steinball.cli.table import Budget, Table, choose_columns
from steinball_command.options import DataFile

__all__ = ["check_format", "read_npz", "read_table"]

_TEXT = {".csv", ".tsv", ".txt", ".dat"}
_KNOWN = {*_TEXT, ".npy", ".npz", ".parquet"}
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
    budget, drop = Budget.of(file.data, memory_limit), file.missing == "drop"
    if suffix in _TEXT:
        table = Table(*read_csv(file, budget))
    elif suffix == ".parquet":
        table = Table(*read_parquet(file, budget))
    else:
        values = _one_of_npz(file, budget) if suffix == ".npz" else _mapped(file.data)
        table = Table(_numeric_matrix(values, file))
    table = table.complete() if drop else table
    if suffix in (".npy", ".npz"):
        _refuse_not_finite(table, file.data)
    return table


def check_format(file: DataFile, suffix: str) -> None:
    """Refuse options that do not belong to the file, before it is opened."""
    if suffix in (".xlsx", ".xls", ".ods"):
        raise ValueError(
            f"`{file.data}` is a workbook. Save its sheet as CSV (UTF-8) from the spreadsheet, or in Python with "
            "`pandas.read_excel(...).to_csv(..., index=False)`."
        )
    if suffix not in _KNOWN:
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


def read_npz(source: str) -> dict[str, NDArray[Any]]:
    """All arrays of an NPZ file by name, never unpickled, if there is memory for them."""
    with _archive(source) as archive:
        return _arrays(archive, archive.files, Budget.of(source, None))


def _one_of_npz(file: DataFile, budget: Budget) -> NDArray[Any]:
    with _archive(file.data) as archive:
        names = ", ".join(archive.files)
        if file.key is None and len(archive.files) != 1:
            raise ValueError(f"`{file.data}` holds {len(archive.files)} arrays ({names}); choose one with `--key`.")
        if file.key is not None and file.key not in archive.files:
            raise ValueError(f"`{file.data}` has no array `{file.key}`; it has {names}.")
        (found,) = _arrays(archive, [file.key or archive.files[0]], budget).values()
    return found


@contextmanager
def _archive(source: str) -> Iterator[Any]:
    """An NPZ file, of which nothing is read but the names."""
    with open(source, "rb") as file:
        with _numpy_errors(source):
            archive = np.load(file, allow_pickle=False).__enter__()
        with archive:
            yield archive


def _arrays(archive: Any, names: Sequence[str], budget: Budget) -> dict[str, NDArray[Any]]:
    """Some arrays of an archive, which may be small and unpack to large ones."""
    budget.check(
        sum(member.file_size for member in archive.zip.infolist() if member.filename.removesuffix(".npy") in names)
    )
    with _numpy_errors(budget.source):
        return {name: np.asarray(archive[name]) for name in names}


def _mapped(source: str) -> NDArray[Any]:
    with _numpy_errors(source):
        return np.asarray(np.load(source, mmap_mode="r", allow_pickle=False))  # it stays on the disk until it is used


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
    return matrix if file.columns is None else matrix[:, choose_columns(file.columns, None, matrix.shape[1])]


def _refuse_not_finite(table: Table, source: str) -> None:
    for start in range(0, len(table.samples), _ROWS_AT_ONCE):
        bad = np.argwhere(~np.isfinite(table.samples[start : start + _ROWS_AT_ONCE]))
        if bad.size:
            place, column = start + bad[0, 0], bad[0, 1]
            row = place if table.rows is None else table.rows[place]
            value = table.samples[place, column]
            raise ValueError(f"`{source}` has {value} in row {row + 1}, column {column + 1}; remove or impute it.")
