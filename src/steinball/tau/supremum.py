"""τ for what the user asked, and whether u(x, x) is bounded at all: proved, apparent, unknown or not."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from steinball.arrays import Floats, as_number, dtype_name, to_host
from steinball.cautions import UnboundedSteinKernelWarning, UncertifiedSupremumWarning
from steinball.gram.base import check_rows
from steinball.models.knowledge import Knowledge
from steinball.remarks import Remark
from steinball.tau.certificate import MOST_BOXES, Supremum, UncertifiedError, best_upper_bound, bound_without_search
from steinball.tau.search import Ball, Box, around_draws, largest_finite, largest_known, localized, optimized
from steinball.tau.tilting import find_ends, finite_decades

if TYPE_CHECKING:
    from steinball.problem import Problem


_FAR_OUT = 1e4, 1e6  # in distances of the farthest sample
_SECOND = 1  # the second decade of rays: two decades show whether something grows

Boundedness = Literal["proved", "apparent", "unknown", "unbounded"]
"""``"proved"``: by a certificate, a bound that was given, or a declared growth. ``"apparent"``: rays show no growth,
and prove nothing. ``"unknown"``: the score is not defined far from the samples, so that nothing shows whether u(x, x)
grows. ``"unbounded"``: u(x, x) visibly grows without limit."""


def boundedness(problem: Problem, tau: Supremum) -> Boundedness:
    """What is known of sup u(x, x) < ∞.

    Examples
    --------
    >>> from steinball.problem import pose
    >>> from steinball.tau.supremum import find_supremum
    >>> from steinball.models import Gaussian
    >>> for tilt in (None, "auto"):
    ...     problem = pose(np.arange(9.0), Gaussian(), tilt=tilt)
    ...     print(boundedness(problem, find_supremum("sample", problem)))
    unbounded
    proved
    """
    if _is_linear(problem):
        return "unbounded"
    if _is_certain(problem) or _is_declared(problem):
        return "proved"
    if grows(problem):
        return "unbounded"
    return "proved" if tau.is_upper_bound else "unknown" if why_unknown(problem) else "apparent"


def _is_declared(problem: Problem) -> bool:
    """Whether the declared growth of the score is within what the tilt takes, at infinity and at every edge.

    A declaration includes \\|s\\| = O(1/r) next to edges, which a weight of order 1 bounds.
    """
    growth = Knowledge(problem.model).growth
    if growth is None or growth > 2.0 * problem.stein.decay:
        return False
    ends = find_ends(problem.model, problem.samples)
    return all(end.steepness <= 0.0 or end.tilt_order(problem.stein.tilt) > 1.0 - 1e-4 for end in ends)


def unbounded_kernel(problem: Problem, what: str) -> Iterator[Remark]:
    """A remark where u(x, x) visibly grows without bound, since ``what`` is then meaningless.

    With a score function, u(x, x) is compared at 10⁴ and 10⁶ times the distance of the farthest sample. With a
    bare array of scores, an untilted kernel whose scores still grow like |x|^½ or faster among the outermost
    samples is taken to be growing.
    """
    needs = f"{what} needs a bounded Stein kernel, "
    if grows(problem):
        remedy = (
            "Use a tilt: `tilt=PolynomialTilt()` or `tilt='auto'`"
            if problem.stein.tilt is None
            else "Use a tilt of larger exponent (b ≥ r/2 for a score that grows like |x|^r)"
        )
        yield Remark(
            UnboundedSteinKernelWarning,
            f"{needs}but u(x, x) grows without limit for this model and kernel, so a few far outliers can exceed any "
            "radius.",
            f"{remedy}, or state a radius on the KSD scale: `radius=0.1`.",
        )
    elif why := why_unknown(problem):
        yield Remark(
            UnboundedSteinKernelWarning,
            f"{needs}and whether u(x, x) is bounded is unknown: the score of the model is not defined far from the "
            f"samples ({why}).",
            "Give a score that is defined everywhere, declare its growth (`sb.from_score(f, growth=1)`), or give a "
            "bound: `tau=3.2`.",
        )


def why_unknown(problem: Problem) -> str:
    """Why nothing shows whether u(x, x) grows, though the model has a score function; empty where something does."""
    if not problem.evaluable or _is_certain(problem) or _is_declared(problem) or grows(problem):
        return ""
    return _seen(problem)[1]


def _seen(problem: Problem) -> tuple[bool, str]:
    """Whether u(x, x) grows without bound, and why nothing shows it; found out once."""

    def look(there: Problem) -> tuple[bool, str]:
        return _grows_somewhere(there), _failure_along_rays(there)

    if not problem.evaluable:
        return problem.once("seen", lambda: (_grows_in_sample(problem), ""))
    return problem.once("seen", lambda: around_draws(problem, "seen", look))


def _failure_along_rays(problem: Problem) -> str:
    """What the score raised far out, or that it is not finite even a hundred median distances from the center."""
    found = _far_out(problem)
    if isinstance(found, str):
        return found
    return "" if np.isfinite(found[0][[-1, _SECOND]]).any() else "it is not finite there"


def _far_out(problem: Problem) -> tuple[Floats, Floats] | str:
    """u(x, x) along rays, decade by decade, (decades, rays), and at two lengths beyond every sample, (2, rays), or what
    the score raised along the rays; found out once, in one call of a score that is defined at all of these points."""

    def look() -> tuple[Floats, Floats] | str:
        cloud = problem.rows.cloud
        decades = cloud.decades.reshape(-1, cloud.decades.shape[-1])
        beyond = [cloud.rays(far * cloud.reach) for far in _FAR_OUT]
        places, why = np.vstack([decades, *beyond]), ""
        for some in (places, decades):  # the user's score need not be defined far out: that is told, or unknown
            try:
                with np.errstate(all="ignore"):
                    values = np.append(problem.diagonal_at(some), np.full(len(places) - len(some), np.nan))
                return values[: len(decades)].reshape(cloud.decades.shape[:2]), values[len(decades) :].reshape(2, -1)
            except Exception as error:
                why = f"{type(error).__name__}: {error}"[:200]
        return why

    return problem.once("far out", look)


def grows(problem: Problem) -> bool:
    """Whether u(x, x) grows without bound."""
    return _is_linear(problem) or (not _is_certain(problem) and _seen(problem)[0])


def _is_linear(problem: Problem) -> bool:
    """Whether the score is known to grow linearly, wherever it is tested, and nothing tames it."""
    radial = Knowledge(problem.rows.original_model).radial_score
    return problem.stein.tilt is None and radial is not None and radial.decay == 0.0


def _is_certain(problem: Problem) -> bool:
    """Whether u(x, x) is proved to be bounded by what the model says of its score."""
    stein, model, d = problem.stein, problem.model, int(problem.samples.shape[1])
    return problem.once("certain", lambda: bound_without_search(stein, model, d, loose=True) is not None)


def _grows_somewhere(problem: Problem) -> bool:
    """Whether u(x, x) grows toward an edge, or along rays as far as the score is defined."""
    for end in find_ends(problem.model, problem.samples):
        if _triples(problem, problem.diagonal_at(end.points[0]), problem.diagonal_at(end.points[-1])):
            return True
    found = _far_out(problem)
    if isinstance(found, str):  # the user's score need not be defined so far out: that is unknown, and no growth
        return False
    decades, beyond = found  # beyond every sample: an outlier at 10⁸ must not hide that u grows
    return _overflows(decades, float(to_host(problem.diagonal).max())) or _triples(problem, *beyond)


def _triples(problem: Problem, before: Floats, after: Floats) -> bool:
    """Whether u(x, x) rises by more than three from some places to others, and above what it is at the samples."""
    first, then = largest_finite(before), largest_finite(after)
    return then > 3.0 * max(first, float(to_host(problem.diagonal).max()))


def _overflows(values: Floats, largest: float) -> bool:
    """Whether u(x, x) overflows along some ray after three times all before it, decade by decade, and the samples."""
    ends = finite_decades(values) - 1
    rays = np.flatnonzero((ends >= 0) & (ends < len(values) - 1))
    before = np.maximum.accumulate(np.vstack([np.full(len(rays), max(largest, 0.0)), values[:, rays]]))
    return bool((values[ends[rays], rays] > 3.0 * before[ends[rays], np.arange(len(rays))]).any())


def _grows_in_sample(problem: Problem) -> bool:
    if problem.stein.tilt is not None:
        return False
    x, size = problem.host_samples, np.linalg.norm(to_host(problem.scores), axis=1)
    distance = np.linalg.norm(x - np.median(x, axis=0), axis=1)
    order, few = np.argsort(distance), max(1, len(x) // 20)
    outer, shell = order[-few:], order[-max(2, len(x) // 4) : -few]
    far, near = np.median(distance[outer]), np.median(distance[shell])
    large, small = np.median(size[outer]), np.median(size[shell])
    return bool(far > near > 0.0 and large > small * math.sqrt(far / near))


_LOOSE = 1.25
"""By how much an upper bound may exceed what is attained before it costs more power than it is worth."""

_FEW_BOXES = 40_000


def find_supremum(tau: Any, problem: Problem) -> Supremum:
    """τ for what the user asked.

    Parameters
    ----------
    tau : "best", "auto", "sample", "optimized", float, Ball or Box
        The best value to be had, the best upper bound there is, the largest u(x, x) of the samples, a search for a
        larger one, a bound that is known, or the maximum over a region. ``"auto"`` has the kind ``"closed form"`` or
        ``"certified"``; where the model gives no certificate it is the sample maximum, with the
        reason. ``"best"`` is the upper bound where that is exact or at most 25 % above a
        value that is attained; otherwise the largest of samples, draws of the model and a search, of the kind
        ``"largest found"``; where u(x, x) has no bound, where the score is not defined far from the samples, or the
        model is an array of scores, the sample maximum.
    problem : Problem
        Samples, model, kernel and tilt.
    """
    check_rows(problem.diagonal)  # names the points that overflow, before anything is searched around them
    sample = float(to_host(problem.diagonal).max())
    if isinstance(tau, (Ball, Box)):
        return Supremum(localized(problem, tau), "localized")
    if not isinstance(tau, str):
        return Supremum(_given(tau, sample), "given")
    if tau == "best":
        return _best(problem, sample)
    if tau == "auto":
        return _proven(problem, sample)
    if tau == "sample":
        return Supremum(sample, "sample")
    if tau == "optimized":
        return Supremum(max(sample, optimized(problem)), "optimized")
    raise ValueError(
        '`tau` must be "best", "auto", "sample", "optimized", a number, or a Ball or Box of `steinball.tau`, '
        f"got {tau!r}."
    )


def _best(problem: Problem, sample: float) -> Supremum:
    """An upper bound costs power where it is loose, and a lower one the level where the samples miss a steep place."""
    bound = _proven(problem, sample, _FEW_BOXES)
    if bound.kind == "closed form":
        return bound
    enough = bound.value / _LOOSE if bound.is_upper_bound else math.inf
    found = largest_known(problem, enough)
    if found >= enough:
        return bound
    if not problem.evaluable or grows(problem) or why_unknown(problem):
        return Supremum(sample, "sample")
    return Supremum(found, "largest found")


def _proven(problem: Problem, sample: float, boxes: int = MOST_BOXES) -> Supremum:
    """The best upper bound, or the sample maximum and why there is none.

    It is found once for a model that does not stand where the rows say. A bound below an attained value is an error of
    somebody's.
    """

    def find() -> Supremum | str:
        try:
            return best_upper_bound(problem, boxes)
        except UncertifiedError as reason:
            return str(reason)

    found = problem.kept(("bound", boxes), find)
    if isinstance(found, str):
        return Supremum(sample, "sample", found)
    slack = 1e-9 if dtype_name(problem.samples) == "float64" else 1e-4
    if found.value < sample * (1.0 - slack):
        raise RuntimeError(
            f"the {found.kind} bound {found.value:g} on u(x, x) lies below {sample:g}, reached at one of the samples: "
            "the model's `score_growth`, `score_bounds` or `radial_score` is wrong, or this library is. "
            "Give `tau` as a number, and report it."
        )
    return Supremum(max(found.value, sample), found.kind)


def uncertified(tau: Supremum) -> Iterator[Remark]:
    """A remark where an upper bound was asked for and is not to be had."""
    if not tau.doubt:
        return
    yield Remark(
        UncertifiedSupremumWarning,
        f"no upper bound on sup u(x, x) is known: {tau.doubt}. The largest value at the samples is used, so statements "
        "about a share of contamination hold for these points and not for the distribution they come from, and "
        "finite-sample guarantees are lost.",
        "Give a bound (`tau=3.2`), give the model a method `score_growth(center)` that returns (A, B) with "
        '|s(x)| ≤ A + B|x − center|, or ask for tau="sample" to use it without this warning.',
    )


def _given(tau: Any, sample: float) -> float:
    value = as_number(tau, "tau", low=0.0, open_low=True)
    if value < sample * (1.0 - 1e-9):
        raise ValueError(
            f"`tau={value:g}` is not an upper bound: u(x, x) reaches {sample:g} at one of the samples. "
            'Give a larger bound, or use tau="sample" or tau="optimized".'
        )
    return value
