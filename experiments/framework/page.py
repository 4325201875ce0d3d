"""The generated page: each figure beside what is said of it, what holds, and every difference explained."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from experiments.framework.base import Experiment
from experiments.framework.check import EXPLAINED, HOLDS, MISSES, Verdict, check, measured
from experiments.framework.collection import Collection
from experiments.framework.figures import render
from experiments.framework.table import Rate, Results, write_curves, write_rates
from steinball.files import write_whole

__all__ = ["write_page"]


def write_page(collection: Collection, out: Path, to: Path) -> Path:
    """Write ``to/index.md``, with figures and aggregated tables beside it, from the tables in ``out``."""
    (to / "tables").mkdir(parents=True, exist_ok=True)
    parts, summary, found = [], [], {}
    for experiment in collection.experiments.values():
        results = found[experiment.name] = collection.results(experiment, out)
        _copy_tables(experiment, results, to / "tables")
        render(experiment, results, to / "figures")
        verdicts = check(experiment, results)
        parts.append(_section(experiment, results, verdicts))
        summary.append(_summary(experiment, verdicts))
    page = to / "index.md"
    head = ["| experiment | where | numbers that hold | missed, explained | missed |", "|---|---|---|---|---|"]
    table = "\n".join([*head, *summary])
    write_whole(page, ("\n\n".join([collection.head.strip(), table, *parts]) + "\n").encode())
    for name, page_of in collection.pages.items():
        write_whole(to / name, page_of(found).encode())
    return page


def _copy_tables(experiment: Experiment, results: Results, folder: Path) -> None:
    path = folder / f"{experiment.name}.csv"
    write_rates(path, results.rates)
    if results.curves:
        write_curves(path, results.curves)


def _count(verdicts: Iterable[Verdict], word: str) -> int:
    return sum(verdict.word == word for verdict in verdicts)


def _summary(experiment: Experiment, verdicts: list[Verdict]) -> str:
    counts = " | ".join(str(_count(verdicts, word)) for word in (HOLDS, EXPLAINED, MISSES))
    return f"| [{experiment.name}](#{experiment.name}) | {experiment.reference} | {counts} |"


def _section(experiment: Experiment, results: Results, verdicts: list[Verdict]) -> str:
    parts = [f"## {experiment.name}", f"*{experiment.title[0].upper()}{experiment.title[1:]}*, {experiment.reference}."]
    figure = f"![{experiment.title}](figures/{experiment.name}.png)"
    links = f"[SVG](figures/{experiment.name}.svg) · [table](tables/{experiment.name}.csv)"
    parts += [experiment.says, figure, links, _claims(verdicts)]
    parts += [text for text in (_again(experiment, results), experiment.extra(results)) if text]
    if experiment.differences:
        parts.append(f"**Differences.** {experiment.differences}")
    if len(experiment.variants) > 1:
        lines = [f"- `{name}`: {text}" for name, text in experiment.variants.items()]
        parts.append("Variants (`--variant`):\n\n" + "\n".join(lines))
    return "\n\n".join(parts)


def _again(experiment: Experiment, results: Results) -> str:
    """How many cells had to be run again."""
    longer = {
        tuple(row.where[name] for name in experiment.axes) for row in results.rates if _was_extended(experiment, row)
    }
    if not longer:
        return ""
    return (
        f"{len(longer)} of {len(experiment.grid)} cells missed a claim at {experiment.repeats} repeats and were "
        f"extended to {experiment.again}; the numbers are those of the longer runs."
    )


def _was_extended(experiment: Experiment, row: Rate) -> bool:
    return 0 < experiment.repeats < row.repeats == experiment.again


def _claims(verdicts: list[Verdict]) -> str:
    """A table of claims with the measured numbers, and the reason of every miss."""
    claims: dict[str, list[Verdict]] = {}
    for verdict in verdicts:
        claims.setdefault(verdict.claim, []).append(verdict)
    rows = [f"| {claim} | {_numbers(group)} | {_verdict(group)} |" for claim, group in claims.items()]
    table = "\n".join(["| claim | measured (expected) | verdict |", "|---|---|---|", *rows])
    missed = [v for v in verdicts if v.word != HOLDS]
    if not missed:
        return table
    notes = [_note(verdict) for verdict in missed]
    return table + "\n\nMissed:\n\n" + "\n".join(notes)


def _note(verdict: Verdict) -> str:
    finding = verdict.finding
    return f"- {finding.label}: {measured(finding)}, expected {finding.expected}. {verdict.explanation}"


def _verdict(group: list[Verdict]) -> str:
    held = _count(group, HOLDS)
    if held == len(group):
        return "holds"
    return f"{held} of {len(group)} hold"


def _numbers(group: list[Verdict]) -> str:
    """All numbers of a short claim, the extremes of a long one."""
    expected = list(dict.fromkeys(_short(v.finding.expected) for v in group))
    values = [measured(v.finding) for v in group]
    common = f" (each {expected[0]})" if len(expected) == 1 else ""
    if len(group) > 1 and len(set(values)) == 1:
        return f"{values[0]} in all {len(group)} cells{common}"
    if len(group) > 7:
        ordered = sorted((v.finding.measured, measured(v.finding)) for v in group)
        return f"{ordered[0][1]} to {ordered[-1][1]} in {len(group)} cells{common}"
    if len(group) > 1 and common:
        return ", ".join(values) + common
    return ", ".join(f"{value} ({_short(v.finding.expected)})" for value, v in zip(values, group, strict=True))


def _short(text: str) -> str:
    """Without what the head of the page has said already."""
    return text.replace(" ± 0.15", "").replace(" (level + 2 s.e.)", "").replace(" before it (2 s.e.)", "")
