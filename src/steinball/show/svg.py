"""A picture as shapes in the units of its data, and how a page draws it, as SVG."""

from __future__ import annotations

import html
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from steinball.arrays import Floats

WIDTH, HEIGHT = 520.0, 366.0
_RIGHT, _TOP, _BOTTOM = 26.0, 38.0, 58.0
_LETTER = 9.8
"""Width of a letter on a narrow screen, where the style sheet makes letters larger: numbers must not touch there."""

_LONGEST, _ALONG = 46, 40

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


@dataclass(frozen=True, kw_only=True)
class Element:
    """Something that is drawn.

    Attributes
    ----------
    form : {"paths", "box", "dots", "text"}
        Lines or closed outlines (m, k, 2), a rectangle from corner to corner (2, 2), points (m, 2), or words that begin
        (``kind="start"``) or end (``"end"``) at a place (1, 2).
    kind : str
        What it means: a page has a style for it, axes of matplotlib a color and a width.
    places : array
        In the units of the data.
    label : str
        What the legend says of the kind.
    name : str
        What a page calls it.
    words : sequence of str
        The text; what each point is called, which a page tells when one points at it.
    size, opacity, shift
        The radius of points and the distance of words from their place, right and down, in pixels of a page.
    """

    form: str
    kind: str
    places: Floats
    label: str = ""
    name: str = ""
    words: Sequence[str] = ()
    size: float = 0.0
    opacity: float | None = None
    shift: tuple[float, float] = (0.0, 0.0)


@dataclass
class Frame:
    """A picture: the part of the plane that it shows, and the shapes in it.

    Attributes
    ----------
    x, y : pair of float
        Lower and upper end of each axis.
    names : pair of str
        What the axes are called.
    heading, caption : str
        What stands above it in axes of matplotlib, and below it on a page.
    notes : sequence of str
        What it leaves out.
    percents : pair of bool
        Whether an axis is written in percent.
    marks : sequence of (float, str), optional
        What is written along x, in place of round numbers.
    categories : bool
        Whether that are names, which may be cut.
    lines : sequence of str
        What the lines y = 0, 1, … are called, in place of numbers.
    """

    x: tuple[float, float]
    y: tuple[float, float]
    names: tuple[str, str]
    heading: str
    caption: str
    notes: Sequence[str] = ()
    percents: tuple[bool, bool] = (False, False)
    marks: Marks | None = None
    categories: bool = False
    lines: Sequence[str] = ()
    elements: list[Element] = field(default_factory=list)

    def add(self, form: str, kind: str, places: Any, label: str = "", **more: Any) -> None:
        """Draw an element."""
        self.elements.append(Element(form=form, kind=kind, places=np.asarray(places), label=label, **more))

    def line(self, x: Any, y: Any, kind: str, label: str = "", name: str = "") -> None:
        """A line through points."""
        self.add("paths", kind, np.stack(np.broadcast_arrays(x, y), axis=-1)[None], label, name=name)

    def box(self, x: Any, y: Any, kind: str, label: str = "", **more: Any) -> None:
        """A rectangle between two places of each axis."""
        self.add("box", kind, np.stack([x, y], axis=-1), label, **more)

    def text(
        self, x: float, y: float, words: str, shift: tuple[float, float], kind: str = "start", name: str = ""
    ) -> None:
        """Words, where there are any, that begin or end at a place."""
        if words:
            self.add("text", kind, [[x, y]], words=[words], shift=shift, name=name)

    def bars(self, edges: Floats, heights: Floats, label: str) -> None:
        """The bars of a histogram, as one shape."""
        self.line(np.repeat(edges, 2), [0.0, *np.repeat(heights, 2), 0.0], "bars", label)

    def rug(self, places: Floats, length: float, kind: str, label: str = "") -> None:
        """Short lines below 0, one for each point."""
        pairs = np.stack(np.broadcast_arrays(places[:, None], [0.0, -length]), axis=-1)
        self.add("paths", f"rug {kind}", pairs, label)

    def spans(self, spans: Sequence[tuple[float, float]], label: str) -> None:
        """Shaded intervals of the whole height."""
        for k, span in enumerate(spans):
            self.box(span, self.y, "zone misfit", label if k == 0 else "")

    def beyond(self, values: Floats) -> None:
        """How many values lie to the left and to the right."""
        (low, high), bottom = self.x, self.y[0]
        before, after = int((values < low).sum()), int((values > high).sum())
        self.text(low, bottom, f"◂ {before}" if before else "", (4.0, -4.0))
        self.text(high, bottom, f"{after} ▸" if after else "", (-2.0, -4.0), "end")


def ends_of(frame: Frame) -> tuple[float, float, float, float]:
    """Left, right, top and bottom of a frame in its drawing; the numbers of the axis up have room on the left."""
    left = 18.0 + _LETTER * max((len(words) for _, words in _up(frame)), default=1)
    return left, WIDTH - _RIGHT, _TOP, HEIGHT - _BOTTOM


def _up(frame: Frame) -> Marks:
    return [] if frame.lines else marks(*frame.y, frame.percents[1])


def _along(frame: Frame) -> Marks:
    if frame.marks is None:
        return marks(*frame.x, frame.percents[0])
    longest = max(3, _ALONG // len(frame.marks)) if frame.categories else None  # numbers are left out instead
    return [(place, words[:longest]) for place, words in frame.marks]


def _placed(frame: Frame, places: Any) -> Floats:
    """From data to the drawing, whose zero is above."""
    (left, right, top, bottom), (low, high) = ends_of(frame), np.transpose([frame.x, frame.y])
    return np.asarray((left, bottom) + (np.asarray(places) - low) / (high - low) * (right - left, top - bottom))


def element_of(frame: Frame, element: Element) -> str:
    """An element of a frame, as SVG."""
    places, look = _placed(frame, element.places), f'class="{element.form} {element.kind}"'
    look += f' id="{element.name}"' if element.name else ""
    look += "" if element.opacity is None else f' fill-opacity="{element.opacity:.2f}"'
    if element.form == "paths":
        steps = "".join("M" + "L".join(f"{a:.2f} {b:.2f}" for a, b in path) for path in places)
        return f'<path {look} d="{steps}"/>'
    if element.form == "box":
        (left, top), (width, height) = places.min(axis=0), np.ptp(places, axis=0)
        return f'<rect {look} x="{left:.2f}" y="{top:.2f}" width="{width:.2f}" height="{height:.2f}"/>'
    if element.form == "text":
        x, y = places[0] + element.shift
        return _text(x, y, element.words[0], element.kind, element.name)
    told = [f"<title>{html.escape(words)}</title>" for words in element.words] or [""] * len(places)
    circle = '<circle cx="{:.1f}" cy="{:.1f}" r="{:g}">{}</circle>'
    drawn = [circle.format(*place, element.size, words) for place, words in zip(places, told, strict=True)]
    return f"<g {look}>{''.join(drawn)}</g>"


def figure_of(frame: Frame) -> str:
    """The picture of a page, below its legend and above its caption."""
    size, caption = f'viewBox="0 0 {WIDTH:g} {HEIGHT:g}"', safe(" ".join([frame.caption, *frame.notes]))
    inside = "".join([*(element_of(frame, element) for element in frame.elements), *_axes(frame)])
    svg = f'<svg {size} role="img" aria-label="{safe(frame.caption)}">{inside}</svg>'
    return f"<figure>\n{_legend(frame)}{svg}\n<figcaption>{caption}</figcaption>\n</figure>\n"


def _legend(frame: Frame) -> str:
    """What is drawn beside its mark, in HTML, which wraps where a screen is narrow."""
    svg = '<svg width="16" height="12" aria-hidden="true">{}</svg>'
    line, key = '<path class="model" d="M0 6h16"/>', '<rect class="{}" x="2" y="1" width="11" height="10"/>'
    told = ((element.kind, html.escape(element.label)) for element in frame.elements if element.label)
    drawn = ((line if kind.endswith("model") else key.format(kind), words) for kind, words in told)
    keys = "".join(f"<span>{svg.format(mark)} {words}</span>\n" for mark, words in drawn)
    return f'<p class="legend">{keys}</p>\n' if keys else ""


def _axes(frame: Frame) -> Iterator[str]:
    """Marks and the names of both axes: below the axis across, and above the axis up, where no number is."""
    (left, right, top, bottom), along = ends_of(frame), _along(frame)
    yield f'<path class="axis" d="M{left:.1f} {top}V{bottom}H{right}"/>'
    step = math.ceil(_LETTER * sum(len(words) + 2 for _, words in along) / (right - left)) or 1
    for value, words in along[::step]:
        at = _placed(frame, [value, 0.0])[0]
        yield f'<path class="axis" d="M{at:.1f} {bottom}v5"/>{_text(at, bottom + 25, words, "middle")}'
    for value, words in _up(frame):
        at = _placed(frame, [0.0, value])[1]
        yield f'<path class="axis" d="M{left:.1f} {at:.1f}h-5"/>{_text(left - 8, at + 5, words, "end")}'
    for line, words in enumerate(frame.lines):
        yield _text(left + 6, _placed(frame, [0.0, line - 0.2])[1], words)
    yield _text((left + right) / 2, HEIGHT - 8, frame.names[0], "middle") + _text(6, top - 18, frame.names[1])


def _text(x: float, y: float, words: str, anchor: str = "start", name: str = "") -> str:
    """Words at a place of a drawing; longer ones are cut, since a column may have any name."""
    shown, named = words if len(words) <= _LONGEST else words[: _LONGEST - 1] + "…", f' id="{name}"' if name else ""
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{named}>{html.escape(shown)}</text>'


def safe(words: object) -> str:
    """Words as text of a page; a number and its percent sign stay on one line."""
    return html.escape(str(words), quote=True).replace(" %", "\N{NO-BREAK SPACE}%")
