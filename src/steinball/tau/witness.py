"""A Stein function with compact support, and a certified bound of its supremum in low dimension."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog

from steinball.arrays import Array, Floats, as_number, as_numbers, is_array, like, private_copy
from steinball.kernels.base import Kernel
from steinball.kernels.radial import Gaussian, InverseMultiquadric
from steinball.models.base import score_of
from steinball.models.knowledge import Knowledge

Lipschitz = Callable[[Floats, float], Floats]

_BLOCK = 1 << 21
_FIRST_SHARE = 4  # the first cover takes at most a quarter of the budget
_SLOPE, _BEND = 1.875, 10.0 / 3.0**0.5
"""The largest first and second derivative of the smooth step 6t⁵ − 15t⁴ + 10t³ on [0, 1]."""


@dataclass(frozen=True, eq=False)
class Window:
    """A product of smooth steps χ: 0 outside the box from ``lower`` to ``upper``, 1 from ``edge`` inside of it on.

    It is twice continuously differentiable. All three are (d,).
    """

    lower: Floats
    upper: Floats
    edge: Floats

    def __call__(self, y: Floats) -> tuple[Floats, Floats]:
        """χ (n,) and ∇χ (n, d)."""
        t = np.clip(np.minimum(y - self.lower, self.upper - y) / self.edge, 0.0, 1.0)
        side = np.where(y - self.lower < self.upper - y, 1.0, -1.0) / self.edge
        steps, slopes = t**3 * (10.0 + t * (6.0 * t - 15.0)), 30.0 * (t * (1.0 - t)) ** 2 * side
        rest = np.stack([np.prod(np.delete(steps, k, axis=1), axis=1) for k in range(y.shape[1])], axis=1)
        return np.prod(steps, axis=1), slopes * rest

    def inside(self, y: Floats) -> NDArray[np.bool_]:
        """Which rows lie where χ is not 0; far outside, scores and distances may overflow."""
        return np.asarray(((self.lower < y) & (y < self.upper)).all(axis=1))

    def bounds(self, y: Floats, half: Floats) -> tuple[Floats, Floats]:
        """Bounds of |∇χ| and ‖∇∇χ‖ over the boxes y ± half, shape (n,): 0 where χ = 1 throughout."""
        inner = (y - half >= self.lower + self.edge) & (y + half <= self.upper - self.edge)
        slopes = np.where(inner, 0.0, _SLOPE / self.edge)
        total = np.sum(slopes**2, axis=1)
        # Frobenius norm: second derivatives on the diagonal, products of first ones beside it.
        bend = np.sum(np.where(inner, 0.0, _BEND / self.edge**2) ** 2, axis=1)
        return np.sqrt(total), np.sqrt(bend + total**2 - np.sum(slopes**4, axis=1))


@dataclass(frozen=True, eq=False)
class Witness:
    r"""A Stein function with compact support,

    .. math:: f = \nabla \cdot v + s^\top v, \qquad v = \chi G, \qquad G = \sum_j \theta_j h(c_j, \cdot).

    Since v vanishes outside of a box, E_P f = 0 for every density p that is locally Lipschitz: there are no tails to
    worry about, and no tilt is needed. The rows of ``charges`` (m, d) are the :math:`\theta_j`.
    """

    basis: Basis
    charges: Floats
    norm: float = field(init=False)

    def __post_init__(self) -> None:
        gram = self.basis.kernel(self.basis.centers, self.basis.centers)
        square = float(np.einsum("id,ij,jd->", self.charges, gram, self.charges))
        object.__setattr__(self, "norm", max(0.0, square) ** 0.5)

    def __call__(self, y: Floats) -> Floats:
        """f at each row of ``y``, shape (n,)."""
        inside, f = self.basis.window.inside(y), np.zeros(len(y))
        if inside.any():
            f[inside] = self.parts(y[inside])[0]
        return f

    def parts(self, y: Floats) -> tuple[Floats, Floats, Floats]:
        """f (n,), |v| (n,) and |s| (n,)."""
        size = max(1, _BLOCK // (len(self.charges) * y.shape[1]))
        blocks = [self._block(y[start : start + size]) for start in range(0, len(y), size)]
        f, v, s = (np.concatenate(column) for column in zip(*blocks, strict=True))
        return f, v, s

    def _block(self, y: Floats) -> tuple[Floats, Floats, Floats]:
        chi, slope = self.basis.window(y)
        scores, (value, gradient) = self.basis.score(y), self.basis.kernel_and_gradient(y)
        flow = value @ self.charges
        divergence = np.einsum("nmd,md->n", gradient, self.charges)
        f = chi * (np.sum(scores * flow, axis=1) + divergence) + np.sum(slope * flow, axis=1)
        return f, chi * np.linalg.norm(flow, axis=1), np.linalg.norm(scores, axis=1)

    def slope_bound(self, y: Floats, half: Floats, lipschitz: Floats, v: Floats, s: Floats) -> Floats:
        """A Lipschitz constant of f over each box y ± half (d,), from norms in the RKHS (docs/theory/many-modes.md)."""
        d = y.shape[1]
        h1, h2 = _derivatives_at_zero(self.basis.kernel, d)
        chi1, chi2 = self.basis.window.bounds(y, half)
        flow_slope = self.norm * (h1**0.5 + chi1)
        divergence_slope = self.norm * (chi1 * ((d * h1) ** 0.5 + h1**0.5) + h2**0.5 + chi2)
        flow = np.minimum(self.norm, v + flow_slope * np.linalg.norm(half))
        return np.asarray(lipschitz * flow + s * flow_slope + divergence_slope)


@dataclass(frozen=True, eq=False)
class Basis:
    """Functions that Stein functions are put together from: ∇·(χ h(c_j, ·) e_a) + s·(χ h(c_j, ·) e_a).

    ``centers`` (m, d) are the c_j; ``template`` is any array of the library that the model computes in.
    """

    model: Any
    kernel: Kernel
    window: Window
    centers: Floats
    template: Array

    def __post_init__(self) -> None:
        smooth(self.kernel)

    def score(self, y: Floats) -> Floats:
        """The model's score at rows of ``y``, as NumPy."""
        found = score_of(self.model, like(y, self.template))
        if not is_array(found) or tuple(found.shape) not in (y.shape, (y.size,)):
            raise ValueError(f"`model.score(x)` must have the shape of x, {y.shape}, got {np.shape(found)}.")
        scores = as_numbers(found, "model.score(x)").reshape(y.shape)
        if not np.isfinite(scores).all():
            raise ValueError(
                "`model.score` must be finite wherever f is not 0, but is NaN or infinite inside the box that f lives "
                "in. Give `support=(lower, upper)`, a box inside of which the score is finite."
            )
        return np.asarray(scores)

    def kernel_and_gradient(self, y: Floats) -> tuple[Floats, Floats]:
        """h(c_j, y), (n, m), and its gradient in y, (n, m, d)."""
        apart = y[:, None, :] - self.centers
        value, slope, _ = self.kernel.profile(np.einsum("nmd,nmd->nm", apart, apart))
        return value, 2.0 * slope[:, :, None] * apart

    def __call__(self, y: Floats) -> Floats:
        """The value of every function at every row of ``y``, shape (n, m·d)."""
        inside, values = self.window.inside(y), np.zeros((len(y), self.centers.size))
        if inside.any():
            values[inside] = self._inside(y[inside])
        return values

    def _inside(self, y: Floats) -> Floats:
        chi, slope = self.window(y)
        value, gradient = self.kernel_and_gradient(y)
        outer = (chi[:, None] * self.score(y) + slope)[:, None, :] * value[:, :, None]
        return np.asarray((outer + chi[:, None, None] * gradient).reshape(len(y), -1))

    def best(self, x: Floats, grid: Floats, *, low: float = 3.0, charge: float = 3.0) -> Witness:
        r"""The function with the largest mean over ``x`` among those that stay within [−low, 1] on the grid

        .. math:: \max_\theta \tfrac1m \sum_i f_\theta(x_i) \quad\text{subject to}\quad -\text{low} \le f_\theta \le 1,

        a linear program. Over all Stein functions the value at Q would be the smallest ε with Q ≥ (1 − ε)P: Huber's
        distance itself. Charges are at most ``charge`` length scales, so that f is smooth enough to be bounded.
        """
        on_grid = self(grid)
        largest = charge * smooth(self.kernel).lengthscale
        found = linprog(
            -self(x).mean(axis=0),
            A_ub=np.vstack([on_grid, -on_grid]),
            b_ub=np.repeat([1.0, low], len(grid)),
            bounds=(-largest, largest),
            method="highs",
        )
        return Witness(
            self, np.reshape(found.x if found.x is not None else np.zeros(on_grid.shape[1]), self.centers.shape)
        )


def _derivatives_at_zero(kernel: Kernel, d: int) -> tuple[float, float]:
    """∂ₐ∂ₐ′h(0) = −2φ′(0), and Σ_b ∂ₐ∂_b∂ₐ′∂_b′h(0) = 4(d + 2)φ″(0): with h(0) = 1, all that bounds a field needs."""
    known = smooth(kernel)
    if isinstance(known, Gaussian):
        return known.lengthscale**-2, (d + 2.0) * known.lengthscale**-4
    b, scale = known.exponent, known.lengthscale**-2
    return 2.0 * b * scale, 4.0 * (d + 2.0) * b * (b + 1.0) * scale**2


def smooth(kernel: Kernel) -> Gaussian | InverseMultiquadric:
    """The kernel, if its derivatives at 0 are known in closed form."""
    if isinstance(kernel, Gaussian | InverseMultiquadric) and kernel.metric is None:
        return kernel
    raise TypeError(
        "`kernel` must be Gaussian or InverseMultiquadric without a metric, whose derivatives are bounded in closed "
        f"form, got {kernel!r}."
    )


def lipschitz_of(model: Any, given: Any = None) -> Lipschitz:
    """Lipschitz constants of the score over balls: a function of centers (n, d) and a radius.

    ``given`` is a number that bounds ‖∇s‖ everywhere, or such a function; without it the model is asked for its own.
    """
    bounds = Knowledge(model).score_lipschitz if given is None else given
    if bounds is None:
        raise TypeError(
            "a certified supremum needs to know how fast the score changes: give `score_lipschitz`, a bound of "
            "‖∇∇log p‖ over the support, or a function (centers, radius) -> bounds."
        )
    if not callable(bounds):
        everywhere = as_number(bounds, "score_lipschitz", low=0.0)
        return lambda y, radius: np.full(len(y), everywhere)
    return lambda y, radius: _checked_slopes(bounds(private_copy(y), radius), len(y))


def _checked_slopes(bounds: Any, n: int) -> Floats:
    found = as_numbers(bounds, "score_lipschitz")
    if found.shape not in ((), (1,), (n,)) or not (found >= 0.0).all():
        raise ValueError(
            f"`score_lipschitz` must give one bound for each of the {n} balls, none of them negative or NaN, got "
            f"{bounds!r}."
        )
    return np.broadcast_to(found, (n,))


def certified_supremum(
    witness: Witness, lipschitz: Lipschitz, *, sign: float = 1.0, tolerance: float = 0.02, budget: int = 1_000_000
) -> tuple[float, float]:
    """An upper bound of sup sign·f, and the largest value seen, by branch and bound over the window.

    A box with center c, half width h and half diagonal ρ holds no value above f(c) + ρ·Lip; boxes that may still hold
    more than the largest value seen by over ``tolerance`` of it are cut into 2^d, until none is left or ``budget``
    evaluations are spent: then the bound is looser, and still a bound (up to rounding).
    """
    lower, upper = witness.basis.window.lower, witness.basis.window.upper
    d = len(lower)
    centers, half = cover(lower, upper, float((upper - lower).min()) / 16.0, max(1, budget // _FIRST_SHARE))
    corners = np.stack(np.meshgrid(*[[-0.5, 0.5]] * d, indexing="ij"), axis=-1).reshape(-1, d)
    best, closed, spent = 0.0, 0.0, 0
    while True:
        f, v, s = witness.parts(centers)
        rho = float(np.linalg.norm(half))
        bounds = sign * f + rho * witness.slope_bound(centers, half, lipschitz(centers, rho), v, s)
        best, spent = max(best, float(np.max(sign * f))), spent + len(centers)
        open_ = ~(bounds <= best * (1.0 + tolerance))  # a NaN settles nothing
        bounds = np.where(np.isnan(bounds), np.inf, bounds)
        closed = max(closed, float(np.max(bounds[~open_], initial=0.0)))
        centers, left = centers[open_], bounds[open_]
        if not len(centers) or spent + len(centers) * 2**d > budget:
            return max(best, closed, float(np.max(left, initial=0.0))) * (1.0 + 1e-9), best
        centers = (centers[:, None, :] + half * corners).reshape(-1, d)
        half = half / 2.0


def cover(lower: Floats, upper: Floats, half: float, most: int) -> tuple[Floats, Floats]:
    """Centers of boxes that cover a box, and their half widths (d,): ``half``, or more where ``most`` boxes demand it.

    The longest sides are coarsened first, so that a column that hardly varies does not cut the others to pieces.
    """
    widths = upper - lower
    counts = np.clip(np.ceil(widths / (2.0 * half) - 1e-9), 1.0, 2.0**52)
    while counts.prod() > most and counts.max() > 1.0:
        counts[counts.argmax()] = np.ceil(counts.max() / 2.0)
    halves = np.maximum(half, widths / (2.0 * counts))
    sides = [low + h * (2.0 * np.arange(int(c)) + 1.0) for low, h, c in zip(lower, halves, counts, strict=True)]
    return np.stack(np.meshgrid(*sides, indexing="ij"), axis=-1).reshape(-1, len(sides)), halves
