"""Betting against the ball: a test for finite samples that holds uniformly over the ball and may be stopped any time.

The proofs are in ``docs/theory/betting.md``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

from steinball.arrays import as_number, check_resamples, generator_at, to_host
from steinball.features import Supremum
from steinball.gram.base import GramSummary
from steinball.gram.prefix import PrefixSums
from steinball.gram.weights import Weights

__all__ = ["BETS", "Betting", "BettingNull", "average_evidence", "log_wealth", "newton_bets", "payoffs"]

Floats = NDArray[np.float64]

BETS: Floats = np.geomspace(0.01, 0.95, 12)
"""The mixture's bets, as shares of the largest that cannot ruin: tiny ones for tiny misfits that need many points."""

_SHARES: Floats = BETS / BETS.sum()  # the uniform mixture over (0, .95), by geometric steps
_STRATEGIES = ("mixture", "newton")
_NEWTON_CAP = 0.5
_NEWTON_STEP = 2.0 / (2.0 - math.log(3.0))
NO_DIRECTION = 1e-6
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
    squares = _before(np.cumsum(2.0 * sums + diagonal, axis=-1))
    known = squares > NO_DIRECTION * _before(np.cumsum(diagonal, axis=-1))
    values = np.where(known, sums / np.sqrt(np.where(known, squares, 1.0)), np.nan)
    most = np.sqrt(np.maximum(diagonal, 0.0))  # Cauchy and Schwarz: only rounding goes further
    return np.clip(values, -most, most)


def _before(totals: Floats) -> Floats:
    """Running totals as they were one step earlier."""
    return np.concatenate([np.zeros_like(totals[..., :1]), totals[..., :-1]], axis=-1)


def log_wealth(
    payoffs: Floats, radius: float, tau: float, strategy: str = "mixture", reference: float | None = None
) -> Floats:
    r"""The logarithm of the wealth after each point,

    .. math:: W_t = \prod_{s \le t} \Big( 1 + c_s \frac{f_s(x_s) - \theta}{\sqrt\tau + \theta} \Big),
       \qquad 0 \le c_s < 1 \text{ from the past alone.}

    ``"mixture"`` is a weighted mean of such products over the constants :data:`BETS`; ``"newton"`` has one product, its
    c from an online Newton step (Cutkosky and Orabona 2018).

    Parameters
    ----------
    payoffs : (..., n) array
        f_t(x_t), points in their order along the last axis; NaN where nothing is bet.
    radius, tau : float
        θ, and an upper bound of u(x, x).
    strategy : {"mixture", "newton"}
    reference : float, optional
        The radius for which Newton's bets are made; ``radius`` by default. With one reference for all radii the wealth
        falls in the radius; the mixture's does always.

    Notes
    -----
    Proved: where E[f_t(X_t) | past] ≤ θ for every t, W is a non-negative supermartingale from 1, so that
    P(sup W ≥ 1/α) ≤ α (Ville 1939). That is so for each Q in the KSD ball of radius θ.

    Examples
    --------
    >>> np.exp(log_wealth(np.array([np.nan, 1.0, 1.0]), 0.0, 1.0)).round(3)
    array([1.   , 1.576, 2.585])
    """
    if strategy not in _STRATEGIES:
        raise ValueError(f'`strategy` must be "mixture" or "newton", got {strategy!r}.')
    gains = relative_gains(payoffs, radius, tau)
    if strategy == "newton":
        bets = newton_bets(gains if reference is None else relative_gains(payoffs, reference, tau))
        return _path(bets, gains)
    total = np.full(gains.shape, -np.inf)
    for bet, share in zip(BETS, _SHARES, strict=True):  # one at a time: memory as for the payoffs
        total = np.logaddexp(total, math.log(share) + _path(bet, gains))
    return total


def _path(bets: Any, gains: Floats) -> Floats:
    """log Π (1 + c z) after each point."""
    return np.asarray(np.cumsum(np.log1p(bets * gains), axis=-1))


def relative_gains(payoffs: Floats, radius: float, tau: float) -> Floats:
    """(f − θ)/(√τ + θ), at least −1 and not rising in θ; 0 where nothing is bet."""
    return np.where(np.isnan(payoffs), 0.0, (payoffs - radius) / (math.sqrt(tau) + radius))


def newton_bets(gains: Floats) -> Floats:
    r"""Bets in [0, ½] by the online Newton step: each from the gains before it alone,

    .. math:: c_{t+1} = \Big[ c_t + \tfrac{2}{2 - \log 3} \, \frac{g_t}{1 + \sum_{s \le t} g_s^2} \Big]_{[0, 1/2]},
       \qquad g_t = \frac{z_t}{1 + c_t z_t}.

    Examples
    --------
    >>> newton_bets(np.array([0.0, 0.5, -1.0]))
    array([0. , 0. , 0.5])
    """
    bets = np.zeros_like(gains)
    state = NewtonState(np.zeros(gains.shape[:-1]), np.ones(gains.shape[:-1]))
    for t in range(gains.shape[-1]):
        bets[..., t] = state.bet
        state = state.after(gains[..., t])
    return bets


@dataclass(frozen=True, eq=False)
class NewtonState:
    """The bet that comes next, and one plus the squared slopes so far."""

    bet: Any
    curvature: Any

    def after(self, gain: Any) -> NewtonState:
        """One step of Newton's method on −log(1 + c·gain), kept within [0, ½]."""
        slope = gain / (1.0 + self.bet * gain)
        curvature = self.curvature + slope * slope
        return NewtonState(np.clip(self.bet + _NEWTON_STEP * slope / curvature, 0.0, _NEWTON_CAP), curvature)


def average_evidence(log_values: Any, axis: int = 0) -> Any:
    """The logarithm of the mean of e-values given by their logarithms: an e-value again, however they depend.

    Over kernels it makes one e-process of several (each at its own radius, θ_λ = ε₀√τ_λ for Huber contamination); over
    random orders of a fixed sample, one e-value.

    Examples
    --------
    >>> round(float(np.exp(average_evidence(np.log([1.0, 3.0])))), 6)
    2.0
    """
    log_values = np.asarray(log_values, dtype=np.float64)
    return np.logaddexp.reduce(log_values, axis=axis) - math.log(log_values.shape[axis])


@dataclass(frozen=True, eq=False)
class BettingNull:
    r"""The wealth of a bettor as evidence against every radius at once

    .. math:: p(\theta) = \min\Big(1, \frac{1}{\max_t W_t(\theta)}\Big) \text{ in one order}, \qquad
       p(\theta) = \min\Big(1, \frac{K}{\sum_k W_n^{(k)}(\theta)}\Big) \text{ over } K > 1 \text{ orders.}

    Parameters
    ----------
    payoffs : (K, n) array
        f_t(x_t), one row per order of the points.
    tau : float
        An upper bound of u(x, x).
    ksd : float
        D of the whole sample; thresholds are stated relative to it.
    strategy, reference
        As in :func:`log_wealth`; ``reference`` is a radius here, too.

    Notes
    -----
    Proved: p is a p-value for every n and every Q in the ball, and does not fall as θ grows. In one order it stays one
    when the sample was stopped by looking at it, and when points depend on earlier ones.

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
    _found: dict[float, float] = field(default_factory=dict, repr=False)

    def log_wealth(self, radius: float) -> Floats:
        """log W_t for every order and point, (K, n)."""
        if self.strategy == "newton":
            return _path(self._newton, relative_gains(self.payoffs, radius, self.tau))
        return log_wealth(self.payoffs, radius, self.tau)

    @cached_property
    def _newton(self) -> Floats:
        """Newton's bets, the same for every radius."""
        return newton_bets(relative_gains(self.payoffs, self.reference, self.tau))

    def evalue(self, radius: float) -> float:
        """The wealth at the end, averaged over the orders: its mean is at most 1 for every Q in the ball."""
        with np.errstate(over="ignore"):
            return float(np.exp(average_evidence(self.log_wealth(radius)[:, -1])))

    def _log_evidence(self, radius: float) -> float:
        """−log p, before it is cut at p = 1."""
        paths = self.log_wealth(radius)
        return float(paths.max() if len(paths) == 1 else average_evidence(paths[:, -1]))

    def pvalue(self, ksd: float, radius: float) -> float:
        """The p-value against the radius θ; the wealth decides, not ``ksd``."""
        return math.exp(-max(0.0, self._log_evidence(radius)))

    def threshold(self, level: float, radius: float) -> float:
        """D − θ_L, by which max(0, D − θ) exceeds it exactly when θ is rejected. It may be negative: wealth once won
        counts even where D has come down again."""
        value, statistic = self.ksd - self.lower_bound(self.ksd, level), max(0.0, self.ksd - radius)
        if self.pvalue(self.ksd, radius) <= level:
            return min(value, float(np.nextafter(statistic, -math.inf)))  # rounding must not split the two
        return max(value, statistic)

    def lower_bound(self, ksd: float, level: float) -> float:
        """θ_L = sup{θ : p(θ) ≤ level}, 0 if there is none: D(Q, P) ≥ θ_L at confidence 1 − ``level``."""
        if level not in self._found:
            self._found[level] = self._largest_rejected(level)
        return self._found[level]

    def _largest_rejected(self, level: float) -> float:
        """By bisection, on the side where p ≤ level: p does not fall in θ, and is 1 at θ = √τ."""
        if self.pvalue(self.ksd, 0.0) > level:
            return 0.0
        root = math.sqrt(self.tau)

        def excess(radius: float) -> float:
            return self._log_evidence(radius) + math.log(level)

        found = float(brentq(excess, 0.0, root, xtol=1e-13 * root, rtol=1e-14))
        while found > 0.0 and self.pvalue(self.ksd, found) > level:
            found = max(0.0, found - 1e-12 * root)
        return found

    def upper_bound(self, ksd: float, level: float) -> float:
        """D + √(τ/n) (1 + √(2 log(1/level))): the triangle inequality and McDiarmid's, for independent rows.

        Nobody bets for it, and it does not survive optional stopping.
        """
        n = self.payoffs.shape[1]
        return ksd + math.sqrt(self.tau / n) * (1.0 + math.sqrt(-2.0 * math.log(level)))

    def critical_range(self, level: float, radius: float, moved: float, draws_moved: Floats) -> None:
        """Not known: a changed point changes every bet after it."""
        return None


@dataclass(frozen=True)
class Betting:
    r"""A test for finite samples by betting on each point with the direction of those before it

    .. math:: W_n = \prod_{t \le n} \big( 1 + \lambda_t (f_t(X_t) - \theta) \big), \qquad
       f_t = \frac{S_{t-1}}{|S_{t-1}|}, \quad S_t = \sum_{s \le t} u(\cdot, X_s).

    For Q in the ball, E[f_t(X_t) | past] = ⟨f_t, μ_Q⟩ ≤ θ: no bettor can expect to gain (Ville 1939; Shekhar and Ramdas
    2024 bet so on two samples; Waudby-Smith and Ramdas 2024 on means).

    Parameters
    ----------
    n_orders : int
        1: the points in the order in which they came, p = 1/max_t W_t. More: that and random further orders, and p is
        the reciprocal of the average of the *final* W_n. The answer then hardly depends on the order of the rows, but
        it needs independent rows and a sample size fixed in advance, and wealth won on the way and lost again does not
        count: in simulations it has less power than one order.
    strategy : {"mixture", "newton"}
        How much is bet: a mixture over fixed shares, or an online Newton step capped at half of what is possible.
    reference : float
        The radius, as a share of √τ, for which Newton's bets are made. The p-value holds at every radius.

    Notes
    -----
    Proved (``docs/theory/betting.md``): the level holds for every n, uniformly over the ball, with one order also under
    optional stopping and against contamination that adapts to the past, *if* kernel, length scale, tilt and radius are
    fixed without the tested data and τ is an upper bound of u(x, x). Only simulated: its power.

    Examples
    --------
    >>> Betting(n_orders=3).orders(4, np.random.SeedSequence(0)).shape
    (3, 4)
    """

    n_orders: int = 1
    strategy: str = "mixture"
    reference: float = 0.05
    predictable: ClassVar[bool] = True
    """Kernel and tilt must not be chosen from the tested data."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "n_orders", check_resamples(self.n_orders, "n_orders"))
        object.__setattr__(self, "reference", as_number(self.reference, "reference", low=0.0, high=1.0))
        if self.strategy not in _STRATEGIES:
            raise ValueError(f'`strategy` must be "mixture" or "newton", got {self.strategy!r}.')

    @property
    def n_resamples(self) -> int:
        """No draws."""
        return 0

    def weights(self, n: int, seed: np.random.SeedSequence, start: int = 0) -> Weights:
        """No weights."""
        return ()

    def orders(self, n: int, seed: np.random.SeedSequence) -> NDArray[np.int64]:
        """(K, n): the place of each point in each order; the first is the order of arrival."""
        shuffled = [generator_at(seed, k).permutation(n) for k in range(1, self.n_orders)]
        return np.stack([np.arange(n), *shuffled])

    def check(self, tau: Supremum, estimator: str) -> None:
        """Refuse a τ that is no upper bound, and U-statistics."""
        if estimator != "v":
            raise ValueError('`Betting` bets in the direction of the V-statistic: use estimator="v".')
        if not tau.is_upper_bound:
            raise ValueError(
                f'`Betting` needs an upper bound of u(x, x), but τ = {tau.value:g} is of kind "{tau.kind}": bets sized '
                'by it could make the wealth negative. Use tau="auto", or give a number that bounds u(x, x).'
            )

    def null(self, summary: GramSummary, tau: Supremum, estimator: str) -> BettingNull:
        """The payoffs of the points in every order, as evidence against every radius."""
        self.check(tau, estimator)
        before = _in_order(summary)
        ksd, reference = math.sqrt(max(0.0, summary.mean)), self.reference * math.sqrt(tau.value)
        return BettingNull(payoffs(before.sums, before.diagonal), tau.value, ksd, self.strategy, reference)


def _in_order(summary: GramSummary) -> PrefixSums:
    """The sums over earlier points that a summary holds; a bare array of one row is in the order of arrival."""
    found: Any = summary.prefix_sums
    if isinstance(found, PrefixSums):
        return found
    if found is None or len(found) != 1:
        raise ValueError("`Betting` needs sums over earlier points: put `gram.prefix.prefix_sums(...)` in the summary.")
    return PrefixSums(np.asarray(found), to_host(summary.diagonal)[None, :])
