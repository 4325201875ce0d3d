"""Which expectations hold, from the tables alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from experiments.framework.base import Cell, Experiment
from experiments.framework.expectations import Expectation, Finding
from experiments.framework.table import Results, as_text

__all__ = ["Verdict", "check", "missed_cells", "render_check"]

HOLDS, EXPLAINED, MISSES = "holds", "explained", "MISSES"


@dataclass(frozen=True)
class Verdict:
    """A finding, the expectation that it belongs to, and what to make of it."""

    expectation: Expectation
    finding: Finding
    explanation: str

    @property
    def claim(self) -> str:
        """What is claimed, in words."""
        return self.expectation.claim

    @property
    def word(self) -> str:
        """``holds``, ``explained`` or ``MISSES``."""
        if self.finding.holds:
            return HOLDS
        return EXPLAINED if self.explanation else MISSES


def check(experiment: Experiment, results: Results) -> list[Verdict]:
    """Every finding of every expectation whose variant is in the tables."""
    present = set(results.rates.values("variant"))
    return [
        Verdict(e, finding, results.fill_in(experiment.explanations.get(finding.label, "")))
        for e in experiment.expectations
        if e.variant in present
        for finding in e.findings(results.variant(e.variant))
    ]


def missed_cells(experiment: Experiment, results: Results, variant: str) -> set[int]:
    """The cells of the grid whose rates miss a claim about a variant, by their position."""
    here = results.variant(variant)
    found = (finding for e in experiment.expectations if e.variant == variant for finding in e.findings(here))
    places = [finding.where for finding in found if not finding.holds and finding.where is not None]
    return {k for k, cell in enumerate(experiment.grid) if any(_covers(where, cell) for where in places)}


def _covers(where: Mapping[str, Any], cell: Cell) -> bool:
    """Whether a place that a finding names is in this cell; a column that one of them leaves open does not matter."""
    return all(as_text(where[name]) == as_text(cell[name]) for name in where.keys() & cell.keys())


def render_check(experiment: Experiment, verdicts: list[Verdict]) -> str:
    """The findings as text: claim by claim, each number with its interval and its verdict."""
    lines = [f"{experiment.name}: {experiment.title} ({experiment.reference})"]
    claim = None
    for verdict in verdicts:
        if verdict.claim != claim:
            claim = verdict.claim
            lines += ["", f"  {claim}"]
        lines.append(_line(verdict))
    counts = [sum(v.word == word for v in verdicts) for word in (HOLDS, EXPLAINED, MISSES)]
    lines += ["", f"  {counts[0]} hold, {counts[1]} missed and explained, {counts[2]} missed"]
    reasons = dict.fromkeys(v.explanation for v in verdicts if v.word == EXPLAINED)
    return "\n".join([*lines, *(f"  explained: {reason}" for reason in reasons)])


def _line(verdict: Verdict) -> str:
    finding = verdict.finding
    interval = "" if finding.interval is None else f" [{finding.interval[0]:.3f}, {finding.interval[1]:.3f}]"
    return f"    {verdict.word:9s} {finding.label}: {measured(finding)}{interval}, expected {finding.expected}"


def measured(finding: Finding) -> str:
    """The measured number: three decimals for a rate, six digits for anything else."""
    return f"{finding.measured:.3f}" if finding.interval is not None else f"{finding.measured:.6g}"
