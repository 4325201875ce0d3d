"""How much of the weight of a sample can be kept within a radius: a convex problem, solved with a certificate."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.optimize import Bounds, minimize

from steinball.arrays import Floats
from steinball.progress import Progress

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
            if search.best.gap <= tolerance or search.settled:
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
    def settled(self) -> bool:
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
    found = minimize(objective, start, jac=True, method="L-BFGS-B", bounds=Bounds(0.0, 1.0), options=options)
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
