"""Densities that are made of kernels: the kernel exponential family on the line, and kernel density estimates."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import scipy

from steinball.arrays import Array, Floats, as_number, as_numbers, like, namespace, to_host
from steinball.models.base_space import rosenblatt
from steinball.models.gaussian import BuiltIn, Covariance, as_points, frozen
from steinball.models.knowledge import Bounds, ScoreGrowth, unit_root

_TOGETHER = 2**22  # numbers of a block of points by centers


@dataclass(frozen=True, eq=False, repr=False)
class KernelDensity(BuiltIn):
    r"""The density :math:`\sum_j w_j \mathcal N(x; y_j, \Sigma)` of the centers y that have a weight, with score

    .. math:: s(x) = -\Sigma^{-1} (x - m(x)), \qquad m(x) = \sum_j r_j(x) y_j,

    r the shares of the centers at x.

    Examples
    --------
    >>> KernelDensity(np.array([[-1.0], [1.0]]), 1.0).score(np.array([[0.0], [50.0]])).round(6)
    array([[  0.],
           [-49.]])
    """

    centers: Floats
    cov: Any
    weights: Any = None
    dimension: int = field(init=False)
    _factor: Covariance = field(init=False)

    def __post_init__(self) -> None:
        k, d = self.centers.shape
        weights = np.ones(k) if self.weights is None else np.asarray(self.weights, dtype=np.float64)
        centers, weights = self.centers[weights > 0.0], weights[weights > 0.0] / weights.sum()
        vars(self).update(centers=centers, weights=weights, dimension=d, _factor=Covariance.of(self.cov, "cov", d))

    def __repr__(self) -> str:
        return f"KernelDensity({len(self.centers)} points, dimension={self.dimension})"

    @property
    def location(self) -> Floats:
        """The mean, shape (d,)."""
        return np.asarray(self.weights @ self.centers)

    @property
    def covariance(self) -> Floats:
        """The covariance, shape (d, d): of the kernel plus that of the centers."""
        offsets = self.centers - self.location
        return np.asarray(self._factor.matrix + (self.weights[:, None] * offsets).T @ offsets)

    def score(self, x: Array) -> Array:
        """∇ log p at each row of ``x``, shape (n, d)."""
        x = as_points(x, self.dimension)
        blocks = self._blocks(to_host(x))
        pulled = [scipy.special.softmax(terms, axis=1) @ self.centers - part for part, terms in blocks]
        return like(np.concatenate(pulled) @ self._factor.inverse, x)

    def log_density(self, x: Array) -> Array:
        """log p at each row of ``x``, normalized, shape (n,)."""
        x = as_points(x, self.dimension)
        constant = self._factor.log_volume + 0.5 * self.dimension * np.log(2.0 * np.pi)
        logs = [scipy.special.logsumexp(terms, axis=1) for _, terms in self._blocks(to_host(x))]
        return like(np.concatenate(logs) - constant, x)

    def _blocks(self, x: Floats) -> Iterator[tuple[Floats, Floats]]:
        """Blocks of points, each with the terms log w − |L⁻¹(x − y)|²/2 of every center, (m, k)."""
        size, center = max(1, _TOGETHER // len(self.centers)), self.location
        centers = (self.centers - center) @ self._factor.whitener.T
        heights = np.log(self.weights) - 0.5 * np.sum(centers**2, axis=1)
        for part in np.split(x, range(size, len(x), size)):
            z = (part - center) @ self._factor.whitener.T
            yield part, z @ centers.T + heights - 0.5 * np.sum(z**2, axis=1, keepdims=True)

    def score_growth(self, center: Any, precision: Floats | None = None) -> ScoreGrowth:
        """The growth of the score, a weighted mean of −Σ⁻¹(x − yⱼ) = −Σ⁻¹(x − a) − Σ⁻¹(a − yⱼ)."""
        pulls = (np.asarray(center) - self.centers) @ self._factor.inverse
        slope = float(np.linalg.norm(self._factor.inverse @ unit_root(precision, self.dimension), 2))
        return ScoreGrowth(float(np.linalg.norm(pulls, axis=1).max()), slope)

    def sample(self, n: int, rng: Any = None) -> Floats:
        """``n`` independent draws, shape (n, d)."""
        generator = np.random.default_rng(rng)
        chosen = generator.choice(len(self.centers), size=n, p=self.weights)
        return self.centers[chosen] + self._factor.color(generator.standard_normal((n, self.dimension)))

    def to_base(self, x: Floats) -> Floats:
        """Rosenblatt's map: standard normal where x comes from the model."""
        offsets = (x[:, None, :] - self.centers) @ self._factor.whitener.T
        scales = np.log(np.diag(self._factor.root))
        return rosenblatt(offsets, np.log(self.weights), np.broadcast_to(scales, self.centers.shape))


_MOST_BASIS = 1000  # past this exp(−x²/2) underflows where the last basis functions live
_POINTS = 2**14 + 1  # of the grid for the distribution function


@dataclass(frozen=True, eq=False, repr=False)
class KernelExponentialFamily(BuiltIn):
    r"""A finite-basis kernel exponential family (KEF) on the line (paper §5.3)

    .. math:: p(x) \propto \mathcal N(x; 0, \sigma_0^2) \exp\left(\sum_{l=1}^{L} \eta_l \varphi_l(x)\right),
       \qquad \varphi_l(x) = \frac{x^l}{\sqrt{l!}} e^{-x^2/2}.

    The sign is + (the text has a minus; the fits and figures have this one).

    Parameters
    ----------
    coefficients : (L,) array
        :math:`\eta`; the paper has L = 25.
    base_scale : float
        :math:`\sigma_0 > 0`.

    Notes
    -----
    ``log_density`` is without the normalizing constant; ``log_normalizer`` is the logarithm of that constant, by
    quadrature. Basis functions come from :math:`\varphi_l = \varphi_{l-1}\, x/\sqrt l` and
    their derivatives are :math:`\varphi_l' = \sqrt l\, \varphi_{l-1} - \sqrt{l+1}\, \varphi_{l+1}`: no power
    overflows, so that a point at 10²⁰ has basis values 0 and the score of the Gaussian base.

    Examples
    --------
    >>> model = KernelExponentialFamily([1.0, -2.0])
    >>> model.score(np.array([0.0, 9e20])).round(6)
    array([[ 1.e+00],
           [-1.e+20]])
    """

    coefficients: Any
    base_scale: Any = 3.0
    dimension: ClassVar[int] = 1

    def __post_init__(self) -> None:
        coefficients = as_numbers(self.coefficients, "coefficients")
        fits = coefficients.ndim == 1 and 1 <= coefficients.size <= _MOST_BASIS
        if not fits or not np.isfinite(coefficients).all():
            wanted = f"finite, of shape (L,) with L from 1 to {_MOST_BASIS}"
            raise ValueError(f"`coefficients` must be {wanted}, got {self.coefficients!r}.")
        scale = as_number(self.base_scale, "base_scale", low=1e-150, high=1e150)
        vars(self).update(coefficients=frozen(coefficients), base_scale=scale)

    def __repr__(self) -> str:
        return f"KernelExponentialFamily(n_basis={self.n_basis}, base_scale={self.base_scale:g})"

    @property
    def n_basis(self) -> int:
        """The number L of basis functions."""
        return int(self.coefficients.size)

    def _functions(self, x: Array) -> Array:
        """φ_0 … φ_{L+1} at a column of points, shape (n, L + 2)."""
        xp = namespace(x)
        near = xp.clip(x[:, 0], -40.0, 40.0)  # e^−800 is 0 already, and powers of a far point may overflow
        functions = [xp.exp(-0.5 * near * near)]
        for order in range(1, self.n_basis + 2):
            functions.append(functions[-1] * (near * order**-0.5))
        return xp.stack(functions, axis=1)

    def basis(self, x: Array) -> Array:
        """φ_1 … φ_L at each point, shape (n, L)."""
        return self._functions(as_points(x, 1))[:, 1:-1]

    def basis_gradient(self, x: Array) -> Array:
        """Derivatives of φ_1 … φ_L at each point, shape (n, L)."""
        x = as_points(x, 1)
        functions = self._functions(x)
        orders = np.arange(1.0, self.n_basis + 1)
        below, above = like(np.sqrt(orders), x), like(np.sqrt(orders + 1.0), x)
        return below * functions[:, :-2] - above * functions[:, 2:]

    def base_score(self, x: Array) -> Array:
        """Score of the Gaussian base, the part of the score without coefficients, shape (n, 1)."""
        return -as_points(x, 1) * self.base_scale**-2

    def score(self, x: Array) -> Array:
        """∇ log p at each point, shape (n, 1)."""
        x = as_points(x, 1)
        slope = namespace(x).matmul(self.basis_gradient(x), like(self.coefficients[:, None], x))
        return self.base_score(x) + slope

    def _derivative(self, order: int) -> Floats:
        """Coefficients ζ₀, ζ₁, … of a derivative of Σ ηₗφₗ. Since Σₗ φₗ² = 1, its size is at most |ζ|."""
        zeta = np.concatenate([[0.0], self.coefficients])
        for _ in range(order):  # φₗ′ = √l φₗ₋₁ − √(l+1) φₗ₊₁
            orders = np.arange(zeta.size + 1.0)
            raised = np.concatenate([[0.0], zeta]) * np.sqrt(orders)
            lowered = np.concatenate([zeta[1:] * np.sqrt(orders[1:-1]), [0.0, 0.0]])
            zeta = lowered - raised
        return np.asarray(zeta)

    def score_growth(self, center: Any, precision: Floats | None = None) -> ScoreGrowth:
        """How the score −x/σ₀² + g grows with the distance from ``center``: |g| ≤ |ζ|."""
        rate, away = self.base_scale**-2, abs(float(np.ravel(center)[0]))
        slope = rate * float(unit_root(precision, 1)[0, 0])
        return ScoreGrowth(float(np.linalg.norm(self._derivative(1))) + rate * away, slope)

    def score_bounds(self, lower: Floats, upper: Floats) -> Bounds:
        """Bounds of the score over intervals, shapes (m, 1): its value in the middle, and the second derivative."""
        middle, half = (lower + upper) / 2.0, (upper - lower) / 2.0
        slope = np.asarray(self.score(middle)) - self.base_score(middle)
        slack = np.linalg.norm(self._derivative(2)) * half
        most = np.linalg.norm(self._derivative(1))  # for intervals so wide that the slack is larger
        low, high = np.maximum(slope - slack, -most), np.minimum(slope + slack, most)
        return self.base_score(upper) + low, self.base_score(lower) + high

    def log_density(self, x: Array) -> Array:
        """log p at each point up to a constant, shape (n,); see :attr:`log_normalizer`."""
        x = as_points(x, 1)
        scaled = x[:, 0] / self.base_scale
        tilt = namespace(x).matmul(self.basis(x), like(self.coefficients[:, None], x))
        return -0.5 * scaled * scaled + tilt[:, 0]

    @property
    def log_normalizer(self) -> float:
        """log ∫ exp(log_density)."""
        return self._grid[2]

    @cached_property
    def _grid(self) -> tuple[Floats, Floats, float]:
        """Points, the distribution function there, and the logarithm of the normalizing constant.

        The trapezoidal rule in t with x = c sinh t, which is accurate to rounding for a density that vanishes at both
        ends: points lie densely up to c, beyond which every basis function has vanished, and reach 12 σ₀.
        """
        width = math.sqrt(self.n_basis) + 10.0
        t = math.asinh(12.0 * self.base_scale / width) * np.linspace(-1.0, 1.0, _POINTS)
        x = width * np.sinh(t)
        values = np.asarray(self.log_density(x))
        top = float(values.max())
        below = scipy.integrate.cumulative_trapezoid(width * np.cosh(t) * np.exp(values - top), t, initial=0.0)
        return x, below / below[-1], top + math.log(below[-1])

    def sample(self, n: int, rng: Any = None) -> Floats:
        """``n`` independent draws, shape (n, 1): the distribution function on a grid, inverted by interpolation."""
        x, below, _ = self._grid
        return np.interp(np.random.default_rng(rng).random(n), below, x)[:, None]
