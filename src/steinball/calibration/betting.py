"""Betting against the ball, a test for finite samples that holds uniformly over the ball, and the wealth of a bettor.

The proofs are in ``docs/theory/betting.md``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from steinball.arrays import Floats, check_choice, check_level, check_resamples, check_share, generator_at
from steinball.calibration.base import BoundingNull, Calibration, JointNull, agreeing
from steinball.gram.base import GramSummary
from steinball.gram.request import Request
from steinball.problem import Findings
from steinball.tau.certificate import Supremum

BETS: Floats = np.geomspace(0.01, 0.95, 12)
"""The mixture's bets, as shares of the largest that cannot ruin: tiny ones for tiny misfits that need many points."""

_SHARES: Floats = BETS / BETS.sum()  # the uniform mixture over (0, .95), by geometric steps
_NO_DIRECTION = 1e-6
"""Below this share of Σ u(x, x), |S|² is what cancellation has left: it shows no direction, and nothing is bet."""


def payoffs(sums: Floats, diagonal: Floats) -> Floats:
    r"""What the direction of all earlier points says of each point,

    .. math:: f_t(x_t) = \frac{\langle S_{t-1}, u(\cdot, x_t) \rangle}{|S_{t-1}|} = \frac{c_t}{|S_{t-1}|}, \qquad
       c_t = \sum_{s < t} u(x_s, x_t), \qquad |S_t|^2 = |S_{t-1}|^2 + 2 c_t + u(x_t, x_t).

    Parameters
    ----------
    sums, diagonal : (..., n) arrays
        c_t and u(x_t, x_t), points in their order along the last axis.

    Returns
    -------
    (..., n) array
        Within ±√u(x_t, x_t); NaN, for nothing is bet, at the first point and wherever the points before it cancel.

    Examples
    --------
    >>> payoffs(np.array([0.0, 0.5]), np.array([4.0, 1.0]))
    array([ nan, 0.25])
    """
    squares, traces = (_before(np.cumsum(added, axis=-1)) for added in (2.0 * sums + diagonal, diagonal))
    return along_direction(sums, squares, traces, diagonal)


def along_direction(sums: Floats, squares: Floats, traces: Floats, diagonal: Floats) -> Floats:
    """⟨S, u(·, x)⟩ / |S| from the products ``sums``, |S|² and Σ u(x_s, x_s) of earlier points before each, and u(x, x);
    NaN where S shows no direction."""
    known = squares > _NO_DIRECTION * traces
    values = np.where(known, sums / np.sqrt(np.where(known, squares, 1.0)), np.nan)
    most = np.sqrt(np.maximum(diagonal, 0.0))  # Cauchy and Schwarz: only rounding goes further
    return np.clip(values, -most, most)


def _before(totals: Floats) -> Floats:
    """Running totals as they were one step earlier."""
    return np.concatenate([np.zeros_like(totals[..., :1]), totals[..., :-1]], axis=-1)


def log_wealth(payoffs: Floats, radius: float, tau: float) -> Floats:
    r"""The logarithm of the mixture's wealth after each point, a weighted mean over the constants c of :data:`BETS` of

    .. math:: W_t = \prod_{s \le t} \Big( 1 + c \frac{f_s(x_s) - \theta}{\sqrt\tau + \theta} \Big), \qquad 0 \le c < 1.

    Parameters
    ----------
    payoffs : (..., n) array
        f_t(x_t), points in their order along the last axis; NaN where nothing is bet.
    radius, tau : float
        θ, and an upper bound of u(x, x).

    Notes
    -----
    Proved: where E[f_t(X_t) | past] ≤ θ for every t, W is a non-negative supermartingale from 1, so that
    P(sup W ≥ 1/α) ≤ α (Ville 1939). That is so for each Q in the KSD ball of radius θ.

    Examples
    --------
    >>> np.exp(log_wealth(np.array([np.nan, 1.0, 1.0]), 0.0, 1.0)).round(3)
    array([1.   , 1.576, 2.585])
    """
    gains = relative_gains(payoffs, radius, tau)
    total = np.full(gains.shape, -np.inf)
    for bet, share in zip(BETS, _SHARES, strict=True):  # one at a time: memory as for the payoffs
        total = np.logaddexp(total, math.log(share) + wealth_path(bet, gains))
    return total


def wealth_path(bets: Any, gains: Floats) -> Floats:
    """log Π (1 + c z) after each point."""
    return np.asarray(np.cumsum(np.log1p(bets * gains), axis=-1))


def relative_gains(payoffs: Floats, radius: float | Floats, tau: float) -> Floats:
    """(f − θ)/(√τ + θ), at least −1 and not rising in θ; 0 where nothing is bet."""
    return np.where(np.isnan(payoffs), 0.0, (payoffs - radius) / (math.sqrt(tau) + radius))


def newton_bets(gains: Floats) -> Floats:
    r"""Bets in [0, ½] by the online Newton step on −log(1 + c·gain) (Cutkosky and Orabona 2018): each from the gains
    (..., n) before it alone,

    .. math:: c_{t+1} = \Big[ c_t + \tfrac{2}{2 - \log 3} \, \frac{g_t}{1 + \sum_{s \le t} g_s^2} \Big]_{[0, 1/2]},
       \qquad g_t = \frac{z_t}{1 + c_t z_t}.

    Examples
    --------
    >>> newton_bets(np.array([0.0, 0.5, -1.0]))
    array([0. , 0. , 0.5])
    """
    bets, curvature, bet = np.empty_like(gains), np.ones(gains.shape[:-1]), np.zeros(gains.shape[:-1])
    for t in range(gains.shape[-1]):
        bets[..., t] = bet
        slope = gains[..., t] / (1.0 + bet * gains[..., t])
        curvature = curvature + slope * slope
        bet = np.clip(bet + 2.0 / (2.0 - math.log(3.0)) * slope / curvature, 0.0, 0.5)
    return bets


def average_evidence(log_values: Floats) -> Any:
    """The logarithm of the mean over the first axis of e-values given by their logarithms: an e-value again, however
    they depend.

    Over kernels it makes one e-process of several (each at its own radius, θ_λ = ε₀√τ_λ for Huber contamination); over
    random orders of a fixed sample, one e-value.

    Examples
    --------
    >>> round(float(np.exp(average_evidence(np.log([1.0, 3.0])))), 6)
    2.0
    """
    return np.logaddexp.reduce(log_values) - math.log(len(log_values))


@dataclass(frozen=True, eq=False)
class BettingNull(BoundingNull, Findings):
    r"""The wealth of a bettor as evidence against every radius at once

    .. math:: p(\theta) = \min\Big(1, \frac{1}{\max_t W_t(\theta)}\Big) \text{ in one order}, \qquad
       p(\theta) = \min\Big(1, \frac{K}{\sum_k W_n^{(k)}(\theta)}\Big) \text{ over } K > 1 \text{ orders,}

    and with ``stop`` the smallest :math:`k / \sum_{j \le k} W_{\tau_j}^{(j)}(\theta)` over k, where order j stops at
    the first :math:`\tau_j` with :math:`W_{\tau_j}^{(j)} \ge 1/\text{stop}` at the reference radius.

    Parameters
    ----------
    payoffs : (K, n) array
        f_t(x_t), one row per order of the points.
    tau : float
        An upper bound of u(x, x).
    ksd : float
        D of the whole sample; thresholds are stated relative to it.
    strategy, reference
        As in :class:`Betting`, but for ``reference``, which is a radius. With bets for one radius at all radii Newton's
        wealth falls in the radius, as the mixture's does.
    stop : float, optional
        The level at which every order stops betting.

    Notes
    -----
    Proved: p is a p-value for every n and every Q in the ball, and does not fall as θ grows. In the
    order of arrival it stays one when the sample was stopped by looking at it, and when points depend on earlier ones.

    Examples
    --------
    >>> null = BettingNull(np.ones((1, 30)), tau=1.0, ksd=1.0)
    >>> null.pvalue(1.0, 0.0) < 1e-6, null.pvalue(1.0, 1.0)
    (True, 1.0)
    >>> 0.5 < null.lower_bound(1.0, 0.05) < 1.0
    True
    """

    payoffs: Floats
    tau: float
    ksd: float
    strategy: str = "mixture"
    reference: float = 0.0
    stop: float | None = None
    draws = None
    by_distance = False

    def log_wealth(self, radius: float) -> Floats:
        """log W_t for every order and point, (K, n)."""
        if self.strategy == "newton":
            return wealth_path(self._newton, relative_gains(self.payoffs, radius, self.tau))
        return log_wealth(self.payoffs, radius, self.tau)

    @cached_property
    def _newton(self) -> Floats:
        """Newton's bets, the same for every radius."""
        return newton_bets(relative_gains(self.payoffs, self.reference, self.tau))

    def path(self, radius: float) -> Floats | None:
        """In one order of the points; of several only the last wealth counts."""
        paths = self.log_wealth(radius)
        return paths[0] if len(paths) == 1 else None

    @cached_property
    def _stops(self) -> NDArray[np.intp]:
        """Where each order stops: where its wealth at the reference radius first reaches 1/stop, or at its end."""
        reached = self.log_wealth(self.reference) >= -math.log(self.stop or 1.0)
        reached[:, -1] = True
        return np.asarray(np.argmax(reached, axis=1))

    def _log_evidence(self, radius: float) -> float:
        """−log p, before it is cut at p = 1."""
        paths = self.log_wealth(radius)
        if self.stop is not None:
            stopped = paths[np.arange(len(paths)), self._stops]
            return float(np.max(np.logaddexp.accumulate(stopped) - np.log(np.arange(1.0, len(stopped) + 1.0))))
        return float(paths.max() if len(paths) == 1 else average_evidence(paths[:, -1]))

    def pvalue(self, ksd: float, radius: float) -> float:
        """The p-value against the radius θ; the wealth decides, not ``ksd``."""
        return math.exp(-max(0.0, self._log_evidence(radius)))

    def threshold(self, level: float, radius: float) -> float:
        """D − θ_L, by which max(0, D − θ) exceeds it exactly when θ is rejected. It may be negative: wealth once won
        counts even where D has come down again."""
        value, statistic = self.ksd - self.lower_bound(self.ksd, level), max(0.0, self.ksd - radius)
        return agreeing(value, statistic, rejected=self.pvalue(self.ksd, radius) <= level)

    def lower_bound(self, ksd: float, level: float) -> float:
        """θ_L = sup{θ : p(θ) ≤ level}, 0 if there is none: D(Q, P) ≥ θ_L at confidence 1 − ``level``."""
        return self.once(level, lambda: self._largest_rejected(level))

    def _largest_rejected(self, level: float) -> float:
        """The root, on the side where p ≤ level: p does not fall in θ, and is 1 at θ = √τ."""
        if self.pvalue(self.ksd, 0.0) > level:
            return 0.0
        root, need = math.sqrt(self.tau), -math.log(level)

        def excess(radius: float) -> float:
            return self._log_evidence(radius) - need

        found = float(scipy.optimize.brentq(excess, 0.0, root, xtol=1e-13 * root, rtol=1e-14))
        while found > 0.0 and self.pvalue(self.ksd, found) > level:
            found = max(0.0, found - 1e-12 * root)
        return found

    def upper_bound(self, ksd: float, level: float) -> float:
        """D + √(τ/n) (1 + √(2 log(1/level))): the triangle inequality and McDiarmid's, for independent rows.

        Nobody bets for it, and it does not survive optional stopping.
        """
        n = self.payoffs.shape[1]
        return ksd + math.sqrt(self.tau / n) * (1.0 + math.sqrt(-2.0 * math.log(level)))


@dataclass(frozen=True, eq=False)
class BettingJointNull(JointNull):
    r"""Wealth won on every kernel against its own radius, averaged: an e-process again, however they depend.

    Parameters
    ----------
    nulls : tuple of BettingNull
        The bets on every kernel, in one order of the points.

    Examples
    --------
    >>> BettingJointNull(2 * (BettingNull(np.ones((1, 30)), tau=1.0, ksd=1.0),)).pvalue(np.zeros(2)) < 1e-6
    True
    """

    nulls: tuple[BettingNull, ...]
    monotone = True

    def _paths(self, radii: Floats) -> Floats:
        """log W_t of every kernel, (k, n)."""
        return np.concatenate([null.log_wealth(radius) for null, radius in zip(self.nulls, radii, strict=True)])

    def ratios(self, radii: Floats) -> Floats:
        """The logarithm of the largest wealth of every kernel."""
        return np.asarray(self._paths(radii).max(axis=1))

    def statistic(self, radii: Floats) -> float:
        """The logarithm of the largest average wealth."""
        return float(np.max(average_evidence(self._paths(radii))))

    def threshold(self, radii: Floats, level: float) -> float:
        """log(1/level), and a hair less: wealth of exactly 1/level is enough."""
        return float(np.nextafter(-math.log(level), -math.inf))

    def pvalue(self, radii: Floats) -> float:
        """1 / max W, at most 1."""
        return math.exp(-max(0.0, self.statistic(radii)))


@dataclass(frozen=True)
class Betting(Calibration):
    r"""A test for finite samples by betting on each point with the direction of those before it

    .. math:: W_n = \prod_{t \le n} \big( 1 + \lambda_t (f_t(X_t) - \theta) \big), \qquad
       f_t = \frac{S_{t-1}}{|S_{t-1}|}, \quad S_t = \sum_{s \le t} u(\cdot, X_s).

    For Q in the ball, E[f_t(X_t) | past] = ⟨f_t, μ_Q⟩ ≤ θ: no bettor can expect to gain (Ville 1939; Shekhar and Ramdas
    2024 bet so on two samples; Waudby-Smith and Ramdas 2024 on means).

    Parameters
    ----------
    n_orders : int
        1: the points in one order, p = 1/max_t W_t. More: that and random further orders, and p is the reciprocal of
        the average of the *final* W_n. The answer then hardly depends on the order, but wealth won on the way and lost
        again does not count: in simulations it has less power than one order. See ``stop``.
    strategy : {"mixture", "newton"}
        How much is bet: a mixture over fixed shares, or an online Newton step capped at half of what is possible.
    reference : float
        The radius, as a share of √τ, for which Newton's bets are made and at which orders stop. The p-value holds at
        every radius; give the tolerated share.
    order : {"random", "arrival"}
        The first order: one drawn from the seed of the test, without looking at the data; or that of the rows, for
        points that stand in the order in which they came. The order of a file is none: sorted rows are rejected always.
    stop : float, optional
        With several orders: each stops betting when its wealth reaches 1/``stop``, and p is the reciprocal of the
        largest *running* mean of what they have then, so that p does not get much below ``stop``. With the level of the
        test it rejects whenever the first order alone does; half of the level had the most power in simulations.

    Notes
    -----
    Proved (``docs/theory/betting.md``): for independent rows and n fixed in advance the level holds for every n,
    uniformly over the ball, *if* kernel, length scale, tilt and radius are fixed without the tested data and τ is an
    upper bound of u(x, x). In the order of arrival (``order="arrival"``, ``n_orders=1``) it also holds under optional
    stopping and against contamination that adapts to the past. Only simulated: its power.

    Examples
    --------
    >>> Betting(n_orders=3).request(4, np.random.SeedSequence(0)).orders.shape
    (3, 4)
    """

    n_orders: int = 1
    strategy: str = "mixture"
    reference: float = 0.05
    order: str = "random"
    stop: float | None = None
    label = "betting"
    estimators = ("v",)
    needs_upper_bound = predictable = aggregates = True

    def __post_init__(self) -> None:
        check_choice(self.strategy, "strategy", ("mixture", "newton"))
        check_choice(self.order, "order", ("random", "arrival"))
        stop = None if self.stop is None else check_level(self.stop, name="stop")
        n_orders, reference = check_resamples(self.n_orders, "n_orders"), check_share(self.reference, "reference")
        independent = self.order != "arrival"  # otherwise points may depend on those that came earlier
        vars(self).update(n_orders=n_orders, reference=reference, stop=stop, independent_rows=independent)

    def request(self, n: int, seed: np.random.SeedSequence, start: int = 0) -> Request:
        """The place of each point in each order."""
        orders = [generator_at(seed, k).permutation(n) for k in range(self.n_orders)]
        return Request(orders=np.stack([np.arange(n) if self.order == "arrival" else orders[0], *orders[1:]]))

    def accepts(self, tau: Supremum) -> bool:
        """Upper bounds alone: bets that are sized by less could make the wealth negative."""
        return tau.is_upper_bound

    def null(self, summary: GramSummary, tau: Supremum, estimator: str) -> BettingNull:
        """The payoffs of the points in every order, as evidence against every radius."""
        before = summary.prefix_sums
        if before is None:
            raise ValueError("`Betting` needs sums over earlier points: summarise its own `request`.")
        ksd, reference = math.sqrt(max(0.0, summary.mean)), self.reference * math.sqrt(tau.value)
        return BettingNull(payoffs(before.sums, before.diagonal), tau.value, ksd, self.strategy, reference, self.stop)

    def joint(self, summaries: Sequence[GramSummary], taus: Sequence[Supremum]) -> BettingJointNull:
        """The wealth won on every kernel, averaged."""
        if self.n_orders != 1 or self.stop is not None:
            raise ValueError("`Betting` over several kernels bets in one order to its end: use n_orders=1, stop=None.")
        return BettingJointNull(tuple(self.null(*pair, "v") for pair in zip(summaries, taus, strict=True)))
