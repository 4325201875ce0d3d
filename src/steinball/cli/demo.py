"""The demonstration: what a week's work paid, a model that is good enough and one that is not."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import NamedTuple

from steinball import CheckResult, GofResult, check, ksd_test, split
from steinball.arrays import Floats
from steinball.datasets import load_wages
from steinball.text import percent, wrap

TOLERANCE = 0.05
SEED = 0


class Story(NamedTuple):
    """Two models that were fitted on one half of the wages, and what the other half says of them."""

    fitted: int
    standard: GofResult
    good: CheckResult
    wrong: CheckResult
    negative: float
    """The share of negative wages in the normal distribution."""


def tell() -> Story:
    """Fit a gamma and a normal distribution to half of the wages, and check both on the other half.

    Examples
    --------
    >>> story = tell()
    >>> story.standard.rejected, story.good.verdict, story.wrong.verdict
    (True, 'good enough', 'misfit')
    """
    from scipy import stats

    first, second = split(load_wages(), rng=SEED)
    gamma = stats.gamma(*stats.gamma.fit(first[:, 0], floc=0.0))
    normal = stats.norm(*stats.norm.fit(first[:, 0]))
    standard = ksd_test(second, gamma, rng=SEED)
    return Story(len(first), standard, _checked(second, gamma), _checked(second, normal), float(normal.cdf(0.0)))


def _checked(wages: Floats, model: object) -> CheckResult:
    """The check, with the call that a user would write and the name of the column."""
    return check(wages, model, tolerance=TOLERANCE, rng=SEED)._called(_CALL, ("wage",))


def demonstrate(output: str | None = None) -> str:
    """The whole demonstration as text; its picture and its report are written to a folder, and named at the end."""
    story = tell()
    return f"{render_demo(story)}\n\n{_written(story, output)}"


def _written(story: Story, output: str | None) -> str:
    """Write the picture and the report, and say where they are."""
    folder = Path(output or tempfile.mkdtemp(prefix="steinball-demo-"))
    folder.mkdir(parents=True, exist_ok=True)
    try:
        picture = str(story.good.plot(folder / "wages.png"))
    except ValueError as error:
        picture = f"not drawn: {error}"
    page = story.good.report(folder / "wages.html", title="Weekly wages against a gamma distribution")
    return f"Picture  {picture}\nReport   {page}"


def render_demo(story: Story) -> str:
    """The story in plain words."""
    sections = [
        ("Does a gamma distribution describe weekly wages?", _data(story)),
        ("1. The standard test tolerates nothing", f"{_said(story.standard)}\n{wrap(_WHY)}"),
        ("2. You say what you tolerate", f"{wrap(_TOLERATED)}\n\n  {_CALL}"),
        ("", _said(story.good)),
        ("3. A wrong model is found: a normal distribution, fitted on the same half", _wrong(story)),
    ]
    return "\n\n".join(f"{title}\n{body}".strip("\n") for title, body in sections)


_CALL = f"sb.check(wages, model, tolerance={TOLERANCE:g})"


def _said(result: CheckResult | GofResult) -> str:
    """The verdict in words, without the line of numbers."""
    return wrap(" ".join(str(result).partition("\n  p-value")[0].split()), indent=4)


def _data(story: Story) -> str:
    return wrap(
        f"The data are {story.fitted + story.good.n:,} men who worked full time (US Census Bureau, 1988). The model "
        f"is fitted on one half of them, and checked on the {story.good.n:,} men of the other half."
    )


def _wrong(story: Story) -> str:
    negative = percent(round(story.negative, 2))
    why = f"A normal distribution is symmetric, and this one expects {negative} of the men to earn less than nothing."
    return f"{_said(story.wrong)}\n{wrap(why)}"


_WHY = (
    "The reason is known. More than half of the men named a whole number of thousand dollars a year, and 177 wages "
    "stand at 99,999 dollars. No smooth curve has such heaps. With enough rows the standard test rejects every "
    "smooth curve."
)
_TOLERATED = (
    "Suppose that the heaps do not matter for what you do with the model. Tolerate differences of 5 points: in no "
    "range of wages may the share of men differ from the probability of the model by more."
)
