"""The KSD as a function of the scores, its minimum over a family, and what each point does to that."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from steinball.arrays import Floats, to_host
from steinball.kernels.base import Kernel
from steinball.kernels.distance import squared_distances
from steinball.models.differences import difference_jacobian
from steinball.models.family import ExponentialFamily, Family
from steinball.stein import SteinKernel

_PAIRS_AT_ONCE = 2**22  # entries of the kernel matrix held at once: 32 MB
_STEPS, _HALVINGS, _ENOUGH = 100, 30, 1e-10


@dataclass(frozen=True, eq=False)
class ScoreDistance:
    r"""D² of fixed points under a fixed kernel and tilt: a quadratic in the scores s, up to a constant

    .. math:: D^2(s) = \frac1{n^2} \sum_{ij} w_i w_j \left( \varphi_{ij} s_i^\top s_j - 4 \varphi'_{ij} s_i^\top C
       (x_i - x_j) \right) + \text{const}, \qquad s = \nabla \log p + \nabla \log w.

    Parameters
    ----------
    x : (n, d) array
        The points.
    weights, shift : (n, d) arrays
        The tilt: w for every coordinate, and ∂ log w.
    kernel : Kernel
    """

    x: Floats
    weights: Floats
    shift: Floats
    kernel: Kernel

    @classmethod
    def of(cls, x: Floats, stein: SteinKernel) -> ScoreDistance:
        """Of points under a kernel and tilt."""
        tilt = stein.tilt
        if tilt is None:
            return cls(x, np.ones_like(x), np.zeros_like(x), stein.kernel)
        each = tilt.coordinate_weights(x)
        common = np.exp(to_host(tilt.log_weight(x)))[:, None]
        weights = common * (np.ones_like(x) if each is None else to_host(each))
        return cls(x, weights, to_host(tilt.log_weight_gradient(x)), stein.kernel)

    def __len__(self) -> int:
        return len(self.x)

    def _blocks(self, rows: Floats) -> Iterator[tuple[slice, Floats, Floats]]:
        """φ and φ′ between blocks of ``rows`` and all points."""
        step = max(1, _PAIRS_AT_ONCE // len(self))
        for part in (slice(start, start + step) for start in range(0, len(rows), step)):
            value, slope, _ = self.kernel.profile(squared_distances(rows[part], self.x, self.kernel.metric))
            yield part, value, slope

    @cached_property
    def _values(self) -> Floats | None:
        """φ between all points, where it is small enough to be kept."""
        if len(self) ** 2 > _PAIRS_AT_ONCE:
            return None
        return np.concatenate([value for _, value, _ in self._blocks(self.x)])

    def smooth(self, right: Floats) -> Floats:
        """φ times a matrix with one row per point."""
        if self._values is not None:
            return np.asarray(self._values @ right)
        return np.concatenate([value @ right for _, value, _ in self._blocks(self.x)])

    def pulls(self, rows: Floats) -> Floats:
        """−2 Σⱼ φ′ᵢⱼ C(xᵢ − xⱼ)wⱼ at each of ``rows``; differences first, so that an offset of the data cancels."""
        found = np.empty_like(rows)
        for part, _, slope in self._blocks(rows):
            for k in range(rows.shape[1]):
                apart = rows[part, k, None] - self.x[:, k]
                found[part, k] = -2.0 * np.sum(slope * apart * self.weights[:, k], axis=1)
        return found if self.kernel.metric is None else self._measured(rows)

    def _measured(self, rows: Floats) -> Floats:
        """The same with a metric C, in the coordinates C x."""
        found, metric = np.empty_like(rows), np.asarray(self.kernel.metric)
        for part, _, slope in self._blocks(rows):
            for k in range(rows.shape[1]):
                apart = np.sum((rows[part, None, :] - self.x) * metric[:, k], axis=2)
                found[part, k] = -2.0 * np.sum(slope * apart * self.weights[:, k], axis=1)
        return found

    @cached_property
    def pull(self) -> Floats:
        """Of the points themselves, times their weights."""
        return self.weights * self.pulls(self.x)

    def objective(self, scores: Floats) -> float:
        """D² of these scores ∇log p, (n, d), up to a constant."""
        s = scores + self.shift
        weighted = self.weights * s
        return float(np.sum(weighted * self.smooth(weighted)) + 2.0 * np.sum(s * self.pull)) / len(self) ** 2

    def expansion(self, scores: Floats, jacobians: Floats) -> tuple[Floats, Floats]:
        """A and b with D²(s + Jη) = ηᵀAη + 2bᵀη + const, for J of shape (n, d, p)."""
        n, d, size = jacobians.shape
        weighted = (self.weights[:, :, None] * jacobians).reshape(n, d * size)
        right = np.hstack([weighted, self.weights * (scores + self.shift)])
        smoothed = self.smooth(right)
        flat = weighted.reshape(n * d, size)
        quadratic = flat.T @ smoothed[:, : d * size].reshape(n * d, size)
        linear = flat.T @ smoothed[:, d * size :].reshape(-1) + jacobians.reshape(n * d, size).T @ self.pull.reshape(-1)
        return quadratic / n**2, linear / n**2

    def slopes(self, at: ScoreDistance, here: tuple[Floats, Floats], there: tuple[Floats, Floats]) -> Floats:
        """(1/n) Σⱼ ∂u(xᵢ, yⱼ)/∂η for points xᵢ of ``at`` and yⱼ of this, (m, p).

        ``here`` are scores and their derivatives (m, d, p) at x, ``there`` at y.
        """
        (s, jacobians), (t, others) = (here[0] + at.shift, here[1]), (there[0] + self.shift, there[1])
        n, (m, d, size) = len(self), jacobians.shape
        weighted = (self.weights[:, :, None] * others).reshape(n, d * size)
        right, pulls = self.weights * t, self.pulls(at.x)
        found = np.empty((m, size))
        for part, value, slope in self._blocks(at.x):
            pull = at.weights[part] * (value @ right + pulls[part])
            turned = (value @ weighted).reshape(-1, d, size) * s[part][:, :, None]
            turned += 2.0 * self._differences(at.x[part], slope, weighted.reshape(n, d, size))
            found[part] = np.einsum("id,idp->ip", pull, jacobians[part])
            found[part] += np.einsum("id,idp->ip", at.weights[part], turned)
        return found / n

    def _differences(self, rows: Floats, slope: Floats, weighted: Floats) -> Floats:
        """Σⱼ φ′ᵢⱼ C(xᵢ − xⱼ) Jⱼ by coordinate, shape (m, d, p)."""
        metric = np.eye(rows.shape[1]) if self.kernel.metric is None else self.kernel.metric
        center = np.median(self.x, axis=0)
        a, b = (rows - center) @ metric, (self.x - center) @ metric
        parts = [
            a[:, k, None] * (slope @ weighted[:, k]) - slope @ (b[:, k, None] * weighted[:, k])
            for k in range(rows.shape[1])
        ]
        return np.stack(parts, axis=1)


@dataclass(frozen=True, eq=False)
class Minimum:
    """The parameters of a minimum-KSD fit, and what the influence of a point follows from.

    ``coordinates`` are natural parameters for an exponential family, of data less ``origin``, and unconstrained ones
    otherwise; ``curvature`` is A in them.
    """

    family: Family
    distance: ScoreDistance
    stein: SteinKernel
    params: Floats
    coordinates: Floats
    curvature: Floats
    origin: Floats

    def _pieces(self, x: Floats) -> tuple[Floats, Floats]:
        family = self.family
        if isinstance(family, ExponentialFamily):
            basis = family.score_basis(x - self.origin)
            return family.base_score(x - self.origin) + basis @ self.coordinates, basis
        return family.score(self.params, x), family.score_jacobian(self.coordinates, x)

    def _jacobian(self) -> Floats:
        """∂ params / ∂ coordinates."""
        if isinstance(self.family, ExponentialFamily):
            return difference_jacobian(self.family.from_natural, self.coordinates)
        return self.family.working_jacobian(self.params)

    def influence(self, points: Floats) -> Floats:
        """How n times a share of mass at each of ``points`` moves the parameters, (m, p): minus A⁻¹ times its slope."""
        at = ScoreDistance.of(points, self.stein)
        slopes = self.distance.slopes(at, self._pieces(points), self._pieces(self.distance.x))
        return np.asarray(-solve_positive(self.curvature, slopes.T, 0.0).T @ self._jacobian().T)


def minimize_ksd(family: Family, x: Floats, stein: SteinKernel, ridge: float = 0.0) -> Minimum:
    """The member of a family with the least KSD: in closed form for exponential families, by Gauss and Newton else."""
    distance = ScoreDistance.of(x, stein)
    if isinstance(family, ExponentialFamily):
        return _closed_form(family, distance, stein, ridge)
    return _gauss_newton(family, distance, stein)


def _closed_form(family: ExponentialFamily, distance: ScoreDistance, stein: SteinKernel, ridge: float) -> Minimum:
    x = distance.x
    by = family.origin(x)  # data far from 0 would cost the moments their digits
    near = replace(distance, x=x - by)
    curvature, linear = near.expansion(family.base_score(near.x), family.score_basis(near.x))
    coordinates = -solve_positive(curvature, linear, ridge)
    params = family.from_natural(coordinates)
    if not np.isfinite(params).all():
        raise ValueError(
            f"the KSD is least outside the family of `{family.label}` distributions: these data look like none of "
            "them. Choose another family."
        )
    return Minimum(family, distance, stein, family.moved(params, by), coordinates, curvature, by)


def _gauss_newton(family: Family, distance: ScoreDistance, stein: SteinKernel) -> Minimum:
    """Steps to the minimum of the linearized problem, halved until D² falls."""
    x, working = distance.x, family.to_working(family.start(distance.x))
    value = distance.objective(family.score(family.from_working(working), x))
    for _ in range(_STEPS):
        scores, jacobians = family.score(family.from_working(working), x), family.score_jacobian(working, x)
        curvature, slope = distance.expansion(scores, jacobians)
        step = -solve_positive(curvature, slope, 1e-12 * float(np.trace(curvature)))
        working, value, moved = _descend(family, distance, working, value, step)
        if moved <= _ENOUGH * (1.0 + np.abs(working).max()):
            break
    bent = _bent(family, distance, working, curvature)
    return Minimum(family, distance, stein, family.from_working(working), working, bent, np.zeros(x.shape[1]))


def _bent(family: Family, distance: ScoreDistance, working: Floats, curvature: Floats) -> Floats:
    """Half the Hessian of D², with what the score bends by; without that where the whole is not definite."""

    def slope(at: Floats) -> Floats:
        return distance.expansion(
            family.score(family.from_working(at), distance.x), family.score_jacobian(at, distance.x)
        )[1]

    whole = difference_jacobian(slope, working)
    whole = (whole + whole.T) / 2.0
    sound = np.isfinite(whole).all() and np.linalg.eigvalsh(whole)[0] > 1e-3 * np.linalg.eigvalsh(curvature)[0]
    return whole if sound else curvature


def _descend(
    family: Family, distance: ScoreDistance, working: Floats, value: float, step: Floats
) -> tuple[Floats, float, float]:
    for _ in range(_HALVINGS):
        tried = working + step
        with np.errstate(all="ignore"):
            found = _value(family, distance, tried)
        if found < value:
            return tried, found, float(np.abs(step).max())
        step = step / 2.0
    return working, value, 0.0


def _value(family: Family, distance: ScoreDistance, working: Floats) -> float:
    try:
        found = distance.objective(family.score(family.from_working(working), distance.x))
    except (ValueError, FloatingPointError):
        return np.inf
    return found if np.isfinite(found) else np.inf


def solve_positive(matrix: Floats, right: Floats, ridge: float) -> Floats:
    """(A + ρI)⁻¹ b for a positive semi-definite A, with rows and columns scaled to a unit diagonal first."""
    matrix = matrix + ridge * np.eye(len(matrix))
    scale = np.sqrt(np.diag(matrix))
    if not (scale > 0.0).all():
        raise ValueError(_NOT_UNIQUE.format(len(matrix), ridge))
    values, vectors = np.linalg.eigh(matrix / scale / scale[:, None])
    if values[0] <= len(values) * np.finfo(np.float64).eps * values[-1]:
        raise ValueError(_NOT_UNIQUE.format(len(values), ridge))
    right = right.T / scale
    return np.asarray(((right @ vectors) / values @ vectors.T) / scale).T


_NOT_UNIQUE = (
    "the minimum is not unique: A has rank below {} with `ridge={:g}`. Use fewer basis functions or parameters, more "
    "samples or a larger `ridge`."
)
