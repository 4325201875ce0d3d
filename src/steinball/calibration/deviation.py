"""Finite-sample bounds in place of the bootstrap."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Protocol

import numpy as np
import scipy
from numpy.typing import NDArray

from steinball.calibration.base import BoundingNull, Calibration
from steinball.gram.base import GramSummary
from steinball.tau.certificate import Supremum
from steinball.tau.moments import ModelMoments

if TYPE_CHECKING:
    from steinball.radius.base import Radius


class _Inequality(Protocol):
    """P(D − θ > γ(α)) ≤ α for every Q in the null: γ, and the α at which γ is a given excess of D over θ."""

    def gamma(self, level: float, radius: float) -> float: ...

    def tail(self, excess: float, radius: float) -> float: ...


@dataclass(frozen=True)
class _McDiarmid:
    """The paper's: |gₙ − μ| has mean ≤ √(τ/n) and bounded differences 2√τ/n (Tolstikhin et al. 2017, Prop. A.1)."""

    tau: float
    n: int

    def gamma(self, level: float, radius: float) -> float:
        return math.sqrt(self.tau / self.n) * (1.0 + math.sqrt(-2.0 * math.log(level)))

    def tail(self, excess: float, radius: float) -> float:
        beyond = excess * math.sqrt(self.n / self.tau) - 1.0
        return math.exp(-0.5 * max(0.0, beyond) ** 2)


@dataclass(frozen=True)
class _Norm:
    """The same inequality for D = |gₙ| itself, whose mean is at most √(θ² + (τ − θ²)/n): never worse."""

    tau: float
    n: int

    def _mean_excess(self, radius: float) -> float:
        rest = max(0.0, self.tau - radius**2) / self.n
        return rest / (math.sqrt(radius**2 + rest) + radius) if rest > 0.0 else 0.0  # √(θ² + rest) − θ, with its digits

    def gamma(self, level: float, radius: float) -> float:
        return self._mean_excess(radius) + math.sqrt(-2.0 * self.tau * math.log(level) / self.n)

    def tail(self, excess: float, radius: float) -> float:
        beyond = max(0.0, excess - self._mean_excess(radius))
        return math.exp(-0.5 * self.n * beyond**2 / self.tau)


@dataclass(frozen=True)
class _Pinelis:
    """Sums in a Hilbert space (Pinelis 1994, Theorem 3.5), with |φ(X) − μ_Q| ≤ √τ + θ over the null."""

    tau: float
    n: int

    def gamma(self, level: float, radius: float) -> float:
        return (math.sqrt(self.tau) + radius) * math.sqrt(2.0 * math.log(2.0 / level) / self.n)

    def tail(self, excess: float, radius: float) -> float:
        return min(1.0, 2.0 * math.exp(-0.5 * self.n * (excess / (math.sqrt(self.tau) + radius)) ** 2))


@dataclass(frozen=True)
class _UnderHuber:
    """What Huber's model with ε = θ/√τ allows: E_Q f ≤ (1 − ε) E_P f + ε τ for every f with values in [0, τ]."""

    tau: float
    n: int
    moments: ModelMoments

    def _spread(self, moment: float, radius: float) -> float:
        share = min(1.0, radius / math.sqrt(self.tau))
        return min(self.tau, (1.0 - share) * moment + share * self.tau)

    def _level(self, level: float) -> float:
        """What is left of a level when the moments may be wrong; nothing may be left."""
        return level - self.moments.failure


@dataclass(frozen=True)
class _Bernstein(_UnderHuber):
    """Bernstein in a Hilbert space (Pinelis 1994, Theorem 3.4): σ² = E_Q|φ − μ_Q|² ≤ E_Q u."""

    def gamma(self, level: float, radius: float) -> float:
        left = self._level(level)
        if left <= 0.0:
            return math.inf
        x, variance = math.log(2.0 / left) / self.n, self._spread(self.moments.trace, radius)
        linear = (math.sqrt(self.tau) + radius) * x / 3.0
        return linear + math.sqrt(linear**2 + 2.0 * variance * x)

    def tail(self, excess: float, radius: float) -> float:
        scale = self._spread(self.moments.trace, radius) + (math.sqrt(self.tau) + radius) * excess / 3.0
        return min(1.0, 2.0 * math.exp(-0.5 * self.n * excess**2 / scale) + self.moments.failure)


@dataclass(frozen=True)
class _Bousquet(_UnderHuber):
    """Talagrand's inequality in Bousquet's form (2002): the norm ‖C_Q‖ in place of the trace, beyond the mean."""

    def _parts(self, radius: float) -> tuple[float, float, float]:
        """The mean of |gₙ − μ|, the variance factor v, and the bound b of |φ − μ|."""
        mean = math.sqrt(self._spread(self.moments.trace, radius) / self.n)
        bound = math.sqrt(self.tau) + radius
        return mean, self._spread(self.moments.norm, radius) + 2.0 * bound * mean, bound

    def gamma(self, level: float, radius: float) -> float:
        left = self._level(level)
        if left <= 0.0:
            return math.inf
        mean, variance, bound = self._parts(radius)
        x = -math.log(left) / self.n
        return mean + math.sqrt(2.0 * variance * x) + bound * x / 3.0

    def tail(self, excess: float, radius: float) -> float:
        mean, variance, bound = self._parts(radius)
        beyond = max(0.0, excess - mean)
        # y = √x solves (b/3) y² + √(2v) y = beyond.
        root = math.sqrt(2.0 * variance)
        y = 2.0 * beyond / (root + math.sqrt(root**2 + 4.0 * bound * beyond / 3.0))
        return min(1.0, math.exp(-self.n * y**2) + self.moments.failure)


_PLAIN: dict[str, type[_McDiarmid | _Norm | _Pinelis]] = {"mcdiarmid": _McDiarmid, "norm": _Norm, "pinelis": _Pinelis}
_HUBER: dict[str, type[_Bernstein | _Bousquet]] = {"bernstein": _Bernstein, "bousquet": _Bousquet}
BOUNDS = (*_PLAIN, *_HUBER)
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


@dataclass(frozen=True)
class DeviationNull(BoundingNull):
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
    draws = None

    @property
    def _inequalities(self) -> list[_Inequality]:
        found: list[_Inequality] = [_PLAIN[name](self.tau, self.n) for name in self.bounds if name in _PLAIN]
        if self.moments is not None:
            found += [_HUBER[name](self.tau, self.n, self.moments) for name in self.bounds if name in _HUBER]
        return found

    def pvalue(self, ksd: float, radius: float) -> float:
        """The p-value of an observed D against the radius θ."""
        if ksd <= radius:
            return 1.0
        return min(bound.tail(ksd - radius, radius) for bound in self._inequalities)

    def threshold(self, level: float, radius: float) -> float:
        """The smallest γ at this level and radius."""
        return min(bound.gamma(level, radius) for bound in self._inequalities)

    def lower_bound(self, ksd: float, level: float) -> float:
        """The largest θ that is rejected: the root of θ + γ(α, θ) = D, which rises in θ."""
        if ksd <= self.threshold(level, 0.0):
            return 0.0
        return float(
            scipy.optimize.brentq(lambda radius: radius + self.threshold(level, radius) - ksd, 0.0, ksd, xtol=1e-15)
        )

    def upper_bound(self, ksd: float, level: float) -> float:
        """:func:`hoeffding`."""
        return hoeffding(ksd, self.tau, self.n, level)

    def critical_range(
        self, level: float, radius: float, moved: float, draws_moved: NDArray[np.float64]
    ) -> tuple[float, float]:
        """θ + γ, which the data do not move."""
        critical = radius + self.threshold(level, radius)
        return critical, critical


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
