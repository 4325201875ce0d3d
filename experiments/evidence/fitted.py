"""Fitted families: the level of the test, its power beside older tests."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

import steinball as sb
from experiments.evidence.keys import LEVEL_LABEL, legend_of, level_line
from experiments.evidence.members import Draw, column
from experiments.framework.base import Cell, Experiment, Row
from experiments.framework.expectations import Expectation, Finding, above, below, level
from experiments.framework.table import Results

Floats = NDArray[np.float64]

DRAWS, REFITS = 99, 19
SIZES = (50, 100, 500)

FAMILIES: dict[str, tuple[str, Draw]] = {
    **{family: column(family) for family in ("normal", "student-t", "gamma", "lognormal", "weibull")},
    "normal, d = 2": ("normal", lambda rng, n: rng.normal(size=(n, 2))),
    "normal, d = 5": ("normal", lambda rng, n: rng.normal(size=(n, 5))),
}
REFITTED = ("normal", "gamma", "weibull")


def _same_margins(rng: np.random.Generator, n: int, d: int) -> Floats:
    """Columns ±|z| with independent signs: each normal, all uncorrelated, of one size."""
    return np.asarray(np.abs(rng.normal(size=(n, 1))) * rng.choice([-1.0, 1.0], size=(n, d)))


ALTERNATIVES: dict[str, Draw] = {
    "t(4)": lambda rng, n: rng.standard_t(4.0, size=(n, 1)),
    "skewed: gamma(4)": lambda rng, n: rng.gamma(4.0, size=(n, 1)),
    "bimodal: ±1.5": lambda rng, n: rng.normal(size=(n, 1)) + 1.5 * rng.choice([-1.0, 1.0], size=(n, 1)),
    "dependent, d = 2": lambda rng, n: _same_margins(rng, n, 2),
    "dependent, d = 5": lambda rng, n: _same_margins(rng, n, 5),
}
ON_THE_LINE = tuple(ALTERNATIVES)[:3]
POWER_SIZES = (100, 200)
Decisions = dict[str, tuple[bool, float]]


def anderson_darling(x: Floats) -> tuple[bool, float]:
    """With mean and standard deviation estimated: A²(1 + .75/n + 2.25/n²) > .752 (Stephens 1974)."""
    n, z = len(x), (np.sort(x[:, 0]) - x.mean()) / x.std(ddof=1)
    k = 2.0 * np.arange(1, n + 1) - 1.0
    found = -n - np.mean(k * (np.log(ndtr(z)) + np.log(ndtr(-z[::-1]))))
    found *= 1.0 + 0.75 / n + 2.25 / n**2
    return bool(found > 0.752), float(found)


def lilliefors(x: Floats) -> tuple[bool, float]:
    """Kolmogorov's distance with the same estimates: D(√n − .01 + .85/√n) > .895 (Stephens 1974)."""
    n, heights = len(x), ndtr((np.sort(x[:, 0]) - x.mean()) / x.std(ddof=1))
    steps = np.arange(1, n + 1) / n
    found = max(np.max(steps - heights), np.max(heights - steps + 1.0 / n))
    found *= math.sqrt(n) - 0.01 + 0.85 / math.sqrt(n)
    return bool(found > 0.895), float(found)


def _of(result: Any) -> tuple[bool, float]:
    return result.rejected, result.ksd


def _level(cell: Cell, rng: np.random.Generator) -> Decisions:
    family, draw = FAMILIES[cell["strategy"]]
    x = draw(rng, cell["n"])
    found = sb.fit_test(x, family, calibration=sb.ProjectedBootstrap(DRAWS), rng=rng)
    decisions = {"projected": _of(found), "naive": _of(found.at(calibration=sb.WeightedBootstrap(DRAWS)))}
    if cell["strategy"] in REFITTED and cell["n"] == 100:
        decisions["refit"] = _of(sb.fit_test(x, family, calibration=sb.RefitBootstrap(REFITS), rng=rng))
    return decisions


def _power(cell: Cell, rng: np.random.Generator) -> Decisions:
    x = ALTERNATIVES[cell["strategy"]](rng, cell["n"])
    found = sb.fit_test(x, "normal", calibration=sb.ProjectedBootstrap(DRAWS), rng=rng)
    decisions = {"projected": _of(found), "naive": _of(found.at(calibration=sb.WeightedBootstrap(DRAWS)))}
    if x.shape[1] == 1:
        decisions |= {"Anderson–Darling": anderson_darling(x), "Lilliefors": lilliefors(x)}
    return decisions


_KINDS = {"level": _level, "power": _power}


def trial(cell: Cell, rng: np.random.Generator) -> list[Row]:
    """One sample, all tests of its kind."""
    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sb.SteinballWarning)
        decisions = _KINDS[cell["kind"]](cell, rng)
    seconds = time.perf_counter() - start
    return [
        {"test": test, "rejected": int(rejected), "ksd": ksd, "seconds": seconds, **cell}
        for test, (rejected, ksd) in decisions.items()
    ]


GRID: tuple[Cell, ...] = (
    *({"kind": "level", "strategy": data, "n": n} for data in FAMILIES for n in SIZES),
    *({"kind": "power", "strategy": data, "n": n} for data in ALTERNATIVES for n in POWER_SIZES),
)  # fmt: skip


def _against_older(results: Results) -> Iterator[Finding]:
    for data in ON_THE_LINE:
        for n in POWER_SIZES:
            rates = {
                test: results.rates.one(kind="power", strategy=data, n=n, test=test).rate
                for test in ("projected", "Anderson–Darling", "Lilliefors")
            }
            ours, theirs, least = rates["projected"], rates["Anderson–Darling"] - 0.15, rates["Lilliefors"]
            label = f"{data}, n = {n}"
            yield Finding(f"{label}: above Lilliefors", f"≥ {least:.3f}", ours, ours >= least)
            yield Finding(f"{label}: within .15 of Anderson–Darling", f"≥ {theirs:.3f}", ours, ours >= theirs)


def table_of_rates(results: Results) -> str:
    """Every rate, one line a cell."""
    lines = ["| what | data | n | test | rate | 95 % interval |", "|" + "---|" * 6]
    for row in results.rates:
        low, high = row.interval
        told = [row.where[name] for name in ("kind", "strategy", "n", "test")]
        lines.append(f"| {' | '.join(told)} | {row.rate:.3f} | {low:.3f} – {high:.3f} |")
    return "\n".join(lines)


def draw(results: Results, figure: Any) -> None:
    """Left levels of the projected and the naive test, right power beside the older tests."""
    left, right = figure.subplots(1, 2)
    for test, marker, color in (("projected", "o", "#0072B2"), ("naive", "s", "#D55E00")):
        rows = [results.rates.one(kind="level", strategy=data, n=100, test=test).rate for data in FAMILIES]
        left.plot(rows, range(len(rows)), marker, color=color)
    left.set_yticks(range(len(FAMILIES)), list(FAMILIES))
    level_line(left, upright=True)
    left.set(xlabel="rejected, the family being right", title="$n = 100$", xlim=(-0.01, 0.2))
    tests = {"projected": ("o", "#0072B2"), "naive": ("s", "#D55E00")}
    tests |= {"Anderson–Darling": ("^", "0.3"), "Lilliefors": ("v", "0.6")}
    for test, (marker, color) in tests.items():
        rows = [results.rates.one(kind="power", strategy=data, n=100, test=test).rate for data in ON_THE_LINE]
        right.plot(range(len(rows)), rows, marker, color=color, label=test)
    level_line(right)
    right.set_xticks(range(len(ON_THE_LINE)), [name.split(":")[0] for name in ON_THE_LINE])
    right.set(
        ylabel="rejected", title="normal family, $n = 100$", ylim=(-0.02, 1.02), xlim=(-0.3, len(ON_THE_LINE) - 0.7)
    )
    legend_of(figure, right, LEVEL_LABEL, loc="outside lower center", ncols=5)


EXPERIMENT = Experiment(
    name="fitted",
    title="families whose parameters are fitted on the tested data",
    reference="theory/fitted.md",
    setup=f"kernel, tilt and τ are the defaults of `fit_test`; {DRAWS} draws, {REFITS} refits",
    says=(
        "A test of a family has its level, where the test of the fitted model as if it were known (naive) hardly ever "
        "rejects. It has the power of the classical tests of normality on the line, and sees dependence that no margin "
        "shows."
    ),
    grid=GRID,
    trial=trial,
    repeats=400,
    expectations=(
        level("The projected bootstrap has its level.", kind="level", test="projected",
              axes={"strategy": tuple(FAMILIES), "n": SIZES}),
        level("So has the bootstrap with refits.", kind="level", test="refit", n=100,
              axes={"strategy": REFITTED}),
        below("The naive test hardly ever rejects.", 0.02, kind="level", test="naive",
              axes={"strategy": tuple(FAMILIES), "n": SIZES}),
        Expectation("Power above Lilliefors' test and within .15 of Anderson and Darling's.", _against_older),
        above("Dependence that no margin shows is seen.", 0.8, kind="power", test="projected", n=200,
              axes={"strategy": tuple(ALTERNATIVES)[3:]}),
    ),
    draw=draw,
    extra=table_of_rates,
)  # fmt: skip
