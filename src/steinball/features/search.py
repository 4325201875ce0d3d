"""Lower bounds of τ by search: multistart from the largest samples, everywhere or inside a region."""

from __future__ import annotations

import numpy as np

from steinball.arrays import Floats, to_host
from steinball.features.regions import STARTS, Ball, Box, Surface
from steinball.stein import SteinProblem


def _best(points: Floats, problem: SteinProblem) -> float:
    with np.errstate(all="ignore"):
        values = problem.diagonal_at(points)
    return float(values[np.isfinite(values)].max(initial=0.0))


def _needs_score(problem: SteinProblem) -> None:
    if not problem.evaluable:
        raise TypeError(
            "maximizing u(x, x) needs the score away from the samples; `model` is an array of scores. "
            'Pass a score function, or use tau="sample" or a number.'
        )


def optimized(problem: SteinProblem) -> float:
    """Multistart from the largest sample points, and a look along rays: a lower bound of τ∞, usually sharp."""
    _needs_score(problem)
    x, diagonal = problem.host_samples, to_host(problem.diagonal)
    starts = x[np.argsort(-diagonal)[:STARTS]]
    surface = Surface.of(problem)
    found = np.array([surface.climb(start, method="L-BFGS-B") for start in starts])
    far = surface.cloud.rays(1e6 * surface.cloud.spread)
    return _best(np.vstack([starts, found[np.isfinite(found).all(axis=1)], far]), problem)


def localized(problem: SteinProblem, region: Ball | Box) -> float:
    """Multistart inside a region, from the largest samples in it and from random points of it."""
    _needs_score(problem)
    x, diagonal = problem.host_samples, to_host(problem.diagonal)
    _check_region(region, x.shape[1])
    inside = region.contains(x)
    best_samples = x[inside][np.argsort(-diagonal[inside])[:STARTS]]
    random = region.draw(16 * STARTS, x.shape[1], np.random.default_rng(0))
    random = random[np.argsort(-problem.diagonal_at(random))[:STARTS]]
    starts = np.vstack([best_samples, random])
    surface = Surface.of(problem)
    found = np.array([region.climb(start, surface) for start in starts])
    return _best(np.vstack([starts, found]), problem)


def _check_region(region: Ball | Box, dimension: int) -> None:
    sizes = {np.size(side) for side in vars(region).values() if np.ndim(side)}
    if sizes - {dimension}:
        raise ValueError(f"`tau={region!r}` has {max(sizes)} coordinates, the samples have {dimension} columns.")
