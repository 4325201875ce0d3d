"""Numbers from delimited text, a block of lines at a time, with the line and column of whatever is not one."""

from __future__ import annotations

import codecs
import csv
import math
import os
import re
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from itertools import chain, islice, tee
from typing import Any

import numpy as np

from steinball.arrays import Floats
from steinball.cli.table import choose_columns
from steinball.gram.cost import in_words
from steinball_command.options import DataFile

_DELIMITERS = (";", "\t", ",")  # a comma beside a semicolon or a tab is a decimal comma, and an error unless said
_BYTES_AT_ONCE, _LONGEST_LINE = 2**16, 2**24
_LINE = re.compile(r"[^\r\n]*(?:\r\n|\n|\r)")
_MISSING = {"", "na", "n/a", "nan", "null", "none", "-", "--", "."}
_DECIMAL_COMMA = re.compile(r"\s*[+-]?\d+,\d+([eE][+-]?\d+)?\s*")
_LIKE_A_NUMBER = re.compile(r"\s*[+-]?[\d.,'\s]*\d[\d.,'\s]*([eE][+-]?\d+)?")  # a number, in whatever way it is written
_GROUPED = r"[+-]?\d{{1,3}}({group}\d{{3}})+([{decimal}]\d*)?([eE][+-]?\d+)?"

Row = tuple[int, list[str]]
"""The number of a line in the file, and its cells."""


def open_text(file: DataFile) -> AbstractContextManager[Any]:
    """The bytes of a text file, or of standard input, which stays open."""
    return nullcontext(sys.stdin.buffer) if file.data == "-" else open(file.data, "rb")


def read_csv(file: DataFile, check: Callable[[int, float], None]) -> tuple[Floats, tuple[str, ...]]:
    """The numbers of a text file or of standard input, (n, d), and the names of their columns; none without a header.

    ``check`` is called with the number of bytes that the numbers take so far, and the share of the file that they are.
    """
    values = bytearray()
    with open_text(file) as stream:
        whole, rows = os.path.getsize(file.data) if file.data != "-" else 0, TextRows(stream, file)
        for batch in rows:
            values += batch.tobytes()
            check(len(values), min(1.0, stream.tell() / whole) if whole else 1.0)
    if not values:
        raise ValueError("the file holds a header but no data.")
    rows.refuse_ambiguous()
    return np.frombuffer(values, dtype=np.float64).reshape(-1, rows.columns), rows.names


class LiveLines:
    """The lines of a stream: iteration waits for the next one; ``len`` is the number of those that have come already.

    A carriage return alone ends a line, too. A mark of the byte order is no part of the first one.

    Examples
    --------
    >>> import io
    >>> lines = LiveLines(io.BytesIO(b"x\\n1\\n2"), DataFile("-"))
    >>> [(line, len(lines)) for line in lines]
    [('x\\n', 1), ('1\\n', 0), ('2', 0)]
    """

    def __init__(self, stream: Any, file: DataFile) -> None:
        try:
            "1".encode(file.encoding)  # there are codecs of other things than text
        except LookupError:
            raise ValueError(f"`--encoding` must be one that Python knows, got `{file.encoding}`.") from None
        self._decoder = codecs.getincrementaldecoder(file.encoding)()
        self._stream, self._file, self._rest, self._lines, self._came = stream, file, "", deque[str](), 0

    def __iter__(self) -> Iterator[str]:
        while read := self._stream.read1(max(_BYTES_AT_ONCE, len(self._rest))):
            text = self._rest + self._decoded(read)
            text = text if self._came else text.removeprefix("\ufeff")
            # A carriage return at the very end may have its line feed to come; after the last end nothing is searched.
            whole = max(text.rfind("\n"), text.rfind("\r", 0, -1)) + 1
            self._lines.extend(_LINE.findall(text[:whole]))
            self._rest, self._came = text[whole:], self._came + len(self._lines)
            if len(self._rest) > _LONGEST_LINE:
                place = f"line {self._came + 1} of `{self._file.data}`"
                raise ValueError(f"{place} has more than {in_words(_LONGEST_LINE)}; is it text?")
            while self._lines:
                yield self._lines.popleft()
        if last := self._rest + self._decoded(b"", final=True):  # a line without an end
            yield last

    def __len__(self) -> int:
        return len(self._lines)

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


class TextRows:
    """The rows of delimited text in batches of ``columns`` numbers each, as their lines come; NaN where one is missing.

    The delimiter is a semicolon, a tab, a comma or white space, whichever comes first in this list and is used. Lines
    that start with ``#`` are skipped, and so are blank lines; in a file of one column a blank line between others is a
    missing value. Where a line holds no row, the rows before it are given first, and then the error.

    Parameters
    ----------
    stream : binary file
        With ``read1``.
    file : DataFile
        Which columns are read, whether there is a header, and how numbers are written. Without a header there are no
        ``names``.

    Examples
    --------
    >>> import io
    >>> rows = TextRows(io.BytesIO(b"a;b\\n1; 2\\n3; 4\\n"), DataFile("-", columns="b"))
    >>> rows.names, list(rows)
    (('b',), [array([[2.],
           [4.]])])
    """

    def __init__(self, stream: Any, file: DataFile) -> None:
        self._file, self._live = file, LiveLines(stream, file)
        self._value = partial(_number, decimal=file.decimal or ".", thousands=file.thousands)
        self._missing = {number for text in file.na or () if (number := self._value(text)) is not None}
        self._lines, whole, ahead = tee(_without_lines(self._live, file.skip_lines), 3)
        # No line is asked for that is not needed, since the next one may come tomorrow.
        start = list(islice(((k, line) for k, line in enumerate(ahead) if _is_content(line)), 2))
        marks = {file.decimal or ".", file.thousands}
        self._delimiter = _delimiter([line for _, line in start], marks) if start else None
        first = next(_rows(whole, self._delimiter), None)  # its cells may have several lines
        if first is None:
            raise ValueError("the file holds no data.")
        [(number, cells)] = first
        header = _is_header(number, cells) if file.header is None else file.header
        self._above = self._number = number if header else start[0][0]  # lines above the first row
        next(islice(self._lines, self._number, self._number), None)
        self._names, self._width = [cell.strip() for cell in cells] if header else None, len(cells)
        self._chosen = choose_columns(file.columns, self._names, self._width)
        self.names, self.columns = tuple(self._names[k] for k in self._chosen) if self._names else (), len(self._chosen)
        two = self._width == 2 and self._delimiter == "," and not header and file.columns is None
        self._ambiguous = two and ", " not in start[-1][1]

    def __iter__(self) -> Iterator[Floats]:
        for line in self._lines:
            block = [line, *islice(self._lines, len(self._live))]  # all lines that have come
            self._ambiguous = self._ambiguous and all(map(_DECIMAL_COMMA.fullmatch, filter(_is_content, block)))
            if (numbers := self._quick(block)) is None:
                yield from self._cell_by_cell(block)
            else:
                self._number += len(block)
                yield numbers.reshape(-1, self.columns)

    def _cell_by_cell(self, block: list[str]) -> Iterator[Floats]:
        """The numbers of a block of lines; where a line holds none, those before it, and then what is wrong with it.

        The last row may need further lines, to the end of a quoted cell.
        """
        end, found = self._number + len(block), list[list[float]]()
        rows = _rows(chain(block, self._lines), self._delimiter, self._number, self._width)
        try:
            while self._number < end and (group := next(rows, None)) is not None:
                found.extend(self._cells(*row) for row in group)
                self._number = group[-1][0]
        finally:  # also before an error
            yield np.reshape(found, (-1, self.columns))

    def _quick(self, block: list[str]) -> Floats | None:
        """The numbers of some lines, or None where one of them needs a closer look."""
        lines, comma = [line for line in block if _is_content(line)], self._file.decimal == ","
        if self._file.thousands is not None or (self._width == 1 and not all(map(str.strip, block))):
            return None
        if not lines:
            return np.empty(0)
        whole = all(len(line.split(self._delimiter)) == self._width and '"' not in line for line in lines)
        if not whole or (comma and any("." in line for line in lines)):
            return None
        lines = [line.replace(",", ".") for line in lines] if comma else lines
        try:
            numbers = np.loadtxt(lines, delimiter=self._delimiter, usecols=self._chosen, comments=None, ndmin=2)
        except ValueError:
            return None
        return numbers if np.isfinite(numbers).all() and not np.isin(numbers, list(self._missing)).any() else None

    def _cells(self, line: int, cells: list[str]) -> list[float]:
        """The numbers of one row, cell by cell."""
        if len(cells) != self._width:
            raise ValueError(f"line {line} has {len(cells)} cells, but the first line has {self._width}.")
        return [self._finite(line, cells[position].strip(), position) for position in self._chosen]

    def _finite(self, line: int, cell: str, position: int) -> float:
        value = self._value(cell)
        missing = cell.lower() in _MISSING or cell in (self._file.na or ()) or value in self._missing
        if self._file.missing == "drop" and missing:
            return math.nan
        if value is not None and math.isfinite(value) and not missing:
            return value
        place = f"line {line}, column {position + 1}" + (f" (`{self._names[position]}`)" if self._names else "")
        if missing:
            what = f"`{cell}` stands for a missing value" if cell else "the cell is empty"
            remedy = "remove or impute missing values, or drop such rows with `--missing drop`"
            raise ValueError(f"{place}: {what}; {remedy}.")
        if value is not None:
            raise ValueError(f"{place}: `{cell}` is not finite; remove or impute it.")
        units = line if self._names and line == self._above + 1 else None
        raise ValueError(f"{place}: `{cell}` {_why_no_number(cell, units)}.")

    def refuse_ambiguous(self) -> None:
        """Refuse text of which every line so far may be one number with a decimal comma."""
        if self._ambiguous:
            raise ValueError(
                "every line may be one number with a decimal comma, or two whole numbers. Say which: `--decimal ,` for "
                "the first, `--columns 1,2` for the second."
            )


def complete_rows(feed: TextRows, seen: int = 0) -> Iterator[Floats]:
    """The rows of a feed without a missing value, behind the first ``seen``, in batches as they come."""
    for batch in feed:
        feed.refuse_ambiguous()  # whatever comes tomorrow
        rows = batch[~np.isnan(batch).any(axis=1)]  # only with `--missing drop`
        if len(rows) > seen:
            yield rows[seen:]
        seen = max(0, seen - len(rows))


def _without_lines(lines: Iterable[str], skipped: str | None) -> Iterator[str]:
    """The lines, with a comment in place of those that are left out: the others keep their numbers."""
    if skipped is None:
        return iter(lines)
    found = [re.fullmatch(r"\s*(\d+)\s*(?:-\s*(\d+)\s*)?", part) for part in skipped.split(",")]
    if not all(found):
        raise ValueError(f"`--skip-lines` must be numbers of lines, such as 2 or 1-3,5, got `{skipped}`.")
    ranges = [range(int(part[1]), int(part[2] or part[1]) + 1) for part in found if part]
    return ("#\n" if any(k in part for part in ranges) else line for k, line in enumerate(lines, start=1))


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
    return line.strip()[:1] not in ("", "#")


def _delimiter(lines: list[str], marks: set[str | None]) -> str | None:
    """The delimiter of the first line of numbers, which is one of two; None is white space.

    What stands inside of numbers is no delimiter, unless cells have quotes. A header is not asked: words may hold any
    character.
    """
    words = any(_LIKE_A_NUMBER.fullmatch(part) is None for part in re.split(r"[;,\s]+", lines[0].strip()) if part)
    line = lines[-1] if words else lines[0]
    found = next((d for d in _DELIMITERS if d in line and (d not in marks or '"' in line)), None)
    if found is not None or (len(line.split()) != 1 and " " not in marks):
        return found
    return ";" if "," in marks else ","  # one column


def _is_header(line: int, cells: list[str]) -> bool:
    if cells[0] == "" and cells[1:] == [str(k) for k in range(len(cells) - 1)]:
        return True  # as pandas names the columns of a plain array, beside its index
    numbers = [cell for cell in cells if _LIKE_A_NUMBER.fullmatch(cell) or _number(cell) is not None]
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
    if thousands is not None:
        cell = _ungrouped(cell, decimal, thousands) or cell
    if decimal == ",":
        cell = cell.replace(".", "_").replace(",", ".")
    try:
        return None if "_" in cell else float(cell)
    except ValueError:
        return None


def _ungrouped(cell: str, decimal: str, thousands: str) -> str | None:
    """The cell without its marks, where the digits before the fraction stand in groups of three, or None.

    A space may be one that does not break.
    """
    mark = r"\s" if thousands == " " else re.escape(thousands)
    return re.sub(mark, "", cell) if re.fullmatch(_GROUPED.format(group=mark, decimal=decimal), cell) else None


def _why_no_number(cell: str, units: int | None) -> str:
    """Why a cell is no number, and what to say where it is meant to be one; ``units`` is its line below a header."""
    ways = [
        f"`--decimal {decimal}" + (f' --thousands "{mark}"`' if mark else "`")
        for decimal in (",", ".")
        for mark in (None, ",", ".", "'", " ")
        if mark != decimal and (mark is None or _ungrouped(cell, decimal, mark))
        if _number(cell, decimal, mark) is not None
    ]
    if ways:
        return f"needs {' or '.join(ways)}" + ("; say which" if len(ways) > 1 else "")
    skip = "" if units is None else f"leave out a line of units with `--skip-lines {units}`, "
    return f"is not a number; choose other columns with `--columns`, {skip}or, for a missing value, say `--na {cell}`"
