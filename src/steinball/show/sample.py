"""The data against the model, with the points that are blamed."""

from __future__ import annotations

from textwrap import fill
from typing import Any

import numpy as np

from steinball.explain.regions import Profile
from steinball.show.density import mass_levels
from steinball.show.theme import Theme, canvas, finish, mark_beyond, plain
from steinball.show.view import View
from steinball.text import percent

BLAMED, FAR = "most responsible", "far from all others"
_RUG, _NOTE = 0.05, 62


def draw_sample(view: View, ax: Any = None) -> Any:
    """One column as a histogram and a rug, two as points; the model as a density or as contours."""
    ax, theme = canvas(ax)
    (_draw_one if len(view.names) == 1 else _draw_two)(view, ax, theme)
    notes = (fill(note, _NOTE) for note in view.notes)
    ax.set_xlabel("\n".join([plain(view.names[0]), *notes]))  # a label of its own could lie over this one
    return finish(ax, "data and model")


def _draw_one(view: View, ax: Any, theme: Theme) -> None:
    edges, heights = view.bars
    ax.stairs(heights, edges, fill=True, color=theme.data, alpha=0.45, label="data")
    top = max(float(heights.max(initial=0.0)), 1e-300)
    if view.model is not None:
        model = view.model.within(view.window)
        ax.plot(model.axes[0], model.values, color=theme.model, linewidth=2, label="model")
        top = max(top, float(model.values.max(initial=0.0)))
    ordinary = ~(view.blamed | view.far)
    kinds = ((ordinary, theme.data, 1, ""), (view.far, theme.unsure, 1.5, FAR), (view.blamed, theme.blamed, 2, BLAMED))
    for chosen, color, height, label in kinds:
        if chosen.any():
            places = view.points[chosen, 0]
            ax.vlines(places, -height * _RUG * top, 0.0, color=color, linewidth=1.2, label=label)
    mark_beyond(ax, view.sides, theme.ink)
    ax.set(xlim=view.window[:, 0], ylim=(-2.4 * _RUG * top, 1.08 * top), ylabel="density")


def _draw_two(view: View, ax: Any, theme: Theme) -> None:
    others, guilty, far = (view.points[kind] for kind in (~(view.blamed | view.far), view.blamed, view.far))
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


def draw_regions(found: Profile, ax: Any = None) -> Any:
    """Shares of data and model in cells of the view that decides, with the region shaded."""
    ax, theme = canvas(ax)
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


def draw_shares(found: Profile, ax: Any = None) -> Any:
    """The share of the data against the share of the model, for every region of the view that decides."""
    ax, theme = canvas(ax)
    line = np.linspace(0.0, 1.0, 101)
    ax.plot(line, line, color=theme.ink, linewidth=0.8, label="equal")
    ax.plot(line, found.floor(line), color=theme.ink, linestyle="--", linewidth=1, label="least that is tolerated")
    ax.scatter(found.expected, found.observed, s=6, color=theme.data, alpha=0.5, linewidths=0, label="regions")
    ax.plot(found.region.expected, found.region.observed, "o", color=theme.blamed, markersize=7, label="decides")
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_formatter(lambda value, _: percent(value))
    ax.set(xlim=(0.0, 1.0), ylim=(0.0, 1.0), xlabel="share of the model", ylabel="share of the data")
    return finish(ax, plain(f"all regions of {found.name}"))
