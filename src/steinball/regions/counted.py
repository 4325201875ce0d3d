"""Rows counted in regions: p-values, bounds, and the region that decides."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import takewhile

import numpy as np
import scipy
from numpy.typing import NDArray

from steinball.arrays import Floats
from steinball.regions.design import (
    Counts,
    Cut,
    Design,
    Question,
    counts_below,
    floor_of,
    lower_limit,
    parts,
    pool_law,
    shortfall,
    tail,
    upper_limit,
)
from steinball.regions.null import Null, statistics

_LOOKED_AT = 32  # arcs whose exact tails are computed
_STEP = 1e-9  # precision of the largest rejected share
_POOL_LEVEL = 0.1  # the part of the level that the pool's own error gets in an upper bound


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

    def climb(self, nulls: Callable[[float], Null], shares: Sequence[float], level: float = 0.05) -> float:
        """The last rejected share before the first that is not rejected, 0 if there is none (theorem C).

        ``nulls(share)`` gives the null at a share; ``shares`` rise from 0.
        """
        return float(max(takewhile(lambda share: self.pvalue(nulls(share)) <= level, shares), default=0.0))

    def bonferroni(self, question: Question, share: float) -> float:
        """The p-value without simulation (theorem B for contamination, theorem F for tolerance)."""
        return min(1.0, self._decides(question, share)[1])

    def curve(self, question: Question, shares: Sequence[float]) -> Floats:
        """These p-values at rising shares, each the largest up to there: a share may be chosen after looking."""
        return np.maximum.accumulate([self.bonferroni(question, share) for share in shares])

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

    def region(self, question: Question, share: float, among: NDArray[np.bool_] | bool = True) -> Region:
        """The region that decides by theorem B or F; ``among`` says which arcs (N,) are looked at, by default all."""
        place, pvalue = self._decides(question, share, among)
        family = int(np.searchsorted(self.design.expected.starts, place, side="right")) - 1
        cut, below = self.design.cuts[family], self.below[family]
        view, arc = divmod(place - int(self.design.expected.starts[family]), cut.distinct.shape[1])
        if len(cut.heads) == 1:
            view = int(np.argmin(cut.arcs.sums(below)[:, arc]))
        inside = arc < len(cut.arcs.start)
        interval = arc if inside else cut.arcs.inner[arc - len(cut.arcs.start)]
        ends = np.array([-np.inf, *cut.edges[view], np.inf])[[cut.arcs.start[interval], cut.arcs.stop[interval]]]
        expected = float(self.design.expected.share[place])
        shares = expected, float(floor_of(question, expected, share)), float(self.counts[place]) / self.design.n
        column, words = view if view < cut.family.columns else None, cut.family.word(view)
        return Region(family, view, words, column, float(ends[0]), float(ends[1]), inside, *shares, min(1.0, pvalue))

    def upper(self, level: float = 0.05) -> float:
        """δ_U: no share of a region looked at differs from the model's by more, at confidence 1 − level (theorem E)."""
        pairs = zip(self.design.halves, self.halves, strict=True)
        return max(_largest_difference(cut, counts, self.design.n, level) for cut, counts in pairs)

    def _decides(self, question: Question, share: float, among: NDArray[np.bool_] | bool = True) -> tuple[int, float]:
        """The arc that decides and its p-value; among all arcs found once, and at 0 whatever is asked."""
        if not isinstance(among, bool):
            return self._found(question, share, among)
        key = question if share > 0.0 else "contamination", share
        if key not in self._decided:
            self._decided[key] = self._found(*key, among)
        return self._decided[key]

    @cached_property
    def _decided(self) -> dict[tuple[Question, float], tuple[int, float]]:
        return {}

    def _found(self, question: Question, share: float, among: NDArray[np.bool_] | bool) -> tuple[int, float]:
        """The arc with the smallest tail times the number of regions, among the few with the largest shortfall in units
        of the errors of data and pool; the p-value of any choice of arcs is valid."""
        n, expected = self.design.n, self.design.expected
        floor = floor_of(question, expected.share, share)
        slope = 1.0 - share if question == "contamination" else 1.0
        pool = slope**2 * expected.share * (1.0 - expected.share) / (expected.size + 2.0)
        noise = 1.0 + n * pool / np.maximum(floor * (1.0 - floor), 1e-300)
        score = np.where(among, shortfall(self.counts, n, floor) / noise - np.log(expected.weight), -np.inf)
        places = np.argsort(score)[-_LOOKED_AT:]
        pvalues = self._pvalues(question, share, places)
        return int(places[pvalues.argmin()]), float(pvalues.min())

    def _pvalues(self, question: Question, share: float, places: NDArray[np.intp]) -> Floats:
        """Exact tails of some arcs times the number of regions."""
        expected = self.design.expected
        law = pool_law(expected.heads[places], expected.size[places], self.design.n)
        return tail(question, self.counts[places], self.design.n, law, share) * expected.weight[places]

    def _excess(self, question: Question, level: float, place: NDArray[np.intp], share: float) -> float:
        return float(self._pvalues(question, share, place)[0]) - level


def count(design: Design, x: Floats) -> Counted:
    """Count rows (n, d) in the regions of a design for n rows."""
    if x.shape != (design.n, design.source.columns):
        raise ValueError(f"`x` must have shape ({design.n}, {design.source.columns}), got {x.shape}.")
    rows = design.source.rows(x)
    below = counts_below(rows, design.cuts)
    return Counted(design, below, below if design.halves is design.cuts else counts_below(rows, design.halves))


def _largest_difference(cut: Cut, below: Counts, n: int, level: float) -> float:
    """The largest upper limit of P(A) less lower limit of Q(A), over all views and arcs of a family."""
    if math.isinf(cut.size):
        return float((cut.arcs.sums(cut.heads) - lower_limit(cut.arcs.sums(below), n, level)).max())
    drawn_level, largest = _POOL_LEVEL * level, 0.0
    margin = float(upper_limit(np.array([cut.rest // 2]), cut.rest, drawn_level)[0]) - 0.5
    for part in parts(len(below), 8 * len(cut.arcs.start)):
        drawn = cut.arcs.sums(cut.apart[part])
        least = drawn / cut.rest - lower_limit(cut.arcs.sums(below[part]), n, level - drawn_level)
        # The upper limit of P(A) adds at least 0 and at most what it adds at one half.
        some = least >= least.max() - (1.1 * margin + 2.0 / cut.rest)
        limits = upper_limit(drawn[some], cut.rest, drawn_level) - drawn[some] / cut.rest
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
