"""A comparison of models as two pictures and as a page, and the page of a monitor."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from steinball.arrays import Floats
from steinball.comparison import Comparison
from steinball.results.comparison import NOT_CLOSE, ComparisonResult
from steinball.sequential.monitor import Monitor
from steinball.show import page
from steinball.show.pictures import chosen_picture, draw_into, draw_panels
from steinball.show.svg import Frame, canvas, drawing, finish, plain, text
from steinball.show.view import MOST, some_of
from steinball.text import count, number, short

KINDS = ("overview", "preference", "intervals")
MOST_PAIRS = 10
"""So many intervals are drawn; the table has all."""

_BINS, _TAIL = 10, 0.005


class Preference(NamedTuple):
    """The preference g of one pair at rows: values of the column that tells most about it, g there, and words."""

    pair: Comparison
    column: str
    x: Floats
    g: Floats
    outside: int


def preference_of(result: ComparisonResult) -> Preference:
    """The preference of the most decided pair, along the column whose values explain most of it."""
    pair = min(result.pairs, key=lambda pair: pair.pvalue)
    names = result._record.names or tuple(f"x{j + 1}" for j in range(result.dimension))
    j = int(np.argmax([_explained(column, pair.values) for column in result._rows.T]))
    x = result._rows[:, j]
    low, high = np.quantile(x, [_TAIL, 1.0 - _TAIL])
    room = 0.3 * (high - low) or 1.0
    there = (x >= low - room) & (x <= high + room)
    kept = some_of(there, MOST)
    return Preference(pair, names[j], x[kept], pair.values[kept], int((~there).sum()))


def _explained(column: Floats, g: Floats) -> float:
    """The variance of the means of g in bins of a column that hold as many rows each."""
    parts = np.array_split(g[np.argsort(column, kind="stable")], _BINS)
    return float(np.var([part.mean() for part in parts if len(part)]))


def drawn_pairs(result: ComparisonResult) -> Sequence[Comparison]:
    """The pairs that are drawn: all, or those with the smallest p-values."""
    order = np.argsort([pair.pvalue for pair in result.pairs], kind="stable")[:MOST_PAIRS]
    return [result.pairs[k] for k in np.sort(order)]


def plot_comparison(result: ComparisonResult, kind: str | Path = "overview", ax: Any = None) -> Any:
    """One picture of a comparison, or both side by side: :meth:`steinball.ComparisonResult.plot`."""
    kind, ax = chosen_picture(kind, ax, KINDS)
    drawers = {"preference": partial(_draw_preference, result), "intervals": partial(_draw_intervals, result)}
    return draw_into(ax, drawers[kind]) if kind in drawers else draw_panels(list(drawers.values()), ax)


def _draw_preference(result: ComparisonResult, ax: Any) -> Any:
    ax, theme = canvas(ax)
    found = preference_of(result)
    ax.axhline(0.0, color=theme.ink, linewidth=0.8)
    sides = ((found.g > 0.0, theme.model, found.pair.first), (found.g <= 0.0, theme.blamed, found.pair.second))
    for side, color, name in sides:
        label = f"speak for {plain(name, 40)}: {100 * side.mean():.0f} %"
        ax.scatter(found.x[side], found.g[side], s=8, color=color, linewidths=0, alpha=0.7, label=label)
    look: dict[str, Any] = {"color": theme.data, "markersize": 7, "transform": ax.get_xaxis_transform()}
    ax.plot(found.x, np.full(len(found.x), 0.02), "|", **look)
    beyond = f" ({count(found.outside, 'row')} outside of this picture)" if found.outside else ""
    ax.set(xlabel=f"{plain(found.column)}{beyond}", ylabel="preference g of a row")
    return finish(ax, "which rows speak for which model")


def _draw_intervals(result: ComparisonResult, ax: Any) -> Any:
    ax, theme = canvas(ax)
    pairs = drawn_pairs(result)
    ax.axvline(0.0, color=theme.ink, linewidth=0.8)
    for place, pair in enumerate(pairs):
        color = theme.data if pair.closer is None else theme.model if pair.closer == pair.first else theme.blamed
        ax.plot(pair.interval, [place, place], color=color, linewidth=3, solid_capstyle="butt")
        ax.plot(pair.mean, place, "o", color=color)
    ax.set_yticks(range(len(pairs)), [plain(_words(pair), 40) for pair in pairs], fontsize="small")
    ax.set(ylim=(len(pairs) - 0.4, -0.6), xlabel="MMD² of the second model − MMD² of the first")
    ax.locator_params(axis="x", nbins=5)
    return finish(ax, "right of 0 the first is closer, left of it the second", legend=False)


def _words(pair: Comparison) -> str:
    return f"{pair.first}, {pair.second}"


# The page.


def write_comparison(result: ComparisonResult, path: str | Path, title: str = "") -> Path:
    """Write the page of a comparison."""
    note = f"{NOT_CLOSE} MMD is the maximum mean discrepancy, by one kernel for all models."
    first = page.figure(_preference_panel(result), "The preference of rows: above 0 they speak for the first model.")
    words = "Intervals: right of 0 the first model is closer, left of it the second."
    told = [(_words(pair), pair.closer or "no difference shown", pair.pvalue, *pair.interval) for pair in result.pairs]
    rows = [[pair, closer, *map(short, numbers)] for pair, closer, *numbers in told]
    table = page.table_of(["first, second", "closer", "p-value", "from", "to"], rows)
    shown = (
        page.panel_section([first, page.figure(_interval_panel(result), words)]),
        page.section("pairs", "Every pair", table),
    )
    parts = [page.head_of(result, title), *shown, page.warnings_of(result), page.computed(result, note)]
    return page.write_page(path, title or result.title, parts)


def _preference_panel(result: ComparisonResult) -> str:
    found = preference_of(result)
    frame = Frame(_ends(found.x), _ends(np.append(found.g, 0.0)))
    places = np.stack([found.x, found.g], axis=1)
    left, _, top, bottom = frame.ends
    parts = [frame.line(np.array(frame.x), np.zeros(2), "axis")]
    parts += [frame.dots(places[side], 2.0, kind) for side, kind in ((found.g > 0, "less"), (found.g <= 0, "more"))]
    parts.append(text(left + 6, top + 14, f"↑ for {found.pair.first}"))
    parts.append(text(left + 6, bottom - 8, f"↓ for {found.pair.second}"))
    beyond = f" ({count(found.outside, 'row')} outside)" if found.outside else ""
    return drawing([*parts, frame.axes((found.column + beyond, "preference g"))], "The preference of rows")


def _interval_panel(result: ComparisonResult) -> str:
    pairs = drawn_pairs(result)
    frame = Frame(_ends(np.append([pair.interval for pair in pairs], 0.0)), (len(pairs) - 0.4, -0.7), y_marks=())
    left, _, top, bottom = frame.ends
    zero = float(frame.across(0.0))
    parts = [f'<path class="level" d="M{zero:.1f} {top}V{bottom}"/>']
    for place, pair in enumerate(pairs):
        kind = "data" if pair.closer is None else "less" if pair.closer == pair.first else "more"
        parts.append(frame.line(np.array(pair.interval), np.full(2, float(place)), f"interval {kind}"))
        parts.append(frame.dots(np.array([[pair.mean, place]]), 5.0, kind))
        parts.append(text(left + 6, float(frame.up(place - 0.2)), _words(pair)))
    parts.append(frame.axes(("MMD² of the second model − MMD² of the first", "")))
    return drawing(parts, "The interval of every pair")


def _ends(values: Floats) -> tuple[float, float]:
    low, high = float(values.min()), float(values.max())
    room = 0.06 * (high - low) or 1.0
    return low - room, high + room


def write_monitor(monitor: Monitor, path: str | Path, title: str = "") -> Path:
    """Write the page of a monitor: :meth:`steinball.Monitor.report`."""
    (word, rows, sentence), title = monitor._shown(), title or "Monitor of a feed"
    caption = "The evidence since the last alarm, in powers of ten; dashed: where an alarm is raised."
    alarms = [
        [f"{alarm.row:,}", number(alarm.wealth), "the whole row" if alarm.column is None else str(alarm.column + 1)]
        for alarm in monitor.alarms
    ]
    parts = [
        page.head(title, word, sentence.removeprefix(word).strip()),
        page.panel_section([page.figure(_evidence(monitor), caption)]),
        page.section("alarms", "Last alarms", page.table_of(["row", "evidence", "column"], alarms)) if alarms else "",
        page.section("computed", "State", page.facts(rows)),
    ]
    return page.write_page(path, title, parts)


def _evidence(monitor: Monitor) -> str:
    n, log_wealth = monitor.history
    height, threshold = log_wealth / math.log(10.0), math.log10(monitor.expected_run)
    low = min(0.0, float(height.min(initial=0.0)))
    frame = Frame((0.0, max(float(monitor.n), 1.0)), (low, 1.1 * max(threshold, float(height.max(initial=0.0)))))
    parts = [frame.line(np.array(frame.x), np.full(2, threshold), "level"), frame.line(n, height, "model")]
    return drawing([*parts, frame.axes(("number of rows", "powers of ten"))], "The evidence over time")
