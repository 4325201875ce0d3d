"""What each point adds to the distance from the model, and how much it could add."""

from __future__ import annotations

from typing import Any

import numpy as np

from steinball.arrays import Floats
from steinball.evidence.pairs import PairSums
from steinball.explain.explanation import Explanation
from steinball.show.theme import canvas, legend
from steinball.text import count, percent

_TAIL = 0.005


def draw_contributions(explanation: Explanation, ax: Any = None) -> Any:
    """The largest contributions by name, and the sum of all others."""
    ax, theme = canvas(ax)
    rows = explanation.points
    shares, places = 100 * explanation.shares(rows), np.arange(len(rows))
    ax.barh(places, shares, color=theme.blamed)
    ax.axvline(0.0, color=theme.ink, linewidth=0.8)
    ax.set_yticks(places, [explanation.label(i).replace("$", r"\$") for i in rows.tolist()], fontsize="small")
    ax.invert_yaxis()
    others = len(explanation.contributions) - len(rows)
    rest = f"; the other {count(others, 'point')}: {percent(1 - shares.sum() / 100)} together" if others else ""
    ax.set_xlabel(f"share of D² in %{rest}")
    ax.set_title("which points the distance is made of", loc="left", fontsize="medium")
    return ax


def draw_diagonal(explanation: Explanation, sums: PairSums, ax: Any = None) -> Any:
    """u(x, x), how much each point can count, against where it lies; τ is the most that any point can."""
    ax, theme = canvas(ax)
    j = int(np.argmax(explanation.coordinates))
    x, values = sums.problem.rows.original[:, j], sums.diagonal[sums.rows]
    order = np.argsort(x)
    if sums.problem.samples.shape[1] == 1:
        ax.plot(x[order], values[order], color=theme.model, linewidth=1)
    ax.scatter(x, values, s=8, color=theme.data, linewidths=0, alpha=0.8, label="data")
    if np.isfinite(sums.tau):
        ax.axhline(sums.tau, color=theme.blamed, linestyle="--", label="τ")
    low, high = _window(x)
    outside = int(((x < low) | (x > high)).sum())
    beyond = f" ({count(outside, 'point')} outside of this picture)" if outside else ""
    name = explanation.names[j].replace("$", r"\$")
    ax.set(xlabel=f"{name}{beyond}", ylabel="u(x, x)", ylim=(0.0, None), xlim=(low, high))
    ax.set_title("how much a point can count", loc="left", fontsize="medium")
    legend(ax)
    return ax


def _window(x: Floats) -> tuple[float, float]:
    """From the least point to the largest; a far one must not make a line of all others."""
    low, high = np.quantile(x, [_TAIL, 1.0 - _TAIL])
    room = 0.5 * (high - low) or 1.0
    ends = max(float(x.min()), low - room), min(float(x.max()), high + room)
    margin = 0.03 * (ends[1] - ends[0]) or 1.0
    return ends[0] - margin, ends[1] + margin
