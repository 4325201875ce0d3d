"""What is said of a problem before it is tested: rounded data, models that contradict themselves."""

from steinball.checks.identity import check_identity as _check_identity
from steinball.checks.rounding import warn_if_rounded as _warn_if_rounded
from steinball.stein import SteinProblem

__all__ = ["look_over"]


def look_over(problem: SteinProblem, check_model: bool) -> None:
    """Warn of rounded data, and of a model that its own draws contradict."""
    _warn_if_rounded(problem)
    if check_model:
        _check_identity(problem)
