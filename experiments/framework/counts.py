"""What a page counts: numbers of the paper, what it says in words, what goes beyond it; nothing that is proved."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from experiments.framework.base import Experiment
from experiments.framework.check import HOLDS, Verdict, measured
from experiments.framework.collection import Collection
from experiments.framework.expectations import BEYOND, CLAIM, MOST_Z, NUMBER

__all__ = ["summary"]

_TITLES = {NUMBER: "numbers of the paper", CLAIM: "said in words", BEYOND: "beyond the paper"}
_PLAIN = {CLAIM: "numbers"}


def summary(collection: Collection, verdicts: Mapping[str, list[Verdict]]) -> str:
    """A table of counts, their totals in words, and every published number that did not come out."""
    everything = [v for found in verdicts.values() for v in found]
    titles = _TITLES if any(v.expectation.source == NUMBER for v in everything) else _PLAIN
    head = ["experiment", "about", "where", *(f"{title}: hold of checked" for title in titles.values())]
    rows = [_row(e, verdicts[e.name], titles) for e in collection.experiments.values()]
    total = ["**all**", "", "", *(f"**{_counts(everything, source)}**" for source in titles)]
    table = "\n".join(_line(cells) for cells in (head, ["---"] * len(head), *rows, total))
    return "\n\n".join([table, *(_agreement(verdicts) if titles is _TITLES else [])])


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _row(experiment: Experiment, verdicts: list[Verdict], titles: Mapping[str, str]) -> list[str]:
    counts = (_counts(verdicts, source) for source in titles)
    return [f"[{experiment.name}]({experiment.name}.md)", experiment.title, experiment.where, *counts]


def _counts(verdicts: Iterable[Verdict], source: str) -> str:
    """How many hold of how many were checked; nothing where none was."""
    found = [v for v in verdicts if v.expectation.source == source]
    return f"{sum(v.word == HOLDS for v in found)} of {len(found)}" if found else ""


def _agreement(verdicts: Mapping[str, list[Verdict]]) -> list[str]:
    """How well the published rates came out, and those that did not."""
    numbers = [(name, v) for name, found in verdicts.items() for v in found if v.expectation.source == NUMBER]
    rates = np.array([v.finding.z for _, v in numbers if v.finding.z is not None])
    agree = sum(v.word == HOLDS for _, v in numbers)
    near = rates[np.abs(rates) <= MOST_Z]
    text = (
        f"Of {len(numbers)} numbers that the paper prints or draws, {agree} agree. {len(rates)} of them are rejection "
        f"rates: {len(near)} have |z| ≤ {MOST_Z:g}, and the mean of their z² is {np.mean(near**2):.2f}."
    )
    missed = [_missed(name, v) for name, v in numbers if v.word != HOLDS]
    return [text, "Numbers that do not agree:\n\n" + "\n".join(missed)] if missed else [text]


def _missed(name: str, verdict: Verdict) -> str:
    found = verdict.finding
    return f"- [{name}]({name}.md), {found.label}: {measured(found)}, published {found.expected}. {verdict.explanation}"
