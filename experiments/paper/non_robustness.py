"""The standard test is not qualitatively robust: ε_n falls, the outlier grows (paper, Theorem 1)."""

from __future__ import annotations

from typing import Any

import numpy as np

from experiments.framework.base import Cell, Experiment, Row
from experiments.framework.expectations import above, because, below, beyond, level
from experiments.framework.figures import key, nest, rate_panel, tests
from experiments.framework.rows import TOLERANCE, standard_row, tilted_rows
from experiments.framework.table import Results
from experiments.paper.data import gaussian_cell, point_mass
from steinball.models import Gaussian

RATES = (0.6, 0.75, 1.0)
SIZES = (50, 100, 500, 1000, 2000)


def trial(cell: Cell, rng: np.random.Generator) -> list[Row]:
    """One sample with ⌊n^(1−r)⌋ outliers at z = n, every test."""
    model = Gaussian()
    x = point_mass(model, cell, rng)
    return [standard_row(x, model, rng, cell), *tilted_rows(x, model, rng, cell)]


def draw(results: Results, figure: Any) -> None:
    """Rejection against n, one panel per rate."""
    panels = figure.subplots(1, len(RATES), sharey=True)
    rates = results.rates.select(variant="published")
    for ax, rate in zip(panels, RATES, strict=True):
        lines = tests(rates.select(rate=rate), ("imq-ksd", "tilted-ksd", "r-ksd"))
        count = "one outlier" if rate == 1.0 else rf"$n^{{{1 - rate:.2g}}}$ outliers"
        rate_panel(ax, "n", lines, xlabel="sample size n", title=f"$r = {rate:g}$: {count} at $z = n$", log=True)
        nest(ax)
        ax.set_xticks(SIZES, [str(n) for n in SIZES], rotation=45)
        ax.minorticks_off()
    for ax in panels[1:]:
        ax.set_ylabel("")
    key(panels[-1])


EXPERIMENT = Experiment(
    name="non-robustness",
    title="the standard test is not qualitatively robust",
    reference="Theorem 1",
    setup=(
        "IMQ kernel at the median distance, 1,000 draws; tilted by (1+x²)^(−½), 500; ⌊n^(1−r)⌋ points at z = n, ε₀ = "
        ".05"
    ),
    says=(
        "However slowly the number nε_n of outliers grows, the standard test ends in rejection when the outlier may "
        "lie anywhere, although ε_n → 0. The condition nε_n → ∞ is needed: a single outlier, however far, dominates "
        "every bootstrap draw as much as the statistic."
    ),
    grid=tuple(gaussian_cell(n=n, outlier=n, rate=rate, contamination=n**-rate) for rate in RATES for n in SIZES),
    trial=trial,
    repeats=100,
    expectations=(
        above("r = .6: IMQ-KSD rejects from n = 100", test="imq-ksd", rate=0.6, axes={"n": SIZES[1:]}),
        above(
            "r = .75: IMQ-KSD rejects once there are five outliers", test="imq-ksd", rate=0.75, axes={"n": (1000, 2000)}
        ),
        level("the tilted test ends at the level", test="tilted-ksd", n=2000, axes={"rate": RATES}),
        *(
            because(
                "the radius is for ε ≤ ε₀. At r = .6 that begins after n = 100 (ε = .063), at r = .75 after n = 50 "
                "(ε = .053).",
                level(
                    "R-KSD keeps the level where ε_n ≤ ε₀",
                    test="r-ksd",
                    rate=rate,
                    axes={"n": [n for n in SIZES if n**-rate <= TOLERANCE]},
                ),
            )
            for rate in RATES
        ),
        beyond(
            below(
                "r = .75: IMQ-KSD never rejects with two outliers", 0.05, test="imq-ksd", rate=0.75, axes={"n": (50,)}
            )
        ),
        beyond(below("r = 1: one outlier is never enough", 0.05, test="imq-ksd", rate=1.0, axes={"n": SIZES})),
    ),
    draw=draw,
    size=(10.2, 3.2),
    differences=(
        "Not a figure of the paper but its Theorem 1. With m outliers at one far point, D² and a draw D_W² are in "
        "the ratio m² : (W − m)² with W nearly Poisson(m). The p-value is therefore between P(W > 2m) and P(W ≥ 2m) "
        "+ P(W = 0), where the other points break the ties: above .05 for m ≤ 2, below for m ≥ 5 (.039), and "
        "undecided for 3 (.034 to .134) and 4 (.021 to .069), which is what n = 100 and 500 show at r = .75."
    ),
)
