"""τ for what the user asked."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from steinball.arrays import as_number, dtype_name, to_host
from steinball.cautions import UncertifiedSupremumWarning
from steinball.gram.base import check_rows
from steinball.remarks import Remark
from steinball.tau.certificate import Supremum, UncertifiedError, best_upper_bound
from steinball.tau.search import Ball, Box, largest_known, localized, optimized
from steinball.tau.shells import MOST_BOXES
from steinball.tau.unbounded import grows, why_unknown

if TYPE_CHECKING:
    from steinball.problem import Problem


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
        found = _proven(problem, sample)
        return Supremum(sample, "sample", found) if isinstance(found, str) else found
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
    bound, enough = _proven(problem, sample, _FEW_BOXES), math.inf
    if isinstance(bound, Supremum):
        if bound.kind == "closed form":
            return bound
        enough = bound.value / _LOOSE
    found = largest_known(problem, enough)
    if isinstance(bound, Supremum) and found >= enough:
        return bound
    if not problem.evaluable or grows(problem) or why_unknown(problem):
        return Supremum(sample, "sample")
    return Supremum(found, "largest found")


def _proven(problem: Problem, sample: float, boxes: int = MOST_BOXES) -> Supremum | str:
    """The best upper bound, or why there is none; a bound below an attained value is an error of somebody's."""
    found = _bound(problem, boxes)
    if isinstance(found, str):
        return found
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


def _bound(problem: Problem, boxes: int) -> Supremum | str:
    """The best upper bound, or why there is none; found once for a model that does not stand where the rows say."""

    def find() -> Supremum | str:
        try:
            return best_upper_bound(problem, boxes)
        except UncertifiedError as reason:
            return str(reason)

    return problem.kept(("bound", boxes), find)


def _given(tau: Any, sample: float) -> float:
    value = as_number(tau, "tau", low=0.0, open_low=True)
    if value < sample * (1.0 - 1e-9):
        raise ValueError(
            f"`tau={value:g}` is not an upper bound: u(x, x) reaches {sample:g} at one of the samples. "
            'Give a larger bound, or use tau="sample" or tau="optimized".'
        )
    return value
