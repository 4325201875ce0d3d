"""Rows of a feed as they come: a pipe that may be slow or endless, or a file, in constant memory."""

from __future__ import annotations

import codecs
import re
import sys
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steinball.cli.csvtext import DECIMAL_OR_TWO, all_decimal_commas, lay_out, numbers_of
from steinball.cli.datafiles import check_format
from steinball_command.options import DataFile

__all__ = ["Feed", "LiveLines", "open_feed"]

_BYTES = 2**16
_LONGEST_LINE = 2**24
_LINE = re.compile(r"[^\r\n]*(?:\r\n|\n|\r(?!\Z))")  # a carriage return at the end may be followed by its line feed


class LiveLines:
    """The lines of a stream: iteration waits for the next one; ``len`` is the number of those that have come already.

    Examples
    --------
    >>> import io
    >>> lines = LiveLines(io.BytesIO(b"x\\n1\\n2"), DataFile("-"))
    >>> next(lines), len(lines), list(lines)
    ('x\\n', 1, ['1\\n', '2'])
    """

    def __init__(self, stream: Any, file: DataFile) -> None:
        try:
            self._decoder = codecs.getincrementaldecoder(file.encoding)()
        except LookupError:
            raise ValueError(f"`--encoding` must be one that Python knows, got `{file.encoding}`.") from None
        self._stream, self._file = stream, file
        self._rest, self._lines, self._first = "", deque[str](), True

    def __iter__(self) -> LiveLines:
        return self

    def __next__(self) -> str:
        if not self._lines and not self._wait():
            raise StopIteration
        return self._lines.popleft()

    def __len__(self) -> int:
        return len(self._lines)

    def _wait(self) -> bool:
        """Read until a line is complete; whether there is one. What stands behind the last line end is a line, too."""
        while not self._lines and (read := self._stream.read1(_BYTES)):
            self._take(self._decoded(read))
        if not self._lines and (last := self._rest + self._decoded(b"", final=True)):
            self._lines.append(last)
            self._rest = ""
        return bool(self._lines)

    def _take(self, text: str) -> None:
        text = self._rest + text
        text, self._first = text.removeprefix("\ufeff") if self._first else text, self._first and not text
        lines = _LINE.findall(text)
        self._rest = text[sum(map(len, lines)) :]
        self._lines.extend(lines)
        if len(self._rest) > _LONGEST_LINE:
            raise ValueError(f"a line of `{self._file.data}` has more than {_LONGEST_LINE} letters; is it text?")

    def _decoded(self, read: bytes, final: bool = False) -> str:
        try:
            return self._decoder.decode(read, final)
        except UnicodeError:
            raise ValueError(
                f"`{self._file.data}` must be {self._file.encoding} text, and is not; name its encoding, such as "
                "`--encoding latin-1`."
            ) from None


class Feed:
    """Rows of a feed in batches, as they come: ``columns`` numbers each. Without a header there are no ``names``.

    Where a line holds no row, the rows before it are given first, and then the error.
    """

    def __init__(self, stream: Any, file: DataFile) -> None:
        live = LiveLines(stream, file)
        self._layout, self._lines, self._bare = lay_out(live, file)
        self._live, self.names, self.columns = live, self._layout.read, len(self._layout.chosen)

    def __iter__(self) -> Iterator[NDArray[np.float64]]:
        layout, bare, number = self._layout, self._bare, self._layout.start
        for block in self._blocks():
            if bare and all_decimal_commas(block):
                raise ValueError(DECIMAL_OR_TWO)
            values, number, wrong = numbers_of(block, self._lines, layout, number)
            rows, bare = values.reshape(-1, len(layout.chosen)), False
            yield rows[~np.isnan(rows).any(axis=1)]  # only with `--missing drop`
            if wrong is not None:
                raise wrong

    def _blocks(self) -> Iterator[list[str]]:
        """All lines that have come, at least one."""
        for line in self._lines:
            yield [line, *islice(self._lines, len(self._live))]


@contextmanager
def open_feed(file: DataFile) -> Iterator[Feed]:
    """The feed in a text file, or on standard input."""
    if file.data.lower().endswith((".npy", ".npz", ".parquet")):
        raise ValueError(f"`--data {file.data}` must be text, a row a line, such as CSV.")
    check_format(file, ".csv")
    with nullcontext(sys.stdin.buffer) if file.data == "-" else open(file.data, "rb") as stream:
        yield Feed(stream, file)
