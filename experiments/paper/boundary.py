"""Beyond the paper: the boundary bootstrap in place of every R-KSD of the paper, from the same draws."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from experiments.framework.base import Drawing, Experiment
from experiments.framework.expectations import BEYOND, LEVEL, Expectation, Finding, describe
from experiments.framework.rows import BOUNDARY, PAPER
from experiments.framework.table import Rate, Rates, Results

__all__ = ["in_its_place", "keeps_the_level", "with_boundary"]

_OTHER_MISFITS = ("df", "offset", "separation", "shift")


def in_its_place(results: Results) -> Results:
    """The tables with the rows of the boundary bootstrap under the name of R-KSD, and none of R-KSD itself."""
    kept = [rate for rate in results.rates if rate.where["test"] != PAPER]
    rows = [replace(r, where={**r.where, "test": PAPER}) if r.where["test"] == BOUNDARY else r for r in kept]
    return Results(Rates(tuple(rows)), results.curves)


def _drawing(experiment: Experiment) -> Drawing:
    """The experiment's own figure with the boundary bootstrap where R-KSD was."""

    def draw(results: Results, figure: Any) -> None:
        experiment.draw(in_its_place(results), figure)
        for ax in figure.axes:
            legend = ax.get_legend()
            for text in [ax.title, *(legend.get_texts() if legend else ())]:
                text.set_text(text.get_text().replace("R-KSD", "boundary"))

    title = f"{experiment.title}: the boundary bootstrap in place of R-KSD"
    return Drawing(f"{experiment.name}-boundary", title, draw, experiment.size)


def _is_tolerated(rate: Rate) -> bool:
    """Whether the data of a cell differ from the model by tolerated contamination and nothing else."""
    alone = all(rate.where[name] in ("", "0") for name in _OTHER_MISFITS)
    return alone and rate.number("contamination") <= rate.number("tolerance")


def keeps_the_level() -> Expectation:
    """Wherever the contamination is tolerated: no more rejections than the level and two standard errors."""

    def findings(results: Results) -> Iterator[Finding]:
        for rate in results.rates.select(test=BOUNDARY, variant="published"):
            if _is_tolerated(rate):
                bound = LEVEL + 2.0 * math.sqrt(LEVEL * (1.0 - LEVEL) / rate.repeats)
                where = {name: text for name, text in rate.where.items() if text and name != "variant"}
                expected = f"≤ {bound:.3f} (level + 2 s.e.)"
                yield Finding(describe(where), expected, rate.rate, rate.rate <= bound, rate.interval, where)

    return Expectation("the boundary bootstrap keeps the level for ε ≤ ε₀", findings, source=BEYOND)


def with_boundary(experiment: Experiment) -> Experiment:
    """The experiment with the figure and the claim that it has wherever R-KSD is among its tests."""
    return replace(
        experiment,
        expectations=(*experiment.expectations, keeps_the_level()),
        more=(*experiment.more, _drawing(experiment)),
    )
