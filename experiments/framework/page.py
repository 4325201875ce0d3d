"""The generated pages: each figure beside what is said of it, what holds, and every difference explained."""

from __future__ import annotations

from pathlib import Path

from experiments.framework.base import Experiment
from experiments.framework.check import HOLDS, Verdict, check, measured
from experiments.framework.collection import Collection
from experiments.framework.counts import summary
from experiments.framework.expectations import BEYOND, THEOREM, Finding
from experiments.framework.figures import render
from experiments.framework.table import Rate, Results, write_curves, write_rates
from steinball.files import write_whole

__all__ = ["page_of", "write_page"]


def write_page(collection: Collection, out: Path, to: Path) -> Path:
    """Write ``to/index.md`` and a page for each experiment, with figures and tables, from the tables in ``out``."""
    (to / "tables").mkdir(parents=True, exist_ok=True)
    found, verdicts = {}, {}
    for experiment in collection.experiments.values():
        results = found[experiment.name] = collection.results(experiment, out)
        _copy_tables(experiment, results, to / "tables")
        render(experiment, results, to / "figures")
        verdicts[experiment.name] = check(experiment, results)
        text = page_of(experiment, results, verdicts[experiment.name])
        write_whole(to / f"{experiment.name}.md", f"{text}\n".encode())
    for name, other in collection.pages.items():
        write_whole(to / name, other(found).encode())
    tree = "\n".join(["```{toctree}", ":hidden:", "", *collection.experiments, "```"])
    index = "\n\n".join([collection.head.strip(), summary(collection, verdicts), tree])
    write_whole(to / "index.md", f"{index}\n".encode())
    return to / "index.md"


def _copy_tables(experiment: Experiment, results: Results, folder: Path) -> None:
    path = folder / f"{experiment.name}.csv"
    write_rates(path, results.rates)
    if results.curves:
        write_curves(path, results.curves)


def page_of(experiment: Experiment, results: Results, verdicts: list[Verdict]) -> str:
    """The page of one experiment: what is said, how it was run, the figure, and what holds."""
    parts = [f"# {experiment.title[0].upper()}{experiment.title[1:]}"]
    parts.append(f"Experiment `{experiment.name}`: {experiment.where}. [How to read this page](index.md).")
    parts += [experiment.says, settings_of(experiment), *_figures(experiment, 0, 1)]
    parts.append(_claims([v for v in verdicts if not _is_beyond(v)]))
    further = [v for v in verdicts if _is_beyond(v)]
    if further or experiment.more:
        parts += ["**Beyond the paper.**", *_figures(experiment, 1), *([_claims(further)] if further else [])]
    parts += [text for text in (_again(experiment, results), experiment.extra(results)) if text]
    if experiment.differences:
        parts.append(f"**Differences.** {experiment.differences}")
    if len(experiment.variants) > 1:
        lines = [f"- `{name}`: {text}" for name, text in experiment.variants.items()]
        parts.append("Variants (`--variant`):\n\n" + "\n".join(lines))
    return results.fill_in("\n\n".join(parts))


def _is_beyond(verdict: Verdict) -> bool:
    return verdict.expectation.source == BEYOND


def _figures(experiment: Experiment, start: int, stop: int | None = None) -> list[str]:
    """Each figure with its title and a link to its lines."""
    crosses = " · crosses: the paper's numbers" if experiment.published else ""
    return [
        f"![{drawing.title}](figures/{drawing.name}.png)\n\n[SVG](figures/{drawing.name}.svg) · "
        f"[table](tables/{experiment.name}.csv){crosses}"
        for drawing in experiment.drawings[start:stop]
    ]


def settings_of(experiment: Experiment) -> str:
    """Sample sizes, dimensions, kernel and draws, repeats and seed, in a line."""
    grid = [_values(experiment, name, letter) for name, letter in (("n", "n"), ("dimension", "d"))]
    runs = f"{experiment.repeats} repeats, seed 0"
    parts = (", ".join(filter(None, grid)), experiment.setup, runs)
    return f"**Settings.** {'; '.join(part for part in parts if part)}."


def _values(experiment: Experiment, name: str, letter: str) -> str:
    """The values that a column takes in the grid; nothing where the grid does not say."""
    values = sorted({cell[name] for cell in experiment.grid if name in cell})
    return f"{letter} = {', '.join(format(value, ',') for value in values)}" if values else ""


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
    parts = ["\n".join(["| claim | measured (expected) | verdict |", "|---|---|---|", *rows])]
    reasons = dict.fromkeys(f"- {v.claim}: {v.expectation.reason}" for v in verdicts if v.expectation.reason)
    if reasons:
        parts.append("Why a claim is put as it is:\n\n" + "\n".join(reasons))
    missed: dict[str, list[str]] = {}
    for verdict in (v for v in verdicts if v.word != HOLDS):
        missed.setdefault(verdict.explanation, []).append(_note(verdict.finding))
    parts += [f"Missed: {explanation}\n\n" + "\n".join(notes) for explanation, notes in missed.items()]
    return "\n\n".join(parts)


def _note(finding: Finding) -> str:
    return f"- {finding.label}: {measured(finding)}, expected {_short(finding.expected)}"


def _verdict(group: list[Verdict]) -> str:
    held = sum(v.word == HOLDS for v in group)
    if held == len(group):
        return "proved" if group[0].expectation.source == THEOREM else "holds"
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
    return text.replace(" (level + 2 s.e.)", "").replace(" before it (2 s.e.)", "")
