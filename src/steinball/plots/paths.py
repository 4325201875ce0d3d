"""Wealth over time, and what each length scale says."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from steinball.arrays import Floats
from steinball.plots.theme import canvas, legend
from steinball.results.dial import Scales
from steinball.text import number

__all__ = ["draw_lengthscales", "draw_wealth"]

_LARGEST = 300.0
_TICKS = 8


def draw_wealth(n: Any, log_wealth: Floats, level: float, rejected_at: int | None, ax: Any = None) -> Any:
    """What a bettor has made of 1, on a logarithmic scale, against what rejects."""
    ax, theme = canvas(ax)
    ax.axhline(1.0, color=theme.data, linewidth=0.8)
    ax.axhline(1.0 / level, color=theme.ink, linestyle="--", linewidth=1, label=f"1/level = {number(1 / level)}")
    wealth = np.exp(np.clip(np.ravel(log_wealth), -_LARGEST, _LARGEST))
    ax.plot(np.ravel(n), wealth, color=theme.model, linewidth=2, label="wealth")
    if rejected_at is not None:
        ax.axvline(rejected_at, color=theme.blamed, linewidth=1.4, label=f"rejected at point {rejected_at:,}")
    ax.set(yscale="log", xlabel="number of points", ylabel="wealth")
    ax.set_title("wealth of a bettor against the model", loc="left", fontsize="medium")
    legend(ax)
    return ax


def draw_lengthscales(scales: Scales | None, ax: Any = None) -> Any:
    """How strongly every length scale speaks against the model, and what rejects."""
    assert scales is not None
    ax, theme = canvas(ax)
    order = np.argsort(scales.lengthscales)
    x, y = np.asarray(scales.lengthscales)[order], np.asarray(scales.values)[order]
    ax.plot(x, y, "o-", color=theme.model, linewidth=1.6, label="length scales")
    leading = int(np.argmax(y))
    ax.plot(x[leading], y[leading], "o", color=theme.blamed, markersize=9, label=f"leading: {number(x[leading])}")
    if math.isfinite(scales.threshold):
        ax.axhline(scales.threshold, color=theme.ink, linestyle="--", linewidth=1, label="rejected above")
    ax.set(xscale="log", xlabel="length scale of the kernel", ylabel=scales.label)
    ax.set_xticks(x[:: 1 + len(x) // _TICKS], [f"{value:.2g}" for value in x[:: 1 + len(x) // _TICKS]])
    ax.minorticks_off()
    ax.set_title("evidence by length scale", loc="left", fontsize="medium")
    legend(ax)
    return ax
