"""The p-value against the tolerance, with its three zones: misfit, undecided, and the best that the test can say."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steinball.arrays import Floats
from steinball.evidence.base import Curve
from steinball.radius.base import Radius
from steinball.results.base import Result
from steinball.show.svg import canvas
from steinball.text import number, percent

_STEPS, _LOOKED, _TIMES = 100, 64, 4

Holds = Callable[[Floats], NDArray[np.bool_]]


@dataclass(frozen=True, eq=False)
class Zones:
    """The curve of a result, and where one verdict ends and the next begins.

    ``kind`` is the set whose amount changes, ``own`` the amount of the result, ``first`` and ``second`` are where
    *undecided* and the best verdict begin, infinite where they do not.
    """

    kind: Radius
    own: float
    curve: Curve
    first: float
    second: float

    @property
    def end(self) -> float:
        """The largest amount of the curve."""
        return float(self.curve.amounts[-1])

    @property
    def verdicts(self) -> tuple[str, str, str]:
        """The verdicts of the zones, in their order."""
        return "misfit", "undecided", self.curve.close

    @property
    def spans(self) -> list[tuple[str, float, float]]:
        """Verdict, start and end of every zone that is there."""
        ends = [0.0, min(self.first, self.end), min(max(self.first, self.second), self.end), self.end]
        spans = zip(self.verdicts, ends[:-1], ends[1:], strict=True)
        return [(verdict, low, high) for verdict, low, high in spans if high > low]

    @property
    def own_words(self) -> str:
        """The amount that the result tolerates."""
        return percent(self.own) if self.kind.in_percent else number(self.own)


def can_slide(result: Result) -> bool:
    """Whether the tolerance of a result can be changed without another test."""
    return result._evidence.sliding(result._tolerated) is not None


def zones_of(result: Result) -> Zones:
    """The curve of a result to beyond all of its zones, and their ends: each verdict begins once."""
    evidence, level = result._evidence, result.level
    kind = evidence.sliding(result._tolerated)
    if kind is None:
        raise TypeError(f"a {type(result).__name__} tolerates nothing else without another test.")
    own = evidence.amount(result._tolerated, kind)
    most = 1.0 if kind.in_percent else 4.0 * max(evidence.distance(), own) or 1.0
    upper, decidable = evidence.upper_bound(level), evidence.decidable(level)
    first = _begin(lambda t: (np.asarray(evidence.pvalues(kind, t)) > level) | (not decidable), most)
    second = (
        _begin(lambda t: (evidence.limits(kind, t) >= upper) & (t > 0.0), most) if math.isfinite(upper) else math.inf
    )
    seen = [value for value in (first, second, own) if value < most]
    end = _round_up(1.3 * max(seen, default=0.0), most) or most
    grid = np.linspace(0.0, end, _STEPS + 1)
    place = evidence.distance() / (float(evidence.limits(kind, np.array([end]))[0]) / end or math.nan)
    if 0.0 < place < end:  # where D is reached the p-value jumps to 1
        grid = np.sort(np.append(grid, [place * (1.0 - 1e-9), place * (1.0 + 1e-9)]))
    return Zones(kind, own, evidence.curve(kind, grid, level), first, second)


def _begin(holds: Holds, most: float) -> float:
    """The smallest amount at which something holds that then keeps holding; infinite where it never does."""
    low, high = 0.0, most
    for _ in range(_TIMES):
        grid = np.linspace(low, high, _LOOKED + 1)
        there = holds(grid)
        if not there.any():
            return math.inf
        k = int(np.argmax(there))
        if k == 0:
            return low
        low, high = float(grid[k - 1]), float(grid[k])
    return high


def _round_up(value: float, most: float) -> float:
    """A little more, in one or two digits."""
    if value <= 0.0:
        return 0.0
    step = 10.0 ** math.floor(math.log10(value)) / 2.0
    return min(most, math.ceil(value / step - 1e-9) * step)


def draw_tolerance(result: Result, zones: Zones, ax: Any = None) -> Any:
    """The curve over its zones, the level, and where the test stands."""
    ax, theme = canvas(ax)
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
    _label(ax, result, zones)
    return ax


def _label(ax: Any, result: Result, zones: Zones) -> None:
    from matplotlib.ticker import FuncFormatter

    words = f"{result._headline().lower()}, p = {number(result.pvalue)}"
    if zones.kind.in_percent:
        ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: percent(value)))
    if zones.own:
        words += f", tolerating {zones.own_words}"
    ax.set_title(words, loc="left", fontsize="medium", pad=18)
