"""τ∞ = sup u(x, x): how large one point's share of D can be, and how that number was obtained (paper §4.2, App. B)."""

from __future__ import annotations

import math
import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from steinball.arrays import as_number, namespace, to_host
from steinball.gram.base import check_rows
from steinball.stein import SteinProblem

__all__ = ["Ball", "Box", "Supremum", "UnboundedSteinKernelWarning", "find_supremum", "warn_if_unbounded"]

UPPER_BOUNDS = ("given", "closed form", "certified")
"""The kinds of τ that bound u(x, x) for every x, not only where somebody has looked."""

_STARTS = 8
_GROWTH: WeakKeyDictionary[SteinProblem, bool] = WeakKeyDictionary()
_Function = Callable[[NDArray[np.float64]], NDArray[np.float64]]


class UnboundedSteinKernelWarning(UserWarning):
    """A radius or bound that needs sup u(x, x) < ∞ was asked of a Stein kernel that grows without limit."""


@dataclass(frozen=True)
class Supremum:
    """A value of τ and its kind: ``"sample"``, ``"optimised"``, ``"given"`` or ``"localised"``."""

    value: float
    kind: str

    @property
    def is_upper_bound(self) -> bool:
        """Whether u(x, x) ≤ value for every x, so that statements about the distribution follow."""
        return self.kind in UPPER_BOUNDS


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
        object.__setattr__(self, "radius", as_number(self.radius, "radius", low=0.0, open_low=True))
        if not np.isfinite(np.asarray(self.center, dtype=float)).all():
            raise ValueError(f"`center` must be finite, got {self.center!r}.")

    def contains(self, x: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Which rows of ``x`` lie inside."""
        return np.asarray(np.linalg.norm(x - self.center, axis=1) <= self.radius * (1.0 + 1e-12))

    def draw(self, n: int, d: int, rng: np.random.Generator) -> NDArray[np.float64]:
        """Points of the region to start from, half of them on its edge."""
        direction = rng.standard_normal((n, d))
        direction /= np.linalg.norm(direction, axis=1, keepdims=True)
        length = np.where(np.arange(n) % 2, 1.0, rng.random(n) ** (1.0 / d))
        return np.asarray(self.center + self.radius * length[:, None] * direction)

    def climb(self, start: NDArray[np.float64], surface: _Surface) -> NDArray[np.float64]:
        """A local maximiser inside the ball."""
        offset, unit = (start - self.center) / self.radius, surface.scale / self.radius
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
        if not np.all(np.asarray(self.lower, dtype=float) < np.asarray(self.upper, dtype=float)):
            raise ValueError("`lower` must lie below `upper` in every coordinate.")
        if not np.isfinite(np.concatenate([np.ravel(self.lower), np.ravel(self.upper)])).all():
            raise ValueError("`lower` and `upper` must be finite; without bounds use tau='optimised'.")

    def contains(self, x: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Which rows of ``x`` lie inside."""
        return np.asarray(((x >= self.lower) & (x <= self.upper)).all(axis=1))

    def draw(self, n: int, d: int, rng: np.random.Generator) -> NDArray[np.float64]:
        """Points of the region to start from, half of them corners."""
        share = np.where(np.arange(n)[:, None] % 2, rng.random((n, d)).round(), rng.random((n, d)))
        return np.asarray(self.lower + share * (np.asarray(self.upper) - self.lower))

    def climb(self, start: NDArray[np.float64], surface: _Surface) -> NDArray[np.float64]:
        """A local maximiser inside the box."""
        low, high = (np.broadcast_to(np.asarray(side, dtype=float), start.shape) for side in (self.lower, self.upper))
        bounds = [(side - start) / surface.scale for side in (low, high)]
        found = surface.climb(start, method="L-BFGS-B", bounds=list(zip(*bounds, strict=True)))
        return np.clip(found, low, high)


def find_supremum(tau: Any, problem: SteinProblem) -> Supremum:
    """τ for what the user asked: ``"sample"``, ``"optimised"``, a number, or a region (:class:`Ball`, :class:`Box`)."""
    check_rows(problem.diagonal)  # names the points that overflow, before anything is searched around them
    sample = float(to_host(problem.diagonal).max())
    if isinstance(tau, (Ball, Box)):
        return Supremum(_localised(problem, tau), "localised")
    if not isinstance(tau, str):
        return Supremum(_given(tau, sample), "given")
    if tau == "sample":
        return Supremum(sample, "sample")
    if tau == "optimised":
        return Supremum(max(sample, _optimised(problem)), "optimised")
    raise ValueError(
        f'`tau` must be "sample", "optimised", a number, or a Ball or Box of `steinball.supremum`, got {tau!r}.'
    )


def _given(tau: Any, sample: float) -> float:
    value = as_number(tau, "tau", low=0.0, open_low=True)
    if value < sample * (1.0 - 1e-9):
        raise ValueError(
            f"`tau={value:g}` is no upper bound: u(x, x) reaches {sample:g} at one of the samples. "
            'Give a larger bound, or use tau="sample" or tau="optimised".'
        )
    return value


@dataclass(frozen=True)
class _Surface:
    """u(x, x) as something to climb: values, the length natural to it, and a step for differences in that unit."""

    value: _Function
    cloud: _Cloud
    scale: float
    step: float

    @classmethod
    def of(cls, problem: SteinProblem) -> _Surface:
        eps = float(namespace(problem.samples).finfo(problem.samples.dtype).eps)
        cloud = _Cloud.of(problem.host_samples)
        return cls(problem.diagonal_at, cloud, cloud.spread, eps ** (1 / 3))

    def climb(self, start: NDArray[np.float64], **options: Any) -> NDArray[np.float64]:
        """Ascend log u from ``start`` in units of ``scale``: tolerances mean the same whatever the units of the data.

        Gradients are central differences in one batch: d evaluations of the score are one call.
        """
        d = len(start)
        moves = self.step * np.vstack([np.zeros(d), np.eye(d), -np.eye(d)])

        def objective(y: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
            with np.errstate(all="ignore"):
                values = self.value(start + self.scale * (y + moves))
            # Where the score overflows nothing is known: a step that leads there is taken back.
            around = np.log(np.maximum(np.where(np.isfinite(values), values, 0.0), 1e-300))
            return -float(around[0]), -(around[1 : d + 1] - around[d + 1 :]) / (2.0 * self.step)

        return np.asarray(start + self.scale * minimize(objective, np.zeros(d), jac=True, **options).x)


def _best(points: NDArray[np.float64], value: _Function) -> float:
    with np.errstate(all="ignore"):
        values = value(points)
    return float(values[np.isfinite(values)].max(initial=0.0))


def _needs_score(problem: SteinProblem) -> None:
    if not problem.evaluable:
        raise TypeError(
            "maximising u(x, x) needs the score away from the samples; `model` is an array of scores. "
            'Pass a score function, or use tau="sample" or a number.'
        )


def _optimised(problem: SteinProblem) -> float:
    """Multistart from the largest sample points, and a look along rays: a lower bound of τ∞, usually sharp."""
    _needs_score(problem)
    x, diagonal = problem.host_samples, to_host(problem.diagonal)
    starts = x[np.argsort(-diagonal)[:_STARTS]]
    surface = _Surface.of(problem)
    found = np.array([surface.climb(start, method="L-BFGS-B") for start in starts])
    far = surface.cloud.rays(1e6 * surface.cloud.spread)
    return _best(np.vstack([starts, found[np.isfinite(found).all(axis=1)], far]), problem.diagonal_at)


def _localised(problem: SteinProblem, region: Ball | Box) -> float:
    """Multistart inside a region, from the largest samples in it and from random points of it."""
    _needs_score(problem)
    x, diagonal = problem.host_samples, to_host(problem.diagonal)
    _check_region(region, x.shape[1])
    inside = region.contains(x)
    best_samples = x[inside][np.argsort(-diagonal[inside])[:_STARTS]]
    random = region.draw(16 * _STARTS, x.shape[1], np.random.default_rng(0))
    random = random[np.argsort(-problem.diagonal_at(random))[:_STARTS]]
    starts = np.vstack([best_samples, random])
    surface = _Surface.of(problem)
    found = np.array([region.climb(start, surface) for start in starts])
    return _best(np.vstack([starts, found]), problem.diagonal_at)


def _check_region(region: Ball | Box, dimension: int) -> None:
    sizes = {np.size(side) for side in vars(region).values() if np.ndim(side)}
    if sizes - {dimension}:
        raise ValueError(f"`tau={region!r}` has {max(sizes)} coordinates, the samples have {dimension} columns.")


@dataclass(frozen=True, eq=False)
class _Cloud:
    """Where the samples lie: a robust centre and scale, and how far out they reach."""

    center: NDArray[np.float64]
    spread: float
    reach: float
    directions: NDArray[np.float64]

    @classmethod
    def of(cls, x: NDArray[np.float64]) -> _Cloud:
        center = np.median(x[:: -(-len(x) // 256)], axis=0)
        distance = np.linalg.norm(x - center, axis=1)
        farthest = np.argpartition(-distance, min(_STARTS, len(x)) - 1)[:_STARTS]
        directions = np.vstack([x[farthest] - center, np.random.default_rng(0).standard_normal((_STARTS, x.shape[1]))])
        norms = np.linalg.norm(directions, axis=1, keepdims=True)
        spread = _spread(distance)
        return cls(center, spread, max(spread, float(distance.max())), directions / np.where(norms > 0.0, norms, 1.0))

    def rays(self, length: float) -> NDArray[np.float64]:
        """Points at that distance from the centre, towards the farthest samples and at random."""
        return self.center + length * self.directions


def _spread(distance: NDArray[np.float64]) -> float:
    """The median distance from the centre, or the smallest positive one."""
    scale = float(np.median(distance)) or float(distance[distance > 0.0].min(initial=math.inf))
    return scale if math.isfinite(scale) else 1.0


def warn_if_unbounded(problem: SteinProblem, what: str) -> None:
    """Warn when u(x, x) visibly grows without bound, since ``what`` is then meaningless.

    With a score function, u(x, x) is compared at 10⁴ and 10⁶ times the distance of the farthest sample. With a
    bare array of scores, an untilted kernel whose scores still grow like |x|^½ or faster among the outermost
    samples is taken to be growing.
    """
    if not _grows(problem):
        return
    remedy = (
        "Use a tilt: `tilt=PolynomialTilt()` or `tilt='auto'`"
        if problem.stein.tilt is None
        else "Use a tilt of larger exponent (b ≥ r/2 for a score that grows like |x|^r)"
    )
    warnings.warn(
        f"{what} needs a bounded Stein kernel, but u(x, x) grows without limit for this model and kernel, so a few far "
        f"outliers can exceed any radius. {remedy}, or state a radius on the KSD scale: `radius=0.1`.",
        UnboundedSteinKernelWarning,
        stacklevel=_levels_to_caller(),
    )


def _grows(problem: SteinProblem) -> bool:
    """Whether u(x, x) grows without bound, found out once for every problem."""
    if problem not in _GROWTH:
        _GROWTH[problem] = _grows_along_rays(problem) if problem.evaluable else _grows_in_sample(problem)
    return _GROWTH[problem]


def _levels_to_caller() -> int:
    """How far up the first frame outside this package is: a warning points at the user's line."""
    level, frame = 1, sys._getframe(1)
    while frame.f_globals.get("__name__", "").partition(".")[0] == "steinball" and frame.f_back is not None:
        level, frame = level + 1, frame.f_back
    return level


def _grows_along_rays(problem: SteinProblem) -> bool:
    cloud = _Cloud.of(problem.host_samples)
    try:
        # Beyond every sample: an outlier at 10⁸ must not hide that u grows.
        values = problem.diagonal_at(np.vstack([cloud.rays(length * cloud.reach) for length in (1e4, 1e6)]))
        near, far = (float(part[np.isfinite(part)].max(initial=0.0)) for part in np.split(values, 2))
    except Exception:  # the user's score need not be defined so far out: then nothing is known
        return False
    return far > 3.0 * max(near, float(to_host(problem.diagonal).max()))


def _grows_in_sample(problem: SteinProblem) -> bool:
    if problem.stein.tilt is not None:
        return False
    x, size = problem.host_samples, np.linalg.norm(to_host(problem.scores), axis=1)
    distance = np.linalg.norm(x - np.median(x, axis=0), axis=1)
    order, few = np.argsort(distance), max(1, len(x) // 20)
    outer, shell = order[-few:], order[-max(2, len(x) // 4) : -few]
    far, near = np.median(distance[outer]), np.median(distance[shell])
    large, small = np.median(size[outer]), np.median(size[shell])
    return bool(far > near > 0.0 and large > small * math.sqrt(far / near))
