"""Finite-sample bounds in place of the bootstrap."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import scipy

from steinball.arrays import Floats
from steinball.calibration.base import BoundingNull, Calibration
from steinball.gram.base import GramSummary
from steinball.tau.certificate import Supremum
from steinball.tau.isotropic import ModelMoments

if TYPE_CHECKING:
    from steinball.radius.base import Radius


@dataclass(frozen=True)
class _Tail:
    r"""P(D − θ > mean + e) ≤ c exp(−n x) + failure for every Q in the null, in the form of Bernstein's inequality

    .. math:: e = bx/3 + \sqrt{(bx/3)^2 + 2vx}, \qquad x = \frac{e^2}{2 (v + be/3)},

    with v the ``variance``, b the ``bound`` and c the ``factor``.
    """

    n: int
    mean: float
    variance: float
    bound: float = 0.0
    factor: float = 1.0
    failure: float = 0.0

    def gamma(self, level: float) -> float:
        """What D − θ exceeds with probability ``level`` at most; infinite where the failure leaves nothing of it."""
        left = level - self.failure
        return math.inf if left <= 0.0 else self.mean + self._excess(math.log(self.factor / left) / self.n)

    def probability(self, excess: float) -> float:
        """The level at which γ is a given excess of D over θ."""
        return min(1.0, self.factor * math.exp(-self._exponent(max(0.0, excess - self.mean))) + self.failure)

    def _excess(self, x: float) -> float:
        linear = self.bound * x / 3.0
        return linear + math.sqrt(linear**2 + 2.0 * self.variance * x)

    def _exponent(self, excess: float) -> float:
        return 0.5 * self.n * (excess * excess) / (self.variance + self.bound * excess / 3.0)


class _Bousquet(_Tail):
    """The same with e = √(2vx) + bx/3."""

    def _excess(self, x: float) -> float:
        return math.sqrt(2.0 * self.variance * x) + self.bound * x / 3.0

    def _exponent(self, excess: float) -> float:
        root = math.sqrt(2.0 * self.variance)  # y = √x solves (b/3) y² + √(2v) y = excess
        y = 2.0 * excess / (root + math.sqrt(root**2 + 4.0 * self.bound * excess / 3.0))
        return self.n * y**2


def _plain(tau: float, n: int, radius: float) -> dict[str, _Tail]:
    """Bounds over the whole ball, each by its name.

    ``mcdiarmid`` is the paper's: |gₙ − μ| has mean ≤ √(τ/n) and bounded differences 2√τ/n (Tolstikhin et al. 2017,
    Prop. A.1). ``norm`` is the same inequality for D = |gₙ| itself, whose mean is at most √(θ² + (τ − θ²)/n): never
    worse. ``pinelis`` is for sums in a Hilbert space (Pinelis 1994, Theorem 3.5), with |φ(X) − μ_Q| ≤ √τ + θ.
    """
    rest, reach = max(0.0, tau - radius * radius) / n, math.sqrt(tau) + radius
    mean = rest / (math.sqrt(radius * radius + rest) + radius) if rest > 0.0 else 0.0  # √(θ² + rest) − θ, to its digits
    return {
        "mcdiarmid": _Tail(n, math.sqrt(tau / n), tau),
        "norm": _Tail(n, mean, tau),
        "pinelis": _Tail(n, 0.0, reach * reach, factor=2.0),
    }


def _under_huber(tau: float, n: int, radius: float, moments: ModelMoments) -> dict[str, _Tail]:
    """Bounds by what Huber's model with ε = θ/√τ allows: E_Q f ≤ (1 − ε) E_P f + ε τ for every f with values in [0, τ].

    ``bernstein`` is in a Hilbert space (Pinelis 1994, Theorem 3.4): σ² = E_Q|φ − μ_Q|² ≤ E_Q u. ``bousquet`` is
    Talagrand's inequality in Bousquet's form (2002): the norm ‖C_Q‖ in place of the trace, beyond the mean.
    """
    share, reach = min(1.0, radius / math.sqrt(tau)), math.sqrt(tau) + radius
    trace, norm = (min(tau, (1.0 - share) * moment + share * tau) for moment in (moments.trace, moments.norm))
    mean, failure = math.sqrt(trace / n), moments.failure
    return {
        "bernstein": _Tail(n, 0.0, trace, reach, factor=2.0, failure=failure),
        "bousquet": _Bousquet(n, mean, norm + 2.0 * reach * mean, reach, failure=failure),
    }


_HUBER = ("bernstein", "bousquet")
BOUNDS = ("mcdiarmid", "norm", "pinelis", *_HUBER)
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
        Of ``"mcdiarmid"`` (the paper's, alone by default), ``"norm"``, ``"pinelis"``, ``"bernstein"``, ``"bousquet"``.
    moments : ModelMoments, optional
        What the last two need.

    Examples
    --------
    >>> null = DeviationNull(tau=1.0, n=100)
    >>> round(null.pvalue(null.threshold(0.05, 0.0), 0.0), 6)
    0.05
    """

    tau: float
    n: int
    bounds: tuple[str, ...] = ("mcdiarmid",)
    moments: ModelMoments | None = None

    def _tails(self, radius: float) -> list[_Tail]:
        known = _plain(self.tau, self.n, radius)
        if self.moments is not None:
            known |= _under_huber(self.tau, self.n, radius, self.moments)
        return [known[name] for name in self.bounds if name in known]

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
        """The largest θ that is rejected: the root of θ + γ(α, θ) = D, which rises in θ."""
        if ksd <= self.threshold(level, 0.0):
            return 0.0
        return float(
            scipy.optimize.brentq(lambda radius: radius + self.threshold(level, radius) - ksd, 0.0, ksd, xtol=1e-15)
        )


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
        - ``"bernstein"``, ``"bousquet"``: with the variance and the operator norm that Huber's model allows; they
          need ``moments`` and a :class:`~steinball.radius.Huber` radius, and gain in many dimensions;
        - ``"auto"``: the smallest of them, by τ, n, θ, α (and the moments): known before the data are seen.
    moments : ModelMoments, optional
        Moments of the model under the kernel and tilt of the test. With them a rejection speaks about Huber's model
        with ε = θ/√τ, no longer about the whole KSD ball.
    proven : bool
        Whether what the proof needs is insisted on: τ an upper bound of u(x, x), kernel and tilt not from the data.
        With ``False`` the paper's choices, the sample's τ and median distance, are let through, and nothing is proved
        at any n.

    Notes
    -----
    Proved, unless ``proven=False``: the level holds for every n and uniformly over the KSD ball (with ``moments``: over
    Huber's model). Default kernel and tilt come from the model, as for :class:`Betting`. It has little power: it is a
    bound for all distributions at once. The proofs are in docs/theory/deviation.md.

    Examples
    --------
    >>> import numpy as np, steinball as sb
    >>> x = np.random.default_rng(0).normal(size=400)
    >>> sb.ksd_test(x, sb.models.Gaussian(2.0), tilt="auto", calibration=DeviationBound(), tau="auto").rejected
    True
    """

    kind: str = "auto"
    moments: ModelMoments | None = None
    proven: bool = True
    label: ClassVar[str] = "deviation bound"
    estimators: ClassVar[tuple[str, ...]] = ("v",)
    needs_upper_bound: ClassVar[bool] = True
    predictable: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if not self.proven:
            vars(self).update(predictable=False)  # what a class declares, an instance may take back
        if self.kind != "auto" and self.kind not in BOUNDS:
            raise ValueError(f'`kind` must be "auto" or one of {", ".join(BOUNDS)}, got {self.kind!r}.')
        if self.kind in _HUBER and self.moments is None:
            raise ValueError(
                f"`kind={self.kind!r}` needs `moments` of the model: "
                "ModelMoments.of(model, kernel=..., tilt=..., tau=...)."
            )

    def tolerates(self, radius: Radius) -> bool:
        """With moments, only a share of contamination: its variance is that of Huber's model."""
        uses_moments = self.moments is not None and self.kind in ("auto", *_HUBER)
        return radius.contamination is not None or not uses_moments

    def accepts(self, tau: Supremum) -> bool:
        """Upper bounds alone, unless nothing need be proved."""
        return tau.is_upper_bound or not self.proven

    @property
    def bounds(self) -> tuple[str, ...]:
        """The bounds of which the smallest is taken."""
        if self.kind != "auto":
            return (self.kind,)
        return ("norm", "pinelis") if self.moments is None else ("norm", "pinelis", *_HUBER)

    def null(self, summary: GramSummary, tau: Supremum, estimator: str) -> DeviationNull:
        """The bound for n points."""
        return DeviationNull(tau.value, len(summary), self.bounds, self.moments)
