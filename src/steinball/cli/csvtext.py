"""Numbers from delimited text, a block of lines at a time, with the line and column of whatever is not one."""

from __future__ import annotations

import codecs
import csv
import io
import math
import os
import re
import sys
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, islice
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from steinball.cli.table import Budget, choose_columns
from steinball.gram.cost import in_words
from steinball_command.options import DataFile

_DELIMITERS = (";", "\t", ",")  # a comma beside a semicolon or a tab is a decimal comma, and an error unless said
_LINES_AT_ONCE = 4096
_LONGEST_LINE = 2**26
_MISSING = {"", "na", "n/a", "nan", "null", "none", "-", "--", "."}
_DECIMAL_COMMA = re.compile(r"\s*[+-]?\d+,\d+([eE][+-]?\d+)?\s*")
_ATTEMPT = re.compile(r"\s*[+-]?[\d.,'\s]*\d[\d.,'\s]*([eE][+-]?\d+)?")  # a number, in whatever way it is written
_GROUPED = r"[+-]?\d{{1,3}}({group}\d{{3}})+([{decimal}]\d*)?([eE][+-]?\d+)?"


def read_csv(file: DataFile, budget: Budget) -> tuple[NDArray[np.float64], tuple[str, ...]]:
    """The numbers of a text file or of standard input, (n, d), and the names of their columns."""
    with nullcontext(sys.stdin.buffer) if file.data == "-" else open(file.data, "rb") as stream:
        whole = os.path.getsize(file.data) if file.data != "-" else 0
        try:
            text = io.TextIOWrapper(stream, encoding=file.encoding, newline="")
        except LookupError:
            raise ValueError(f"`--encoding` must be one that Python knows, got `{file.encoding}`.") from None

        def check_size(size: int) -> None:
            budget.check(size, min(1.0, stream.tell() / whole) if whole else 1.0)

        try:
            return read_lines(_lines(text, file), file, check_size)
        finally:
            text.detach()  # standard input is not closed with it


def _lines(text: io.TextIOWrapper, file: DataFile) -> Iterator[str]:
    """The lines with their ends; a carriage return alone is one, too. A mark of the byte order is no part of them."""
    number = 0
    try:
        for number, line in enumerate(iter(lambda: text.readline(_LONGEST_LINE), ""), start=1):
            if len(line) == _LONGEST_LINE:
                raise ValueError(f"line {number} of `{file.data}` has more than {in_words(_LONGEST_LINE)}; is it text?")
            yield line if number > 1 else line.removeprefix("\ufeff")
    except UnicodeError as error:  # UTF-16 without its mark is not a UnicodeDecodeError
        bad, start = (error.object, error.start) if isinstance(error, UnicodeDecodeError) else (b"", 0)
        number += len((bad[:start] + b"x").splitlines())
        other = "utf-16" if bad.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) else "latin-1"
        raise ValueError(
            f"`{file.data}` must be {file.encoding} text, but line {number} is not; name its encoding, such as "
            f"`--encoding {other}`."
        ) from None


class Row(NamedTuple):
    """The cells of one line, its number in the file, and those of the blank lines before it in a file of one column."""

    line: int
    cells: list[str]
    blank: list[int]


@dataclass(frozen=True)
class Layout:
    """How lines are cut into cells, which of the cells are read, and what they are called."""

    file: DataFile
    start: int
    delimiter: str | None
    width: int
    names: list[str] | None
    chosen: Sequence[int]

    @property
    def read(self) -> tuple[str, ...]:
        """The names of the columns that are read; none without a header."""
        return () if self.names is None else tuple(self.names[k] for k in self.chosen)

    def number(self, cell: str) -> float | None:
        """The number in a cell, or None."""
        return _number(cell, self.file.decimal or ".", self.file.thousands)

    @cached_property
    def na(self) -> dict[str, float | None]:
        """Texts that stand for missing values, and the numbers among them, in whatever way they are written."""
        return {text: self.number(text) for text in self.file.na or ()}


def read_lines(
    lines: Iterable[str], file: DataFile, check_size: Callable[[int], None] = lambda size: None
) -> tuple[NDArray[np.float64], tuple[str, ...]]:
    """Numbers of delimited text as an array of shape (n, d), and the names of their columns; none without a header.

    The delimiter is a semicolon, a tab, a comma or white space, whichever comes first in this list and is used. Lines
    that start with ``#`` are skipped, and so are blank lines; in a file of one column a blank line between others is a
    missing value.

    Parameters
    ----------
    lines : iterable of str
        The lines of the file, with their ends.
    file : DataFile
        Which columns are read, whether there is a header, and how numbers are written.
    check_size : callable
        Called with the number of bytes that the numbers take so far; it may refuse more.

    Examples
    --------
    >>> read_lines(["a;b\\n", "1; 2\\n", "3; 4\\n"], DataFile("-", columns="b"))
    (array([[2.],
           [4.]]), ('b',))
    """
    layout, lines, bare = lay_out(lines, file)
    values = _values(lines, layout, bare, check_size)
    if not values:
        raise ValueError("the file holds a header but no data.")
    return np.frombuffer(values, dtype=np.float64).reshape(-1, len(layout.chosen)), layout.read


def lay_out(lines: Iterable[str], file: DataFile) -> tuple[Layout, Iterator[str], bool]:
    """How lines are to be read, by the first two of them; all lines below the header; and whether each may be one
    number with a decimal comma. No line is asked for that is not needed, since the next one may come tomorrow."""
    lines, marks = _without(lines, file.skip_lines), {file.decimal or ".", file.thousands}
    block, start = list[str](), list[str]()
    while len(start) < 2 and (line := next(lines, None)) is not None:
        block.append(line)
        start += [line] * _is_content(line)
    delimiter = _delimiter(start, marks) if start else None
    first = next(_rows(chain(list(block), _kept(lines, block)), delimiter), None)  # its cells may have several lines
    if first is None:
        raise ValueError("the file holds no data.")
    has_header = _is_header(first) if file.header is None else file.header
    names, width = [cell.strip() for cell in first.cells] if has_header else None, len(first.cells)
    number = first.line if has_header else block.index(start[0])
    layout = Layout(file, number, delimiter, width, names, choose_columns(file.columns, names, width))
    bare = width == 2 and names is None and file.columns is None and ", " not in start[-1] and delimiter == ","
    return layout, chain(block[number:], lines), bare


def _kept(lines: Iterator[str], block: list[str]) -> Iterator[str]:
    """The lines, each added to the block when it is asked for."""
    for line in lines:
        block.append(line)
        yield line


def _without(lines: Iterable[str], skipped: str | None) -> Iterator[str]:
    """The lines, with a comment in place of those that are left out: the others keep their numbers."""
    if skipped is None:
        return iter(lines)
    found = [re.fullmatch(r"\s*(\d+)\s*(?:-\s*(\d+)\s*)?", part) for part in skipped.split(",")]
    if not all(found):
        raise ValueError(f"`--skip-lines` must be numbers of lines, such as 2 or 1-3,5, got `{skipped}`.")
    ranges = [range(int(part[1]), int(part[2] or part[1]) + 1) for part in found if part]
    return ("#\n" if any(k in part for part in ranges) else line for k, line in enumerate(lines, start=1))


def _values(
    lines: Iterator[str], layout: Layout, may_be_commas: bool, check_size: Callable[[int], None]
) -> array[float]:
    """The numbers of all lines below the header, in little more memory than they take.

    Where the commas may be decimal ones, a line must show that they are not.
    """
    values, number = array("d"), layout.start
    while block := list(islice(lines, _LINES_AT_ONCE)):
        may_be_commas = may_be_commas and all_decimal_commas(block)
        numbers, number, wrong = numbers_of(block, lines, layout, number)
        if wrong is not None:
            raise wrong
        values.frombytes(numbers.tobytes())
        check_size(values.itemsize * len(values))
    if may_be_commas:
        raise ValueError(DECIMAL_OR_TWO)
    return values


DECIMAL_OR_TWO = (
    "every line may be one number with a decimal comma, or two whole numbers. Say which: `--decimal ,` for the first, "
    "`--columns 1,2` for the second."
)


def all_decimal_commas(block: list[str]) -> bool:
    """Whether every line may be one number with a decimal comma."""
    return all(_DECIMAL_COMMA.fullmatch(line) for line in block if _is_content(line))


def numbers_of(
    block: list[str], lines: Iterator[str], layout: Layout, number: int
) -> tuple[NDArray[np.float64], int, ValueError | None]:
    """The numbers of a block of lines behind the first ``number`` of a file, (n · d,); the number of the last line; and
    what is wrong with the line behind these numbers, if anything.

    The last row may need further ``lines``, to the end of a quoted cell.
    """
    end, quick = number + len(block), _quick(block, layout)
    if quick is not None:
        return quick.ravel(), end, None
    values = array("d")
    try:
        for row in _rows(chain(block, lines), layout.delimiter, number, layout.width):
            values.extend(_numbers(row, layout))
            number = row.line
            if number >= end:
                break
    except ValueError as error:
        return np.frombuffer(values, dtype=np.float64), number, error
    return np.frombuffer(values, dtype=np.float64), number, None


def _quick(block: list[str], layout: Layout) -> NDArray[np.float64] | None:
    """The numbers of some lines, or None where one of them needs a closer look."""
    lines, delimiter, decimal = [line for line in block if _is_content(line)], layout.delimiter, layout.file.decimal
    if layout.file.thousands is not None or (layout.width == 1 and not all(map(str.strip, block))):
        return None
    if not lines:
        return np.empty(0)
    if delimiter is None:
        whole = all(len(line.split()) == layout.width for line in lines)
    else:
        whole = all(line.count(delimiter) == layout.width - 1 and '"' not in line for line in lines)
    if not whole or (decimal == "," and any("." in line for line in lines)):
        return None
    lines = [line.replace(",", ".") for line in lines] if decimal == "," else lines
    try:
        numbers = np.loadtxt(lines, delimiter=delimiter, usecols=layout.chosen, comments=None, ndmin=2)
    except ValueError:
        return None
    missing = [number for number in layout.na.values() if number is not None]
    return numbers if np.isfinite(numbers).all() and not np.isin(numbers, missing).any() else None


def _rows(lines: Iterable[str], delimiter: str | None, number: int = 0, width: int = 0) -> Iterator[Row]:
    """The rows of lines that come after the first ``number`` of a file."""
    if delimiter is None:
        yield from (Row(k, line.split(), []) for k, line in enumerate(lines, start=number + 1) if _is_content(line))
        return
    reader, blank = csv.reader(lines, delimiter=delimiter, skipinitialspace=True), list[int]()
    try:
        for cells in reader:
            if _is_content(delimiter.join(cells)) or (width == 1 and cells == [""]):
                yield Row(number + reader.line_num, cells, blank)
                blank = []
            elif not cells and width == 1:
                blank.append(number + reader.line_num)
    except csv.Error as error:
        raise ValueError(f"line {number + reader.line_num}: {error}.") from None


def _is_content(line: str) -> bool:
    stripped = line.strip()
    return bool(stripped) and not stripped.startswith("#")


def _delimiter(lines: list[str], marks: set[str | None]) -> str | None:
    """The delimiter of the first line of numbers, which is one of two; None is white space.

    What stands inside of numbers is no delimiter, unless cells have quotes. A header is not asked: words may hold any
    character.
    """
    words = any(_ATTEMPT.fullmatch(part) is None for part in re.split(r"[;,\s]+", lines[0].strip()) if part)
    line = lines[-1] if words else lines[0]
    found = next((d for d in _DELIMITERS if d in line and (d not in marks or '"' in line)), None)
    if found is not None or (len(line.split()) != 1 and " " not in marks):
        return found
    return ";" if "," in marks else ","  # one column


def _is_header(row: Row) -> bool:
    if row.cells[0] == "" and row.cells[1:] == [str(k) for k in range(len(row.cells) - 1)]:
        return True  # as pandas names the columns of a plain array, beside its index
    numbers = [cell for cell in row.cells if _ATTEMPT.fullmatch(cell) or _number(cell) is not None]
    words = [cell for cell in row.cells if cell.strip() and cell not in numbers]
    if words and numbers:
        raise ValueError(
            f"line {row.line} holds both numbers (`{numbers[0]}`) and words (`{words[0]}`); say whether it names the "
            "columns with `--header` or `--no-header`."
        )
    return bool(words)


def _number(cell: str, decimal: str = ".", thousands: str | None = None) -> float | None:
    """The number in a cell, or None. Python's own underscores (1_000) are not numbers in a data file.

    Examples
    --------
    >>> _number("1.886,5", ",", "."), _number("1.886", ","), _number("1.88", ",", ".")
    (1886.5, None, None)
    """
    if thousands is not None and _is_grouped(cell, decimal, thousands):
        cell = re.sub(r"\s" if thousands == " " else re.escape(thousands), "", cell)
    if decimal == ",":
        cell = cell.replace(".", "_").replace(",", ".")
    try:
        return None if "_" in cell else float(cell)
    except ValueError:
        return None


def _is_grouped(cell: str, decimal: str, thousands: str) -> bool:
    """Whether the digits before the fraction stand in groups of three; a space may be one that does not break."""
    group = r"\s" if thousands == " " else re.escape(thousands)
    return re.fullmatch(_GROUPED.format(group=group, decimal=decimal), cell) is not None


def _numbers(row: Row, layout: Layout) -> list[float]:
    if len(row.cells) != layout.width:
        raise ValueError(f"line {row.line} has {len(row.cells)} cells, but the first line has {layout.width}.")
    above = [_finite(Row(line, [""], []), 0, layout) for line in row.blank]
    return above + [_finite(row, i, layout) for i in layout.chosen]


def _finite(row: Row, position: int, layout: Layout) -> float:
    cell, names = row.cells[position].strip(), layout.names
    value = layout.number(cell)
    missing = cell.lower() in _MISSING or cell in layout.na or (value is not None and value in layout.na.values())
    if layout.file.missing == "drop" and missing:
        return math.nan
    if value is not None and math.isfinite(value) and not missing:
        return value
    place = f"line {row.line}, column {position + 1}" + (f" (`{names[position]}`)" if names else "")
    if missing:
        what = f"`{cell}` stands for a missing value" if cell else "the cell is empty"
        raise ValueError(f"{place}: {what}; remove or impute missing values, or drop such rows with `--missing drop`.")
    if value is not None:
        raise ValueError(f"{place}: `{cell}` is not finite; remove or impute it.")
    raise ValueError(f"{place}: `{cell}` {_why(cell, layout, row.line)}.")


def _why(cell: str, layout: Layout, line: int) -> str:
    """Why a cell is no number, and what to say where it is meant to be one."""
    ways = [
        f"`--decimal {decimal}" + (f' --thousands "{mark}"`' if mark else "`")
        for decimal in (",", ".")
        for mark in (None, ",", ".", "'", " ")
        if mark != decimal and (mark is None or _is_grouped(cell, decimal, mark))
        if _number(cell, decimal, mark) is not None
    ]
    if ways:
        return f"needs {' or '.join(ways)}" + ("; say which" if len(ways) > 1 else "")
    units = (
        f"leave out a line of units with `--skip-lines {line}`, " if line == layout.start + 1 and layout.names else ""
    )
    return f"is not a number; choose other columns with `--columns`, {units}or, for a missing value, say `--na {cell}`"
