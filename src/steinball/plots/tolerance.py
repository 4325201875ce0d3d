"""The p-value against the tolerance, with its three zones: misfit, undecided, good enough."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from steinball.arrays import Floats
from steinball.plots.theme import canvas
from steinball.progress import Progress
from steinball.results.base import Result
from steinball.results.dial import Dial
from steinball.text import number, percent

__all__ = ["UNITS", "VERDICTS", "Zones", "draw_tolerance", "zones_of"]

VERDICTS = ("misfit", "undecided", "good enough")
UNITS = {"share": "tolerated contamination", "distance": "tolerated distance θ"}
_STEPS, _HALVINGS = 100, 30


@dataclass(frozen=True, eq=False)
class Zones:
    """A curve of p-values, and where one verdict ends and the next begins.

    ``tolerances`` and ``pvalues`` are (m,); ``first`` and ``second`` are where *undecided* and *good enough* begin,
    infinite where they do not.
    """

    tolerances: Floats
    pvalues: Floats
    first: float
    second: float

    @property
    def end(self) -> float:
        """The largest tolerance of the curve."""
        return float(self.tolerances[-1])

    @property
    def spans(self) -> list[tuple[str, float, float]]:
        """Verdict, start and end of every zone that is there."""
        ends = [0.0, min(self.first, self.end), min(max(self.first, self.second), self.end), self.end]
        spans = zip(VERDICTS, ends[:-1], ends[1:], strict=True)
        return [(verdict, low, high) for verdict, low, high in spans if high > low]


def zones_of(dial: Dial, steps: int = _STEPS) -> Zones:
    """A curve to beyond all zones, and their ends by halving: each verdict begins once."""
    with Progress("tolerance", steps + 2 * _HALVINGS) as progress:

        def at(tolerance: float) -> Result:
            progress.advance(1)
            return dial.decide(tolerance)

        most = _most(dial)
        first = _begin(lambda t: not at(t).rejected, most)
        second = _begin(lambda t: at(t).verdict == "good enough", most)
        seen = [value for value in (first, second, dial.own) if value is not None and value < most]
        end = _round_up(1.3 * max(seen, default=0.0), most) or most
        grid = _with_jump(np.linspace(0.0, end, steps + 1), dial)
        return Zones(grid, np.array([at(float(t)).pvalue for t in grid]), first, second)


def _with_jump(grid: Floats, dial: Dial) -> Floats:
    """The grid with both sides of the tolerance that equals D, where the p-value jumps to 1."""
    place = dial.distance / dial.scale if dial.scale > 0.0 else math.nan
    return np.sort(np.append(grid, [place * (1.0 - 1e-9), place])) if 0.0 < place < grid[-1] else grid


def _most(dial: Dial) -> float:
    """The largest tolerance that there is; of distances, one that is beyond all that was seen."""
    return 1.0 if dial.unit == "share" else 4.0 * max(dial.distance, dial.own or 0.0) or 1.0


def _begin(there: Callable[[float], bool], most: float) -> float:
    """The smallest tolerance at which something holds that then keeps holding; infinite where it never does."""
    if not there(most):
        return math.inf
    low, high = 0.0, most
    for _ in range(_HALVINGS if not there(0.0) else 0):
        middle = (low + high) / 2.0
        low, high = (low, middle) if there(middle) else (middle, high)
    return high if low < high < most or low > 0.0 else 0.0


def _round_up(value: float, most: float) -> float:
    """A little more, in one or two digits."""
    if value <= 0.0:
        return 0.0
    step = 10.0 ** math.floor(math.log10(value)) / 2.0
    return min(most, math.ceil(value / step - 1e-9) * step)


def draw_tolerance(result: Result, dial: Dial, zones: Zones, ax: Any = None) -> Any:
    """The curve over its zones, the level, and where the test stands."""
    ax, theme = canvas(ax)
    colors = dict(zip(VERDICTS, (theme.blamed, theme.unsure, theme.good), strict=True))
    for verdict, low, high in zones.spans:
        ax.axvspan(low, high, color=colors[verdict], alpha=theme.tint, linewidth=0)
        look = {"va": "bottom"} if high - low > 0.2 * zones.end else {"va": "center", "rotation": 90}
        place = ((low + high) / 2, 1.01 if look["va"] == "bottom" else 0.6)
        ax.text(*place, verdict, ha="center", fontsize="small", transform=ax.get_xaxis_transform(), **look)
    ax.plot(zones.tolerances, zones.pvalues, color=theme.model, linewidth=2, clip_on=False)
    ax.axhline(result.level, color=theme.ink, linestyle="--", linewidth=1)
    ax.annotate(
        f"level {number(result.level)}", (zones.end, result.level), (-3, 3), textcoords="offset points", ha="right",
        fontsize="small", color=theme.ink,
    )  # fmt: skip
    if dial.own is not None:
        ax.axvline(dial.own, color=theme.ink, linewidth=1)
        ax.plot(dial.own, result.pvalue, "o", color=theme.ink, markersize=7, clip_on=False, zorder=5)
    ax.set(xlim=(0.0, zones.end), ylim=(0.0, 1.02), xlabel=UNITS[dial.unit], ylabel="p-value")
    _label(ax, result, dial)
    return ax


def _label(ax: Any, result: Result, dial: Dial) -> None:
    from matplotlib.ticker import FuncFormatter

    words = f"{result._headline().lower()}, p = {number(result.pvalue)}"
    if dial.unit == "share":
        ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: percent(value)))
    if dial.own:
        words += f", tolerating {percent(dial.own) if dial.unit == 'share' else number(dial.own)}"
    ax.set_title(words, loc="left", fontsize="medium", pad=18)
