"""Deviation bounds by what Huber's model allows: the variance and the norm of the features under the model.

They are in the evidence alone: docs/theory/deviation.md proves them, and says what they gain.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from steinball.arrays import as_number, check_resamples, check_share
from steinball.calibration.deviation import DeviationNull, tails
from steinball.kernels.base import Kernel
from steinball.models.base import evaluate_score
from steinball.models.knowledge import Knowledge
from steinball.radius.contamination import CONFIDENCE, N_DRAWS, chernoff_upper, largest_eigenvalue
from steinball.stein import SteinKernel
from steinball.tilts import Tilt

__all__ = ["HuberNull", "ModelMoments", "VarianceTail"]


@dataclass(frozen=True)
class ModelMoments:
    r"""Upper bounds of how much the Stein features φ of a model vary under the model itself

    .. math:: \mathbb{E}_P u(X, X) = \operatorname{tr} C_P \le \text{trace}, \qquad
       \sup_{|f| = 1} \operatorname{Var}_P f(X) = \|C_P\| \le \text{norm}.

    Parameters
    ----------
    trace, norm : float
        The bounds; ``norm <= trace`` is not required of them.
    failure : float
        The probability that one of them is too small: 0 where they are known, the Monte Carlo risk from draws.

    Examples
    --------
    >>> import steinball as sb
    >>> kernel, tilt = sb.InverseMultiquadric(1.4), sb.PolynomialTilt()
    >>> moments = ModelMoments.of(sb.models.Gaussian(), kernel=kernel, tilt=tilt, tau=1.4)
    >>> 0.0 < moments.norm < moments.trace < 1.4
    True
    """

    trace: float
    norm: float
    failure: float = 0.0

    def __post_init__(self) -> None:
        sizes = {name: as_number(vars(self)[name], name, low=0.0) for name in ("trace", "norm")}
        vars(self).update(sizes, failure=check_share(self.failure, "failure"))

    @classmethod
    def of(
        cls,
        model: Any,
        *,
        kernel: Kernel,
        tilt: Tilt,
        tau: float,
        n_draws: int = N_DRAWS,
        confidence: float = CONFIDENCE,
        seed: int = 0,
    ) -> ModelMoments:
        """Both moments from draws of ``model.sample``, as upper confidence values that hold together.

        ``tau`` must be an upper bound of u(x, x); each moment is a mean (or exceeds one) of variables in [0, τ], to
        which :func:`chernoff_upper` applies, at half of the risk each.
        """
        draws = Knowledge(model).needed_draws(check_resamples(n_draws, "n_draws"), seed)
        stein, scores = SteinKernel(kernel, tilt), evaluate_score(model, draws)
        risk = (1.0 - check_share(confidence, "confidence")) / 2.0
        trace = chernoff_upper(float(stein.diagonal(draws, scores).mean()) / tau, len(draws), risk)
        norm = chernoff_upper(largest_eigenvalue(stein(draws, scores, draws, scores)) / tau, len(draws), risk)
        return cls(tau * trace, tau * norm, 2.0 * risk)


@dataclass(frozen=True)
class VarianceTail:
    r"""P(D − θ > mean + e) ≤ c exp(−n x) + failure under Huber's model, in the form of Bernstein's inequality

    .. math:: e = bx/3 + \sqrt{(bx/3)^2 + 2vx}, \qquad x = \frac{e^2}{2 (v + be/3)},

    with v the ``variance``, b the ``bound`` and c the ``factor``.
    """

    n: int
    mean: float
    variance: float
    bound: float
    failure: float
    factor: float = 1.0

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


class _Bousquet(VarianceTail):
    """The same with e = √(2vx) + bx/3."""

    def _excess(self, x: float) -> float:
        return math.sqrt(2.0 * self.variance * x) + self.bound * x / 3.0

    def _exponent(self, excess: float) -> float:
        root = math.sqrt(2.0 * self.variance)  # y = √x solves (b/3) y² + √(2v) y = excess
        y = 2.0 * excess / (root + math.sqrt(root**2 + 4.0 * self.bound * excess / 3.0))
        return self.n * y**2


def under_huber(tau: float, n: int, radius: float, moments: ModelMoments) -> dict[str, VarianceTail]:
    """Bounds by what Huber's model with ε = θ/√τ allows: E_Q f ≤ (1 − ε) E_P f + ε τ for every f with values in [0, τ].

    ``bernstein`` is in a Hilbert space (Pinelis 1994, Theorem 3.4): σ² = E_Q|φ − μ_Q|² ≤ E_Q u. ``bousquet`` is
    Talagrand's inequality in Bousquet's form (2002): the norm ‖C_Q‖ in place of the trace, beyond the mean.
    """
    share, reach = min(1.0, radius / math.sqrt(tau)), math.sqrt(tau) + radius
    trace, norm = (min(tau, (1.0 - share) * moment + share * tau) for moment in (moments.trace, moments.norm))
    mean, failure = math.sqrt(trace / n), moments.failure
    return {
        "bernstein": VarianceTail(n, 0.0, trace, reach, failure, factor=2.0),
        "bousquet": _Bousquet(n, mean, norm + 2.0 * reach * mean, reach, failure),
    }


@dataclass(frozen=True)
class HuberNull(DeviationNull):
    """The smallest of several bounds over Huber's model, among them those by ``moments`` of the model.

    Examples
    --------
    >>> null = HuberNull(1.4, 1000, ("bousquet",), ModelMoments(1.2, 0.12))
    >>> null.threshold(0.05, 0.05) < DeviationNull(1.4, 1000).threshold(0.05, 0.05)
    True
    """

    moments: ModelMoments = ModelMoments(0.0, 0.0)

    def _tails(self, radius: float) -> Any:
        known: dict[str, Any] = dict(tails(self.tau, self.n, radius))
        known |= under_huber(self.tau, self.n, radius, self.moments)
        return [known[name] for name in self.bounds]
