"""Rows to blame: regions with more rows than the model explains, peeled off one after the other."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from steinball.arrays import Floats
from steinball.regions.counted import Counted, Region
from steinball.regions.design import Cut, Design, counts_below
from steinball.regions.source import Rows

MOST_STEPS = 10
_DRAWS, _VALUES = 20_000, 20_000_000  # draws of the model, and values of views at them, at most
_SEED = 20230921


class Blame(NamedTuple):
    """A region with too many rows, and which rows they are; its shares are those of the rows that were left."""

    region: Region
    rows: NDArray[np.intp]


def blame(design: Design, x: Floats, level: float = 0.05) -> list[Blame]:
    r"""Peel: the interval with the most surprising surplus, its rows; again without them.

    The surplus of k rows in A among the m that are left has the tail

    .. math:: P(\mathrm{Bin}(m, P(A \setminus I)/(1 - P(I))) \ge k),

    I what was removed before, times the number of regions looked at; at least half of the rows in A must be
    unexplained. The shares are those of draws of the model that were not removed. The steps end when no tail is at most
    ``level``.

    Parameters
    ----------
    design : Design
        Views and cuts.
    x : array
        Shape (n, d).
    level : float
        The largest p-value of a step.

    Returns
    -------
    list of Blame
        The most surprising region first.

    Notes
    -----
    Clean rows are blamed with probability at most ``level``: the first step controls this error. All else describes.
    """
    source, left, found = design.source, np.arange(len(x)), list[Blame]()
    size = max(2_000, min(_DRAWS, _VALUES // design.views))
    drawn = source.draw(size, np.random.default_rng(_SEED)) if source.draws is None else source.draws
    rows, pool = source.rows(x), source.rows(drawn)
    while len(left) > 1 and len(pool.x) > 1 and len(found) < MOST_STEPS:
        region = _surplus(design, rows, pool)
        if region is None or region.pvalue > level:
            break
        inside, removed = (_inside(design.cuts[region.family], region, some) for some in (rows, pool))
        found.append(Blame(region, left[inside]))
        left, rows, pool = left[~inside], _taken(rows, ~inside), _taken(pool, ~removed)
    return found


def _taken(rows: Rows, kept: NDArray[np.bool_]) -> Rows:
    return Rows(rows.x[kept], rows.z[:, kept])


def _inside(cut: Cut, region: Region, rows: Rows) -> NDArray[np.bool_]:
    value = cut.family.at(rows, slice(region.view, region.view + 1))[0]
    return np.asarray(((value > region.low) | (region.low == -np.inf)) & (value <= region.high))


def _surplus(design: Design, rows: Rows, pool: Rows) -> Region | None:
    """The most surprising surplus of rows over draws: an interval whose complement is short of rows."""
    drawn = counts_below(pool, design.cuts)
    cuts = [
        replace(cut, heads=counts.astype(np.float64), size=float(len(pool.x)))
        for cut, counts in zip(design.cuts, drawn, strict=True)
    ]
    left = Counted(Design(design.source, len(rows.x), tuple(cuts), tuple(cuts)), counts_below(rows, cuts), ())
    outside, counted = left.design.expected.share, left.counts / len(rows.x)
    intervals = np.concatenate([np.tile(_complement_is_interval(cut), len(cut.heads)) for cut in cuts])
    some = intervals & (outside > 0.0) & (1.0 - counted > 2.0 * (1.0 - outside))
    if not some.any():
        return None
    short = left.region("contamination", 0.0, some)
    low, high, expected = short.low, short.high, 1.0 - short.expected
    if short.inside:  # a half-line, whose complement is the other one
        low, high = (high, np.inf) if low == -np.inf else (-np.inf, low)
    found = replace(short, low=low, high=high, inside=True)
    return replace(found, expected=expected, tolerated=expected, observed=1.0 - short.observed)


def _complement_is_interval(cut: Cut) -> NDArray[np.bool_]:
    """Arcs that touch an end, and complements: (arcs,)."""
    found = np.ones(cut.distinct.shape[1], dtype=bool)
    found[cut.arcs.inner] = False
    return found
