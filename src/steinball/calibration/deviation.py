"""Finite-sample bounds in place of the bootstrap."""

from __future__ import annotations

import math
from abc import abstractmethod
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from steinball.arrays import Floats
from steinball.calibration.base import BoundingNull, Calibration
from steinball.gram.base import GramSummary
from steinball.tau.certificate import Supremum


class Tail(NamedTuple):
    r"""P(D − θ > mean + e) ≤ c exp(−n e² / (2v)) for every Q in the null, with v the ``variance``, c the ``factor``."""

    n: int
    mean: float
    variance: float
    factor: float = 1.0

    def gamma(self, level: float) -> float:
        """What D − θ exceeds with probability ``level`` at most."""
        return self.mean + math.sqrt(2.0 * self.variance * math.log(self.factor / level) / self.n)

    def probability(self, excess: float) -> float:
        """The level at which γ is a given excess of D over θ."""
        beyond = max(0.0, excess - self.mean)
        return min(1.0, self.factor * math.exp(-0.5 * self.n * (beyond * beyond) / self.variance))


def tails(tau: float, n: int, radius: float) -> dict[str, Tail]:
    """Bounds over the whole ball, each by its name.

    ``mcdiarmid`` is the paper's: |gₙ − μ| has mean ≤ √(τ/n) and bounded differences 2√τ/n (Tolstikhin et al. 2017,
    Prop. A.1). ``norm`` is the same inequality for D = |gₙ| itself, whose mean is at most √(θ² + (τ − θ²)/n): never
    worse. ``pinelis`` is for sums in a Hilbert space (Pinelis 1994, Theorem 3.5), with |φ(X) − μ_Q| ≤ √τ + θ.
    """
    rest, reach = max(0.0, tau - radius * radius) / n, math.sqrt(tau) + radius
    mean = rest / (math.sqrt(radius * radius + rest) + radius) if rest > 0.0 else 0.0  # √(θ² + rest) − θ, to its digits
    return {
        "mcdiarmid": Tail(n, math.sqrt(tau / n), tau),
        "norm": Tail(n, mean, tau),
        "pinelis": Tail(n, 0.0, reach * reach, factor=2.0),
    }


BOUNDS = ("mcdiarmid", "norm", "pinelis")
"""The names of the bounds."""


def hoeffding(ksd: float, tau: float, n: int, level: float) -> float:
    r"""An upper bound of D(Q, P) for every Q and n, with τ an upper bound of u(x, x)

    .. math:: D(Q, P) \le \min\left(\sqrt\tau,\; D_n + \sqrt{2 \tau \log(1/\alpha) / n}\right),

    since :math:`D_n \ge \frac1n \sum f(X_i)` for :math:`f = \mu_Q / |\mu_Q|`, whose values lie within ±√τ (Hoeffding
    1963).

    Examples
    --------
    >>> round(hoeffding(0.1, 1.0, 600, 0.05), 4)
    0.1999
    """
    return min(math.sqrt(tau), ksd + math.sqrt(-2.0 * tau * math.log(level) / n))


class FiniteSampleNull(BoundingNull):
    """A null distribution whose statements hold for every n, and whose threshold the data do not move."""

    tau: float
    n: int
    draws = None

    @abstractmethod
    def _beyond(self, level: float, radius: float) -> float:
        """What D − θ must exceed."""

    def upper_bound(self, ksd: float, level: float) -> float:
        """:func:`hoeffding`."""
        return hoeffding(ksd, self.tau, self.n, level)

    def critical_range(self, level: float, radius: float, moved: float, draws_moved: Floats) -> tuple[float, float]:
        """θ + γ, which the data do not move."""
        critical = radius + self._beyond(level, radius)
        return critical, critical

    def _largest_rejected(self, ksd: float, level: float, unit: float) -> float:
        """The largest share whose radius, share times ``unit``, is rejected with all smaller ones; 0 if there is none.

        By bisection over the multiples of 2⁻⁵⁰: p does not fall in the share.
        """
        grid = range(2**50)
        found = bisect_left(grid, True, key=lambda k: self.pvalue(ksd, k / len(grid) * unit) > level)
        return max(0, found - 1) / len(grid)


@dataclass(frozen=True)
class DeviationNull(FiniteSampleNull):
    r"""One or several deviation bounds as a null distribution: the smallest threshold, and the p-value that inverts it

    .. math:: \gamma(\alpha, \theta) = \min_k \gamma_k(\alpha, \theta), \qquad
       p(\theta) = \inf\{ \alpha : D - \theta > \gamma(\alpha, \theta) \} = \min_k p_k(\theta).

    At a fixed level the smallest of finitely many thresholds is known before the data, so the level is that of one
    bound; and D − θ exceeds the smallest exactly when it exceeds one of them, so the p-value is the smallest too.

    Parameters
    ----------
    tau, n : float, int
        The upper bound of u(x, x), and the number of points.
    bounds : tuple of str
        Of ``"mcdiarmid"`` (the paper's, alone by default), ``"norm"``, ``"pinelis"``.

    Examples
    --------
    >>> null = DeviationNull(tau=1.0, n=100)
    >>> round(null.pvalue(null.threshold(0.05, 0.0), 0.0), 6)
    0.05
    """

    tau: float
    n: int
    bounds: tuple[str, ...] = ("mcdiarmid",)

    def _tails(self, radius: float) -> Sequence[Tail]:
        known = tails(self.tau, self.n, radius)
        return [known[name] for name in self.bounds]

    def pvalue(self, ksd: float, radius: float) -> float:
        """The p-value of an observed D against the radius θ."""
        if ksd <= radius:
            return 1.0
        return min(tail.probability(ksd - radius) for tail in self._tails(radius))

    def threshold(self, level: float, radius: float) -> float:
        """The smallest γ at this level and radius."""
        return min(tail.gamma(level) for tail in self._tails(radius))

    _beyond = threshold

    def lower_bound(self, ksd: float, level: float) -> float:
        """The largest θ that is rejected: θ + γ(α, θ) rises in θ."""
        return ksd * self._largest_rejected(ksd, level, ksd)


@dataclass(frozen=True)
class DeviationBound(Calibration):
    r"""A finite-sample test by a deviation bound (paper App. D): reject when

    .. math:: \Delta_\theta = \max(0, D - \theta) > \gamma_n, \qquad
       \gamma_n = \sqrt{\tau_\infty / n} + \sqrt{-2 \tau_\infty \log(\alpha) / n} \quad \text{(the paper's R-KSD-Dev)}.

    Parameters
    ----------
    kind : str
        Which bound:

        - ``"mcdiarmid"``: γₙ above;
        - ``"norm"``: McDiarmid's inequality for D itself,
          √(θ² + (τ − θ²)/n) − θ + √(−2 τ log(α) / n): never above γₙ;
        - ``"pinelis"``: (√τ + θ) √(2 log(2/α) / n): the smaller one at small θ or n;
        - ``"auto"``: the smallest of them, by τ, n, θ and α: known before the data are seen.
    proven : bool
        Whether what the proof needs is insisted on: τ an upper bound of u(x, x), kernel and tilt not from the data.
        With ``False`` the paper's choices, the sample's τ and median distance, are let through, and nothing is proved
        at any n.

    Notes
    -----
    Proved, unless ``proven=False``: the level holds for every n and uniformly over the KSD ball. Default kernel and
    tilt come from the model, as for :class:`Betting`. It has little power: it is a bound for all distributions at once.
    The proofs are in docs/theory/deviation.md.

    Examples
    --------
    >>> import numpy as np, steinball as sb
    >>> x = np.random.default_rng(0).normal(size=400)
    >>> sb.ksd_test(x, sb.models.Gaussian(2.0), tilt="auto", calibration=DeviationBound(), tau="auto").rejected
    True
    """

    kind: str = "auto"
    proven: bool = True
    label = "deviation bound"
    estimators = ("v",)
    needs_upper_bound = predictable = True

    def __post_init__(self) -> None:
        vars(self).update(predictable=self.proven)  # what a class declares, an instance may take back
        if self.kind != "auto" and self.kind not in BOUNDS:
            raise ValueError(f'`kind` must be "auto" or one of {", ".join(BOUNDS)}, got {self.kind!r}.')

    def accepts(self, tau: Supremum) -> bool:
        """Upper bounds alone, unless nothing need be proved."""
        return tau.is_upper_bound or not self.proven

    @property
    def bounds(self) -> tuple[str, ...]:
        """The bounds of which the smallest is taken."""
        return ("norm", "pinelis") if self.kind == "auto" else (self.kind,)

    def null(self, summary: GramSummary, tau: Supremum, estimator: str) -> DeviationNull:
        """The bound for n points."""
        return DeviationNull(tau.value, len(summary), self.bounds)
