"""Rows of a feed as they come, in constant memory, and its monitor: alarms as JSON, a state that survives a kill."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import steinball as sb
from steinball.cli import outcome
from steinball.cli.csvtext import DECIMAL_OR_TWO, LiveLines, all_decimal_commas, lay_out, numbers_of, open_text
from steinball.cli.datafiles import check_format
from steinball.cli.specs import as_share, model_from
from steinball.show.pictures import check_picture
from steinball.text import count
from steinball_command.guard import say, write
from steinball_command.options import DataFile, Model, Promise, State


class Feed:
    """Rows of a feed in batches, as they come: ``columns`` numbers each. Without a header there are no ``names``.

    Where a line holds no row, the rows before it are given first, and then the error.
    """

    def __init__(self, stream: Any, file: DataFile) -> None:
        self._live = LiveLines(stream, file)
        self._layout, self._lines = lay_out(self._live, file)
        self.names, self.columns = self._layout.read, len(self._layout.chosen)

    def __iter__(self) -> Iterator[NDArray[np.float64]]:
        layout, number = self._layout, self._layout.start
        for line in self._lines:
            block = [line, *islice(self._lines, len(self._live))]  # all lines that have come
            if layout.bare and number == layout.start and all_decimal_commas(block):
                raise ValueError(DECIMAL_OR_TWO)
            values, number, wrong = numbers_of(block, self._lines, layout, number)
            rows = values.reshape(-1, self.columns)
            yield rows[~np.isnan(rows).any(axis=1)]  # only with `--missing drop`
            if wrong is not None:
                raise wrong


@contextmanager
def open_feed(file: DataFile) -> Iterator[Feed]:
    """The feed in a text file, or on standard input."""
    if file.data.lower().endswith((".npy", ".npz", ".parquet")):
        raise ValueError(f"`--data {file.data}` must be text, a row a line, such as CSV.")
    check_format(file, ".csv")
    with open_text(file) as stream:
        yield Feed(stream, file)


def check_watch(promise: Promise, state: State) -> None:
    """Refuse options that do not go together, before a row is read."""
    _promised(promise)
    if state.again and state.state is None:
        raise ValueError("`--again` skips the rows that a state has counted; give `--state FILE.npz`.")
    if state.plot is not None:
        check_picture(state.plot)


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
