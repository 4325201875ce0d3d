"""Recalibrations of a model that was fitted robustly on the same rows: by how much bad rows may have moved it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy

from steinball.arrays import Floats
from steinball.predictive.null import Null
from steinball.predictive.pit import Pit
from steinball.predictive.table import Features, tabulate

__all__ = ["SLACK", "Biases", "recalibrate", "recalibrated"]

SLACK = 1.75
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
    def of(cls, features: Features, share: float, slack: float) -> Biases:
        """Those of a share and a slack."""
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
    low = scipy.special.ndtr((scipy.special.ndtri(pit.low) - shift) / scale)
    return low, low if np.array_equal(pit.low, pit.high) else scipy.special.ndtr(
        (scipy.special.ndtri(pit.high) - shift) / scale
    )


def recalibrate(pit: Pit, features: Features, null: Null, share: float, slack: float = SLACK) -> tuple[float, Floats]:
    """Largest p-value over recalibrations within `Biases`, for a model that was fitted robustly on the same rows.

    Parameters
    ----------
    pit, features : Pit, Features
        The rows under the fitted model.
    null : Null
        Of fresh rows, never of refits.
    share : float
        The tolerated share ε of bad rows.
    slack : float
        Bound of |shift| and |log scale| over ε; the worst bias of Huber's estimator of location is 1.72 ε.

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
    >>> from steinball.predictive.pit import from_cdf_values
    >>> rng = np.random.default_rng(0)
    >>> pit = from_cdf_values(scipy.special.ndtr(rng.normal(0.15, 1.0, size=4000)))
    >>> features = Features.of({"x": rng.normal(size=4000)})
    >>> null = Null(pit, features, rng=0)
    >>> pvalue, t = recalibrate(pit, features, null, 0.05)
    >>> null.pvalue(tabulate(pit.low, pit.high, features), 0.05) < 0.05 < pvalue, bool(t[0] > 0.0)
    (True, True)
    """
    statistic, rng, within = null.statistic_at(share), np.random.default_rng(0), Biases.of(features, share, slack)
    best = np.zeros(within.box.size)

    def value(t: Floats, most: float = np.inf) -> float:
        return statistic(tabulate(*recalibrated(pit, features, t), features), most)

    lowest = value(best)
    for start in (best, *rng.uniform(-within.box, within.box, (_RESTARTS, best.size))):
        reached, found = _descend(value, within.nearest(start), within, rng)
        lowest, best = (found, reached) if found < lowest else (lowest, best)
        pvalue = null.pvalue(tabulate(*recalibrated(pit, features, best), features), share)
        if pvalue > _ENOUGH:
            break
    return pvalue, best


def _descend(
    value: Callable[[Floats, float], float], start: Floats, within: Biases, rng: np.random.Generator
) -> tuple[Floats, float]:
    """Pattern search within biases: along every axis, and along as many random diagonals; and its value."""
    best, step, lowest = start, 0.5, value(start, np.inf)
    while step > 0.05:
        axes, before = np.vstack([np.eye(best.size), rng.choice([-1.0, 1.0], size=(best.size, best.size))]), lowest
        for t in map(within.nearest, best + step * within.box * np.vstack([axes, -axes])):
            if (found := value(t, lowest)) < lowest:
                best, lowest = t, found
        step = step if lowest < before else step / 2.0
    return best, lowest
