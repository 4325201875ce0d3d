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

from steinball.cli.csvtext import choose_columns, read_named, refuse_index
from steinball.gram.choose import Settings
from steinball.gram.memory import in_words

__all__ = ["Table", "read_npz", "read_samples", "read_table"]

_TEXT = {".csv", ".tsv", ".txt", ".dat"}
_ROWS_AT_ONCE = 2**16
_LONGEST_LINE = 2**26


@dataclass(frozen=True, eq=False)
class Table:
    """Samples (n, d), and the names of their columns where the file has any."""

    samples: NDArray[Any]
    names: tuple[str, ...] = ()


def read_samples(
    source: str,
    *,
    columns: str | None = None,
    key: str | None = None,
    header: bool | None = None,
    memory_limit: int | str | None = None,
) -> NDArray[Any]:
    """Read samples of shape (n, d), rows are observations, from the file ``source``.

    An NPY file is mapped into memory, read-only, and not read as a whole. A CSV or Parquet file is read a few rows at a
    time into one array of the columns asked for, and of an NPZ file nothing but the array asked for. A file whose
    numbers take more than ``memory_limit`` is refused before it is read.

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
    ...     read_samples(str(path), columns="y")
    array([[2.],
           [4.]])
    """
    return read_table(source, columns=columns, key=key, header=header, memory_limit=memory_limit).samples


def read_table(
    source: str,
    *,
    columns: str | None = None,
    key: str | None = None,
    header: bool | None = None,
    memory_limit: int | str | None = None,
) -> Table:
    """The same as :func:`read_samples`, with the names of the columns."""
    suffix = ".csv" if source == "-" else Path(source).suffix.lower()
    if suffix != ".npz" and key is not None:
        raise ValueError("`--key` names an array of an NPZ file; this is not one.")
    if suffix not in _TEXT and header is not None:
        raise ValueError("`--header` and `--no-header` are for CSV files; this is not one.")
    budget = _Budget.of(source, memory_limit)
    if suffix in _TEXT:
        with _opened(source) as file:
            text = _Text(source, file)

            def check_size(size: int) -> None:
                budget.check(size, text.share_read())

            return Table(*read_named(text, columns=columns, header=header, check_size=check_size))
    if suffix == ".npz":
        return Table(_numeric_matrix(_one_of_npz(source, key, budget), source, columns))
    if suffix == ".npy":
        return Table(_numeric_matrix(_mapped(source), source, columns))
    if suffix == ".parquet":
        return _read_parquet(source, columns, budget)
    raise ValueError(f"`{source}` must end in .csv, .tsv, .txt, .dat, .npy, .npz or .parquet.")


@dataclass(frozen=True)
class _Budget:
    """How much memory the numbers of a file may take."""

    source: str
    limit: int

    @classmethod
    def of(cls, source: str, memory_limit: int | str | None) -> _Budget:
        """By a limit as users give it."""
        return cls(source, Settings(memory_limit=memory_limit).limit(np.empty(0)))

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


def _read_parquet(source: str, columns: str | None, budget: _Budget) -> Table:
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
            return Table(_parquet_matrix(file, list(chosen), budget), tuple(names[k] for k in chosen))
    except pyarrow.ArrowException as error:
        raise ValueError(f"`{source}` could not be read as Parquet: {error}") from None


def _index_columns(schema: Any) -> list[str]:
    """The columns that pandas has marked as the index of its frame; one that only counts is no column."""
    marked = (schema.pandas_metadata or {}).get("index_columns", [])
    return [name for name in marked if isinstance(name, str)]


def _parquet_matrix(file: Any, chosen: list[int], budget: _Budget) -> NDArray[Any]:
    """The chosen columns as one array, filled a few rows at a time, row group by row group."""
    names, source = file.schema_arrow.names, budget.source
    dtype = np.result_type(*(_parquet_type(file.schema_arrow.field(i), source) for i in chosen))
    budget.check(file.metadata.num_rows * len(chosen) * dtype.itemsize)
    matrix = np.empty((file.metadata.num_rows, len(chosen)), dtype=dtype)
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
