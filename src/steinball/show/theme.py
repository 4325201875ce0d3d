"""How all pictures look: colors that everybody can tell apart, on light and on dark ground."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

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
