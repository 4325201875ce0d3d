"""The Stein kernel of a radial kernel, a tilt and a score: blocks of it, and its diagonal (DESIGN §1)."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from steinball.arrays import Array, dtype_name, like, namespace, take_rows
from steinball.kernels.base import Kernel, direct_squared_distances, metric_root
from steinball.tilts import Tilt

DIRECT_DIMENSIONS = 2
"""Up to this dimension differences are formed coordinate by coordinate: as fast as matrix products, and exact."""

# |x|² + |y|² − 2xᵀy may replace |x − y|² while its rounding error, up to 4·eps·max|z|², moves φ′ and r²φ″ near 0 by at
# most this share of φ′(0). A Matérn-3/2 kernel is never expanded: its φ′ moves by the root of the error.
_EXPANSION_ERROR = {"float64": 3e-11, "float32": 1.5e-4}


@dataclass(frozen=True, eq=False)
class SteinPoints:
    """Points and scores made ready for blocks; all arrays of one library and device.

    ``z`` = x, or (x − center) L with a metric C = L Lᵀ; ``s`` = score + ∇log w, ``t`` = s L, ``a`` = (x − center) C
    or ``None`` without a metric, ``weight`` = w or ``None`` without a tilt. ``sides`` are factors whose products are r²
    and the cross term of a block, or ``None`` where expanding r² would lose digits. Where a tilt weighs coordinates
    apart, ``each`` = e, ``s`` = e·(score + ∂ log(w e)), ``a`` is always there, and ``t`` is not used.
    """

    z: Array
    s: Array
    t: Array
    a: Array | None
    weight: Array | None
    sides: tuple[Array, ...] | None
    each: Array | None = None

    def __len__(self) -> int:
        return int(self.z.shape[0])

    @property
    def dimension(self) -> int:
        """Number of coordinates d."""
        return int(self.z.shape[1])

    def map(self, change: Callable[[Array], Array]) -> SteinPoints:
        """The points with every array changed along its rows."""

        def apply(array: Array | None) -> Array | None:
            return None if array is None else change(array)

        z, s, t, a, weight, each = (apply(x) for x in (self.z, self.s, self.t, self.a, self.weight, self.each))
        return SteinPoints(z, s, t, a, weight, None if self.sides is None else tuple(map(change, self.sides)), each)

    def rows(self, start: int, stop: int) -> SteinPoints:
        """The points ``start:stop``."""
        return self.map(lambda array: array[start:stop, ...])

    def take(self, rows: NDArray[np.integer]) -> SteinPoints:
        """The points at an index held on the host."""
        return self.map(lambda array: take_rows(array, rows))


def _sides(z: Array, t: Array, trace: float) -> tuple[Array, ...]:
    """Factors A, B, E, F with A Bᵀ = r² and E Fᵀ = 2(x − y)ᵀC(s(y) − s(x)) − 2 tr C for every pair.

    The squared norms ride along as two more columns of the products, which saves passes over the block.
    """
    xp = namespace(z)
    norm, inner = xp.sum(z * z, axis=1)[:, None], 2.0 * xp.sum(z * t, axis=1)[:, None]
    one = xp.ones_like(norm)
    return (
        xp.concat([-2.0 * z, norm, one], axis=1),
        xp.concat([z, one, norm], axis=1),
        xp.concat([2.0 * z, 2.0 * t, -inner - 2.0 * trace, one], axis=1),
        xp.concat([t, z, one, -inner], axis=1),
    )


def _sides_apart(z: Array, points: tuple[Array, Array, Array], trace: Array) -> tuple[Array, ...]:
    """Factors of r², of the cross term Σⱼ eⱼ(x)eⱼ(y)[2(a − b)ⱼ(s(y) − s(x))ⱼ − 2Cⱼⱼ] and of Σⱼ eⱼ(x)eⱼ(y)(a − b)ⱼ².

    ``points`` are e, e·s and a; ``trace`` the diagonal of C.
    """
    xp, (each, pull, a) = namespace(z), points
    norm = xp.sum(z * z, axis=1)[:, None]
    one, moved = xp.ones_like(norm), each * a
    return (
        xp.concat([-2.0 * z, norm, one], axis=1),
        xp.concat([z, one, norm], axis=1),
        xp.concat([2.0 * moved, 2.0 * pull, -2.0 * (a * pull + each * trace), each], axis=1),
        xp.concat([pull, moved, each, -2.0 * a * pull], axis=1),
        xp.concat([moved * a, -2.0 * moved, each], axis=1),
        xp.concat([each, moved, moved * a], axis=1),
    )


def center_of(samples: Array) -> Array:
    """A center of the bulk, shape (d,): the coordinatewise median of about a hundred rows.

    Only rounding depends on it. A mean would be dragged off by one far outlier and cost the bulk its digits.
    """
    xp = namespace(samples)
    rows = samples[:: -(-samples.shape[0] // 128), :]
    return xp.sort(rows, axis=0)[rows.shape[0] // 2, :]


@dataclass(frozen=True)
class SteinKernel:
    r"""The Langevin Stein kernel of the tilted kernel :math:`k(x, y) = w(x) \varphi(r^2) w(y)` (paper §2.1, eq. 2)

    .. math:: u(x, y) = w(x) w(y) \left[ \varphi s(x)^\top s(y) + 2 \varphi' (x-y)^\top C (s(y) - s(x))
       - 4 \varphi'' (x-y)^\top C^2 (x-y) - 2 \varphi' \operatorname{tr} C \right],

    where :math:`s = \nabla \log p + \nabla \log w`: tilting is a shift of the score.

    Parameters
    ----------
    kernel : Kernel
        The radial base kernel :math:`\varphi`, with its metric :math:`C`.
    tilt : Tilt, optional
        The weight :math:`w`; 1 by default.

    Examples
    --------
    >>> from steinball.kernels import InverseMultiquadric
    >>> stein = SteinKernel(InverseMultiquadric(1.0))
    >>> x = np.array([[0.0], [1.0]])
    >>> stein(x, -x, x, -x).round(6)
    array([[ 1.     , -0.53033],
           [-0.53033,  2.     ]])
    """

    kernel: Kernel
    tilt: Tilt | None = None

    def __call__(self, x: Array, x_scores: Array, y: Array, y_scores: Array) -> Array:
        """The matrix u(xᵢ, yⱼ), shape (n, m)."""
        center = center_of(x)
        return self.block(self.prepare(x, x_scores, center), self.prepare(y, y_scores, center))

    def prepare(self, samples: Array, scores: Array, center: Array) -> SteinPoints:
        """Points made ready for :meth:`block`; both sides of a block need the same ``center`` (d,)."""
        xp = namespace(samples)
        each = None if self.tilt is None else self.tilt.coordinate_weights(samples)
        weight, scores = self.tilted(samples, scores)
        if each is not None:
            return self._prepare_apart(samples - center, each, each * scores, weight)
        z, t, a = samples - center, scores, None
        if self.kernel.metric is not None:
            self._check_metric(samples)
            root = like(metric_root(self.kernel.metric), samples)
            a = xp.matmul(z, like(self.kernel.metric, samples))
            z, t = xp.matmul(z, root), xp.matmul(scores, root)
        sides = _sides(z, t, self._trace(z.shape[1])) if self._expandable(z) else None
        # Differences of the samples as they are need no center, and lose nothing wherever it lies.
        return SteinPoints(samples if a is None else z, scores, t, a, weight, sides)

    def _prepare_apart(self, z: Array, each: Array, pull: Array, weight: Array | None) -> SteinPoints:
        """Points whose coordinates have weights of their own; ``pull`` is the weighted shifted score e·s."""
        a = z
        if self.kernel.metric is not None:
            self._check_metric(z)
            xp = namespace(z)
            a, z = (xp.matmul(z, like(m, z)) for m in (self.kernel.metric, metric_root(self.kernel.metric)))
        sides = _sides_apart(z, (each, pull, a), self._traces(z)) if self._expandable(z) else None
        return SteinPoints(z, pull, pull, a, weight, sides, each)

    @property
    def decay(self) -> float:
        """b where the weight falls like \\|x\\|^(−2b); 0 without a tilt."""
        return 0.0 if self.tilt is None else self.tilt.decay

    def weighs_apart(self, samples: Array) -> bool:
        """Whether the tilt has a weight for every coordinate."""
        return self.tilt is not None and self.tilt.coordinate_weights(samples[:1, :]) is not None

    def tilted(self, samples: Array, scores: Array) -> tuple[Array | None, Array]:
        """w and the shifted score s + ∇log w."""
        if self.tilt is None:
            return None, scores
        log_weight, gradient = self.tilt.log_weight_and_gradient(samples)
        return namespace(samples).exp(log_weight), scores + gradient

    def _expandable(self, z: Array) -> bool:
        """Whether r² may be expanded into norms and products without losing digits."""
        if z.shape[1] <= DIRECT_DIMENSIONS:
            return False
        xp = namespace(z)
        error = 4.0 * float(xp.finfo(z.dtype).eps) * float(xp.max(xp.sum(z * z, axis=1)))
        if not math.isfinite(error):
            return False
        _, slope, curvature = self.kernel.profile(np.array([0.0, error]))
        moved = max(abs(slope[1] - slope[0]), abs(curvature[1] - curvature[0]))
        return bool(moved <= _EXPANSION_ERROR.get(dtype_name(z), 1.5e-4) * abs(slope[0]))

    def _check_metric(self, samples: Array) -> None:
        d = samples.shape[1]
        if self.kernel.metric is not None and self.kernel.metric.shape[0] != d:
            raise ValueError(f"`metric` of the kernel is {self.kernel.metric.shape}, but the samples have {d} columns.")

    def _trace(self, dimension: int) -> float:
        return float(dimension if self.kernel.metric is None else np.trace(self.kernel.metric))

    def _traces(self, z: Array) -> Array:
        """The diagonal of C, shape (d,)."""
        return like(np.ones(z.shape[1]) if self.kernel.metric is None else np.diag(self.kernel.metric), z)

    @cached_property
    def _at_zero(self) -> tuple[float, float]:
        """φ(0) and φ′(0)."""
        value, slope, _ = self.kernel.profile(np.zeros(1))
        return float(value[0]), float(slope[0])

    def diagonal(self, samples: Array, scores: Array) -> Array:
        """u(xᵢ, xᵢ) = w² (|s|² φ(0) − 2 φ′(0) tr C), shape (n,); Σⱼ eⱼ² (sⱼ² φ(0) − 2 φ′(0) Cⱼⱼ) by coordinates."""
        xp = namespace(samples)
        each = None if self.tilt is None else self.tilt.coordinate_weights(samples)
        weight, scores = self.tilted(samples, scores)
        value, slope = self._at_zero
        if each is None:
            diagonal = value * xp.sum(scores * scores, axis=1) - 2.0 * slope * self._trace(samples.shape[1])
        else:
            pull, spread = each * scores, each * each * self._traces(samples)
            diagonal = xp.sum(value * (pull * pull) - 2.0 * slope * spread, axis=1)
        return diagonal if weight is None else diagonal * weight * weight

    def block(self, rows: SteinPoints, columns: SteinPoints) -> Array:
        """u(xᵢ, yⱼ) for every row i and column j, shape (n, m)."""
        block = self.untilted_block(rows, columns)
        if rows.weight is not None and columns.weight is not None:
            block *= rows.weight[:, None]
            block *= columns.weight[None, :]
        return block

    def untilted_block(self, rows: SteinPoints, columns: SteinPoints, fused: bool = False) -> Array:
        """u(xᵢ, yⱼ) / (w(xᵢ) w(yⱼ)): the outer factors w can often be applied to something smaller than a block.

        ``fused`` forms everything from differences, coordinate by coordinate: for compilers, which then make one pass.
        """
        xp = namespace(rows.z)
        if rows.each is not None:
            return self._block_apart(rows, columns)
        if fused or rows.sides is None or columns.sides is None:
            r2, cross = direct_squared_distances(rows.z, columns.z), self._direct_cross(rows, columns)
        else:
            r2 = xp.abs(xp.matmul(rows.sides[0], columns.sides[1].T))  # rounding can leave −1e-16 for 0
            cross = xp.matmul(rows.sides[2], columns.sides[3].T)
        inner = _direct_inner(rows.s, columns.s) if fused else xp.matmul(rows.s, columns.s.T)
        if rows.a is None or columns.a is None:
            return self.kernel.combine(r2, inner, cross)
        return self.kernel.combine(r2, inner, cross, _stretch(rows.a, columns.a, r2))

    def _block_apart(self, rows: SteinPoints, columns: SteinPoints) -> Array:
        """A block where coordinates have weights of their own: every term is a product of (n, d) factors."""
        xp = namespace(rows.z)
        if rows.sides is None or columns.sides is None:
            r2 = direct_squared_distances(rows.z, columns.z)
            cross, spread = self._direct_apart(rows, columns)
        else:
            r2, cross, spread = (xp.matmul(rows.sides[k], columns.sides[k + 1].T) for k in (0, 2, 4))
            r2 = xp.abs(r2)
        stretch = spread / xp.where(r2 > 0.0, r2, xp.ones_like(r2))
        return self.kernel.combine(r2, xp.matmul(rows.s, columns.s.T), cross, stretch)

    def _direct_apart(self, rows: SteinPoints, columns: SteinPoints) -> tuple[Array, Array]:
        """The cross term and Σⱼ eⱼ(x)eⱼ(y)(a − b)ⱼ² from the differences themselves."""
        trace, cross, spread = self._traces(rows.z), 0.0, 0.0
        for k in range(rows.dimension):
            e, f = _array(rows.each)[:, None, k], _array(columns.each)[None, :, k]
            apart = _array(rows.a)[:, None, k] - _array(columns.a)[None, :, k]
            # e·s stays finite at an edge where s does not, so that s is never taken by itself.
            cross = cross + 2.0 * apart * (e * columns.s[None, :, k] - rows.s[:, None, k] * f) - 2.0 * e * f * trace[k]
            spread = spread + e * f * apart * apart
        return cross, spread

    def pairs(self, first: SteinPoints, second: SteinPoints) -> Array:
        """u(xᵢ, yᵢ) for points paired off one by one, shape (n,)."""
        xp = namespace(first.z)
        apart = first.z - second.z
        r2 = xp.sum(apart * apart, axis=1)
        if first.each is not None:
            return self._pairs_apart(first, second, r2)
        cross = 2.0 * xp.sum(apart * (second.t - first.t), axis=1) - 2.0 * self._trace(first.dimension)
        stretch = None
        if first.a is not None and second.a is not None:
            stretch = xp.sum((first.a - second.a) ** 2, axis=1) / xp.where(r2 > 0.0, r2, xp.ones_like(r2))
        values = self.kernel.combine(r2, xp.sum(first.s * second.s, axis=1), cross, stretch)
        if first.weight is None or second.weight is None:
            return values
        return values * first.weight * second.weight

    def _pairs_apart(self, first: SteinPoints, second: SteinPoints, r2: Array) -> Array:
        xp = namespace(r2)
        e, f, apart = _array(first.each), _array(second.each), _array(first.a) - _array(second.a)
        both = e * f
        cross = 2.0 * xp.sum(apart * (e * second.s - first.s * f) - both * self._traces(apart), axis=1)
        stretch = xp.sum(both * apart * apart, axis=1) / xp.where(r2 > 0.0, r2, xp.ones_like(r2))
        values = self.kernel.combine(r2, xp.sum(first.s * second.s, axis=1), cross, stretch)
        return values if first.weight is None else values * first.weight * second.weight

    def _direct_cross(self, rows: SteinPoints, columns: SteinPoints) -> Array:
        """2(x − y)ᵀC(s(y) − s(x)) − 2 tr C from the differences themselves."""
        z, t, v, q = rows.z, 2.0 * rows.t, columns.z, 2.0 * columns.t
        cross = (z[:, None, 0] - v[None, :, 0]) * (q[None, :, 0] - t[:, None, 0])
        for k in range(1, rows.dimension):
            cross += (z[:, None, k] - v[None, :, k]) * (q[None, :, k] - t[:, None, k])
        cross -= 2.0 * self._trace(rows.dimension)
        return cross


def _array(array: Array | None) -> Array:
    """What is there wherever coordinates have weights of their own."""
    assert array is not None
    return array


def _direct_inner(s: Array, t: Array) -> Array:
    """s(x)ᵀs(y), coordinate by coordinate."""
    inner = s[:, None, 0] * t[None, :, 0]
    for k in range(1, s.shape[1]):
        inner += s[:, None, k] * t[None, :, k]
    return inner


def _stretch(a: Array, b: Array, r2: Array) -> Array:
    """|C(x − y)|² / r², and 0 where the points coincide (r² φ″ vanishes there)."""
    xp = namespace(a)
    return direct_squared_distances(a, b) / xp.where(r2 > 0.0, r2, xp.ones_like(r2))
