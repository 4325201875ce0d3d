"""How many points can be replaced without changing the decision of a test."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from steinball.arrays import Floats, as_number
from steinball.evidence.ksd import KSDEvidence
from steinball.gram.weights import Weights
from steinball.text import Summarized, count, percent, wrap

Survives = Callable[[int], bool]


@dataclass(frozen=True)
class Fragility(Summarized):
    """How many replaced points a decision provably survives.

    Attributes
    ----------
    changes : int
        The decision survives replacing any ``changes`` points by arbitrary values.
    rejected : bool
        The decision.
    margin : float
        \\|D − θ − q\\|, the distance of D from where the decision turns.
    diameter : float
        The bound Δ of how far apart two points are in the eyes of the Stein kernel.
    n : int
        Number of points.
    calibration : str
        The calibration of the test.

    Examples
    --------
    >>> Fragility(7, True, 0.1, 2.4, 500, "WeightedBootstrap").share
    0.014
    """

    changes: int
    rejected: bool
    margin: float
    diameter: float
    n: int
    calibration: str

    @property
    def share(self) -> float:
        """``changes`` as a share of the points."""
        return self.changes / self.n

    def summary(self) -> str:
        """In words.

        Examples
        --------
        >>> print(Fragility(7, True, 0.1, 2.4, 500, "WeightedBootstrap").summary())
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


def fragility(evidence: KSDEvidence, decision: Any, diameter: float | None = None) -> Fragility:
    r"""How many points can be replaced without changing the decision of a test: a proved lower bound.

    Replacing K points moves D by at most KΔ/n and the bootstrap draw with weights v by at most
    :math:`T(K)\,\Delta/n`, with T(K) the sum of the K largest |vᵢ|. So the decision survives K changes if

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
    diameter : float, optional
        :math:`\Delta \ge \sup_{x, y} |\varphi(x) - \varphi(y)|`; by default :math:`2\sqrt\tau`.

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
    tau, n = evidence.tau.value, len(evidence.summary)
    width = 2.0 * math.sqrt(tau) if diameter is None else as_number(diameter, "diameter", low=0.0, open_low=True)
    survives = _survivor(evidence, decision, width / n)
    # The decision survives 0 changes, and none beyond the first number of them that it does not survive.
    changes = bisect_left(range(1, n + 1), True, key=lambda k: not survives(k))
    margin = abs(decision.ksd - decision.radius - decision.threshold)
    return Fragility(changes, decision.rejected, margin, width, n, decision.calibration)


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


def _survivor(evidence: KSDEvidence, decision: Any, step: float) -> Survives:
    """Whether the decision survives K changes, each of which moves D by at most ``step`` = Δ/n."""
    null, weights = evidence.null, evidence.summary.weights
    changed = [evidence.calibration.applied(np.asarray(chunk, dtype=np.float64)) for chunk in weights]
    used = [chunk for chunk in changed if chunk is not None]
    largest_sums = _largest_sums_of_numbers(used) if used else _largest_sums(weights)

    def survives(k: int) -> bool:
        critical = null.critical_range(decision.level, decision.radius, k * step, step * largest_sums(k))
        if critical is None:
            raise TypeError(
                f"`fragility` knows how bootstraps and deviation bounds move, not {decision.calibration}. "
                "Test with WeightedBootstrap or BoundaryBootstrap."
            )
        if decision.rejected:
            return bool(decision.ksd - k * step > critical[1])
        return bool(decision.ksd + k * step <= max(decision.radius, critical[0]))

    return survives


def _largest_sums_of_numbers(weights: Sequence[Floats]) -> Callable[[int], Floats]:
    """T_b(K) for every draw b, of weights that are no whole numbers."""
    sizes = np.concatenate([-np.sort(-np.abs(chunk), axis=1) for chunk in weights])
    sums = np.cumsum(np.hstack([np.zeros((len(sizes), 1)), sizes]), axis=1)
    return lambda k: np.asarray(sums[:, min(k, sizes.shape[1])])


def _largest_sums(weights: Weights) -> Callable[[int], Floats]:
    """T_b(K) for every draw b: of whole numbers, the K largest |v| sum to Σ_j min(K, #{|v| ≥ j})."""
    sizes = (np.abs(row.astype(np.int64)) for chunk in weights for row in chunk)
    tails = [np.cumsum(np.bincount(size)[::-1])[::-1][1:] for size in sizes]  # #{|v| ≥ j} for j = 1, 2, …
    longest = max(map(len, tails), default=0)
    counts = np.array([np.pad(tail, (0, longest - len(tail))) for tail in tails]).reshape(len(tails), longest)
    return lambda k: np.asarray(np.minimum(counts, k).sum(axis=1), dtype=np.float64)
