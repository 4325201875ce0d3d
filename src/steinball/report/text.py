"""A test result as a short block of plain text, wrapped at 80 columns."""

from __future__ import annotations

import dataclasses
import math
import re
import textwrap
from typing import TYPE_CHECKING, Any

import numpy as np

from steinball.features.kinds import is_upper_bound

if TYPE_CHECKING:
    from steinball.results.gof import GofResult

__all__ = ["WIDTH", "conceded", "decision", "describe", "number", "percent", "render_summary"]

WIDTH = 80
"""Columns of a report."""

_TAU_KINDS = {
    "sample": "the largest u(x, x) of these points, a lower bound of its supremum",
    "optimized": "found by maximizing u(x, x) from the largest points, a lower bound of its supremum",
    "given": "an upper bound given by the user",
    "localized": "the supremum of u(x, x) over the stated region only",
    "closed form": "the supremum of u(x, x), in closed form",
    "certified": "a proven upper bound of u(x, x)",
}
_GRADES = {
    "certified": "certified: every value within its error bounds leads to the same decision",
    "approximate": "approximate: the exact sums might decide otherwise",
}


def render_summary(result: GofResult) -> str:
    """The result of a test in words and numbers: what was tested, what came out, what it means.

    Parameters
    ----------
    result : GofResult
        The result of :func:`steinball.ksd_test` or :func:`steinball.robust_ksd_test`.

    Examples
    --------
    >>> import numpy as np, steinball as sb
    >>> x = np.random.default_rng(0).normal(size=100)
    >>> result = sb.robust_ksd_test(x, sb.models.Gaussian(0.0, 1.0), contamination=0.05, rng=0)
    >>> print(render_summary(result))
    Robust kernel Stein goodness-of-fit test
      data       100 points in 1 dimension
    ...
    """
    lines = [_title(result), *_table(_rows(result)), "", *_wrap(decision(result))]
    if concession := conceded(result):
        lines += _wrap(concession)
    return "\n".join(lines)


def _title(result: GofResult) -> str:
    kind = "Robust" if result.radius > 0 else "Standard" if result.tilt is None else "Tilted"
    return f"{kind} kernel Stein goodness-of-fit test"


def _rows(result: GofResult) -> list[tuple[str, str, str]]:
    """Label, value, note of every line of the table."""
    columns = "1 dimension" if result.dimension == 1 else f"{result.dimension} dimensions"
    return [
        ("data", f"{result.n} points in {columns}", ""),
        ("kernel", describe(result.kernel), ""),
        ("tilt", describe(result.tilt), ""),
        ("D", number(result.ksd), f"distance of the data from the model (KSD, {result.estimator.upper()}-statistic)"),
        ("", _range(result), f"{percent(1 - result.level)} interval for that of their distribution"),
        ("θ", number(result.radius), _tolerance(result)),
        ("τ", number(result.tau), _TAU_KINDS.get(result.tau_kind, result.tau_kind)),
        ("statistic", number(result.statistic), f"max(0, D − θ); {_rule(result)}"),
        ("p-value", number(result.pvalue), _calibration(result)),
        ("engine", f"{result.engine}, {_GRADES.get(result.grade, result.grade)}", ""),
    ]


def _tolerance(result: GofResult) -> str:
    if result.radius == 0:
        return "nothing is tolerated"
    if result.contamination is not None:
        return f"tolerated: {percent(result.contamination)} of contamination, wherever it lies"
    return "tolerated distance"


def _range(result: GofResult) -> str:
    """The two-sided interval for the distance of the distribution."""
    low, high = result.interval()
    return f"{low:.3g} – {high:.3g}" if math.isfinite(high) else f"≥ {low:.3g}"


def _rule(result: GofResult) -> str:
    if math.isinf(result.threshold):
        return "no value can reject at this level"
    return f"rejected above {number(result.threshold)}"


def _calibration(result: GofResult) -> str:
    name = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", result.calibration).lower()
    return f"{name}, {result.n_resamples} draws" if result.n_resamples else name


def decision(result: GofResult) -> str:
    """The decision in one sentence; not rejecting is never worded as support for the model."""
    level, tolerated = f"at level {result.level:g}", _tolerated(result)
    if result.rejected:
        even = f", even {tolerated}" if tolerated else ""
        return f"REJECTED {level}: the data contradict the model{even}."
    if result.verdict == "good enough":
        confidence = percent(1 - result.level)
        return (
            f"NOT REJECTED {level}, and GOOD ENOUGH: at confidence {confidence} the data come from within θ of the "
            "model. This does not prove the model."
        )
    words = f" {tolerated}" if tolerated else ""
    undecided = " Nor do they show that it is good enough: undecided." if result.radius > 0 else ""
    return (
        f"NOT REJECTED {level}: the data do not contradict the model{words}. This does not prove the model.{undecided}"
    )


def _tolerated(result: GofResult) -> str:
    if result.radius == 0:
        return ""
    if result.contamination is not None:
        return f"if up to {percent(result.contamination)} of them may be contaminated"
    return f"up to a distance of {number(result.radius)}"


def conceded(result: GofResult) -> str:
    """The contamination that must be conceded, in one sentence; empty when it is none."""
    bound = result.contamination_bound
    if bound == 0:
        return ""
    whose = "of these points are contaminated"  # holds as long as τ is at least their largest u(x, x)
    if is_upper_bound(result.tau_kind):
        whose = "of the distribution they come from is contaminated"
    elif result.tau_kind == "localized":
        whose += ", if contamination lies within the stated region"
    return f"At confidence {percent(1 - result.level)}, at least {percent(bound, down=True)} {whose}."


def percent(share: float, *, down: bool = False) -> str:
    """A share as a percentage of three digits; a lower bound is rounded down."""
    value = 100 * share
    if down and value > 0:
        step = 10.0 ** (math.floor(math.log10(value)) - 2)
        value = math.floor(value / step) * step
    return f"{value:.3g} %"


def number(value: float) -> str:
    """A number in four digits."""
    return f"{value:.4g}"


def describe(thing: object) -> str:
    """A kernel or tilt in one short phrase: fields in four digits, long arrays by their shape.

    Examples
    --------
    >>> from steinball.kernels import InverseMultiquadric
    >>> describe(InverseMultiquadric(lengthscale=2 / 3))
    'InverseMultiquadric(lengthscale=0.6667, exponent=0.5)'
    """
    if thing is None:
        return "none"
    if isinstance(thing, (int, float)):
        return number(thing)
    if dataclasses.is_dataclass(thing):
        parts = ((field.name, getattr(thing, field.name)) for field in dataclasses.fields(thing))
        return f"{type(thing).__name__}({', '.join(f'{k}={describe(v)}' for k, v in parts if v is not None)})"
    if isinstance(thing, (tuple, np.ndarray)):
        return _describe_array(np.asarray(thing))
    return repr(thing)


def _describe_array(values: Any) -> str:
    if values.size == 1:
        return number(values.item())
    if values.ndim == 1 and values.size <= 3:
        return f"({', '.join(number(v) for v in values)})"
    return f"<{' × '.join(map(str, values.shape))} numbers>"


def _table(rows: list[tuple[str, str, str]]) -> list[str]:
    labels = max(len(label) for label, _, _ in rows)
    values = max(len(value) for _, value, note in rows if note)
    return [line for row in rows for line in _row(row, labels, values)]


def _row(row: tuple[str, str, str], labels: int, values: int) -> list[str]:
    """One line, or more where it does not fit: the rest is indented below its own column."""
    label, value, note = row
    head = f"  {label:<{labels}}  "
    if note:
        head, value = f"{head}{value:<{values}}  ", note
    return textwrap.wrap(value, WIDTH, initial_indent=head, subsequent_indent=" " * len(head), break_long_words=False)


def _wrap(sentence: str) -> list[str]:
    return textwrap.wrap(sentence, WIDTH, initial_indent="  ", subsequent_indent="  ")
