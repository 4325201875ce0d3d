"""The least data whose removal brings a sample within the threshold of a test."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from steinball.arrays import Floats, to_host
from steinball.explain.kept_mass import Product, certify, keep_most
from steinball.gram.cholesky import PivotedCholesky
from steinball.problem import Problem
from steinball.progress import Progress, check_show
from steinball.text import count, number, percent, wrap

DENSE_UP_TO = 5_000
"""Points up to which the Gram matrix is held as a whole; beyond, a low-rank factor of it."""

LARGEST = 50_000
"""Points beyond which even the exact product that certifies the answer takes minutes."""

_TOLERANCE = 1e-6  # the gap that is good enough: a hundredth of a point among ten thousand
_FACTOR_ENTRIES, _RESIDUAL = 2**26, 1e-9
_ROWS_AT_ONCE = 512
_LEAST_SHARE = 1e-12  # of D, below which a threshold is as good as 0
_FULLY, _AT_ALL = 0.999, 1e-3


@dataclass(frozen=True, eq=False)
class Removal:
    """The least data to remove; a description of this sample, not a confidence statement.

    Attributes
    ----------
    share : float
        The least share of the sample whose removal brings D to ``threshold``; the optimum lies within
        [``share`` − ``gap``, ``share``].
    weights : (n,) NumPy array
        The share of each point that is removed, in [0, 1].
    ranked : NumPy array of int
        The points with a weight above 1/1000, the largest first; among equals the one that pulls hardest.
    ksd, threshold : float
        D of the whole sample, and what it was to be brought to.
    gap : float
        How far ``share`` may lie above the optimum, from a dual bound.

    Examples
    --------
    >>> print(Removal(0.0, np.zeros(9), np.empty(0, dtype=np.intp), 0.1, 0.2, 0.0).summary())
    No points need to be removed: D = 0.1 is already within 0.2.
    """

    share: float
    weights: Floats = field(repr=False)
    ranked: NDArray[np.intp] = field(repr=False)
    ksd: float
    threshold: float
    gap: float

    def summary(self) -> str:
        """In words."""
        n, whole = self.weights.size, int(np.sum(self.weights > _FULLY))
        if self.share == 0.0:
            return f"No points need to be removed: D = {number(self.ksd)} is already within {number(self.threshold)}."
        first = ", ".join(str(i) for i in self.ranked[:10])
        return wrap(
            f"Removing {percent(self.share)} of the {count(n, 'point')} brings D from {number(self.ksd)} to "
            f"{number(self.threshold)}; no share smaller by more than {self.gap:.1e} does. {count(whole, 'point')} "
            f"would be removed wholly and {count(self.ranked.size - whole)} in part, first those with index {first}. "
            "The remaining points are not scaled up. This describes the sample; it is not a confidence statement.",
            indent=0,
        )

    def __str__(self) -> str:
        return self.summary()


def least_removal(problem: Problem, threshold: float, *, progress: bool | str = "auto") -> Removal:
    r"""The least data to remove so that the rest is within the threshold of a test

    .. math:: \min \sum_i a_i \quad\text{subject to}\quad 0 \le a_i \le \tfrac1n, \qquad
       \Big| \sum_i \big(\tfrac1n - a_i\big) \varphi(x_i) \Big| \le \rho.

    Parameters
    ----------
    problem : Problem
        What was tested, with V-statistics.
    threshold : float
        ρ > 0 on the scale of D; of a result, what D had to exceed for a rejection.
    progress : bool or "auto"
        Whether to show progress; by default on a terminal or in a notebook, after two seconds.

    Returns
    -------
    Removal

    Notes
    -----
    What remains has total weight 1 − Σa and is *not* scaled up again: that keeps the problem convex, and asks how much
    of the sample must be left out of an average over n points. The threshold is held fixed; it is not the threshold of
    a test of the remaining points. The answer is exact up to the reported ``gap`` (a proved bound,
    ``docs/theory/explanations.md``). Points at the same place may share a removal in any way. Up to 5,000 points the
    whole Gram matrix is held; up to 50,000 a low-rank factor guides the search, and the exact matrix certifies it.

    Examples
    --------
    >>> import steinball as sb
    >>> x = sb.datasets.contaminate(np.random.default_rng(0).normal(size=200), 0.2, 3.0, rng=0)
    >>> result = sb.ksd_test(x, sb.models.Gaussian(), tilt="auto", radius=sb.Huber(0.02), rng=0)
    >>> removal = result.least_removal()
    >>> bool((x[removal.ranked] == 3.0).all()), round(removal.share, 2)
    (True, 0.08)
    """
    check_show(progress)
    n, rho = len(problem), threshold
    if n > LARGEST:
        raise ValueError(
            f"`least_removal` compares all pairs of points and is limited to {LARGEST:,}, got {n:,}. "
            "Ask it about a random subsample, with the threshold of the full sample."
        )
    products = exact_product(problem, np.ones(n), progress)
    ksd = math.sqrt(max(0.0, float(products.mean()) / n))
    if ksd <= rho:
        return Removal(0.0, np.zeros(n), np.empty(0, dtype=np.intp), ksd, rho, 0.0)
    rho = max(rho, _LEAST_SHARE * ksd)
    found = keep_most(_product(problem, progress), n, rho, _TOLERANCE, progress)
    if n > DENSE_UP_TO:
        found = certify(exact_product(problem, found.kept, progress), found.kept, rho)
    weights = 1.0 - found.kept
    order = np.lexsort((-products, -weights.round(6)))
    ranked = order[: int(np.sum(weights > _AT_ALL))]
    return Removal(float(weights.mean()), weights, ranked, ksd, rho, found.gap)


def exact_product(problem: Problem, vector: Floats, show: bool | str = False) -> Floats:
    """U v on the host, a few hundred rows of u at a time."""
    n, points, parts = len(problem), problem.points, []
    with Progress("Stein kernel", n, show) as progress:
        for start in range(0, n, _ROWS_AT_ONCE):
            rows = points.rows(start, min(start + _ROWS_AT_ONCE, n))
            parts.append(to_host(problem.stein.block(rows, points)) @ vector)
            progress.advance(len(parts[-1]))
    return np.concatenate(parts)


def _product(problem: Problem, show: bool | str = False) -> Product:
    """v → U v, with the whole matrix in memory or, for many points, with a low-rank factor of it."""
    n = len(problem)
    if n <= DENSE_UP_TO:
        matrix = to_host(problem.stein.block(problem.points, problem.points))
        return lambda vector: np.asarray(matrix @ vector)
    factor = PivotedCholesky(problem)
    factor.grow(_RESIDUAL, max(1, _FACTOR_ENTRIES // n), show)
    columns = np.concatenate([to_host(panel) for panel in factor.panels], axis=1)
    return lambda vector: np.asarray(columns @ (columns.T @ vector))
