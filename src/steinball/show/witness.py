"""Where the data have more mass than the model, and where less."""

from __future__ import annotations

from typing import Any

import numpy as np

from steinball.explain.explanation import Explanation
from steinball.show.theme import Theme, canvas, legend
from steinball.show.view import View

_CELLS = 60


def draw_witness(explanation: Explanation, view: View, ax: Any = None) -> Any:
    """Along the column that counts most, or over the plane of two columns."""
    ax, theme = canvas(ax)
    if len(explanation.names) == 2:
        _draw_plane(explanation, view, ax, theme)
    else:
        _draw_line(explanation, ax, theme)
    ax.set_title("where the data have too much (+) or too little (−) mass", loc="left", fontsize="medium")
    return ax


def _draw_line(explanation: Explanation, ax: Any, theme: Theme) -> None:
    j = int(np.argmax(explanation.coordinates))
    grid, values = explanation.witness_along(j)
    ax.axhline(0.0, color=theme.ink, linewidth=0.8)
    ax.plot(grid, values, color=theme.model, linewidth=2)
    more, fewer = (
        (values > 0, theme.blamed, "more data than expected"),
        (values < 0, theme.model, "fewer data"),
    )
    for sign, color, label in (more, fewer):
        ax.fill_between(grid, values, 0.0, where=sign, color=color, alpha=0.3, linewidth=0, label=label)
    column = explanation.samples[:, j]
    shown = column[(column >= grid[0]) & (column <= grid[-1])][:2_000]
    ax.plot(shown, np.zeros_like(shown), "|", color=theme.data, markersize=7)
    name = explanation.names[j].replace("$", r"\$")
    through = "" if len(explanation.names) == 1 else ", through the median of the other columns"
    ax.set(xlabel=f"{name}{through}", ylabel="witness", xlim=(grid[0], grid[-1]))
    legend(ax)


def _draw_plane(explanation: Explanation, view: View, ax: Any, theme: Theme) -> None:
    axes = [np.linspace(low, high, _CELLS) for low, high in view.window.T]
    places = np.stack([part.ravel() for part in np.meshgrid(*axes, indexing="ij")], axis=1)
    values = explanation.witness(places).reshape(_CELLS, _CELLS)
    most = float(np.nanmax(np.abs(values))) or 1.0
    look = {"cmap": "PuOr_r", "vmin": -most, "vmax": most}  # two colors that nobody confuses
    drawn = ax.pcolormesh(*axes, values.T, shading="gouraud", rasterized=True, **look)
    ax.scatter(*view.points.T, s=5, color="black", linewidths=0, alpha=0.5)
    ax.figure.colorbar(drawn, ax=ax, label="witness")
    names = [name.replace("$", r"\$") for name in explanation.names]
    ax.set(xlabel=names[0], ylabel=names[1], xlim=view.window[:, 0], ylim=view.window[:, 1])
