"""The bandwidth of the robust test, and KSDAgg beside it (paper §5.1.2)."""

from __future__ import annotations

from typing import Any

import numpy as np

from experiments.framework.base import PUBLISHED, TEXT, Cell, Experiment, Row
from experiments.framework.expectations import above, agree, beyond, level, monotone
from experiments.framework.figures import TESTS, Series, mark, rate_panel, shades
from experiments.framework.rows import TILTED_DRAWS, TOLERANCE
from experiments.framework.table import Results
from experiments.paper.competitors import BANDWIDTHS, Collection, bandwidth_rows
from experiments.paper.data import gaussian_cell, point_mass
from steinball.models import Gaussian
from steinball.tilts import PolynomialTilt

SHARES = (0, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5)
ALL = (*BANDWIDTHS, "median")
_ROBUST = Collection("r-ksd", PolynomialTilt(), TILTED_DRAWS, TOLERANCE)


def trial(cell: Cell, rng: np.random.Generator) -> list[Row]:
    """One sample, R-KSD at every bandwidth and KSDAgg over the same tilted kernels."""
    model = Gaussian()
    return bandwidth_rows(point_mass(model, cell, rng), model, rng, cell, _ROBUST)


def draw(results: Results, figure: Any) -> None:
    """Rejection against ε, one line per bandwidth."""
    ax = figure.subplots()
    rates = results.rates.select(variant=PUBLISHED)
    styles = shades([format(b, "g") if not isinstance(b, str) else b for b in ALL], "λ² = {}")
    lines = [Series(rates.select(test="r-ksd", bandwidth=b), style) for b, style in styles.items()]
    lines.append(Series(rates.select(test="ksdagg"), TESTS["ksdagg"]))
    rate_panel(ax, "contamination", lines, xlabel="contamination ε", title="R-KSD, ε₀ = .05, z = 10")
    mark(ax, TOLERANCE)
    ax.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))


EXPERIMENT = Experiment(
    name="bandwidth-robust",
    title="the bandwidth of the robust test",
    reference="§5.1.2",
    says=(
        "R-KSD keeps the level at ε ≤ ε₀ for every bandwidth and rejects beyond. KSDAgg over the same tilted "
        "kernels is built for power, not for tolerance, and rejects more than any of them."
    ),
    grid=tuple({k: v for k, v in gaussian_cell(contamination=share).items() if k != "bandwidth"} for share in SHARES),
    trial=trial,
    repeats=100,
    expectations=(
        level("every R-KSD ≤ level for ε ≤ ε₀", test="r-ksd", axes={"bandwidth": ALL, "contamination": SHARES[:3]}),
        beyond(
            above(
                "the boundary bootstrap sees ε = .1 at λ² = 1",
                0.7,
                test="r-ksd-boundary",
                axes={"bandwidth": (1,), "contamination": (0.1,)},
            )
        ),
        above("every R-KSD → 1 beyond", test="r-ksd", axes={"bandwidth": ALL, "contamination": (0.5,)}),
        monotone("R-KSD rises with ε", "contamination", SHARES, test="r-ksd", axes={"bandwidth": ALL}),
        *(
            agree(
                "KSDAgg is above all of them",
                {"test": "r-ksd", "bandwidth": bandwidth},
                {"test": "ksdagg"},
                axes={"contamination": SHARES},
                least=True,
                errors=2.0,
            )
            for bandwidth in ALL
        ),
    ),
    draw=draw,
    variants={
        PUBLISHED: "length scale² = 2λ²; 100 repeats",
        TEXT: "length scale² = λ², as the text's formula has it (its 200 repeats by `--repeats 200`)",
    },
    size=(6.8, 3.6),
    differences=(
        "The text says that the median heuristic has the highest power. At ε = .1 of the published figure, and "
        "here, it does not: λ² = 10 and 100 reject more often there. λ² = .01 rejects only at ε = .5: its τ is that "
        "of points near 0, about 50, and the radius grows with it."
    ),
)
