"""The exact test: what the model itself, and any contamination of it, could have done at this n.

The proofs are in ``docs/theory/exact.md``.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from steinball.arrays import Floats
from steinball.calibration.base import Resampling, agreeing, draw_quantile, tie_tolerance
from steinball.calibration.deviation import DeviationNull, FiniteSampleNull
from steinball.gram.base import GramSummary
from steinball.gram.cost import Size, duration
from steinball.gram.device import is_accelerated
from steinball.gram.request import Replicates, Request
from steinball.gram.tiles import PrefixNorms
from steinball.problem import Problem
from steinball.radius.base import Radius
from steinball.tau.certificate import Supremum
from steinball.tau.isotropic import diameter

_PATIENCE = 3600.0  # seconds of one core of a fixed speed beyond which nothing is begun
_ACCELERATED = 50.0  # how many such cores an accelerator stands for


@dataclass(frozen=True, eq=False)
class _SampledNull(FiniteSampleNull):
    """A null distribution from the sums |S_m| over M samples of the model, with √τ and the D that was observed.

    Every statement about the KSD of the population is a deviation bound: samples of the model say what members of its
    neighborhood may do, not what any Q of that KSD may.
    """

    sampled: PrefixNorms
    tau: float
    ksd: float
    tolerance: float = 1e-10

    @property
    def n(self) -> int:  # type: ignore[override]
        """Number of points."""
        return int(self.sampled.norms.shape[1]) - 1

    @cached_property
    def _norms(self) -> Floats:
        """|S_m|, a little longer: ties count toward the p-value."""
        return self.sampled.norms * (1.0 + self.tolerance)

    def _share_reached(self, lengths: Floats, total: float) -> float:
        """(1 + #{lengths ≥ total}) / (M + 1)."""
        return (1 + int(np.count_nonzero(lengths >= total))) / (len(lengths) + 1)

    def lower_bound(self, ksd: float, level: float) -> float:
        """By a deviation bound, which holds for every Q."""
        return DeviationNull(self.tau, self.n, ("norm", "pinelis")).lower_bound(ksd, level)

    def threshold(self, level: float, radius: float) -> float:
        """What max(0, D − θ) must exceed; infinite where no value can reject."""
        value, statistic = self._beyond(level, radius), max(0.0, self.ksd - radius)
        return agreeing(value, statistic, rejected=self.pvalue(self.ksd, radius) <= level)


class MonteCarloNull(_SampledNull):
    r"""What contamination by a share ε = θ/√τ can do at this n, imitated with samples of the model

    .. math:: T_j = \frac{K_j \sqrt\tau + |S^{(j)}_{n - K_j}|}{n}, \quad K_j \sim \mathrm{Bin}(n, \varepsilon), \qquad
       p(\theta) = \frac{1 + \#\{ T_j \ge D \}}{M + 1} \text{ (1 where } D \le \theta).

    Parameters
    ----------
    sampled : PrefixNorms
        The lengths of partial sums over M samples of the model, and a random number for each that stands for K.
    tau : float
        An upper bound of u(x, x).
    ksd : float
        The observed D.
    tolerance : float
        The relative difference below which values are ties, which count toward the p-value.

    Examples
    --------
    >>> sampled = PrefixNorms(np.sqrt(np.arange(11.0)) * np.ones((19, 1)), np.arange(19) / 19)
    >>> null = MonteCarloNull(sampled, tau=1.0, ksd=0.9)
    >>> null.pvalue(0.9, 0.0), null.pvalue(0.9, 0.5), null.remarks(0.9, 0.05)
    (0.05, 0.1, {'contaminated_points': 8})
    """

    def counts(self, share: float) -> NDArray[np.intp]:
        """K_j: the smallest k with P(Bin(n, ε) ≤ k) ≥ the random number of each sample. None falls in ε."""
        below = scipy.special.bdtr(np.arange(self.n + 1.0), self.n, min(1.0, share))
        return np.minimum(np.searchsorted(below, self.sampled.uniforms, side="left"), self.n)

    def reaches(self, radius: float) -> Floats:
        """T_j at θ, (M,): none of them falls in θ."""
        root = math.sqrt(self.tau)
        bad = self.counts(radius / root)
        return np.asarray((bad * root + self._norms[np.arange(len(bad)), self.n - bad]) / self.n)

    def pvalue(self, ksd: float, radius: float) -> float:
        """The p-value of an observed D against the radius θ = ε√τ."""
        return 1.0 if ksd <= radius else self._share_reached(self.reaches(radius), ksd)

    def _beyond(self, level: float, radius: float) -> float:
        return max(0.0, draw_quantile(self.reaches(radius), level) - radius)

    def share_bound(self, ksd: float, level: float, tau: float) -> float:
        """The largest ε that is rejected: at least this share of the distribution is contaminated."""
        return self._largest_rejected(ksd, level, math.sqrt(self.tau))

    def remarks(self, ksd: float, level: float) -> dict[str, Any]:
        """How many of *these* points are contaminated at least: the smallest k with nD ≤ k√τ + quantile of
        \\|S_{n−k}\\|."""
        root, total = math.sqrt(self.tau), self.n * ksd

        def enough(k: int) -> bool:  # the share of samples that reach does not fall in k, and is 1 at k = n
            return self._share_reached(self._norms[:, self.n - k], total - k * root) > level

        return {"contaminated_points": bisect_left(range(self.n), True, key=enough)}


@dataclass(frozen=True, eq=False)
class RemovalNull(_SampledNull):
    r"""The same where mass may also be taken away, up to a total variation t = θ/Δ

    .. math:: p(\theta) = \min\Big(1, 2 \min_k \max\big( P(\mathrm{Bin}(n, t) > k),\, p_k \big)\Big), \qquad
       p_k = \frac{1 + \#\{ |S^{(j)}_n| \ge nD - k \Delta \}}{M + 1},

    since the number of changed points and the clean sum may depend on each other: each gets half of the level.

    Parameters
    ----------
    sampled, tau, ksd, tolerance
        As in :class:`MonteCarloNull`.
    span : float
        Δ, an upper bound of the distance of two features.

    Examples
    --------
    >>> sampled = PrefixNorms(np.sqrt(np.arange(11.0)) * np.ones((39, 1)), np.arange(39) / 39)
    >>> null = RemovalNull(sampled, tau=1.0, ksd=0.9, span=2.0)
    >>> null.pvalue(0.9, 0.0), null.pvalue(0.9, 0.4) > 0.2
    (0.05, True)
    """

    span: float = math.inf

    def pvalue(self, ksd: float, radius: float) -> float:
        """The p-value of an observed D against the radius θ = tΔ."""
        if ksd <= radius:
            return 1.0
        k = np.arange(self.n + 1.0)
        lengths = np.sort(self._norms[:, -1])
        reached = len(lengths) - np.searchsorted(lengths, self.n * ksd - k * self.span, side="left")
        more = scipy.special.bdtrc(k, self.n, min(1.0, radius / self.span))
        return min(1.0, 2.0 * float(np.maximum(more, (1.0 + reached) / (len(lengths) + 1)).min()))

    def _beyond(self, level: float, radius: float) -> float:
        more = scipy.special.bdtrc(np.arange(self.n + 1.0), self.n, min(1.0, radius / self.span))
        changed = int(np.argmax(more <= level / 2.0))
        return max(0.0, (changed * self.span + draw_quantile(self._norms[:, -1], level / 2.0)) / self.n - radius)

    def share_bound(self, ksd: float, level: float, tau: float) -> float:
        """The largest t that is rejected; contamination by a share moves the total variation no further than that."""
        return self._largest_rejected(ksd, level, self.span)


@dataclass(frozen=True)
class MonteCarlo(Resampling):
    r"""An exact test for every n, uniform over Huber's model, by samples of the model itself

    .. math:: p = \frac{1 + \#\{ T_j \ge D \}}{M + 1}, \qquad T_j = \frac{K_j \sqrt\tau + |S_{n - K_j}|}{n}, \quad
       K_j \sim \mathrm{Bin}(n, \varepsilon),

    where :math:`S_m` is the sum of the Stein features of m fresh draws of the model. A contaminated point moves the sum
    by at most √τ; the others are draws of the model.

    Parameters
    ----------
    n_resamples : int
        Number M of samples of n points that are drawn from the model. The smallest p-value is 1 / (M + 1).

    Notes
    -----
    Proved (``docs/theory/exact.md``): for independent rows in any order, the level holds for every n, every M and every
    kind of contamination, if the model has a sampler that draws from it, τ is an upper bound of u(x, x), and kernel and
    tilt do not come from the data: their defaults are taken from the model. Sets that allow removal are tested through
    a total variation distance that holds them (:class:`TotalVariation`, :class:`Hellinger`, :class:`KullbackLeibler`,
    :class:`DensityBand`), with half of the level for each of two bounds; other sets are refused.

    ``contamination_bound`` of a result is a proven bound for the distribution, and ``contaminated_points`` one for
    these points. Bounds of the KSD of the population are deviation bounds: samples of the model do not tell
    them.

    The cost is that of M tests without draws, M n²/2 values of u, and M n numbers are kept. It is meant for up to some
    thousand points, and refused where it would take more than an hour of one core (:func:`predict_cost`).

    Examples
    --------
    >>> import steinball as sb
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=40)
    >>> x[rng.random(40) < 0.4] = 2.0
    >>> result = sb.robust_ksd_test(x, sb.models.Gaussian(), 0.05, calibration=MonteCarlo(199), rng=0)
    >>> result.pvalue, result.contaminated_points
    (0.02, 5)
    """

    n_resamples: int = 999
    span: float | None = field(default=None, repr=False, kw_only=True)
    label = "Monte Carlo test"
    estimators = ("v",)
    needs_upper_bound = predictable = needs_sampler = True

    def tolerates(self, radius: Radius) -> bool:
        """Sets within a share of contamination or a total variation distance that is known."""
        return radius.contamination is not None or radius.variation is not None

    def accepts(self, tau: Supremum) -> bool:
        """Upper bounds alone: a contaminated point may count for more than any that was seen."""
        return tau.is_upper_bound

    def for_rows(self, problem: Problem) -> MonteCarlo:
        """Itself, where that many samples of this size are sensible."""
        n, d = (int(size) for size in problem.samples.shape)
        seconds = Size(n, d, 0).replicates(self.n_resamples)
        if seconds > _PATIENCE * (_ACCELERATED if is_accelerated(problem.samples) else 1.0):
            raise ValueError(
                f"`{self!r}` would sum {self.n_resamples} times the pairs of n = {n:,} points, {duration(seconds)} on "
                "one core. Use fewer `n_resamples` (19 reach a level of 0.05), Betting(), which holds at every n too, "
                "or BoundaryBootstrap(999), which at such sizes has long come to its limit."
            )
        return self

    def for_set(self, radius: Radius, problem: Problem, tau: Supremum) -> MonteCarlo:
        """With Δ, where the set behind ``radius`` allows more than contamination."""
        span = None if radius.contamination is not None or not radius.variation else diameter(problem, tau)
        return replace(self, span=span)

    def request(self, n: int, seed: np.random.SeedSequence, start: int = 0) -> Request:
        """Samples of the model, as large as the data."""
        return Request(replicates=Replicates(n, seed, start, self.n_resamples))

    def null(self, summary: GramSummary, tau: Supremum, estimator: str) -> MonteCarloNull | RemovalNull:
        """What the samples say at every radius."""
        sampled = summary.prefix_norms
        if sampled is None:
            raise ValueError("`MonteCarlo` needs samples of the model: summarise its own `request`.")
        ksd = math.sqrt(max(0.0, summary.mean))
        shared = sampled, tau.value, ksd, tie_tolerance(summary.diagonal)
        return MonteCarloNull(*shared) if self.span is None else RemovalNull(*shared, self.span)
