"""Rows that depend on each other: independent weights against the wild bootstrap with Markov signs (§2.2, App. B.8)."""

from __future__ import annotations

import dataclasses
import time
from typing import Any

import numpy as np

from experiments.framework.base import Cell, Experiment, Row
from experiments.framework.expectations import above, agree, because, level, monotone
from experiments.framework.figures import Series, Style, rate_panel
from experiments.framework.rows import decision_row
from experiments.framework.table import Results
from experiments.paper.draws import summary_of
from steinball.arrays import as_seed
from steinball.calibration import WeightedBootstrap, WildBootstrap
from steinball.calibration.base import BootstrapNull
from steinball.gram.base import GramSummary
from steinball.gram.weights import ChainedWeights, Weights
from steinball.models import Gaussian
from steinball.problem import Problem, pose
from steinball.tilts import PolynomialTilt

MEMORIES = (0, 0.5, 0.9)
"""ρ, the correlation of a row with the one before; the column `rate` of the table."""
SIZES = (500, 2000)
SHIFTS = (0, 0.5)
DRAWS = 300
WEIGHTED, MARKOV = "weighted", "markov"

_COLORS = {WEIGHTED: "#D55E00", MARKOV: "#0072B2"}
_LOOKS = {500: ("o", "--"), 2000: ("s", "-")}


def chain(n: int, memory: float, rng: np.random.Generator) -> Any:
    """A stationary chain x_t = ρ x_{t−1} + √(1 − ρ²) ε_t, every row of it N(0, 1); (n, 1)."""
    steps = rng.normal(size=n)
    x, width = np.empty(n), np.sqrt(1.0 - memory**2)
    x[0] = steps[0]
    for t in range(1, n):
        x[t] = memory * x[t - 1] + width * steps[t]
    return x[:, None]


def trial(cell: Cell, rng: np.random.Generator) -> list[Row]:
    """One chain, the tilted test by both bootstraps from one Gram matrix."""
    start = time.perf_counter()
    x = chain(cell["n"], cell["rate"], rng) + cell["shift"]
    problem = pose(x, Gaussian(), None, PolynomialTilt())
    streams = {WEIGHTED: WeightedBootstrap(DRAWS).request(len(problem), as_seed(rng)).weights, **_signs(problem, rng)}
    summary = summary_of(problem, ChainedWeights(tuple(streams.values())))
    ksd = max(0.0, summary.mean) ** 0.5
    shared: dict[str, Any] = {"exponent": 0.5, "seconds": (time.perf_counter() - start) / 2.0}
    rows = []
    for k, name in enumerate((WEIGHTED, MARKOV)):
        null = _null(summary, k) if name in streams else None
        given = {"bootstrap": name, "pvalue": None if null else 1.0, **shared}
        rows.append(decision_row("tilted-ksd", null, ksd, 0.0, cell, **given))
    return rows


def _signs(problem: Problem, rng: np.random.Generator) -> dict[str, Weights]:
    """Signs for these rows; none where n is below 20 autocorrelation times: what is refused rejects nothing."""
    calibration, seed = WildBootstrap(DRAWS, dependence="auto"), as_seed(rng)
    try:
        return {MARKOV: calibration.for_rows(problem).request(len(problem), seed).weights}
    except ValueError:
        return {}


def _null(summary: GramSummary, k: int) -> BootstrapNull:
    forms = summary.quadratic_forms[k * DRAWS : (k + 1) * DRAWS]
    return BootstrapNull.from_summary(dataclasses.replace(summary, quadratic_forms=forms), "v")


def _style(name: str, n: int) -> Style:
    words = {WEIGHTED: "weighted bootstrap", MARKOV: "wild, Markov signs"}[name]
    return Style(f"{words}, n = {n:,}", _COLORS[name], *_LOOKS[n])


def draw(results: Results, figure: Any) -> None:
    """Rejection against ρ: left of the model itself, right of a shifted chain."""
    panels = figure.subplots(1, 2, sharey=True)
    rates = results.rates.select(variant="published")
    for ax, shift, title in zip(panels, SHIFTS, ("the model is true", "mean shifted by 0.5"), strict=True):
        lines = [
            Series(rates.select(shift=shift, bootstrap=name, n=n), _style(name, n))
            for name in (WEIGHTED, MARKOV)
            for n in SIZES
        ]
        rate_panel(ax, "rate", lines, xlabel=r"correlation $\rho$ of neighboring rows", title=title)
        ax.set_xticks(MEMORIES)
    panels[1].set_ylabel("")
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=4)


EXPERIMENT = Experiment(
    name="dependence",
    title="samples of a Markov chain",
    reference="§2.2 and App. B.8, of the wild bootstrap",
    says=(
        'The paper names it twice. §2.2: wild bootstraps "are also viable, particularly when the samples are '
        'potentially correlated". App. B.8: the wild bootstrap "is more flexible as it can work for dependent '
        'samples". It shows neither, although the samples of its RBM are a chain (§5.2: "no longer i.i.d."). Here '
        "the rows are a stationary chain x_t = ρx_{t−1} + √(1 − ρ²)ε_t, each of them N(0, 1), and the model is that "
        "N(0, 1) or off by .5. Weights of independent rows reject the true model ever more often as ρ grows; signs "
        "that are a Markov chain themselves keep the level, and still see the shift."
    ),
    setup='tilted IMQ at the median distance, 300 draws of either bootstrap, signs of length `dependence="auto"`',
    grid=tuple(
        {"n": n, "dimension": 1, "rate": memory, "shift": shift, "bandwidth": "median"}
        for shift in SHIFTS
        for n in SIZES
        for memory in MEMORIES
    ),
    trial=trial,
    repeats=100,
    expectations=(
        level(
            "without dependence both keep the level",
            rate=0,
            shift=0,
            axes={"bootstrap": (WEIGHTED, MARKOV), "n": SIZES},
        ),
        above(
            "weights of independent rows lose it: ρ = .5", 0.1, bootstrap=WEIGHTED, shift=0, rate=0.5, axes={"n": SIZES}
        ),
        above(
            "weights of independent rows lose it: ρ = .9", 0.6, bootstrap=WEIGHTED, shift=0, rate=0.9, axes={"n": SIZES}
        ),
        level("Markov signs keep it", bootstrap=MARKOV, shift=0, axes={"n": SIZES, "rate": MEMORIES[1:]}),
        agree(
            "for independent rows they cost no power",
            {"bootstrap": WEIGHTED, "rate": 0, "shift": 0.5},
            {"bootstrap": MARKOV, "rate": 0, "shift": 0.5},
            axes={"n": SIZES},
            errors=2.0,
            least=True,
        ),
        monotone(
            "their power falls with ρ, as the number of rows that count does",
            "rate",
            MEMORIES,
            falling=True,
            bootstrap=MARKOV,
            shift=0.5,
            axes={"n": SIZES},
        ),
        because(
            "at ρ = .9 and n = 500 there are some 26 independent rows' worth of data, and nothing is claimed",
            above("they see the shift", bootstrap=MARKOV, shift=0.5, n=2000, axes={"rate": MEMORIES}),
        ),
    ),
    draw=draw,
    differences=(
        "ρ is the column `rate` of the table. A chain of fewer than 20 autocorrelation times is refused by "
        '`dependence="auto"` and counts as not rejected, which happens at ρ = .9 and n = 500. The length of the signs '
        "is taken from the rows, for which the theorem of Leucht and Neumann has no place; what that costs is on the "
        "page on [chains](../theory/chains.md)."
    ),
    size=(8.5, 3.5),
)
