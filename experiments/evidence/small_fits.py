"""Ordinary data that are hard to test: few rows of a family, rounded rows, copied rows, series with a slow memory."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from scipy import stats
from scipy.signal import lfilter

import steinball as sb
from experiments.evidence.keys import LEVEL_LABEL, legend_of, level_line
from experiments.evidence.members import Draw, column
from experiments.framework.base import Cell, Experiment, Row
from experiments.framework.expectations import Expectation, Finding, above, at_the_level, level
from experiments.framework.figures import Style
from experiments.framework.table import Results
from steinball.arrays import Floats

__all__ = ["EXPERIMENT", "FAMILIES", "LAWS", "SERIES", "trial"]

REFITS, DRAWS = 19, 199
"""Of 19 draws, a sample is rejected that exceeds all: at level .05 exactly where the test is exact."""

SIZES, GRIDS, COPIES = (10, 15, 20, 30, 50), (0.01, 0.1), (2, 5)
ROUNDED_SIZES, SERIES_SIZES = (500, 2000), (500, 2000)

FAMILIES: dict[str, tuple[str, Draw]] = {
    "normal": column("normal"),
    "normal, d = 2": ("normal", lambda rng, n: rng.normal(size=(n, 2))),
    "exponential": column("exponential"),
    "gamma (2)": column("gamma"),
    "log-normal": column("lognormal"),
    "Weibull (1.5)": column("weibull"),
    "student-t (5)": column("student-t"),
}

LAWS: dict[str, tuple[Any, Draw]] = {
    "normal": (sb.models.Gaussian(), column("normal")[1]),
    "exponential": (stats.expon(), column("exponential")[1]),
}


def autoregression(rng: np.random.Generator, n: int, rho: float) -> Floats:
    """A stationary series of N(0, 1) with correlation ρ from row to row."""
    noise = rng.normal(size=n)
    noise[1:] *= np.sqrt(1.0 - rho**2)
    return np.asarray(lfilter([1.0], [1.0, -rho], noise))


def fractional(rng: np.random.Generator, n: int, d: float) -> Floats:
    """ARFIMA(0, d, 0) of variance 1, by its moving average over 4n terms."""
    k = np.arange(1, 4 * n)
    average = np.cumprod(np.concatenate([[1.0], (k - 1 + d) / k]))
    found = np.fft.irfft(np.fft.rfft(rng.normal(size=8 * n), 16 * n) * np.fft.rfft(average, 16 * n))[4 * n : 5 * n]
    return np.asarray(found / np.sqrt(np.sum(average**2)))


def below_noise(rng: np.random.Generator, n: int, share: float, rho: float) -> Floats:
    """An autoregression that has this share of the variance, and white noise the rest."""
    return np.asarray(np.sqrt(share) * autoregression(rng, n, rho) + np.sqrt(1.0 - share) * rng.normal(size=n))


SLOW: dict[str, Draw] = {
    "ARFIMA(.2)": lambda rng, n: fractional(rng, n, 0.2),
    "ARFIMA(.4)": lambda rng, n: fractional(rng, n, 0.4),
    "15 % of AR(.98) below noise": lambda rng, n: below_noise(rng, n, 0.15, 0.98),
}
SHORT: dict[str, Draw] = {
    "independent": lambda rng, n: rng.normal(size=n),
    "AR(.5)": lambda rng, n: autoregression(rng, n, 0.5),
    "AR(.8)": lambda rng, n: autoregression(rng, n, 0.8),
    "AR(.9)": lambda rng, n: autoregression(rng, n, 0.9),
    "half AR(.9), half noise": lambda rng, n: below_noise(rng, n, 0.5, 0.9),
}
SERIES = SLOW | SHORT

Decisions = dict[str, bool]


def _few(cell: Cell, rng: np.random.Generator) -> Decisions:
    family, draw = FAMILIES[cell["strategy"]]
    found = sb.fit_test(draw(rng, cell["n"]), family, calibration=sb.RefitBootstrap(REFITS), rng=rng)
    return {"rejected": found.rejected}


def _inside(cell: Cell, rng: np.random.Generator) -> Decisions:
    """Normal rows, which the student-t family holds at its edge."""
    return {"rejected": sb.fit_test(rng.normal(size=cell["n"]), "student-t", rng=rng).rejected}


def _rounded(cell: Cell, rng: np.random.Generator) -> Decisions:
    model, draw = LAWS[cell["strategy"]]
    x = cell["rate"] * np.round(draw(rng, cell["n"]) / cell["rate"])
    return {"rejected": sb.ksd_test(x, model, calibration=sb.WeightedBootstrap(DRAWS), rng=rng).rejected}


def _copied(cell: Cell, rng: np.random.Generator) -> Decisions:
    x = rng.permutation(np.repeat(rng.normal(size=cell["n"] // cell["rate"]), cell["rate"]))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = sb.ksd_test(x, sb.models.Gaussian(), calibration=sb.WeightedBootstrap(DRAWS), rng=rng)
    return {"rejected": found.rejected, "warned": any("occur more than once" in str(w.message) for w in caught)}


def _series(cell: Cell, rng: np.random.Generator) -> Decisions:
    x, chains = SERIES[cell["strategy"]](rng, cell["n"]), cell["kind"] == "chains"
    try:
        if chains:
            calibration = sb.WildBootstrap(DRAWS, dependence="auto", chains=1)
            found: Any = sb.mcmc_test(x[None, :, None], sb.models.Gaussian(), calibration=calibration, rng=rng)
        else:
            calibration = sb.WildBootstrap(DRAWS, dependence="auto")
            found = sb.ksd_test(x, sb.models.Gaussian(), calibration=calibration, rng=rng)
    except ValueError:
        return {"rejected": False, "refused": True}
    return {"rejected": found.rejected, "refused": False}


_KINDS: dict[str, Callable[[Cell, np.random.Generator], Decisions]] = {
    "few rows": _few, "normal in student-t": _inside, "rounded": _rounded, "copied": _copied, "series": _series,
    "chains": _series,
}  # fmt: skip


def trial(cell: Cell, rng: np.random.Generator) -> list[Row]:
    """One sample: whether it is rejected, and where that can be, refused or warned of."""
    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sb.SteinballWarning)
        decisions = _KINDS[cell["kind"]](cell, rng)
    seconds = time.perf_counter() - start
    return [{"test": name, "rejected": int(yes), "seconds": seconds, **cell} for name, yes in decisions.items()]


GRID: tuple[Cell, ...] = (
    *({"kind": "few rows", "strategy": family, "n": n} for family in FAMILIES for n in SIZES),
    {"kind": "normal in student-t", "strategy": "normal", "n": 100},
    *({"kind": "rounded", "strategy": law, "n": n, "rate": step}
      for law in LAWS for n in ROUNDED_SIZES for step in GRIDS),
    *({"kind": "copied", "strategy": "normal", "n": 500, "rate": times} for times in COPIES),
    *({"kind": "series", "strategy": name, "n": n} for name in SERIES for n in SERIES_SIZES),
    *({"kind": "chains", "strategy": name, "n": 2000} for name in SLOW),
)  # fmt: skip

_LONG: tuple[Cell, ...] = tuple(cell for cell in GRID if cell["kind"] in ("series", "chains"))


def _found_or_refused(results: Results) -> Iterator[Finding]:
    for cell in _LONG:
        if cell["strategy"] in SLOW:
            rejected, refused = (results.rates.one(test=test, **cell) for test in ("rejected", "refused"))
            expected, holds = at_the_level(rejected)
            label = f"{cell['kind']}, {cell['strategy']}, n = {cell['n']}; {refused.rate:.3f} refused"
            where = {"test": "rejected", **cell}
            holds = holds or refused.rate >= 0.9
            yield Finding(label, expected, rejected.rate, holds, rejected.interval, where)


def _not_refused(results: Results) -> Iterator[Finding]:
    for name in list(SHORT)[:3]:
        for n in SERIES_SIZES:
            refused = results.rates.one(test="refused", kind="series", strategy=name, n=n)
            yield Finding(f"{name}, n = {n}", "≤ 0.05", refused.rate, refused.rate <= 0.05, refused.interval)


def table(results: Results) -> str:
    """Every rate, one line a cell."""
    head = ["what", "data", "n", "step or copies", "rejected", "refused", "warned"]
    lines = [f"| {' | '.join(head)} |", "|" + "---|" * len(head)]
    for cell in GRID:
        found = {rate.where["test"]: f"{rate.rate:.3f}" for rate in results.rates.select(**cell)}
        told = [str(cell.get(name, "")) for name in ("kind", "strategy", "n", "rate")]
        lines.append(f"| {' | '.join([*told, *(found.get(name, '') for name in head[4:])])} |")
    return "\n".join(lines)


STYLES = {
    family: Style(family, color, marker)
    for (family, color), marker in zip(
        zip(FAMILIES, ("#0072B2", "#56B4E9", "#009E73", "#E69F00", "#D55E00", "#CC79A7", "0.4"), strict=True),
        "os^vD<>",
        strict=True,
    )
}


def draw(results: Results, figure: Any) -> None:
    """Left the level of fits to few rows, right rejections and refusals of series."""
    left, right = figure.subplots(1, 2)
    for family, style in STYLES.items():
        y = [results.rates.one(test="rejected", kind="few rows", strategy=family, n=n).rate for n in SIZES]
        left.plot(SIZES, y, marker=style.marker, color=style.color, label=family)
    left.set(xlabel="$n$", ylabel="rejected, the family being right", ylim=(0.0, 0.15))
    level_line(left)
    legend_of(left, left, LEVEL_LABEL, ncols=2, fontsize="small")
    for test, style in (("rejected", Style("rejected", "#D55E00")), ("refused", Style("refused", "#0072B2", "s"))):
        y = [results.rates.one(test=test, kind="series", strategy=name, n=2000).rate for name in SERIES]
        right.plot(y, range(len(SERIES)), style.marker, color=style.color, label=style.label)
    right.set_yticks(range(len(SERIES)), list(SERIES))
    right.set(xlabel="share of series, $n = 2{,}000$", xlim=(-0.02, 1.02))
    level_line(right, upright=True)
    legend_of(right, right, loc="center right")


EXPERIMENT = Experiment(
    name="small-fits",
    title="few rows, rounded rows, copied rows, slow memory",
    reference="docs/guarantees.md",
    setup=(
        f"the defaults of `fit_test` with {REFITS} refits, of `ksd_test` with {DRAWS} draws; series by "
        '`WildBootstrap(dependence="auto")` in `ksd_test`, and in `mcmc_test`'
    ),
    says=(
        "True models on data that are ordinary and hard: ten to fifty rows to which a family is fitted, normal rows in "
        "the student-t family, rows rounded to .01 and .1, files in which each row stands twice or five times, series "
        "with a long memory or with a slow part below noise. The level is kept, or a warning or an error says why not."
    ),
    grid=GRID,
    trial=trial,
    repeats=400,
    expectations=(
        level("a family fitted to few rows keeps its level", test="rejected", kind="few rows",
              axes={"strategy": tuple(FAMILIES), "n": SIZES}),
        level("normal rows are of the student-t family", test="rejected", kind="normal in student-t",
              axes={"n": (100,)}),
        level("rounded rows are not rejected for that", test="rejected", kind="rounded",
              axes={"strategy": tuple(LAWS), "n": ROUNDED_SIZES, "rate": GRIDS}),
        above("copied rows are warned of", 0.95, test="warned", kind="copied", axes={"rate": COPIES}),
        Expectation("slow memory: series are rejected no more than they may, or .9 are refused", _found_or_refused),
        Expectation("series with a short memory are not refused", _not_refused),
    ),
    differences=(
        "At 400 repeats three cells of few rows were above .072: the exponential family at n = 20, the log-normal one "
        "at n = 30 and 50, whose refits are exact. The rule to look at such cells again, with 1,600 repeats, was added "
        "when that was seen. The series AR(.8) was rejected in .080 of 400 samples at n = 500, and in .053 at 2,000; "
        "no claim is made of its level."
    ),
    draw=draw,
    extra=table,
    size=(9.6, 4.4),
    again=1600,
)  # fmt: skip
