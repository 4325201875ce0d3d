"""The page of a monitor: whether there was an alarm, the evidence over time, and the last alarms."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np

from steinball.files import write_whole
from steinball.sequential.monitor import Monitor
from steinball.show.page import facts, figure, head, section, table_of, whole_page
from steinball.show.svg import Frame, drawing
from steinball.text import number


def write_monitor(monitor: Monitor, path: str | Path, title: str = "") -> Path:
    """Write the page of a monitor: :meth:`steinball.Monitor.report`."""
    path, (rows, sentence) = Path(path), monitor._shown()
    word = "ALARM" if monitor.alarms else "NO ALARM"
    caption = "The evidence since the last alarm, in powers of ten; dashed: where an alarm is raised."
    alarms = [
        [f"{alarm.row:,}", number(alarm.wealth), "the whole row" if alarm.column is None else str(alarm.column + 1)]
        for alarm in monitor.alarms
    ]
    parts = [
        head(title or "Monitor of a feed", word, sentence.removeprefix(word).strip()),
        f'<section class="panels">\n{figure(_evidence(monitor), caption)}</section>\n',
        section("alarms", "Last alarms", table_of(["row", "evidence", "column"], alarms)) if alarms else "",
        section("computed", "State", facts(rows)),
    ]
    write_whole(path, whole_page(title or "Monitor of a feed", "".join(parts)).encode())
    return path


def _evidence(monitor: Monitor) -> str:
    n, log_wealth = monitor.history
    height, threshold = log_wealth / math.log(10.0), math.log10(monitor.expected_run)
    low = min(0.0, float(height.min(initial=0.0)))
    frame = Frame((0.0, max(float(monitor.n), 1.0)), (low, 1.1 * max(threshold, float(height.max(initial=0.0)))))
    parts = [frame.line(np.array(frame.x), np.full(2, threshold), "level"), frame.line(n, height, "model")]
    return drawing([*parts, frame.axes(("number of rows", "powers of ten"))], "The evidence over time")
