"""What is said of a problem before it is tested: rounded data, models fitted on them or in contradiction."""

from steinball.checks.fitted import warn_if_fitted as _warn_if_fitted
from steinball.checks.identity import check_identity as _check_identity
from steinball.checks.rounding import warn_if_rounded as _warn_if_rounded
from steinball.stein import SteinProblem

__all__ = ["look_over"]


def look_over(problem: SteinProblem, check_model: bool) -> None:
    """Warn of rounded data, of a model that was fitted on them, and of one that its own draws contradict."""
    _warn_if_rounded(problem)
    if check_model:
        _warn_if_fitted(problem)
        _check_identity(problem)
