"""Drawings for a page: a frame with axes, and shapes in the units of the data. Colors are those of the style sheet."""

from __future__ import annotations

import html
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from steinball.arrays import Floats

WIDTH, HEIGHT = 520.0, 340.0
_LEFT, _RIGHT, _TOP, _BOTTOM = 58.0, 26.0, 30.0, 46.0


def ticks(low: float, high: float, most: int = 6) -> list[float]:
    """Round numbers between two ends.

    Examples
    --------
    >>> ticks(0.0, 1.0)
    [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]
    """
    rough = (high - low) / most
    if not (math.isfinite(rough) and rough > 0.0):
        return []
    unit = 10.0 ** math.floor(math.log10(rough))
    step = next(unit * factor for factor in (1, 2, 5, 10) if unit * factor >= rough * (1.0 - 1e-9))
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [float(f"{k * step:.12g}") for k in range(first, last + 1)]


@dataclass(frozen=True)
class Frame:
    """The part of a drawing that data lie in: lower and upper ends of both axes."""

    x: tuple[float, float]
    y: tuple[float, float]

    def across(self, values: Floats | float) -> Floats:
        """From data to the drawing, to the right."""
        low, high = self.x
        return np.asarray(_LEFT + (np.asarray(values) - low) / (high - low) * (WIDTH - _LEFT - _RIGHT))

    def up(self, values: Floats | float) -> Floats:
        """From data to the drawing, whose zero is above."""
        low, high = self.y
        return np.asarray(HEIGHT - _BOTTOM - (np.asarray(values) - low) / (high - low) * (HEIGHT - _TOP - _BOTTOM))

    @property
    def ends(self) -> tuple[float, float, float, float]:
        """Left, right, top and bottom in the drawing."""
        return _LEFT, WIDTH - _RIGHT, _TOP, HEIGHT - _BOTTOM

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
        texts = [f"<title>{html.escape(label)}</title>" for label in labels] or [""] * len(places)
        return f'<g class="{kind}">' + "".join(
            f'<circle cx="{a:.1f}" cy="{b:.1f}" r="{size:g}">{text}</circle>' if text
            else f'<circle cx="{a:.1f}" cy="{b:.1f}" r="{size:g}"/>'
            for (a, b), text in zip(marks, texts, strict=True)
        ) + "</g>"  # fmt: skip

    def axes(self, names: tuple[str, str], percents: bool = False) -> str:
        """Ticks, their numbers, and the names of both axes."""
        left, right, _, bottom = self.ends
        marks = [f'<path class="axis" d="M{left} {_TOP}V{bottom}H{right}"/>']
        for value in ticks(*self.x):
            at, words = float(self.across(value)), f"{100 * value:g} %" if percents else f"{value:g}"
            marks.append(f'<path class="axis" d="M{at:.1f} {bottom}v5"/>{text(at, bottom + 18, words, "middle")}')
        for value in ticks(*self.y, most=5):
            at = float(self.up(value))
            marks.append(f'<path class="axis" d="M{left} {at:.1f}h-5"/>{text(left - 8, at + 4, f"{value:g}", "end")}')
        middle = (_TOP + bottom) / 2
        turned = f'<g transform="translate(13 {middle:.0f}) rotate(-90)">{text(0, 0, names[1], "middle")}</g>'
        return "".join(marks) + text((left + right) / 2, HEIGHT - 8, names[0], "middle") + turned


def text(x: float, y: float, words: str, anchor: str = "start", kind: str = "", name: str = "") -> str:
    """Words at a place; longer ones are cut, since a column may have any name."""
    shown = words if len(words) <= 60 else words[:59] + "…"
    look = f' class="{kind}"' if kind else ""
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{look}{_name(name)}>{html.escape(shown)}</text>'


def drawing(parts: Iterable[str], title: str, name: str = "") -> str:
    """A whole drawing, with a title for those who do not see it."""
    said = html.escape(title, quote=True)
    size = f'viewBox="0 0 {WIDTH:g} {HEIGHT:g}"'
    return f'<svg {size} role="img" aria-label="{said}"{_name(name)}>{"".join(parts)}</svg>'


def _name(name: str) -> str:
    return f' id="{html.escape(name, quote=True)}"' if name else ""
