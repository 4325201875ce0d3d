"""The two panels of a page: the data against the model, and the p-value against the tolerance."""

from __future__ import annotations

import numpy as np

from steinball.explain.regions import Profile
from steinball.results.base import Result
from steinball.show.density import contours, mass_levels
from steinball.show.sample import BLAMED, FAR
from steinball.show.scene import Scene
from steinball.show.svg import Frame, drawing, text
from steinball.show.tolerance import Zones
from steinball.show.view import View
from steinball.text import number

_RUG = 0.05
_KINDS = ("zone misfit", "zone undecided", "zone good")


def data_panel(scene: Scene) -> str:
    """One column as a histogram and a rug, two as points; the model as a density or as contours."""
    view = scene.view
    frame, parts = _one(view) if len(view.names) == 1 else _two(view, scene)
    names = (view.names[0], "density" if len(view.names) == 1 else view.names[1])
    return drawing([*parts, frame.axes(names)], "The data against the model")


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
    left, right, _, bottom = frame.ends
    before, after = view.sides
    parts += [text(left + 4, bottom - 4, f"◂ {before}")] * bool(before)
    parts += [text(right - 2, bottom - 4, f"{after} ▸", "end")] * bool(after)
    return frame, parts


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
    top = max(float(data.max(initial=0.0)), float(model.max(initial=0.0)), 1e-300)
    frame = Frame((float(edges[0]), float(edges[-1])), (0.0, 1.08 * top))
    upper, lower = frame.ends[2:]
    parts = []
    for low, high in found.spans:
        left, right = (float(frame.across(end)) for end in (low, high))
        size = f'x="{left:.2f}" y="{upper}" width="{max(0.0, right - left):.2f}" height="{lower - upper}"'
        parts.append(f'<rect class="zone misfit" {size}/>')
    parts.append(frame.boxes(edges, data, "bars"))
    parts.append(frame.line(np.repeat(edges, 2)[1:-1], np.repeat(model, 2), "model"))
    before, after = found.beyond
    left, right = frame.ends[:2]
    parts += [text(left + 4, lower - 4, f"◂ {before}")] * bool(before)
    parts += [text(right - 2, lower - 4, f"{after} ▸", "end")] * bool(after)
    return drawing([*parts, frame.axes((found.name, "share of rows"))], "Shares of data and model")


def _box(kind: str) -> str:
    return f'<rect class="{kind}" x="2" y="1" width="11" height="10"/>'


def legend(view: View) -> str:
    """What is drawn, beside its mark; in HTML, which wraps where a screen is narrow."""
    model = "model" if len(view.names) == 1 else "model (50, 80, 95 % of it)"
    kinds = [("data", "bars", True), (model, "model", view.model is not None)]
    kinds += [(BLAMED, "key blamed", bool(view.blamed.any())), (FAR, "key far", bool(view.far.any()))]
    marks = {"model": '<path class="model" d="M0 6h16"/>'}
    return "".join(
        f'<span><svg width="16" height="12" aria-hidden="true">{marks.get(kind) or _box(kind)}</svg> {words}</span>\n'
        for words, kind, there in kinds
        if there
    )


def tolerance_panel(result: Result, zones: Zones) -> str:
    """The curve over its zones; what the sliders move has a name."""
    frame = Frame((0.0, zones.end), (0.0, 1.0))
    left, right, top, bottom = frame.ends
    spans = {verdict: (low, high) for verdict, low, high in zones.spans}
    parts = []
    for k, verdict in enumerate(zones.verdicts):
        low, high = (float(frame.across(end)) for end in spans.get(verdict, (0.0, 0.0)))
        name = f"zone-{k}"
        size = f'x="{low:.2f}" y="{top}" width="{max(0.0, high - low):.2f}" height="{bottom - top}"'
        hidden = "faint" if high - low < 62 else ""
        parts.append(f'<rect class="{_KINDS[k]}" id="{name}" {size}/>')
        parts.append(text((low + high) / 2, top - 8, verdict, "middle", hidden, f"{name}-name"))
    level = float(frame.up(result.level))
    at, height = float(frame.across(min(zones.own, zones.end))), float(frame.up(result.pvalue))
    parts += [
        frame.line(zones.curve.amounts, np.clip(zones.curve.pvalues, 0.0, 1.0), "model", "curve"),
        f'<path class="level" id="level-line" d="M{left} {level:.2f}H{right}"/>',
        text(right - 3, level - 5, f"level {number(result.level)}", "end", "", "level-name"),
        f'<path class="own" id="own-line" d="M{at:.2f} {top}V{bottom}"/>',
        f'<circle class="own" id="own-dot" cx="{at:.2f}" cy="{height:.2f}" r="5.5"/>',
        frame.axes((zones.kind.axis, "p-value"), zones.kind.in_percent),
    ]
    return drawing(parts, "The p-value against the tolerance", "tolerance-panel")
