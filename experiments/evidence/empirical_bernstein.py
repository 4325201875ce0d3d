r"""The two empirical Bernstein bounds that the paper names (App. D): the variance comes from the data.

The features φ(x) = u(·, x) have norms of at most B = √τ and the mean μ_Q. Both bounds hold for every Q, whatever the
radius, at every n: docs/theory/deviation.md proves the second and quotes the first.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from steinball.calibration.base import Null

__all__ = ["MartinezRamdasNull", "WolferAlquierNull", "bets", "predicted_squares", "sample_variance"]

Floats = NDArray[np.float64]

MOST_BET = 0.5
PRIOR = 0.25
"""The largest λ, and the variance that is expected before any point, in units of τ."""


def sample_variance(gram: Floats) -> float:
    r""":math:`\frac1{n-1} \sum_i |\varphi_i - \bar\varphi|^2` from the matrix of u.

    Examples
    --------
    >>> sample_variance(np.outer([1.0, 2.0, 4.0], [1.0, 2.0, 4.0])), np.var([1.0, 2.0, 4.0], ddof=1).round(6)
    (2.333333333333333, np.float64(2.333333))
    """
    n = len(gram)
    return n / (n - 1.0) * float(np.diag(gram).mean() - gram.mean())


def predicted_squares(gram: Floats) -> Floats:
    r""":math:`|\varphi_t - \bar\varphi_{t-1}|^2` for every point t, with the mean of the points before it; 0 for none.

    Examples
    --------
    >>> predicted_squares(np.outer([1.0, 2.0, 4.0], [1.0, 2.0, 4.0]))
    array([1.  , 1.  , 6.25])
    """
    diagonal, earlier = np.diag(gram), np.triu(gram, 1).sum(axis=0)
    totals = np.concatenate([[0.0], np.cumsum(diagonal + 2.0 * earlier)[:-1]])  # |Σ φ_s|² over the points before
    before = np.maximum(1.0, np.arange(len(gram)))
    return np.asarray(np.maximum(0.0, diagonal - 2.0 * earlier / before + totals / before**2))


def bets(squares: Floats, tau: float, level: float) -> Floats:
    """λ_t, from the squares before t alone: what would be best at this level if the variance stayed as it was."""
    n = len(squares)
    before = np.concatenate([[0.0], np.cumsum(squares)[:-1]])
    variance = (PRIOR * tau + before) / np.arange(1.0, n + 1.0)
    return np.asarray(np.minimum(MOST_BET, np.sqrt(32.0 * tau * math.log(2.0 / level) / (n * variance))))


@dataclass(frozen=True)
class WolferAlquierNull(Null):
    r"""Wolfer and Alquier (2025), Theorem A.1, for kernels whose diagonal varies by Δ = sup u(x, x) − inf u(x, x)

    .. math:: \gamma = \sqrt{2 (\hat v + \Delta) x} + \left( \tfrac{16}{3} \sqrt\tau + 2 \sqrt{2 \Delta} \right) x,
       \qquad x = \log(4/\alpha) / n.
    """

    tau: float
    spread: float
    n: int
    variance: float
    draws = None

    def _terms(self) -> tuple[float, float]:
        """The factors of √x and of x."""
        return math.sqrt(2.0 * (self.variance + self.spread)), (
            16.0 / 3.0 * math.sqrt(self.tau) + 2.0 * math.sqrt(2.0 * self.spread)
        )

    def threshold(self, level: float, radius: float) -> float:
        """γ, the same at every radius."""
        x, (root, line) = math.log(4.0 / level) / self.n, self._terms()
        return root * math.sqrt(x) + line * x

    def pvalue(self, ksd: float, radius: float) -> float:
        """The level at which γ is D − θ."""
        excess, (root, line) = max(0.0, ksd - radius), self._terms()
        y = 2.0 * excess / (root + math.sqrt(root**2 + 4.0 * line * excess))
        return min(1.0, 4.0 * math.exp(-self.n * y**2))


@dataclass(frozen=True)
class MartinezRamdasNull(Null):
    r"""Martinez-Taboada and Ramdas (2024), Corollary 1, with bets λ that each know the points before theirs

    .. math:: \left| \frac{\sum_t \lambda_t \varphi_t}{\sum_t \lambda_t} - \mu_Q \right| \le \gamma = \frac{
       \frac{1}{4B} \sum_t \psi(\lambda_t) |\varphi_t - \bar\varphi_{t-1}|^2 + 4B \log(2/\alpha)}{\sum_t \lambda_t},
       \qquad \psi(\lambda) = -\log(1 - \lambda) - \lambda.

    ``ksd`` is the norm of the weighted mean, which takes the place of D.
    """

    tau: float
    total: float
    penalty: float
    ksd: float
    draws = None

    @classmethod
    def of(cls, gram: Floats, tau: float, level: float) -> MartinezRamdasNull:
        """For the points of a Gram matrix in their order, with bets that aim at ``level``."""
        squares = predicted_squares(gram)
        weights = bets(squares, tau, level)
        total = float(weights.sum())
        penalty = float(((-np.log1p(-weights) - weights) * squares).sum()) / (4.0 * math.sqrt(tau))
        return cls(tau, total, penalty, math.sqrt(max(0.0, float(weights @ gram @ weights))) / total)

    def threshold(self, level: float, radius: float) -> float:
        """γ, the same at every radius."""
        return (self.penalty + 4.0 * math.sqrt(self.tau) * math.log(2.0 / level)) / self.total

    def pvalue(self, ksd: float, radius: float) -> float:
        """The level at which γ is D − θ."""
        beyond = max(0.0, ksd - radius) * self.total - self.penalty
        return min(1.0, 2.0 * math.exp(-beyond / (4.0 * math.sqrt(self.tau))))
