"""All that can be said of a problem before its pairs are looked at."""

from __future__ import annotations

from steinball.checks.identity import check_identity
from steinball.checks.rounding import warn_if_rounded
from steinball.checks.sizes import warn_if_few
from steinball.stein import SteinProblem


def look_over(problem: SteinProblem, check_model: bool) -> None:
    """Warn of few rows and of rounded data, and of a model that its own draws contradict."""
    warn_if_few(problem.samples)
    warn_if_rounded(problem)
    if check_model:
        check_identity(problem)
