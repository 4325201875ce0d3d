"""The p-value against the tolerance, with its three zones: misfit, undecided, good enough."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from steinball.arrays import Floats
from steinball.plots.theme import canvas
from steinball.results.base import Result
from steinball.text import number, percent

__all__ = ["Zones", "draw_tolerance", "zones_of"]

VERDICTS = ("misfit", "undecided", "good enough")
_HALVINGS = 24


@dataclass(frozen=True, eq=False)
class Zones:
    """A curve of p-values, and where one verdict ends and the next begins.

    ``tolerances`` and ``pvalues`` are (m,); ``first`` and ``second`` are where *undecided* and *good enough* begin,
    ``second`` infinite where the latter never does.
    """

    tolerances: Floats
    pvalues: Floats
    first: float
    second: float

    @property
    def spans(self) -> list[tuple[str, float, float]]:
        """Verdict, start and end of every zone that is there."""
        end = float(self.tolerances[-1])
        ends = [0.0, min(self.first, end), min(max(self.first, self.second), end), end]
        spans = zip(VERDICTS, ends[:-1], ends[1:], strict=True)
        return [(verdict, low, high) for verdict, low, high in spans if high > low]


def zones_of(result: Result) -> Zones:
    """From the draws of the result; the ends of the zones by halving, since verdicts change once."""
    curve = result.tolerance_curve()
    return Zones(
        curve.contamination,
        curve.pvalues,
        _change(result, curve.contamination, [verdict != "misfit" for verdict in curve.verdicts]),
        _change(result, curve.contamination, [verdict == "good enough" for verdict in curve.verdicts], "good enough"),
    )


def _change(result: Result, grid: Floats, reached: list[bool], wanted: str = "") -> float:
    """The smallest tolerance at which something is reached; infinite where it never is."""
    if not any(reached):
        return float("inf")
    first = reached.index(True)
    if first == 0:
        return float(grid[0])
    low, high = float(grid[first - 1]), float(grid[first])
    for _ in range(_HALVINGS):
        middle = (low + high) / 2.0
        verdict = result._tolerating(middle).verdict
        there = verdict == wanted if wanted else verdict != "misfit"
        low, high = (low, middle) if there else (middle, high)
    return high


def draw_tolerance(result: Result, zones: Zones, ax: Any = None) -> Any:
    """The curve over its zones, the level, and where the test stands."""
    from matplotlib.ticker import PercentFormatter

    ax, theme = canvas(ax)
    colors = dict(zip(VERDICTS, (theme.blamed, theme.unsure, theme.good), strict=True))
    end = float(zones.tolerances[-1])
    for verdict, low, high in zones.spans:
        ax.axvspan(low, high, color=colors[verdict], alpha=0.16, linewidth=0)
        narrow = (high - low) < 0.2 * end
        ax.text(
            (low + high) / 2, 1.03, verdict, ha="center", va="bottom", fontsize="small", color=theme.ink,
            rotation=30 if narrow else 0, transform=ax.get_xaxis_transform(),
        )  # fmt: skip
    ax.plot(zones.tolerances, zones.pvalues, color=theme.model, linewidth=2, drawstyle="steps-post", clip_on=False)
    ax.axhline(result.level, color=theme.ink, linestyle="--", linewidth=1)
    ax.text(end, result.level, f"level {number(result.level)} ", ha="right", va="bottom", fontsize="small")
    if result.contamination is not None:
        ax.axvline(result.contamination, color=theme.ink, linewidth=1)
        ax.plot(result.contamination, result.pvalue, "o", color=theme.ink, markersize=7, clip_on=False, zorder=5)
    ax.xaxis.set_major_formatter(PercentFormatter(1.0, decimals=None))
    ax.set(xlim=(0.0, end), ylim=(0.0, 1.0), xlabel="tolerated contamination", ylabel="p-value")
    where = "" if result.contamination is None else f" at {percent(result.contamination)}"
    ax.set_title(f"{result.verdict}{where}, p = {number(result.pvalue)}", loc="left", fontsize="medium", pad=18)
    return ax


