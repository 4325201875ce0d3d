"""R-KSD by the U-statistic (App. C)."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np

from experiments.framework.base import Cell, Experiment, Row
from experiments.framework.expectations import Expectation, Finding, agree, level
from experiments.framework.figures import Series, Style, mark, rate_panel
from experiments.framework.rows import BOUNDARY, PAPER, TOLERANCE, decision_row
from experiments.framework.table import Curve, Results
from experiments.paper.data import gaussian_cell, point_mass
from experiments.paper.draws import Drawn, drawn
from steinball.calibration import BootstrapNull, BoundaryNull
from steinball.gram.dense import DenseGram
from steinball.gram.request import Request
from steinball.kernels import InverseMultiquadric
from steinball.models import Gaussian
from steinball.problem import pose
from steinball.tilts import PolynomialTilt

SHARES = (0, 0.05, 0.1, 0.125, 0.15, 0.2, 0.3)
SIZES = (20, 50, 100)
SMALL_SHARES = (0, 0.3)
DIMENSIONS = (1, 50)
V, U = "v", "u"

BIAS_SIZES = (10, 20, 50, 100, 200, 500)
_SAMPLES = 100

_LOOKS = {V: ("V-statistic", "#0072B2", "o"), U: ("U-statistic", "#D55E00", "s")}


def distance(found: Drawn, kind: str) -> float:
    """D by either statistic; 0 in place of the root of a negative U-statistic."""
    return found.ksd if kind == V else math.sqrt(max(0.0, found.summary.unbiased_mean))


def trial(cell: Cell, rng: np.random.Generator) -> list[Row]:
    """One sample; the tilted test and R-KSD by both statistics from the same draws."""
    model = Gaussian(dimension=cell["dimension"])
    found = drawn(point_mass(model, cell, rng), model, rng, tilt=PolynomialTilt())
    radius = TOLERANCE * found.tau**0.5
    shared = {"tau": found.tau, "seconds": found.seconds, "bootstrap": "weighted", "exponent": 0.5}
    rows = []
    for kind in (V, U):
        null, ksd = BootstrapNull.from_summary(found.summary, kind), distance(found, kind)
        given = {**shared, "kind": kind}
        rows.append(decision_row("tilted-ksd", null, ksd, 0.0, cell, **given))
        rows.append(decision_row(PAPER, null, ksd, radius, cell, tolerance=TOLERANCE, **given))
    edge = BoundaryNull.from_summary(found.summary)
    given = {**shared, "kind": V, "tolerance": TOLERANCE}
    return [*rows, decision_row(BOUNDARY, edge, found.ksd, radius, cell, **given)]


@cache
def _means(n: int, dimension: int) -> tuple[tuple[float, float], tuple[float, float]]:
    """Mean and standard error of D² of n points of the model, by the V- and by the U-statistic, over 100 samples."""
    found, kernel = [], InverseMultiquadric(math.sqrt(2.0 * dimension))
    for k in range(_SAMPLES):
        x = np.random.default_rng(np.random.SeedSequence(2026, spawn_key=(k, dimension))).normal(size=(n, dimension))
        summary = DenseGram(pose(x, Gaussian(dimension=dimension), kernel, PolynomialTilt())).summarise(Request())
        found.append((summary.mean, summary.unbiased_mean))
    mean, error = np.mean(found, axis=0), np.std(found, axis=0, ddof=1) / math.sqrt(_SAMPLES)
    return (float(mean[0]), float(error[0])), (float(mean[1]), float(error[1]))


def curves(variant: str) -> list[Curve]:
    """The mean of D² (value) and its standard error (y) against n."""
    return [
        Curve("bias", f"{kind}, {d}", BIAS_SIZES, [row[k][1] for row in rows], [row[k][0] for row in rows])
        for d in DIMENSIONS
        for rows in [[_means(n, d) for n in BIAS_SIZES]]
        for k, kind in enumerate((V, U))
    ]


def draw(results: Results, figure: Any) -> None:
    """Rates at n = 500; rates at small n in 1 and in 50 dimensions; D² of the model itself."""
    first, second, third = figure.subplots(1, 3)
    rates = results.rates.select(variant="published")
    names = (("tilted-ksd", "Tilted-KSD", "--"), (PAPER, "R-KSD", "-"))
    lines = [
        Series(rates.select(test=test, kind=kind, n=500, dimension=1), Style(f"{name}, {_LOOKS[kind][0]}", *_LOOKS[kind][1:], line))
        for test, name, line in names
        for kind in (V, U)
    ]
    rate_panel(first, "contamination", lines, xlabel=r"contamination $\varepsilon$ at 10", title="n = 500, d = 1")
    mark(first, TOLERANCE)
    small = [
        Series(rates.select(test=PAPER, kind=kind, contamination=0.3, dimension=d),
               Style(f"R-KSD, {_LOOKS[kind][0]}, d = {d}", *_LOOKS[kind][1:], line))
        for d, line in zip(DIMENSIONS, ("-", ":"), strict=True)
        for kind in (V, U)
    ]  # fmt: skip
    rate_panel(second, "n", small, xlabel="sample size n", title=r"$\varepsilon = .3$ at 10")
    for d, line in zip(DIMENSIONS, ("-", ":"), strict=True):
        for kind in (V, U):
            curve, (label, color, marker) = results.panel("bias")[f"{kind}, {d}"], _LOOKS[kind]
            third.errorbar(curve.x, curve.value, curve.y, color=color, marker=marker, linestyle=line, label=f"{label}, d = {d}")
    third.set(xlabel="sample size n", ylabel=r"mean of $D^2$", title="the model is true", xscale="log")
    third.set_yscale("symlog", linthresh=1e-3)
    for ax in (first, second, third):
        ax.legend()


EXPERIMENT = Experiment(
    name="u-statistic",
    title="the U-statistic in place of the V-statistic",
    reference="App. C",
    says="",
    grid=(
        *(gaussian_cell(contamination=share) for share in SHARES),
        *(
            gaussian_cell(n=n, dimension=d, contamination=share)
            for d in DIMENSIONS
            for n in SIZES
            for share in SMALL_SHARES
        ),
    ),
    trial=trial,
    repeats=100,
    expectations=(),
    draw=draw,
    curves=curves,
    size=(11.5, 3.4),
)
