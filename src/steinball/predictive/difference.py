"""How far the shares of rows and of predictions differ in ranges of a feature and of the PIT."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import NDArray

from steinball.arrays import Floats
from steinball.predictive.pit import Pit
from steinball.predictive.table import ARC_WIDTHS, ARCS, BLOCKS, BOXES, IN_BLOCK, Features, views_of

_ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class Difference:
    """How far the shares of data and model differ in a box: rows of a block whose PIT lies in an arc A.

    The difference is δ = max over boxes of |Σ_{i in block} (Q_i(A) − W_A)|/n, with Q_i the law of the PIT of row i
    (uniform on its interval). Each of `lower_bound` and `upper_bound` holds with probability 1 − level.

    Attributes
    ----------
    counts : array, shape (t, 16, 306)
        Rows in every box.
    block_rows : int array, shape (t, 16, 1)
        Rows in every block.
    n : int
        All rows.
    factor : float
        1 where rows are points, so that counts are whole numbers; e where rows are spread over cells.

    Notes
    -----
    Proved at every n for independent rows and a model that was not fitted to them, by Hoeffding's theorem on sums of
    unequal indicators; for rows that are spread, by a bound of convex order that costs the factor e.

    Examples
    --------
    >>> from steinball.predictive.pit import POINTS
    >>> from steinball.predictive.table import tabulate
    >>> u = (np.arange(4000)[None] * 0.618034) % 1.0
    >>> features = Features.of({"order": np.arange(4000)})
    >>> found = Difference.of(tabulate(u, u, features), Pit(u, u, POINTS), features)
    >>> found.lower_bound(0.05), round(found.upper_bound(0.05), 3)
    (0.0, 0.013)
    """

    counts: Floats
    block_rows: NDArray[np.int64]
    n: int
    factor: float

    @classmethod
    def of(cls, tables: Floats, pit: Pit, features: Features) -> Difference:
        """From observed tables (t, 8, 18), of a model that was not fitted to these rows."""
        rows = np.tile(features.counts, (pit.fresh.outputs, 1)) @ IN_BLOCK.T.astype(int)
        counts = views_of(tables)[:, :BOXES].reshape(len(tables), len(BLOCKS), len(ARCS))
        return cls(counts, rows[..., None], features.n, 1.0 if pit.fresh.points else math.e)

    @property
    def _weights(self) -> Floats:
        """Bonferroni's weights: equal votes of tables, and of boxes in proportion to their share of the rows."""
        shares = self.block_rows * ARC_WIDTHS
        return np.asarray(shares / shares.sum(axis=(1, 2), keepdims=True) / len(shares))

    def pvalue(self, tolerance: float) -> float:
        """The p-value of: no box is short of more than ``tolerance`` of all rows, by law or by changed rows."""
        count, m = np.ceil(self.counts - _ROUNDING), self.block_rows
        chance = np.clip(ARC_WIDTHS - tolerance * self.n / np.maximum(m, 1), 0.0, 1.0)
        changed = math.floor(tolerance * self.n + _ROUNDING)
        by_change = scipy.special.bdtr(np.minimum(count + changed, m), m, ARC_WIDTHS)
        tails = self.factor * np.maximum(scipy.special.bdtr(count, m, chance), by_change)
        tails /= np.maximum(self._weights, np.finfo(float).tiny)
        return float(min(1.0, tails.min()))

    def lower_bound(self, level: float) -> float:
        """δ_L, the largest of limits of the shortages of all boxes that hold together, by law and by changed rows."""
        count, alpha = np.ceil(self.counts - _ROUNDING), level * self._weights / self.factor
        m, width = (np.broadcast_to(part, count.shape) for part in (self.block_rows, ARC_WIDTHS))
        chance = np.where(count < m, scipy.special.betainccinv(count + 1.0, np.maximum(m - count, 1.0), alpha), 1.0)
        by_law, best = m * (width - chance) / self.n, 0.0
        boxes = by_law >= by_law.max()
        for _ in range(2):  # the limit by changed rows is slow: of the largest box, then of those that may exceed it
            by_change = (_binomial_quantile(alpha[boxes], m[boxes], width[boxes]) - count[boxes] + 1.0) / self.n
            best = float(np.minimum(by_law[boxes], by_change).max(initial=best))
            boxes = by_law > best
        return best

    def upper_bound(self, level: float) -> float:
        """δ_U, the largest of pointwise upper limits of the shortages of all boxes, which need no correction."""
        count, m = np.floor(self.counts + _ROUNDING), self.block_rows
        chance = scipy.special.betaincinv(np.maximum(count, 1.0), m - count + 1.0, level / self.factor)
        if self.factor == 1.0:
            chance = np.minimum(chance, (count - 1.0) / np.maximum(m, 1))
        return float((m * (ARC_WIDTHS - np.where(count > 0, np.maximum(chance, 0.0), 0.0)) / self.n).max())

    def rows_needed(self, tables: Floats, tolerance: float, level: float) -> float:
        """Rows from which on a true model is called good enough in about three of four samples, (C/(ε − δ_L))².

        C = √n times the 75 % quantile of δ_U, by the normal approximation, over fresh ``tables`` (b, t, 8, 18).
        """
        room = tolerance - self.lower_bound(level)
        noise = -scipy.special.ndtri(level / self.factor) * np.sqrt(self.block_rows * ARC_WIDTHS * (1.0 - ARC_WIDTHS))
        mean = self.block_rows * ARC_WIDTHS + noise
        highs = [(mean - views_of(one)[:, :BOXES].reshape(self.counts.shape)).max() for one in tables]
        return math.ceil(np.quantile(highs, 0.75) ** 2 / self.n / room**2) if room > 0.0 else math.inf


def _binomial_quantile(alpha: Floats, m: NDArray[np.int64], chance: Floats) -> Floats:
    """The largest count c with P(Bin(m, chance) ≤ c) ≤ alpha; −1 if there is none."""
    reached = scipy.stats.binom.ppf(alpha, m, chance)
    return np.asarray(reached - (scipy.stats.binom.cdf(reached, m, chance) > alpha))
