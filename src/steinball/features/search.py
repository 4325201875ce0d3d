"""Lower bounds of τ by search: multistart from the largest samples, everywhere or inside a region."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from steinball.arrays import Floats, to_host
from steinball.features.regions import STARTS, Ball, Box, Surface

if TYPE_CHECKING:
    from steinball.problem import Problem


_LENGTHS = np.geomspace(1e-2, 1e4, 64)  # along rays, in units of the spread of the samples
_EVALUATIONS = 4000  # of the score, that a search may take beyond the rays: about ten points cost a climb in d = 1
_STEPS = 20


def _best(points: Floats, problem: Problem) -> float:
    with np.errstate(all="ignore"):
        values = problem.diagonal_at(points)
    return float(values[np.isfinite(values)].max(initial=0.0))


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
    surface = Surface.of(problem)
    found = np.array([surface.climb(start, method="L-BFGS-B") for start in starts])
    far = surface.cloud.rays(1e6 * surface.cloud.spread)
    return _best(np.vstack([starts, found[np.isfinite(found).all(axis=1)], far]), problem)


def largest_known(problem: Problem, enough: float = np.inf) -> float:
    """The largest u(x, x) at the samples, at draws of the model, and by a search; no search once ``enough`` is reached.

    The search looks along rays at all distances, so that a steep edge between the samples and infinity is seen, and
    climbs from the best places; the climbs are left out in many dimensions, where they cost more than the test.
    """
    best = float(to_host(problem.diagonal).max())
    if not problem.evaluable:
        return best
    try:
        values = problem.diagonal_at_reference()
        best = best if values is None else max(best, float(values[np.isfinite(values)].max(initial=0.0)))
        return best if best >= enough else max(best, _along_rays(problem))
    except Exception:  # the user's score need not be defined everywhere: what is known is known
        return best


def _along_rays(problem: Problem) -> float:
    surface, d = Surface.of(problem), problem.samples.shape[1]
    places = np.vstack([surface.cloud.rays(length * surface.cloud.spread) for length in _LENGTHS])
    places = np.vstack([places, problem.host_samples])
    with np.errstate(all="ignore"):
        values = problem.diagonal_at(places)
    order = np.argsort(-np.where(np.isfinite(values), values, 0.0))
    starts = places[order[: min(STARTS, _EVALUATIONS // (_STEPS * (2 * d + 1)))]]
    climbed = [surface.climb(start, method="L-BFGS-B", options={"maxiter": _STEPS}) for start in starts]
    return _best(np.vstack([places[order[:1]], *(place for place in climbed if np.isfinite(place).all())]), problem)


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
    surface = Surface.of(problem)
    found = np.array([region.climb(start, surface) for start in starts])
    return _best(np.vstack([starts, found]), problem)


def _check_region(region: Ball | Box, dimension: int) -> None:
    sizes = {np.size(side) for side in vars(region).values() if np.ndim(side)}
    if sizes - {dimension}:
        raise ValueError(f"`tau={region!r}` has {max(sizes)} coordinates, the samples have {dimension} columns.")
