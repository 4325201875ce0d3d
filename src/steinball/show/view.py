"""What the picture of the data shows: a window on one or two columns, the points in it, and the model's density."""

from __future__ import annotations

import math
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from steinball.arrays import Floats, like, to_host
from steinball.evidence.base import PairSums
from steinball.explain.explanation import Explanation
from steinball.explain.tolerance import Zones, zones_of
from steinball.models.base import score_of
from steinball.models.knowledge import Knowledge
from steinball.models.support import off_edges
from steinball.results.base import Result
from steinball.rows import Rows

MOST = 2_000
"""Points that a picture shows at most: a page has to stay small, and gray data must be seen beside blamed points."""

_TAIL, _ROOM, _FAR = 0.005, 0.08, 1.5
_DRAWS = 1_000


@dataclass(frozen=True, eq=False)
class View:
    """The data against the model in a window.

    Attributes
    ----------
    names : tuple of str
        Of the one or two columns that are shown.
    x : (n, k) array
        All points in these columns.
    window : (2, k) array
        Its lower and upper ends.
    inside : int
        How many points lie in the window.
    points, rows, blamed, far
        The shown points (m, k), their rows in the data, whether each is blamed, or lies far from all others.
    model : Shape or None
        The density of the model, where it is known.
    """

    names: tuple[str, ...]
    x: Floats
    window: Floats
    inside: int
    points: Floats
    rows: NDArray[np.intp]
    blamed: NDArray[np.bool_]
    far: NDArray[np.bool_]
    model: Shape | None

    @property
    def notes(self) -> list[str]:
        """What the picture leaves out."""
        said, n = [], len(self.x)
        if self.inside < n:
            said.append(f"{n - self.inside:,} of {n:,} points lie outside of this picture.")
        if self.model is None:
            said.append("The model's density is not drawn: it has no log density in these columns and no sampler.")
        if self.inside > len(self.points):
            said.append(f"{len(self.points):,} of {n:,} points are drawn.")
        return said


def view_of(explanation: Explanation, sums: PairSums, blamed: NDArray[np.intp]) -> View:
    """The picture of an explanation: one column, both of two, or the two that count most of more."""
    columns = tuple(sorted(np.argsort(-explanation.coordinates, kind="stable")[:2].tolist()))
    tested, names = sums.problem.rows, tuple(explanation.names[j] for j in columns)
    x, guilty, far = tested.original[:, columns], np.isin(sums.rows, blamed), np.isin(sums.rows, explanation.far)
    draws = tested.original_draws(_DRAWS)
    window = _window(x, None if draws is None else draws[:, columns], guilty | far)
    inside = ((x >= window[0]) & (x <= window[1])).all(axis=1)
    chosen = _chosen(inside, guilty | far)
    points, rows, guilty, far = x[chosen], sums.rows[chosen], guilty[chosen], (far & ~guilty)[chosen]
    model = shape_of(tested, columns, window)
    return View(names, x, window, int(inside.sum()), points, rows, guilty, far, model)


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


def widened(ends: Any, share: float) -> tuple[float, float]:
    """Two ends with more room beyond each, by a share of the distance between them; by 1 where there is none."""
    low, high = ends
    room = share * (high - low) or 1.0
    return float(low - room), float(high + room)


def some_of(there: NDArray[np.bool_], most: int) -> NDArray[np.intp]:
    """Places where something is true, in their order; where there are more than ``most``, so many drawn at random."""
    found = np.flatnonzero(there)
    return found if len(found) <= most else np.sort(np.random.default_rng(0).choice(found, most, replace=False))


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
    def zones(self) -> Zones:
        """The p-value against the tolerance."""
        return zones_of(self.result._evidence, self.result._tolerated, self.result.level)


# The density of a model on a grid of one or two columns, as far as its score, log density or draws tell.

CELLS = {1: 400, 2: 72}
"""Points of the grid along each column."""

MASSES = (0.5, 0.8, 0.95)
"""The shares of the model that its contours hold."""

_WIDER, _MANY_DRAWS = 2.0, 20_000


@dataclass(frozen=True, eq=False)
class Shape:
    """A density on a grid: ``axes`` are one or two rising sequences, ``values`` its values there."""

    axes: tuple[Floats, ...]
    values: Floats

    def within(self, window: Floats) -> Shape:
        """The part of the grid that lies in a window, (2, k): lower ends and upper ends."""
        kept = [(axis >= low) & (axis <= high) for axis, low, high in zip(self.axes, *window, strict=True)]
        return Shape(tuple(axis[k] for axis, k in zip(self.axes, kept, strict=True)), self.values[np.ix_(*kept)])


def shape_of(rows: Rows, columns: tuple[int, ...], window: Floats) -> Shape | None:
    """The model's density over one or two columns in a window, or ``None`` where nothing tells it.

    In one or two dimensions it follows from the log density, or from the score by integration. In more it is a marginal
    density, which draws of the model show.
    """
    found = None
    with suppress(Exception):  # a picture must not fail because a user's model does, on points that are not the data
        if len(columns) == rows.original.shape[1] and Knowledge(rows.model).evaluable:
            found = _integrated(rows, window)
    with suppress(Exception):
        found = _drawn(rows, columns, window) if found is None else found
    return found


def _grid(window: Floats, wider: float) -> list[Floats]:
    """A window with more room on all sides, where the mass is counted that lies outside of it."""
    low, high = window
    size = CELLS[len(low)]
    room = wider * (high - low)
    return [np.linspace(a - r, b + r, int(size * (1 + 2 * wider))) for a, b, r in zip(low, high, room, strict=True)]


def _integrated(rows: Rows, window: Floats) -> Shape | None:
    axes = _grid(window, _WIDER if len(window[0]) == 1 else 0.5)
    points = np.stack([part.ravel() for part in np.meshgrid(*axes, indexing="ij")], axis=1)
    support, known = rows.original_support, Knowledge(rows.original_model).log_density
    there = like(off_edges(points, support), rows.samples)
    shape = tuple(axis.size for axis in axes)
    with np.errstate(all="ignore"):
        if known is not None:
            logs = to_host(known(there)).reshape(shape)
        else:
            logs = _potential(to_host(score_of(rows.original_model, there)).reshape(*shape, len(axes)), axes)
        logs = logs if support is None else np.where(support.outside(points).reshape(shape), -np.inf, logs)
        values = np.exp(logs - np.max(logs[np.isfinite(logs)]))
    return _normalized(axes, np.where(np.isfinite(values), values, 0.0))


def _potential(scores: Floats, axes: list[Floats]) -> Floats:
    """log p up to a constant: the score integrated along the first axis through the middle, then along the second."""
    integral, middle = scipy.integrate.cumulative_trapezoid, axes[-1].size // 2
    if len(axes) == 1:
        return np.asarray(integral(scores[:, 0], axes[0], initial=0.0))
    first = integral(scores[:, middle, 0], axes[0], initial=0.0)
    second = integral(scores[:, :, 1], axes[1], initial=0.0)
    return np.asarray(first[:, None] + second - second[:, [middle]])


def _normalized(axes: list[Floats], values: Floats) -> Shape | None:
    cell = float(np.prod([axis[1] - axis[0] for axis in axes]))
    total = float(values.sum()) * cell
    return Shape(tuple(axes), values / total) if np.isfinite(total) and total > 0.0 else None


def _drawn(rows: Rows, columns: tuple[int, ...], window: Floats) -> Shape | None:
    """A smoothed histogram of draws of the model; one cell of smoothing per tenth of the window."""
    draws = rows.original_draws(_MANY_DRAWS)
    if draws is None:
        return None
    axes = _grid(window, 0.5)
    edges = [np.append(axis - (axis[1] - axis[0]) / 2.0, axis[-1] + (axis[1] - axis[0]) / 2.0) for axis in axes]
    counts = np.histogramdd(draws[:, columns], bins=edges)[0]
    return _normalized(axes, scipy.ndimage.gaussian_filter(counts, CELLS[len(columns)] / 30.0))


def mass_levels(values: Floats, masses: tuple[float, ...] = MASSES) -> Floats:
    """The heights above which a density on an even grid holds these shares of its mass, rising.

    Examples
    --------
    >>> mass_levels(np.array([[4.0, 3.0], [2.0, 1.0]]), (0.7, 0.4))
    array([3., 4.])
    """
    heights = np.sort(values.ravel())[::-1]
    shares = np.cumsum(heights) / heights.sum()
    places = np.minimum(np.searchsorted(shares, np.asarray(masses) - 1e-12), heights.size - 1)
    return np.unique(heights[places])


def contours(shape: Shape, level: float) -> Floats:
    """Where a density on a two-dimensional grid has one height: segments (m, 2, 2), each from a point to a point.

    Every cell is cut into two triangles, on which the height is linear.

    Examples
    --------
    >>> axis = np.array([0.0, 1.0])
    >>> contours(Shape((axis, axis), np.array([[0.0, 0.0], [1.0, 1.0]])), 0.5)[:, :, 0]
    array([[0.5, 0.5],
           [0.5, 0.5]])
    """
    xs, ys = np.meshgrid(*shape.axes, indexing="ij")
    corners = np.stack([xs, ys, shape.values - level], axis=-1)
    a, b, c, d = corners[:-1, :-1], corners[1:, :-1], corners[1:, 1:], corners[:-1, 1:]
    triangles = np.concatenate([np.stack(part, axis=2).reshape(-1, 3, 3) for part in ((a, b, c), (a, d, c))])
    above = triangles[:, :, 2] > 0.0
    crossed = above.any(axis=1) & ~above.all(axis=1)
    triangles, above = triangles[crossed], above[crossed]
    # The corner that lies on a side of its own comes first.
    odd = np.where(above.sum(axis=1) == 1, above.argmax(axis=1), above.argmin(axis=1))
    turned = np.take_along_axis(triangles, (odd[:, None, None] + np.arange(3)[None, :, None]) % 3, axis=1)
    alone, others = turned[:, :1], turned[:, 1:]
    share = alone[..., 2:] / (alone[..., 2:] - others[..., 2:])
    return np.asarray(alone[..., :2] + share * (others[..., :2] - alone[..., :2]))
