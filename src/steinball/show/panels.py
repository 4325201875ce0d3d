"""The pictures that a page has as well: data and model, the region that decides, and the tolerance."""

from __future__ import annotations

import math

import numpy as np

from steinball.show.svg import Frame
from steinball.show.view import Scene, View, contours, mass_levels
from steinball.text import number, percent

BLAMED, FAR = "most responsible", "far from all others"
_RUG = 0.05  # the length of marks below the bars as a share of their height
_BARS = 40
_FEW = 700  # points that may be drawn large


def sample_frame(scene: Scene) -> Frame:
    """One column as a histogram and a rug, two as points; the model as a density or as contours."""
    view, (x, *others) = scene.view, scene.view.window.T.tolist()
    names, y = (*view.names, "density")[:2], (others or [(0.0, 1.0)])[0]
    frame = Frame(x, y, names, "data and model", "The data against the model.", view.notes)
    (_draw_two_columns if others else _draw_one_column)(view, frame, scene)
    return frame


def _draw_one_column(view: View, frame: Frame, scene: Scene) -> None:
    x, (low, high) = view.x[:, 0], frame.x
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
    frame.beyond(int((x < low).sum()), int((x > high).sum()))


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
    found, (edges, data, model) = scene.profile, scene.profile.bars
    top = 1.08 * max(float(data.max(initial=0.0)), float(model.max(initial=0.0)), 1e-300)
    heading = f"shaded: model {percent(found.region.expected)}, data {percent(found.region.observed)}"
    caption = f"Shaded is the region that is most short of rows. {found.caption}"
    frame = Frame(found.window, (0.0, top), (found.name, "share of rows"), heading, caption, percents=(False, True))
    frame.marks = list(enumerate(found.labels)) if found.labels else None
    frame.spans(found.spans, "most short of rows")
    frame.bars(edges, data, "data")
    frame.line(np.repeat(edges, 2)[1:-1], np.repeat(model, 2), "model", "model")
    frame.beyond(*found.beyond)
    return frame


def tolerance_frame(scene: Scene) -> Frame:
    """The curve over its zones, the level, and where the test stands; what the sliders move has a name."""
    result, zones, spans = scene.result, scene.zones, {verdict: ends for verdict, *ends in scene.zones.spans}
    heading = f"{result._headline().lower()}, p = {number(result.pvalue)}"
    heading += f", tolerating {(percent if zones.kind.in_percent else number)(zones.own)}" if zones.own else ""
    caption = "The p-value against the tolerance, and the verdict that it gives."
    x, y, percents = (0.0, zones.end), (0.0, 1.0), (zones.kind.in_percent, False)
    frame = Frame(x, y, (zones.kind.axis, "p-value"), heading, caption, percents=percents)
    for k, (verdict, kind) in enumerate(zip(zones.verdicts, ("misfit", "undecided", "good"), strict=True)):
        label = verdict if k < 2 or math.isfinite(zones.second) else ""
        frame.box(spans.get(verdict, (0.0, 0.0)), y, f"zone {kind}", label, name=f"zone-{k}")
    frame.line(zones.curve.amounts, np.clip(zones.curve.pvalues, 0.0, 1.0), "model")
    frame.line(x, result.level, "level", name="level-line")
    frame.text(x[1], result.level, f"level {number(result.level)}", (-3.0, -5.0), "end", "level-name")
    at = min(zones.own, zones.end)
    frame.line(at, y, "own", name="own-line")
    frame.add("dots", "own", [[at, result.pvalue]], size=5.5, name="own-dot")
    return frame
