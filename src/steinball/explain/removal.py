"""How firm a decision is: the least data to remove, and how many points may be replaced, before it turns."""

from __future__ import annotations

import math
from bisect import bisect_left
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from steinball.arrays import Floats, to_host
from steinball.evidence.ksd import KSDEvidence
from steinball.problem import Problem
from steinball.text import Summarized, count, number, percent, wrap

LARGEST = 5_000
"""Points whose Gram matrix is held as a whole."""

_OUTER, _INNER = 60, 80  # prices tried, and steps of the quasi-Newton method for each
_STEP = math.log(4.0)  # of the logarithm of a price, until the right one is passed
_TOLERANCE = 1e-6  # the gap that is good enough: a hundredth of a point among ten thousand
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


def least_removal(problem: Problem, threshold: float) -> Removal:
    r"""The least data to remove so that the rest is within the threshold of a test

    .. math:: \min \sum_i a_i \quad\text{subject to}\quad 0 \le a_i \le \tfrac1n, \qquad
       \Big| \sum_i \big(\tfrac1n - a_i\big) \varphi(x_i) \Big| \le \rho.

    Parameters
    ----------
    problem : Problem
        What was tested, with V-statistics.
    threshold : float
        ρ > 0 on the scale of D; of a result, what D had to exceed for a rejection.

    Returns
    -------
    Removal

    Notes
    -----
    What remains has total weight 1 − Σa and is *not* scaled up again: that keeps the problem convex, and asks how much
    of the sample must be left out of an average over n points. The threshold is held fixed; it is not the threshold of
    a test of the remaining points. The answer is exact up to the reported ``gap`` (a proved bound,
    ``docs/theory/explanations.md``). Points at the same place may share a removal in any way. The Gram
    matrix of all points is held: more than 5,000 of them are refused.

    Examples
    --------
    >>> import steinball as sb
    >>> x = sb.datasets.contaminate(np.random.default_rng(0).normal(size=200), 0.2, 3.0, rng=0)
    >>> result = sb.ksd_test(x, sb.models.Gaussian(), tilt="auto", radius=sb.Huber(0.02), rng=0)
    >>> removal = result.least_removal()
    >>> bool((x[removal.ranked] == 3.0).all()), round(removal.share, 2)
    (True, 0.07)
    """
    n = len(problem)
    if n > LARGEST:
        raise ValueError(
            f"`least_removal` compares all pairs of points and is limited to {LARGEST:,}, got {n:,}. "
            "Ask a test of a random subsample."
        )
    matrix = to_host(problem.stein.block(problem.points, problem.points))
    pulls = matrix.sum(axis=1)
    ksd = math.sqrt(max(0.0, float(pulls.mean()) / n))
    if ksd <= threshold:
        return Removal(0.0, np.zeros(n), np.empty(0, dtype=np.intp), ksd, threshold, 0.0)
    rho = max(threshold, _LEAST_SHARE * ksd)
    found = keep_most(matrix, rho, _TOLERANCE)
    weights = 1.0 - found.kept
    order = np.lexsort((-pulls, -weights.round(6)))
    ranked = order[: int(np.sum(weights > _AT_ALL))]
    return Removal(float(weights.mean()), weights, ranked, ksd, rho, found.gap)


@dataclass(frozen=True, eq=False)
class KeptMass:
    """Shares of every point that are kept, and what no other shares can exceed."""

    kept: Floats
    bound: float

    @property
    def gap(self) -> float:
        """How much more than this might be kept at most, as a share of the sample."""
        return max(0.0, self.bound - float(self.kept.mean()))


def keep_most(matrix: Floats, threshold: float, tolerance: float) -> KeptMass:
    r"""Solve

    .. math:: \max_{0 \le k_i \le 1} \frac1n \sum_i k_i \quad\text{subject to}\quad
       \Big| \frac1n \sum_i k_i \varphi(x_i) \Big| \le \rho.

    For a price ν the Lagrangian :math:`\frac\nu2 |\cdot|^2 - \frac1n \sum k_i` is a quadratic over a box (SciPy's
    L-BFGS-B); the price at which the norm is ρ is found by Brent's method. Every k gives the dual bound

    .. math:: \frac1n \sum_i k_i \le \rho |f| + \frac1n \sum_i (1 - f(x_i))_+, \qquad
       f = \frac tn \sum_j k_j \varphi(x_j),

    the best t for which is found by sorting, so the distance from the optimum is known and not guessed. ``matrix`` is
    the Gram matrix of the features φ, ``threshold`` ρ, and ``tolerance`` the gap at which to stop.
    """
    n = len(matrix)
    kept, best = np.ones(n), KeptMass(np.zeros(n), 1.0)

    def height(log_price: float) -> float:
        """log(norm/ρ) of what is kept at a price, which falls; 0 where the best answer so far is good enough."""
        nonlocal kept, best
        kept = _box_minimum(matrix, math.exp(log_price), kept)
        values = matrix @ kept / n
        norm = math.sqrt(max(0.0, float(kept @ values) / n))
        feasible = kept * min(1.0, threshold / norm) if norm > 0.0 else kept
        bound = min(best.bound, _dual_bound(values, norm, threshold))
        best = KeptMass(max(best.kept, feasible, key=np.sum), bound)
        return 0.0 if best.gap <= tolerance else math.log(max(norm / threshold, 1e-300))

    low = high = -math.log(float(matrix.sum(axis=1).max()) / n)  # where all is kept, the price of the first to go
    while height(high) > 0.0:
        low, high = high, high + _STEP
    if best.gap > tolerance:  # a second look at an end may differ a little from the first one: step back from both
        ends = low - _STEP, high + _STEP
        scipy.optimize.brentq(height, *ends, xtol=1e-13, rtol=1e-14, maxiter=_OUTER, disp=False)
    return best


def _box_minimum(matrix: Floats, price: float, start: Floats) -> Floats:
    """argmin of ν kᵀUk/(2n) − Σ kᵢ over 0 ≤ kᵢ ≤ 1."""

    def objective(kept: Floats) -> tuple[float, Floats]:
        gradient = (price / len(kept)) * (matrix @ kept)
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


@dataclass(frozen=True)
class Fragility(Summarized):
    """How many replaced points a decision provably survives.

    Attributes
    ----------
    changes : int
        The decision survives replacing any ``changes`` points by arbitrary values.
    rejected : bool
        The decision.
    n : int
        Number of points.

    Examples
    --------
    >>> Fragility(7, True, 500).share
    0.014
    """

    changes: int
    rejected: bool
    n: int

    @property
    def share(self) -> float:
        """``changes`` as a share of the points."""
        return self.changes / self.n

    def summary(self) -> str:
        """In words.

        Examples
        --------
        >>> print(Fragility(7, True, 500).summary())
        Rejected. The decision survives replacing any 7 of the 500 points (1.4 %) by
        arbitrary values, as long as kernel, tilt and τ stay the same.
        """
        word, points = "Rejected" if self.rejected else "Not rejected", f"the {count(self.n, 'point')}"
        if self.changes == 0:
            return wrap(f"{word}. Replacing one of {points} might change the decision.", indent=0)
        some = f"any {count(self.changes)} of {points} ({percent(self.share)})"
        return wrap(
            f"{word}. The decision survives replacing {some} by arbitrary values, as long as kernel, tilt and τ stay "
            "the same.",
            indent=0,
        )


def fragility(evidence: KSDEvidence, decision: Any) -> Fragility:
    r"""How many points can be replaced without changing the decision of a test: a proved lower bound.

    Replacing K points moves D by at most KΔ/n, :math:`\Delta = 2\sqrt\tau`, and the bootstrap draw with weights v by at
    most :math:`T(K)\,\Delta/n`, with T(K) the sum of the K largest |vᵢ|. So the decision survives K changes if

    .. math:: D - \frac{K\Delta}{n} - \theta > q\Big(D_b + \frac{T_b(K)\,\Delta}{n}\Big)
       \quad\text{or}\quad
       D + \frac{K\Delta}{n} - \theta \le q\Big(D_b - \frac{T_b(K)\,\Delta}{n}\Big),

    where it was rejected or not. That is never less than :math:`\lceil m n/((1 + \max|v|)\Delta) \rceil - 1` with the
    margin m = \|D − θ − q\|. A deviation bound does not move: T = 0. The boundary bootstrap's draws
    :math:`|\theta \hat g + \delta_b|` also turn with the direction :math:`\hat g` of the data, by no more than
    :math:`\theta \cdot 2 \sin(\tfrac12 \arcsin \tfrac{K\Delta}{nD})`.

    Parameters
    ----------
    evidence : KSDEvidence
        Of a V-statistic, with exact pairs, a τ that is an upper bound of u(x, x), and a kernel and tilt that were given
        or come from the model.
    decision : GofResult
        The result at one tolerance and level.

    Returns
    -------
    Fragility

    Notes
    -----
    Proved (``docs/theory/explanations.md``) for a kernel, tilt, τ and radius that stay as they are: a length scale or
    a tilt taken from the data would move with them. The weights v of the draws are those that the draws use, centered
    or scaled where the calibration does that; the adversary may know them. It is a lower bound: the points that really
    flip the decision may be several times as many.

    Examples
    --------
    >>> import steinball as sb
    >>> x = np.random.default_rng(0).normal(0.8, 1.0, size=300)
    >>> fixed = {"kernel": sb.InverseMultiquadric(1.0), "tilt": sb.PolynomialTilt(), "tau": 1.7}
    >>> result = sb.ksd_test(x, sb.models.Gaussian(), radius=sb.Huber(0.02), rng=0, **fixed)
    >>> result.rejected, result.fragility().changes
    (True, 9)
    """
    _check(evidence)
    n = len(evidence.summary)
    step = 2.0 * math.sqrt(evidence.tau.value) / n

    def survives(k: int) -> bool:
        moved = step * _largest_sums(evidence, k)
        critical = evidence.null.critical_range(decision.level, decision.radius, k * step, moved)
        if critical is None:
            raise TypeError(
                f"`fragility` knows how bootstraps and deviation bounds move, not {decision.calibration}. "
                "Test with WeightedBootstrap or BoundaryBootstrap."
            )
        if decision.rejected:
            return bool(decision.ksd - k * step > critical[1])
        return bool(decision.ksd + k * step <= max(decision.radius, critical[0]))

    # The decision survives 0 changes, and none beyond the first number of them that it does not survive.
    changes = bisect_left(range(1, n + 1), True, key=lambda k: not survives(k))
    return Fragility(changes, decision.rejected, n)


def _check(evidence: KSDEvidence) -> None:
    if not evidence.tau.is_upper_bound:
        raise ValueError(
            f'`fragility` needs an upper bound of u(x, x) for every x, but `tau` is of kind "{evidence.tau.kind}": a '
            'new point may exceed it. Test with tau="auto" where the model has a bound, or with a number that you know.'
        )
    if not evidence.predictable:
        raise ValueError(
            "`fragility` is about a kernel and tilt that stay as they are, and those of this result come from its "
            "data, so that they would move with them. Test with a kernel and tilt of your own, such as "
            "`kernel=InverseMultiquadric(1.0), tilt=PolynomialTilt()`."
        )
    if evidence.estimator != "v":
        raise ValueError('`fragility` is about V-statistics: use estimator="v".')
    if evidence.summary.grade != "exact":
        raise ValueError('`fragility` needs every pair of points: use engine="blocked".')


def _largest_sums(evidence: KSDEvidence, k: int) -> Floats:
    """T_b(K) for every draw b: the sum of the K largest of its weights in size, as the draws use them."""
    sums = []
    for chunk in evidence.summary.weights:
        weights = np.asarray(chunk, dtype=np.float64)
        applied = evidence.calibration.applied(weights)
        sizes = np.sort(np.abs(weights if applied is None else applied), axis=1)
        sums.append(sizes[:, max(0, sizes.shape[1] - k) :].sum(axis=1))
    return np.concatenate(sums) if sums else np.empty(0)
