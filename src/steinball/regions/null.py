"""The distribution of the statistic for rows that are certainly the model's (theorem A)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy

from steinball.arrays import Floats, generator_at
from steinball.regions.design import Counts, Design, cumulative, shortfall

MOST_WORK = 300_000_000
"""Values of views at replicates, at most, an arc counted as three: some seconds."""

_CHUNK = 1 << 20  # values of views that are looked at together
_SEED = 20230920
_TIES = 1e-9

Replicates = Callable[[float, int, np.random.Generator], list[Counts]]
"""``replicates(share, size, rng)``: for each family the counts below its cuts, (T, size, K + 2)."""


@dataclass(frozen=True, eq=False)
class Null:
    """Statistics of replicates at one tolerated share; it depends on design, share and number of draws alone.

    Examples
    --------
    >>> Null(0.05, np.array([-9.0, -5.0, -4.0])).pvalue(-5.0)
    0.75
    """

    share: float
    statistics: Floats

    def pvalue(self, value: float) -> float:
        """(1 + #{replicates at least as extreme})/(B + 1); a smaller statistic is more extreme."""
        extreme = int(np.count_nonzero(self.statistics <= value + _TIES * abs(value)))
        return (1.0 + extreme) / (len(self.statistics) + 1.0)


def statistics(design: Design, counts: Counts, share: float) -> Floats:
    r"""The logarithm of the smallest tail over all arcs, weighted by the number of views in the arc's family,

    .. math:: T = \min_f \min_{A \in f} \log \left( T_f \, \Phi(-\sqrt{2 D_A}) \right),

    with D the :func:`~steinball.regions.design.shortfall` of the counts (R, N) from (1 − ε)P(A): shape (R,).
    """
    short = shortfall(counts, design.n, (1.0 - share) * design.expected.share)
    worst = np.maximum.reduceat(short, design.expected.starts, axis=1)
    votes = np.log([cut.family.size for cut in design.cuts])
    return np.asarray(np.min(votes + scipy.special.log_ndtr(-np.sqrt(2.0 * worst)), axis=1))


def affordable_draws(design: Design, wanted: int = 1999, least: int = 399) -> int:
    """How many replicates are worth their cost, by sizes alone: those wanted, the least that will do, or 0.

    0 means theorem B, which needs none. Replicates of one view without atoms cost the same at every n. A second sample
    gives replicates of several views if it has ten times as many rows as the data.

    Examples
    --------
    >>> from steinball.regions.source import Source
    >>> affordable_draws(Design.build(Source(cdf=lambda x: np.clip(x, 0.0, 1.0)), 10**6))
    1999
    """
    second, work = design.source.draws, design.n * design.views + 3 * len(design.expected.share)
    if second is not None and (len(second) < 10 * design.n or design.cuts is design.halves):
        work = MOST_WORK
    return next((b for b in (wanted, least) if _of_one_view(design) or work * b <= MOST_WORK), 0)


def _of_one_view(design: Design) -> bool:
    return design.views == 1 and not design.cuts[0].atoms


def simulate(design: Design, share: float, draws: int = 1999, seed: int = _SEED) -> Null:
    """Statistics of Bin(n, 1 − ε) rows of the model and nothing else.

    Parameters
    ----------
    design : Design
        Views, cuts and arcs.
    share : float
        The tolerated contamination ε.
    draws : int
        Number of replicates B.
    seed : int
        A seed of its own: the same design and share give the same null, whatever was tested before.

    Notes
    -----
    Exact at every n for fresh draws, and for one view without atoms, whose cells have a Dirichlet law and whose counts
    are multinomial. Replicates that are taken out of a second sample and cut on the rest of it are asymptotic.
    """
    kind = _one_view if _of_one_view(design) else _fresh if design.source.draws is None else _taken_out
    replicates, root, found = kind(design), np.random.SeedSequence(seed), []
    step = max(1, _CHUNK // (design.n * design.views)) if kind is not _one_view else 256
    for k, start in enumerate(range(0, draws, step)):
        below = replicates(share, min(step, draws - start), generator_at(root, k))
        found.append(statistics(design, design.deciding(below), share))
    return Null(share, np.concatenate(found))


def _one_view(design: Design) -> Replicates:
    """Counts of one view in its cells, whatever the number of rows: multinomial, with Dirichlet cells from a pool."""
    cells, known = np.diff(design.cuts[0].heads), np.isinf(design.cuts[0].size)

    def draw(share: float, size: int, rng: np.random.Generator) -> list[Counts]:
        masses = np.repeat(cells, size, axis=0) if known else rng.standard_gamma(np.repeat(cells, size, axis=0))
        kept = rng.binomial(design.n, 1.0 - share, size)
        counts = rng.multinomial(kept, masses / masses.sum(axis=1, keepdims=True))
        return [np.cumsum(np.pad(counts, ((0, 0), (1, 0))), axis=1)[None]]

    return draw


def _fresh(design: Design) -> Replicates:
    """Fresh draws of the model, each kept where its label is at least ε."""
    n, source = design.n, design.source

    @np.errstate(over="ignore", invalid="ignore")
    def draw(share: float, size: int, rng: np.random.Generator) -> list[Counts]:
        dropped, found = rng.random((size, n)) < share, []
        rows = source.rows(source.draw(size * n, rng))
        for cut in design.cuts:
            # Single precision is sorted in half the time, and moves a draw over a cut once in ten million.
            center, width = cut.edges[:, cut.edges.shape[1] // 2, None], np.ptp(cut.edges, axis=1)[:, None] + 1e-300
            values = ((cut.family.at(rows) - center) / width).astype(np.float32).reshape(-1, size, n)
            values[:, dropped] = np.nan
            found.append(cumulative(values, ((cut.edges - center) / width).astype(np.float32)))
        return found

    return draw


def _taken_out(design: Design) -> Replicates:
    """Rows taken out of a second sample, and counted below cuts at the same shares of the rest of it."""
    assert design.source.draws is not None
    rows, m = design.source.rows(design.source.draws), len(design.source.draws)
    ranks = [cut.family.at(rows).argsort(axis=1).argsort(axis=1) for cut in design.cuts]

    def draw(share: float, size: int, rng: np.random.Generator) -> list[Counts]:
        taken = [rng.permutation(m)[: rng.binomial(design.n, 1.0 - share)] for _ in range(size)]
        return [
            np.stack([_recut(rank[:, some], cut.heads[:, 1:-1] / (m + 1.0), m) for some in taken], axis=1)
            for cut, rank in zip(design.cuts, ranks, strict=True)
        ]

    return draw


def _recut(ranks: Counts, shares: Floats, m: int) -> Counts:
    """Counts (T, K + 2) of N rows with these ranks (T, N) among m, below cuts at such shares of the m − N others.

    A row lies below the r-th of the others if at most r − 1 of the others lie below the row.
    """
    views, n = ranks.shape
    others_below = np.sort(ranks, axis=1) - np.arange(n)
    places = np.rint(shares * (m - n + 1.0)) - 1.0
    return cumulative(others_below.astype(np.float64), np.repeat(places, views, axis=0))
