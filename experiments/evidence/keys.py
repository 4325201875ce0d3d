"""Entries of a legend for the lines that are not data: the level, and the tolerance."""

from __future__ import annotations

from typing import Any

from experiments.framework.expectations import LEVEL

__all__ = ["LEVEL_LABEL", "TOLERANCE_LABEL", "key", "legend_of", "level_line"]

LEVEL_LABEL, TOLERANCE_LABEL = "level .05", r"tolerance $\varepsilon_0$"
_LOOKS: dict[str, dict[str, Any]] = {
    LEVEL_LABEL: {"color": "0.45", "linestyle": ":", "linewidth": 1.0},
    TOLERANCE_LABEL: {"color": "black", "linestyle": "-.", "linewidth": 0.9},
}


def key(label: str, **look: Any) -> Any:
    """An entry of its own, for a line, a bar or a marker that was drawn without a label."""
    from matplotlib.lines import Line2D

    return Line2D([], [], label=label, **{**_LOOKS.get(label, {}), **look})


def level_line(ax: Any, upright: bool = False) -> None:
    """The dotted line at the level, as in every panel of rates."""
    (ax.axvline if upright else ax.axhline)(LEVEL, **_LOOKS[LEVEL_LABEL], zorder=0)


def legend_of(target: Any, ax: Any, *more: Any, **options: Any) -> None:
    """The legend of a panel on an axes or figure; ``more`` are labels of this file, or entries."""
    handles = ax.get_legend_handles_labels()[0]
    target.legend(handles=[*handles, *(key(one) if isinstance(one, str) else one for one in more)], **options)
