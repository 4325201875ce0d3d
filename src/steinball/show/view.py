"""What the picture of the data shows: a window on one or two columns, the points in it, and the model's density."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steinball.arrays import Floats
from steinball.evidence.base import PairSums
from steinball.explain.explanation import Explanation
from steinball.explain.regions import Profile
from steinball.results.base import Result
from steinball.rows import Rows
from steinball.show.density import Shape, shape_of
from steinball.show.tolerance import Zones, zones_of

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
