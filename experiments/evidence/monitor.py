"""Alarms for a feed: how long until a false one, also against an adversary, and how soon a change is found."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments.framework.base import Cell, Experiment, Row
from experiments.framework.expectations import Expectation, Finding, above, below, theorem
from experiments.framework.figures import Style
from experiments.framework.table import Results
from steinball.models import Gaussian
from steinball.sequential import Monitor
from steinball.sequential.monitor import BETS, Detector, ExactColumns, cosines

__all__ = ["EXPERIMENT"]

Floats = NDArray[np.float64]
Rng = np.random.Generator

CONTAMINATION, EXPECTED_RUN = 0.05, 1000
LONGEST, BATCH = 10_000, 500
CLEAN_ROWS = 200
WINDOW = 50
BURST = 10
DRAWN = ", by draws"


class Sampler:
    """N(0, I) that is known by its draws alone."""

    def __init__(self, dimension: int) -> None:
        self.dimension = dimension

    def sample(self, n: int, rng: Rng) -> Floats:
        return rng.standard_normal((n, self.dimension))


def _outliers(share: float, place: float) -> Callable[[Floats, Rng], Floats]:
    return lambda x, rng: np.where(rng.random((len(x), 1)) < share, place, x)


def _bursts(x: Floats, rng: Rng) -> Floats:
    """One row in 200 begins a burst of ten at 8: 5 % of the rows, but not independently of the past."""
    starts = np.flatnonzero(rng.random(len(x)) < CONTAMINATION / BURST)
    bad = (starts[:, None] + np.arange(BURST)).ravel()
    x = x.copy()
    x[bad[bad < len(x)]] = 8.0
    return x


def _first_column(change: Callable[[Floats], Floats]) -> Callable[[Floats, Rng], Floats]:
    def changed(x: Floats, rng: Rng) -> Floats:
        return np.column_stack([change(x[:, :1]), x[:, 1:]])

    return changed


CHANGES: dict[str, Callable[[Floats, Rng], Floats]] = {
    "clean": lambda x, rng: x,
    "5 % at 8": _outliers(0.05, 8.0),
    "5 % at 1": _outliers(0.05, 1.0),
    "bursts": _bursts,
    "shift 1": lambda x, rng: x + 1.0,
    "shift .5": lambda x, rng: x + 0.5,
    "sd × 1.7": lambda x, rng: 1.7 * x,
    "20 % at 8": _outliers(0.2, 8.0),
    "one column + 1": _first_column(lambda x: x + 1.0),
    "every sd × 1.2": lambda x, rng: 1.2 * x,
}
RUNS = ("clean", "5 % at 8", "5 % at 1", "adaptive")
DELAYS = {"shift 1": 30, "shift .5": 69, "sd × 1.7": 110, "20 % at 8": 90}
"""Changes of one column, and 1.5 times the median delay of the first prototype."""

MANY = {"one column + 1": 60, "every sd × 1.2": 60}
METHODS = {
    "monitor": Style("monitor", "#0072B2"),
    "window": Style(f"window of {WINDOW}, tuned on clean rows", "#D55E00", "s"),
}


def trial(cell: Cell, rng: Rng) -> list[Row]:
    """One feed. ``ksd`` is the row of the first alarm, or its delay; ``rejected`` whether that was early."""
    start, late = time.perf_counter(), cell["strategy"] == "delay"
    limit = {**DELAYS, **MANY}.get(cell["kind"].removesuffix(DRAWN), EXPECTED_RUN // 10)
    found = {"monitor": _first_alarm(cell, rng)}
    if cell["dimension"] == 1 and cell["kind"] in CHANGES:
        found["window"] = _first_of_window(cell, rng)
    seconds = time.perf_counter() - start
    return [
        {"test": test, "rejected": int(row - CLEAN_ROWS * late <= limit), "ksd": row - CLEAN_ROWS * late,
         "seconds": seconds, **cell}
        for test, row in found.items()
    ]  # fmt: skip


def _feed(cell: Cell, rng: Rng) -> Iterator[tuple[int, Floats]]:
    """Batches of rows, each with the number of rows before it; a change comes after 200 clean rows."""
    change, n = CHANGES[cell["kind"].removesuffix(DRAWN)], 0
    if cell["strategy"] == "delay":
        yield 0, rng.standard_normal((CLEAN_ROWS, cell["dimension"]))
        n = CLEAN_ROWS
    while n < LONGEST:
        yield n, change(rng.standard_normal((BATCH, cell["dimension"])), rng)
        n += BATCH


def _first_alarm(cell: Cell, rng: Rng) -> int:
    """The row of the first alarm; after a change, of the first alarm behind it."""
    if cell["kind"] == "adaptive":
        return _against_an_adversary(rng)
    d = cell["dimension"]
    model = Sampler(d) if cell["kind"].endswith(DRAWN) else Gaussian(dimension=d)
    monitor, least = Monitor(model, CONTAMINATION, EXPECTED_RUN), CLEAN_ROWS * (cell["strategy"] == "delay")
    for _, rows in _feed(cell, rng):
        rows_found = [alarm.row for alarm in monitor.update(rows) if alarm.row > least]
        if rows_found:
            return rows_found[0]
    return LONGEST


def _against_an_adversary(rng: Rng) -> int:
    """Each row is bad with probability .05, and then where it adds the most evidence, all before it being known."""
    columns, places = ExactColumns(lambda rows: rows), np.linspace(0.0, 1.0, 65)[:, None]
    detector = Detector.start(CONTAMINATION, EXPECTED_RUN, columns, 1)
    for t in range(1, LONGEST + 1):
        u = _worst(detector, places) if rng.random() < CONTAMINATION else rng.random((1, 1))
        if detector.advance(u)[1]:
            return t
    return LONGEST


def _worst(detector: Detector, places: Floats) -> Floats:
    """The place with the largest evidence after it, among a grid."""
    features = cosines(places)  # (places, 1, 6)
    directions = np.repeat(detector.directions[:, None], len(places), axis=1)
    growth = 1.0 + BETS[:, None] * detector._gains(directions, features)[:, :, None]
    evidence = ((1.0 + detector.wealth) * growth).sum(axis=(1, 2, 3))
    return places[[int(evidence.argmax())]]


def _statistic(x: Floats) -> Floats:
    """|mean feature|² over the last 50 rows, at each row from the 50th on."""
    u = ExactColumns(lambda rows: rows)(x)[:, 0]
    sums = np.cumsum(np.concatenate([np.zeros((1, 6)), cosines(u[:, None])[:, 0]]), axis=0)
    means = (sums[WINDOW:] - sums[:-WINDOW]) / WINDOW
    return np.asarray(np.sum(means * means, axis=1))


@cache
def threshold() -> float:
    """Where a window of clean rows cries every 1,000 rows on average: 600 feeds of 8,000 rows, by bisection."""
    rng = np.random.default_rng(20)
    paths = [_statistic(rng.standard_normal((8000, 1))) for _ in range(600)]
    low, high = 0.0, 5.0
    for _ in range(30):
        middle = (low + high) / 2.0
        runs = [WINDOW + (int(np.argmax(path > middle)) if (path > middle).any() else len(path)) for path in paths]
        low, high = (middle, high) if np.mean(runs) < EXPECTED_RUN else (low, middle)
    return high


def _first_of_window(cell: Cell, rng: Rng) -> int:
    least = CLEAN_ROWS * (cell["strategy"] == "delay")
    rows = np.concatenate([part for _, part in _feed(cell, rng)])
    over = np.flatnonzero(_statistic(rows) > threshold()) + WINDOW
    over = over[over > least]
    return int(over[0]) if over.size else LONGEST


def _rate(results: Results, test: str, cell: Cell) -> Any:
    found = list(results.rates.select(test=test, **cell))
    return found[0] if found else None


def draw(results: Results, figure: Any) -> None:
    """Left the mean rows to a false alarm, right the mean delay."""
    panels = figure.subplots(1, 2)
    for ax, strategy, title in zip(panels, ("run", "delay"), ("rows to a false alarm", "delay"), strict=True):
        cells = [cell for cell in GRID if cell["strategy"] == strategy]
        for shift, (test, style) in zip((-0.18, 0.18), METHODS.items(), strict=True):
            found = [(k, _rate(results, test, cell)) for k, cell in enumerate(cells)]
            places, means = zip(*((k + shift, rate.ksd) for k, rate in found if rate is not None), strict=True)
            ax.barh(places, means, height=0.34, color=style.color, label=style.label)
        ax.set_yticks(range(len(cells)), [_words(cell) for cell in cells])
        ax.invert_yaxis()
        ax.set(xlabel="rows (mean)", title=title)
    panels[0].axvline(EXPECTED_RUN, color="0.35", linestyle="-.", linewidth=0.9, label="the run that was asked for")
    panels[0].set_xscale("log")
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=2)


def _words(cell: Cell) -> str:
    return f"{cell['kind']}" + (f", d = {cell['dimension']}" if cell["dimension"] > 1 else "")


def table(results: Results) -> str:
    """Mean run or delay of both, and the share of feeds that were early."""
    lines = ["| feed | monitor: mean rows | early | window: mean rows | early |", "|---|---|---|---|---|"]
    for cell in GRID:
        texts = []
        for test in METHODS:
            rate = _rate(results, test, cell)
            texts += ["", ""] if rate is None else [f"{rate.ksd:,.0f}", f"{rate.rate:.2f}"]
        lines.append(f"| {_words(cell)} | {' | '.join(texts)} |")
    return (
        "Rows to the first alarm (at most 10,000 are counted) or the delay behind a change; *early* is within 100 "
        "rows, or within the delay that is claimed for the median:\n\n" + "\n".join(lines)
    )


def _long_runs(results: Results, cells: tuple[Cell, ...]) -> Iterator[Finding]:
    for cell in cells:
        rate = _rate(results, "monitor", cell)
        yield Finding(_words(cell), f"≥ {EXPECTED_RUN:,}", rate.ksd, rate.ksd >= EXPECTED_RUN)


def _short_runs(results: Results) -> Iterator[Finding]:
    for test, kind in (("monitor", "bursts"), ("window", "5 % at 8"), ("window", "5 % at 1")):
        rate = results.rates.one(test=test, kind=kind, strategy="run", dimension=1)
        yield Finding(f"{METHODS[test].label}, {kind}", f"< {EXPECTED_RUN:,}", rate.ksd, rate.ksd < EXPECTED_RUN)


def _cells(strategy: str, kinds: Any, d: int, ending: str = "") -> tuple[Cell, ...]:
    return tuple({"strategy": strategy, "kind": kind + ending, "dimension": d} for kind in kinds)


PROVED = (*_cells("run", RUNS, 1), *_cells("run", RUNS[:2], 1, DRAWN), *_cells("run", RUNS[:2], 5))
GRID = (
    *PROVED,
    *_cells("run", ("bursts",), 1),
    *_cells("delay", DELAYS, 1),
    *_cells("delay", ("shift .5",), 1, DRAWN),
    *_cells("delay", MANY, 20),
)

EXPERIMENT = Experiment(
    name="monitor",
    title="alarms for a feed",
    reference="docs/theory/monitor.md",
    setup=f"model N(0, I), tolerated contamination .05, expected run A = {EXPECTED_RUN:,}",
    says=(
        "Rows to a false alarm of `Monitor` on feeds of N(0, I): clean, with 5 % of the rows at 8 or at 1, and "
        "with 5 % that an adversary puts where they add the most evidence, all rows before being known. Proved is"
        " a mean of at least 1,000, and that at most a tenth of the feeds have one within 100 rows; at most "
        "10,000 rows are counted, so that true means are larger. With *by draws* the model is known by 50,000 "
        "draws alone. *Bursts* break the assumption: one row in 200 begins ten bad rows, and the mean falls below"
        " 1,000. The window is the length of the mean feature over 50 rows, with a threshold that gives 1,000 on "
        "clean rows: 5 % of outliers make it cry far more often. Delays are counted from a change after 200 clean"
        " rows; with d = 20 in one column, or in all."
    ),
    grid=GRID,
    trial=trial,
    repeats=200,
    expectations=(
        theorem(Expectation("the expected run is at least A", lambda r: _long_runs(r, PROVED))),
        *(
            theorem(
                below(
                    f"an alarm within A/10 rows, d = {d}",
                    0.1,
                    test="monitor",
                    strategy="run",
                    dimension=d,
                    axes={"kind": kinds},
                )
            )
            for d, kinds in ((1, (*RUNS, *(kind + DRAWN for kind in RUNS[:2]))), (5, RUNS[:2]))
        ),
        Expectation("bursts, and a window tuned on clean rows, cry more often", _short_runs),
        above(
            "half of the changes are found in time",
            0.5,
            test="monitor",
            strategy="delay",
            dimension=1,
            axes={"kind": (*DELAYS, "shift .5" + DRAWN)},
        ),
        above("also in 20 columns", 0.5, test="monitor", strategy="delay", dimension=20, axes={"kind": tuple(MANY)}),
    ),
    draw=draw,
    extra=table,
    size=(10.0, 4.2),
)
