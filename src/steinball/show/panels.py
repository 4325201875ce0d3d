"""The two panels of a page: the data against the model, and the p-value against the tolerance."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from steinball.explain.regions import Profile
from steinball.results.base import Result
from steinball.show.density import contours, mass_levels
from steinball.show.svg import Frame, drawing, marks, text
from steinball.show.tolerance import Zones
from steinball.show.view import BLAMED, FAR, Scene, View
from steinball.text import number

_RUG = 0.05
_ZONES = ("zone misfit", "zone undecided", "zone good")
_BOTH = (("data", "bars"), ("model", "model"))
_LINE = '<path class="model" d="M0 6h16"/>'
_KEY = '<rect class="{}" x="2" y="1" width="11" height="10"/>'


def data_panel(scene: Scene) -> str:
    """One column as a histogram and a rug, two as points; the model as a density or as contours."""
    view = scene.view
    frame, parts = _one(view) if len(view.names) == 1 else _two(view, scene)
    names = (view.names[0], "density" if len(view.names) == 1 else view.names[1])
    model = "model" if len(view.names) == 1 else "model (50, 80, 95 % of it)"
    kinds = [("data", "bars")] + [(model, "model")] * (view.model is not None)
    kinds += [(BLAMED, "key blamed")] * bool(view.blamed.any()) + [(FAR, "key far")] * bool(view.far.any())
    return legend(kinds) + drawing([*parts, frame.axes(names)], "The data against the model")


def _one(view: View) -> tuple[Frame, list[str]]:
    edges, heights = view.bars
    model = None if view.model is None else view.model.within(view.window)
    top = max(float(heights.max(initial=0.0)), 0.0 if model is None else float(model.values.max(initial=0.0)), 1e-300)
    frame = Frame((float(view.window[0, 0]), float(view.window[1, 0])), (-2.3 * _RUG * top, 1.06 * top))
    parts = [frame.boxes(edges, heights, "bars")]
    if model is not None:
        parts.append(frame.line(model.axes[0], model.values, "model"))
    ordinary = ~(view.blamed | view.far)
    for chosen, kind, length in ((ordinary, "rug", 1.0), (view.far, "rug far", 1.6), (view.blamed, "rug blamed", 2.0)):
        if chosen.any():
            parts.append(frame.rug(view.points[chosen, 0], length * _RUG * top, kind))
    return frame, [*parts, frame.beyond(*view.sides)]


def _two(view: View, scene: Scene) -> tuple[Frame, list[str]]:
    (low, lower), (high, upper) = view.window
    frame = Frame((float(low), float(high)), (float(lower), float(upper)))
    others, parts = ~(view.blamed | view.far), []
    parts.append(frame.dots(view.points[others], 2.4 if len(view.points) < 700 else 1.6, "dots"))
    if view.model is not None:
        shape = view.model.within(view.window)
        parts += [frame.segments(contours(shape, level), "model") for level in mass_levels(view.model.values)]
    for chosen, kind in ((view.far, "dots far"), (view.blamed, "dots blamed")):
        named = [scene.explanation.label(i) for i in view.rows[chosen].tolist()]
        parts.append(frame.dots(view.points[chosen], 3.4, kind, named) if chosen.any() else "")
    return frame, parts


def region_panel(found: Profile) -> str:
    """Shares of data and model along the view that decides, with the region shaded."""
    edges, data, model = found.bars
    top = 1.08 * max(float(data.max(initial=0.0)), float(model.max(initial=0.0)), 1e-300)
    named = list(enumerate(found.labels)) if found.labels else None
    frame = Frame((float(edges[0]), float(edges[-1])), (0.0, top), named, marks(0.0, top, percents=True))
    parts = [frame.box(span, None, "zone misfit") for span in found.spans]
    parts.append(frame.boxes(edges, data, "bars"))
    parts.append(frame.line(np.repeat(edges, 2)[1:-1], np.repeat(model, 2), "model"))
    parts += [frame.beyond(*found.beyond), frame.axes((found.name, "share of rows"))]
    return legend([*_BOTH, ("most short of rows", "zone misfit")]) + drawing(parts, "Shares of data and model")


def legend(kinds: Sequence[tuple[str, str]]) -> str:
    """What is drawn beside its mark, in HTML, which wraps where a screen is narrow; ``kinds`` are words and classes."""
    drawn = ((_LINE if kind == "model" else _KEY.format(kind), words) for words, kind in kinds)
    svg = '<svg width="16" height="12" aria-hidden="true">{}</svg>'
    keys = "".join(f"<span>{svg.format(key)} {words}</span>\n" for key, words in drawn)
    return f'<p class="legend">{keys}</p>\n'


def tolerance_frame(zones: Zones) -> Frame:
    """The frame of the curve, which the sliders draw in as well."""
    return Frame((0.0, zones.end), (0.0, 1.0), marks(0.0, zones.end, zones.kind.in_percent))


def tolerance_panel(result: Result, zones: Zones) -> str:
    """The curve over its zones; what the sliders move has a name."""
    frame = tolerance_frame(zones)
    left, right, top, bottom = frame.ends
    spans = {verdict: (low, high) for verdict, low, high in zones.spans}
    parts = [
        frame.box(spans.get(verdict, (0.0, 0.0)), None, kind, f' id="zone-{k}"')
        for k, (verdict, kind) in enumerate(zip(zones.verdicts, _ZONES, strict=True))
    ]
    level = float(frame.up(result.level))
    at, height = float(frame.across(min(zones.own, zones.end))), float(frame.up(result.pvalue))
    parts += [
        frame.line(zones.curve.amounts, np.clip(zones.curve.pvalues, 0.0, 1.0), "model", "curve"),
        f'<path class="level" id="level-line" d="M{left:.1f} {level:.2f}H{right}"/>',
        text(right - 3, level - 5, f"level {number(result.level)}", "end", "level-name"),
        f'<path class="own" id="own-line" d="M{at:.2f} {top}V{bottom}"/>',
        f'<circle class="own" id="own-dot" cx="{at:.2f}" cy="{height:.2f}" r="5.5"/>',
        frame.axes((zones.kind.axis, "p-value")),
    ]
    kinds = list(zip(zones.verdicts, _ZONES, strict=True))[: 3 if math.isfinite(zones.second) else 2]
    return legend(kinds) + drawing(parts, "The p-value against the tolerance", "tolerance-panel")
