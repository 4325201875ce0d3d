"""What is said of a problem before it is tested: rounded data, models that contradict themselves."""

from steinball.checks.gradient import warn_if_wrong as _warn_if_wrong
from steinball.checks.identity import check_identity as _check_identity
from steinball.checks.rounding import warn_if_rounded as _warn_if_rounded
from steinball.stein import SteinProblem

__all__ = ["look_over"]


def look_over(problem: SteinProblem, check_model: bool) -> None:
    """Warn of rounded data, and of a model that its own log density or draws contradict."""
    _warn_if_rounded(problem)
    if check_model:
        _warn_if_wrong(problem)
        _check_identity(problem)
