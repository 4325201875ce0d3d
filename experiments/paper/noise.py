"""Other contamination than a point: N(10, σ²) (paper App. B)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from experiments.framework.base import Cell, Experiment, Row
from experiments.framework.expectations import Expectation, Finding, above, beyond, level, monotone
from experiments.framework.figures import Series, key, mark, mean_ksd, nest, rate_panel, shades, tests, value_panel
from experiments.framework.rows import TOLERANCE, standard_row, tilted_rows
from experiments.framework.table import Results
from experiments.paper.data import gaussian_cell, normal_outliers
from steinball.models import Gaussian

NOISES = (0.1, 1, 5, 10, 20)
SHARES = (0, 0.05, 0.1, 0.15, 0.2, 0.3)


def trial(cell: Cell, rng: np.random.Generator) -> list[Row]:
    """One sample with outliers from N(10, σ²), every test."""
    model = Gaussian()
    x = normal_outliers(model.sample(cell["n"], rng), cell, rng)
    return [standard_row(x, model, rng, cell), *tilted_rows(x, model, rng, cell)]


def draw(results: Results, figure: Any) -> None:
    """Rejection against ε for each σ, and the KSD."""
    panels = figure.subplots(2, 3)
    rates = results.rates.select(variant="published")
    flat = panels.ravel()
    for ax, noise in zip(flat, NOISES, strict=False):
        lines = tests(rates.select(noise=noise), ("imq-ksd", "tilted-ksd", "r-ksd"))
        rate_panel(ax, "contamination", lines, xlabel="contamination ε", title=rf"$\sigma = {noise:g}$")
        nest(ax)
        mark(ax, TOLERANCE)
    key(panels[0, -1], r"$\varepsilon_0$")
    styles = shades([format(s, "g") for s in NOISES], r"$\sigma = {}$")
    tilted = [Series(rates.select(test="tilted-ksd", noise=s), style) for s, style in styles.items()]
    value_panel(flat[-1], "contamination", tilted, mean_ksd, xlabel="contamination ε", ylabel="tilted KSD")
    flat[-1].set_title("KSD")
    key(flat[-1])


def _falling(results: Results) -> Iterator[Finding]:
    for share in SHARES[2:]:
        ksds = [results.rates.one(test="tilted-ksd", contamination=share, noise=noise).ksd for noise in NOISES]
        for before, after, noise in zip(ksds[:-1], ksds[1:], NOISES[1:], strict=True):
            yield Finding(f"mean tilted KSD at ε={share:g}, σ={noise:g}", f"< {before:.4f}", after, after < before)


EXPERIMENT = Experiment(
    name="noise",
    title="other contamination distributions",
    reference="App. B.7",
    figure="Figure 13",
    setup="IMQ kernel at the median distance, 1,000 draws; tilted by (1+x²)^(−½), 500; ε₀ = .05, R = N(10, σ²)",
    says=(
        "Outliers from N(10, σ²). The wider they lie, the smaller the KSD and the power of every test; R-KSD keeps "
        "the level for every σ, since its radius holds for every R."
    ),
    grid=tuple(gaussian_cell(noise=noise, contamination=share) for noise in NOISES for share in SHARES),
    trial=trial,
    repeats=100,
    expectations=(
        level("R-KSD ≤ level at ε ≤ ε₀ for every σ", test="r-ksd", axes={"noise": NOISES, "contamination": (0, 0.05)}),
        monotone(
            "power falls with σ: R-KSD",
            "noise",
            NOISES,
            falling=True,
            test="r-ksd",
            axes={"contamination": SHARES[2:]},
        ),
        monotone(
            "power falls with σ: IMQ-KSD",
            "noise",
            NOISES,
            falling=True,
            test="imq-ksd",
            axes={"contamination": SHARES[1:2]},
        ),
        monotone(
            "power falls with σ: Tilted-KSD",
            "noise",
            NOISES,
            falling=True,
            test="tilted-ksd",
            axes={"contamination": SHARES[2:]},
        ),
        Expectation("the KSD falls with σ", _falling),
        beyond(
            above("R-KSD has power at ε = .3 for σ ≤ 10", test="r-ksd", contamination=0.3, axes={"noise": NOISES[:4]})
        ),
    ),
    draw=draw,
    size=(9.6, 5.0),
)
