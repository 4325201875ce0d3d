"""Rows counted in regions: p-values, simulated or not, bounds, the region that decides, and rows to blame."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import NamedTuple

import numpy as np
import scipy
from numpy.typing import NDArray

from steinball.arrays import Floats, chunks, generator_at
from steinball.regions import tails
from steinball.regions.design import TOGETHER, Cut, Design, counts_below, cumulative
from steinball.regions.source import Rows
from steinball.regions.tails import Counts, Question

MOST_WORK = 300_000_000  # values of views at replicates, at most, an arc counted as three: some seconds

MOST_STEPS = 10  # regions with too many rows that are peeled off, at most

_CHUNK = 1 << 20  # values of views that are looked at together
_TIES = 1e-9
_LOOKED_AT = 32  # arcs whose exact tails are computed
_STEP = 1e-9  # precision of the largest rejected share
_POOL_LEVEL = 0.1  # the part of the level that the pool's own error gets in an upper bound
_DRAWS, _VALUES = 20_000, 20_000_000  # draws of the model for blame, and values of views at them, at most
_NULL_SEED, _BLAME_SEED = 20230920, 20230921


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

    with D the :func:`~steinball.regions.tails.shortfall` of the counts (R, N) from (1 − ε)P(A): shape (R,).
    """
    short = tails.shortfall(counts, design.n, (1.0 - share) * design.expected.share)
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


def simulate(design: Design, share: float, draws: int = 1999) -> Null:
    """Statistics of Bin(n, 1 − ε) rows of the model and nothing else.

    Parameters
    ----------
    design : Design
        Views, cuts and arcs.
    share : float
        The tolerated contamination ε.
    draws : int
        Number of replicates B. Their seed is their own: the same design and share give the same null.

    Notes
    -----
    Exact at every n for fresh draws, and for one view without atoms, whose cells have a Dirichlet law and whose counts
    are multinomial. Replicates that are taken out of a second sample and cut on the rest of it are asymptotic.
    """
    replicates = _one_view if _of_one_view(design) else _fresh if design.source.draws is None else _from_sample(design)
    step = 256 if replicates is _one_view else max(1, _CHUNK // (design.n * design.views))
    root, found = np.random.SeedSequence(_NULL_SEED), []
    for k, start in enumerate(range(0, draws, step)):
        below = replicates(design, share, min(step, draws - start), generator_at(root, k))
        found.append(statistics(design, design.deciding(below), share))
    return Null(share, np.concatenate(found))


def _one_view(design: Design, share: float, size: int, rng: np.random.Generator) -> list[Counts]:
    """Counts of one view in its cells, whatever the number of rows: multinomial, with Dirichlet cells from a pool."""
    masses = np.repeat(np.diff(design.cuts[0].heads), size, axis=0)
    masses = masses if np.isinf(design.cuts[0].size) else rng.standard_gamma(masses)
    kept = rng.binomial(design.n, 1.0 - share, size)
    counts = rng.multinomial(kept, masses / masses.sum(axis=1, keepdims=True))
    return [np.cumsum(np.pad(counts, ((0, 0), (1, 0))), axis=1)[None]]


@np.errstate(over="ignore", invalid="ignore")
def _fresh(design: Design, share: float, size: int, rng: np.random.Generator) -> list[Counts]:
    """Fresh draws of the model, each kept where its label is at least ε."""
    n, found = design.n, []
    dropped = rng.random((size, n)) < share
    rows = design.source.rows(design.source.draw(size * n, rng))
    for cut in design.cuts:
        # Single precision is sorted in half the time, and moves a draw over a cut once in ten million.
        center, width = cut.edges[:, cut.edges.shape[1] // 2, None], np.ptp(cut.edges, axis=1)[:, None] + 1e-300
        values = ((cut.family.at(rows) - center) / width).astype(np.float32).reshape(-1, size, n)
        values[:, dropped] = np.nan
        found.append(cumulative(values, ((cut.edges - center) / width).astype(np.float32)))
    return found


def _from_sample(design: Design) -> Callable[[Design, float, int, np.random.Generator], list[Counts]]:
    """Rows taken out of a second sample, and counted below cuts at the same shares of the rest of it."""
    assert design.source.draws is not None
    rows, m = design.source.rows(design.source.draws), len(design.source.draws)
    pairs = [(cut.family.at(rows).argsort(axis=1).argsort(axis=1), cut.heads[:, 1:-1] / (m + 1)) for cut in design.cuts]

    def replicates(design: Design, share: float, size: int, rng: np.random.Generator) -> list[Counts]:
        taken = [rng.permutation(m)[: rng.binomial(design.n, 1.0 - share)] for _ in range(size)]
        return [np.stack([_recut(ranks[:, some], shares, m) for some in taken], axis=1) for ranks, shares in pairs]

    return replicates


def _recut(ranks: Counts, shares: Floats, m: int) -> Counts:
    """Counts (T, K + 2) of N rows with these ranks (T, N) among m, below cuts at such shares of the m − N others.

    A row lies below the r-th of the others if at most r − 1 of the others lie below the row.
    """
    views, n = ranks.shape
    others_below = np.sort(ranks, axis=1) - np.arange(n)
    places = np.rint(shares * (m - n + 1.0)) - 1.0
    return cumulative(others_below.astype(np.float64), np.repeat(places, views, axis=0))


@dataclass(frozen=True)
class Region:
    """A region with the shares that speak of it.

    Attributes
    ----------
    family, view : int
        Numbers of the family in the design and of the view in the family.
    words : str
        The view in words.
    column : int or None
        The user's column, where the view is one; then ``low`` and ``high`` are in its units.
    low, high : float
        The region is low < view ≤ high where ``inside``, otherwise everything else; an end may be infinite.
    expected, tolerated, observed : float
        The share of rows that the model expects, the least share that is tolerated, and the share that is there.
    pvalue : float
        The probability of so few rows at the edge of what is tolerated, times the number of regions looked at.
    """

    family: int
    view: int
    words: str
    column: int | None
    low: float
    high: float
    inside: bool
    expected: float
    tolerated: float
    observed: float
    pvalue: float


@dataclass(frozen=True, eq=False)
class Counted:
    """The counts of n rows below the cuts of a design, (T, K + 2) for each family; made by :func:`count`."""

    design: Design
    below: Sequence[Counts]
    halves: Sequence[Counts]
    _decided: dict[tuple[Question, float], tuple[int, float]] = field(default_factory=dict, init=False)

    @cached_property
    def counts(self) -> Counts:
        """The counts in all arcs that decide, (N,)."""
        return np.asarray(self.design.deciding([counts[:, None] for counts in self.below])[0])

    def statistic(self, share: float) -> float:
        """The statistic of theorem A at a tolerated contamination: the logarithm of the smallest weighted tail."""
        return float(statistics(self.design, self.counts[None], share)[0])

    def pvalue(self, null: Null) -> float:
        """The exact Monte Carlo p-value at the contamination of a null (theorem A)."""
        return null.pvalue(self.statistic(null.share))

    def bonferroni(self, question: Question, share: float) -> float:
        """The p-value without simulation (theorem B for contamination, theorem F for tolerance)."""
        return min(1.0, self._decides(question, share)[1])

    def bound(self, question: Question, level: float = 0.05) -> float:
        """The largest rejected share, 0 if there is none: a lower confidence bound.

        For contamination max over A of 1 − (upper limit of Q(A))/P(A) (theorem C), for tolerance δ_L, the largest
        difference of shares that is proved (theorem F).
        """
        share = 0.0
        while (found := self._decides(question, share))[1] <= level:
            excess = partial(self._excess, question, level, np.array([found[0]]))
            share = max(share + _STEP, float(scipy.optimize.brentq(excess, share, 1.0, xtol=_STEP / 10.0)))
        return max(0.0, share - 2.0 * _STEP)

    def region(self, question: Question, share: float, among: NDArray[np.bool_] | None = None) -> Region:
        """The region that decides by theorem B or F; ``among`` says which arcs (N,) are looked at, by default all."""
        place, pvalue = self._decides(question, share) if among is None else self._found(question, share, among)
        family = int(np.searchsorted(self.design.expected.starts, place, side="right")) - 1
        cut, below = self.design.cuts[family], self.below[family]
        view, arc = divmod(place - int(self.design.expected.starts[family]), cut.distinct.shape[1])
        if len(cut.heads) == 1:
            view = int(np.argmin(cut.arcs.sums(below)[:, arc]))
        inside, ends = arc < cut.arcs.intervals, np.array([-np.inf, *cut.edges[view], np.inf])
        low, high = ends[[cut.arcs.start[arc], cut.arcs.stop[arc]]].tolist()
        expected = float(self.design.expected.share[place])
        shares = expected, float(tails.floor_of(question, expected, share)), float(self.counts[place]) / self.design.n
        column, words = view if view < cut.family.columns else None, cut.family.words[view]
        return Region(family, view, words, column, low, high, inside, *shares, min(1.0, pvalue))

    def upper(self, level: float = 0.05) -> float:
        """δ_U: no share of a region looked at differs from the model's by more, at confidence 1 − level (theorem E)."""
        pairs = zip(self.design.halves, self.halves, strict=True)
        return max(_largest_difference(cut, counts, self.design.n, level) for cut, counts in pairs)

    def _decides(self, question: Question, share: float) -> tuple[int, float]:
        """The arc that decides among all, and its p-value: found once, and at 0 whatever is asked."""
        key: tuple[Question, float] = question if share > 0.0 else "contamination", share
        if key not in self._decided:
            self._decided[key] = self._found(*key, True)
        return self._decided[key]

    def _found(self, question: Question, share: float, among: NDArray[np.bool_] | bool) -> tuple[int, float]:
        """The arc with the smallest tail times the number of regions, among the few with the largest shortfall in units
        of the errors of data and pool; the p-value of any choice of arcs is valid."""
        n, expected = self.design.n, self.design.expected
        floor = tails.floor_of(question, expected.share, share)
        slope = 1.0 - share if question == "contamination" else 1.0
        pool = slope**2 * expected.share * (1.0 - expected.share) / (expected.size + 2.0)
        noise = 1.0 + n * pool / np.maximum(floor * (1.0 - floor), 1e-300)
        score = np.where(among, tails.shortfall(self.counts, n, floor) / noise - np.log(expected.weight), -np.inf)
        places = np.argsort(score)[-_LOOKED_AT:]
        pvalues = self._pvalues(question, share, places)
        return int(places[pvalues.argmin()]), float(pvalues.min())

    def _pvalues(self, question: Question, share: float, places: NDArray[np.intp]) -> Floats:
        """Exact tails of some arcs times the number of regions."""
        expected = self.design.expected
        law = tails.pool_law(expected.heads[places], expected.size[places], self.design.n)
        return tails.tail(question, self.counts[places], self.design.n, law, share) * expected.weight[places]

    def _excess(self, question: Question, level: float, place: NDArray[np.intp], share: float) -> float:
        return float(self._pvalues(question, share, place)[0]) - level


def count(design: Design, x: Floats) -> Counted:
    """Count rows (n, d) in the regions of a design for n rows."""
    rows = design.source.rows(x)
    below = counts_below(rows, design.cuts)
    return Counted(design, below, below if design.halves is design.cuts else counts_below(rows, design.halves))


def _largest_difference(cut: Cut, below: Counts, n: int, level: float) -> float:
    """The largest upper limit of P(A) less lower limit of Q(A), over all views and arcs of a family."""
    if math.isinf(cut.size):
        return float((cut.arcs.sums(cut.heads) - tails.lower_limit(cut.arcs.sums(below), n, level)).max())
    drawn_level, largest = _POOL_LEVEL * level, 0.0
    margin = float(tails.upper_limit(np.array([cut.rest // 2]), cut.rest, drawn_level)[0]) - 0.5
    for part in chunks(len(below), 8 * cut.arcs.intervals, TOGETHER):
        drawn = cut.arcs.sums(cut.apart[part])
        least = drawn / cut.rest - tails.lower_limit(cut.arcs.sums(below[part]), n, level - drawn_level)
        # The upper limit of P(A) adds at least 0 and at most what it adds at one half.
        some = least >= least.max() - (1.1 * margin + 2.0 / cut.rest)
        limits = tails.upper_limit(drawn[some], cut.rest, drawn_level) - drawn[some] / cut.rest
        largest = max(largest, float((least[some] + limits).max()))
    return largest


def rows_needed(tolerance: float, lower: float, views: int) -> float:
    r"""The number of rows from which a true model is mostly shown to be good enough,

    .. math:: n \approx \left( \frac{C_T}{\varepsilon - \delta_L} \right)^2, \qquad C_T^2 = 4.7 + \log T,

    with ε the ``tolerance``, δ_L the difference that is proved (``lower``), and T the number of ``views``. Infinite
    where δ_L is not below ε. C is simulated, not proved: a true model is called good enough in 80 % of such samples.

    Examples
    --------
    >>> [round(rows_needed(0.05, 0.0, views)) for views in (1, 22, 211)], rows_needed(0.05, 0.06, 1)
    ([1880, 3116, 4021], inf)
    """
    return (4.7 + math.log(views)) / (tolerance - lower) ** 2 if lower < tolerance else math.inf


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
    drawn = source.draw(size, np.random.default_rng(_BLAME_SEED)) if source.draws is None else source.draws
    rows, pool = source.rows(x), source.rows(drawn)
    while len(left) > 1 and len(pool.x) > 1 and len(found) < MOST_STEPS:
        region = _surplus(design, rows, pool)
        if region is None or region.pvalue > level:
            break
        inside, removed = (_inside(design.cuts[region.family], region, some) for some in (rows, pool))
        found.append(Blame(region, left[inside]))
        left, rows, pool = left[~inside], _kept(rows, ~inside), _kept(pool, ~removed)
    return found


def _kept(rows: Rows, kept: NDArray[np.bool_]) -> Rows:
    return Rows(rows.x[kept], rows.z[:, kept])


def _inside(cut: Cut, region: Region, rows: Rows) -> NDArray[np.bool_]:
    value = cut.family.at(rows, slice(region.view, region.view + 1))[0]
    return np.asarray(((value > region.low) | (region.low == -np.inf)) & (value <= region.high))


def _surplus(design: Design, rows: Rows, pool: Rows) -> Region | None:
    """The most surprising surplus of rows over draws: an interval whose complement, which no inner interval is, is
    short of rows."""
    pairs = zip(design.cuts, counts_below(pool, design.cuts), strict=True)
    cuts = tuple(replace(cut, heads=drawn.astype(np.float64), size=float(len(pool.x))) for cut, drawn in pairs)
    left = Counted(Design(design.source, len(rows.x), cuts, cuts), counts_below(rows, cuts), ())
    outside, counted = left.design.expected.share, left.counts / len(rows.x)
    inner = [np.tile(np.isin(np.arange(len(cut.arcs.start)), cut.arcs.inner), len(cut.heads)) for cut in cuts]
    some = ~np.concatenate(inner) & (outside > 0.0) & (1.0 - counted > 2.0 * (1.0 - outside))
    if not some.any():
        return None
    short = left.region("contamination", 0.0, some)
    low, high, expected = short.low, short.high, 1.0 - short.expected
    if short.inside:  # a half-line, whose complement is the other one
        low, high = (high, np.inf) if low == -np.inf else (-np.inf, low)
    found = replace(short, low=low, high=high, inside=True)
    return replace(found, expected=expected, tolerated=expected, observed=1.0 - short.observed)
