"""The density of a model on a grid of one or two columns, as far as its score, log density or draws tell."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from steinball.arrays import Floats, like, to_host
from steinball.models.base import score_of
from steinball.models.knowledge import Knowledge
from steinball.models.support import off_edges
from steinball.rows import Rows

CELLS = {1: 400, 2: 72}
"""Points of the grid along each column."""

MASSES = (0.5, 0.8, 0.95)
"""The shares of the model that its contours hold."""

_WIDER, _DRAWS = 2.0, 20_000


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
    whole = len(columns) == rows.original.shape[1]
    ways: list[Callable[[], Shape | None]] = [lambda: _drawn(rows, columns, window)]
    if whole and Knowledge(rows.model).evaluable:
        ways.insert(0, lambda: _integrated(rows, window))
    return next((found for found in map(_attempt, ways) if found is not None), None)


def _attempt(way: Callable[[], Shape | None]) -> Shape | None:
    try:
        return way()
    except Exception:  # a picture must not fail because a user's model does, on points that are not the data
        return None


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
    first = _cumulative(scores[..., 0] if len(axes) == 1 else scores[:, axes[1].size // 2, 0], axes[0])
    if len(axes) == 1:
        return first
    second = np.stack([_cumulative(row, axes[1]) for row in scores[:, :, 1]])
    return np.asarray(first[:, None] + second - second[:, [axes[1].size // 2]])


def _cumulative(slopes: Floats, axis: Floats) -> Floats:
    """The integral from the start of the axis, by the trapezoidal rule."""
    return np.concatenate([[0.0], np.cumsum(np.diff(axis) * (slopes[1:] + slopes[:-1]) / 2.0)])


def _normalized(axes: list[Floats], values: Floats) -> Shape | None:
    cell = float(np.prod([axis[1] - axis[0] for axis in axes]))
    total = float(values.sum()) * cell
    return Shape(tuple(axes), values / total) if np.isfinite(total) and total > 0.0 else None


def _drawn(rows: Rows, columns: tuple[int, ...], window: Floats) -> Shape | None:
    """A smoothed histogram of draws of the model; one cell of smoothing per tenth of the window."""
    from scipy.ndimage import gaussian_filter

    draws = rows.original_draws(_DRAWS)
    if draws is None:
        return None
    axes = _grid(window, 0.5)
    edges = [np.append(axis - (axis[1] - axis[0]) / 2.0, axis[-1] + (axis[1] - axis[0]) / 2.0) for axis in axes]
    counts = np.histogramdd(draws[:, columns], bins=edges)[0]
    return _normalized(axes, gaussian_filter(counts, CELLS[len(columns)] / 30.0))


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
    crossed = triangles[above.any(axis=1) & ~above.all(axis=1)]
    return np.stack([_crossing(one) for one in crossed]) if len(crossed) else np.empty((0, 2, 2))


def _crossing(triangle: Floats) -> Floats:
    """The two points on the sides of a triangle where its height is 0."""
    ends = []
    for one, other in ((0, 1), (1, 2), (2, 0)):
        low, high = triangle[one], triangle[other]
        if (low[2] > 0.0) != (high[2] > 0.0):
            share = low[2] / (low[2] - high[2])
            ends.append(low[:2] + share * (high[:2] - low[:2]))
    return np.array(ends)
