"""Numbers from delimited text, a block of lines at a time, with the line and column of whatever is not one."""

from __future__ import annotations

import codecs
import csv
import math
import os
import re
import sys
from array import array
from collections import Counter, deque
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from difflib import get_close_matches
from fnmatch import fnmatchcase
from functools import cached_property
from itertools import chain, islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steinball.gram.cost import in_words
from steinball_command.options import DataFile

_DELIMITERS = (";", "\t", ",")  # a comma beside a semicolon or a tab is a decimal comma, and an error unless said
_LINES_AT_ONCE, _BYTES_AT_ONCE = 4096, 2**16
_LONGEST_LINE = 2**24
_LINE = re.compile(r"[^\r\n]*(?:\r\n|\n|\r(?!\Z))")  # a carriage return at the end may be followed by its line feed
_MISSING = {"", "na", "n/a", "nan", "null", "none", "-", "--", "."}
_DECIMAL_COMMA = re.compile(r"\s*[+-]?\d+,\d+([eE][+-]?\d+)?\s*")
_ATTEMPT = re.compile(r"\s*[+-]?[\d.,'\s]*\d[\d.,'\s]*([eE][+-]?\d+)?")  # a number, in whatever way it is written
_GROUPED = r"[+-]?\d{{1,3}}({group}\d{{3}})+([{decimal}]\d*)?([eE][+-]?\d+)?"
_INDEX = re.compile(r"Unnamed: 0(\.\d+)?|__index_level_\d+__")  # what pandas calls an index without a name

Row = tuple[int, list[str]]
"""The number of a line in the file, and its cells."""


def open_text(file: DataFile) -> AbstractContextManager[Any]:
    """The bytes of a text file, or of standard input, which stays open."""
    return nullcontext(sys.stdin.buffer) if file.data == "-" else open(file.data, "rb")


def read_csv(file: DataFile, check: Callable[[int, float], None]) -> tuple[NDArray[np.float64], tuple[str, ...]]:
    """The numbers of a text file or of standard input, (n, d), and the names of their columns.

    ``check`` is called with the number of bytes that the numbers take so far, and the share of the file that they are.
    """
    with open_text(file) as stream:
        whole = os.path.getsize(file.data) if file.data != "-" else 0
        return read_lines(
            LiveLines(stream, file), file, lambda size: check(size, min(1.0, stream.tell() / whole) if whole else 1.0)
        )


class LiveLines:
    """The lines of a stream: iteration waits for the next one; ``len`` is the number of those that have come already.

    A carriage return alone ends a line, too. A mark of the byte order is no part of the first one.

    Examples
    --------
    >>> import io
    >>> lines = LiveLines(io.BytesIO(b"x\\n1\\n2"), DataFile("-"))
    >>> next(lines), len(lines), list(lines)
    ('x\\n', 1, ['1\\n', '2'])
    """

    def __init__(self, stream: Any, file: DataFile) -> None:
        try:
            "1".encode(file.encoding)  # there are codecs of other things than text
        except LookupError:
            raise ValueError(f"`--encoding` must be one that Python knows, got `{file.encoding}`.") from None
        self._decoder = codecs.getincrementaldecoder(file.encoding)()
        self._stream, self._file, self._rest, self._lines, self._came = stream, file, "", deque[str](), 0

    def __iter__(self) -> LiveLines:
        return self

    def __next__(self) -> str:
        while not self._lines and (read := self._stream.read1(_BYTES_AT_ONCE)):
            self._take(self._decoded(read))
        if not self._lines and (last := self._rest + self._decoded(b"", final=True)):  # a line without an end
            self._lines.append(last)
            self._rest = ""
        if not self._lines:
            raise StopIteration
        return self._lines.popleft()

    def __len__(self) -> int:
        return len(self._lines)

    def _take(self, text: str) -> None:
        text = self._rest + text
        text = text if self._came else text.removeprefix("\ufeff")
        lines = _LINE.findall(text)
        self._rest, self._came = text[sum(map(len, lines)) :], self._came + len(lines)
        self._lines.extend(lines)
        if len(self._rest) > _LONGEST_LINE:
            place = f"line {self._came + 1} of `{self._file.data}`"
            raise ValueError(f"{place} has more than {in_words(_LONGEST_LINE)}; is it text?")

    def _decoded(self, read: bytes, final: bool = False) -> str:
        try:
            return self._decoder.decode(read, final)
        except UnicodeError as error:  # UTF-16 without its mark is not a UnicodeDecodeError
            bad, start = (error.object, error.start) if isinstance(error, UnicodeDecodeError) else (b"", 0)
            number = self._came + len((bad[:start] + b"x").splitlines())
            other = "utf-16" if bad.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) else "latin-1"
            raise ValueError(
                f"`{self._file.data}` must be {self._file.encoding} text, but line {number} is not; name its encoding, "
                f"such as `--encoding {other}`."
            ) from None


@dataclass(frozen=True)
class Layout:
    """How lines are cut into cells, which of the cells are read, and what they are called.

    ``bare``: whether each line may be one number with a decimal comma, in place of two numbers.
    """

    file: DataFile
    start: int
    delimiter: str | None
    width: int
    names: list[str] | None
    chosen: Sequence[int]
    bare: bool

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
    layout, lines = lay_out(lines, file)
    values, number, bare = array("d"), layout.start, layout.bare
    while block := list(islice(lines, _LINES_AT_ONCE)):
        bare = bare and all_decimal_commas(block)  # one line of another kind is enough
        numbers, number, wrong = numbers_of(block, lines, layout, number)
        if wrong is not None:
            raise wrong
        values.frombytes(numbers.tobytes())
        check_size(values.itemsize * len(values))
    if bare and values:
        raise ValueError(DECIMAL_OR_TWO)
    if not values:
        raise ValueError("the file holds a header but no data.")
    return np.frombuffer(values, dtype=np.float64).reshape(-1, len(layout.chosen)), layout.read


def lay_out(lines: Iterable[str], file: DataFile) -> tuple[Layout, Iterator[str]]:
    """How lines are to be read, by the first two of them; and all lines below the header.

    No line is asked for that is not needed, since the next one may come tomorrow.
    """
    lines, marks = _without(lines, file.skip_lines), {file.decimal or ".", file.thousands}
    block, start = list[str](), list[str]()
    while len(start) < 2 and (line := next(lines, None)) is not None:
        block.append(line)
        start += [line] * _is_content(line)
    delimiter = _delimiter(start, marks) if start else None
    first = next(_rows(chain(list(block), _kept(lines, block)), delimiter), None)  # its cells may have several lines
    if first is None:
        raise ValueError("the file holds no data.")
    [(line, cells)] = first
    has_header = _is_header(line, cells) if file.header is None else file.header
    names, width = [cell.strip() for cell in cells] if has_header else None, len(cells)
    number = line if has_header else block.index(start[0])
    bare = width == 2 and names is None and file.columns is None and ", " not in start[-1] and delimiter == ","
    layout = Layout(file, number, delimiter, width, names, choose_columns(file.columns, names, width), bare)
    return layout, chain(block[number:], lines)


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
    end, quick, wrong = number + len(block), _quick(block, layout), None
    if quick is not None:
        return quick.ravel(), end, None
    values = array("d")
    try:
        for rows in _rows(chain(block, lines), layout.delimiter, number, layout.width):
            values.extend(number for row in rows for number in _numbers(*row, layout))
            number = rows[-1][0]
            if number >= end:
                break
    except ValueError as error:
        wrong = error
    return np.frombuffer(values, dtype=np.float64), number, wrong


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


def _rows(lines: Iterable[str], delimiter: str | None, number: int = 0, width: int = 0) -> Iterator[list[Row]]:
    """The rows of lines that come after the first ``number`` of a file; in a file of one column each comes with the
    blank lines before it, which are missing values."""
    if delimiter is None:
        yield from ([(k, line.split())] for k, line in enumerate(lines, start=number + 1) if _is_content(line))
        return
    reader, blank = csv.reader(lines, delimiter=delimiter, skipinitialspace=True), list[Row]()
    try:
        for cells in reader:
            row = number + reader.line_num, cells or [""]
            if _is_content(delimiter.join(cells)) or (width == 1 and cells == [""]):
                yield [*blank, row]
                blank = []
            elif not cells and width == 1:
                blank.append(row)
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


def _is_header(line: int, cells: list[str]) -> bool:
    if cells[0] == "" and cells[1:] == [str(k) for k in range(len(cells) - 1)]:
        return True  # as pandas names the columns of a plain array, beside its index
    numbers = [cell for cell in cells if _ATTEMPT.fullmatch(cell) or _number(cell) is not None]
    words = [cell for cell in cells if cell.strip() and cell not in numbers]
    if words and numbers:
        raise ValueError(
            f"line {line} holds both numbers (`{numbers[0]}`) and words (`{words[0]}`); say whether it names the "
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


def _numbers(line: int, cells: list[str], layout: Layout) -> list[float]:
    if len(cells) != layout.width:
        raise ValueError(f"line {line} has {len(cells)} cells, but the first line has {layout.width}.")
    return [_finite(line, cells[position].strip(), position, layout) for position in layout.chosen]


def _finite(line: int, cell: str, position: int, layout: Layout) -> float:
    value, names = layout.number(cell), layout.names
    missing = cell.lower() in _MISSING or cell in layout.na or (value is not None and value in layout.na.values())
    if layout.file.missing == "drop" and missing:
        return math.nan
    if value is not None and math.isfinite(value) and not missing:
        return value
    place = f"line {line}, column {position + 1}" + (f" (`{names[position]}`)" if names else "")
    if missing:
        what = f"`{cell}` stands for a missing value" if cell else "the cell is empty"
        raise ValueError(f"{place}: {what}; remove or impute missing values, or drop such rows with `--missing drop`.")
    if value is not None:
        raise ValueError(f"{place}: `{cell}` is not finite; remove or impute it.")
    raise ValueError(f"{place}: `{cell}` {_why(cell, layout, line)}.")


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


# Columns by name, position, range or pattern.


def choose_columns(
    columns: str | None, names: Sequence[str] | None, width: int, index: Collection[str] = ()
) -> Sequence[int]:
    """Positions (from 0) of the columns that the text ``columns`` names: names, positions from 1, ranges, patterns.

    A range ``2-4``, or ``x-z`` of names, holds both ends; a pattern ``emb_*`` all names that it fits. A column of
    exactly that name comes first. Without a text all columns are chosen, if none is an index of a pandas frame.

    Examples
    --------
    >>> choose_columns("y,1", ["x", "y"], 2)
    [1, 0]
    >>> choose_columns("id,emb_*", ["id", "emb_0", "emb_1"], 3)
    [0, 1, 2]
    >>> choose_columns("2-4", None, 9)
    [1, 2, 3]
    """
    if columns is None:
        _refuse_index(names or (), index)
        return range(width)
    chosen = [k for wanted in columns.split(",") for k in _columns(wanted.strip(), names, width)]
    for position in (k for k, times in Counter(chosen).items() if times > 1):
        raise ValueError(f"`--columns {columns}` names column {position + 1} twice.")
    return chosen


def _refuse_index(names: Sequence[str], index: Collection[str] = ()) -> None:
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


def _columns(wanted: str, names: Sequence[str] | None, width: int) -> list[int]:
    """The columns of one part of the text: a name, a range, a pattern or a position."""
    if (position := _position(wanted, names, width)) is not None:
        return [position]
    for cut in (k for k, character in enumerate(wanted) if character == "-" and 0 < k < len(wanted) - 1):
        first, last = (_position(end.strip(), names, width) for end in (wanted[:cut], wanted[cut + 1 :]))
        if first is not None and last is not None:
            if first > last:
                raise ValueError(f"`--columns`: `{wanted}` runs backward; write the earlier column first.")
            return list(range(first, last + 1))
    there = f"are numbered 1 to {width}" if names is None else "are called " + ", ".join(filter(None, names))
    if names is not None and set(wanted) & set("*?["):
        if found := [k for k, name in enumerate(names) if fnmatchcase(name, wanted)]:
            return found
        raise ValueError(f"`--columns`: no column fits `{wanted}`; the columns {there}.")
    meant = "".join(f" Did you mean `{name}`?" for name in get_close_matches(wanted, names or (), 1))
    raise ValueError(f"`--columns`: there is no column `{wanted}`; the columns {there}.{meant}")


def _position(wanted: str, names: Sequence[str] | None, width: int) -> int | None:
    """The column of this name, or else at this position, counted from 1; None where there is none."""
    if names is not None and wanted in names:
        if list(names).count(wanted) > 1:
            raise ValueError(f"`--columns`: several columns are called `{wanted}`; give its position, counted from 1.")
        return list(names).index(wanted)
    return int(wanted) - 1 if wanted.isdecimal() and 1 <= int(wanted) <= width else None
