"""The share that the data force one to concede: how often it is too large, and how large it is."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from typing import Any

import numpy as np

from experiments.evidence.contaminations import KINDS, cells_of, supremum
from experiments.evidence.edge import problem_of, sample
from experiments.evidence.keys import LEVEL_LABEL, legend_of, level_line
from experiments.framework.base import Cell, Experiment, Row
from experiments.framework.expectations import LEVEL, Expectation, Finding, level, theorem
from experiments.framework.figures import Style
from experiments.framework.table import Rates, Results
from steinball.arrays import as_seed
from steinball.calibration import BoundaryBootstrap
from steinball.calibration.base import BootstrapNull
from steinball.gram.whole import DenseGram
from steinball.tau.certificate import Supremum

SHARES = (0, 0.02, 0.05, 0.1, 0.2, 0.3)
SIZES, DIMENSIONS = (100, 500), (1, 5)
DRAWS = 399
METHODS = ("r-ksd", "boundary")
_WHERE = ("kind", "dimension", "contamination", "n")
_STYLES = {"r-ksd": Style("the paper's draws", "#009E73"), "boundary": Style("boundary bootstrap", "#D55E00", "s")}


def trial(cell: Cell, rng: np.random.Generator) -> list[Row]:
    """One sample, ε_L by both calibrations from the same draws; ``rejected`` is a miss, ``ksd`` is ε_L."""
    start = time.perf_counter()
    problem = problem_of(sample(cell, rng))
    calibration, tau = BoundaryBootstrap(DRAWS), Supremum(supremum(cell["dimension"])[0], "closed form")
    summary = DenseGram(problem).summarise(calibration.request(len(problem), as_seed(rng)))
    nulls = (BootstrapNull.from_summary(summary, "v"), calibration.null(summary, tau, "v"))
    seconds, ksd = time.perf_counter() - start, math.sqrt(summary.mean)
    bounds = [null.lower_bound(ksd, LEVEL) / math.sqrt(tau.value) for null in nulls]
    return [
        {"test": test, "rejected": int(bound > cell["contamination"]), "ksd": bound, "tau": tau.value,
         "seconds": seconds, **cell}
        for test, bound in zip(METHODS, bounds, strict=True)
    ]  # fmt: skip


def _mean(rates: Rates, value: str) -> float:
    return float(np.mean([getattr(row, value) for row in rates]))


def draw(results: Results, figure: Any) -> None:
    """Left the misses of every cell, right the mean ε_L at the worst point and over all kinds."""
    left, right = figure.subplots(1, 2)
    for shift, (test, style) in zip((-0.12, 0.12), _STYLES.items(), strict=True):
        rows = results.rates.select(test=test)
        place = [SHARES.index(row.number("contamination")) + shift for row in rows]
        left.scatter(
            place, [row.rate for row in rows], s=9, color=style.color, alpha=0.55, linewidth=0, label=style.label
        )
        for kind, line in (("worst point", "-"), (None, "--")):
            chosen = rows.select(n=SIZES[-1], dimension=1, **({} if kind is None else {"kind": kind}))
            means = [_mean(chosen.select(contamination=share), "ksd") for share in SHARES]
            label = f"{style.label}, {kind or 'mean over the kinds'}"
            right.plot(SHARES, means, color=style.color, linestyle=line, marker=style.marker, label=label)
    level_line(left)
    legend_of(left, left, LEVEL_LABEL, loc="upper right")
    title = "misses; a dot is a kind, $n$ and $d$"
    left.set(xlabel=r"contamination $\varepsilon$", ylabel=r"share with $\varepsilon_L > \varepsilon$", title=title)
    left.set_ylim(-0.004, 0.11)
    left.set_xticks(range(len(SHARES)), [f"{share:g}" for share in SHARES])
    right.plot(SHARES, SHARES, color="0.35", linestyle="-.", linewidth=0.9, label=r"$\varepsilon$ itself")
    title = rf"size of the bound $\varepsilon_L$; $n = {SIZES[-1]}$, $d = 1$"
    right.set(xlabel=r"contamination $\varepsilon$", ylabel=r"mean of $\varepsilon_L$", title=title)
    right.legend()


def _misses(results: Results) -> Iterator[Finding]:
    for test, style in _STYLES.items():
        rates = results.rates.select(test=test)
        mean = _mean(rates, "rate")
        yield Finding(f"mean share of misses, {style.label}", "≤ .05", mean, mean <= LEVEL)


def _gain(results: Results, share: float, n: int) -> tuple[float, float]:
    """Mean ε_L over the kinds and dimensions, by the paper's draws and by the boundary bootstrap."""
    rates = results.rates.select(contamination=share, n=n)
    paper, boundary = (_mean(rates.select(test=test), "ksd") for test in METHODS)
    return paper, boundary


def _never_smaller(results: Results) -> Iterator[Finding]:
    """Sample by sample, so in the mean of every cell."""
    where = [{name: row.where[name] for name in _WHERE} for row in results.rates.select(test="boundary")]
    pairs = [tuple(results.rates.one(test=test, **here).ksd for test in METHODS) for here in where]
    least = min(boundary - paper for paper, boundary in pairs)
    yield Finding(f"least difference of the mean ε_L over {len(pairs)} cells", "≥ 0", least, least >= 0.0)


def _larger(results: Results) -> Iterator[Finding]:
    for share, least in ((0.1, 0.005), (0.2, 0.01), (0.3, 0.01)):
        paper, boundary = _gain(results, share, SIZES[-1])
        label = f"mean ε_L at ε={share:g}, n={SIZES[-1]}: boundary less paper"
        yield Finding(label, f"≥ {least:g}", boundary - paper, boundary - paper >= least)


def table_of_means(results: Results) -> str:
    """Mean ε_L by ε and n, over kinds and dimensions."""
    head = ["ε", *(f"{_STYLES[test].label}, n = {n}" for n in SIZES for test in METHODS)]
    lines = [f"| {' | '.join(head)} |", "|" + "---|" * len(head)]
    for share in SHARES:
        cells = [f"{value:.3f}" for n in SIZES for value in _gain(results, share, n)]
        lines.append(f"| {share:g} | {' | '.join(cells)} |")
    return "Mean of ε_L over the six kinds and both dimensions:\n\n" + "\n".join(lines)


EXPERIMENT = Experiment(
    name="contamination-bound",
    title="the share that the data force one to concede",
    reference="ε_L, theory/equivalence.md",
    setup=(
        "inverse multiquadric at the median distance under N(0, I), weight (1+|x|²)^(−½), τ in closed form; "
        f"{DRAWS} draws"
    ),
    says=(
        "ε_L = (lower confidence bound of D)/√τ is at most the contamination ε of the distribution, at confidence "
        ".95, when τ is an upper bound of u(x, x): D(Q, P) = ε D(R, P) ≤ ε√τ. The data are n independent draws of "
        "(1 − ε) N(0, I) + ε R for six kinds of R; kernel, weight and τ are fixed without the data. "
        "In the table `rejected` counts misses, ε_L > ε, and `ksd` is ε_L itself. The bound by the boundary "
        "bootstrap is never below the paper's from the same draws, and misses no more than it may."
    ),
    grid=cells_of(SIZES, DIMENSIONS, SHARES),
    trial=trial,
    repeats=400,
    again=2000,
    expectations=(
        *(
            level(
                f"ε_L covers ({_STYLES[test].label}), n = {n}",
                test=test,
                n=n,
                axes={"kind": tuple(KINDS), "dimension": DIMENSIONS, "contamination": SHARES},
            )
            for test in METHODS
            for n in SIZES
        ),
        Expectation("misses over all cells", _misses),
        theorem(Expectation("the boundary bootstrap's ε_L is never smaller", _never_smaller)),
        Expectation("and visibly larger", _larger),
    ),
    draw=draw,
    extra=table_of_means,
    size=(8.5, 3.4),
)
