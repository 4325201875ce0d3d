"""Bootstrap weights in many dimensions: which keep the level on the edge of the ball and the power beyond it."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from typing import Any

import numpy as np

from experiments.evidence.contaminations import KINDS, supremum
from experiments.evidence.edge import problem_of, sample
from experiments.evidence.keys import LEVEL_LABEL, legend_of, level_line
from experiments.framework.base import Cell, Experiment, Row
from experiments.framework.expectations import Expectation, Finding, level
from experiments.framework.figures import Style
from experiments.framework.rows import decision_row
from experiments.framework.table import Results
from steinball.calibration import BoundaryBootstrap
from steinball.gram.whole import DenseGram
from steinball.tau.certificate import Supremum

__all__ = ["EXPERIMENT"]

DIMENSIONS, SIZES, SHARES = (10, 50, 100), (50, 100, 200), (0.01, 0.05, 0.2)
SHOWN = ("worst point", "two points", "shifted", "wide")
BEYOND = {"worst point": 0.12, "shifted": 0.15, "wide": 0.2}
TOLERANCE, DRAWS = 0.05, 199
SCHEMES = {
    "weighted": Style("multinomial weights", "#009E73"),
    "scaled": Style(r"scaled to $\sum v^2 = n$", "#D55E00", "s"),
    "wild": Style("balanced signs", "#0072B2", "^"),
}


_TITLES = {"edge": "on the edge of the ball", "model": "data of the model, radius 0", "power": "beyond the tolerance"}


def _cells(strategy: str, kind: str, share: float) -> list[Cell]:
    shared = {"strategy": strategy, "kind": kind, "contamination": share}
    return [{**shared, "dimension": d, "n": n} for d in DIMENSIONS for n in SIZES]


GRID: tuple[Cell, ...] = (
    *_cells("model", "worst point", 0.0),
    *(cell for kind in SHOWN for share in SHARES for cell in _cells("edge", kind, share)),
    *(cell for kind, share in BEYOND.items() for cell in _cells("power", kind, share)),
)


def trial(cell: Cell, rng: np.random.Generator) -> list[Row]:
    """One sample and all weights: at D(R, P) of the cell, or beyond ε₀√τ; and at radius 0 as well where it is power."""
    start, d = time.perf_counter(), cell["dimension"]
    problem = problem_of(sample(cell, rng))
    seed = np.random.SeedSequence(int(rng.integers(2**62)))
    tau = Supremum(supremum(d)[0], "closed form")
    if cell["strategy"] == "power":
        tolerance, radius = TOLERANCE, TOLERANCE * math.sqrt(tau.value)
    else:
        tolerance, radius = cell["contamination"], cell["contamination"] * KINDS[cell["kind"]].distance(d)
    gram, rows = DenseGram(problem), []
    counts, signs = (
        gram.summarise(BoundaryBootstrap(DRAWS, s).request(len(problem), seed)) for s in ("weighted", "wild")
    )
    ksd = math.sqrt(max(0.0, counts.mean))
    for scheme, summary in zip(SCHEMES, (counts, counts, signs), strict=True):
        null = BoundaryBootstrap(DRAWS, scheme).null(summary, tau, "v")
        shared: dict[str, Any] = {
            "tau": tau.value,
            "seconds": time.perf_counter() - start,
            "bootstrap": scheme,
            "tolerance": tolerance,
        }
        rows.append(decision_row("boundary", null, ksd, radius, cell, **shared))
    return rows


def _mean(results: Results, strategy: str, scheme: str, d: int, n: int | None = None) -> tuple[float, float]:
    """Mean and largest rate over the cells of a dimension."""
    where: dict[str, Any] = {"strategy": strategy, "bootstrap": scheme, "dimension": d}
    rates = [row.rate for row in results.rates.select(**where, **({} if n is None else {"n": n}))]
    return (float(np.mean(rates)), max(rates)) if rates else (math.nan, math.nan)


def table(results: Results) -> str:
    """Rates by dimension and size."""
    head = ["d", "n", *(f"{scheme}: {what}" for scheme in SCHEMES for what in ("model", "edge", "power"))]
    lines = [f"| {' | '.join(head)} |", "|" + "---|" * len(head)]
    for d in DIMENSIONS:
        for n in SIZES:
            cells = []
            for scheme in SCHEMES:
                model, edge, power = (_mean(results, s, scheme, d, n) for s in ("model", "edge", "power"))
                cells += [f"{model[0]:.3f}", f"{edge[0]:.3f} ({edge[1]:.3f})", f"{power[0]:.2f}"]
            lines.append(f"| {d} | {n} | {' | '.join(cells)} |")
    return (
        "Rate under the model at radius 0, mean rate on the edge (largest), mean power, by the weights:\n\n"
        + "\n".join(lines)
    )


def draw(results: Results, figure: Any) -> None:
    """The edge left, the model alone in the middle, power right; n along each dimension."""
    panels, places = figure.subplots(1, 3), [(d, n) for d in DIMENSIONS for n in SIZES]
    for ax, (strategy, title) in zip(panels, _TITLES.items(), strict=True):
        for scheme, style in SCHEMES.items():
            for k, d in enumerate(DIMENSIONS):
                rates = [_mean(results, strategy, scheme, d, n)[0] for n in SIZES]
                at, label = len(SIZES) * k + np.arange(len(SIZES)), style.label if k == 0 else None
                ax.plot(at, rates, style.marker + "-", color=style.color, label=label)
        level_line(ax)
        ax.set_xticks(range(len(places)), [f"{d}\n{n}" for d, n in places])
        ax.set(title=title, xlabel="$d$ above $n$", ylim=(0.0, None))
    panels[0].set_ylabel("rejection rate")
    legend_of(figure, panels[0], LEVEL_LABEL, loc="outside upper center", ncols=len(SCHEMES) + 1)


def _default(results: Results) -> Iterator[Finding]:
    for d in DIMENSIONS:
        mean, _ = _mean(results, "edge", "scaled", d)
        yield Finding(f"mean on the edge, d = {d}", "between .03 and .06", mean, 0.03 <= mean <= 0.06)
        model, _ = _mean(results, "model", "scaled", d)
        yield Finding(f"mean under the model, d = {d}", "between .02 and .08", model, 0.02 <= model <= 0.08)


def _gain(results: Results) -> Iterator[Finding]:
    for d in DIMENSIONS:
        ours, before = (_mean(results, "power", scheme, d)[0] for scheme in ("scaled", "weighted"))
        yield Finding(f"power, d = {d}", f"≥ {before:.3f} of multinomial weights", ours, ours >= before - 0.01)


EXPERIMENT = Experiment(
    name="dimensions",
    title="bootstrap weights in many dimensions",
    reference="BoundaryBootstrap(scheme=...)",
    setup=(
        "inverse multiquadric at the median distance under N(0, I), weight (1+|x|²)^(−½), τ in closed form; "
        f"{DRAWS} draws"
    ),
    says=(
        "In many dimensions D² is nearly the mean of u(x, x) over n, and hardly scatters. A draw with "
        "multinomial weights scatters with Σv², by √(2n) around n, so its quantile is too large and the test "
        "sleeps. Weights scaled to Σv² = n and balanced signs do not scatter so. The same data, Gaussian "
        "models and kernels as in `edge`; *model* is N(0, I) at radius 0, *edge* four "
        "kinds of contamination at their exact distance, *power* three kinds beyond ε₀ = .05. "
        "`robust_ksd_test` scales its weights by default: they are the paper's draws, so that a result can "
        "still be read by `WeightedBootstrap`."
    ),
    grid=GRID,
    trial=trial,
    repeats=100,
    again=1000,
    expectations=(
        Expectation("scaled weights are near the level on the edge", _default),
        level(
            "and beyond it in no cell",
            axes={"kind": SHOWN, "dimension": DIMENSIONS, "n": SIZES, "contamination": SHARES},
            **{"strategy": "edge", "bootstrap": "scaled", "test": "boundary"},
        ),
        Expectation("and lose no power", _gain),
    ),
    draw=draw,
    extra=table,
    size=(10.0, 3.2),
)
