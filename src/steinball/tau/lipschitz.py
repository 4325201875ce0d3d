"""How fast the Stein features move with the point: their Lipschitz constant."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import scipy

from steinball.arrays import Floats, like, namespace, to_host
from steinball.models.base import score_of
from steinball.tau.certificate import Supremum
from steinball.tau.isotropic import IsotropicCase, kernel_constants

if TYPE_CHECKING:
    from steinball.problem import Problem


_STARTS = 6
_LOOKS = 256
_STEP = 1e-4


def lipschitz_constant(problem: Problem) -> Supremum:
    r"""The Lipschitz constant of the Stein features, and how it was obtained

    .. math:: L = \sup_{x \ne y} \frac{|\varphi(x) - \varphi(y)|}{|x - y|} = \sup_x \sqrt{\lambda_{\max}(M(x))}, \qquad
       M_{ij}(x) = \langle \partial_i \varphi(x), \partial_j \varphi(x) \rangle.

    ``"closed form"`` for an isotropic Gaussian model under a polynomial tilt of exponent ½ at its mean; otherwise
    ``"optimized"``: a search from the steepest samples and along rays, a lower bound of the supremum that is usually
    sharp. The features of a Matérn-3/2 kernel are not Lipschitz.

    Examples
    --------
    >>> from steinball.problem import pose
    >>> from steinball.kernels import InverseMultiquadric
    >>> from steinball.models import Gaussian
    >>> lipschitz_constant(pose([0.0, 1.0], Gaussian(), InverseMultiquadric(1.0), "auto")).kind
    'closed form'
    """
    if math.isinf(kernel_constants(problem.stein.kernel)[2]):
        raise ValueError(
            "the Stein features of this kernel are not Lipschitz (a Matérn kernel of smoothness 3/2 has no second "
            "derivative at 0). Use smoothness 5/2, a Gaussian or an inverse multiquadric kernel."
        )
    case = IsotropicCase.of(problem)
    if case is not None:
        return Supremum(case.lipschitz(), "closed form")
    if problem.samples.shape[1] > 1 and problem.stein.weighs_apart(problem.samples):
        raise TypeError(
            "the Lipschitz constant is not known for a tilt with a weight for each of several coordinates. Give the "
            "constant itself: Wasserstein(distance, lipschitz=...)."
        )
    if not problem.evaluable:
        raise TypeError(
            f"the Lipschitz constant needs the score away from the samples; {problem.unknown_elsewhere}. Pass a score "
            "function, or the constant itself: Wasserstein(distance, lipschitz=...)."
        )
    return Supremum(_optimized(problem), "optimized")


def feature_slopes(problem: Problem, x: Floats) -> Floats:
    r"""√λ_max(M(x)) at rows of ``x`` (m, d), with b = w s + ∇w, J its Jacobian (by central differences) and

    .. math:: M = \varphi_0 J J^\top - c_1 w (J C + C J^\top) + c_1 (|b|^2 C + C b \nabla w^\top + \nabla w b^\top C
       + \operatorname{tr} C \, \nabla w \nabla w^\top) + c_2 w^2 (2 C^2 + \operatorname{tr} C \, C),

    φ₀, c₁, c₂ of :func:`kernel_constants`, C the metric of the kernel.
    """
    d, (value, first, second) = x.shape[1], kernel_constants(problem.stein.kernel)
    metric = np.eye(d) if problem.stein.kernel.metric is None else problem.stein.kernel.metric
    step = _STEP * math.sqrt(value / first / np.trace(metric) * d)
    moves = step * np.vstack([np.zeros(d), np.eye(d), -np.eye(d)])
    there = (x[:, None, :] + moves).reshape(-1, d)
    b, w = _drift(problem, there)
    b, w = b.reshape(len(x), 2 * d + 1, d), w.reshape(len(x), 2 * d + 1)
    jacobian = (b[:, 1 : d + 1] - b[:, d + 1 :]) / (2.0 * step)  # (m, i, k): ∂ᵢ b_k
    gradient = (w[:, 1 : d + 1] - w[:, d + 1 :]) / (2.0 * step)
    b, w = b[:, 0], w[:, 0, None, None]
    pulled = jacobian @ metric
    outer = (b @ metric)[:, :, None] * gradient[:, None, :]
    matrix = value * jacobian @ _transposed(jacobian) - first * w * (pulled + _transposed(pulled))
    matrix += first * (np.sum(b * b, axis=1)[:, None, None] * metric + outer + _transposed(outer))
    matrix += first * np.trace(metric) * gradient[:, :, None] * gradient[:, None, :]
    matrix += second * w**2 * (2.0 * metric @ metric + np.trace(metric) * metric)
    return np.asarray(np.sqrt(np.maximum(np.linalg.eigvalsh(matrix)[:, -1], 0.0)))


def _transposed(matrices: Floats) -> Floats:
    return np.swapaxes(matrices, 1, 2)


def _drift(problem: Problem, x: Floats) -> tuple[Floats, Floats]:
    """b = w (s + ∇log w) and w at rows of ``x``, on the host."""
    support, tilt = problem.support, problem.stein.tilt
    there = like(x if support is None else support.off_edges(x), problem.samples)
    scores = namespace(there).reshape(score_of(problem.model, there), x.shape)
    weight, scores = problem.stein.tilted(there, scores)
    w = np.ones(len(x)) if weight is None else to_host(weight)
    each = None if tilt is None else tilt.coordinate_weights(there)  # on the line one more factor of the weight
    w = w if each is None else w * to_host(each)[:, 0]
    w = w if support is None else np.where(support.outside(x), np.nan, w)
    return to_host(scores) * w[:, None], w


def _optimized(problem: Problem) -> float:
    """A look at the samples and far out along rays, and a climb from the steepest of what was seen."""
    x = problem.host_samples
    center = np.median(x, axis=0)
    directions = np.vstack([np.eye(x.shape[1]), -np.eye(x.shape[1])])[:64]
    spread = float(np.median(np.linalg.norm(x - center, axis=1))) or 1.0
    rays = [center + length * spread * directions for length in (0.5, 1.0, 2.0, 5.0, 1e2, 1e4)]
    looks = np.vstack([x[:: -(-len(x) // _LOOKS)], center, *rays])
    slopes = _finite_slopes(problem, looks)
    # A gradient takes (2d + 1)² scores: in many dimensions the climb is short, and the rays have seen most.
    starts = looks[np.argsort(-slopes)[: max(1, min(_STARTS, 60 // x.shape[1]))]]
    climbed = [_climb(problem, start, spread) for start in starts]
    return float(max(slopes.max(), *climbed))


def _finite_slopes(problem: Problem, x: Floats) -> Floats:
    """Slopes, and 0 where the score is not finite."""
    with np.errstate(all="ignore"):
        b, w = _drift(problem, x)
    good = np.isfinite(b).all(axis=1) & np.isfinite(w)
    slopes = np.zeros(len(x))
    slopes[good] = feature_slopes(problem, x[good])
    return slopes


def _climb(problem: Problem, start: Floats, spread: float) -> float:
    """The largest slope on the way up from ``start``; differences of one batch of points are the gradient."""
    d = len(start)
    moves = 1e-3 * np.vstack([np.zeros(d), np.eye(d), -np.eye(d)])

    def objective(y: Floats) -> tuple[float, Floats]:
        around = _finite_slopes(problem, start + spread * (y + moves))
        return -float(around[0]), -(around[1 : d + 1] - around[d + 1 :]) / 2e-3

    options = {"maxiter": max(10, min(60, 600 // d))}
    return float(-scipy.optimize.minimize(objective, np.zeros(d), jac=True, method="L-BFGS-B", options=options).fun)
