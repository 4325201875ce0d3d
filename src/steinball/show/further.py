"""Wealth over time, what each length scale says, and the draws of the null distribution."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from steinball.arrays import Floats
from steinball.results.base import Lengthscales, Result
from steinball.show.theme import canvas, legend
from steinball.text import number

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


def draw_lengthscales(scales: Lengthscales | None, ax: Any = None) -> Any:
    """How strongly every length scale speaks against the model, and what rejects."""
    assert scales is not None
    ax, theme = canvas(ax)
    order = np.argsort(scales.lengths)
    x, y = np.asarray(scales.lengths)[order], np.asarray(scales.values)[order]
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


def draw_nulls(result: Result, draws: Floats | None, ax: Any = None) -> Any:
    """A histogram of draws on the scale of the statistic."""
    assert draws is not None
    ax, theme = canvas(ax)
    ax.hist(draws, bins=int(np.clip(np.sqrt(draws.size), 10, 60)), color=theme.data, alpha=0.6, label="draws")
    if math.isfinite(result.threshold):
        ax.axvline(result.threshold, color=theme.ink, linestyle="--", label=f"threshold {number(result.threshold)}")
    label = f"statistic {number(result.statistic)}"
    ax.axvline(result.statistic, color=theme.blamed if result.rejected else theme.model, linewidth=2.2, label=label)
    ax.set(xlabel="D − θ", ylabel="number of draws")
    ax.set_title(f"null distribution, p-value {number(result.pvalue)}", loc="left", fontsize="medium")
    legend(ax)
    return ax
