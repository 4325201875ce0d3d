"""Numbers from delimited text, a block of lines at a time, with the line and column of whatever is not one."""

from __future__ import annotations

import csv
import math
import re
from array import array
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from steinball.cli.columns import choose_columns

_DELIMITERS = (";", "\t", ",")  # a comma beside a semicolon or a tab is a decimal comma, and an error unless said
_ROWS_AT_ONCE = 4096
_MISSING = {"", "na", "n/a", "nan", "null", "none", "-", "."}
_INDEX = re.compile(r"Unnamed: 0(\.\d+)?|__index_level_\d+__")  # what pandas calls an index without a name
_WHOLE, _FRACTION = re.compile(r"[+-]?\d+"), re.compile(r"\d+([eE][+-]?\d+)?")  # of a number with a decimal comma


class Row(NamedTuple):
    """The cells of one line, and its number in the file."""

    line: int
    cells: list[str]


@dataclass(frozen=True)
class Layout:
    """Which cells of a row are read, and what they are called."""

    width: int
    names: list[str] | None
    chosen: Sequence[int]
    missing: bool = False


def read_csv(
    lines: Iterable[str],
    *,
    columns: str | None = None,
    header: bool | None = None,
    missing: bool = False,
    decimal: str = ".",
    check_size: Callable[[int], None] = lambda size: None,
) -> NDArray[np.float64]:
    """Numbers of delimited text as an array of shape (n, d).

    The delimiter is a semicolon, a tab, a comma or white space, whichever comes first in this list and is used. Blank
    lines and lines that start with ``#`` are skipped.

    Parameters
    ----------
    lines : iterable of str
        The lines of the file, with their ends.
    columns : str, optional
        Comma-separated names or positions (from 1) of the columns to read.
    header : bool, optional
        Whether the first line names the columns; by default decided from its cells.
    missing : bool
        Whether missing values (empty cells, NA, NaN, null, -) are read as NaN and not refused.
    decimal : {".", ","}
        What stands before the fraction of a number. A comma is then no delimiter.
    check_size : callable
        Called with the number of bytes that the numbers take so far; it may refuse more.

    Examples
    --------
    >>> read_csv(["1; 2\\n", "3; 4\\n"])
    array([[1., 2.],
           [3., 4.]])
    """
    options = {"columns": columns, "header": header, "missing": missing, "decimal": decimal, "check_size": check_size}
    return read_named(lines, **options)[0]  # type: ignore[arg-type]


def read_named(
    lines: Iterable[str],
    *,
    columns: str | None = None,
    header: bool | None = None,
    missing: bool = False,
    decimal: str = ".",
    check_size: Callable[[int], None] = lambda size: None,
) -> tuple[NDArray[np.float64], tuple[str, ...]]:
    """The same, and the names of the columns that were read; none without a header.

    Examples
    --------
    >>> read_named(["a,b\\n", "1,2\\n"], columns="b")
    (array([[2.]]), ('b',))
    """
    lines = iter(lines)
    start = _until_content(lines, 2)
    delimiter = _delimiter(start, decimal)
    rows = _with_points(_rows(chain(start, lines), delimiter), decimal)
    first = next(rows, None)
    if first is None:
        raise ValueError("the file holds no data.")
    has_header = _is_header(first) if header is None else header
    names = [cell.strip() for cell in first.cells] if has_header else None
    layout = _layout(columns, names, len(first.cells), missing)
    body = rows if has_header else chain([first], rows)
    bare = layout.width == 2 and names is None and columns is None and ", " not in start[-1]
    undecided = bare and delimiter == "," and decimal == "."
    values = _values(body, layout, undecided, check_size)
    if not values:
        raise ValueError("the file holds a header but no data.")
    read = () if names is None else tuple(names[k] for k in layout.chosen)
    return np.frombuffer(values, dtype=np.float64).reshape(-1, len(layout.chosen)), read


def _layout(columns: str | None, names: list[str] | None, width: int, missing: bool) -> Layout:
    if columns is not None:
        return Layout(width, names, choose_columns(columns, names, width), missing)
    refuse_index(names or ())
    return Layout(width, names, range(width), missing)


def refuse_index(names: Sequence[str], index: Collection[str] = ()) -> None:
    """Refuse columns that are the index of a pandas frame: those of ``index``, and those that look like it."""
    unnamed = next((k for k, name in enumerate(names) if name), 0)
    found = [k for k, name in enumerate(names) if k < unnamed or name in index or _INDEX.fullmatch(name)]
    if found:
        label = f"column {found[0] + 1} " + (f"(`{names[found[0]]}`)" if names[found[0]] else "has no name and")
        others = ",".join(str(k + 1) for k in range(len(names)) if k not in found)
        called = ", ".join(name for k, name in enumerate(names) if k not in found)
        choice = f"`--columns {others}` or some of them by name ({called})" if others else "`--columns 1`"
        raise ValueError(
            f"{label} looks like the index of a pandas frame, which is no coordinate. Choose columns with {choice}, or "
            "write the file with `index=False`."
        )


def _values(
    rows: Iterator[Row], layout: Layout, may_be_commas: bool, check_size: Callable[[int], None]
) -> array[float]:
    """The numbers of all rows, one after the other, in little more memory than they take.

    Where the commas may be decimal ones, a row must show that they are not.
    """
    values = array("d")
    while block := list(islice(rows, _ROWS_AT_ONCE)):
        may_be_commas = may_be_commas and all(_has_decimal_comma(row) for row in block)
        values.extend(_quick(block, layout) or _careful(block, layout))
        check_size(values.itemsize * len(values))
    if may_be_commas:
        raise ValueError(
            "every line may be one number with a decimal comma, or two whole numbers. Say which: `--decimal ,` for the "
            "first, `--columns 1,2` for the second."
        )
    return values


def _has_decimal_comma(row: Row) -> bool:
    return bool(_WHOLE.fullmatch(row.cells[0]) and _FRACTION.fullmatch(row.cells[-1]))


def _quick(block: list[Row], layout: Layout) -> array[float] | None:
    """The numbers of some rows, or None where one of them needs a closer look."""
    if any(len(row.cells) != layout.width for row in block):
        return None
    cells = [row.cells[i] for row in block for i in layout.chosen]
    try:
        numbers = array("d", map(float, cells))
    except ValueError:
        return None
    return numbers if np.isfinite(numbers).all() and "_" not in "".join(cells) else None


def _careful(block: list[Row], layout: Layout) -> array[float]:
    return array("d", (number for row in block for number in _numbers(row, layout)))


def _rows(lines: Iterable[str], delimiter: str | None) -> Iterator[Row]:
    if delimiter is None:
        for number, line in enumerate(lines, start=1):
            if _is_content(line):
                yield Row(number, line.split())
        return
    reader = csv.reader(lines, delimiter=delimiter, skipinitialspace=True)
    try:
        for cells in reader:
            if cells and _is_content(delimiter.join(cells)):
                yield Row(reader.line_num, cells)
    except csv.Error as error:
        raise ValueError(f"line {reader.line_num}: {error}.") from None


def _until_content(lines: Iterator[str], count: int) -> list[str]:
    """The lines up to the ``count``-th one with content."""
    start: list[str] = []
    while count and (line := next(lines, None)) is not None:
        start.append(line)
        count -= _is_content(line)
    return start


def _is_content(line: str) -> bool:
    stripped = line.strip()
    return bool(stripped) and not stripped.startswith("#")


def _with_points(rows: Iterator[Row], decimal: str) -> Iterator[Row]:
    """The rows with the decimal points that Python reads."""
    if decimal == ".":
        return rows
    return (Row(row.line, [cell if _number(_pointed(cell)) is None else _pointed(cell) for cell in row.cells])
            for row in rows)  # fmt: skip


def _delimiter(start: list[str], decimal: str) -> str | None:
    """The delimiter of the first line of numbers; None is white space. Words may hold any character, so a header is
    not asked."""
    lines = [line for line in start if _is_content(line)] or [""]
    words = any(_number(part) is None for part in re.split(r"[;,\s]+", lines[0].strip()) if part)
    line = lines[-1] if words else lines[0]
    found = next((d for d in _DELIMITERS if d in line and d != decimal), None)
    if found is not None or len(line.split()) != 1:
        return found
    return ";" if decimal == "," and '"' not in line else ","  # one column


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
    if row.cells[0] == "" and row.cells[1:] == [str(k) for k in range(len(row.cells) - 1)]:
        return True  # as pandas names the columns of a plain array, beside its index
    numbers = [cell for cell in row.cells if _number(_pointed(cell)) is not None]
    words = [cell for cell in row.cells if cell.strip() and cell not in numbers]
    if words and numbers:
        raise ValueError(
            f"line {row.line} holds both numbers (`{numbers[0]}`) and words (`{words[0]}`); say whether it names the "
            "columns with `--header` or `--no-header`."
        )
    return bool(words)


def _numbers(row: Row, layout: Layout) -> list[float]:
    if len(row.cells) != layout.width:
        raise ValueError(f"line {row.line} has {len(row.cells)} cells, but the first line has {layout.width}.")
    return [_finite(row, i, layout) for i in layout.chosen]


def _finite(row: Row, position: int, layout: Layout) -> float:
    cell, names = row.cells[position].strip(), layout.names
    if layout.missing and cell.lower() in _MISSING:
        return math.nan
    value = _number(cell)
    if value is not None and math.isfinite(value):
        return value
    place = f"line {row.line}, column {position + 1}" + (f" (`{names[position]}`)" if names else "")
    if cell.lower() in _MISSING:
        what = f"`{cell}` stands for a missing value" if cell else "the cell is empty"
        raise ValueError(f"{place}: {what}; remove or impute missing values, or drop such rows with `--missing drop`.")
    if value is not None:
        raise ValueError(f"{place}: `{cell}` is not finite; remove or impute it.")
    if _number(_pointed(cell)) is not None:
        raise ValueError(f"{place}: `{cell}` has a decimal comma; say so with `--decimal ,`, or write decimal points.")
    raise ValueError(f"{place}: `{cell}` is not a number; choose numeric columns with `--columns`.")
