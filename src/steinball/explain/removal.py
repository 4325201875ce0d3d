"""The least data whose removal brings a sample within the threshold of a test."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import scipy
from numpy.typing import NDArray

from steinball.arrays import Floats, to_host
from steinball.gram.lowrank import PivotedCholesky
from steinball.problem import Problem
from steinball.progress import Progress, check_show
from steinball.text import Summarized, count, number, percent, wrap

Product = Callable[[Floats], Floats]

_OUTER, _INNER = 60, 80  # prices tried, and steps of the quasi-Newton method for each


@dataclass(frozen=True, eq=False)
class KeptMass:
    """Shares of every point that are kept, and what no other shares can exceed."""

    kept: Floats
    bound: float

    @property
    def gap(self) -> float:
        """How much more than this might be kept at most, as a share of the sample."""
        return max(0.0, self.bound - float(self.kept.mean()))


def keep_most(product: Product, n: int, threshold: float, tolerance: float, show: bool | str = False) -> KeptMass:
    r"""Solve

    .. math:: \max_{0 \le k_i \le 1} \frac1n \sum_i k_i \quad\text{subject to}\quad
       \Big| \frac1n \sum_i k_i \varphi(x_i) \Big| \le \rho.

    For a price ν the Lagrangian :math:`\frac\nu2 |\cdot|^2 - \frac1n \sum k_i` is a quadratic over a box (SciPy's
    L-BFGS-B); the price at which the norm is ρ is found by false position. Every k gives the dual bound

    .. math:: \frac1n \sum_i k_i \le \rho |f| + \frac1n \sum_i (1 - f(x_i))_+, \qquad
       f = \frac tn \sum_j k_j \varphi(x_j),

    the best t for which is found by sorting, so the distance from the optimum is known and not guessed. ``product`` is
    k → U k for the Gram matrix of the features φ, ``threshold`` ρ, and ``tolerance`` the gap at which to stop; ``show``
    is whether its progress is shown.
    """
    with Progress("least removal", -math.log10(tolerance), show) as progress:

        def seen(kept: Floats) -> Floats:
            progress.advance(0.0)  # a single price may take a minute: the bar must not wait for its end
            return product(kept)

        search = _Search(seen, n, threshold)
        search.look(np.ones(n))
        price = 1.0 / (search.norm * threshold)
        for _ in range(_OUTER):
            if search.best.gap <= tolerance or search.finished:
                break
            before = search.digits(tolerance)
            search.look(_box_minimum(seen, n, price, search.last))
            progress.advance(search.digits(tolerance) - before)
            price = search.next_price(price)
        return search.best


def certify(products: Floats, kept: Floats, threshold: float) -> KeptMass:
    """The shares cut down to feasible ones where need be, and the bound that they give."""
    n, norm = kept.size, math.sqrt(max(0.0, float(kept @ products))) / kept.size
    kept = kept * min(1.0, threshold / norm) if norm > 0.0 else kept
    return KeptMass(kept, _dual_bound(products / n, norm, threshold))


class _Search:
    """The prices tried so far: the bracket of the right one, and the best answer and bound yet."""

    def __init__(self, product: Product, n: int, threshold: float) -> None:
        self._product, self._threshold = product, threshold
        self._ends: list[tuple[float, float] | None] = [None, None]  # (log price, log norm/ρ) above and below ρ
        self.last, self.norm, self.best = np.ones(n), math.inf, KeptMass(np.zeros(n), 1.0)

    @property
    def finished(self) -> bool:
        """Whether the norm is the threshold to rounding, or the bracket has closed."""
        above, below = self._ends
        closed = above is not None and below is not None and below[0] - above[0] < 1e-13
        return closed or abs(self.norm / self._threshold - 1.0) < 1e-12

    def digits(self, tolerance: float) -> float:
        """How many decimal digits of the answer are certain, of those that are wanted: how far the search is."""
        return -math.log10(max(self.best.gap, tolerance))

    def look(self, kept: Floats) -> None:
        """Take shares into account."""
        products, n = self._product(kept), kept.size
        self.last, self.norm = kept, math.sqrt(max(0.0, float(kept @ products))) / n
        found = certify(products, kept, self._threshold)
        better = found if found.kept.sum() > self.best.kept.sum() else self.best
        self.best = KeptMass(better.kept, min(found.bound, self.best.bound))

    def next_price(self, price: float) -> float:
        """False position on (log ν, log norm), kept away from the ends of the bracket; a factor of 4 without one."""
        height = math.log(max(self.norm / self._threshold, 1e-300))
        self._ends[0 if height > 0.0 else 1] = (math.log(price), height)
        above, below = self._ends
        if above is None or below is None:
            return price * (4.0 if below is None else 0.25)
        share = above[1] / (above[1] - below[1])
        return math.exp(above[0] + min(max(share, 0.1), 0.9) * (below[0] - above[0]))


def _box_minimum(product: Product, n: int, price: float, start: Floats) -> Floats:
    """argmin of ν kᵀUk/(2n) − Σ kᵢ over 0 ≤ kᵢ ≤ 1."""

    def objective(kept: Floats) -> tuple[float, Floats]:
        gradient = (price / n) * product(kept)
        return 0.5 * float(kept @ gradient) - float(kept.sum()), gradient - 1.0

    options = {"maxiter": _INNER, "maxfun": 4 * _INNER, "maxcor": 20, "ftol": 0.0, "gtol": 1e-9}
    found = scipy.optimize.minimize(
        objective, start, jac=True, method="L-BFGS-B", bounds=scipy.optimize.Bounds(0.0, 1.0), options=options
    )
    return np.asarray(np.clip(found.x, 0.0, 1.0))


def _dual_bound(values: Floats, norm: float, threshold: float) -> float:
    """The least over t ≥ 0 of ρ t |g| + mean (1 − t g(xᵢ))₊, for ``values`` g(xᵢ): convex and piecewise linear in t."""
    falling = np.sort(values)[::-1]
    steps = falling[falling > 0.0]  # the hinge of such a value is 0 from t = 1/value on
    left = falling.sum() - np.concatenate([[0.0], np.cumsum(steps)])
    slopes = threshold * norm - left / values.size  # at t = 0, and behind each of the steps
    where = min(int(np.searchsorted(slopes, 0.0)), steps.size)
    t = 0.0 if where == 0 else 1.0 / float(steps[where - 1])
    return float(threshold * norm * t + np.maximum(1.0 - t * values, 0.0).mean())


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
class Removal(Summarized):
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
    (True, 0.07)
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
