"""Numbers from delimited text, with the line and column of whatever is not one."""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["choose_columns", "read_csv_text"]

_DELIMITERS = (";", "\t", ",")  # a comma beside a semicolon or a tab is a decimal comma, and an error later


@dataclass(frozen=True)
class Row:
    """The cells of one line, and its number in the file."""

    line: int
    cells: list[str]


def read_csv_text(text: str, *, columns: str | None = None, header: bool | None = None) -> NDArray[np.float64]:
    """Numbers of delimited text as an array of shape (n, d).

    The delimiter is a semicolon, a tab, a comma or white space, whichever comes first in this list and is used. Blank
    lines and lines that start with ``#`` are skipped.

    Parameters
    ----------
    text : str
        The content of the file.
    columns : str, optional
        Comma-separated names or positions (from 1) of the columns to read.
    header : bool, optional
        Whether the first line names the columns; by default decided from its cells.

    Examples
    --------
    >>> read_csv_text("1; 2\\n3; 4\\n")
    array([[1., 2.],
           [3., 4.]])
    """
    rows = _rows(text)
    first = next(rows, None)
    if first is None:
        raise ValueError("the file holds no data.")
    has_header = _is_header(first) if header is None else header
    names = [cell.strip() for cell in first.cells] if has_header else None
    width = len(first.cells)
    chosen = range(width) if columns is None else choose_columns(columns, names, width)
    body = rows if has_header else _chain(first, rows)
    values = [_numbers(row, chosen, names, width) for row in body]
    if not values:
        raise ValueError("the file holds a header but no data.")
    return np.asarray(values, dtype=np.float64)


def choose_columns(columns: str, names: Sequence[str] | None, width: int) -> list[int]:
    """Positions (from 0) of the columns that the text ``columns`` names, by name or by position from 1.

    Examples
    --------
    >>> choose_columns("y,1", ["x", "y"], 2)
    [1, 0]
    """
    return [_column(wanted.strip(), names, width) for wanted in columns.split(",")]


def _column(wanted: str, names: Sequence[str] | None, width: int) -> int:
    if names is not None and wanted in names:
        if list(names).count(wanted) > 1:
            raise ValueError(f"`--columns`: several columns are called `{wanted}`; give its position, counted from 1.")
        return list(names).index(wanted)
    if wanted.isdecimal() and 1 <= int(wanted) <= width:
        return int(wanted) - 1
    there = "are numbered 1 to " + str(width) if names is None else "are called " + ", ".join(names)
    raise ValueError(f"`--columns`: there is no column `{wanted}`; the columns {there}.")


def _chain(first: Row, rest: Iterator[Row]) -> Iterator[Row]:
    yield first
    yield from rest


def _rows(text: str) -> Iterator[Row]:
    delimiter = _delimiter(text)
    if delimiter is None:
        for number, line in enumerate(text.splitlines(), start=1):
            if _is_content(line):
                yield Row(number, line.split())
        return
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, skipinitialspace=True)
    try:
        for cells in reader:
            if cells and _is_content(delimiter.join(cells)):
                yield Row(reader.line_num, cells)
    except csv.Error as error:
        raise ValueError(f"line {reader.line_num}: {error}.") from None


def _is_content(line: str) -> bool:
    stripped = line.strip()
    return bool(stripped) and not stripped.startswith("#")


def _delimiter(text: str) -> str | None:
    """The delimiter of the first line of numbers; None is white space. Words may hold any character, so a header is
    not asked."""
    content = (line for line in text.splitlines() if _is_content(line))
    lines = [line for line, _ in zip(content, range(2), strict=False)] or [""]
    words = any(_number(part) is None for part in re.split(r"[;,\s]+", lines[0].strip()) if part)
    line = lines[-1] if words else lines[0]
    found = next((d for d in _DELIMITERS if d in line), None)
    return "," if found is None and len(line.split()) == 1 else found


def _number(cell: str) -> float | None:
    """The number in a cell, or None. Python's own underscores (1_000) are not numbers in a data file."""
    try:
        return None if "_" in cell else float(cell)
    except ValueError:
        return None


def _pointed(cell: str) -> str:
    """A decimal comma as a point: never read as a number, but seen as the attempt at one."""
    return cell.replace(",", ".")


def _is_header(row: Row) -> bool:
    numbers = [cell for cell in row.cells if _number(_pointed(cell)) is not None]
    words = [cell for cell in row.cells if cell.strip() and cell not in numbers]
    if words and numbers:
        raise ValueError(
            f"line {row.line} holds both numbers (`{numbers[0]}`) and words (`{words[0]}`); say whether it names the "
            "columns with `--header` or `--no-header`."
        )
    return bool(words)


def _numbers(row: Row, chosen: Sequence[int], names: Sequence[str] | None, width: int) -> list[float]:
    if len(row.cells) != width:
        raise ValueError(f"line {row.line} has {len(row.cells)} cells, but the first line has {width}.")
    return [_finite(row, i, names) for i in chosen]


def _finite(row: Row, position: int, names: Sequence[str] | None) -> float:
    cell = row.cells[position].strip()
    value = _number(cell)
    if value is not None and math.isfinite(value):
        return value
    place = f"line {row.line}, column {position + 1}" + (f" (`{names[position]}`)" if names else "")
    if not cell:
        raise ValueError(f"{place}: the cell is empty; remove or impute missing values.")
    if value is not None:
        raise ValueError(f"{place}: `{cell}` is not finite; remove or impute it.")
    if _number(_pointed(cell)) is not None:
        raise ValueError(f"{place}: `{cell}` has a decimal comma; write a decimal point.")
    raise ValueError(f"{place}: `{cell}` is not a number; choose numeric columns with `--columns`.")
