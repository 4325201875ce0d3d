"""Beyond the paper: the boundary bootstrap beside every R-KSD of the paper, from the same draws."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import replace

from experiments.framework.base import Experiment
from experiments.framework.expectations import LEVEL, Expectation, Finding, describe
from experiments.framework.figures import Series, Style
from experiments.framework.rows import BOUNDARY, PAPER
from experiments.framework.table import Rate, Rates, Results

__all__ = ["beside", "never_below", "with_boundary"]


def _partners(rates: Rates) -> dict[tuple[tuple[str, str], ...], Rate]:
    """The rows of the boundary bootstrap by everything that they share with those of R-KSD."""
    return {_shared(rate): rate for rate in rates if rate.where["test"] == BOUNDARY}


def _shared(rate: Rate) -> tuple[tuple[str, str], ...]:
    return tuple((name, text) for name, text in rate.where.items() if name != "test")


def beside(lines: Iterable[Series], rates: Rates, label: str = "dashed: boundary") -> list[Series]:
    """The lines, and for each line of R-KSD a dashed one of the boundary bootstrap in its color."""
    lines, partners = list(lines), _partners(rates)
    dashed: list[Series] = []
    for line in lines:
        rows = tuple(partners[_shared(row)] for row in line.rates if row.where["test"] == PAPER)
        if rows:
            style = Style("_nolegend_" if dashed else label, line.style.color, line.style.marker, "--")
            dashed.append(Series(Rates(rows), style))
    return lines + dashed


def _finding(rate: Rate, expected: str, holds: bool) -> Finding:
    where = {name: text for name, text in rate.where.items() if text and name != "variant"}
    return Finding(describe(where), expected, rate.rate, holds, rate.interval, where)


def never_below() -> Expectation:
    """In every cell the boundary bootstrap rejects at least as often as R-KSD: it does so sample by sample."""

    def findings(results: Results) -> Iterator[Finding]:
        partners = _partners(results.rates)
        for rate in results.rates.select(test=PAPER, variant="published"):
            other = partners.get(_shared(rate))
            if other is None:  # wild signs that do not sum to zero have no edge
                continue
            yield _finding(other, f"≥ {rate.rate:.3f}", other.rejections >= rate.rejections)

    return Expectation("beyond the paper: the boundary bootstrap is on or above R-KSD", findings)


_OTHER_MISFITS = ("df", "offset", "separation", "shift")


def _is_tolerated(rate: Rate) -> bool:
    """Whether the data of a cell differ from the model by tolerated contamination and nothing else."""
    alone = all(rate.where[name] in ("", "0") for name in _OTHER_MISFITS)
    return alone and rate.number("contamination") <= rate.number("tolerance")


def keeps_the_level() -> Expectation:
    """Wherever the contamination is tolerated: no more rejections than the level and three standard errors."""

    def findings(results: Results) -> Iterator[Finding]:
        for rate in results.rates.select(test=BOUNDARY, variant="published"):
            if _is_tolerated(rate):
                bound = LEVEL + 3.0 * math.sqrt(LEVEL * (1.0 - LEVEL) / rate.repeats)
                yield _finding(rate, f"≤ {bound:.3f} (level + 3 s.e.)", rate.rate <= bound)

    return Expectation("beyond the paper: the boundary bootstrap keeps the level for ε ≤ ε₀", findings)


def with_boundary(experiment: Experiment) -> Experiment:
    """The experiment with the claims that hold wherever R-KSD is among its tests."""
    return replace(experiment, expectations=(*experiment.expectations, never_below(), keeps_the_level()))
