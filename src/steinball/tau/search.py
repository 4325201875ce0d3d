"""Lower bounds of τ by search: multistart from the largest samples, everywhere or inside a region."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import scipy
from numpy.typing import NDArray

from steinball.arrays import Floats, as_number, as_numbers, like, namespace, to_host
from steinball.models.support import Support
from steinball.tilts.base import as_coordinates
from steinball.tilts.scatter import median_of_rows

if TYPE_CHECKING:
    from steinball.problem import Problem

T = TypeVar("T")

STARTS = 8
"""From how many of the largest samples a search sets out."""


@dataclass(frozen=True)
class Ball:
    """The region |x − center| ≤ radius, for τ when outliers are known to lie within it (paper §4.2).

    Examples
    --------
    >>> Ball(10.0).contains(np.array([[3.0, 4.0], [30.0, 4.0]]))
    array([ True, False])
    """

    radius: float
    center: Any = 0.0

    def __post_init__(self) -> None:
        radius = as_number(self.radius, "radius", low=0.0, open_low=True)
        vars(self).update(radius=radius, center=as_coordinates(self.center, "center"))

    def contains(self, x: Floats) -> NDArray[np.bool_]:
        """Which rows of ``x`` lie inside."""
        return np.asarray(np.linalg.norm(x - self.center, axis=1) <= self.radius * (1.0 + 1e-12))

    def draw(self, n: int, d: int, rng: np.random.Generator) -> Floats:
        """Points of the region to start from, half of them on its edge."""
        direction = rng.standard_normal((n, d))
        direction /= np.linalg.norm(direction, axis=1, keepdims=True)
        length = np.where(np.arange(n) % 2, 1.0, rng.random(n) ** (1.0 / d))
        return np.asarray(self.center + self.radius * length[:, None] * direction)

    def climb(self, start: Floats, surface: Surface) -> Floats:
        """A local maximizer inside the ball."""
        offset, unit = (start - self.center) / self.radius, surface.cloud.spread / self.radius
        inside = {
            "type": "ineq",
            "fun": lambda y: 1.0 - np.sum((offset + unit * y) ** 2),
            "jac": lambda y: -2.0 * unit * (offset + unit * y),
        }
        found = surface.climb(start, method="SLSQP", constraints=inside, options={"ftol": 1e-12})
        offset = found - self.center  # a constraint is met up to the tolerance of the solver: project
        return np.asarray(self.center + offset * min(1.0, self.radius / max(float(np.linalg.norm(offset)), 1e-300)))


@dataclass(frozen=True)
class Box:
    """The region lower ≤ x ≤ upper, coordinate by coordinate, for τ when outliers are known to lie within it.

    Examples
    --------
    >>> Box(0.0, 5.0).contains(np.array([[3.0, 4.0], [-1.0, 4.0]]))
    array([ True, False])
    """

    lower: Any
    upper: Any

    def __post_init__(self) -> None:
        lower, upper = as_numbers(self.lower, "lower"), as_numbers(self.upper, "upper")
        if max(lower.ndim, upper.ndim) > 1 or 1 < lower.size != upper.size > 1 or 0 in (lower.size, upper.size):
            raise ValueError(f"`lower` and `upper` must be numbers or (d,), got {lower.shape} and {upper.shape}.")
        if not np.isfinite([*lower.ravel(), *upper.ravel()]).all():
            raise ValueError("`lower` and `upper` must be finite; without bounds use tau='optimized'.")
        if not np.all(lower < upper):
            raise ValueError("`lower` must lie below `upper` in every coordinate.")
        vars(self).update(lower=as_coordinates(lower, "lower"), upper=as_coordinates(upper, "upper"))

    def contains(self, x: Floats) -> NDArray[np.bool_]:
        """Which rows of ``x`` lie inside."""
        return np.asarray(((x >= self.lower) & (x <= self.upper)).all(axis=1))

    def draw(self, n: int, d: int, rng: np.random.Generator) -> Floats:
        """Points of the region to start from, half of them corners."""
        share = np.where(np.arange(n)[:, None] % 2, rng.random((n, d)).round(), rng.random((n, d)))
        return np.asarray(self.lower + share * (np.asarray(self.upper) - self.lower))

    def climb(self, start: Floats, surface: Surface) -> Floats:
        """A local maximizer inside the box."""
        low, high = (np.broadcast_to(np.asarray(side, dtype=float), start.shape) for side in (self.lower, self.upper))
        bounds = [(side - start) / surface.cloud.spread for side in (low, high)]
        found = surface.climb(start, method="L-BFGS-B", bounds=list(zip(*bounds, strict=True)))
        return np.clip(found, low, high)


def climb(value: Callable[[Floats], Floats], start: Floats, scale: float, step: float, **options: Any) -> Any:
    """SciPy's ascent of ``value`` at start + scale·y: tolerances mean the same whatever the units of the data.

    Gradients are central differences in y by ``step``, in one batch: d evaluations of the score are one call.
    """
    d = len(start)
    moves = step * np.vstack([np.zeros(d), np.eye(d), -np.eye(d)])

    def objective(y: Floats) -> tuple[float, Floats]:
        around = value(start + scale * (y + moves))
        return -float(around[0]), -(around[1 : d + 1] - around[d + 1 :]) / (2.0 * step)

    return scipy.optimize.minimize(objective, np.zeros(d), jac=True, **options)


class Surface:
    """u(x, x) as something to climb: values, where the samples lie, and a step for differences in their spread."""

    def __init__(self, problem: Problem) -> None:
        self.value, self.cloud = problem.diagonal_at, problem.rows.cloud
        self.step = float(namespace(problem.samples).finfo(problem.samples.dtype).eps) ** (1 / 3)

    def climb(self, start: Floats, **options: Any) -> Floats:
        """Ascend log u from ``start``."""
        spread = self.cloud.spread
        return np.asarray(start + spread * climb(self._log, start, spread, self.step, **options).x)

    @np.errstate(all="ignore")
    def _log(self, x: Floats) -> Floats:
        """log u; where the score overflows nothing is known, and a step that leads there is taken back."""
        values = self.value(x)
        return np.log(np.maximum(np.where(np.isfinite(values), values, 0.0), 1e-300))

    def _shape(self, x: Floats) -> tuple[Floats, Floats, Floats]:
        """log u at rows (m, d), its slopes and its curvatures in units of the spread, by differences in one batch.

        In more than 16 columns curvatures are taken along the axes alone.
        """
        (m, d), step = x.shape, self.step**0.75  # of second differences: eps^(1/4)
        moves, i, j = _moves(d)
        around = self._log((x[:, None, :] + self.cloud.spread * step * moves).reshape(-1, d)).reshape(m, -1)
        height, ends = around[:, 0], around[:, 1 : 2 * d + 1]
        bend = ends[:, :d] + ends[:, d:] - 2.0 * height[:, None]
        both = around[:, 2 * d + 1 :].reshape(m, 2, -1).sum(axis=1) - 2.0 * height[:, None]
        curvature = np.eye(d) * bend[:, None, :]
        curvature[:, i, j] = curvature[:, j, i] = (both - bend[:, i] - bend[:, j]) / 2.0
        return height, (ends[:, :d] - ends[:, d:]) / (2.0 * step), curvature / step**2

    def highest(self, starts: Floats, steps: int) -> float:
        """The largest u found by ascents of log u from all ``starts`` (m, d) side by side: one call of the score each.

        Steps are those of Newton, upward along every axis of the curvature; a step that leads down is taken back and
        shortened. Ascents end where none promises to exceed the highest place by a hundred-thousandth.
        """
        spread, place, share = self.cloud.spread, starts, np.ones(len(starts))
        longest = np.maximum(1.0, _lengths(starts - self.cloud.center) / spread)
        height, slope, curvature = self._shape(starts)
        for _ in range(steps):
            move = share[:, None] * _newton(slope, curvature, longest)
            bent = np.einsum("mij,mj->mi", curvature, move)
            if not (height + np.sum(move * (slope + 0.5 * bent), axis=1) > height.max() + _FLAT).any():
                break
            high, steep, curved = self._shape(place + spread * move)
            up = high > height
            rows = up[:, None]
            place, share = np.where(rows, place + spread * move, place), np.where(up, 1.0, share / _SHORTER)
            height, slope = np.where(up, high, height), np.where(rows, steep, slope)
            curvature = np.where(rows[:, :, None], curved, curvature)
        return float(np.exp(height.max()))


@lru_cache(8)
def _moves(d: int) -> tuple[Floats, NDArray[np.intp], NDArray[np.intp]]:
    """Moves for first and second differences in d columns: none, along the axes, and along i and j for all i < j."""
    axes = np.eye(d)
    i, j = np.triu_indices(d, 1) if d <= _CURVED else np.empty((2, 0), dtype=np.intp)
    return np.vstack([np.zeros(d), axes, -axes, axes[i] + axes[j], -axes[i] - axes[j]]), i, j


def _newton(slope: Floats, curvature: Floats, longest: Floats) -> Floats:
    """Steps (m, d) upward along every axis of the curvature, none longer than ``longest``."""
    values, axes = np.linalg.eigh(curvature)
    sizes = np.abs(values)
    sizes = np.maximum(sizes, np.maximum(1e-6 * sizes.max(axis=1, keepdims=True), 1e-12))
    move = np.einsum("mij,mj->mi", axes, np.einsum("mji,mj->mi", axes, slope) / sizes)
    return np.asarray(move * np.minimum(1.0, longest / np.maximum(_lengths(move), 1e-300))[:, None])


@dataclass(frozen=True, eq=False)
class Cloud:
    """Where the samples lie: a robust center and scale, and how far out they reach."""

    center: Floats
    spread: float
    reach: float
    directions: Floats
    axes: Floats

    @classmethod
    def of(cls, x: Floats, support: Support | None = None) -> Cloud:
        """The cloud of samples (n, d); directions that an edge of ``support`` would cut off are turned or flattened."""
        d, center = x.shape[1], median_of_rows(x[:: -(-len(x) // 256)])
        distance = _lengths(x - center)
        farthest = np.argpartition(-distance, min(STARTS, len(x)) - 1)[:STARTS]
        directions = np.vstack([x[farthest] - center, _random_directions(d)])
        axes = np.vstack([np.eye(d), -np.eye(d)]) if d <= _AXES_UP_TO else np.empty((0, d))
        if support is not None:
            directions, axes = (_open_directions(part, *support.along(d)) for part in (directions, axes))
        norms, spread = _lengths(directions)[:, None], _spread(distance)
        directions = directions / np.where(norms > 0.0, norms, 1.0)
        return cls(center, spread, max(spread, float(distance.max())), directions, axes)

    @cached_property
    def decades(self) -> Floats:
        """Points along rays and axes, ten to a million times the spread from the center, (decades, rays, d)."""
        return self.center + self.spread * _DECADES[:, None, None] * np.vstack([self.directions, self.axes])

    def rays(self, length: float | Floats) -> Floats:
        """Points at that distance from the center, towards the farthest samples and at random."""
        return self.center + length * self.directions


@lru_cache(8)
def _random_directions(d: int) -> Floats:
    """Directions in d columns, the same every time; not to be written to."""
    return np.random.default_rng(0).standard_normal((STARTS, d))


def _open_directions(directions: Floats, low: Any, high: Any) -> Floats:
    """Directions along which a ray never leaves the box."""
    upward = np.where(np.isfinite(low), np.abs(directions), directions)
    turned = np.where(np.isfinite(high), -np.abs(directions), upward)
    return np.where(np.isfinite(low) & np.isfinite(high), 0.0, turned)


def _lengths(rows: Floats) -> Floats:
    """|x| of every row, also of those whose square is no float; a far row must not hide the others."""
    with np.errstate(over="ignore"):
        found = np.sqrt(np.einsum("ij,ij->i", rows, rows))
    if (odd := np.flatnonzero(~((found > 1e-150) & (found < 1e150)))).size:
        unit = np.abs(rows[odd]).max(axis=1, initial=1e-300)
        found[odd] = unit * np.linalg.norm(rows[odd] / unit[:, None], axis=1)
    return np.asarray(found)


def _spread(distance: Floats) -> float:
    """The median distance from the center, or the smallest positive one."""
    scale = float(median_of_rows(distance)) or float(distance[distance > 0.0].min(initial=math.inf))
    return scale if math.isfinite(scale) else 1.0


_AXES_UP_TO = 16  # columns up to which rays along the axes are taken, too
_DECADES = 10.0 ** np.arange(1, 7)  # lengths of the rays that show growth, in units of the spread of the samples
_LENGTHS = np.geomspace(1e-2, 1e4, 64)  # along rays, in units of the spread of the samples
_EVALUATIONS = 4000  # of the score, that a search may take beyond the rays: about ten points cost a climb in d = 1
_STEPS = 20
_CURVED = 16  # columns up to which all second differences are taken
_SHORTER, _FLAT = 4.0, 1e-5  # of an ascent: how much shorter a step is tried again, and what ends it
_DRAWS = 512  # of the model, among which a search sets out


def largest_finite(values: Floats) -> float:
    """The largest of those values that are finite; 0 where none is."""
    return float(values[np.isfinite(values)].max(initial=0.0))


@np.errstate(all="ignore")
def _best(points: Floats, problem: Problem) -> float:
    return largest_finite(problem.diagonal_at(points))


def _needs_score(problem: Problem) -> None:
    if not problem.evaluable:
        raise TypeError(
            f"maximizing u(x, x) needs the score away from the samples; {problem.unknown_elsewhere}. "
            'Pass a score function, or use tau="sample" or a number.'
        )


def optimized(problem: Problem) -> float:
    """Multistart from the largest sample points, and a look along rays: a lower bound of τ∞, usually sharp."""
    _needs_score(problem)
    x, diagonal = problem.host_samples, to_host(problem.diagonal)
    starts = x[np.argsort(-diagonal)[:STARTS]]
    surface = Surface(problem)
    found = np.array([surface.climb(start, method="L-BFGS-B") for start in starts])
    far = surface.cloud.rays(1e6 * surface.cloud.spread)
    return _best(np.vstack([starts, found[np.isfinite(found).all(axis=1)], far]), problem)


def largest_known(problem: Problem, enough: float = np.inf) -> float:
    """The largest u(x, x) at the samples, at draws of the model, and by a search; no search once ``enough`` is reached.

    The search looks along rays at all distances, so that a steep edge between the samples and infinity is seen, and
    climbs from the best places; the climbs are left out in many dimensions, where they cost more than the test. It sets
    out from draws of the model, once for all rows of a model, or from the samples where the model cannot be drawn from.
    """
    best = float(to_host(problem.diagonal).max())
    if not problem.evaluable:
        return best
    try:
        found = problem.diagonal_at_reference()
        best = best if found is None else max(best, found[1])
        return best if best >= enough else max(best, around_draws(problem, "search", _along_rays))
    except Exception:  # the user's score need not be defined everywhere: what is known is known
        return best


def around_draws(problem: Problem, name: str, find: Callable[[Problem], T]) -> T:
    """What ``find`` finds out around draws of the model, once for all of its rows; around the rows themselves where the
    model cannot be drawn from."""
    draws = _draws_of(problem)

    def look() -> tuple[T] | None:
        try:
            there = problem.at(like(draws, problem.samples))
        except Exception:  # a user's score need not be defined wherever a normal distribution has mass
            return None
        return (find(there),)

    found = None if draws is None else problem.kept(name, look)
    return find(problem) if found is None else found[0]


def _draws_of(problem: Problem) -> Floats | None:
    """Draws of the model, or normal ones of the location and covariance that it states; ``None`` without any."""
    found = problem.reference
    if found is not None:
        return None if found.scores is None else found.draws[:_DRAWS]
    place = problem.known.place if problem.support is None else None
    return None if place is None else normal_draws(_DRAWS, *place)


def normal_draws(n: int, location: Floats, covariance: Floats) -> Floats:
    """``n`` draws of a normal distribution, the same every time."""
    noise = np.random.default_rng(0).standard_normal((n, len(location)))
    return np.asarray(location + noise @ np.linalg.cholesky(covariance).T)


def _along_rays(problem: Problem) -> float:
    """The largest u(x, x) at the samples, along rays from their center, and where ascents from the best of these end.

    What is not finite counts as 0.
    """
    surface, d = Surface(problem), problem.samples.shape[1]
    rays = surface.cloud.rays(surface.cloud.spread * _LENGTHS[:, None, None]).reshape(-1, d)
    with np.errstate(all="ignore"):
        values = np.concatenate([problem.diagonal_at(rays), to_host(problem.diagonal)])
    places, values = np.vstack([rays, problem.host_samples]), np.where(np.isfinite(values), values, 0.0)
    few = np.argpartition(-values, STARTS - 1)[:STARTS]
    starts = places[few[np.argsort(-values[few])]][: _EVALUATIONS // (_STEPS * (2 * d + 1))]
    return max(float(values.max()), surface.highest(starts, 2 * _STEPS) if len(starts) else 0.0)


def localized(problem: Problem, region: Ball | Box) -> float:
    """Multistart inside a region, from the largest samples in it and from random points of it."""
    _needs_score(problem)
    x, diagonal = problem.host_samples, to_host(problem.diagonal)
    _check_region(region, x.shape[1])
    inside = region.contains(x)
    best_samples = x[inside][np.argsort(-diagonal[inside])[:STARTS]]
    random = region.draw(16 * STARTS, x.shape[1], np.random.default_rng(0))
    random = random[np.argsort(-problem.diagonal_at(random))[:STARTS]]
    starts = np.vstack([best_samples, random])
    surface = Surface(problem)
    found = np.array([region.climb(start, surface) for start in starts])
    return _best(np.vstack([starts, found]), problem)


def _check_region(region: Ball | Box, dimension: int) -> None:
    sizes = {np.size(side) for side in vars(region).values() if np.ndim(side)}
    if sizes - {dimension}:
        raise ValueError(f"`tau={region!r}` has {max(sizes)} coordinates, the samples have {dimension} columns.")
