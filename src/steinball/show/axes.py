"""How pictures of matplotlib look: colors by what they mean, and the shapes of a picture in axes."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from textwrap import fill
from typing import Any

import numpy as np

from steinball.show.svg import Element, Frame
from steinball.text import percent

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


def new_axes(many: int) -> Any:
    """So many axes side by side in a new figure."""
    return pyplot().subplots(1, many, figsize=(5.2 * many, 4.2), layout="constrained", squeeze=False)[1][0]


_NOTE = 62  # letters in a line of notes
_SHORT = 4  # letters of the longest name on an axis that need not be turned
_KEYS, _ROW = 3, 15.0  # of a legend above the axes: entries in a row, and its height in points
_KEY = 0.7  # opacity in a legend of shapes, which may be faint themselves
_PIXEL = 0.72  # of a page, in points; a page is as wide as a picture
_AREA = 2.1  # of a marker in square points, on a page of radius 1
_COLORS = {
    "data": ("bars", "data"),
    "model": ("model", "less"),
    "unsure": ("far", "undecided"),
    "good": ("good",),
    "blamed": ("blamed", "misfit", "more"),
}
_WIDTHS = {"model": 2, "contour": 1.3, "axis": 0.8, "level": 1, "own": 1, "outline": 2, "rug": 1.2, "interval": 3}
"""Of lines, by the first word of their kind; other kinds are shapes, which are filled."""

_STYLES: dict[str, dict[str, Any]] = {"level": {"linestyle": "--"}, "interval": {"solid_capstyle": "butt"}}
_MARKERS: dict[str, dict[str, Any]] = {
    "far": {"marker": "^", "facecolors": "none"},
    "blamed": {"marker": "D", "linewidths": 0},
    "own": {"linewidths": 0, "zorder": 5},
}


def draw_described(frame: Callable[[Any], Frame], subject: Any, ax: Any) -> Any:
    """The picture that ``frame`` describes of a subject, such as a result, in axes."""
    return draw_frame(frame(subject), ax)


def draw_frame(frame: Frame, ax: Any = None) -> Any:
    """A picture in axes, in new ones where these are ``None``."""
    ax, theme = canvas(ax)
    _name_axes(frame, ax)
    for element in frame.elements:
        _draw_element(element, ax, theme)
    keys = sum(bool(element.label) for element in frame.elements)
    if keys:
        place = {"loc": "lower left", "bbox_to_anchor": (0.0, 1.0), "ncols": _KEYS, "borderaxespad": 0.1}
        legend = ax.legend(fontsize="small", frameon=False, columnspacing=1.2, handlelength=1.2, **place)
        for key in legend.legend_handles:
            key.set_alpha(_KEY)
    ax.set_title(frame.heading, loc="left", fontsize="medium", pad=6.0 + _ROW * math.ceil(keys / _KEYS))
    return ax


def _name_axes(frame: Frame, ax: Any) -> None:
    """Ends, names and marks of both axes, and the notes below."""
    notes = [fill(note, _NOTE) for note in frame.notes]  # a label of its own could lie over that of the axis
    ax.set(xlim=frame.x, ylim=frame.y, xlabel="\n".join([plain(frame.names[0]), *notes]), ylabel=plain(frame.names[1]))
    for axis, percents in zip((ax.xaxis, ax.yaxis), frame.percents, strict=True):
        if percents:
            axis.set_major_formatter(lambda value, _: percent(value))
    if frame.marks is not None:
        places, words = zip(*frame.marks, strict=True)
        turned = {"rotation": 45, "ha": "right"} if max(map(len, words)) > _SHORT else {}
        ax.set_xticks(places, map(plain, words), fontsize="small", **turned)
    if frame.lines:
        ax.set_yticks(range(len(frame.lines)), [plain(line, 40) for line in frame.lines], fontsize="small")


def _draw_element(element: Element, ax: Any, theme: Theme) -> None:
    color = next((color for color, kinds in _COLORS.items() if element.kind.split()[-1] in kinds), "ink")
    look: dict[str, Any] = {"color": vars(theme)[color], "label": plain(element.label) or None}
    if element.form == "paths":
        broken = np.insert(element.places, element.places.shape[1], np.nan, axis=1).reshape(-1, 2)[:-1]
        kind = element.kind.split()[0]
        if kind not in _WIDTHS:
            ax.fill(*broken.T, alpha=0.5, linewidth=0, **look)
        else:
            ax.plot(*broken.T, linewidth=_WIDTHS[kind], clip_on=False, **look, **_STYLES.get(kind, {}))
    elif element.form == "box":
        (left, low), (right, high) = element.places
        alpha = theme.tint if element.opacity is None else element.opacity
        ax.fill([left, right, right, left], [low, low, high, high], alpha=alpha, linewidth=0, **look)
    elif element.form == "dots":
        marker = _MARKERS.get(element.kind, {"linewidths": 0, "alpha": 0.75})
        ax.scatter(*element.places.T, s=_AREA * element.size**2, clip_on=False, **look, **marker)
    else:
        side, (right, down) = {"start": "left", "end": "right"}[element.kind], element.shift
        moved = {"xytext": (_PIXEL * right, -_PIXEL * down), "textcoords": "offset points"}
        ax.annotate(element.words[0], element.places[0], ha=side, fontsize="small", color=theme.ink, **moved)
