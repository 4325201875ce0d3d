"""Rows of a feed as they come, in constant memory, and its monitor: alarms as JSON, a state that survives a kill."""

from __future__ import annotations

import codecs
import json
import math
import re
import sys
from collections import deque
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import steinball as sb
from steinball.cli import outcome
from steinball.cli.csvtext import DECIMAL_OR_TWO, all_decimal_commas, lay_out, numbers_of
from steinball.cli.datafiles import check_format
from steinball.cli.specs import as_share, model_from
from steinball.files import only_writer
from steinball.show.pictures import check_picture
from steinball.text import count
from steinball_command.guard import say, write
from steinball_command.options import DataFile, Model, Promise, State

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


def check_watch(promise: Promise, state: State) -> None:
    """Refuse options that do not go together, before a row is read."""
    _promised(promise)
    if state.again and state.state is None:
        raise ValueError("`--again` skips the rows that a state has counted; give `--state FILE.npz`.")
    if state.plot is not None:
        check_picture(state.plot)


def held(state: str | None) -> AbstractContextManager[None]:
    """Hold the file of the state, so that no other process writes it."""
    return nullcontext() if state is None else only_writer(state)


def start_monitor(promise: Promise, state: State, columns: int) -> sb.Monitor:
    """The monitor of a feed with so many columns: a new one, or the one that the file of the state holds."""
    share, run = _promised(promise)
    model = model_from(Model(promise.model), columns)
    if state.state is None or not Path(state.state).exists():
        return sb.Monitor(model, share, run)
    monitor = sb.Monitor.load(state.state, model)
    if (monitor.contamination, monitor.expected_run) != (share, run):
        raise ValueError(
            f"`{state.state}` is the state of `--contamination {monitor.contamination:g} --expected-run "
            f"{monitor.expected_run:g}`, got {share:g} and {run:g}. Give the same, or another file."
        )
    return monitor


def _promised(promise: Promise) -> tuple[float, float]:
    """The tolerated share and the expected run."""
    for name in (name for name in ("model", "contamination") if vars(promise)[name] is None):
        raise ValueError(f"give `--{name}`, as in `--model normal:mean=0,sd=1 --contamination 5%`.")
    try:
        run = float(promise.expected_run)
    except ValueError:
        run = math.nan
    if not 1.0 < run < math.inf:
        raise ValueError(f"`--expected-run` must be a number of rows above 1, got `{promise.expected_run}`.")
    return as_share(str(promise.contamination), "--contamination"), run


def watch(monitor: sb.Monitor, feed: Feed, state: State) -> int:
    """Take in all rows of a feed; the number of alarms.

    Alarms are written before the state: a process that is killed in between says them again, and loses none.
    """
    before = monitor.n_alarms
    try:
        for rows in _behind(feed, monitor.n if state.again else 0):
            first = monitor.n + 1
            with outcome.foreign_code():
                alarms = monitor.update(rows)
            lines = _every(monitor, first, alarms) if state.every else [_told(alarm, feed) for alarm in alarms]
            if lines:
                write("".join(f"{line}\n" for line in lines))
            if state.state is not None:
                monitor.save(state.state)
    finally:  # also after an error: the rows behind these are to be fed again
        say(f"{count(monitor.n, 'row')} so far, {count(monitor.n_alarms, 'alarm')}")
    return monitor.n_alarms - before


def _behind(feed: Feed, seen: int) -> Iterator[NDArray[np.float64]]:
    """The rows behind the first ``seen``."""
    for rows in feed:
        skipped = min(seen, len(rows))
        seen -= skipped
        if len(rows) > skipped:
            yield rows[skipped:]


def _told(alarm: sb.Alarm, feed: Feed) -> str:
    """An alarm as JSON; the column by its name, null for the whole row."""
    column = None if alarm.column is None else feed.names[alarm.column] if feed.names else f"x{alarm.column + 1}"
    return json.dumps({"row": alarm.row, "wealth": alarm.wealth, "column": column})


def _every(monitor: sb.Monitor, first: int, alarms: list[sb.Alarm]) -> list[str]:
    rows, numbered = {alarm.row for alarm in alarms}, enumerate(monitor.last_wealth.tolist(), start=first)
    return [json.dumps({"row": row, "wealth": wealth, "alarm": row in rows}) for row, wealth in numbered]
