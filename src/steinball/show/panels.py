"""The pictures that a page has as well, as frames: data and model, regions, predictions, comparisons, tolerance."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from steinball.arrays import Floats
from steinball.comparison import Comparison
from steinball.predictive.finding import BoxPicture, Finding, box_picture
from steinball.predictive.table import ARCS, BLOCKS, CELLS, EDGES
from steinball.results.comparison import ComparisonResult
from steinball.show.svg import Frame
from steinball.show.view import MOST, Scene, View, contours, mass_levels, some_of, widened
from steinball.text import count, number, percent

BLAMED, FAR = "most responsible", "far from all others"
_RUG = 0.05  # the length of marks below the bars as a share of their height
_BARS = 40
_FEW = 700  # points that may be drawn large
_FAINT = 0.02  # a weaker color is not seen
_BINS, _TAIL = 10, 0.005


def sample_frame(scene: Scene) -> Frame:
    """One column as a histogram and a rug, two as points; the model as a density or as contours."""
    view, (x, *others) = scene.view, scene.view.window.T.tolist()
    y, name = (others[0], view.names[1]) if others else ((0.0, 1.0), "density")
    frame = Frame(x, y, (view.names[0], name), "data and model", "The data against the model.", view.notes)
    (_draw_two_columns if others else _draw_one_column)(view, frame, scene)
    return frame


def _draw_one_column(view: View, frame: Frame, scene: Scene) -> None:
    x = view.x[:, 0]
    counts, edges = np.histogram(x, int(np.clip(3.0 * np.cbrt(max(1, view.inside)), 8, _BARS)), frame.x)
    frame.bars(edges, counts / (len(x) * (edges[1] - edges[0])), "data")
    if view.model is not None:
        model = view.model.within(view.window)
        frame.line(model.axes[0], model.values, "model", "model")
    top = max(float(element.places[..., 1].max(initial=1e-300)) for element in frame.elements)
    frame.y = -2.4 * _RUG * top, 1.08 * top
    kinds = (
        (~(view.far | view.blamed), "data", 1.0, ""),
        (view.far, "far", 1.5, FAR),
        (view.blamed, "blamed", 2.0, BLAMED),
    )
    for chosen, kind, length, label in kinds:
        if chosen.any():
            frame.rug(view.points[chosen, 0], length * _RUG * top, kind, label)
    frame.beyond(x)


def _draw_two_columns(view: View, frame: Frame, scene: Scene) -> None:
    size, marked = (2.4, 3.4) if len(view.points) < _FEW else (1.6, 2.3)
    frame.add("dots", "data", view.points[~(view.far | view.blamed)], "data", size=size)
    if view.model is not None:
        inner, levels = view.model.within(view.window), mass_levels(view.model.values)
        lines = np.concatenate([contours(inner, level) for level in levels])
        frame.add("paths", "contour model", lines, "model (50, 80, 95 % of it)")
    for chosen, kind, label in ((view.far, "far", FAR), (view.blamed, "blamed", BLAMED)):
        if chosen.any():
            named = [scene.explanation.label(i) for i in view.rows[chosen].tolist()]
            frame.add("dots", kind, view.points[chosen], label, words=named, size=marked)


def region_frame(scene: Scene) -> Frame:
    """Shares of data and model in cells of the view that decides, with the region shaded."""
    found = scene.result._profile()
    assert found is not None
    edges, data, model = found.bars
    top = 1.08 * max(float(data.max(initial=0.0)), float(model.max(initial=0.0)), 1e-300)
    heading = f"shaded: model {percent(found.region.expected)}, data {percent(found.region.observed)}"
    caption = f"Shaded is the region that is most short of rows. {found.caption}"
    frame = Frame(found.window, (0.0, top), (found.name, "share of rows"), heading, caption, percents=(False, True))
    frame.marks = list(enumerate(found.labels)) if found.labels else None
    low, high = max(frame.x[0], found.region.low), min(frame.x[1], found.region.high)
    spans = [(low, high)] if found.region.inside else [(frame.x[0], low), (high, frame.x[1])]
    frame.spans(spans, "most short of rows")
    frame.bars(edges, data, "data")
    frame.line(np.repeat(edges, 2)[1:-1], np.repeat(model, 2), "model", "model")
    frame.beyond(found.data)
    return frame


def tolerance_frame(scene: Scene) -> Frame:
    """The curve over its zones, the level, and where the test stands; what the sliders move has a name."""
    result, zones = scene.result, scene.zones
    heading = f"{result._headline().lower()}, p = {number(result.pvalue)}"
    heading += f", tolerating {(percent if zones.kind.in_percent else number)(zones.own)}" if zones.own else ""
    caption = "The p-value against the tolerance, and the verdict that it gives."
    x, y, percents = (0.0, zones.end), (0.0, 1.0), (zones.kind.in_percent, False)
    frame = Frame(x, y, (zones.kind.axis, "p-value"), heading, caption, percents=percents)
    for k, (span, kind) in enumerate(zip(pairwise(zones.ends), ("misfit", "undecided", "good"), strict=True)):
        label = zones.verdicts[k] if k < 2 or math.isfinite(zones.second) else ""
        frame.box(span, y, f"zone {kind}", label, name=f"zone-{k}")
    frame.line(zones.curve.amounts, np.clip(zones.curve.pvalues, 0.0, 1.0), "model")
    frame.line(x, result.level, "level", name="level-line")
    frame.text(x[1], result.level, f"level {number(result.level)}", (-3.0, -5.0), "end", "level-name")
    at = min(zones.own, zones.end)
    frame.line(at, y, "own", name="own-line")
    frame.add("dots", "own", [[at, result.pvalue]], size=5.5, name="own-dot")
    return frame


# Predictions: rows over expected rows by feature and PIT, and the PIT of one range.


@dataclass(frozen=True, eq=False)
class Box:
    """The range of a feature and of the PIT that decides, and what lies around it.

    Attributes
    ----------
    finding : Finding
        The same in words.
    column, bins : arrays, shape (n,)
        Values of the feature, and the bin of each row.
    feature, block, arc : int
        Positions of the feature, and of the range of its bins and of the cells of the PIT.
    picture : BoxPicture
        Rows over expected rows, by bin and cell; the same for all rows of the range, and for simulated ones.
    """

    finding: Finding
    column: Any
    bins: Any
    feature: int
    block: int
    arc: int
    picture: BoxPicture

    @classmethod
    def of(cls, result: Any) -> Box:
        """The box of a result."""
        evidence = result._evidence
        table, block, arc, _ = evidence.worst(result._tolerated, result._share)[0]
        found = box_picture(evidence.tables[table], evidence.null("any").tables[:, table], block)
        finding, feature = evidence.finding(table, block), table % len(evidence.features.bins)
        column = evidence.features.columns[finding.feature]
        return cls(finding, column, evidence.features.bins[feature], feature, block, arc, found)

    @property
    def categories(self) -> bool:
        """Whether the feature has categories."""
        return bool(self.column.dtype.kind == "U")

    @property
    def marks(self) -> list[tuple[float, str]]:
        """Places and words of the ticks along the feature: ends of bins of numbers, middles of bins of categories."""
        there = [(k, np.unique(self.column[self.bins == k])) for k in np.unique(self.bins).tolist()]
        if self.categories:
            return [(k + 0.5, str(names[0]) + " …" * (len(names) > 1)) for k, names in there]
        first, values = there[0]
        return [(float(first), f"{values[0]:.3g}"), *((k + 1.0, f"{values[-1]:.3g}") for k, values in there)]

    @property
    def spans(self) -> list[tuple[float, float]]:
        """The arc as intervals of the PIT: cells that go around the end are two."""
        start, length = ARCS[self.arc]
        first, last = EDGES[start], EDGES[min(start + length, CELLS)]
        around = start + length - CELLS
        return [(first, last), (0.0, EDGES[around])] if around > 0 else [(first, last)]


def table_frame(scene: Scene) -> Frame:
    """A strip of colors over the feature that decides, with the box that decides outlined."""
    result: Any = scene.result
    box = Box.of(result)
    heading, caption = "rows over expected rows; outlined: too few", f"Rows over expected rows. {result.words}"
    x, names = (0.0, float(box.bins.max() + 1)), (box.finding.feature, "PIT, F(y | x)")
    frame = Frame(x, (0.0, 1.0), names, heading, caption, marks=box.marks, categories=box.categories)
    labels = {"more": "more rows than expected", "less": "fewer", "outline": "the box that decides"}
    with np.errstate(divide="ignore"):  # the color is strongest at twice as many rows as expected, or half as many
        strength = np.clip(np.log2(box.picture.ratio), -1.0, 1.0)
    for (k, c), value in np.ndenumerate(strength):
        if abs(value) > _FAINT:  # and not NaN, in a bin without rows
            kind = "more" if value > 0 else "less"
            frame.box((k, k + 1), EDGES[c : c + 2], kind, labels.pop(kind, ""), opacity=abs(value))
    low, high = BLOCKS[box.block]
    for first, last in box.spans:
        around = [low, high, high, low, low], [first, first, last, last, first]
        frame.line(*around, "outline", labels.pop("outline", ""))
    return frame


def pit_frame(scene: Scene) -> Frame:
    """The PIT of the rows in the range of the feature that decides, and where simulated ones lie."""
    box = Box.of(scene.result)
    histogram, envelope = box.picture.histogram, box.picture.envelope
    # All bars but the first and the last are shown, up to six times what is expected.
    top = 1.1 * min(6.0, max(2.0, float(np.max(histogram[1:-1])), float(np.max(envelope))))
    heading = "all rows" if box.finding.everywhere else f"{box.finding.feature} {box.finding.span}"
    names, caption = ("PIT, F(y | x)", "rows over expected rows"), "The PIT of those rows, and 95 % of simulated ones."
    frame = Frame((0.0, 1.0), (0.0, top), names, heading, caption)
    frame.spans(box.spans, "too few rows")
    frame.bars(EDGES, np.minimum(histogram, top), "rows")
    for c, ends in enumerate(np.minimum(envelope, top).T):
        frame.box(EDGES[c : c + 2], ends, "less", opacity=0.25)
    frame.line([0.0, 1.0], 1.0, "model", "expected, with 95 % of simulated rows")
    return frame


# Comparisons of models.

MOST_PAIRS = 10
"""So many intervals are drawn; the table has all."""


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
    low, high = widened(np.quantile(x, [_TAIL, 1.0 - _TAIL]), 0.3)
    there = (x >= low) & (x <= high)
    kept = some_of(there, MOST)
    places = np.stack([x, pair.values], axis=1)[kept]
    beyond = "" if there.all() else f" ({count(int((~there).sum()), 'row')} outside)"
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


COMPARISON = {"preference": preference_frame, "intervals": interval_frame}


def words_of(pair: Comparison) -> str:
    """What a pair is called."""
    return f"{pair.first}, {pair.second}"


def _ends(values: Floats) -> tuple[float, float]:
    return widened((values.min(), values.max()), 0.06)
