"""How far apart two Stein features lie, and how fast they move with the point.

Diameter and Lipschitz constant have closed forms for an isotropic Gaussian model under a tilt of its own center.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.polynomial import Polynomial

from steinball.arrays import Floats, check_kind, like, namespace, to_host
from steinball.kernels.base import Kernel
from steinball.models.base import score_of
from steinball.models.knowledge import Knowledge
from steinball.models.support import off_edges
from steinball.tau.certificate import Supremum
from steinball.tau.search import climb
from steinball.tilts import PolynomialTilt

if TYPE_CHECKING:
    from steinball.problem import Problem


_ROUNDING = 1.0 + 1e-6
_FAR = 0.01
"""1/(1 + ρ²/c²) beyond which features are bounded by their norms alone: about ten scales of the tilt."""


def kernel_constants(kernel: Kernel) -> tuple[float, float, float]:
    """φ(0), c₁ = −2φ′(0) and c₂ = 4φ″(0); the last is infinite for a Matérn-3/2 kernel.

    φ″ is not part of a profile. It is extrapolated from r²φ″ at three distances s, 2s, 4s, without the terms of order
    s and s² (a Matérn-5/2 kernel has the first), to seven digits at least.
    """
    value, slope, _ = (float(part[0]) for part in kernel.profile(np.zeros(1)))
    r2 = 1e-6 * value / abs(slope) * np.array([1.0, 4.0, 16.0])
    near, middle, far = kernel.profile(r2.copy())[2] / r2
    if near > 1.5 * middle:  # like s⁻¹: there is no second derivative at 0
        return value, -2.0 * slope, math.inf
    return value, -2.0 * slope, float(4.0 * (8.0 * near - 6.0 * middle + far) / 3.0)


@dataclass(frozen=True)
class IsotropicCase:
    r"""N(m, σ²I), the tilt (1 + |x − m|²/c²)^(−½) and a radial kernel.

    With :math:`v = 1/(1 + |x - m|^2/c^2)` and :math:`g = \sigma^{-2} + v c^{-2}` everything below is a polynomial in
    :math:`v \in [0, 1]`, so that its supremum over all x is found among the roots of its derivative.
    """

    kernel: Kernel
    dimension: int
    variance: float
    scale: float

    @classmethod
    def of(cls, problem: Problem) -> IsotropicCase | None:
        """The case that a problem is, or ``None``."""
        tilt, kernel, radial = problem.stein.tilt, problem.stein.kernel, Knowledge(problem.model).radial_score
        if radial is None or type(tilt) is not PolynomialTilt or kernel.metric is not None:
            return None
        variance, d = radial.isotropic_variance, len(radial.center)
        centered = np.array_equal(np.broadcast_to(np.asarray(tilt.center), (d,)), radial.center)
        plain = tilt.exponent == 0.5 and tilt.precision is None
        return cls(kernel, d, variance, float(tilt.scale)) if variance is not None and centered and plain else None

    def _polynomials(self) -> tuple[Polynomial, Polynomial]:
        """v and g."""
        v = Polynomial([0.0, 1.0])
        return v, 1.0 / self.variance + v / self.scale**2

    def diagonal(self) -> Polynomial:
        """u(x, x) = φ(0) c² (1 − v) g² + c₁ d v."""
        v, g = self._polynomials()
        value, first, _ = kernel_constants(self.kernel)
        return value * self.scale**2 * (1.0 - v) * g**2 + first * self.dimension * v

    def slopes(self) -> tuple[Polynomial, Polynomial]:
        """|∂φ(x)|² along x − m and across it: the eigenvalues of the matrix of :func:`feature_slopes`."""
        v, g = self._polynomials()
        value, first, second = kernel_constants(self.kernel)
        c2, d = self.scale**2, self.dimension
        shared = first * c2 * (1.0 - v) * g**2 + second * (d + 2.0) * v
        bent = g - 2.0 * (1.0 - v) / c2
        tilting = first * (1.0 - v) * (2.0 * v * g + d * v**2 / c2)
        along = shared + value * v**3 * bent**2 + 2.0 * first * v**2 * bent + tilting
        return along, shared + value * v * g**2 + 2.0 * first * v * g

    def lipschitz(self) -> float:
        """sup |φ(x) − φ(y)| / |x − y|, in closed form."""
        along, across = self.slopes()
        squares = [_largest(along)] + ([_largest(across)] if self.dimension > 1 else [])
        return math.sqrt(max(squares)) * _ROUNDING

    def distances(self, x: Floats, y: Floats) -> Floats:
        """|φ(x) − φ(y)| for rows of two coordinates relative to m: a plane through m holds both points."""
        (wx, sx, norm_x), (wy, sy, norm_y) = self._features(x), self._features(y)
        apart, shift = x - y, sy - sx
        cross = 2.0 * np.sum(apart * shift, axis=1) - 2.0 * self.dimension
        mixed = wx * wy * self.kernel.combine(np.sum(apart * apart, axis=1), np.sum(sx * sy, axis=1), cross)
        return np.asarray(np.sqrt(np.maximum(norm_x + norm_y - 2.0 * mixed, 0.0)))

    def _features(self, x: Floats) -> tuple[Floats, Floats, Floats]:
        """The weight, the shifted score and u(x, x) at rows of ``x``."""
        v = 1.0 / (1.0 + np.sum(x * x, axis=1) / self.scale**2)
        return np.sqrt(v), -x * (1.0 / self.variance + v / self.scale**2)[:, None], self.diagonal()(v)


def _largest(polynomial: Polynomial, high: float = 1.0) -> float:
    """The maximum over [0, high]."""
    roots = polynomial.deriv().roots()
    inside = [float(r.real) for r in roots.tolist() if abs(r.imag) < 1e-6 and 0.0 < r.real < high]
    return float(max(polynomial(place) for place in (0.0, high, *inside)))


@lru_cache(maxsize=64)
def _diameter(case: IsotropicCase) -> float:
    """An upper bound of sup |φ(x) − φ(y)|, within 1 % (d = 1) or 2 % of it, or of what the far tails allow.

    By branch and bound over pairs of points: on a box |φ(x) − φ(y)| exceeds its value at the center by L times the
    half-widths at most. Beyond ten scales of the tilt, and where patience ends, what is left is a bound too.
    """
    diagonal, steep, tolerance = case.diagonal(), case.lipschitz(), 0.01 if case.dimension == 1 else 0.02
    far = math.sqrt(_largest(diagonal, _FAR)) + math.sqrt(_largest(diagonal))
    reach, best = case.scale * math.sqrt(1.0 / _FAR - 1.0), 0.0
    # One box that holds (x₁, y₁, y₂), up to rotations and reflections: x₁ ≥ 0, y₂ ≥ 0 (y₂ = 0 on the line).
    across = 0.0 if case.dimension == 1 else reach / 2.0
    center, half = np.array([[reach / 2.0, 0.0, across]]), np.array([[reach / 2.0, reach, across]])
    for _ in range(60):
        values = case.distances(np.pad(center[:, :1], ((0, 0), (0, 1))), center[:, 1:])
        best = max(best, float(values.max()))
        ceiling = values + steep * (half[:, 0] + np.linalg.norm(half[:, 1:], axis=1))
        open_ = ceiling > max(best * (1.0 + tolerance), far)
        if not open_.any() or open_.sum() > 200_000:
            break
        center, half = halved_boxes(center[open_], half[open_])
    left = float(ceiling[open_].max(initial=0.0))
    return max(best * (1.0 + tolerance), far, left) * _ROUNDING


def halved_boxes(center: Floats, half: Floats) -> tuple[Floats, Floats]:
    """Every box (k, d) cut in two across its widest side, by center and half of the sides: first the lower parts.

    Examples
    --------
    >>> halved_boxes(np.array([[0.0, 0.0]]), np.array([[1.0, 2.0]]))
    (array([[ 0., -1.],
           [ 0.,  1.]]), array([[1., 1.],
           [1., 1.]]))
    """
    widest = np.arange(half.shape[1]) == np.argmax(half, axis=1)[:, None]
    step = np.where(widest, half / 2.0, 0.0)
    return np.vstack([center - step, center + step]), np.vstack([half - step, half - step])


def diameter(problem: Problem, tau: Supremum) -> float:
    r"""An upper bound of the diameter of the Stein features, never above 2√τ

    .. math:: \Delta = \sup_{x, y} |\varphi(x) - \varphi(y)| \le 2 \sqrt{\tau_\infty}.

    Certified to one percent (two where d > 1) by branch and bound for an isotropic Gaussian model under a polynomial
    tilt of exponent ½ at its mean, where it is some 5 to 8 % below 2√τ at the median length scale, and more at shorter
    ones; 2√τ for every other model. A rough score can reach 2√τ: nothing better holds without knowing the score.

    Examples
    --------
    >>> from steinball.problem import pose
    >>> from steinball.kernels import InverseMultiquadric
    >>> from steinball.models import Gaussian
    >>> problem = pose([0.0, 1.0], Gaussian(), InverseMultiquadric(1.0), "auto")
    >>> diameter(problem, Supremum(1.6312, "given")) < 0.93 * 2.0 * math.sqrt(1.6312)
    True
    """
    check_kind(tau, Supremum, "tau", "a Supremum")
    bound, case = 2.0 * math.sqrt(tau.value), IsotropicCase.of(problem)
    return bound if case is None else min(bound, _diameter(case))


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


@np.errstate(all="ignore")
def feature_slopes(problem: Problem, x: Floats) -> Floats:
    r"""√λ_max(M(x)) at rows of ``x`` (m, d), with b = w s + ∇w, J its Jacobian (by central differences) and

    .. math:: M = \varphi_0 J J^\top - c_1 w (J C + C J^\top) + c_1 (|b|^2 C + C b \nabla w^\top + \nabla w b^\top C
       + \operatorname{tr} C \, \nabla w \nabla w^\top) + c_2 w^2 (2 C^2 + \operatorname{tr} C \, C),

    φ₀, c₁, c₂ of :func:`kernel_constants`, C the metric of the kernel; 0 where M is not finite.
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
    matrix = value * jacobian @ jacobian.swapaxes(1, 2) - first * w * (pulled + pulled.swapaxes(1, 2))
    matrix += first * (np.sum(b * b, axis=1)[:, None, None] * metric + outer + outer.swapaxes(1, 2))
    matrix += first * np.trace(metric) * gradient[:, :, None] * gradient[:, None, :]
    matrix += second * w**2 * (2.0 * metric @ metric + np.trace(metric) * metric)
    slopes, known = np.zeros(len(x)), np.isfinite(matrix).all(axis=(1, 2))
    slopes[known] = np.sqrt(np.maximum(np.linalg.eigvalsh(matrix[known])[:, -1], 0.0))
    return slopes


def _drift(problem: Problem, x: Floats) -> tuple[Floats, Floats]:
    """b = w (s + ∇log w) and w at rows of ``x``, on the host."""
    support, tilt = problem.support, problem.stein.tilt
    there = like(off_edges(x, support), problem.samples)
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
    slopes = feature_slopes(problem, looks)
    # A gradient takes (2d + 1)² scores: in many dimensions the climb is short, and the rays have seen most.
    starts = looks[np.argsort(-slopes)[: max(1, min(_STARTS, 60 // x.shape[1]))]]
    options = {"method": "L-BFGS-B", "options": {"maxiter": max(10, min(60, 600 // x.shape[1]))}}
    slope = partial(feature_slopes, problem)
    return float(max(slopes.max(), *(-climb(slope, start, spread, 1e-3, **options).fun for start in starts)))
