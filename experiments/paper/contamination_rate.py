"""How fast contamination may vanish: the tilted test is qualitatively robust for n^(−r), r > ½ (paper App. B)."""

from __future__ import annotations

from typing import Any

import numpy as np

from experiments.framework.base import Cell, Experiment, Row
from experiments.framework.expectations import above, because, below, beyond, exceeds, level, monotone
from experiments.framework.figures import Series, key, rate_panel, shades
from experiments.framework.rows import TOLERANCE, tilted_rows
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
    styles = shades([format(r, "g") for r in RATES], "$r = {}$")
    robust = r"R-KSD, $\varepsilon_0 = 0.05$"
    for ax, test, title in ((left, "tilted-ksd", "Tilted-KSD"), (right, "r-ksd", robust)):
        lines = [Series(rates.select(test=test, rate=r), style) for r, style in styles.items()]
        rate_panel(ax, "n", lines, xlabel="sample size n", title=title, log=True)
        ax.set_yscale("symlog", linthresh=0.02, linscale=0.3)
        ax.set(ylim=(-0.005, 1.15), yticks=[0, 0.05, 0.1, 0.2, 0.5, 1], yticklabels=["0", ".05", ".1", ".2", ".5", "1"])
        ax.minorticks_off()
        ax.set_xticks(SIZES, [str(n) for n in SIZES], rotation=45)
    right.set_ylabel("")
    key(right)


EXPERIMENT = Experiment(
    name="contamination-rate",
    title="how fast contamination may vanish",
    reference="App. B.1",
    figure="Figure 8",
    setup="tilted IMQ kernel at the median distance, 500 draws; ⌊n^(1−r)⌋ points at z = 10; R-KSD with ε₀ = .05",
    says=(
        "With ε_n = n^(−r) outliers at z = 10 the rejection rate of the tilted test falls to the level when r > ½, "
        "as its qualitative robustness says, and does not when r ≤ ½: the condition is no artifact of the proof. "
        "The published figure is the left panel. The right one shows Proposition 14 (App. A.3), of which that is the "
        "case θ = 0: R-KSD is qualitatively robust for every θ ≥ 0 when r > ½."
    ),
    grid=tuple({**gaussian_cell(n=n), "rate": rate, "contamination": n**-rate} for rate in RATES for n in SIZES),
    trial=trial,
    repeats=400,
    expectations=(
        level("r > ½: at the level by n = 2000", test="tilted-ksd", n=2000, axes={"rate": RATES[3:]}),
        because(
            "a whole number of points is replaced, and ⌊n^(1−r)⌋/√n, which decides, falls unevenly: at r = .6 it is "
            "4/√50 = .57, then 6/√100 = .60, then .54, .47 and .45. Steps up of two standard errors are allowed at "
            "every n, from 50 on.",
            monotone(
                "r > ½: the rate does not rise",
                "n",
                SIZES,
                falling=True,
                test="tilted-ksd",
                axes={"rate": RATES[3:]},
            ),
        ),
        exceeds("r ≤ ½ stays above the level", test="tilted-ksd", axes={"rate": RATES[:3], "n": SIZES}),
        *(
            monotone(f"r = {rate:g} < ½: the rate rises", "n", SIZES, test="tilted-ksd", rate=rate)
            for rate in RATES[:2]
        ),
        above("r = .4 ends in rejection", 0.9, test="tilted-ksd", n=2000, axes={"rate": (0.4,)}),
        *(
            level(
                "R-KSD keeps the level where ε_n ≤ ε₀",
                test="r-ksd",
                rate=rate,
                axes={"n": [n for n in SIZES if n**-rate <= TOLERANCE]},
            )
            for rate in RATES
        ),
        because(
            "the limit in Proposition 14 is the rate without contamination, and with θ > 0 that is 0.",
            below("r > ½: R-KSD ends at 0", 0.01, test="r-ksd", n=2000, axes={"rate": RATES[3:]}),
        ),
        beyond(below("r ≤ ½: R-KSD ends at 0 too", 0.01, test="r-ksd", n=2000, axes={"rate": RATES[:3]})),
    ),
    draw=draw,
    size=(8.6, 3.4),
)
