"""The generated page: each figure beside what the paper says of it, what holds, and every difference explained."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from steinball.paper.base import Experiment
from steinball.paper.check import EXPLAINED, HOLDS, MISSES, Verdict, check, measured
from steinball.paper.figures import render
from steinball.paper.table import Results, read_results, write_curves, write_rates
from steinball.paper.table1 import NEEDS, render_table1

__all__ = ["write_page"]

_HEAD = """# The paper's experiments

Every figure of Liu and Briol, *On the Robustness of Kernel Goodness-of-Fit Tests* (JMLR 26, 2025), drawn again by this
library, beside what the paper says of it and whether that came out. `make paper` makes this page from nothing;
`steinball paper run NAME`, `figure NAME` and `check NAME` do one experiment. Shaded bands are 95 % Wilson intervals,
the dotted line is the level .05, the dash-dotted one the tolerance or the reference. The tables behind the figures lie
in [`tables/`](tables). Unless said otherwise n = 500, the model is N(0, 1), the weight (1+|x|²)^(−½), the length scale
the median distance, ε₀ = .05, and 100 repeats. [Table 1](table1.md) of the paper has a page of its own.

A claim *holds* when every number of it does: rates within .15 of the published ones, or no more than the level plus two
standard errors, or whatever the claim says. A miss has its reason written below it.
"""


def write_page(experiments: list[Experiment], out: Path, to: Path) -> Path:
    """Write ``to/index.md``, with figures and aggregated tables beside it, from the tables in ``out``."""
    (to / "tables").mkdir(parents=True, exist_ok=True)
    parts, summary, found = [], [], {}
    for experiment in experiments:
        results = found[experiment.name] = read_results(out / f"{experiment.name}.csv")
        _copy_tables(experiment, results, to / "tables")
        render(experiment, results, to / "figures")
        verdicts = check(experiment, results)
        parts.append(_section(experiment, results, verdicts))
        summary.append(_summary(experiment, verdicts))
    page = to / "index.md"
    head = ["| experiment | where | numbers that hold | missed, explained | missed |", "|---|---|---|---|---|"]
    table = "\n".join([*head, *summary])
    page.write_text("\n\n".join([_HEAD.strip(), table, *parts]) + "\n", encoding="utf-8")
    if set(NEEDS) <= set(found):
        (to / "table1.md").write_text(render_table1(found), encoding="utf-8")
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
    parts += [text for text in (experiment.extra(results),) if text]
    if experiment.differences:
        parts.append(f"**Differences.** {experiment.differences}")
    if len(experiment.variants) > 1:
        lines = [f"- `{name}`: {text}" for name, text in experiment.variants.items()]
        parts.append("Variants (`--variant`):\n\n" + "\n".join(lines))
    return "\n\n".join(parts)


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
