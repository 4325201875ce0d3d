"""All that can be said of a problem before its pairs are looked at."""

from __future__ import annotations

from steinball.checks.fitted import warn_if_fitted
from steinball.checks.gradient import warn_if_wrong
from steinball.checks.identity import check_identity
from steinball.checks.rounding import warn_if_rounded
from steinball.checks.sizes import warn_if_few
from steinball.stein import SteinProblem


def look_over(problem: SteinProblem, check_model: bool, displacement: float = 0.0) -> None:
    """Warn of few rows, of data that were rounded by more than the ``displacement`` that is tolerated, of a model that
    was fitted on them, and of one that contradicts itself."""
    warn_if_few(problem.samples)
    warn_if_rounded(problem, displacement)
    if check_model:
        warn_if_fitted(problem)
        warn_if_wrong(problem)
        check_identity(problem)
