"""The weighted against the wild bootstrap (paper App. B)."""

from __future__ import annotations

from typing import Any

import numpy as np

from experiments.framework.base import Cell, Experiment, Row
from experiments.framework.expectations import agree, level
from experiments.framework.figures import Series, Style, key, mark, nest, rate_panel
from experiments.framework.rows import bootstrap_rows
from experiments.framework.table import Results
from experiments.paper.data import gaussian_cell, point_mass
from steinball.models import Gaussian

SHARES = (0, 0.01, 0.05, 0.075, 0.1, 0.125, 0.15, 0.2, 0.3, 0.4, 0.5)
TOLERANCES = (0, 0.05, 0.1, 0.2)

_STYLES = {
    "weighted": Style("R-KSD, weighted", "#009E73", "o"),
    "wild": Style("R-KSD, wild", "#CC79A7", "D"),
}


def trial(cell: Cell, rng: np.random.Generator) -> list[Row]:
    """One sample, both bootstraps from one Gram matrix, every tolerance."""
    model = Gaussian()
    return bootstrap_rows(point_mass(model, cell, rng), model, rng, cell, TOLERANCES)


def draw(results: Results, figure: Any) -> None:
    """One panel per tolerance."""
    panels = figure.subplots(1, len(TOLERANCES), sharey=True)
    for ax, tolerance in zip(panels, TOLERANCES, strict=True):
        rates = results.rates.select(variant="published", tolerance=tolerance)
        found = [Series(rates.select(test="r-ksd", bootstrap=name), style) for name, style in _STYLES.items()]
        lines = [line for line in found if len(line.rates)]  # the boundary bootstrap has no wild form
        rate_panel(ax, "contamination", lines, xlabel="contamination ε", title=rf"$\varepsilon_0 = {tolerance:g}$")
        nest(ax, 1.8)
        mark(ax, tolerance)
    for ax in panels[1:]:
        ax.set_ylabel("")
    key(panels[-1], r"$\varepsilon_0$")


EXPERIMENT = Experiment(
    name="bootstraps",
    title="weighted against wild bootstrap",
    reference="App. B.8",
    figure="Figure 14",
    setup="tilted IMQ kernel at the median distance, 500 draws of each bootstrap; z = 10",
    says="The two bootstraps lead to nearly the same rejection rates at every radius; ε₀ = 0 is the tilted test.",
    grid=tuple(gaussian_cell(contamination=share) for share in SHARES),
    trial=trial,
    repeats=100,
    expectations=(
        agree(
            "the two agree within sampling error",
            {"test": "r-ksd", "bootstrap": "weighted"},
            {"test": "r-ksd", "bootstrap": "wild"},
            axes={"tolerance": TOLERANCES, "contamination": SHARES},
            errors=2.0,
        ),
        *(
            level(
                "both keep the level up to ε₀",
                test="r-ksd",
                tolerance=tolerance,
                axes={"bootstrap": ("weighted", "wild"), "contamination": [s for s in SHARES if s <= tolerance]},
            )
            for tolerance in TOLERANCES
        ),
    ),
    draw=draw,
    differences=(
        "Both bootstraps see the same samples here. Where they differ the wild one is a little more conservative "
        "(ε₀ = .2, ε = .3): its weights do not sum to zero, so that its draws contain some of the misfit itself."
    ),
    size=(10.6, 2.8),
)
