"""The two pictures of a comparison of models."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from steinball.arrays import Floats
from steinball.comparison import Comparison
from steinball.results.comparison import ComparisonResult
from steinball.show.axes import draw_described
from steinball.show.pictures import draw_chosen
from steinball.show.svg import Frame
from steinball.show.view import MOST, some_of
from steinball.text import count

MOST_PAIRS = 10
"""So many intervals are drawn; the table has all."""

_BINS, _TAIL = 10, 0.005


def _explained(column: Floats, g: Floats) -> float:
    """The variance of the means of g in bins of a column that hold as many rows each."""
    parts = np.array_split(g[np.argsort(column, kind="stable")], _BINS)
    return float(np.var([part.mean() for part in parts if len(part)]))


def drawn_pairs(result: ComparisonResult) -> Sequence[Comparison]:
    """The pairs that are drawn: all, or those with the smallest p-values."""
    order = np.argsort([pair.pvalue for pair in result.pairs], kind="stable")[:MOST_PAIRS]
    return [result.pairs[k] for k in np.sort(order)]


def preference_frame(result: ComparisonResult) -> Frame:
    """The preference g of rows for a model of the most decided pair, along the column that explains most of g."""
    pair = min(result.pairs, key=lambda pair: pair.pvalue)
    columns = result._record.names or tuple(f"x{j + 1}" for j in range(result.dimension))
    j = int(np.argmax([_explained(column, pair.values) for column in result._rows.T]))
    x = result._rows[:, j]
    low, high = np.quantile(x, [_TAIL, 1.0 - _TAIL])
    room = 0.3 * (high - low) or 1.0
    there = (x >= low - room) & (x <= high + room)
    kept = some_of(there, MOST)
    places = np.stack([x, pair.values], axis=1)[kept]
    beyond = "" if there.all() else f" ({count((~there).sum(), 'row')} outside)"
    names, heading = (columns[j] + beyond, "preference g of a row"), "which rows speak for which model"
    caption = "The preference of rows: above 0 they speak for the first model."
    frame = Frame(_ends(places[:, 0]), _ends(np.append(places[:, 1], 0.0)), names, heading, caption)
    frame.line(frame.x, 0.0, "axis")
    first = places[:, 1] > 0.0
    for side, kind, name in ((first, "less", pair.first), (~first, "more", pair.second)):
        frame.add("dots", kind, places[side], f"speak for {name}: {100 * side.mean():.0f} %", size=2.0)
    return frame


def interval_frame(result: ComparisonResult) -> Frame:
    """The interval of every pair."""
    pairs = drawn_pairs(result)
    x, y = _ends(np.append([pair.interval for pair in pairs], 0.0)), (len(pairs) - 0.4, -0.7)
    heading = "right of 0 the first is closer, left of it the second"
    caption = "Intervals: right of 0 the first model is closer, left of it the second."
    names, lines = ("MMD² of the second model − MMD² of the first", ""), [words_of(pair) for pair in pairs]
    frame = Frame(x, y, names, heading, caption, lines=lines)
    frame.line(0.0, frame.y, "axis")
    for line, pair in enumerate(pairs):
        kind = "data" if pair.closer is None else "less" if pair.closer == pair.first else "more"
        frame.line(pair.interval, line, f"interval {kind}")
        frame.add("dots", kind, [[pair.mean, line]], size=5.0)
    return frame


FRAMES = {"preference": preference_frame, "intervals": interval_frame}


def plot_comparison(result: ComparisonResult, kind: str | Path = "overview", ax: Any = None) -> Any:
    """One picture of a comparison, or both side by side: :meth:`steinball.ComparisonResult.plot`."""
    drawers = {name: partial(draw_described, frame, result) for name, frame in FRAMES.items()}
    return draw_chosen(drawers, list(FRAMES), kind, ax)


def words_of(pair: Comparison) -> str:
    """What a pair is called."""
    return f"{pair.first}, {pair.second}"


def _ends(values: Floats) -> tuple[float, float]:
    low, high = float(values.min()), float(values.max())
    room = 0.06 * (high - low) or 1.0
    return low - room, high + room
