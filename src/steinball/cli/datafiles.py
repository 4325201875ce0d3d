"""Samples from a file: CSV, NPY, NPZ or Parquet, never anything that can run code."""

from __future__ import annotations

import io
import math
import os
import sys
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from steinball.cli.columns import choose_columns
from steinball.cli.csvtext import read_named
from steinball.cli.parquet import read_parquet
from steinball.gram.choose import Settings
from steinball.gram.memory import in_words

_TEXT = {".csv", ".tsv", ".txt", ".dat"}
_ROWS_AT_ONCE = 2**16
_LONGEST_LINE = 2**26


@dataclass(frozen=True, eq=False)
class Table:
    """Samples (n, d), the names of their columns where the file has any, and which of its rows they are."""

    samples: NDArray[Any]
    names: tuple[str, ...] = ()
    rows: NDArray[np.intp] | None = None
    dropped: int = 0

    def complete(self) -> Table:
        """Without the rows that have a missing value."""
        if self.samples.dtype.kind != "f":
            return self
        kept = ~np.isnan(self.samples).any(axis=1)
        if not kept.any():
            raise ValueError("no row is left: every one has a missing value in the columns that are read.")
        if kept.all():
            return self
        return Table(self.samples[kept], self.names, np.flatnonzero(kept), int(np.sum(~kept)))


def read_table(
    source: str,
    *,
    columns: str | None = None,
    key: str | None = None,
    header: bool | None = None,
    missing: str = "error",
    decimal: str | None = None,
    memory_limit: int | str | None = None,
) -> Table:
    """Read samples of shape (n, d), rows are observations, from the file ``source``, with the names of the columns.

    An NPY file is mapped into memory, read-only, and not read as a whole. A CSV or Parquet file is read a few rows at a
    time into one array of the columns asked for, and of an NPZ file nothing but the array asked for. A file whose
    numbers take more than ``memory_limit`` is refused before it is read.

    Parameters
    ----------
    source : str
        A path that ends in ``.csv``, ``.tsv``, ``.txt``, ``.dat``, ``.npy``, ``.npz`` or ``.parquet``;
        ``"-"`` reads CSV from standard input.
    columns : str, optional
        Comma-separated column names or positions counted from 1, ranges (``2-5``) and patterns (``emb_*``) of them. All
        columns by default. A column of lists in a Parquet file stands for as many columns as the lists are long.
    key : str, optional
        Which array of an NPZ file to read, when it holds several.
    header : bool, optional
        Whether the first line of a CSV file names the columns. By default it does when no cell of it is a number.
    missing : {"error", "drop"}
        Whether rows with a missing value in these columns are an error or left out.
    decimal : {".", ","}, optional
        What stands before the fraction of a number in a CSV file; a point by default.
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
    ...     table = read_table(str(path), columns="y")
    >>> table.names, table.samples.tolist()
    (('y',), [[2.0], [4.0]])
    """
    suffix = ".csv" if source == "-" else Path(source).suffix.lower()
    if suffix != ".npz" and key is not None:
        raise ValueError("`--key` names an array of an NPZ file; this is not one.")
    if suffix not in _TEXT and header is not None:
        raise ValueError("`--header` and `--no-header` are for CSV files; this is not one.")
    if suffix not in _TEXT and decimal is not None:
        raise ValueError("`--decimal` is for CSV files; this is not one.")
    if decimal not in (None, ".", ","):
        raise ValueError(f"`--decimal` must be a point or a comma, got `{decimal}`.")
    if missing not in ("error", "drop"):
        raise ValueError(f"`--missing` must be error or drop, got `{missing}`.")
    budget, drop = _Budget.of(source, memory_limit), missing == "drop"
    if suffix in _TEXT:
        layout = {"columns": columns, "header": header, "missing": drop, "decimal": decimal or "."}
        table = _text_table(source, budget, layout)
        return table.complete() if drop else table
    if suffix == ".parquet":
        table = Table(*read_parquet(source, columns, budget, drop))
        return table.complete() if drop else table
    if suffix not in (".npy", ".npz"):
        raise ValueError(f"`{source}` must end in .csv, .tsv, .txt, .dat, .npy, .npz or .parquet.")
    values = _one_of_npz(source, key, budget) if suffix == ".npz" else _mapped(source)
    table = Table(_numeric_matrix(values, source, columns))
    table = table.complete() if drop else table
    _refuse_not_finite(table.samples, source)
    return table


def _text_table(source: str, budget: _Budget, layout: dict[str, Any]) -> Table:
    with _opened(source) as file:
        text = _Text(source, file)

        def check_size(size: int) -> None:
            budget.check(size, text.share_read())

        return Table(*read_named(text, **layout, check_size=check_size))


@dataclass(frozen=True)
class _Budget:
    """How much memory the numbers of a file may take."""

    source: str
    limit: int

    @classmethod
    def of(cls, source: str, memory_limit: int | str | None) -> _Budget:
        """By a limit as users give it."""
        return cls(source, Settings(memory_limit=memory_limit).limit(np.empty(0), 2**62))

    def check(self, size: int, share: float = 1.0) -> None:
        """Refuse a file of which the first ``share`` takes ``size`` bytes."""
        if size > share * self.limit:
            raise ValueError(
                f"the numbers of `{self.source}` take about {in_words(size / share)}, but {in_words(self.limit)} of "
                "memory may be used. Read fewer columns with `--columns`, raise `--memory-limit`, or save them as an "
                "NPY file, which is not loaded as a whole."
            )


@contextmanager
def _opened(source: str) -> Iterator[BinaryIO]:
    if source == "-":
        yield sys.stdin.buffer
    else:
        with open(source, "rb") as file:
            yield file


class _Text:
    """The lines of a UTF-8 file, and how far it is read."""

    def __init__(self, source: str, file: BinaryIO) -> None:
        self._source, self._file, self._read = source, file, 0
        self._size = os.path.getsize(source) if source != "-" else 0

    def share_read(self) -> float:
        """The share of the file that is read; all of it where its size is not known."""
        return min(1.0, self._read / self._size) if self._size else 1.0

    def __iter__(self) -> Iterator[str]:
        for raw in iter(lambda: self._file.readline(_LONGEST_LINE), b""):
            if len(raw) == _LONGEST_LINE:
                raise ValueError(f"`{self._source}` has a line of more than {in_words(_LONGEST_LINE)}; is it text?")
            line = self._decoded(raw)
            if self._read == 0:
                line = line.removeprefix("\ufeff")
            self._read += len(raw)
            # A file may end its lines with a carriage return alone.
            yield from io.StringIO(line, newline="") if "\r" in line[:-2] else (line,)

    def _decoded(self, raw: bytes) -> str:
        try:
            return raw.decode("utf-8")
        except UnicodeDecodeError as error:
            place = self._read + error.start + 1
            raise ValueError(f"`{self._source}` must be UTF-8 text, but byte {place} is not.") from None


def read_npz(source: str) -> dict[str, NDArray[Any]]:
    """All arrays of an NPZ file by name, never unpickled, if there is memory for them."""
    with _archive(source) as archive:
        return _arrays(archive, archive.files, _Budget.of(source, None))


def _one_of_npz(source: str, key: str | None, budget: _Budget) -> NDArray[Any]:
    with _archive(source) as archive:
        names = ", ".join(archive.files)
        if key is None and len(archive.files) != 1:
            raise ValueError(f"`{source}` holds {len(archive.files)} arrays ({names}); choose one with `--key`.")
        if key is not None and key not in archive.files:
            raise ValueError(f"`{source}` has no array `{key}`; it has {names}.")
        (found,) = _arrays(archive, [key or archive.files[0]], budget).values()
    return found


@contextmanager
def _archive(source: str) -> Iterator[Any]:
    """An NPZ file, of which nothing is read but the names."""
    with open(source, "rb") as file:
        with _numpy_errors(source):
            archive = np.load(file, allow_pickle=False).__enter__()
        with archive:
            yield archive


def _arrays(archive: Any, names: Sequence[str], budget: _Budget) -> dict[str, NDArray[Any]]:
    with _numpy_errors(budget.source):
        size = sum(_size_of(archive, name) for name in names)
    budget.check(size)  # a small archive may unpack to a large array
    with _numpy_errors(budget.source):
        return {name: archive[name] for name in names}


def _size_of(archive: Any, name: str) -> int:
    """Bytes of an array, by its header alone."""
    with archive.zip.open(name if name in archive.zip.namelist() else f"{name}.npy") as member:
        version = np.lib.format.read_magic(member)
        header = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        shape, _, dtype = header(member)
    return math.prod(shape) * dtype.itemsize


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


def _numeric_matrix(values: NDArray[Any], source: str, columns: str | None) -> NDArray[Any]:
    if values.dtype.kind not in "fiu":
        raise ValueError(f"`{source}` must hold real numbers, got dtype {values.dtype}.")
    if values.ndim not in (1, 2) or values.shape[1:] == (0,):
        raise ValueError(f"`{source}` must hold an array of shape (n,) or (n, d), got {values.shape}.")
    matrix = values[:, None] if values.ndim == 1 else values
    return matrix if columns is None else matrix[:, choose_columns(columns, None, matrix.shape[1])]


def _refuse_not_finite(matrix: NDArray[Any], source: str) -> None:
    for start in range(0, len(matrix), _ROWS_AT_ONCE):
        bad = np.argwhere(~np.isfinite(matrix[start : start + _ROWS_AT_ONCE]))
        if bad.size:
            row, column = start + bad[0, 0], bad[0, 1]
            raise ValueError(
                f"`{source}` has {matrix[row, column]} in row {row + 1}, column {column + 1}; remove or impute it."
            )
