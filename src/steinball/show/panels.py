"""Panels of an overview, by matplotlib and for a page: data and model, the region that decides, the tolerance."""

from __future__ import annotations

import math
from textwrap import fill
from typing import Any

import numpy as np

from steinball.explain.tolerance import Zones
from steinball.show.svg import Frame, Theme, canvas, drawing, finish, mark_beyond, marks, plain, text
from steinball.show.view import Scene, View, contours, mass_levels
from steinball.text import number, percent

_ZONES = ("zone misfit", "zone undecided", "zone good")
BLAMED, FAR = "most responsible", "far from all others"
_RUG, _NOTE = 0.05, 62  # the length of marks below the bars as a share of their height; letters in a line of notes


def draw_sample(scene: Scene, ax: Any) -> Any:
    """One column as a histogram and a rug, two as points; the model as a density or as contours."""
    view, (ax, theme) = scene.view, canvas(ax)
    (_draw_one if len(view.names) == 1 else _draw_two)(view, ax, theme)
    notes = (fill(note, _NOTE) for note in view.notes)
    ax.set_xlabel("\n".join([plain(view.names[0]), *notes]))  # a label of its own could lie over this one
    return finish(ax, "data and model")


def _draw_one(view: View, ax: Any, theme: Theme) -> None:
    (edges, heights), model, top = view.bars, view.inner_model, view.top
    ax.stairs(heights, edges, fill=True, color=theme.data, alpha=0.45, label="data")
    if model is not None:
        ax.plot(model.axes[0], model.values, color=theme.model, linewidth=2, label="model")
    kinds = (
        (view.ordinary, theme.data, 1, ""),
        (view.far, theme.unsure, 1.5, FAR),
        (view.blamed, theme.blamed, 2, BLAMED),
    )
    for chosen, color, height, label in kinds:
        if chosen.any():
            places = view.points[chosen, 0]
            ax.vlines(places, -height * _RUG * top, 0.0, color=color, linewidth=1.2, label=label)
    mark_beyond(ax, view.sides, theme.ink)
    ax.set(xlim=view.window[:, 0], ylim=(-2.4 * _RUG * top, 1.08 * top), ylabel="density")


def _draw_two(view: View, ax: Any, theme: Theme) -> None:
    others, guilty, far = (view.points[kind] for kind in (view.ordinary, view.blamed, view.far))
    size, marked = (12, 26) if len(view.points) < 700 else (5, 12)
    ax.scatter(*others.T, s=size, color=theme.data, alpha=0.7, linewidths=0, label="data")
    if view.model is not None:
        levels = mass_levels(view.model.values)
        ax.contour(*view.model.axes, view.model.values.T, levels=levels, colors=theme.model, linewidths=1.3)
        ax.plot([], [], color=theme.model, linewidth=1.3, label="model (50, 80, 95 % of it)")
    if len(far):
        ax.scatter(*far.T, s=30, marker="^", facecolors="none", edgecolors=theme.unsure, label=FAR)
    if len(guilty):
        ax.scatter(*guilty.T, s=marked, marker="D", color=theme.blamed, linewidths=0, label=BLAMED)
    ax.set(xlim=view.window[:, 0], ylim=view.window[:, 1], ylabel=plain(view.names[1]))


def data_panel(scene: Scene) -> str:
    """One column as a histogram and a rug, two as points; the model as a density or as contours."""
    view = scene.view
    frame, parts = _one(view) if len(view.names) == 1 else _two(view, scene)
    names = (view.names[0], "density" if len(view.names) == 1 else view.names[1])
    model = "model" if len(view.names) == 1 else "model (50, 80, 95 % of it)"
    kinds = [("data", "bars")] + [(model, "model")] * (view.model is not None)
    kinds += [(BLAMED, "key blamed")] * bool(view.blamed.any()) + [(FAR, "key far")] * bool(view.far.any())
    return drawing([*parts, frame.axes(names)], "The data against the model", kinds)


def _one(view: View) -> tuple[Frame, list[str]]:
    (edges, heights), model, top = view.bars, view.inner_model, view.top
    frame = Frame((float(view.window[0, 0]), float(view.window[1, 0])), (-2.3 * _RUG * top, 1.06 * top))
    parts = [frame.boxes(edges, heights, "bars")]
    if model is not None:
        parts.append(frame.line(model.axes[0], model.values, "model"))
    for chosen, kind, length in (
        (view.ordinary, "rug", 1.0),
        (view.far, "rug far", 1.6),
        (view.blamed, "rug blamed", 2.0),
    ):
        if chosen.any():
            parts.append(frame.rug(view.points[chosen, 0], length * _RUG * top, kind))
    return frame, [*parts, frame.beyond(*view.sides)]


def _two(view: View, scene: Scene) -> tuple[Frame, list[str]]:
    (low, lower), (high, upper) = view.window
    frame = Frame((float(low), float(high)), (float(lower), float(upper)))
    parts = [frame.dots(view.points[view.ordinary], 2.4 if len(view.points) < 700 else 1.6, "dots")]
    if view.model is not None and view.inner_model is not None:
        levels = mass_levels(view.model.values)
        parts += [frame.segments(contours(view.inner_model, level), "model") for level in levels]
    for chosen, kind in ((view.far, "dots far"), (view.blamed, "dots blamed")):
        named = [scene.explanation.label(i) for i in view.rows[chosen].tolist()]
        parts.append(frame.dots(view.points[chosen], 3.4, kind, named) if chosen.any() else "")
    return frame, parts


def draw_regions(scene: Scene, ax: Any) -> Any:
    """Shares of data and model in cells of the view that decides, with the region shaded."""
    found, (ax, theme) = scene.profile, canvas(ax)
    edges, data, model = found.bars
    for k, (low, high) in enumerate(found.spans):
        label = "most short of rows" if k == 0 else None
        ax.axvspan(low, high, color=theme.blamed, alpha=theme.tint, linewidth=0, label=label)
    ax.stairs(data, edges, fill=True, color=theme.data, alpha=0.55, label="data")
    ax.stairs(model, edges, color=theme.model, linewidth=2, label="model")
    mark_beyond(ax, found.beyond, theme.ink)
    if found.labels:
        ax.set_xticks(range(len(found.labels)), [plain(name) for name in found.labels])
    ax.set(xlim=found.window, ylim=(0.0, None), xlabel=plain(found.name), ylabel="share of rows")
    ax.yaxis.set_major_formatter(lambda value, _: percent(value))
    expected, observed = percent(found.region.expected), percent(found.region.observed)
    return finish(ax, f"shaded: model {expected}, data {observed}")


def region_panel(scene: Scene) -> str:
    """Shares of data and model along the view that decides, with the region shaded."""
    found, (edges, data, model) = scene.profile, scene.profile.bars
    top = 1.08 * max(float(data.max(initial=0.0)), float(model.max(initial=0.0)), 1e-300)
    named = list(enumerate(found.labels)) if found.labels else None
    frame = Frame((float(edges[0]), float(edges[-1])), (0.0, top), named, marks(0.0, top, percents=True))
    parts = [frame.box(span, None, "zone misfit") for span in found.spans]
    parts.append(frame.boxes(edges, data, "bars"))
    parts.append(frame.line(np.repeat(edges, 2)[1:-1], np.repeat(model, 2), "model"))
    parts += [frame.beyond(*found.beyond), frame.axes((found.name, "share of rows"))]
    kinds = [("data", "bars"), ("model", "model"), ("most short of rows", "zone misfit")]
    return drawing(parts, "Shares of data and model", kinds)


def draw_tolerance(scene: Scene, ax: Any) -> Any:
    """The curve over its zones, the level, and where the test stands."""
    result, zones, (ax, theme) = scene.result, scene.zones, canvas(ax)
    colors = dict(zip(zones.verdicts, (theme.blamed, theme.unsure, theme.good), strict=True))
    for verdict, low, high in zones.spans:
        ax.axvspan(low, high, color=colors[verdict], alpha=theme.tint, linewidth=0)
        look = {"va": "bottom"} if high - low > 0.2 * zones.end else {"va": "center", "rotation": 90}
        place = ((low + high) / 2, 1.01 if look["va"] == "bottom" else 0.6)
        ax.text(*place, verdict, ha="center", fontsize="small", transform=ax.get_xaxis_transform(), **look)
    ax.plot(zones.curve.amounts, zones.curve.pvalues, color=theme.model, linewidth=2, clip_on=False)
    ax.axhline(result.level, color=theme.ink, linestyle="--", linewidth=1)
    ax.annotate(
        f"level {number(result.level)}", (zones.end, result.level), (-3, 3), textcoords="offset points", ha="right",
        fontsize="small", color=theme.ink,
    )  # fmt: skip
    ax.axvline(zones.own, color=theme.ink, linewidth=1)
    ax.plot(zones.own, result.pvalue, "o", color=theme.ink, markersize=7, clip_on=False, zorder=5)
    ax.set(xlim=(0.0, zones.end), ylim=(0.0, 1.02), xlabel=zones.kind.axis, ylabel="p-value")
    write = percent if zones.kind.in_percent else number
    ax.xaxis.set_major_formatter(lambda value, _: write(value))
    words = f"{result._headline().lower()}, p = {number(result.pvalue)}"
    words += f", tolerating {write(zones.own)}" if zones.own else ""
    ax.set_title(words, loc="left", fontsize="medium", pad=18)
    return ax


def tolerance_frame(zones: Zones) -> Frame:
    """The frame of the curve, which the sliders draw in as well."""
    return Frame((0.0, zones.end), (0.0, 1.0), marks(0.0, zones.end, zones.kind.in_percent))


def tolerance_panel(scene: Scene) -> str:
    """The curve over its zones; what the sliders move has a name."""
    result, zones, frame = scene.result, scene.zones, tolerance_frame(scene.zones)
    left, right, top, bottom = frame.ends
    spans, kinds = {verdict: ends for verdict, *ends in zones.spans}, list(zip(zones.verdicts, _ZONES, strict=True))
    parts = [
        frame.box(spans.get(verdict, (0.0, 0.0)), None, kind, f' id="zone-{k}"')
        for k, (verdict, kind) in enumerate(kinds)
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
    kinds = kinds[: 3 if math.isfinite(zones.second) else 2]
    return drawing(parts, "The p-value against the tolerance", kinds, "tolerance-panel")
