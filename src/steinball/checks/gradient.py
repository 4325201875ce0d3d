"""A user's score against the user's own log density, and edges that nobody declared."""

from __future__ import annotations

import time
from typing import Any
from weakref import WeakSet

from steinball.arrays import Array
from steinball.cautions import WrongScoreWarning, caution
from steinball.models.knowledge import Knowledge
from steinball.models.score_check import check_score, undeclared_edges
from steinball.stein import SteinProblem

__all__ = ["warn_if_wrong"]

POINTS = 25
PATIENCE = 0.05
"""Seconds that the log density may take at these points before it is left alone."""

_MOST_COLUMNS = 10
_DONE: WeakSet[Any] = WeakSet()


def warn_if_wrong(problem: SteinProblem) -> None:
    """Warn, once per model, of a score that is not the gradient of the model's log density, or of an edge of it.

    Cheap: at 25 of the samples, in up to ten dimensions, for log densities that are quick; built-in models are known to
    be right, and the score of a differentiated log density is.
    """
    known = Knowledge(problem.model)
    if known.verified or known.log_density is None or not known.evaluable or problem.samples.shape[1] > _MOST_COLUMNS:
        return
    if not _first_time(known.original):
        return
    try:
        finding = _finding(problem.model, problem.samples[:POINTS, :])
    except Exception:  # what fails here fails where it is needed, by name
        return
    if finding:
        caution(
            WrongScoreWarning,
            f"the model contradicts itself. {finding}",
            "`sb.check_score` shows it; `check_model=False` turns this off.",
        )


def _first_time(model: Any) -> bool:
    try:
        if model in _DONE:
            return False
        _DONE.add(model)
    except TypeError:  # cannot be remembered, so that it would be checked every time
        return False
    return True


def _finding(model: Any, x: Array) -> str:
    known = Knowledge(model)
    assert known.log_density is not None
    start = time.monotonic()
    known.log_density(x)
    if time.monotonic() - start > PATIENCE:
        return ""
    if known.derived:
        endings = undeclared_edges(model, known.log_density, x)
        return f"{endings[0].finding} Say where it ends: `support=...`." if endings else ""
    found = check_score(model, x)
    return "" if found.ok else found.message
