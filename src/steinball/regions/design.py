"""All that is fixed before the rows are seen: views, cuts, arcs, and what the model expects in them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from steinball.arrays import Floats, chunks
from steinball.regions.source import Grid, Rows, Source
from steinball.regions.tails import Counts
from steinball.regions.views import Family, column_families

MOST_VALUES = 150_000_000  # values of views at draws of a pool, at most: a pool is as large as the views allow

MOST_DRAWS = 2_000_000
_STEPS = (1, 2, 4)  # arcs between every cut, every second and every fourth share the level
TOGETHER = 1 << 24  # values of views that are in memory together
_SEED = 20230919


def levels(n: int, pool: float = math.inf) -> Floats:
    """Shares below the cuts: equal cells, 2n^0.4 within [8, 40], then tails by factors of 4 down to 0.02/n.

    Parameters
    ----------
    n : int
        Number of rows.
    pool : float
        Draws that the cuts come from; tails then end at 5/``pool``.

    Examples
    --------
    >>> levels(20)[:8].round(4)
    array([0.0039, 0.0156, 0.0625, 0.125 , 0.25  , 0.375 , 0.5   , 0.625 ])
    """
    cells = int(np.clip(round(2.0 * n**0.4), 8, 40))
    tails = 0.5 / cells / 4.0 ** np.arange(30)
    tails = tails[tails >= max(0.02 / n, 5.0 / pool)]
    return np.sort(np.concatenate([tails, np.arange(1, cells) / cells, 1.0 - tails]))


class Arcs(NamedTuple):
    """All intervals between cuts but the whole line, then the complements of those that touch neither end.

    Attributes
    ----------
    start, stop : int arrays
        Where the interval begins and ends, or the one that the arc is the complement of.
    inner : int array
        Of each complement the position of its interval.
    """

    start: NDArray[np.intp]
    stop: NDArray[np.intp]
    inner: NDArray[np.intp]

    @property
    def intervals(self) -> int:
        """So many arcs are intervals, the others complements."""
        return len(self.start) - len(self.inner)

    @classmethod
    def between(cls, cuts: int) -> Arcs:
        """The arcs between so many cuts."""
        start, stop = np.triu_indices(cuts + 2, 1)
        start, stop = start[stop - start <= cuts], stop[stop - start <= cuts]
        inner = np.flatnonzero((start > 0) & (stop <= cuts))
        return cls(np.append(start, start[inner]), np.append(stop, stop[inner]), inner)

    def sums(self, below: NDArray[Any]) -> NDArray[Any]:
        """From what lies below each cut, (..., K + 2), to what lies in each arc, (..., arcs)."""
        stop, start = self.stop[: self.intervals], self.start[: self.intervals]
        inside = np.take(below, stop, axis=-1) - np.take(below, start, axis=-1)
        return np.concatenate([inside, below[..., -1:] - np.take(inside, self.inner, axis=-1)], axis=-1)

    def votes(self, distinct: NDArray[np.bool_]) -> Floats:
        """The part of the level that each arc gets, (1 or T, arcs): a third is for all arcs, a third for those between
        every second cut, a third for those between every fourth; only ``distinct`` ones get any."""
        found = np.full(distinct.shape, 1e-300)
        for step in _STEPS:
            some = distinct & (self.start % step == 0) & ((self.stop % step == 0) | (self.stop == self.stop.max()))
            found += some / np.maximum(some.sum(axis=1, keepdims=True), 1)
        return np.asarray(found / found.sum(axis=1, keepdims=True))


@dataclass(frozen=True, eq=False)
class Cut:
    """A family of T views with K cuts each.

    Attributes
    ----------
    edges : array
        The cuts, (T, K). A row lies below a cut where its value is at most the edge.
    heads : array
        What speaks for the probability below each cut, (1, K + 2) for all views alike, or (T, K + 2).
    size : float
        An arc with g heads has the probability g/(heads of the line), with the law Beta(g, size + 1 − g); with infinite
        size it is known.
    apart, rest : array, int
        How many of ``rest`` draws that did not give the cuts lie below them, (T, K + 2).
    atoms : bool
        Whether values of views have atoms: their counts among draws apart are then the heads.
    """

    family: Family
    arcs: Arcs
    edges: Floats
    heads: Floats
    size: float
    apart: Counts
    rest: int
    atoms: bool = False

    @cached_property
    def distinct(self) -> NDArray[np.bool_]:
        """Arcs that are not the same set as another one, (1 or T, arcs): their outermost cells are not empty."""
        some = np.diff(np.pad(self.edges, ((0, 0), (1, 1)), constant_values=((0, 0), (-np.inf, np.inf)))) > 0.0
        return some[: len(self.heads), self.arcs.start] & some[: len(self.heads), self.arcs.stop - 1]


class Expected(NamedTuple):
    """What is expected in all N arcs of all families, one after the other."""

    share: Floats  # (N,), 0 for an arc that repeats another one
    heads: Floats  # (N,)
    size: Floats  # (N,)
    weight: Floats  # (N,): regions that the tail of an arc is multiplied by
    starts: NDArray[np.intp]  # (families,): where the arcs of each family begin


def cumulative(values: Floats, edges: Floats) -> Counts:
    """How many values (T, ..., n) are at most each edge (T, K): (T, ..., K + 2), from 0 to all that are not NaN.

    Examples
    --------
    >>> cumulative(np.array([[3.0, 1.0, np.nan, 2.0]]), np.array([[1.0, 2.5]]))
    array([[0, 1, 2, 3]], dtype=int16)
    """
    ordered = np.sort(values, axis=-1)
    small = np.int16 if values.shape[-1] < 1 << 15 else np.int32  # sums over arcs of many views take half the time
    found = np.zeros((*values.shape[:-1], edges.shape[1] + 2), dtype=small)
    ends = np.pad(edges, ((0, 0), (0, 1)), constant_values=np.inf)
    for place in np.ndindex(*values.shape[:-1]):
        found[place][1:] = ordered[place].searchsorted(ends[place[0]], side="right")
    return found


@dataclass(frozen=True, eq=False)
class Design:
    """Views, cuts and arcs for n rows of a model. It depends on model, n and views alone and may be kept.

    Attributes
    ----------
    cuts : tuple of Cut
        One a family, for p-values and lower bounds.
    halves : tuple of Cut
        The same with draws that were counted apart from those that gave the cuts, for upper bounds.
    """

    source: Source
    n: int
    cuts: tuple[Cut, ...]
    halves: tuple[Cut, ...]

    @classmethod
    def build(cls, source: Source, n: int, families: Sequence[Family] | None = None, draws: int = MOST_DRAWS) -> Design:
        """The design for n rows.

        Parameters
        ----------
        source : Source
            The model.
        n : int
            Number of rows.
        families : sequence of Family, optional
            The views; by default those of the columns. Without them a distribution function makes probabilities exact.
        draws : int
            Draws of each of the two parts of the pool, at most: less for a sampler that is slow.

        Examples
        --------
        >>> Design.build(Source(cdf=lambda x: np.clip(x / 2.0, 0.0, 1.0)), 20).cuts[0].edges[0, :8].round(4)
        array([0.0078, 0.0312, 0.125 , 0.25  , 0.5   , 0.75  , 1.    , 1.25  ])
        """
        if source.cdf is not None and families is None:
            known = (_known_cut(source, n),)
            return cls(source, n, known, known)
        families = column_families(source) if families is None else families
        if source.draws is not None:
            rows, m = source.rows(source.draws), len(source.draws)
            halves = _pool_cuts(rows, families, m // 2, n)
            tied = any(cut.atoms for cut in halves)
            return cls(source, n, halves if tied else _pool_cuts(rows, families, m, n), halves)
        most = min(max(5_000, MOST_VALUES // (2 * sum(family.size for family in families))), draws)
        first, second = min(max(50 * n, 10_000), most), min(max(100 * n, 20_000), most)
        rows = source.rows(source.draw(first + second, np.random.default_rng(_SEED)))
        cuts = _pool_cuts(rows, families, first, n)
        return cls(source, n, cuts, cuts)

    @property
    def views(self) -> int:
        """Number of views."""
        return sum(cut.family.size for cut in self.cuts)

    @cached_property
    def expected(self) -> Expected:
        """What is expected in all arcs."""
        found = []
        for cut in self.cuts:
            heads = cut.arcs.sums(cut.heads) * cut.distinct
            weight = len(self.cuts) * cut.family.size / cut.arcs.votes(cut.distinct)
            found.append(np.stack([heads / cut.heads[0, -1], heads, np.full(heads.shape, cut.size), weight]))
        starts = np.cumsum([0, *(arrays[0].size for arrays in found[:-1])])
        share, heads, size, weight = np.concatenate([arrays.reshape(4, -1) for arrays in found], axis=1)
        return Expected(share, heads, size, weight, starts)

    def deciding(self, below: Sequence[Counts]) -> Counts:
        """From counts below the cuts of each family, (T, R, K + 2), to those in all arcs that decide, (R, N).

        Of views whose arcs have the same probability the smallest count decides, otherwise each.
        """
        found = []
        for cut, counts in zip(self.cuts, below, strict=True):
            sums = cut.arcs.sums(counts)
            least = sums.min(axis=0, keepdims=True) if len(cut.heads) == 1 else sums
            found.append(np.moveaxis(least, 1, 0).reshape(counts.shape[1], -1))
        return np.concatenate(found, axis=1)


def counts_below(rows: Rows, cuts: Sequence[Cut]) -> list[Counts]:
    """For each family the counts of rows below its cuts, (T, K + 2)."""
    found = []
    for cut in cuts:
        some = chunks(cut.family.size, len(rows.x), TOGETHER)
        found.append(np.concatenate([cumulative(cut.family.at(rows, p), cut.edges[p]) for p in some]))
    return found


def _known_cut(source: Source, n: int) -> Cut:
    """One column with a distribution function: cuts and probabilities are exact."""
    below = levels(n)
    edges = source.quantiles(below)
    grid = Grid(np.ones(1), np.zeros(1)) if source.discrete else source.grid
    if grid is not None:
        edges = np.unique(grid.above(edges))
        below = np.asarray(source.cdf(edges))
        some = (np.diff(below, prepend=0.0) > 0.0) & (below < 1.0)
        edges, below = edges[some], below[some]
        if not len(edges):
            raise ValueError("the model gives one value alone: there is no region to look at.")
    known = np.concatenate([[0.0], below, [1.0]])[None]
    return Cut(column_families(source)[0], Arcs.between(len(edges)), edges[None], known, math.inf, known, 0)


def _pool_cuts(rows: Rows, families: Sequence[Family], first: int, n: int) -> tuple[Cut, ...]:
    """Cuts at ranks among the first draws of a pool; the other draws count what lies between the cuts."""
    ranks = np.unique(np.clip(np.rint(levels(n, first) * (first + 1)), 1, first)).astype(np.int64)
    arcs, ahead, rest = Arcs.between(len(ranks)), np.array([[0.0, *ranks, first + 1.0]]), len(rows.x) - first
    cuts = []
    for family in families:
        some = chunks(family.size, len(rows.x), TOGETHER)
        found = [_edges(family.at(rows, part), first, n, ranks) for part in some]
        edges, apart = (np.concatenate([part[k] for part in found]) for k in (0, 1))
        tied = any(part[2] for part in found)
        heads = apart.astype(np.float64) if tied else ahead
        cuts.append(Cut(family, arcs, edges, heads, rest if tied else first, apart, rest, tied))
    return tuple(cuts)


def _edges(values: Floats, first: int, n: int, ranks: NDArray[np.int64]) -> tuple[Floats, Counts, bool]:
    """Cuts of some views, counts of the other draws below them, and whether values have atoms.

    Values that are tied so often that some of n rows will share them are atoms: cuts are then put between values.
    """
    ordered = np.sort(values[:, :first], axis=1)
    edges, run = ordered[:, ranks - 1], int(max(5.0, 0.1 * first / n))
    tied = bool((ordered[:, run:] == ordered[:, : first - run]).any()) if first > run else False
    if tied:
        for row, edge in zip(ordered, edges, strict=True):
            above = row[np.minimum(row.searchsorted(edge, side="right"), first - 1)]
            before = row[np.maximum(row.searchsorted(edge) - 1, 0)]
            edge[:] = (edge + np.where(above > edge, above, before)) / 2.0
    return edges, cumulative(values[:, first:], edges), tied
