"""Lines that would hide each other: moved a little apart, or one drawn wide and pale below the other."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["moved_apart", "widened"]


def _labelled(ax: Any) -> list[Any]:
    return [line for line in ax.lines if not line.get_label().startswith("_")]


def moved_apart(ax: Any, factor: float = 1.06) -> None:
    """On a logarithmic axis: the markers of each line a little to the right of those of the one before."""
    lines = _labelled(ax)
    for k, line in enumerate(lines):
        line.set_xdata(np.asarray(line.get_xdata()) * factor ** (k - (len(lines) - 1) / 2.0))


def widened(ax: Any, color: str) -> None:
    """Lines of a color drawn wide and pale, below the others."""
    for line in _labelled(ax):
        if line.get_color() == color:
            line.set(linewidth=4.0, alpha=0.45, zorder=1.5)
