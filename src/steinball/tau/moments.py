"""Two moments of a model's Stein features, from draws of the model and never of the data."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy

from steinball.arrays import Floats, as_number, check_resamples, check_share
from steinball.kernels.base import Kernel
from steinball.models.base import evaluate_score
from steinball.models.knowledge import Knowledge
from steinball.stein import SteinKernel
from steinball.tilts import Tilt

N_DRAWS = 2000
CONFIDENCE = 0.999
_SMALL = 64


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
    first = q * math.log(q / p) if q > 0.0 else 0.0
    return first + (1.0 - q) * math.log((1.0 - q) / (1.0 - p))
