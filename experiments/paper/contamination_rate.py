"""How fast contamination may vanish: the tilted test is qualitatively robust for n^(−r), r > ½ (paper App. B)."""

from __future__ import annotations

from typing import Any

import numpy as np

from experiments.framework.base import Cell, Experiment, Row
from experiments.framework.expectations import Expectation, Finding, above, below, describe, level, monotone
from experiments.framework.figures import Series, rate_panel, shades
from experiments.framework.rows import tilted_rows
from experiments.framework.table import Results
from experiments.paper.data import gaussian_cell, point_mass
from steinball.models import Gaussian

RATES = (0.4, 0.45, 0.5, 0.55, 0.6, 0.7)
SIZES = (50, 100, 500, 1000, 2000)


def trial(cell: Cell, rng: np.random.Generator) -> list[Row]:
    """One sample, the tilted test and R-KSD."""
    model = Gaussian()
    return tilted_rows(point_mass(model, cell, rng), model, rng, cell)


def draw(results: Results, figure: Any) -> None:
    """Rejection against n, on logarithmic axes: the tilted test, and R-KSD beside it."""
    left, right = figure.subplots(1, 2, sharey=True)
    rates = results.rates.select(variant="published")
    styles = shades([format(r, "g") for r in RATES], "r = {}")
    for ax, test, title in ((left, "tilted-ksd", "Tilted-KSD"), (right, "r-ksd", "R-KSD, ε₀ = .05")):
        lines = [Series(rates.select(test=test, rate=r), style) for r, style in styles.items()]
        rate_panel(ax, "n", lines, xlabel="sample size n", title=title, log=True)
        ax.set_yscale("symlog", linthresh=0.02, linscale=0.3)
        ax.set(ylim=(-0.005, 1.15), yticks=[0, 0.05, 0.1, 0.2, 0.5, 1], yticklabels=["0", ".05", ".1", ".2", ".5", "1"])
        ax.minorticks_off()
        ax.set_xticks(SIZES, [str(n) for n in SIZES], rotation=45)
    right.set_ylabel("")
    left.legend(ncols=2)


def _above_level(results: Results) -> list[Finding]:
    """At r = ½ the rate stays above the level: the lower end of its 95 % interval does."""
    findings = []
    for n in SIZES[2:]:
        where = {"test": "tilted-ksd", "rate": 0.5, "n": n}
        rate = results.rates.one(**where)
        findings.append(
            Finding(describe(where), "interval above .05", rate.rate, rate.interval[0] > 0.05, rate.interval)
        )
    return findings


EXPERIMENT = Experiment(
    name="contamination-rate",
    title="how fast contamination may vanish",
    reference="App. B.1",
    says=(
        "With ε_n = n^(−r) outliers at z = 10 the rejection rate of the tilted test falls to the level when r > ½, "
        "as its qualitative robustness says, and does not when r ≤ ½: the condition is no artifact of the proof. "
        "Beyond the paper: R-KSD with θ > 0 is qualitatively robust too, and rejects nothing once ε_n is below its "
        "tolerance."
    ),
    grid=tuple({**gaussian_cell(n=n), "rate": rate, "contamination": n**-rate} for rate in RATES for n in SIZES),
    trial=trial,
    repeats=400,
    expectations=(
        level("r > ½: at the level by n = 2000", test="tilted-ksd", n=2000, axes={"rate": RATES[3:]}),
        monotone(
            "r > ½: from n = 100 the rate does not rise",
            "n",
            SIZES[1:],
            falling=True,
            test="tilted-ksd",
            axes={"rate": RATES[3:]},
        ),
        Expectation("r = ½ stays above the level", _above_level),
        *(
            monotone(f"r = {rate:g} < ½: the rate rises", "n", SIZES, test="tilted-ksd", rate=rate)
            for rate in RATES[:2]
        ),
        above("r = .4 ends in rejection", 0.9, test="tilted-ksd", n=2000, axes={"rate": (0.4,)}),
        level("R-KSD keeps the level where ε_n ≤ ε₀", test="r-ksd", axes={"rate": RATES[2:], "n": SIZES[2:]}),
        below("R-KSD ends at 0 for every r", 0.01, test="r-ksd", n=2000, axes={"rate": RATES}),
    ),
    draw=draw,
    size=(8.0, 3.4),
)
