"""Wealth over time, what each length scale says, and the draws of the null distribution."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from steinball.arrays import Floats
from steinball.evidence.base import PairSums
from steinball.explain.explanation import Explanation
from steinball.results.base import Lengthscales, Result
from steinball.show.theme import Theme, canvas, finish, plain
from steinball.show.view import MOST, View, some_of
from steinball.text import count, number, percent

_LARGEST = 300.0
_TICKS, _TAIL = 8, 0.005


def draw_wealth(n: Any, log_wealth: Floats, level: float, rejected_at: int | None, ax: Any = None) -> Any:
    """What a bettor has made of 1, on a logarithmic scale, against what rejects."""
    ax, theme = canvas(ax)
    ax.axhline(1.0, color=theme.data, linewidth=0.8)
    told = f"1/level = {number(1 / level)}", f"rejected at point {rejected_at:,}" if rejected_at else ""
    _draw_growth(ax, theme, n, log_wealth, "wealth", 1.0 / level, [rejected_at] if rejected_at else [], told)
    ax.set(xlabel="number of points", ylabel="wealth")
    return finish(ax, "wealth of a bettor against the model")


def draw_alarms(n: Any, log_wealth: Floats, threshold: float, alarms: Sequence[int], ax: Any = None) -> Any:
    """The evidence of a monitor after each row, on a logarithmic scale, the threshold and the rows of alarms."""
    ax, theme = canvas(ax)
    told = f"alarm at row {alarms[0]:,}" if len(alarms) == 1 else count(len(alarms), "alarm")
    _draw_growth(ax, theme, n, log_wealth, "evidence", threshold, alarms, (f"alarm at {number(threshold)}", told))
    ax.set(xlabel="number of rows", ylabel="evidence since the last alarm")
    return finish(ax, "evidence that the rows follow the model no longer")


def _draw_growth(
    ax: Any, theme: Theme, n: Any, logs: Floats, name: str, most: float, rows: Sequence[int], told: tuple[str, str]
) -> None:
    """A quantity that grows by factors, dashed how much is enough, the rows where it was; ``told`` in words."""
    ax.axhline(most, color=theme.ink, linestyle="--", linewidth=1, label=told[0])
    values = np.exp(np.clip(np.ravel(logs), -_LARGEST, _LARGEST))
    ax.semilogy(np.ravel(n), values, color=theme.model, linewidth=1.5, label=name)
    for k, row in enumerate(rows):
        ax.axvline(row, color=theme.blamed, linewidth=1.4, alpha=0.8, label=told[1] if k == 0 else None)


def draw_lengthscales(scales: Lengthscales | None, ax: Any = None) -> Any:
    """How strongly every length scale speaks against the model, and what rejects."""
    assert scales is not None
    ax, theme = canvas(ax)
    order = np.argsort(scales.lengths)
    x, y = np.asarray(scales.lengths)[order], np.asarray(scales.values)[order]
    ax.plot(x, y, "o-", color=theme.model, linewidth=1.6, label="length scales")
    leading = int(np.argmax(y))
    ax.plot(x[leading], y[leading], "o", color=theme.blamed, markersize=9, label=f"leading: {number(x[leading])}")
    if math.isfinite(scales.threshold):
        ax.axhline(scales.threshold, color=theme.ink, linestyle="--", linewidth=1, label="rejected above")
    ax.set(xscale="log", xlabel="length scale of the kernel", ylabel=scales.label)
    ax.set_xticks(x[:: 1 + len(x) // _TICKS], [f"{value:.2g}" for value in x[:: 1 + len(x) // _TICKS]])
    ax.minorticks_off()
    return finish(ax, "evidence by length scale")


def draw_nulls(result: Result, draws: Floats | None, ax: Any = None) -> Any:
    """A histogram of draws on the scale of the statistic."""
    assert draws is not None
    ax, theme = canvas(ax)
    ax.hist(draws, bins=int(np.clip(np.sqrt(draws.size), 10, 60)), color=theme.data, alpha=0.6, label="draws")
    if math.isfinite(result.threshold):
        ax.axvline(result.threshold, color=theme.ink, linestyle="--", label=f"threshold {number(result.threshold)}")
    label = f"statistic {number(result.statistic)}"
    ax.axvline(result.statistic, color=theme.blamed if result.rejected else theme.model, linewidth=2.2, label=label)
    ax.set(xlabel="D − θ", ylabel="number of draws")
    return finish(ax, f"null distribution, p-value {number(result.pvalue)}")


def draw_contributions(explanation: Explanation, ax: Any = None) -> Any:
    """The largest contributions by name, and the sum of all others."""
    ax, theme = canvas(ax)
    rows = explanation.points
    shares, places = 100 * explanation.shares(rows), np.arange(len(rows))
    ax.barh(places, shares, color=theme.blamed)
    ax.axvline(0.0, color=theme.ink, linewidth=0.8)
    ax.set_yticks(places, [plain(explanation.label(i)) for i in rows.tolist()], fontsize="small")
    ax.invert_yaxis()
    others = len(explanation.contributions) - len(rows)
    rest = f"; the other {count(others, 'point')}: {percent(1 - shares.sum() / 100)} together" if others else ""
    ax.set_xlabel(f"share of D² in %{rest}")
    return finish(ax, "which points the distance is made of", legend=False)


def draw_diagonal(explanation: Explanation, sums: PairSums, ax: Any = None) -> Any:
    """u(x, x), how much each point can count, against where it lies; τ is the most that any point can."""
    ax, theme = canvas(ax)
    j = int(np.argmax(explanation.coordinates))
    x, values = sums.problem.rows.original[:, j], sums.diagonal[sums.rows]
    low, high = _window(x)
    outside = int(((x < low) | (x > high)).sum())
    some = some_of(np.ones(len(x), dtype=bool), MOST)
    x, values = x[some], values[some]
    order = np.argsort(x)
    if sums.problem.samples.shape[1] == 1:
        ax.plot(x[order], values[order], color=theme.model, linewidth=1)
    ax.scatter(x, values, s=8, color=theme.data, linewidths=0, alpha=0.8, label="data")
    if np.isfinite(sums.tau):
        ax.axhline(sums.tau, color=theme.blamed, linestyle="--", label="τ")
    beyond = f" ({count(outside, 'point')} outside of this picture)" if outside else ""
    ax.set(xlabel=f"{plain(explanation.names[j])}{beyond}", ylabel="u(x, x)", ylim=(0.0, None), xlim=(low, high))
    return finish(ax, "how much a point can count")


def _window(x: Floats) -> tuple[float, float]:
    """From the least point to the largest; a far one must not make a line of all others."""
    low, high = np.quantile(x, [_TAIL, 1.0 - _TAIL])
    room = 0.5 * (high - low) or 1.0
    ends = max(float(x.min()), low - room), min(float(x.max()), high + room)
    margin = 0.03 * (ends[1] - ends[0]) or 1.0
    return ends[0] - margin, ends[1] + margin


_CELLS = 60


def draw_witness(explanation: Explanation, view: View, ax: Any = None) -> Any:
    """Along the column that counts most, or over the plane of two columns."""
    ax, theme = canvas(ax)
    plane = len(explanation.names) == 2
    _draw_plane(explanation, view, ax) if plane else _draw_line(explanation, ax, theme)
    return finish(ax, "where the data have too much (+) or too little (−) mass", legend=not plane)


def _draw_line(explanation: Explanation, ax: Any, theme: Theme) -> None:
    j = int(np.argmax(explanation.coordinates))
    grid, values = explanation.witness_along(j)
    ax.axhline(0.0, color=theme.ink, linewidth=0.8)
    ax.plot(grid, values, color=theme.model, linewidth=2)
    for sign, color, label in ((1, theme.blamed, "more data than expected"), (-1, theme.model, "fewer data")):
        where = sign * values > 0
        ax.fill_between(grid, values, 0.0, where=where, color=color, alpha=0.3, linewidth=0, label=label)
    column = explanation.samples[:, j]
    shown = column[(column >= grid[0]) & (column <= grid[-1])][:2_000]
    ax.plot(shown, np.zeros_like(shown), "|", color=theme.data, markersize=7)
    through = "" if len(explanation.names) == 1 else ", through the median of the other columns"
    ax.set(xlabel=f"{plain(explanation.names[j])}{through}", ylabel="witness", xlim=(grid[0], grid[-1]))


def _draw_plane(explanation: Explanation, view: View, ax: Any) -> None:
    axes = [np.linspace(low, high, _CELLS) for low, high in view.window.T]
    places = np.stack([part.ravel() for part in np.meshgrid(*axes, indexing="ij")], axis=1)
    values = explanation.witness(places).reshape(_CELLS, _CELLS)
    most = float(np.nanmax(np.abs(values))) or 1.0
    look = {"cmap": "PuOr_r", "vmin": -most, "vmax": most}  # two colors that nobody confuses
    drawn = ax.pcolormesh(*axes, values.T, shading="gouraud", rasterized=True, **look)
    ax.scatter(*view.points.T, s=5, color="black", linewidths=0, alpha=0.5)
    ax.figure.colorbar(drawn, ax=ax, label="witness")
    ax.set(
        xlabel=plain(explanation.names[0]),
        ylabel=plain(explanation.names[1]),
        xlim=view.window[:, 0],
        ylim=view.window[:, 1],
    )
