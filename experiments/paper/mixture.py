"""What the KSD cannot see: wrong weights of far modes (paper §5.4)."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from experiments.framework.base import Cell, Experiment, Row
from experiments.framework.expectations import published
from experiments.framework.figures import TESTS, Series, Style, mean_ksd, rate_panel, tests, value_panel
from experiments.framework.rows import standard_row, tilted_rows
from experiments.framework.table import Curve, Results
from experiments.paper.generators import mixture_pair
from steinball.jumps import SeparatedModesWarning

SEPARATIONS = (1, 2, 3, 5, 10, 20)
TOLERANCES = (0.005, 0.01, 0.05)
_SHOWN = (1, 5)
_SHADES = ("#66C2A5", "#1B9E77", "#00563B")
_GRID = 61


def trial(cell: Cell, rng: np.random.Generator) -> list[Row]:
    """One sample with the wrong weights, every test."""
    pair = mixture_pair(cell["separation"])
    x = pair.data.sample(cell["n"], rng)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SeparatedModesWarning)  # what these tests cannot see is the point here
        return [standard_row(x, pair.model, rng, cell), *tilted_rows(x, pair.model, rng, cell, tolerances=TOLERANCES)]


def curves(variant: str) -> list[Curve]:
    """Densities of the model over a square, for two separations."""
    lines = []
    for separation in _SHOWN:
        side = np.linspace(-2.0 * separation - 3.0, 2.0 * separation + 3.0, _GRID)
        x, y = (part.ravel() for part in np.meshgrid(side, side))
        density = np.exp(mixture_pair(separation).model.log_density(np.column_stack([x, y])))
        lines.append(Curve("contour", str(separation), x, y, density))
    return lines


def draw(results: Results, figure: Any) -> None:
    """Contours of two separations, KSD values, rejection."""
    panels = figure.subplots(1, 4, width_ratios=[1, 1, 1.2, 1.4])
    for ax, separation in zip(panels, _SHOWN, strict=False):
        curve = results.panel("contour")[str(separation)]
        x, y, value = (np.asarray(part).reshape(_GRID, _GRID) for part in (curve.x, curve.y, curve.value))
        ax.contourf(x, y, value, levels=12, cmap="Blues")
        ax.set(xlabel="x₁", ylabel="x₂", title=f"model, γ = {separation}", aspect="equal")
    rates = results.rates.select(variant="published")
    pair = tests(rates, ("imq-ksd", "tilted-ksd"))
    value_panel(panels[2], "separation", pair, mean_ksd, xlabel="separation γ", ylabel="KSD")
    robust = [
        Series(rates.select(test="r-ksd", tolerance=e0), Style(f"R-KSD-{e0:g}", color, TESTS["r-ksd"].marker))
        for e0, color in zip(TOLERANCES, _SHADES, strict=True)
    ]
    lines = [*pair, *robust]
    rate_panel(panels[3], "separation", lines, xlabel="separation γ", title="rejection", log=True)
    panels[2].set(xscale="log", title="KSD")
    for ax in panels[2:]:
        ax.legend()
        ax.set_xticks(SEPARATIONS, [str(g) for g in SEPARATIONS])
        ax.minorticks_off()


def _values(*rates: float) -> dict[int, float]:
    return dict(zip((1, 2, 3, 5), rates, strict=True))


EXPERIMENT = Experiment(
    name="mixture",
    title="limitations: multimodal models",
    reference="§5.4",
    says=(
        "Data from a mixture whose components are right and whose weights are wrong. As the modes move apart the "
        "KSD shrinks, and all tests cease to see it, the robust ones first: a limitation of the score, which knows "
        "only the local shape."
    ),
    grid=tuple({"separation": gamma, "bandwidth": "median", "n": 1000, "dimension": 2} for gamma in SEPARATIONS),
    trial=trial,
    repeats=100,
    expectations=(
        published("IMQ-KSD", "separation", _values(1, 1, 0.94, 0.07), test="imq-ksd"),
        published("Tilted-KSD", "separation", _values(1, 1, 0.86, 0.07), test="tilted-ksd"),
        published("R-KSD-.01", "separation", _values(1, 1, 0.04, 0), test="r-ksd", tolerance=0.01),
        published("R-KSD-.05", "separation", _values(1, 0, 0, 0), test="r-ksd", tolerance=0.05),
        *(
            published("nothing is seen at γ ≥ 10", "separation", {10: 0.05, 20: 0.05}, test=test)
            for test in ("imq-ksd", "tilted-ksd")
        ),
    ),
    draw=draw,
    curves=curves,
    size=(12.0, 2.9),
)
