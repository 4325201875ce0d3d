"""Stated departures from the model: contamination, divergences and displacements."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy

from steinball.arrays import Floats, as_number, as_samples, check_resamples, check_share, like, to_host
from steinball.models.knowledge import Knowledge
from steinball.problem import Problem
from steinball.radius.base import Radius, within_all
from steinball.tau.certificate import Supremum
from steinball.tau.isotropic import diameter, lipschitz_constant


class WithinVariation(Radius):
    r"""A set within a total variation distance t of the model, its ``variation``

    .. math:: \theta = \min(t \Delta, \sqrt{\tau_\infty}), \qquad
       \Delta = \sup_{x, y} |\varphi(x) - \varphi(y)| \le 2 \sqrt{\tau_\infty}.
    """

    variation: float
    closed_under_moves = True
    invariant = True

    def __call__(self, problem: Problem, tau: Supremum) -> float:
        """t Δ, at most √τ."""
        return within_all(self.variation * diameter(problem, tau), tau)


@dataclass(frozen=True)
class Huber(WithinVariation):
    r"""All distributions with at most a share ε of contamination (paper, Proposition on Huber's model)

    .. math:: \theta = \varepsilon \sqrt{\tau_\infty}, \qquad
       \{ (1 - \varepsilon') P + \varepsilon' R : \varepsilon' \le \varepsilon \} \subseteq B(P; \theta).

    The bound is tight: contamination at the point where u(x, x) is largest reaches it.

    Parameters
    ----------
    contamination : float
        ε in [0, 1].

    Examples
    --------
    >>> Huber(0.05)
    Huber(contamination=0.05)
    """

    contamination: float = field()  # without a default, although the class above has one
    sized_by, axis, in_percent = "contamination", "tolerated contamination", True
    allows_removal = False

    def __post_init__(self) -> None:
        share = check_share(self.contamination, "contamination")
        vars(self).update(contamination=share, needs_bounded=share > 0.0, variation=share)

    def __call__(self, problem: Problem, tau: Supremum) -> float:
        """ε √τ."""
        return self.contamination * math.sqrt(tau.value)


@dataclass(frozen=True)
class TotalVariation(WithinVariation):
    r"""All distributions that differ from the model by at most t on every event

    .. math:: \theta = \min(t \Delta, \sqrt{\tau_\infty}), \qquad
       \Delta = \sup_{x, y} |\varphi(x) - \varphi(y)| \le 2 \sqrt{\tau_\infty}.

    A share t of the model's mass may be taken from anywhere and put anywhere: twice the radius of :class:`Huber`, which
    takes it evenly, where Δ is 2√τ. Proof in docs/theory/radii.md; Δ is bounded there too.

    Parameters
    ----------
    distance : float
        t in [0, 1].

    Examples
    --------
    >>> TotalVariation(0.05)
    TotalVariation(distance=0.05)
    """

    distance: float
    sized_by, axis, in_percent = "distance", "tolerated difference of shares", True

    def __post_init__(self) -> None:
        share = check_share(self.distance, "distance")
        vars(self).update(distance=share, variation=share)


@dataclass(frozen=True)
class Hellinger(WithinVariation):
    r"""All distributions within a Hellinger distance H of the model, H² = 1 − ∫√(pq)

    .. math:: \theta = \min\left(\Delta H \sqrt{2 - H^2}, \sqrt{\tau_\infty}\right), \qquad
       \Delta = \sup_{x, y} |\varphi(x) - \varphi(y)| \le 2 \sqrt{\tau_\infty},

    since the total variation is at most H√(2 − H²) (Le Cam; docs/theory/radii.md).

    Parameters
    ----------
    distance : float
        H in [0, 1]. (Where H² is defined without the factor ½, as ∫(√p − √q)², give H/√2.)

    Examples
    --------
    >>> Hellinger(0.05)
    Hellinger(distance=0.05)
    """

    distance: float
    sized_by, axis = "distance", "tolerated Hellinger distance"

    def __post_init__(self) -> None:
        h = check_share(self.distance, "distance")
        vars(self).update(distance=h, variation=min(1.0, h * math.sqrt(2.0 - h**2)))


@dataclass(frozen=True)
class KullbackLeibler(WithinVariation):
    r"""All distributions within a Kullback–Leibler divergence of the model, in nats and in either direction

    .. math:: \theta = \min\left(\Delta \sqrt{K/2},\; \Delta \sqrt{1 - e^{-K}},\; \sqrt{\tau_\infty}\right), \qquad
       \Delta \sqrt{K/2} \le \sqrt{2 \tau_\infty K},

    by the inequalities of Pinsker and of Bretagnolle and Huber for the total variation (docs/theory/radii.md).

    Parameters
    ----------
    nats : float
        K ≥ 0.

    Examples
    --------
    >>> KullbackLeibler(0.01)
    KullbackLeibler(nats=0.01)
    """

    nats: float
    sized_by, axis = "nats", "tolerated Kullback–Leibler divergence"

    def __post_init__(self) -> None:
        nats = as_number(self.nats, "nats", low=0.0)
        vars(self).update(nats=nats, variation=math.sqrt(min(0.5 * nats, -math.expm1(-nats))))


N_DRAWS = 2000
CONFIDENCE = 0.999
_SMALL = 64


def largest_eigenvalue(block: Floats) -> float:
    """The largest eigenvalue of the operator (1/m) Σ φ(xᵢ) ⊗ φ(xᵢ): that of the Gram matrix ``block`` over m."""
    if len(block) < _SMALL:
        return float(np.linalg.eigvalsh(block)[-1]) / len(block)
    start = np.ones(len(block)) + 1e-3 * np.arange(len(block)) / len(block)
    value = scipy.sparse.linalg.eigsh(
        (block + block.T) / 2.0, k=1, which="LA", v0=start, return_eigenvectors=False, tol=1e-9
    )
    return float(value[0]) / len(block)


def chernoff_upper(mean: float, n: int, risk: float) -> float:
    r"""The largest p with :math:`n\, \mathrm{kl}(\bar z \| p) \le \log(1/\text{risk})`, for z in [0, 1].

    A mean of n independent variables in [0, 1] with expectation p falls to z̄ or below with probability at most
    exp(−n kl(z̄‖p)) (Hoeffding 1963, Theorem 1), so p exceeds this value with probability at most ``risk``.
    """
    mean, room = min(max(mean, 0.0), 1.0), -math.log(risk) / n if risk > 0.0 else math.inf
    top = 1.0 - 1e-15
    if mean >= top or _kl(mean, top) <= room:
        return 1.0
    return float(scipy.optimize.brentq(lambda p: _kl(mean, p) - room, mean, top, xtol=1e-15))


def _kl(q: float, p: float) -> float:
    """The Kullback–Leibler divergence of Bernoulli(q) from Bernoulli(p)."""
    if q == p:
        return 0.0
    return float(scipy.special.xlogy(q, q / p)) + (1.0 - q) * math.log((1.0 - q) / (1.0 - p))


@dataclass(frozen=True, eq=False)
class ChiSquared(Radius):
    r"""All distributions with χ²(Q‖P) = ∫ (q − p)²/p at most a given value

    .. math:: \theta = \min\left(\sqrt{\|C_P\| \chi^2}, \sqrt{\tau_\infty}\right), \qquad
       \|C_P\| = \sup_{|f| = 1} \operatorname{Var}_P f(X),

    the largest eigenvalue of the covariance operator of the features under the model, from draws of the model and never
    of the data. Sharp where the best f is bounded below: q = p (1 + c f) reaches it.

    Parameters
    ----------
    value : float
        χ² ≥ 0.
    draws : (m, d) array, optional
        Independent draws of the model; by default ``n_draws`` of its ``sample``, the same every time.
    n_draws : int
        Their number.
    confidence : float
        With which ‖C_P‖ lies below the value used, over the draws. By chance it does not: that adds 1 − ``confidence``
        to the level of a test.

    Notes
    -----
    Proved, where τ is an upper bound: the largest eigenvalue λ̂ of the empirical operator is at least the mean of f₁²
    over the draws, for the best f₁; these lie in [0, τ] and have expectation ‖C_P‖, so that Hoeffding's inequality in
    its Kullback–Leibler form turns λ̂ into an upper confidence value, in any dimension and for any m.

    Examples
    --------
    >>> ChiSquared(0.01)
    ChiSquared(value=0.01)
    """

    value: float
    draws: Any = field(default=None, repr=False)
    n_draws: int = field(default=N_DRAWS, repr=False)
    confidence: float = field(default=CONFIDENCE, repr=False)
    sized_by, axis = "value", "tolerated χ² divergence"
    anchored = True
    closed_under_moves = True
    invariant = True

    def __post_init__(self) -> None:
        value, n_draws = as_number(self.value, "value", low=0.0), check_resamples(self.n_draws, "n_draws")
        vars(self).update(value=value, n_draws=n_draws, confidence=check_share(self.confidence, "confidence"))
        if self.draws is not None:  # they are in the coordinates of the data
            vars(self).update(draws=as_samples(self.draws, "draws"), invariant=False)

    def operator_norm(self, problem: Problem, tau: Supremum) -> float:
        """The upper confidence value of ‖C_P‖, at most τ."""
        if not problem.evaluable:
            raise TypeError(f"`ChiSquared` needs the score at draws of the model; {problem.unknown_elsewhere}.")
        m = self.n_draws if self.draws is None else len(self.draws)
        which = m if self.draws is None else to_host(self.draws).tobytes()
        found = problem.once(("operator norm", which), lambda: self._largest_eigenvalue(problem))
        return tau.value * chernoff_upper(found / tau.value, m, 1.0 - self.confidence)

    def _largest_eigenvalue(self, problem: Problem) -> float:
        if self.draws is None:
            there = problem.at(like(Knowledge(problem.model).needed_draws(self.n_draws), problem.samples))
        else:
            there = problem.at_places(self.draws)
        return largest_eigenvalue(to_host(there.stein.block(there.points, there.points)))

    def __call__(self, problem: Problem, tau: Supremum) -> float:
        """√(‖C_P‖ χ²), at most √τ."""
        return within_all(math.sqrt(self.operator_norm(problem, tau) * self.value), tau)


@dataclass(frozen=True)
class Wasserstein(Radius):
    r"""All distributions that come from the model by moving points a mean distance W₁ at most

    .. math:: \theta = \min(L \, W_1, \sqrt{\tau_\infty}), \qquad
       L = \sup_{x \ne y} \frac{|\varphi(x) - \varphi(y)|}{|x - y|}.

    Proof by coupling, in docs/theory/radii.md. Every point may move, none of them far: measurement error, binning.

    Parameters
    ----------
    distance : float
        W₁ ≥ 0, in the units of the data (Euclidean).
    lipschitz : float, optional
        An upper bound of L that you know. By default :func:`~steinball.tau.isotropic.lipschitz_constant`: a closed
        form for an isotropic Gaussian under its own tilt, elsewhere *optimized*, a lower bound of L that is usually
        sharp, so that the radius is then no proved one (:meth:`kind` says which).

    Examples
    --------
    >>> Wasserstein.rounding(0.1, dimension=4)
    Wasserstein(distance=0.1)
    """

    distance: float
    lipschitz: float | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        distance = as_number(self.distance, "distance", low=0.0)
        vars(self).update(distance=distance, displacement=distance)
        if self.lipschitz is not None:
            vars(self).update(lipschitz=as_number(self.lipschitz, "lipschitz", low=0.0))

    @classmethod
    def rounding(cls, spacing: float, dimension: int = 1, lipschitz: float | None = None) -> Wasserstein:
        """Data rounded to multiples of ``spacing``: no coordinate moves by more than half, W₁ ≤ √d · spacing/2."""
        spacing = as_number(spacing, "spacing", low=0.0)
        return cls(0.5 * spacing * math.sqrt(as_number(dimension, "dimension", low=1.0)), lipschitz)

    def constant(self, problem: Problem) -> Supremum:
        """L, and how it was obtained."""
        return lipschitz_constant(problem) if self.lipschitz is None else Supremum(self.lipschitz, "given")

    def kind(self, problem: Problem, tau: Supremum) -> str:
        """That of L."""
        return self.constant(problem).kind

    def trusts(self, tau: Supremum) -> bool:
        """L decides; τ is only a cap."""
        return True

    def __call__(self, problem: Problem, tau: Supremum) -> float:
        """L W₁, at most √τ."""
        farthest = self.distance * problem.rows.stretch
        return within_all(self.constant(problem).value * farthest, tau) if farthest > 0.0 else 0.0
