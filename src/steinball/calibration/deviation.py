"""A finite-sample bound in place of the bootstrap."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from steinball.gram.base import GramSummary
from steinball.gram.weights import Weights
from steinball.supremum import Supremum


@dataclass(frozen=True)
class DeviationNull:
    r"""McDiarmid's bound as a null distribution, with the p-value that inverts it

    .. math:: p = \exp\left(-\tfrac12 \left(\Delta_\theta \sqrt{n/\tau} - 1\right)_+^2\right).

    Examples
    --------
    >>> null = DeviationNull(tau=1.0, n=100)
    >>> round(null.pvalue(null.threshold(0.05, 0.0), 0.0), 6)
    0.05
    """

    tau: float
    n: int

    def pvalue(self, ksd: float, radius: float) -> float:
        """The p-value of an observed D against the radius θ."""
        if ksd <= radius:
            return 1.0
        excess = (ksd - radius) * math.sqrt(self.n / self.tau) - 1.0
        return math.exp(-0.5 * max(0.0, excess) ** 2)

    def threshold(self, level: float, radius: float) -> float:
        """γₙ = √(τ/n) + √(−2 τ log(level) / n)."""
        return math.sqrt(self.tau / self.n) * (1.0 + math.sqrt(-2.0 * math.log(level)))


@dataclass(frozen=True)
class DeviationBound:
    r"""The finite-sample test R-KSD-Dev (paper App. D): reject when

    .. math:: \Delta_\theta > \gamma_n = \sqrt{\tau_\infty / n} + \sqrt{-2 \tau_\infty \log(\alpha) / n}.

    Notes
    -----
    With τ an upper bound of u(x, x), the level holds for every n and uniformly over the KSD ball. With τ the maximum
    over the sample that is no longer proved. It has little power: it is a bound for all distributions at once.

    Examples
    --------
    >>> import steinball as sb
    >>> x = np.random.default_rng(0).normal(size=400)
    >>> sb.ksd_test(x, sb.models.Gaussian(2.0), tilt="auto", calibration=DeviationBound(), tau="optimised").rejected
    True
    """

    @property
    def n_resamples(self) -> int:
        """No draws."""
        return 0

    def weights(self, n: int, seed: np.random.SeedSequence, start: int = 0) -> Weights:
        """No weights."""
        return ()

    def null(self, summary: GramSummary, tau: Supremum, estimator: str) -> DeviationNull:
        """The bound for n points."""
        if estimator != "v":
            raise ValueError('`DeviationBound` bounds the V-statistic: use estimator="v".')
        return DeviationNull(tau.value, len(summary))
