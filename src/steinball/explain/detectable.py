"""How easily a test could have decided otherwise: the contamination it could have detected, the points to replace."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from steinball.arrays import Floats, as_number, as_samples, like, to_host
from steinball.evidence.base import PairSums
from steinball.evidence.ksd import KSDEvidence
from steinball.gram.weights import Weights
from steinball.stein import SteinPoints
from steinball.text import Summarized, count, percent, wrap

_DRAWS = 512


@dataclass(frozen=True)
class Detectable(Summarized):
    """The share of contamination that a test of this size detects in half of all samples; approximate.

    Attributes
    ----------
    share : float
        The estimate; infinite where not even a sample that is all contamination would be detected.
    low, high : float
        Between these the approximation puts it.
    kind : str
        Where the contamination lies: ``"worst"`` where it shows most, ``"points"`` at given points.
    level : float
        Of the test.

    Examples
    --------
    >>> print(Detectable(0.14, 0.13, 0.14, "worst", 0.05))
    Even where it shows most, contamination below about 14 % would be missed more
    often than not: a test at level 0.05 finds that share in half of all samples (13
    % to 14 %, approximately).
    """

    share: float
    low: float
    high: float
    kind: str
    level: float

    def summary(self) -> str:
        """In words."""
        where = "Even where it shows most" if self.kind == "worst" else "At the given points"
        if math.isinf(self.share):
            missed = "any share of contamination would be missed more often than not"
            return wrap(f"{where}, {missed}, at level {self.level:g}.", indent=0)
        return wrap(
            f"{where}, contamination below about {percent(self.share)} would be missed more often than not: a test at "
            f"level {self.level:g} finds that share in half of all samples ({percent(self.low)} to "
            f"{percent(self.high)}, approximately).",
            indent=0,
        )


def smallest_detectable(kernels: Sequence[PairSums], level: float, kind: Any = "worst") -> Detectable:
    r"""The smallest contamination that a test detects in half of all samples, from its own draws

    .. math:: \varepsilon^2 |\mu_R|^2 + \frac1n \big(E_P u(X, X) - E_P f(X)^2\big) = (\theta + \gamma)^2, \qquad
       f = \mu_R / |\mu_R|,

    with the threshold γ and the mean embedding :math:`\mu_R` of the contamination R. The left side is about the median
    of D² at the share ε; with a radius the true share lies between that and :math:`(\theta + \gamma)/|\mu_R|`, and the
    middle of the two is the estimate.

    Parameters
    ----------
    kernels : sequence of PairSums
        The sums over pairs of a kernel Stein test; of several kernels the one that shows most decides.
    level : float
        Of the test.
    kind : "worst" or array
        ``"worst"``: all contamination at the point where it shows most, u(x, x) = τ. Otherwise the places of the
        contamination, shape (m, d), or (m,) for d = 1.

    Notes
    -----
    Approximate. Simulated for a Gaussian model at the default settings, d = 1 and 10, n = 100 and 500: within a tenth
    of the true share (``docs/explaining.md``). Contamination elsewhere than in the worst place shows less.

    Examples
    --------
    >>> import steinball as sb
    >>> x = np.random.default_rng(0).normal(size=500)
    >>> result = sb.robust_ksd_test(x, sb.models.Gaussian(), contamination=0.05, rng=0)
    >>> 0.08 < result.smallest_detectable().share < 0.12
    True
    >>> result.smallest_detectable([4.0]).share > 1.2 * result.smallest_detectable().share  # far out it shows less
    True
    """
    worst = isinstance(kind, str)
    if worst and kind != "worst":
        raise ValueError(f'`kind` must be "worst" or an array of points, got {kind!r}.')
    if math.isnan(kernels[0].critical):
        raise TypeError(
            "this test does not decide by D alone, so that no share of contamination follows from its threshold. Use "
            "`steinball.power`, which simulates."
        )
    answers = [_worst(sums) if worst else _at(sums, kind) for sums in kernels]
    low, high, share = (min(ends) for ends in zip(*answers, strict=True))
    return Detectable(share, low, high, "worst" if worst else "points", level)


Answer = tuple[float, float, float]
"""Low, high and the estimate."""


def _worst(sums: PairSums) -> Answer:
    """Contamination where u(x, x) is largest."""
    if math.isnan(sums.tau) or sums.bounded == "unbounded":
        raise ValueError(
            "u(x, x) has no bound here, so that there is no place where contamination shows most: one far point can "
            "have any effect. Give the places of the contamination, or test with a tilt."
        )
    if sums.tau <= 0.0:
        return (math.inf,) * 3
    points = _typical(sums)
    stein = sums.problem.stein
    diagonal = to_host(stein.pairs(points, points))
    best = points.take(np.array([int(diagonal.argmax())]))
    values = to_host(stein.block(best, points))[0]
    return _solve(sums, math.sqrt(sums.tau), values / math.sqrt(sums.tau), diagonal)


def _at(sums: PairSums, kind: Any) -> Answer:
    """Contamination at given points."""
    problem = sums.problem
    if not problem.evaluable:
        raise TypeError(f"`kind` at points needs the score there; {problem.unknown_elsewhere}.")
    places = as_samples(kind, "kind", least=1)
    if places.shape[1] != problem.samples.shape[1]:
        raise ValueError(f"`kind` must have {problem.samples.shape[1]} columns, got shape {tuple(places.shape)}.")
    there, points = problem.at(problem.rows.tested(to_host(places))).points, _typical(sums)
    length = math.sqrt(max(0.0, float(to_host(problem.stein.block(there, there)).mean())))
    if length == 0.0:
        return (math.inf,) * 3
    values = to_host(problem.stein.block(points, there)).mean(axis=1) / length
    return _solve(sums, length, values, to_host(problem.stein.pairs(points, points)))


def _solve(sums: PairSums, length: float, values: Floats, diagonal: Floats) -> Answer:
    """The shares between which a contamination with |μ_R| = ``length`` is detected every second time."""
    scatter = max(0.0, float(diagonal.mean() - np.square(values).mean())) / len(sums) if sums.estimator == "v" else 0.0
    if not math.isfinite(sums.critical):
        return (math.inf,) * 3
    root = math.sqrt(scatter)  # the square of a large radius is no float
    low = math.sqrt(max(0.0, sums.critical - root)) * math.sqrt(sums.critical + root) / length
    high = sums.critical / length
    share = low if sums.radius == 0.0 else (low + high) / 2.0
    return tuple(end if end <= 1.0 else math.inf for end in (low, high, share))  # type: ignore[return-value]


def _typical(sums: PairSums) -> SteinPoints:
    """What the model looks like: its draws, or where it cannot be sampled the data."""
    problem, reference = sums.problem, sums.problem.reference
    if reference is None:
        return problem.points
    try:
        return problem.at(like(reference.draws[:_DRAWS], problem.samples)).points
    except Exception:  # a user's score need not be defined at its own draws: what is known is known
        return problem.points


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
