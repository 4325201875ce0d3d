"""What the picture of the data shows: a window on one or two columns, the points in it, and the model's density."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from textwrap import fill
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steinball.arrays import Floats
from steinball.evidence.base import PairSums
from steinball.explain.explanation import Explanation
from steinball.explain.regions import Profile
from steinball.results.base import Result
from steinball.rows import Rows
from steinball.show.density import Shape, mass_levels, shape_of
from steinball.show.svg import Theme, canvas, finish, mark_beyond, plain
from steinball.show.tolerance import Zones, zones_of
from steinball.text import percent

MOST = 2_000
"""Points that a picture shows at most: a page has to stay small, and gray data must be seen beside blamed points."""

_TAIL, _ROOM, _FAR = 0.005, 0.08, 1.5
_BARS = 40
_DRAWS = 1_000


@dataclass(frozen=True, eq=False)
class View:
    """The data against the model in a window.

    Attributes
    ----------
    names : tuple of str
        Of the one or two columns that are shown.
    window : (2, k) array
        Its lower and upper ends.
    points, rows, blamed, far
        The shown points (m, k), their rows in the data, whether each is blamed, or lies far from all others.
    bars : pair of arrays
        Edges and heights of the histogram of the first column, as a density of all points.
    model : Shape or None
        The density of the model, where it is known.
    beyond : int
        Points outside of the window; those of one column to its left and right are ``sides``.
    n : int
        Number of points in all.
    """

    names: tuple[str, ...]
    window: Floats
    points: Floats
    rows: NDArray[np.intp]
    blamed: NDArray[np.bool_]
    far: NDArray[np.bool_]
    bars: tuple[Floats, Floats]
    model: Shape | None
    sides: tuple[int, int]
    beyond: int
    n: int

    @property
    def notes(self) -> list[str]:
        """What the picture leaves out."""
        said = []
        if self.beyond:
            said.append(f"{self.beyond:,} of {self.n:,} points lie outside of this picture.")
        if self.model is None:
            said.append("The model's density is not drawn: it has no log density in these columns and no sampler.")
        if self.n - self.beyond > len(self.points):
            said.append(f"{len(self.points):,} of {self.n:,} points are drawn.")
        return said


def view_of(explanation: Explanation, sums: PairSums, blamed: NDArray[np.intp]) -> View:
    """The picture of an explanation: one column, both of two, or the two that count most of more."""
    columns = _worst(explanation.coordinates)
    tested, rows = sums.problem.rows, sums.rows
    x, guilty, far = tested.original[:, columns], np.isin(rows, blamed), np.isin(rows, explanation.far)
    window = _window(x, _model_draws(tested, columns), guilty | far)
    inside = ((x >= window[0]) & (x <= window[1])).all(axis=1)
    chosen = _chosen(inside, guilty | far)
    edges = np.linspace(window[0, 0], window[1, 0], _bar_count(inside) + 1)
    return View(
        names=tuple(explanation.names[j] for j in columns),
        window=window,
        points=x[chosen],
        rows=rows[chosen],
        blamed=guilty[chosen],
        far=far[chosen] & ~guilty[chosen],
        bars=(edges, np.histogram(x[:, 0], bins=edges)[0] / (len(x) * (edges[1] - edges[0]))),
        model=shape_of(tested, columns, window),
        sides=(int((x[:, 0] < window[0, 0]).sum()), int((x[:, 0] > window[1, 0]).sum())),
        beyond=int((~inside).sum()),
        n=len(x),
    )


def _worst(shares: Floats) -> tuple[int, ...]:
    """The columns that count most, at most two of them, in their order."""
    most = np.argsort(-shares, kind="stable")[:2]
    return tuple(sorted(int(j) for j in most))


def _model_draws(tested: Rows, columns: tuple[int, ...]) -> Floats | None:
    draws = tested.original_draws(_DRAWS)
    return None if draws is None else draws[:, columns]


def _window(x: Floats, draws: Floats | None, guilty: NDArray[np.bool_]) -> Floats:
    """Nearly all of the data and of the model; blamed points too, unless they would make all else a line."""
    low, high = np.quantile(x, [_TAIL, 1.0 - _TAIL], axis=0)
    if draws is not None:
        ends = np.quantile(draws, [_TAIL, 1.0 - _TAIL], axis=0)
        low, high = np.minimum(low, ends[0]), np.maximum(high, ends[1])
    room = np.where(high > low, high - low, np.maximum(np.abs(high), 1.0))
    near = x[guilty & ((x > low - _FAR * room) & (x < high + _FAR * room)).all(axis=1)]
    low, high = np.minimum(low, near.min(axis=0, initial=np.inf)), np.maximum(high, near.max(axis=0, initial=-np.inf))
    room = _ROOM * np.where(high > low, high - low, np.maximum(np.abs(high), 1.0))
    return np.stack([low - room, high + room])


def _chosen(inside: NDArray[np.bool_], guilty: NDArray[np.bool_]) -> NDArray[np.intp]:
    """The points to draw, in their order: all, or a part with at most a quarter of blamed ones, which else cover it."""
    if inside.sum() <= MOST:
        return np.flatnonzero(inside)
    first = some_of(inside & guilty, MOST // 4)
    return np.sort(np.concatenate([first, some_of(inside & ~guilty, MOST - len(first))]))


def some_of(there: NDArray[np.bool_], most: int) -> NDArray[np.intp]:
    """Places where something is true, in their order; where there are more than ``most``, so many drawn at random."""
    found = np.flatnonzero(there)
    return found if len(found) <= most else np.sort(np.random.default_rng(0).choice(found, most, replace=False))


def _bar_count(inside: NDArray[np.bool_]) -> int:
    return int(np.clip(3.0 * np.cbrt(max(1, inside.sum())), 8, _BARS))


TOP = 10
"""Points that are named."""


@dataclass(frozen=True, eq=False)
class Scene:
    """A result, and the frame that was tested where there is one."""

    result: Result
    data: Any = None

    @cached_property
    def explanation(self) -> Explanation:
        """Which points, columns and places count."""
        return self.result.explain(self.data, top=min(TOP, self.result.n))

    @cached_property
    def sums(self) -> PairSums:
        """What the leading kernel says of every point."""
        return self.result._sums()[0]

    @cached_property
    def blamed(self) -> NDArray[np.intp]:
        """The most responsible points: ten, or as many as must be conceded to be contaminated."""
        found = self.explanation.contributions
        many = max(min(TOP, self.result.n), math.ceil(self.result.contamination_bound * self.result.n))
        order = np.argsort(-found, kind="stable")[:many]
        return order[found[order] > 0.0]

    @cached_property
    def view(self) -> View:
        """The data in their window."""
        return view_of(self.explanation, self.sums, self.blamed)

    @cached_property
    def profile(self) -> Profile:
        """The view that decides, where shares of rows were compared."""
        found = self.result._profile()
        assert found is not None
        return found

    @cached_property
    def zones(self) -> Zones:
        """The p-value against the tolerance."""
        return zones_of(self.result)


BLAMED, FAR = "most responsible", "far from all others"
_RUG, _NOTE = 0.05, 62


def draw_sample(view: View, ax: Any = None) -> Any:
    """One column as a histogram and a rug, two as points; the model as a density or as contours."""
    ax, theme = canvas(ax)
    (_draw_one if len(view.names) == 1 else _draw_two)(view, ax, theme)
    notes = (fill(note, _NOTE) for note in view.notes)
    ax.set_xlabel("\n".join([plain(view.names[0]), *notes]))  # a label of its own could lie over this one
    return finish(ax, "data and model")


def _draw_one(view: View, ax: Any, theme: Theme) -> None:
    edges, heights = view.bars
    ax.stairs(heights, edges, fill=True, color=theme.data, alpha=0.45, label="data")
    top = max(float(heights.max(initial=0.0)), 1e-300)
    if view.model is not None:
        model = view.model.within(view.window)
        ax.plot(model.axes[0], model.values, color=theme.model, linewidth=2, label="model")
        top = max(top, float(model.values.max(initial=0.0)))
    ordinary = ~(view.blamed | view.far)
    kinds = ((ordinary, theme.data, 1, ""), (view.far, theme.unsure, 1.5, FAR), (view.blamed, theme.blamed, 2, BLAMED))
    for chosen, color, height, label in kinds:
        if chosen.any():
            places = view.points[chosen, 0]
            ax.vlines(places, -height * _RUG * top, 0.0, color=color, linewidth=1.2, label=label)
    mark_beyond(ax, view.sides, theme.ink)
    ax.set(xlim=view.window[:, 0], ylim=(-2.4 * _RUG * top, 1.08 * top), ylabel="density")


def _draw_two(view: View, ax: Any, theme: Theme) -> None:
    others, guilty, far = (view.points[kind] for kind in (~(view.blamed | view.far), view.blamed, view.far))
    size, marked = (12, 26) if len(view.points) < 700 else (5, 12)
    ax.scatter(*others.T, s=size, color=theme.data, alpha=0.7, linewidths=0, label="data")
    if view.model is not None:
        levels = mass_levels(view.model.values)
        ax.contour(*view.model.axes, view.model.values.T, levels=levels, colors=theme.model, linewidths=1.3)
        ax.plot([], [], color=theme.model, linewidth=1.3, label="model (50, 80, 95 % of it)")
    if len(far):
        ax.scatter(*far.T, s=30, marker="^", facecolors="none", edgecolors=theme.unsure, label=FAR)
    if len(guilty):
        ax.scatter(*guilty.T, s=marked, marker="D", color=theme.blamed, linewidths=0, label=BLAMED)
    ax.set(xlim=view.window[:, 0], ylim=view.window[:, 1], ylabel=plain(view.names[1]))


def draw_regions(found: Profile, ax: Any = None) -> Any:
    """Shares of data and model in cells of the view that decides, with the region shaded."""
    ax, theme = canvas(ax)
    edges, data, model = found.bars
    for k, (low, high) in enumerate(found.spans):
        label = "most short of rows" if k == 0 else None
        ax.axvspan(low, high, color=theme.blamed, alpha=theme.tint, linewidth=0, label=label)
    ax.stairs(data, edges, fill=True, color=theme.data, alpha=0.55, label="data")
    ax.stairs(model, edges, color=theme.model, linewidth=2, label="model")
    mark_beyond(ax, found.beyond, theme.ink)
    if found.labels:
        ax.set_xticks(range(len(found.labels)), [plain(name) for name in found.labels])
    ax.set(xlim=found.window, ylim=(0.0, None), xlabel=plain(found.name), ylabel="share of rows")
    ax.yaxis.set_major_formatter(lambda value, _: percent(value))
    expected, observed = percent(found.region.expected), percent(found.region.observed)
    return finish(ax, f"shaded: model {expected}, data {observed}")
