"""Tests on the edge of the ball: data whose distance from the model is exactly the tolerated one."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments.evidence.contaminations import KINDS, cells_of, lengthscale, supremum
from experiments.evidence.keys import LEVEL_LABEL, key, legend_of, level_line
from experiments.framework.base import Cell, Experiment, Row
from experiments.framework.expectations import Expectation, Finding, agree, below, describe, level, theorem
from experiments.framework.figures import TESTS, Style
from experiments.framework.rows import BOUNDARY, PAPER, decision_row
from experiments.framework.table import Rates, Results
from steinball.arrays import as_seed
from steinball.calibration import BoundaryBootstrap, DeviationBound
from steinball.calibration.base import BootstrapNull, Null
from steinball.calibration.betting import Betting
from steinball.datasets.data import contaminate
from steinball.gram.base import GramSummary
from steinball.gram.tiles import PrefixSums
from steinball.gram.weights import gather
from steinball.kernels.radial import InverseMultiquadric
from steinball.models import Gaussian
from steinball.problem import Problem, pose
from steinball.tau.certificate import Supremum
from steinball.tilts import PolynomialTilt

SIZES = (50, 100, 300, 1000)
DIMENSIONS = (1, 2, 10, 50)
SHARES = (0.01, 0.05, 0.1, 0.2)
LARGE = 3000
LARGE_KINDS, LARGE_DIMENSIONS, LARGE_SHARE = ("worst point", "shifted"), (1, 10, 50), 0.05
DRAWS = 399
SCHEMES = ("weighted", "wild")

EDGE, CERTIFIED, SAMPLE = "edge", "certified", "sample"
"""How the radius is known: the exact distance of the data's law, or ε₀√τ with the true τ or the sample's maximum."""
_RADII = {EDGE: "the edge, ε₀ D(R, P)", CERTIFIED: "ε₀√τ, closed form", SAMPLE: "ε₀√(largest u(xᵢ, xᵢ))"}

Method = tuple[str, str]
"""A test and the scheme of its draws."""

_BOUNDARY: tuple[Method, ...] = ((BOUNDARY, "weighted"), (BOUNDARY, "wild"))
ASKED: dict[str, tuple[Method, ...]] = {
    EDGE: ((PAPER, "weighted"), *_BOUNDARY, ("deviation", ""), ("betting", "")),
    CERTIFIED: _BOUNDARY,
    SAMPLE: ((PAPER, "weighted"), _BOUNDARY[0]),
}
"""Which tests are asked at which radius. Betting and deviation bounds hold on the edge, so at larger radii too."""

_NAMES = {
    PAPER: "the paper's test",
    BOUNDARY: "boundary bootstrap",
    "betting": "betting",
    "deviation": "deviation bound",
}
_SCHEME = {PAPER: "weighted", BOUNDARY: "weighted", "betting": ""}
_STYLES = {
    PAPER: Style(_NAMES[PAPER], TESTS[PAPER].color),
    BOUNDARY: Style(_NAMES[BOUNDARY], "#D55E00"),
    "betting": Style(_NAMES["betting"], "#0072B2"),
}


def problem_of(x: NDArray[np.float64]) -> Problem:
    """The data against N(0, I), with kernel and weight that were fixed without them."""
    d = x.shape[1]
    return pose(x, Gaussian(np.zeros(d), np.eye(d)), InverseMultiquadric(lengthscale(d)), PolynomialTilt())


def sample(cell: Cell, rng: np.random.Generator) -> NDArray[np.float64]:
    """n independent draws of Q = (1 − ε₀) N(0, I) + ε₀ R: how many are contaminated is random."""
    n, d, kind = cell["n"], cell["dimension"], KINDS[cell["kind"]]
    clean = rng.standard_normal((n, d))
    drawn = contaminate(clean, cell["contamination"], lambda m, g: kind.draw(m, d, g), rng, count="binomial")
    return np.asarray(drawn)


def summaries(problem: Problem, seed: np.random.SeedSequence) -> dict[str, GramSummary]:
    """One Gram matrix, and what it says of the weights of each scheme: one product for both."""
    n = len(problem)
    matrix = problem.stein.block(problem.points, problem.points)
    row_means = matrix.mean(axis=1)
    streams = [BoundaryBootstrap(DRAWS, scheme).request(n, seed).weights for scheme in SCHEMES]
    weights = np.concatenate([gather(stream, n) for stream in streams]).astype(np.float64)
    forms = np.split(np.einsum("bi,bi->b", weights @ matrix, weights) / n**2, len(SCHEMES))
    linear = np.split(weights @ row_means / n, len(SCHEMES))
    shared = (problem.diagonal, row_means, float(row_means.mean()))
    earlier = PrefixSums(np.tril(matrix, -1).sum(axis=1)[None], problem.diagonal[None])
    return {
        scheme: GramSummary(
            *shared, forms[k], streams[k], "dense", "exact", linear_forms=linear[k], prefix_sums=earlier
        )
        for k, scheme in enumerate(SCHEMES)
    }


def nulls(found: dict[str, GramSummary], tau: Supremum) -> dict[Method, Null]:
    """Every test and scheme, from the same matrix; the tests of one scheme share its draws."""
    boundary = {(BOUNDARY, s): BoundaryBootstrap(DRAWS, s).null(found[s], tau, "v") for s in SCHEMES}
    return {
        (PAPER, "weighted"): BootstrapNull.from_summary(found["weighted"], "v"),
        **boundary,
        ("deviation", ""): DeviationBound(proven=False).null(found["weighted"], tau, "v"),
        ("betting", ""): Betting(order="arrival").null(found["weighted"], tau, "v"),
    }


def trial(cell: Cell, rng: np.random.Generator) -> list[Row]:
    """One sample from the edge, every test at the radii that it is asked about."""
    start = time.perf_counter()
    d, share = cell["dimension"], cell["contamination"]
    problem = problem_of(sample(cell, rng))
    found = summaries(problem, as_seed(rng))
    tau = Supremum(supremum(d)[0], "closed form")
    sizes = {
        EDGE: KINDS[cell["kind"]].distance(d),
        CERTIFIED: tau.value**0.5,
        SAMPLE: float(problem.diagonal.max()) ** 0.5,
    }
    tests, ksd = nulls(found, tau), math.sqrt(max(0.0, found["weighted"].mean))
    shared = {"tau": tau.value, "seconds": time.perf_counter() - start, "tolerance": share}
    return [
        decision_row(
            test, tests[test, scheme], ksd, share * sizes[where], cell, strategy=where, bootstrap=scheme, **shared
        )
        for where, methods in ASKED.items()
        for test, scheme in methods
    ]


def draw(results: Results, figure: Any) -> None:
    """One dot per kind of contamination and share; a bar is their mean. A panel per dimension, n along it."""
    panels = figure.subplots(1, len(DIMENSIONS), sharey=True)
    rates = results.rates.select(strategy=EDGE)
    top = max([0.115, *(row.rate + 0.01 for row in rates if row.where["test"] in _STYLES)])
    for ax, d in zip(panels, DIMENSIONS, strict=True):
        for place, (test, style) in zip((-0.27, 0.0, 0.27), _STYLES.items(), strict=True):
            chosen = rates.select(test=test, dimension=d, bootstrap=_SCHEME[test])
            _strips(ax, chosen, place, style)
        level_line(ax)
        ax.set(title=f"$d = {d}$", xlabel="sample size $n$", xlim=(-0.55, len(SIZES) - 0.45), ylim=(-0.004, top))
        for k in range(0, len(SIZES), 2):
            ax.axvspan(k - 0.5, k + 0.5, color="0.955", linewidth=0, zorder=-1)
        ax.set_xticks(range(len(SIZES)), [f"{n:,}" for n in SIZES])
        ax.tick_params(axis="x", length=0)
    panels[0].set_ylabel("rejection rate on the edge of the ball")
    mean = key("mean over kinds and shares", color="0.2", linewidth=2.0)
    legend_of(figure, panels[0], mean, LEVEL_LABEL, loc="outside upper center", ncols=5, markerscale=1.6)


def _strips(ax: Any, rates: Rates, place: float, style: Style) -> None:
    """The rates of one test, a narrow strip of dots above every n."""
    label: str | None = style.label
    for k, n in enumerate(SIZES):
        here = sorted(row.rate for row in rates.select(n=n))
        if not here:
            continue
        across = 0.09 * np.sin(2.4 * np.arange(len(here)))  # spread, the same in every drawing
        ax.scatter(k + place + across, here, s=9, color=style.color, alpha=0.55, linewidth=0, label=label)
        mean = float(np.mean(here))
        ax.plot([k + place - 0.12, k + place + 0.12], [mean, mean], color=style.color, linewidth=2.0)
        label = None


def _mean_of(results: Results, test: str, scheme: str) -> float:
    rates = results.rates.select(test=test, bootstrap=scheme, strategy=EDGE)
    return float(np.mean([row.rate for row in rates if row.number("n") <= SIZES[-1]]))


def _means(results: Results) -> Iterator[Finding]:
    cells = len(SIZES) * len(DIMENSIONS) * len(SHARES) * len(KINDS)
    mean = _mean_of(results, BOUNDARY, "weighted")
    yield Finding(f"mean over {cells} cells, boundary bootstrap", "between .035 and .06", mean, 0.035 <= mean <= 0.06)
    paper = _mean_of(results, PAPER, "weighted")
    yield Finding(f"mean over {cells} cells, the paper's test", "≤ .02", paper, paper <= 0.02)


def table_of_means(results: Results) -> str:
    """Mean and largest rate of every test at every radius, by n."""
    head = ["test", "radius", *(f"n = {n:,}" for n in (*SIZES, LARGE))]
    lines = [f"| {' | '.join(head)} |", "|" + "---|" * len(head)]
    for where, methods in ASKED.items():
        for test, scheme in methods:
            chosen = results.rates.select(test=test, bootstrap=scheme, strategy=where)
            cells = [_mean_and_largest(chosen.select(n=n)) for n in (*SIZES, LARGE)]
            name = _NAMES[test] + (f", {scheme} weights" if test == BOUNDARY else "")
            lines.append(f"| {name} | {_RADII[where]} | {' | '.join(cells)} |")
    return "Mean rate over the cells (largest):\n\n" + "\n".join(lines)


def _mean_and_largest(rates: Rates) -> str:
    values = [row.rate for row in rates]
    return f"{np.mean(values):.3f} ({max(values):.3f})" if values else ""


_EVERYWHERE = {"kind": tuple(KINDS), "dimension": DIMENSIONS, "contamination": SHARES}
_AT_LARGE = {"kind": LARGE_KINDS, "dimension": LARGE_DIMENSIONS, "contamination": (LARGE_SHARE,)}
_AXES = {sizes: {"n": sizes, **_EVERYWHERE} for sizes in (SIZES[:1], SIZES[1:])} | {
    (LARGE,): {"n": (LARGE,), **_AT_LARGE}
}


def _levels(claim: str, **where: Any) -> tuple[Expectation, ...]:
    """The level and two standard errors in every cell."""
    return tuple(level(f"{claim}, {_sizes(sizes)}", axes=axes, **where) for sizes, axes in _AXES.items())


def _proved(claim: str, test: str) -> tuple[Expectation, ...]:
    """The level itself in every cell, where it is proved."""
    where = {"strategy": EDGE, "test": test}
    return tuple(theorem(below(f"{claim}, {_sizes(sizes)}", 0.05, axes=axes, **where)) for sizes, axes in _AXES.items())


def _sizes(sizes: tuple[int, ...]) -> str:
    return f"n = {sizes[0]:,}" if len(sizes) == 1 else f"n = {sizes[0]:,} to {sizes[-1]:,}"


_WEIGHTED: dict[str, Any] = {"test": BOUNDARY, "bootstrap": "weighted"}

_ASYMPTOTIC = (
    "The level of the boundary bootstrap is asymptotic. Among the cells that missed at 400 repeats and were run to "
    "2,000, these stay above it: at n = 50, and in 50 dimensions up to n = 300, mostly where R is "
    "shifted."
)
_WORST = (50, "worst point", 1, 0.2)
_SHIFTED = ((50, "shifted", 10, 0.2), (50, "shifted", 50, 0.2), (100, "shifted", 50, 0.1), (300, "shifted", 50, 0.05))
_BEYOND = (
    *((EDGE, scheme, *cell) for scheme in SCHEMES for cell in (_WORST, *_SHIFTED, (100, "wide", 2, 0.01))),
    *((EDGE, "wild", 50, "shifted", 50, share) for share in (0.05, 0.1)),
    (EDGE, "wild", 50, "heavy tails", 50, 0.05),
    (EDGE, "wild", 100, "far point", 50, 0.05),
    *((where, "weighted", *_WORST) for where in (CERTIFIED, SAMPLE)),
)
"""Cells beyond the level and two standard errors: radius, scheme, n, kind, d and share."""


def _label(strategy: str, scheme: str, n: int, kind: str, d: int, share: float) -> str:
    where = {"strategy": strategy, "bootstrap": scheme, "n": n, "kind": kind, "dimension": d, "contamination": share}
    return describe({"test": BOUNDARY, **where})


EXPERIMENT = Experiment(
    name="edge",
    title="tests on the edge of the ball",
    reference="boundary bootstrap, betting and deviation bounds",
    setup=(
        "inverse multiquadric at the median distance under N(0, I), weight (1+|x|²)^(−½), τ in closed form; "
        f"{DRAWS} draws, for each of the multinomial and the wild weights"
    ),
    says=(
        "The data are n independent draws of Q = (1 − ε₀) N(0, I) + ε₀ R, and the radius is θ = ε₀ D(R, P), their "
        "exact distance from the model by closed forms and quadrature: Q lies on the edge of the ball. A test of "
        "level .05 that wastes nothing rejects .05 of the time. The paper's bootstrap stays far below; the "
        "boundary bootstrap, from the same draws, comes close; betting and the deviation bounds hold at every n "
        "and for every Q of the ball, and pay for it. Six kinds of R: a point where u(x, x) is largest, a point "
        "at 10 in every coordinate, two points at ±3 in every coordinate, N(1.5, I), N(0, 9 I), and Student's t "
        "with 2 degrees of freedom; ε₀ = .01, .05, .1, .2. Kernel, weight and τ are fixed without the data. In the "
        "table, `strategy` names the radius: the `edge` itself, `certified` ε₀√τ, "
        "`sample` ε₀ times the root of the largest u(xᵢ, xᵢ)."
    ),
    grid=cells_of(SIZES, DIMENSIONS, SHARES)
    + tuple(
        {"kind": kind, "dimension": d, "contamination": LARGE_SHARE, "n": LARGE}
        for d in LARGE_DIMENSIONS
        for kind in LARGE_KINDS
    ),
    trial=trial,
    repeats=400,
    again=2000,
    expectations=(
        *_levels("the boundary bootstrap on the edge", strategy=EDGE, **_WEIGHTED),
        Expectation("on average it is near the level, the paper's test far below", _means),
        *_levels("with wild weights", strategy=EDGE, test=BOUNDARY, bootstrap="wild"),
        *_levels("the boundary bootstrap at θ = ε₀√τ", strategy=CERTIFIED, **_WEIGHTED),
        *_levels("and with the sample's maximum for τ", strategy=SAMPLE, **_WEIGHTED),
        *_proved("betting keeps the level", "betting"),
        *_proved("so do the deviation bounds", "deviation"),
        theorem(
            agree(
                "it rejects whenever the paper's test does",
                {"test": PAPER, "bootstrap": "weighted", "strategy": EDGE},
                {**_WEIGHTED, "strategy": EDGE},
                axes={"n": SIZES, **_EVERYWHERE},
                least=True,
                errors=0.0,
            )
        ),
    ),
    explanations={_label(*cell): _ASYMPTOTIC for cell in _BEYOND},
    draw=draw,
    extra=table_of_means,
    size=(10.0, 3.4),
)
