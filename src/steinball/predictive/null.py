"""The null distribution of the largest shortage, p-values at every tolerated share, recalibrations of a robust fit."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy

from steinball.arrays import Floats, as_seed, chunks, generator_at
from steinball.predictive.pit import Pit, fresh_tables
from steinball.predictive.table import ARCS, BOXES, TOGETHER, VIEW_MEANS, VIEW_TOPS, Features, tabulate, views_of

SHARES = np.concatenate([[0.0, 0.0025, 0.005], np.arange(1, 30) / 100.0, np.arange(15, 48) / 50.0])
_ROUNDING = 1e-7


@dataclass(frozen=True, eq=False)
class Reference:
    """What the shortages at one share are standardized by and compared with.

    Attributes
    ----------
    slope : array, shape (t, v)
        1/(σ w) of every view of every table, with w the standard deviation, over the pilot, of the largest shortage
        over σ of boxes, or of scores.
    offset : array, shape (v,)
        μ/w, with μ its mean.
    draws : array, shape (m,)
        The statistic of replicates, largest first.
    """

    slope: Floats
    offset: Floats
    draws: Floats

    @classmethod
    def of(cls, scale: Floats, maxima: Floats, pilot: int) -> Reference:
        """From 1/σ (t, v), and the maxima (replicates, 2) of the pilot and of the other replicates."""
        center, width = maxima[:pilot].mean(axis=0), np.maximum(maxima[:pilot].std(axis=0), 1e-3)
        draws = np.sort(((maxima[pilot:] - center) / width).max(axis=1))[::-1]
        family = np.arange(scale.shape[1]) // BOXES
        return cls(scale / width[family], (center / width)[family], draws)

    def pvalue(self, statistic: float, proven: bool = False) -> float:
        """(1 + #{T* ≥ T})/(m + 1); if ``proven``, means of the 1, 2, … largest T* stand in for the T*."""
        draws = np.cumsum(self.draws) / np.arange(1, self.draws.size + 1) if proven else self.draws
        return float((1 + np.sum(draws >= statistic - _ROUNDING)) / (draws.size + 1))


class Null:
    """Largest shortage of rows over all views, under the model and a share of bad rows.

    Every view g ≥ 0 of a table N has the shortage

        D_g = Σ E_i g − ⟨N, g⟩ − t_g min(⌊εn⌋, r_g)   ("any"),   D_g = (1 − ε) Σ E_i g − ⟨N, g⟩   ("independent"),

    with t_g the largest mean of g over bins and r_g the number of rows where its mean is positive. If bad rows are
    "changed" ones (:meth:`with_rows`), max g takes the place of t_g. The statistic is the larger of the standardized
    maxima of D_g/σ_g over boxes and over capped scores.

    Parameters
    ----------
    pit : Pit
        The rows; only the law of fresh rows, or of refits, is used. Refits hold at share 0 alone.
    features : Features
        The columns by which rows are binned.
    pilot, n_resamples : int
        Replicates that scale the views, and independent ones that the statistic is compared with.
    rng : None, int or Generator
        Of the replicates.

    Notes
    -----
    Proved for fresh rows: level at every n where bad rows are "independent" or "changed", and at share 0; where they
    are "any" the p-value with ``proven=True``, up to the Monte Carlo error of a mean of the largest replicates.
    Their p-value without it was at most the level in all simulations.

    Examples
    --------
    >>> from steinball.predictive.law import DistributionFunction
    >>> rng = np.random.default_rng(0)
    >>> x, u = rng.normal(size=400), rng.random(400)
    >>> pit, features = DistributionFunction(lambda y: y**1.5).pit(u), Features.of({"x": x})
    >>> null, table = Null(pit, features, rng=0), tabulate(pit.low, pit.high, features)
    >>> null.pvalue(table, 0.05) < 0.05 < null.pvalue(table, 0.3)
    True
    """

    def __init__(self, pit: Pit, features: Features, pilot: int = 200, n_resamples: int = 299, rng: Any = None) -> None:
        self._pit, self._features, self._pilot = pit, features, pilot
        self._seed, self._size = as_seed(rng), pilot + n_resamples
        counts = np.tile(features.counts, (pit.fresh.outputs, 1))  # (t, 8)
        self._expected, self._square = counts @ VIEW_MEANS.T, counts @ (VIEW_MEANS**2).T  # (t, v)
        self._room = counts @ (VIEW_MEANS > 0.0).T
        self._ranks = generator_at(self._seed, 0).random((self._size, 1))
        self.tables = self._simulate(self._size, 0.0, 1)
        self._variance = np.stack([views_of(self.tables[:pilot, t]).var(axis=0) for t in range(len(counts))])
        self._set_rows("any")

    def _set_rows(self, rows: str) -> None:
        """Start without references, with what a bad row takes away at most where bad rows are such ``rows``."""
        self.rows, self._references = rows, dict[float, Reference]()
        self._top = VIEW_TOPS if rows == "changed" else VIEW_MEANS.max(axis=1)

    def with_rows(self, rows: str) -> Null:
        """The null from the same simulated tables where bad rows are others: "any" choose their features, "independent"
        ones do not; "changed" are ⌊εn⌋ values y that were changed by somebody who had seen all rows."""
        found = copy.copy(self)
        found._set_rows(rows)
        return found

    def _simulate(self, count: int, share: float, stream: int) -> Floats:
        rng = generator_at(self._seed, stream)
        if self._pit.redraw is None:
            return fresh_tables(self._pit.fresh, self._features, count, rng, share)
        redrawn = (map(np.atleast_2d, self._pit.redraw(rng)) for _ in range(count))
        return np.array([tabulate(low, high, self._features) for low, high in redrawn])

    def _bad(self, shares: Floats) -> Floats:
        """Number of bad rows in every replicate at every share, (replicates, e): it does not fall along the shares."""
        return np.asarray(scipy.stats.binom.ppf(self._ranks, self._features.n, shares))

    def _scale(self, share: float) -> Floats:
        """1/σ_g of every table and view, (t, v); a quarter of a count is added to σ²."""
        variance = self._variance
        if self.rows == "independent":
            variance = (1.0 - share) * variance + share * (1.0 - share) * self._square
        elif self.rows == "any":
            rooms, place = np.unique(self._room, return_inverse=True)
            taken = np.minimum(self._bad(np.array([share]))[: self._pilot], rooms).var(axis=0)
            variance = variance + self._top**2 * taken[place].reshape(self._room.shape)
        return np.asarray(1.0 / np.sqrt(variance + 0.25))

    def _allowed(self, share: float) -> Floats:
        """Σ E_i g less what a share of bad rows may take away, (t, v)."""
        if self.rows == "independent":
            return np.asarray((1.0 - share) * self._expected)
        tolerated = np.floor(share * self._features.n + _ROUNDING)
        return np.asarray(self._expected - self._top * np.minimum(tolerated, self._room))

    def _maxima(self, tables: Floats, shares: Floats, scales: list[Floats], bad: Floats | None = None) -> Floats:
        """Largest shortage over σ of boxes and of scores, for tables (b, t, 8, 18) at every share: (b, e, 2)."""
        found, allowed = np.empty((len(tables), shares.size, 2)), [self._allowed(share) for share in shares]
        for chunk in chunks(len(tables) if shares.size else 0, self._expected.size, TOGETHER):
            views = views_of(tables[chunk])
            for e, scale in enumerate(scales):
                short = allowed[e] - views
                if bad is not None:  # so many bad rows can take away
                    short += self._top * np.minimum(bad[chunk, e, None, None], self._room)
                short *= scale
                found[chunk, e, 0] = short[..., :BOXES].max(axis=(1, 2))
                found[chunk, e, 1] = short[..., BOXES:].max(axis=(1, 2))
        return found

    def references(self, shares: Floats) -> list[Reference]:
        """References at these shares: from the same replicates, or from thinned ones if rows are independent."""
        if self.rows == "changed":  # replicates are rows before the change, at every share
            shares = np.zeros(shares.size)
        new = np.setdiff1d(shares, list(self._references))
        scales = [self._scale(share) for share in new]
        if self.rows != "independent":
            maxima = list(np.moveaxis(self._maxima(self.tables, new, scales, self._bad(new)), 1, 0))
        else:
            one = (self._simulate(self._size, share, 2) for share in new)
            maxima = [self._maxima(t, new[[e]], scales[e : e + 1])[:, 0] for e, t in enumerate(one)]
        found = zip(new.tolist(), scales, maxima, strict=True)
        self._references |= {share: Reference.of(scale, top, self._pilot) for share, scale, top in found}
        return [self._references[share] for share in shares.tolist()]

    def reference(self, share: float) -> Reference:
        """The reference at a share."""
        return self.references(np.array([share]))[0]

    def statistic_at(self, share: float) -> Callable[[Floats], float]:
        """The statistic at a share, as a function of observed tables (t, 8, 18)."""
        own = self.reference(share)
        most = self._allowed(share) * own.slope - own.offset
        return lambda tables: float((most - own.slope * views_of(tables)).max())

    def pvalue(self, table: Floats, share: float = 0.0, *, proven: bool = False) -> float:
        """The p-value of an observed table (t, 8, 18) at a tolerated share."""
        return float(self.pvalues(table, np.array([share]), proven=proven)[0])

    def pvalues(self, table: Floats, shares: Floats = SHARES, *, proven: bool = False) -> Floats:
        """The p-value at every share; ``np.maximum.accumulate`` of them holds for a share chosen after looking."""
        views, convex = views_of(table), proven & (shares > 0.0) & (self.rows == "any")
        found = zip(self.references(shares), map(self._allowed, shares), convex, strict=True)
        return np.array([own.pvalue((own.slope * (most - views) - own.offset).max(), c) for own, most, c in found])

    def worst(self, table: Floats, share: float) -> list[tuple[int, int, int, float]]:
        """Position, block and arc of the largest box, and largest standardized view of every table, largest first."""
        own = self.reference(share)
        short = own.slope * (self._allowed(share) - views_of(table)) - own.offset
        boxes = np.where(self._room[:, :BOXES] > 0, short[:, :BOXES], -np.inf).argmax(axis=1)
        order = np.argsort(-short.max(axis=1), kind="stable").tolist()
        return [(t, *divmod(int(boxes[t]), len(ARCS)), float(short[t].max())) for t in order]


SLACK = 1.75  # bound of |shift| and |log scale| over ε; the worst bias of Huber's estimator of location is 1.72 ε

_RESTARTS, _ENOUGH = 3, 0.5


@dataclass(frozen=True, eq=False)
class Biases:
    """Shifts D t₁ and log scales t₂ by which a share ε of bad rows may have moved a robust fit.

    Let DᵀD/n = I. To first order in ε, bad rows B move Huber's regression by t₁ = 1.72 ε Σ_{i in B} s_i D_i/(ε n)
    with |s_i| ≤ 1. So v·t₁ ≤ 1.72 ε h(v) for every direction v, h(v) the mean of the largest share ε of |D v|. That is
    asked of the axes, and of t₁ itself as direction.

    Attributes
    ----------
    design : array, shape (n, q)
        D.
    rows : int
        ⌈εn⌉.
    most : float
        The slack times ε, in place of 1.72 ε.
    box : array, shape (q + 1,)
        Largest |t|, component by component; the last is that of the log scale.
    """

    design: Floats
    rows: int
    most: float
    box: Floats

    @classmethod
    def of(cls, features: Features, share: float, slack: float = SLACK) -> Biases:
        """The biases that a share of bad rows may cause."""
        rows, most = max(1, math.ceil(share * features.n)), slack * share
        return cls(features.design, rows, most, most * np.append(_mean_of_largest(features.design, rows), 1.0))

    def nearest(self, t: Floats) -> Floats:
        """t cut to the box, and its shift shrunk to what its own direction allows."""
        t = np.clip(t, -self.box, self.box)
        size, room = t[:-1] @ t[:-1], self.most * _mean_of_largest(self.design @ t[:-1], self.rows)
        return t if size <= room else np.append(t[:-1] * (room / size), t[-1])


def _mean_of_largest(values: Floats, rows: int) -> Any:
    """Mean of the largest absolute values, column by column."""
    return np.partition(np.abs(values), -rows, axis=0)[-rows:].mean(axis=0)


def recalibrated(pit: Pit, features: Features, t: Floats) -> tuple[Floats, Floats]:
    """PIT intervals with z = Φ⁻¹(u) replaced by (z − D t₁)/e^t₂, D the design of ``features``."""
    shift, scale = features.design @ t[:-1], np.exp(t[-1])
    ends = [pit.low] if np.array_equal(pit.low, pit.high) else [pit.low, pit.high]
    found = [scipy.special.ndtr((scipy.special.ndtri(end) - shift) / scale) for end in ends]
    return found[0], found[-1]


def recalibrate(pit: Pit, features: Features, null: Null, share: float) -> tuple[float, Floats]:
    """Largest p-value over recalibrations within `Biases`, for a model that was fitted robustly on the same rows.

    Parameters
    ----------
    pit, features : Pit, Features
        The rows under the fitted model.
    null : Null
        Of fresh rows, never of refits.
    share : float
        The tolerated share ε of bad rows.

    Returns
    -------
    pvalue : float
        The largest p-value that was found.
    t : array
        Its recalibration, for `recalibrated`: shift, slopes along the design, log scale.

    Notes
    -----
    If the true law is a recalibration within the biases, the p-value is at least that of the true law, so that the
    level is kept up to the probability that the fit is farther away. The search is local, with three restarts before
    a p-value below one half is returned; a minimum that it misses makes the p-value too small.

    Examples
    --------
    >>> from steinball.predictive.law import DistributionFunction
    >>> rng = np.random.default_rng(0)
    >>> pit = DistributionFunction(scipy.special.ndtr).pit(rng.normal(0.15, 1.0, size=4000))
    >>> features = Features.of({"x": rng.normal(size=4000)})
    >>> null = Null(pit, features, rng=0)
    >>> pvalue, t = recalibrate(pit, features, null, 0.05)
    >>> null.pvalue(tabulate(pit.low, pit.high, features), 0.05) < 0.05 < pvalue, bool(t[0] > 0.0)
    (True, True)
    """
    statistic, rng, within = null.statistic_at(share), np.random.default_rng(0), Biases.of(features, share)
    best = np.zeros(within.box.size)

    def value(t: Floats) -> float:
        return statistic(tabulate(*recalibrated(pit, features, t), features))

    for start in (best, *rng.uniform(-within.box, within.box, (_RESTARTS, best.size))):
        best = min(best, _descend(value, within.nearest(start), within, rng), key=value)
        pvalue = null.pvalue(tabulate(*recalibrated(pit, features, best), features), share)
        if pvalue > _ENOUGH:
            break
    return pvalue, best


def _descend(value: Callable[[Floats], float], start: Floats, within: Biases, rng: np.random.Generator) -> Floats:
    """Pattern search within biases: along every axis, and along as many random diagonals."""
    best, step, lowest = start, 0.5, value(start)
    while step > 0.05:
        axes, before = np.vstack([np.eye(best.size), rng.choice([-1.0, 1.0], size=(best.size, best.size))]), lowest
        for t in map(within.nearest, best + step * within.box * np.vstack([axes, -axes])):
            if (found := value(t)) < lowest:
                best, lowest = t, found
        step = step if lowest < before else step / 2.0
    return best
