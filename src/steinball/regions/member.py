"""The member of a family that regions speak least against, in one column (theorem D)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import product
from typing import NamedTuple, Self

import numpy as np
import scipy

from steinball.arrays import Floats
from steinball.models.family import Family
from steinball.models.support import Support
from steinball.regions.counted import Null, simulate, statistics
from steinball.regions.design import Design
from steinball.regions.source import Grid, Source
from steinball.regions.tails import Counts, shortfall

MOST_PARAMETERS = 4  # parameters that a search over all members may have: a missed member makes a p-value too small

SURE = 0.5  # a p-value above which no further member is looked for; no level is as large

_WHOLE = 2000  # rows whose distribution function is computed at once; of more, by bisection
_COARSE, _FINE = {1: 81, 2: 11, 3: 5}, {1: 401, 2: 29, 3: 9}  # members of a grid along each parameter
_WINDOWS = ((0.8, 3), (0.5, 5), (0.25, 7))  # parts of the rows that starts come from, and how many
_HOPELESS = 5.0  # a statistic that is so far beyond all replicates is not brought back by small steps
_REACH, _EVALUATIONS, _RESTARTS, _POLISHED, _SHARP, _SEED = 1.0, 110, 4, 200, 4.0, 20230923


@lru_cache(maxsize=32)
def uniform_design(n: int) -> Design:
    """Cuts and arcs for n rows u = F(x), which are uniform whatever the member."""
    return Design.build(Source(cdf=partial(np.clip, a_min=0.0, a_max=1.0), quantile=np.asarray), n)


@lru_cache(maxsize=32)
def uniform_null(n: int, share: float, draws: int) -> Null:
    """The one null that serves all members of all families in one column (proposition 1)."""
    return simulate(uniform_design(n), share, draws)


@dataclass(frozen=True, eq=False)
class Column:
    r"""The rows of one column in order, such that :math:`u = F(a) + w (F(b) - F(a))` rises along them for every F.

    A row that was rounded has the ends a < b of its cell and a place w that is uniform on (0, 1), so that u is uniform
    where x was rounded from a draw of F; otherwise a = b = x. Rows where the family has no density are left out of
    ``low`` and ``high``, and stay in the number of rows ``n``.

    Examples
    --------
    >>> Column.of(np.array([[2.0], [-1.0], [1.0]]), support=Support.of([0.0, None])).low
    array([1., 2.])
    """

    low: Floats
    high: Floats
    place: Floats
    n: int

    @classmethod
    def of(cls, rows: Floats, grid: Grid | None = None, support: Support | None = None) -> Self:
        """Rows (n, 1), the grid that they were rounded to, and where members have a density."""
        x, half = rows[:, 0], 0.0
        if grid is not None:
            x, half = grid.round(rows)[:, 0], float(grid.step[0]) / 2.0
        if support is not None:
            (low,), (high,) = support.along(1)
            x = x[(x + half > low) & (x - half < high)]
        place = np.random.default_rng(_SEED).random(len(x)) if half else np.zeros(len(x))
        order = np.lexsort((place, x))
        return cls(x[order] - half, x[order] + half, place[order], len(rows))

    def heights(self, family: Family, params: Floats, rows: slice | Counts = slice(None)) -> Floats:
        """u of some rows under a member."""
        low = heights(family, params, self.low[rows])
        if not self.place.any():
            return low
        return np.asarray(low + self.place[rows] * (heights(family, params, self.high[rows]) - low))

    def middle(self, start: int, stop: int) -> Floats:
        """The middles of some rows, (m, 1)."""
        return ((self.low + self.high) / 2.0)[start:stop, None]


def heights(family: Family, params: Floats, x: Floats) -> Floats:
    """F(x) of a member, for values (m,) anywhere; 1 where it cannot be computed."""
    if family.support is not None:
        (low,), (high,) = family.support.along(1)
        x = np.clip(x, low, high)
    with np.errstate(all="ignore"):
        found = family.margins(params, x[:, None])
    assert found is not None
    return np.asarray(np.nan_to_num(found[:, 0], nan=1.0))


class Member(NamedTuple):
    """A member: its parameters, the counts of rows below the cuts (K + 2,), and the statistic of theorem A."""

    params: Floats
    below: Counts
    statistic: float


_NO_MEMBER = Member(np.empty(0), np.empty(0), -np.inf)


@dataclass(eq=False)
class MemberSearch:
    """The statistic of every member, and the ``best`` so far: the one with the largest statistic, which regions speak
    least against."""

    family: Family
    column: Column
    share: float
    best: Member = _NO_MEMBER

    def below(self, params: Floats) -> tuple[Counts, Floats]:
        """The rows below each cut, (K + 2,), and the same with the row at the cut in parts: a smooth function."""
        levels, m = uniform_design(self.column.n).cuts[0].edges[0], len(self.column.low)
        u = self.column.heights(self.family, params) if m <= _WHOLE else None
        counts = self._bisected(params, levels, m) if u is None else np.searchsorted(u, levels, side="right")
        beside = (np.clip(counts + k, 0, m - 1) for k in (-1, 0))
        ends = [self.column.heights(self.family, params, rows) if u is None else u[rows] for rows in beside]
        before, after = np.where(counts > 0, ends[0], 0.0), np.where(counts < m, ends[1], 1.0)
        part = (levels - before) / np.maximum(after - before, 1e-300) - 0.5
        smooth = np.clip(counts + np.clip(part, -0.5, 0.5), 0.0, m)
        return np.array([0, *counts, m]), np.concatenate([[0.0], smooth, [m]])

    def _bisected(self, params: Floats, levels: Floats, m: int) -> Counts:
        """How many rows lie at or below each level, with u computed at a few rows alone."""
        low, high = np.zeros(len(levels), dtype=np.int64), np.full(len(levels), m)
        while (open_ := low < high).any():
            middle = np.minimum((low + high) // 2, m - 1)
            inside = self.column.heights(self.family, params, middle) <= levels
            low, high = np.where(open_ & inside, middle + 1, low), np.where(open_ & ~inside, middle, high)
        return low

    def surprise(self, working: Floats, sharpness: float = 1.0) -> float:
        r"""How strongly regions speak against a member, :math:`s^{-1} \log \sum_A e^{s D_A}` with smooth D.

        It is close to the largest D_A where the ``sharpness`` s is large. The member is remembered.
        """
        params = self.family.from_working(np.maximum(working, self.family.least))
        below, smooth = self.below(params)
        design = uniform_design(self.column.n)
        statistic = float(statistics(design, design.deciding([below[None, None]]), self.share)[0])
        if statistic > self.best.statistic:
            self.best = Member(params, below, statistic)
        counts = design.deciding([smooth[None, None]])[0]
        short = shortfall(counts, design.n, (1.0 - self.share) * design.expected.share)
        return float(scipy.special.logsumexp(sharpness * short)) / sharpness

    def look_around(self, working: Floats, units: Floats, along: Mapping[int, int] = _COARSE) -> Floats:
        """The best member of a grid around one of them."""
        steps = np.linspace(-_REACH, _REACH, along.get(len(working), 3))
        grid = [working + units * np.array(step) for step in product(steps, repeat=len(working))]
        return min(grid, key=self.surprise)

    def descend(self, working: Floats, units: Floats, sharpness: float = 1.0) -> None:
        """Nelder and Mead's search from a member."""
        if not len(working):
            return
        simplex = np.vstack([working, working + 0.3 * np.diag(units)])
        options = {"xatol": 1e-3 * float(units.min()), "fatol": 0.01, "initial_simplex": simplex}
        options["maxfev"] = _EVALUATIONS * len(working)
        scipy.optimize.minimize(self.surprise, working, (sharpness,), method="Nelder-Mead", options=options)

    def polish(self, units: Floats) -> None:
        """Members ever closer to the best one: the statistic itself jumps where a row crosses a cut."""
        rng = np.random.default_rng(_SEED)
        for size in np.geomspace(1.0, 0.01, _POLISHED if len(units) else 0):
            self.surprise(self.family.to_working(self.best.params) + size * units * rng.normal(size=len(units)))


def closest_member(family: Family, column: Column, share: float, draws: int) -> tuple[Member, Null]:
    """The member with the largest p-value that is found, and the null.

    The search begins at a robust start. Unless its p-value is plainly large, it begins again from the best of the
    starts that parts of the rows give, since any part may be the contaminated one, before anything is rejected.

    Raises
    ------
    ValueError
        Where no part of the rows gives a start.
    """
    null, search = uniform_null(column.n, share, draws), MemberSearch(family, column, share)
    first = _start(family, column.middle(0, len(column.low)))
    if first is not None:
        search.descend(search.look_around(*first), first[1])
        if null.pvalue(search.best.statistic) > SURE:
            return search.best, null
    starts = [start for start in (first, *_further_starts(search)) if start is not None]
    if not starts:
        raise ValueError(
            f"the values of `x` give no start for the search in the family {family.label}: they must differ, lie "
            "where its members have a density, and be of a size that can be squared."
        )
    starts.sort(key=lambda start: search.surprise(start[0]))
    for working, units in starts[:_RESTARTS]:
        search.descend(working, units, _SHARP)
    if search.best.statistic < null.statistics.min() - _HOPELESS:
        return search.best, null
    search.look_around(*starts[0], _FINE)
    for size in (1.0, 0.3, 0.1):
        search.descend(family.to_working(search.best.params), size * starts[0][1], 4.0 * _SHARP)
    search.polish(starts[0][1])
    return search.best, null


def _further_starts(search: MemberSearch) -> Iterator[tuple[Floats, Floats] | None]:
    """Members that parts of the rows point to, with the changes of their coordinates that matter."""
    column, rows = search.column, len(search.column.low)
    for part, times in _WINDOWS:
        size = max(5, round(part * rows))
        for start in np.unique(np.linspace(0, max(0, rows - size), times).round().astype(int)):
            yield _start(search.family, column.middle(start, start + size))


def _start(family: Family, x: Floats) -> tuple[Floats, Floats] | None:
    """The robust start of some rows, and the changes of its coordinates by which the log density of a typical inner row
    changes by about 1; ``None`` where there is none."""
    tenth = len(x) // 10
    if not len(x) or (len(family.names) and x.min() == x.max()):
        return None
    try:
        with np.errstate(all="ignore"):
            params = family.start(x)
            working, units = family.to_working(params), family.working_units(params, x[tenth : len(x) - tenth])
    except (ValueError, FloatingPointError, RuntimeError):
        return None
    units = np.where(np.array(family.positive or False), np.minimum(units, 2.0), units)
    return (working, units) if np.isfinite(working).all() and np.isfinite(units).all() else None
