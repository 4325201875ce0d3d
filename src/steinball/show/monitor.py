"""The page of a monitor: whether there was an alarm, the evidence over time, and the last alarms."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np

from steinball.files import write_whole
from steinball.record import versions
from steinball.sequential.monitor import Monitor
from steinball.show.page import _figure, _safe, _table, whole_page
from steinball.show.svg import Frame, drawing
from steinball.text import number


def write_monitor(monitor: Monitor, path: str | Path, title: str = "") -> Path:
    """Write the page of a monitor: :meth:`steinball.Monitor.report`."""
    path, (rows, sentence) = Path(path), monitor._shown()
    word, kind = ("ALARM", "misfit") if monitor.alarms else ("NO ALARM", "undecided")
    title = title or "Monitor of a feed"
    head = f'<header>\n<h1>{_safe(title)}</h1>\n<p class="lead"><span class="chip {kind}">{word}</span> '
    head += f"{_safe(sentence.removeprefix(word).strip())}</p>\n</header>\n"
    panel = _figure(
        _evidence(monitor), "The evidence since the last alarm, in powers of ten; dashed: where an alarm is raised."
    )
    facts = [*rows, ("versions", ", ".join(f"{name} {version}" for name, version in versions().items()))]
    alarms = [
        [f"{alarm.row:,}", number(alarm.wealth), "the whole row" if alarm.column is None else str(alarm.column + 1)]
        for alarm in monitor.alarms
    ]
    tables = _section("Last alarms", _table(["row", "evidence", "column"], alarms)) if alarms else ""
    tables += _section("State", _table(["", ""], [[row[0], row[1]] for row in facts]))
    write_whole(path, whole_page(title, f'{head}<section class="panels">\n{panel}</section>\n{tables}').encode())
    return path


def _section(name: str, table: str) -> str:
    return f'<section>\n<h2>{name}</h2>\n<div class="scroll">{table}</div>\n</section>\n'


def _evidence(monitor: Monitor) -> str:
    n, log_wealth = monitor.history
    height, threshold = log_wealth / math.log(10.0), math.log10(monitor.expected_run)
    low = min(0.0, float(height.min(initial=0.0)))
    frame = Frame((0.0, max(float(monitor.n), 1.0)), (low, 1.1 * max(threshold, float(height.max(initial=0.0)))))
    parts = [frame.line(np.array(frame.x), np.full(2, threshold), "level"), frame.line(n, height, "model")]
    return drawing([*parts, frame.axes(("number of rows", "powers of ten"))], "The evidence over time")
