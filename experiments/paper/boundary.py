"""Beyond the paper: the boundary bootstrap in place of every R-KSD of the paper, from the same draws."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from experiments.framework.base import Drawing, Experiment
from experiments.framework.expectations import BEYOND, Expectation, Finding, at_the_level, because, describe
from experiments.framework.rows import BOUNDARY, PAPER
from experiments.framework.table import Rate, Rates, Results

__all__ = ["in_its_place", "keeps_the_level", "with_boundary"]

_OTHER_MISFITS = ("df", "offset", "separation", "shift")
_OF_THE_BOOTSTRAP = re.compile("R-KSD(?!-Dev)")  # R-KSD-Dev has no draws that could be read again
_FEWEST = 50
_WHY_FIFTY = (
    "nothing is claimed of fewer than 50 points. What is proved is a limit, and the simulations of its level on the "
    "edge begin there; smaller samples are in the tables and figures."
)


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
                text.set_text(_OF_THE_BOOTSTRAP.sub("boundary", text.get_text()))

    title = f"{experiment.title}: the boundary bootstrap in place of R-KSD"
    return Drawing(f"{experiment.name}-boundary", title, draw, experiment.size)


def _is_tolerated(rate: Rate) -> bool:
    """Whether the data of a cell differ from the model by tolerated contamination and nothing else."""
    alone = all(rate.where[name] in ("", "0") for name in _OTHER_MISFITS)
    return alone and rate.number("contamination") <= rate.number("tolerance")


def keeps_the_level() -> Expectation:
    """Where the contamination is tolerated and n ≥ 50: no more rejections than the level and two standard errors."""

    def findings(results: Results) -> Iterator[Finding]:
        for rate in results.rates.select(test=BOUNDARY, variant="published"):
            if _is_tolerated(rate) and rate.number("n") >= _FEWEST:
                where = {name: text for name, text in rate.where.items() if text and name != "variant"}
                expected, holds = at_the_level(rate)
                yield Finding(describe(where), expected, rate.rate, holds, rate.interval, where)

    return Expectation("the boundary bootstrap keeps the level for ε ≤ ε₀", findings, source=BEYOND)


def _claim(experiment: Experiment) -> Expectation:
    """The claim, with its reason where it leaves cells out."""
    small = any(cell.get("n", 0) < _FEWEST for cell in experiment.grid)
    return because(_WHY_FIFTY, keeps_the_level()) if small else keeps_the_level()


def with_boundary(experiment: Experiment) -> Experiment:
    """The experiment with the figure and the claim that it has wherever R-KSD is among its tests."""
    return replace(
        experiment,
        expectations=(*experiment.expectations, _claim(experiment)),
        more=(*experiment.more, _drawing(experiment)),
    )
