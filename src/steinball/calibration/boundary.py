"""The boundary bootstrap: the paper's draws, with their center on the edge of the ball."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from steinball.arrays import Array, Floats, check_choice
from steinball.calibration.base import (
    BoundingNull,
    JointNull,
    draw_quantile,
    largest_count,
    quantile_range,
    tie_tolerance,
)
from steinball.calibration.weighted import Length, MarkovCalibration, centered_counts, check_length
from steinball.checks.dependence import Chains
from steinball.gram.base import GramSummary
from steinball.gram.request import Request
from steinball.gram.weights import WeightStream
from steinball.tau.certificate import Supremum

SCHEMES = ("weighted", "scaled", "wild")

_SCALE_LEVEL = 0.05
"""The level of the quantile in whose units several kernels are compared."""

_STRETCH = 1.5
"""How much longer centered signs stay alike than signs that are not: by simulation (``docs/chains.md``)."""


@dataclass(frozen=True, eq=False)
class BoundaryNull(BoundingNull):
    r"""Bootstrap draws around the point of the edge that the data point to, for every radius at once

    .. math:: D_b^*(\theta)^2 = \theta^2 + 2 \theta l_b + D_b^2, \qquad p(\theta) = \frac{1 + \#\{\theta_b \le
       \theta\}}{B + 1}, \qquad \theta_b = -l_b + \sqrt{l_b^2 + D^2 - D_b^2} \text{ (0 where } D_b \ge D),

    and 1 where D ≤ θ: :math:`\theta_b` is the radius at which a draw reaches D.

    Parameters
    ----------
    ksd : float
        The observed D, whose direction the draws were projected on.
    draws : (B,) array
        :math:`D_b`, the draws of the weighted or wild bootstrap.
    projections : (B,) array
        :math:`l_b = \langle g_n / D, \delta_b \rangle`, the component of each draw along the observed mean embedding.
    tolerance : float
        The relative difference below which values are ties, which count toward the p-value.

    Examples
    --------
    >>> null = BoundaryNull(1.0, np.array([0.1, 0.2, 0.3]), np.array([0.0, 0.1, -0.3]))
    >>> null.pvalue(1.0, 0.0), null.pvalue(1.0, 0.9), null.pvalue(1.0, 1.0)
    (0.25, 0.5, 1.0)
    """

    ksd: float
    draws: Floats
    projections: Floats
    tolerance: float = 1e-10
    directed: ClassVar[bool] = True

    @classmethod
    def from_summary(cls, summary: GramSummary) -> BoundaryNull:
        """The draws of the V-statistic, and where they point."""
        ksd, lengths, along = boundary_draws(summary)
        return cls(ksd, lengths, along, tie_tolerance(summary.diagonal))

    @cached_property
    def _stretched(self) -> tuple[Floats, Floats]:
        """Ties by stretching every draw a little: lengths and projections alike, so that |l| ≤ D_b stays true."""
        lengths = self.draws * (1.0 + self.tolerance)
        return lengths, np.clip(self.projections * (1.0 + self.tolerance), -lengths, lengths)

    @cached_property
    def reaches(self) -> Floats:
        """θ_b, sorted: the radius at which each draw reaches D."""
        lengths, along = self._stretched
        rest = np.maximum((self.ksd - lengths) * (self.ksd + lengths), 0.0)
        root = np.sqrt(along * along + rest)
        # −l + √(l² + rest), written without cancellation; never below D − D_b (Cauchy–Schwarz), not even by rounding.
        reach = np.where(along > 0.0, rest / np.where(along > 0.0, root + along, 1.0), root - along)
        return np.sort(np.where(lengths >= self.ksd, 0.0, np.maximum(reach, self.ksd - lengths)))

    def pvalue(self, ksd: float, radius: float) -> float:
        """The p-value against the radius θ; ``ksd`` is the observed D."""
        if ksd <= radius:
            return 1.0
        return (1 + int(np.searchsorted(self.reaches, radius, side="right"))) / (self.reaches.size + 1)

    def threshold(self, level: float, radius: float) -> float:
        """The quantile of the draws at that radius, minus θ; infinite where it does not exist."""
        return max(0.0, draw_quantile(moved_to_the_edge(*self._stretched, radius), level) - radius)

    def drawn(self, radius: float) -> Floats:
        """D*_b(θ) − θ."""
        return np.asarray(moved_to_the_edge(self.draws, self.projections, radius) - radius)

    def lower_bound(self, ksd: float, level: float) -> float:
        """The ⌊level (B + 1)⌋-th smallest θ_b: every smaller radius is rejected at ``level``."""
        k = largest_count(level, self.reaches.size + 1)
        return 0.0 if k == 0 else min(ksd, float(self.reaches[k - 1]))

    def upper_bound(self, ksd: float, level: float) -> float:
        """D + q, by the triangle inequality, as for the paper's bootstrap: q is the threshold at θ = 0."""
        return ksd + self.threshold(level, 0.0)

    def critical_range(self, level: float, radius: float, moved: float, draws_moved: Floats) -> tuple[float, float]:
        """The quantile of max(D_b, |θĝ + δ_b|), whose direction ĝ turns as D moves."""
        around = np.sqrt(np.maximum(0.0, radius**2 + 2.0 * radius * self.projections + self.draws**2))
        draws, moves = np.maximum(self.draws, around), draws_moved + radius * largest_turn(moved, self.ksd)
        low, high = quantile_range(draws, moves, level, self.tolerance)
        return low, max(radius, high)


def largest_turn(moved: float, length: float) -> float:
    """How far the unit vector along g moves when g, of this length, moves that far: a chord of the unit sphere."""
    return 2.0 if moved >= length else 2.0 * math.sin(0.5 * math.asin(moved / length))


def boundary_draws(summary: GramSummary) -> tuple[float, Floats, Floats]:
    """D, the lengths of the draws, and their components along the mean embedding (0 where D = 0 has no direction)."""
    ksd = float(np.sqrt(max(0.0, summary.mean)))
    lengths = np.sqrt(np.maximum(summary.quadratic_forms, 0.0))
    return ksd, lengths, summary.linear_forms / ksd if ksd > 0.0 else np.zeros_like(lengths)


def moved_to_the_edge(lengths: Floats, along: Floats, radius: float | Floats) -> Floats:
    """D*_b(θ), or D_b where that is larger: a draw that starts outside D stays there, its square being convex in θ."""
    with np.errstate(over="ignore"):  # an infinite draw rejects nothing, as beyond so large a radius nothing is
        return np.asarray(np.sqrt(lengths * lengths + radius * np.maximum(0.0, radius + 2.0 * along)))


@dataclass(frozen=True, eq=False)
class BoundaryJointNull(JointNull):
    r"""The largest excess over a radius in units of its own bootstrap quantile

    .. math:: T = \max_\lambda (D_\lambda - \theta_\lambda) / q_\lambda, \qquad
       T^*_b = \max_\lambda (D^*_{\lambda, b}(\theta_\lambda) - \theta_\lambda) / q_\lambda.

    Quantiles rather than standard deviations: at long length scales the draws are skewed, and in units of a standard
    deviation those kernels would rule the maximum of the draws.

    Parameters
    ----------
    ksds : (k,) array
        D of every kernel.
    lengths, along : (k, B) arrays
        The draws of every kernel, and their components along its mean embedding; a column is one row of weights.
    tolerance : float
        The relative difference below which values are ties, which count against a rejection.

    Examples
    --------
    >>> null = BoundaryJointNull(np.array([1.0]), np.array([[0.1, 0.2, 0.3]]), np.zeros((1, 3)))
    >>> null.pvalue(np.array([0.5])), null.pvalue(np.array([1.0]))
    (0.25, 1.0)
    """

    ksds: Floats
    lengths: Floats
    along: Floats
    tolerance: float = 1e-10

    @classmethod
    def of(cls, summaries: Sequence[GramSummary]) -> BoundaryJointNull:
        """From one summary per kernel, all with the same rows of weights."""
        ksds, lengths, along = (np.array(part) for part in zip(*map(boundary_draws, summaries), strict=True))
        return cls(ksds, lengths, along, tie_tolerance(summaries[0].diagonal))

    def _excesses(self, radii: Floats) -> tuple[Floats, Floats]:
        """D − θ and D* − θ, both in units of q: shapes (k,) and (k, B)."""
        scale = self._scales(radii)
        return (self.ksds - radii) / scale, self._moved(radii) / scale[:, None]

    def _moved(self, radii: Floats) -> Floats:
        """D* − θ, shape (k, B)."""
        theta = radii[:, None]
        return np.asarray(moved_to_the_edge(self.lengths, self.along, theta) * (1.0 + self.tolerance) - theta)

    def _scales(self, radii: Floats) -> Floats:
        """q, shape (k,)."""
        quantiles = [min(draw_quantile(draws, _SCALE_LEVEL), draws.max()) for draws in self._moved(radii)]
        return np.maximum(quantiles, np.finfo(float).tiny)

    def ratios(self, radii: Floats) -> Floats:
        """(D − θ)/q of every kernel."""
        return self._excesses(radii)[0]

    def statistic(self, radii: Floats) -> float:
        """T."""
        return float(self.ratios(radii).max())

    def threshold(self, radii: Floats, level: float) -> float:
        """The quantile of T*, at least 0; infinite where it does not exist."""
        return max(0.0, draw_quantile(self._excesses(radii)[1].max(axis=0), level))

    def critical(self, radii: Floats, level: float) -> Floats:
        """θ + tq for every kernel, with t the threshold of T."""
        return np.asarray(radii + self.threshold(radii, level) * self._scales(radii))

    def pvalue(self, radii: Floats) -> float:
        """The share of draws, the data among them, with T* ≥ T; 1 where no D exceeds its radius."""
        if not (self.ksds > radii).any():
            return 1.0
        ours, draws = self._excesses(radii)
        reached = int(np.count_nonzero(draws.max(axis=0) >= ours.max()))
        return (1 + reached) / (len(draws.T) + 1)


@dataclass(frozen=True)
class BoundaryBootstrap(MarkovCalibration):
    r"""The bootstrap whose center lies on the edge of the ball, in the direction the data point to.

    The paper bounds D − θ by the whole norm of the bootstrap's deviation δ. Only its component along the mean embedding
    can push D past θ. With v = W − 1, row means r of the Gram matrix and the paper's draw :math:`D_b`,

    .. math:: D_b^*(\theta)^2 = \theta^2 + 2 \theta l_b + D_b^2, \qquad l_b = \frac{1}{n D} \sum_i v_i r_i.

    Parameters
    ----------
    n_resamples : int
        Number of draws B.
    scheme : {"weighted", "scaled", "wild"}
        Multinomial weights minus 1, as the paper has them; the same divided by the root of their mean square, so that
        :math:`\sum_i v_i^2 = n` in every draw; or random signs of which half are −1 (for odd n one is 0), so that they
        sum to 0. In many dimensions :math:`D_b^2` is nearly :math:`\sum_i v_i^2 u(x_i, x_i) / n^2`, whose scatter under
        multinomial weights :math:`D^2` does not have: there the first scheme rejects too seldom.
    dependence : None, "auto" or float
        With ``scheme="wild"``, for rows that depend on each other: signs that stay alike for L rows, as in
        :class:`WildBootstrap`, less their mean, and divided by :math:`\sqrt{1 - 2L/n}`, which that takes away.
        ``"auto"`` is 1.5 times the length of the wild bootstrap, at which the level was kept in simulations.
    chains : int or sequence of int
        As in :class:`WildBootstrap`.

    Notes
    -----
    Proved (``docs/theory/boundary-bootstrap.md``): with the same draws its p-value never exceeds that of
    :class:`WeightedBootstrap`, and is the same at θ = 0; for a kernel fixed in advance, θ > 0 and independent
    observations the level is asymptotically exact on the edge of the ball, and → 0 inside. Like the paper's theorem
    that is pointwise, not uniform over the ball. Simulated: levels at the exact edge for n = 50 to 3,000 and d = 1 to
    50 (``docs/evidence``). For V-statistics. With ``dependence`` no theorem covers it: the theory of the wild bootstrap
    for dependent rows is for degenerate statistics, at θ = 0; its level on the edge is simulated (``docs/chains.md``).

    Examples
    --------
    >>> import steinball as sb
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=500)
    >>> x[:55] = 10.0  # 11 % of outliers, 5 % tolerated
    >>> rng.shuffle(x)
    >>> result = sb.robust_ksd_test(x, sb.models.Gaussian(), 0.05, calibration=BoundaryBootstrap(999), rng=0)
    >>> result.rejected, result.at(calibration=sb.WeightedBootstrap(999)).rejected
    (True, False)
    """

    n_resamples: int = 999
    scheme: str = "weighted"
    dependence: Length = None
    chains: Chains = 1
    label: ClassVar[str] = "boundary bootstrap"
    estimators: ClassVar[tuple[str, ...]] = ("v",)
    aggregates: ClassVar[bool] = True
    stretch: ClassVar[float] = _STRETCH
    centers: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice(self.scheme, "scheme", SCHEMES)
        if self.dependence is not None and self.scheme != "wild":
            raise ValueError('`dependence` is for random signs: use BoundaryBootstrap(scheme="wild", dependence=...).')

    def request(self, n: int, seed: np.random.SeedSequence, start: int = 0) -> Request:
        """Rows that sum to 0, or signs for dependent rows, which are centered afterwards."""
        if self.dependence is not None:
            return self._markov_request(n, seed, start)
        draw, spread = (_balanced_signs, 2.0) if self.scheme == "wild" else (centered_counts, 1.0)
        return Request(WeightStream(draw, n, seed, start, self.n_resamples), spread=spread)

    def null(self, summary: GramSummary, tau: Supremum, estimator: str) -> BoundaryNull:
        """The draws as a null distribution for every radius."""
        return BoundaryNull.from_summary(self._as_applied(summary))

    def joint(self, summaries: Sequence[GramSummary], taus: Sequence[Supremum]) -> BoundaryJointNull:
        """The largest excess over a radius, by draws that share their weights."""
        return BoundaryJointNull.of([self._as_applied(summary) for summary in summaries])

    def applied(self, weights: Floats) -> Floats | None:
        """Scaled to a mean square of 1, or centered where signs depend on each other."""
        if self._as_drawn:
            return None
        means, squares = self._moments([weights], np.mean(np.square(weights), axis=1), weights.shape[1])
        return np.asarray((weights - means[:, None]) / np.sqrt(squares)[:, None])

    def _as_applied(self, summary: GramSummary) -> GramSummary:
        """The answers for the weights as the draws use them."""
        if self._as_drawn:
            return summary
        means, squares = self._moments(summary.weights, summary.mean_squares, len(summary))
        forms = summary.quadratic_forms - 2.0 * means * summary.linear_forms + means**2 * summary.mean
        linear = summary.linear_forms - means * summary.mean
        return replace(summary, quadratic_forms=forms / squares, linear_forms=linear / np.sqrt(squares))

    @property
    def _as_drawn(self) -> bool:
        return self.scheme != "scaled" and self.dependence is None

    def _moments(self, weights: Iterable[Array], mean_squares: Floats, n: int) -> tuple[Floats, Floats]:
        """What each row of weights loses, and the square of what the rest is divided by.

        Signs that stay alike for L rows have a mean of variance 2L/n, which is taken away and given back.
        """
        if self.scheme == "scaled":
            return np.zeros(len(mean_squares)), np.where(mean_squares > 0.0, mean_squares, 1.0)  # all 0 stay so
        means = np.concatenate([chunk.mean(axis=1) for chunk in weights])
        return means, np.full(len(means), 1.0 - 2.0 * check_length(self.dependence, n) / n)


def _balanced_signs(generator: np.random.Generator, rows: int, n: int) -> NDArray[np.integer]:
    """As many +1 as −1 in every row, in random order."""
    signs = np.ones((rows, n), dtype=np.int8)
    signs[:, : n // 2] = -1
    if n % 2:
        signs[:, -1] = 0
    return generator.permuted(signs, axis=1, out=signs)
