"""The wealth of a bettor: payoffs along the direction of earlier points, and bets that do not look ahead.

The proofs are in ``docs/theory/betting.md``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from steinball.arrays import Floats

STRATEGIES = ("mixture", "newton")

BETS: Floats = np.geomspace(0.01, 0.95, 12)
"""The mixture's bets, as shares of the largest that cannot ruin: tiny ones for tiny misfits that need many points."""

_SHARES: Floats = BETS / BETS.sum()  # the uniform mixture over (0, .95), by geometric steps
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


def log_wealth(payoffs: Floats, radius: float, tau: float, strategy: str = "mixture") -> Floats:
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
        Newton's bets are made for this radius; with bets for one radius at all radii the wealth falls in the radius, as
        the mixture's does.

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
    if strategy == "newton":
        return wealth_path(newton_bets(gains), gains)
    total = np.full(gains.shape, -np.inf)
    for bet, share in zip(BETS, _SHARES, strict=True):  # one at a time: memory as for the payoffs
        total = np.logaddexp(total, math.log(share) + wealth_path(bet, gains))
    return total


def wealth_path(bets: Any, gains: Floats) -> Floats:
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
    return NewtonState(np.zeros(gains.shape[:-1]), np.ones(gains.shape[:-1])).bets(gains)[0]


@dataclass(frozen=True, eq=False)
class NewtonState:
    """The bet that comes next, and one plus the squared slopes so far."""

    bet: Any
    curvature: Any

    def bets(self, gains: Floats) -> tuple[Floats, NewtonState]:
        """The bet before each of the coming gains (..., n), and the state behind all of them.

        Each gain is followed by one step of Newton's method on −log(1 + c·gain), kept within [0, ½].
        """
        bet, curvature, bets = self.bet, self.curvature, np.empty_like(gains)
        for t in range(gains.shape[-1]):
            bets[..., t] = bet
            slope = gains[..., t] / (1.0 + bet * gains[..., t])
            curvature = curvature + slope * slope
            bet = np.clip(bet + _NEWTON_STEP * slope / curvature, 0.0, _NEWTON_CAP)
        return bets, NewtonState(bet, curvature)


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
