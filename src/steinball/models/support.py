"""Where a model has its mass: the ends of its support, data that lie outside or on them, and moves of both."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from steinball.arrays import Array, Floats, check_choice, dtype_name, like, to_host

OUTSIDE = ("error", "contaminated")
_ROUNDED_SHARE, _ROUNDED_POINTS = 0.05, 3
_TIMES_THE_NEXT = 5.0  # a density that rises toward its edge puts more into the last half cell than into the next
_ULPS = 4096.0  # how many roundings away from an edge a point is put that was rounded onto it


@lru_cache  # a test of a model with edges asks thirty times
def _broadcast(ends: tuple[tuple[float, float], ...], dimension: int) -> tuple[Floats, Floats]:
    low, high = np.array(ends).T
    return np.broadcast_to(low, (dimension,)), np.broadcast_to(high, (dimension,))


@dataclass(frozen=True)
class Support:
    """A box: the two ends of every column, or one pair for all of them; infinite ends are ±∞.

    Examples
    --------
    >>> Support.of((0, None)).outside(np.array([[1.0, 2.0], [-1.0, 2.0]]))
    array([False,  True])
    >>> Support.of([(0, 1), (None, None)])
    Support(ends=((0.0, 1.0), (-inf, inf)))
    """

    ends: tuple[tuple[float, float], ...]

    @classmethod
    def of(cls, value: Any) -> Support:
        """What a user passed: a pair (low, high) for every column, or a list of pairs; ``None`` is infinite."""
        if isinstance(value, Support):
            return value
        try:
            parts = list(value)
            pairs = [parts] if len(parts) == 2 and all(np.ndim(part) == 0 for part in parts) else parts
            ends = tuple(_pair(*pair) for pair in pairs)
        except (TypeError, ValueError):
            ends = ()
        if not ends or not all(low < high for low, high in ends):
            raise ValueError(
                "`support` must be a pair (low, high) with low below high and None for an infinite end, or one such "
                f"pair per column, got {value!r}."
            )
        return cls(ends)

    def __str__(self) -> str:
        words = [f"({low:g}, {high:g})".replace("inf", "∞") for low, high in self.ends]
        return words[0] if len(words) == 1 else f"[{', '.join(words)}]"

    @property
    def has_edges(self) -> bool:
        """Whether some end is finite."""
        return bool(np.isfinite(np.array(self.ends)).any())

    def along(self, dimension: int) -> tuple[Floats, Floats]:
        """The lower and the upper ends, shape (d,) each."""
        if len(self.ends) not in (1, dimension):
            raise ValueError(f"`support` has {len(self.ends)} columns, but the samples have {dimension}.")
        return _broadcast(self.ends, dimension)

    def distances(self, x: Floats) -> tuple[Floats, Floats]:
        """How far each coordinate lies above its lower and below its upper end, shape (n, d); negative outside."""
        low, high = self.along(x.shape[1])
        return x - low, high - x

    def distance(self, x: Floats) -> Floats:
        """The distance of each coordinate from the nearer of its ends, shape (n, d)."""
        return np.minimum(*self.distances(x))

    def outside(self, x: Floats) -> NDArray[np.bool_]:
        """Which rows of ``x`` (n, d) lie outside."""
        return np.asarray((self.distance(x) < 0.0).any(axis=1))

    def off_edges(self, x: Floats, kind: str = "float64") -> Floats:
        """Rows of the closed box, with coordinates on an edge or next to it moved to where a score 1/r is finite."""
        finfo, (low, high) = np.finfo(kind), self.along(x.shape[1])

        def least_distance(ends: Floats) -> Floats:
            sizes = np.where(np.isfinite(ends), np.abs(ends), 0.0)
            return np.asarray(np.maximum(_ULPS * finfo.eps * sizes, float(finfo.tiny) ** 0.25))

        return np.clip(x, low + least_distance(low), high - least_distance(high))

    def within_cells(self, x: Floats, step: Floats) -> Floats:
        """Rows with coordinates on an edge moved to the middle of the half cell that was rounded onto it."""
        low, high = self.along(x.shape[1])
        return np.where(x == low, low + 0.25 * step, np.where(x == high, high - 0.25 * step, x))

    def expected_on_edge(self, x: Floats, step: Floats) -> float:
        """How many rows rounding may have put on an edge: a few times as many as it put on the next value."""
        low, high = self.along(x.shape[1])
        beside = (np.abs(x - next_value) < 1e-6 * step for next_value in (low + step, high - step))
        return _TIMES_THE_NEXT * float(sum(rows.any(axis=1).sum() for rows in beside))

    def rows_inside(self, x: Floats) -> Floats:
        """The rows of ``x`` that lie inside; one point of the box where there are none."""
        inside = x[(self.distance(x) > 0.0).all(axis=1)]
        if len(inside):
            return inside
        low, high = self.along(x.shape[1])
        middle = np.where(np.isfinite(low), np.where(np.isfinite(high), (low + high) / 2.0, low + 1.0), high - 1.0)
        return np.where(np.isfinite(middle), middle, 0.0)[None, :]


def _pair(low: Any, high: Any) -> tuple[float, float]:
    return -np.inf if low is None else float(low), np.inf if high is None else float(high)


@dataclass(frozen=True, eq=False)
class Move(ABC):
    """How rows come from one system of coordinates to another, with the model and its support in the first one."""

    model: Any
    support: Support | None = None
    #: Whether the rows themselves say where they are moved.
    from_data: bool = field(default=False, kw_only=True)
    #: What a result says of where the rows are tested; empty where nothing need be said.
    label: ClassVar[str] = ""
    #: How many times as large distances become, at most.
    stretch: ClassVar[float] = 1.0
    #: How many times as large scores become, at most.
    score_stretch: ClassVar[float] = 1.0

    @abstractmethod
    def __call__(self, samples: Array) -> Array:
        """The samples there, in their own library."""


def place(
    samples: Array, support: Support | None, outside: str = "error", steps: Callable[[Floats], Floats] | None = None
) -> tuple[Array, NDArray[np.intp], dict[str, int]]:
    """The samples inside a support, the places of the others among all, and what a result says of them.

    Points outside are refused or set apart, points on an edge moved off it: where ``steps`` finds that the columns are
    rounded, by a quarter of their step, since half a cell of the grid was rounded onto the edge.

    Examples
    --------
    >>> inside, excluded, remarks = place(np.array([[1.0], [-1.0], [0.0]]), Support.of((0, None)), "contaminated")
    >>> excluded, remarks
    (array([1]), {'outside the support': 1, 'moved off the edge': 1})
    """
    check_choice(outside, "outside", OUTSIDE)
    if support is None:
        return samples, np.empty(0, dtype=np.intp), {}
    x = to_host(samples)
    nearest = support.distance(x).min(axis=1)
    out, edge = nearest < 0.0, nearest == 0.0
    if out.any() and outside == "error":
        raise ValueError(_outside(out, support))
    if out.sum() > len(x) - 2:
        raise ValueError(f"at least 2 of `samples` must lie in the support {support} of the model, got {sum(~out)}.")
    inside = x[~out]
    if edge.any():
        step = np.zeros(x.shape[1]) if steps is None else steps(inside)
        if edge.sum() > max(_ROUNDED_POINTS, _ROUNDED_SHARE * len(x), support.expected_on_edge(inside, step)):
            raise ValueError(_on_edge(edge, support))
        inside = support.within_cells(inside, step)
    inner = support.off_edges(inside, dtype_name(samples))
    if out.any() or (inner != x).any():
        samples = like(inner, samples)
    found = {"outside the support": int(out.sum()), "moved off the edge": int(edge.sum())}
    return samples, np.flatnonzero(out), {words: count for words, count in found.items() if count}


def off_edges(x: Floats, support: Support | None, kind: str = "float64") -> Floats:
    """Rows where a score is finite: :meth:`Support.off_edges`, or as they are where there is no edge."""
    return x if support is None else support.off_edges(x, kind)


def within(rows: Array, support: Support) -> Array:
    """Rows of a stream: refused outside the support, moved off its edge."""
    x = to_host(rows)
    out = support.outside(x)
    if out.any():
        raise ValueError(_outside(out, support))
    return like(support.off_edges(x, dtype_name(rows)), rows)


def _outside(out: NDArray[np.bool_], support: Support) -> str:
    return (
        f"`samples` must lie within the support {support} of the model, but {out.sum()} of {len(out)} rows do not "
        f"(first: row {np.argmax(out)}). The model excludes such points: correct the data or the support, or count "
        'these points as contaminated by `robust_ksd_test(..., outside="contaminated")`.'
    )


def _on_edge(edge: NDArray[np.bool_], support: Support) -> str:
    return (
        f"{edge.sum()} of {len(edge)} `samples` lie exactly on an edge of the support {support} of the model (first: "
        f"row {np.argmax(edge)}): too many to be rounding, and a density has no mass in a single place. Test the other "
        "points, or correct the support."
    )
