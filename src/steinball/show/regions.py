"""Where rows are missing: data and model along the view that decides, and the shares of all of its regions."""

from __future__ import annotations

from typing import Any

import numpy as np

from steinball.explain.regions import Profile
from steinball.show.theme import canvas, finish, mark_beyond, plain
from steinball.text import percent


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
