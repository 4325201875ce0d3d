"""Power against dimension (paper App. B)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from experiments.framework.base import Cell, Experiment, Row
from experiments.framework.expectations import Expectation, Finding, above, beyond, level, monotone
from experiments.framework.figures import key, mark, nest, rate_panel, tests
from experiments.framework.table import Rates, Results
from experiments.paper.shifts import SETUP, SHIFTS, sensitivity, shift_rows

DIMENSIONS = (1, 10, 50, 100)
REFERENCE = 0.3


def trial(cell: Cell, rng: np.random.Generator) -> list[Row]:
    """One sample, R-KSD at the radius of μ = .3."""
    return shift_rows(cell, rng, (REFERENCE,))


def draw(results: Results, figure: Any) -> None:
    """One panel per dimension."""
    panels = figure.subplots(1, len(DIMENSIONS), sharey=True)
    rates = results.rates.select(variant="published")
    for ax, dimension in zip(panels, DIMENSIONS, strict=True):
        lines = tests(rates.select(dimension=dimension), ("imq-ksd", "tilted-ksd", "r-ksd"))
        rate_panel(ax, "shift", lines, xlabel=r"mean shift $\mu$", title=f"$d = {dimension}$")
        nest(ax)
        mark(ax, REFERENCE)
    for ax in panels[1:]:
        ax.set_ylabel("")
    key(panels[-1], r"reference $\mu_0$")


def _half_power(results: Results) -> Iterator[Finding]:
    """The smallest shift of the grid at which half of the repeats are rejected never shrinks as d grows."""
    for test in ("imq-ksd", "tilted-ksd", "r-ksd"):
        reached = [_reached(results.rates.select(test=test, dimension=dimension)) for dimension in DIMENSIONS]
        for before, after, dimension in zip(reached[:-1], reached[1:], DIMENSIONS[1:], strict=True):
            yield Finding(f"{test}: shift of half power at d={dimension}", f"≥ {before:g}", after, after >= before)


def _reached(rates: Rates) -> float:
    """The smallest shift at which half of the repeats are rejected."""
    return next((row.number("shift") for row in rates.along("shift") if row.rate >= 0.5), float("inf"))


EXPERIMENT = Experiment(
    name="dimension",
    title="power against dimension",
    reference="App. B.6",
    figure="Figure 12",
    setup=SETUP,
    says="The same shift in more dimensions: every test loses power as d grows, R-KSD with θ at μ = .3 the most.",
    grid=tuple(
        {"shift": shift, "bandwidth": "median", "n": 500, "dimension": dimension}
        for dimension in DIMENSIONS
        for shift in SHIFTS
    ),
    trial=trial,
    repeats=100,
    expectations=(
        *(
            monotone(
                "power falls with d",
                "dimension",
                DIMENSIONS,
                falling=True,
                test=test,
                axes={"shift": (0.2, 0.4, 0.5, 0.6, 1)},
            )
            for test in ("imq-ksd", "tilted-ksd", "r-ksd")
        ),
        Expectation("the shift needed for half power grows with d", _half_power),
        level("R-KSD ≤ level up to the reference", test="r-ksd", axes={"dimension": DIMENSIONS, "shift": SHIFTS[:4]}),
        above("R-KSD sees μ = 2 in every dimension", test="r-ksd", shift=2, axes={"dimension": DIMENSIONS}),
        beyond(
            level(
                "the boundary bootstrap keeps the level up to the reference",
                test="r-ksd-boundary",
                axes={"dimension": DIMENSIONS, "shift": SHIFTS[:4]},
            )
        ),
    ),
    draw=draw,
    extra=sensitivity,
    size=(11.0, 2.9),
    differences=(
        "θ is the KSD at μ = .3 by quadrature, as in [mean-shift](mean-shift.md); the table above says how far an "
        "error of it would move a rate."
    ),
)
