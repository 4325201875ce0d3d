"""How all pictures look, and drawings for a page: a frame with axes, and shapes in the units of the data."""

from __future__ import annotations

import html
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from steinball.arrays import Floats

NEEDED = (
    "pictures need matplotlib: `pip install 'steinball[plot]'`. `result.report(path)`, on the command line "
    "`--report fit.html`, writes a page without it."
)


@dataclass(frozen=True)
class Theme:
    """Colors by what they mean; Okabe and Ito's, lighter ones where the ground is dark.

    Examples
    --------
    >>> Theme.on(dark=True).model
    '#56B4E9'
    """

    ink: str
    data: str
    model: str
    blamed: str
    good: str = "#009E73"
    unsure: str = "#E69F00"
    tint: float = 0.18

    @classmethod
    def on(cls, dark: bool) -> Theme:
        """For a dark or a light ground."""
        if dark:
            return cls(ink="#E8E8E8", data="#9A9A9A", model="#56B4E9", blamed="#FF8C42", tint=0.38)
        return cls(ink="#222222", data="#8A8A8A", model="#0072B2", blamed="#D55E00")

    @classmethod
    def of(cls, ax: Any) -> Theme:
        """For the ground that these axes have; a transparent one counts as the figure's."""
        from matplotlib.colors import to_rgba

        red, green, blue, alpha = to_rgba(ax.get_facecolor())
        if alpha < 0.5:
            red, green, blue, alpha = to_rgba(ax.figure.get_facecolor())
        return cls.on(dark=alpha >= 0.5 and 0.299 * red + 0.587 * green + 0.114 * blue < 0.5)


def pyplot() -> Any:
    """matplotlib's, where it is installed."""
    try:
        from matplotlib import pyplot as plt
    except ImportError as error:
        raise ImportError(NEEDED) from error
    return plt


def canvas(ax: Any = None) -> tuple[Any, Theme]:
    """The axes that were given, or new ones, without the frame that says nothing; and their colors."""
    if ax is None:
        ax = pyplot().subplots(figsize=(5.6, 3.8), layout="constrained")[1]
    ax.spines[["top", "right"]].set_visible(False)
    return ax, Theme.of(ax)


def finish(ax: Any, title: str, legend: bool = True) -> Any:
    """The axes with their title and what the colors mean, on a ground that keeps it readable."""
    ax.set_title(title, loc="left", fontsize="medium")
    if legend:
        ax.legend(fontsize="small", loc="best", framealpha=0.8, edgecolor="none")
    return ax


def plain(words: str, longest: int = 60) -> str:
    """Words as they are, where matplotlib reads dollars as mathematics; longer ones are cut."""
    return (words if len(words) <= longest else words[: longest - 1] + "…").replace("$", r"\$")


def mark_beyond(ax: Any, sides: tuple[int, int], color: str) -> None:
    """How many points lie to the left and to the right of the axes."""
    for many, place, side, arrow in zip(sides, (0.01, 0.99), ("left", "right"), ("◂ {}", "{} ▸"), strict=True):
        if many:
            ax.text(place, 0.02, arrow.format(many), transform=ax.transAxes, ha=side, color=color)


def new_axes(many: int) -> Any:
    """So many axes side by side in a new figure."""
    return pyplot().subplots(1, many, figsize=(5.2 * many, 4.2), layout="constrained", squeeze=False)[1][0]


WIDTH, HEIGHT = 520.0, 366.0
_RIGHT, _TOP, _BOTTOM = 26.0, 38.0, 58.0
_LETTER = 9.8
"""Width of a letter on a narrow screen, where the style sheet makes letters larger: numbers must not touch there."""

_LONGEST = 46

Marks = Sequence[tuple[float, str]]
"""Places on an axis, and what is written there."""


def marks(low: float, high: float, percents: bool = False, most: int = 5) -> Marks:
    """Round numbers between two ends, with their words.

    Examples
    --------
    >>> marks(0.0, 0.25, percents=True, most=3)
    [(0.0, '0 %'), (0.1, '10 %'), (0.2, '20 %')]
    """
    rough = (high - low) / most
    if not (math.isfinite(rough) and rough > 0.0):
        return []
    unit = 10.0 ** math.floor(math.log10(rough))
    step = next(unit * factor for factor in (1, 2, 5, 10) if unit * factor >= rough * (1.0 - 1e-9))
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    values = (float(f"{k * step:.12g}") for k in range(first, last + 1))
    return [(value, f"{100 * value:g} %" if percents else f"{value:g}") for value in values]


@dataclass(frozen=True)
class Frame:
    """The part of a drawing that data lie in: lower and upper ends of both axes, and their marks."""

    x: tuple[float, float]
    y: tuple[float, float]
    x_marks: Marks | None = None
    y_marks: Marks | None = None

    @property
    def ends(self) -> tuple[float, float, float, float]:
        """Left, right, top and bottom in the drawing; the numbers of the axis up have room on the left."""
        left = 18.0 + _LETTER * max((len(words) for _, words in self._up), default=1)
        return left, WIDTH - _RIGHT, _TOP, HEIGHT - _BOTTOM

    @property
    def _up(self) -> Marks:
        return marks(*self.y) if self.y_marks is None else self.y_marks

    def across(self, values: Floats | float) -> Floats:
        """From data to the drawing, to the right."""
        (low, high), (left, right, _, _) = self.x, self.ends
        return np.asarray(left + (np.asarray(values) - low) / (high - low) * (right - left))

    def up(self, values: Floats | float) -> Floats:
        """From data to the drawing, whose zero is above."""
        (low, high), (_, _, top, bottom) = self.y, self.ends
        return np.asarray(bottom - (np.asarray(values) - low) / (high - low) * (bottom - top))

    def box(self, across: Any, up: Any, kind: str, more: str = "") -> str:
        """A rectangle between two places of each axis; of the whole height where ``up`` is ``None``."""
        (left, right), (lower, upper) = self.across(np.array(across)), self.up(np.array(self.y if up is None else up))
        size = f'width="{max(0.0, right - left):.2f}" height="{max(0.0, lower - upper):.2f}"'
        return f'<rect class="{kind}" x="{left:.2f}" y="{upper:.2f}" {size}{more}/>'

    def beyond(self, before: int, after: int) -> str:
        """How many points lie to the left and to the right of the frame."""
        left, right, _, bottom = self.ends
        words = (text(left + 4, bottom - 4, f"◂ {before}"), text(right - 2, bottom - 4, f"{after} ▸", "end"))
        return words[0] * bool(before) + words[1] * bool(after)

    def line(self, x: Floats, y: Floats, kind: str, name: str = "") -> str:
        """A line through points."""
        places = " ".join(f"{a:.2f},{b:.2f}" for a, b in zip(self.across(x), self.up(y), strict=True))
        return f'<polyline class="{kind}"{_name(name)} points="{places}"/>'

    def segments(self, pairs: Floats, kind: str) -> str:
        """Many short lines, (m, 2, 2)."""
        ends = np.stack([self.across(pairs[..., 0]), self.up(pairs[..., 1])], axis=-1).reshape(-1, 4)
        steps = "".join(f"M{a:.1f} {b:.1f}L{c:.1f} {d:.1f}" for a, b, c, d in ends)
        return f'<path class="{kind}" d="{steps}"/>'

    def boxes(self, edges: Floats, heights: Floats, kind: str) -> str:
        """The bars of a histogram, as one shape."""
        x, y, floor = self.across(edges), self.up(heights), float(self.up(0.0))
        steps = "".join(f"V{b:.2f}H{c:.2f}" for b, c in zip(y, x[1:], strict=True))
        return f'<path class="{kind}" d="M{x[0]:.2f} {floor:.2f}{steps}V{floor:.2f}Z"/>'

    def rug(self, places: Floats, length: float, kind: str) -> str:
        """Short lines below 0, one for each point, as one shape."""
        top, bottom = float(self.up(0.0)), float(self.up(-length))
        steps = "".join(f"M{a:.1f} {top:.1f}V{bottom:.1f}" for a in self.across(places))
        return f'<path class="{kind}" d="{steps}"/>'

    def dots(self, places: Floats, size: float, kind: str, labels: Sequence[str] = ()) -> str:
        """Points (m, 2); with labels each is told when one points at it."""
        marks = zip(self.across(places[:, 0]), self.up(places[:, 1]), strict=True)
        circles = [f'<circle cx="{a:.1f}" cy="{b:.1f}" r="{size:g}"' for a, b in marks]
        ends = [f"><title>{html.escape(label)}</title></circle>" for label in labels] or ["/>"] * len(places)
        drawn = "".join(circle + end for circle, end in zip(circles, ends, strict=True))
        return f'<g class="{kind}">{drawn}</g>'

    def axes(self, names: tuple[str, str]) -> str:
        """Marks and the names of both axes: below the axis across, and above the axis up, where no number is."""
        left, right, top, bottom = self.ends
        parts = [f'<path class="axis" d="M{left:.1f} {top}V{bottom}H{right}"/>']
        across = marks(*self.x) if self.x_marks is None else self.x_marks
        step = math.ceil(_LETTER * sum(len(words) + 2 for _, words in across) / (right - left)) or 1
        for value, words in across[::step]:
            at = float(self.across(value))
            parts.append(f'<path class="axis" d="M{at:.1f} {bottom}v5"/>{text(at, bottom + 25, words, "middle")}')
        for value, words in self._up:
            at = float(self.up(value))
            parts.append(f'<path class="axis" d="M{left:.1f} {at:.1f}h-5"/>{text(left - 8, at + 5, words, "end")}')
        middle = text((left + right) / 2, HEIGHT - 8, names[0], "middle")
        return "".join(parts) + middle + text(6, top - 18, names[1])


def text(x: float, y: float, words: str, anchor: str = "start", name: str = "") -> str:
    """Words at a place; longer ones are cut, since a column may have any name."""
    shown = words if len(words) <= _LONGEST else words[: _LONGEST - 1] + "…"
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{_name(name)}>{html.escape(shown)}</text>'


def drawing(parts: Iterable[str], title: str, kinds: Sequence[tuple[str, str]] = (), name: str = "") -> str:
    """A whole drawing below its legend of ``kinds``, with a title for those who do not see it."""
    said = html.escape(title, quote=True)
    size = f'viewBox="0 0 {WIDTH:g} {HEIGHT:g}"'
    above = legend(kinds) if kinds else ""
    return f'{above}<svg {size} role="img" aria-label="{said}"{_name(name)}>{"".join(parts)}</svg>'


_LINE = '<path class="model" d="M0 6h16"/>'
_KEY = '<rect class="{}" x="2" y="1" width="11" height="10"/>'


def legend(kinds: Sequence[tuple[str, str]]) -> str:
    """What is drawn beside its mark, in HTML, which wraps where a screen is narrow; ``kinds`` are words and classes."""
    drawn = ((_LINE if kind == "model" else _KEY.format(kind), words) for words, kind in kinds)
    svg = '<svg width="16" height="12" aria-hidden="true">{}</svg>'
    keys = "".join(f"<span>{svg.format(key)} {words}</span>\n" for key, words in drawn)
    return f'<p class="legend">{keys}</p>\n'


def _name(name: str) -> str:
    return f' id="{html.escape(name, quote=True)}"' if name else ""
