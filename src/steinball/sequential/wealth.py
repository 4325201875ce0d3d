"""The wealth of a bettor against many radii at once, point by point, and its path, in bounded memory."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from steinball.arrays import Floats
from steinball.calibration.wealth import BETS, NewtonState, average_evidence

GRID: Floats = np.concatenate([np.linspace(0.0, 0.2, 51), np.linspace(0.22, 0.98, 39)])
"""The radii, as shares of √τ, that the lower confidence bound is looked for among."""

KEPT = 512
"""Points of a path that are kept at most."""


@dataclass(eq=False)
class WealthByShare:
    r"""Log wealth against the radii r√τ, r the tested share first and then a grid, for one or several kernels

    .. math:: W_t(r) = \frac1J \sum_j W_t^{(j)}(r), \qquad
       W_t^{(j)}(r) = \prod_{s \le t} \Big( 1 + c_s \frac{f_s^{(j)}(x_s)/\sqrt{\tau_j} - r}{1 + r} \Big).

    ``logs`` is (J, R, bets) for the mixture and (J, R, 1) for Newton's, whose bets are made for the tested share;
    ``best`` (R,) is the largest log W so far, ``now`` (R,) the last; ``newton`` (2, J) is the state of Newton's bets.
    """

    shares: Floats
    logs: Floats
    best: Floats
    now: Floats
    newton: Floats
    state: ClassVar = ("logs", "best", "now", "newton")

    @classmethod
    def start(cls, share: float, kernels: int, strategy: str) -> WealthByShare:
        """Wealth 1 against every radius."""
        shares = np.concatenate([[share], GRID])
        logs = np.zeros((kernels, shares.size, BETS.size if strategy == "mixture" else 1))
        nothing, newton = np.zeros(shares.size), np.stack([np.zeros(kernels), np.ones(kernels)])
        return cls(shares, logs, nothing, nothing, newton)

    def record(self, payoffs: Floats) -> Floats:
        """Add the payoffs (J, m) of the next points, each in units of its √τ; log W (m,) against the tested share."""
        gains = (payoffs[:, :, None] - self.shares) / (1.0 + self.shares)  # (J, m, R)
        gains = np.where(np.isnan(gains), 0.0, gains)
        mixed = self.logs.shape[-1] == BETS.size
        bets = BETS if mixed else self._newton(gains[:, :, 0])[:, :, None, None]
        growth = np.log1p(gains[..., None] * bets)  # (J, m, R, bets)
        paths = np.cumsum(np.concatenate([self.logs[:, None], growth], axis=1), axis=1)
        self.logs = paths[:, -1].copy()
        shares = np.log(BETS / BETS.sum()) if mixed else 0.0
        wealth = average_evidence(np.logaddexp.reduce(paths[:, 1:] + shares, axis=-1))  # (m, R)
        self.best, self.now = np.maximum(self.best, wealth.max(axis=0)), wealth[-1]
        return np.asarray(wealth[:, 0])

    def _newton(self, gains: Floats) -> Floats:
        """Newton's bets (J, m) on the coming gains, each before its gain is known."""
        state, bets = NewtonState(*self.newton), np.empty_like(gains)
        for t in range(gains.shape[1]):
            bets[:, t] = state.bet
            state = state.after(gains[:, t])
        self.newton = np.stack([state.bet, state.curvature])
        return bets

    def rejected_share(self, level: float) -> float:
        """The largest share, of the grid or the tested one, that is rejected; 0 if none is. Smaller ones are, too."""
        return float(self.shares[np.exp(-self.best) <= level].max(initial=0.0))


@dataclass(eq=False)
class WealthPath:
    """A path of log W in bounded memory: at every ``stride``-th point, the stride doubling when too many are held."""

    stride: int = 1
    n: Any = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    log_wealth: Floats = field(default_factory=lambda: np.empty(0))
    state: ClassVar = ("stride", "n", "log_wealth")

    def add(self, first: int, path: Floats) -> None:
        """log W after the points ``first``, ``first`` + 1, …"""
        self.n = np.append(self.n, first + np.arange(path.size))
        self.log_wealth = np.append(self.log_wealth, path)
        while np.count_nonzero(self.n % self.stride == 0) > KEPT:
            self.stride *= 2
        chosen = self.n % self.stride == 0
        self.n, self.log_wealth = self.n[chosen], self.log_wealth[chosen]
