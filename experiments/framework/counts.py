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
_SATURATED = (
    "In brackets: rates among those that hold that are exactly 0 or 1. Such a rate is far from its bound and cannot "
    "tell a good test from a better one."
)


def summary(collection: Collection, verdicts: Mapping[str, list[Verdict]]) -> str:
    """A table of counts, their totals in words, and every published number that did not come out."""
    everything = [v for found in verdicts.values() for v in found]
    titles = _TITLES if any(v.expectation.source == NUMBER for v in everything) else _PLAIN
    head = ["experiment", "about", "where", *(f"{title}: hold of checked" for title in titles.values())]
    rows = [_row(e, verdicts[e.name], titles) for e in collection.experiments.values()]
    total = ["**all**", "", "", *(f"**{_counts(everything, source)}**" for source in titles)]
    table = "\n".join(_line(cells) for cells in (head, ["---"] * len(head), *rows, total))
    return "\n\n".join([table, _SATURATED, *(_agreement(verdicts) if titles is _TITLES else [])])


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _row(experiment: Experiment, verdicts: list[Verdict], titles: Mapping[str, str]) -> list[str]:
    counts = (_counts(verdicts, source) for source in titles)
    return [f"[{experiment.name}]({experiment.name}.md)", experiment.title, experiment.where, *counts]


def _counts(verdicts: Iterable[Verdict], source: str) -> str:
    """How many hold of how many were checked, and how many of these are 0 or 1; nothing where none was checked."""
    found = [v for v in verdicts if v.expectation.source == source]
    holding = [v for v in found if v.word == HOLDS]
    saturated = sum(_is_saturated(v) for v in holding)
    return f"{len(holding)} of {len(found)}" + f" ({saturated})" * (saturated > 0) if found else ""


def _is_saturated(verdict: Verdict) -> bool:
    """Whether a finding is a rate of exactly 0 or 1."""
    return verdict.finding.interval is not None and verdict.finding.measured in (0.0, 1.0)


def _agreement(verdicts: Mapping[str, list[Verdict]]) -> list[str]:
    """How well the published rates came out, and those that did not."""
    numbers = [(name, v) for name, found in verdicts.items() for v in found if v.expectation.source == NUMBER]
    found = [v for _, v in numbers if v.finding.z is not None]
    rates = np.array([v.finding.z for v in found])
    open_to_doubt = np.array([not (v.finding.z == 0.0 and _is_saturated(v)) for v in found])
    agree = sum(v.word == HOLDS for _, v in numbers)
    near = np.abs(rates) <= MOST_Z
    means = [float(np.mean(rates[rows] ** 2)) for rows in (near | ~near, near, near & open_to_doubt)]
    text = (
        f"Of {len(numbers)} numbers that the paper prints or draws, {agree} agree. {len(rates)} of them are rejection "
        f"rates: {near.sum()} have |z| ≤ {MOST_Z:g}. The mean of their z² is {means[0]:.2f} over all and "
        f"{means[1]:.2f} over those within {MOST_Z:g}. {np.sum(~open_to_doubt)} are 0 because both rates are 0 or both "
        f"1; over the others within {MOST_Z:g} it is {means[2]:.2f}."
    )
    missed = [_missed(name, v) for name, v in numbers if v.word != HOLDS]
    return [text, "Numbers that do not agree:\n\n" + "\n".join(missed)] if missed else [text]


def _missed(name: str, verdict: Verdict) -> str:
    found = verdict.finding
    return f"- [{name}]({name}.md), {found.label}: {measured(found)}, published {found.expected}. {verdict.explanation}"
