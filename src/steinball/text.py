"""Text for people: one way to write a number, a percentage, a count, a kernel and a whole report."""

from __future__ import annotations

import dataclasses
import html
import math
import re
import textwrap
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np

WIDTH = 80
"""Columns of a report."""

BRIEF_WIDTH = 119
"""Columns of a brief answer, which is a paragraph."""

Row = tuple[str, str] | tuple[str, str, str]
"""Label and value; or label, value and a note, which stands in a column of its own."""


class Summarized(ABC):
    """Something that prints its summary."""

    @abstractmethod
    def summary(self) -> str:
        """What it says, in words."""

    def __str__(self) -> str:
        return self.summary()

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(self.summary())}</pre>"


def render(title: str, rows: Sequence[Row], sentence: str) -> str:
    """A title, a table, and what it means in words; each line of ``sentence`` is a paragraph.

    Examples
    --------
    >>> print(render("A test", [("data", "9 points"), ("D", "0.1", "the distance")], "NOT REJECTED."))
    A test
      data  9 points
      D     0.1  the distance
    <BLANKLINE>
      NOT REJECTED.
    """
    labels = max(len(row[0]) for row in rows)
    values = max((len(row[1]) for row in rows if len(row) == 3), default=0)
    paragraphs = [wrap(paragraph, indent=2) for paragraph in sentence.split("\n")]
    return "\n".join([title, *(_line(row, labels, values) for row in rows), "", *paragraphs])


def brief(sentences: Sequence[str], numbers: Sequence[str]) -> str:
    """A paragraph, and a line of numbers below it.

    Examples
    --------
    >>> print(brief(["UNDECIDED at level 0.05.", "", "Too few data."], ["p-value 0.3", "999 draws"]))
    UNDECIDED at level 0.05. Too few data.
      p-value 0.3 · 999 draws
    """
    paragraph = textwrap.fill(" ".join(filter(None, sentences)), BRIEF_WIDTH, break_long_words=False)
    return f"{paragraph}\n  {' · '.join(filter(None, numbers))}"


def short(value: float) -> str:
    """A number in three digits; thousands are written out."""
    digits = f"{value:.3g}"
    return f"{value:,.0f}" if "e+0" in digits and abs(value) < 1e6 else digits


def _line(row: Row, labels: int, values: int) -> str:
    """One line, or more where it does not fit: the rest is indented below its own column."""
    head, last = f"  {row[0]:<{labels}}  ", row[-1]
    if len(row) == 3:
        head += f"{row[1]:<{values}}  "
    return textwrap.fill(last, WIDTH, initial_indent=head, subsequent_indent=" " * len(head), break_long_words=False)


def wrap(sentence: str, indent: int = 0) -> str:
    """A sentence, indented and wrapped."""
    return textwrap.fill(sentence, WIDTH, initial_indent=" " * indent, subsequent_indent=" " * indent)


def number(value: float) -> str:
    """A number in four digits."""
    return f"{value:.4g}"


def count(size: float, noun: str = "") -> str:
    """A whole number of things, such as 20,000 points."""
    return f"{size:,.0f}" + (f" {noun}{'s' * (size != 1)}" if noun else "")


def percent(share: float, *, down: bool = False) -> str:
    """A share as a percentage of three digits; a lower bound is rounded down."""
    value = 100 * share
    if down and value > 0:
        step = 10.0 ** (math.floor(math.log10(value)) - 2)
        value = math.floor(value / step) * step
    return f"{value:.3g} %"


def spaced(name: str) -> str:
    """The name of a class as words."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).lower()


def describe(thing: object) -> str:
    """A kernel, tilt or radius in one short phrase: fields in four digits, long arrays by their shape.

    Examples
    --------
    >>> from steinball.kernels import InverseMultiquadric
    >>> describe(InverseMultiquadric(lengthscale=2 / 3))
    'InverseMultiquadric(lengthscale=0.6667, exponent=0.5)'
    """
    if thing is None:
        return "none"
    if isinstance(thing, (int, float)) and not isinstance(thing, bool):
        return number(thing)
    if dataclasses.is_dataclass(thing):
        held = vars(thing)  # a large matrix that is made when it is asked for is not
        parts = ((field.name, held[field.name]) for field in dataclasses.fields(thing) if field.name in held)
        fields = ", ".join(f"{k}={describe(v)}" for k, v in parts if v is not None and not k.startswith("_"))
        return f"{type(thing).__name__}({fields})"
    if isinstance(thing, (tuple, np.ndarray)):
        return _describe_array(np.asarray(thing))
    return repr_without_address(thing)


def repr_without_address(thing: object) -> str:
    """The repr of a thing without the place where it lay in memory, which helps nobody.

    Examples
    --------
    >>> repr_without_address(repr_without_address)
    '<function repr_without_address>'
    """
    return re.sub(r" at 0x[0-9a-f]+", "", repr(thing))


def _describe_array(values: np.ndarray) -> str:
    if values.size == 1:
        return describe(values.item())
    if values.ndim == 1 and values.size <= 3:
        return f"({', '.join(describe(value) for value in values.tolist())})"
    return f"<{' × '.join(map(str, values.shape))} numbers>"


# Okabe and Ito's colors, which people who see colors differently can tell apart; the words say the same.
_COLORS = dict.fromkeys(("MISFIT", "REJECTED", "ALARM"), "#E8853D") | dict.fromkeys(
    ("GOOD ENOUGH", "CLOSE IN KSD", "DIFFERENCE SHOWN"), "#33B892"
)
_BOX = "border:1px solid rgba(128,128,128,.4);border-left:6px solid {};border-radius:6px;padding:.6em 1em;max-width:9in"
_CHIP = "background:{};color:#000;border-radius:4px;padding:.1em .5em;font-weight:700"
_CELL = "text-align:left;vertical-align:top;padding:.15em .9em .15em 0;background:transparent;border:0"


def card(word: str, title: str, sentence: str, rows: Sequence[Row] = ()) -> str:
    """The word that decides, what it means, what it is about, and a table to unfold, whose short rows are filled up.

    Examples
    --------
    >>> page = card("MISFIT", "A <test>", "The data contradict the model.", [("D", "0.1")])
    >>> "MISFIT" in page, "A &lt;test&gt;" in page
    (True, True)
    """
    color = _COLORS.get(word, "#E6B84A")
    chip = f'<span style="{_CHIP.format(color)}">{html.escape(word)}</span> ' if word else ""
    first, *others = [html.escape(part) for part in sentence.split("\n")]
    paragraphs = "".join(f'<p style="margin:.4em 0">{part}</p>' for part in (chip + first, *others) if part)
    about = f'<p style="margin:0;opacity:.75">{html.escape(title)}</p>'
    width = max((len(row) for row in rows), default=0)
    lines = "".join(_line_of_table([*row, *[""] * (width - len(row))]) for row in rows)
    table = f'<table style="border-collapse:collapse;margin:.4em 0">{lines}</table>'
    fold = f"<details><summary>details</summary>{table}</details>" if rows else ""
    return f'<div class="steinball-card" style="{_BOX.format(color)}">{about}{paragraphs}{fold}</div>'


def _line_of_table(cells: Sequence[str]) -> str:
    return "<tr>" + "".join(f'<td style="{_CELL}">{html.escape(text)}</td>' for text in cells) + "</tr>"


def plain(value: Any) -> Any:
    """A value for JSON: what is not finite is ``None``, tuples are lists, other objects are their reprs."""
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, (list, tuple)):
        return [plain(part) for part in value]
    return {key: plain(part) for key, part in value.items()} if isinstance(value, dict) else repr(value)


# What results of tests say.

CONTAMINATED = "Contaminated means: does not come from the model."
OF_POINTS = "of these points are contaminated"
OF_DISTRIBUTION = "of the distribution they come from is contaminated"
UNPROVED = "This does not prove the model"


def decided(
    rejected: bool, where: str, tolerated: str, words: tuple[str, str, str] = ("the data", "the model", UNPROVED)
) -> str:
    """The decision in a sentence, and what does not follow from it.

    ``words`` are the subject of that sentence, its object, and what a decision in favor does not prove.
    """
    subject, target, unproved = words
    if rejected:
        return f"REJECTED {where}: {subject} contradict {target}{', even ' * bool(tolerated)}{tolerated}."
    found = f"NOT REJECTED {where}: {subject} do not contradict {target} {tolerated}".rstrip()
    return f"{found}. {unproved}."


def tolerated(contamination: float | None, radius: float = 0.0) -> str:
    """The tolerance, a share or else a distance, as words for :func:`decided`; empty where nothing is tolerated."""
    if contamination is None:
        return f"up to a distance of {number(radius)}" if radius > 0 else ""
    return f"if up to {percent(contamination)} of them may be contaminated" if contamination > 0 else ""


def measured(name: str, distance: float, radius: float) -> str:
    """A distance, and what was tolerated of it."""
    return f"{name} {short(distance)}" + f" (tolerated {short(radius)})" * (radius > 0.0)


class Reported(Summarized):
    """What is shown of every result, in the same way: an answer of four lines, a table, a card in a notebook."""

    level: float

    @property
    @abstractmethod
    def title(self) -> str:
        """Which test it was."""

    @abstractmethod
    def rows(self) -> list[Row]:
        """The table of the summary."""

    @abstractmethod
    def sentence(self) -> str:
        """The decision in words."""

    @abstractmethod
    def _headline(self) -> str:
        """The verdict in capital letters."""

    @abstractmethod
    def _brief(self) -> tuple[list[str], list[str]]:
        """What was found in sentences, and the numbers behind it."""

    def _preface(self) -> str:
        """What stands before the answer, such as the parameters of a fit."""
        return ""

    def summary(self, details: bool = False) -> str:
        """The result for people: the verdict in a few sentences and the numbers below it, at most four lines.

        It begins with MISFIT, GOOD ENOUGH or UNDECIDED, of scores alone with CLOSE IN KSD; where nothing is tolerated
        with REJECTED or NOT REJECTED; of a comparison with DIFFERENCE SHOWN or NO DIFFERENCE SHOWN. The fit of a family
        stands in a line before it.
        ``details=True``: a table of everything, and the decision in words.
        """
        if details:
            return render(self.title, self.rows(), self.sentence())
        sentences, numbers = self._brief()
        found = brief([f"{self._headline()} at level {self.level:g}.", *sentences], numbers)
        return f"{self._preface()}\n{found}".lstrip()

    def _repr_html_(self) -> str:
        sentences, numbers = self._brief()
        words = f"at level {self.level:g}. {' '.join(sentences)}\n{' · '.join(numbers)}"
        return card(self._headline(), self.title, words, self.rows())
