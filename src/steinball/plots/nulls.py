"""The draws of the null distribution, with what was observed and what it had to exceed."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from steinball.arrays import Floats
from steinball.plots.theme import canvas, legend
from steinball.results.base import Result
from steinball.text import number

__all__ = ["draw_nulls"]


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
