"""τ for what the user asked."""

from __future__ import annotations

from typing import Any

from steinball.arrays import as_number, dtype_name, to_host
from steinball.cautions import UncertifiedSupremumWarning, caution, renamed
from steinball.features.certificate import UncertifiedError, best_upper_bound
from steinball.features.kinds import Supremum
from steinball.features.regions import Ball, Box
from steinball.features.search import localized, optimized
from steinball.gram.base import check_rows
from steinball.stein import SteinProblem

__all__ = ["find_supremum"]


def find_supremum(tau: Any, problem: SteinProblem) -> Supremum:
    """τ for what the user asked.

    Parameters
    ----------
    tau : "auto", "sample", "optimized", float, Ball or Box
        The best upper bound there is, the largest u(x, x) of the samples, a search for a larger one, a bound that is
        known, or the maximum over a region. ``"auto"`` has the kind ``"closed form"`` or ``"certified"``; where the
        model gives no certificate it is the sample maximum, with :class:`UncertifiedSupremumWarning`.
    problem : SteinProblem
        Samples, model, kernel and tilt.
    """
    check_rows(problem.diagonal)  # names the points that overflow, before anything is searched around them
    sample = float(to_host(problem.diagonal).max())
    if isinstance(tau, (Ball, Box)):
        return Supremum(localized(problem, tau), "localized")
    if not isinstance(tau, str):
        return Supremum(_given(tau, sample), "given")
    if tau == "auto":
        return _automatic(problem, sample)
    if tau == "sample":
        return Supremum(sample, "sample")
    if tau == "optimised":
        renamed('tau="optimised"', 'tau="optimized"')
    if tau in ("optimized", "optimised"):
        return Supremum(max(sample, optimized(problem)), "optimized")
    raise ValueError(
        f'`tau` must be "auto", "sample", "optimized", a number, or a Ball or Box of `steinball.features`, got {tau!r}.'
    )


def _automatic(problem: SteinProblem, sample: float) -> Supremum:
    try:
        found = best_upper_bound(problem)
    except UncertifiedError as reason:
        _warn(str(reason))
        return Supremum(sample, "sample")
    slack = 1e-9 if dtype_name(problem.samples) == "float64" else 1e-4
    if found.value < sample * (1.0 - slack):
        raise RuntimeError(
            f"the {found.kind} bound {found.value:g} on u(x, x) lies below {sample:g}, reached at one of the samples: "
            "the model's `score_growth`, `score_bounds` or `radial_score` is wrong, or this library is. "
            "Give `tau` as a number, and report it."
        )
    return Supremum(max(found.value, sample), found.kind)


def _warn(reason: str) -> None:
    caution(
        UncertifiedSupremumWarning,
        f"no upper bound on sup u(x, x) is known: {reason}. The largest value at the samples is used, so statements "
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
