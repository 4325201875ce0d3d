"""Rows of a feed as they come, in constant memory, and its monitor: alarms as JSON, a state that survives a kill."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

import steinball as sb
from steinball.arrays import Floats
from steinball.cli import outcome
from steinball.cli.csvtext import TextRows, open_text
from steinball.cli.datafiles import check_format
from steinball.cli.specs import model_from
from steinball.show.pictures import check_picture
from steinball.text import count
from steinball_command.guard import say, write
from steinball_command.options import DataFile, Model, Promise, State


@contextmanager
def open_feed(file: DataFile) -> Iterator[TextRows]:
    """The feed in a text file, or on standard input."""
    if file.data.lower().endswith((".npy", ".npz", ".parquet")):
        raise ValueError(f"`--data {file.data}` must be text, a row a line, such as CSV.")
    check_format(file, ".csv")
    with open_text(file) as stream:
        yield TextRows(stream, file)


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
    share, run = promise.contamination, promise.expected_run
    if promise.model is None or share is None:
        missing = "model" if promise.model is None else "contamination"
        raise ValueError(f"give `--{missing}`, as in `--model normal:mean=0,sd=1 --contamination 5%`.")
    if not 1.0 < run < math.inf:
        raise ValueError(f"`--expected-run` must be a number of rows above 1, got {run:g}.")
    return share, run


def watch(monitor: sb.Monitor, feed: TextRows, state: State) -> int:
    """Take in all rows of a feed; the number of alarms.

    Alarms are written before the state: a process that is killed in between says them again, and loses none.
    """
    before = monitor.n_alarms
    try:
        for rows in complete_rows(feed, monitor.n if state.again else 0):
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


def complete_rows(feed: TextRows, seen: int = 0) -> Iterator[Floats]:
    """The rows of a feed without a missing value, behind the first ``seen``, in batches as they come."""
    for batch in feed:
        feed.refuse_ambiguous()  # whatever comes tomorrow
        rows = batch[~np.isnan(batch).any(axis=1)]  # only with `--missing drop`
        if len(rows) > seen:
            yield rows[seen:]
        seen = max(0, seen - len(rows))


def _told(alarm: sb.Alarm, feed: TextRows) -> str:
    """An alarm as JSON; the column by its name, null for the whole row."""
    column = None if alarm.column is None else feed.names[alarm.column] if feed.names else f"x{alarm.column + 1}"
    return json.dumps({"row": alarm.row, "wealth": alarm.wealth, "column": column})


def _every(monitor: sb.Monitor, first: int, alarms: list[sb.Alarm]) -> list[str]:
    rows, numbered = {alarm.row for alarm in alarms}, enumerate(monitor.last_wealth.tolist(), start=first)
    return [json.dumps({"row": row, "wealth": wealth, "alarm": row in rows}) for row, wealth in numbered]
