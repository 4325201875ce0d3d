"""Betting against those who want it to fail: stopping at the largest wealth, contamination that answers the bets."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments.evidence.contaminations import lengthscale, supremum
from experiments.evidence.keys import LEVEL_LABEL, TOLERANCE_LABEL, legend_of, level_line
from experiments.framework.base import Cell, Experiment, Row
from experiments.framework.expectations import above, agree, below, theorem
from experiments.framework.figures import Series, Style, mark, rate_panel, shades
from experiments.framework.rows import decision_row
from experiments.framework.table import Results
from steinball.calibration.betting import BettingNull, payoffs
from steinball.calibration.deviation import DeviationNull
from steinball.kernels.radial import InverseMultiquadric
from steinball.models import Gaussian
from steinball.sequential import SequentialTest
from steinball.stein import SteinKernel
from steinball.tilts import PolynomialTilt

__all__ = ["EXPERIMENT"]

Floats = NDArray[np.float64]

TOLERANCE = 0.05
FAR, SHIFT = 10.0, 1.5
ORDERS = 10
SIZES, DIMENSIONS = (50, 300, 1000), (1, 10)
KINDS = ("worst", "far", "adaptive")
POWER = (0.1, 0.15, 0.2)
BUDGETS = (50, 100, 200)
STREAMS: Mapping[str, Mapping[int, float]] = {
    "worst": {1: 0.12, 10: 0.09},
    "far": {1: 0.12, 10: 0.09},
    "shifted": {1: 0.2, 10: 0.15},
    "late": {1: 0.16, 10: 0.14},
}
"""Contamination of the streams by dimension: in one place, by N(1.5, I), or in one place after a clean quarter."""


def stein_of(d: int) -> SteinKernel:
    """The Stein kernel, fixed without data: the inverse multiquadric at the median distance under N(0, I)."""
    return SteinKernel(InverseMultiquadric(lengthscale(d)), PolynomialTilt())


def place_of(kind: str, d: int) -> Floats:
    """Where outliers lie: at the maximum of u(x, x), or at 10 in every coordinate."""
    return np.full((1, d), FAR) if kind == "far" else supremum(d)[1] * np.eye(1, d)


def radius_of(kind: str, d: int, share: float) -> float:
    """D of that share of point contamination: Q is on the edge of the ball. For adaptive ones ε₀√τ, which holds all."""
    place = place_of(kind, d)
    square = supremum(d)[0] if kind == "adaptive" else float(stein_of(d).diagonal(place, -place)[0])
    return share * math.sqrt(square)


def candidates(d: int) -> Floats:
    """Points that an adversary chooses from: rays along axes and the diagonal, near, worst and far."""
    lengths = np.concatenate([np.linspace(0.1, 4.0, 20), [supremum(d)[1], 6.0, 10.0, 30.0]])
    directions = np.concatenate([np.eye(min(d, 3), d), np.full((1, d), d**-0.5)])
    rays = (lengths[:, None, None] * np.concatenate([directions, -directions])).reshape(-1, d)
    return np.unique(rays.round(12), axis=0)


def sample(cell: Cell, rng: np.random.Generator) -> Floats:
    """n points, each contaminated with the probability of the cell, by what its kind says."""
    n, d, kind = cell["n"], cell["dimension"], cell["kind"]
    x, struck = rng.standard_normal((n, d)), rng.random(n) < cell["contamination"]
    if kind == "adaptive":
        return _answered(x, struck, stein_of(d))
    if kind == "late":
        struck[: n // 4] = False
    x[struck] = x[struck] + SHIFT if kind == "shifted" else place_of(kind, d)
    return x


def _answered(x: Floats, struck: NDArray[np.bool_], stein: SteinKernel) -> Floats:
    """At every struck point the adversary knows the bet, and plays the candidate with the largest payoff."""
    pool = candidates(x.shape[1])
    clean, own = stein(pool, -pool, x, -x), stein(pool, -pool, pool, -pool)
    direction = np.zeros(len(pool))  # Σ_s u(·, x_s) at the candidates
    for t in range(len(x)):
        if struck[t]:
            best = int(np.argmax(direction))
            x[t] = pool[best]
            direction += own[:, best]
        else:
            direction += clean[:, t]
    return x


def trial(cell: Cell, rng: np.random.Generator) -> list[Row]:
    """One stream: its level or power in one pass over the pairs, or what a budget does to it."""
    x = sample(cell, rng)
    return _budget_rows(x, cell, rng) if cell["strategy"] == "stream" else _rows(x, cell, rng)


def _payoffs_in(order: NDArray[np.integer], u: Floats) -> Floats:
    moved = u[np.ix_(order, order)]
    return payoffs(np.triu(moved, 1).sum(axis=0), np.diag(moved))


def _rows(x: Floats, cell: Cell, rng: np.random.Generator) -> list[Row]:
    start, (n, d) = time.perf_counter(), x.shape
    u = stein_of(d)(x, -x, x, -x)
    tau, ksd, level = supremum(d)[0], math.sqrt(u.mean()), cell["strategy"] == "level"
    radius = radius_of(cell["kind"], d, TOLERANCE) if level else TOLERANCE * math.sqrt(tau)
    arrival = _payoffs_in(np.arange(n), u)[None]
    nulls: dict[str, Any] = {
        "betting": BettingNull(arrival, tau, ksd),
        "betting-newton": BettingNull(arrival, tau, ksd, "newton", radius),
    }
    if level:
        nulls["looks-ahead"] = BettingNull(_looking_ahead(u)[None], tau, ksd)
    else:
        shuffled = [_payoffs_in(rng.permutation(n), u) for _ in range(ORDERS - 1)]
        nulls["betting-orders"] = BettingNull(np.stack([arrival[0], *shuffled]), tau, ksd)
        nulls["r-ksd-dev"] = DeviationNull(tau, n)
    seconds = (time.perf_counter() - start) / len(nulls)
    shared = {"tau": tau, "seconds": seconds, "tolerance": TOLERANCE}
    return [decision_row(test, null, ksd, radius, cell, **shared) for test, null in nulls.items()]


def _looking_ahead(u: Floats) -> Floats:
    """What must not be done: each point is in the direction that is bet on it."""
    with_itself = np.triu(u).sum(axis=0)
    squares = np.cumsum(2.0 * with_itself - np.diag(u))
    return np.asarray(with_itself / np.sqrt(squares))


def _budget_rows(x: Floats, cell: Cell, rng: np.random.Generator) -> list[Row]:
    """The same stream with few kept points, and with all."""
    d, rows = x.shape[1], []
    stein = stein_of(d)
    for budget in (*BUDGETS, len(x)):
        start = time.perf_counter()
        test = SequentialTest(
            Gaussian(dimension=d), kernel=stein.kernel, tilt=stein.tilt, tau=supremum(d)[0], contamination=TOLERANCE,
            budget=budget + (budget == len(x)), rng=rng,
        ).update(x)  # fmt: skip
        measured = {"tau": test.tau, "seconds": time.perf_counter() - start, "tolerance": TOLERANCE}
        name = "kept-all" if budget == len(x) else f"kept-{budget}"
        rows.append(decision_row(name, None, test.ksd, test.radius, cell, pvalue=test.pvalue, **measured))
    return rows


_STYLES = {
    "betting": Style("betting", "#0072B2", "o"),
    "betting-newton": Style("betting, Newton's bets", "#009E73", "^"),
    "betting-orders": Style(f"betting, {ORDERS} orders", "#CC79A7", "D"),
    "r-ksd-dev": Style("deviation bound", "#56B4E9", "v"),
}


def draw(results: Results, figure: Any) -> None:
    """Power against the share of contamination at two places, and what a budget leaves of it."""
    panels = figure.subplots(1, 3, sharey=True)
    for ax, kind, title in zip(panels, KINDS[:2], ("outliers at the worst place", "outliers at 10"), strict=False):
        rates = results.rates.select(kind=kind, strategy="power")
        lines = [Series(rates.select(test=test), style) for test, style in _STYLES.items()]
        rate_panel(ax, "contamination", lines, xlabel=r"contamination $\varepsilon$", title=title)
        mark(ax, TOLERANCE)
        ax.set_xticks((TOLERANCE, *POWER), [format(share, "g") for share in (TOLERANCE, *POWER)])
    legend_of(figure, panels[0], LEVEL_LABEL, TOLERANCE_LABEL, loc="outside lower left", ncols=3)
    _draw_budgets(panels[2], results)
    for ax in panels[1:]:
        ax.set_ylabel("")


def _draw_budgets(ax: Any, results: Results) -> None:
    names = [*(f"kept-{budget}" for budget in BUDGETS), "kept-all"]
    for shift, (kind, style) in zip((-0.12, -0.04, 0.04, 0.12), shades(list(STREAMS)).items(), strict=True):
        for d, line in zip(DIMENSIONS, ("-", "--"), strict=True):
            rates = [results.rates.one(test=name, kind=kind, dimension=d, strategy="stream").rate for name in names]
            look = {"marker": style.marker, "color": style.color, "linestyle": line, "label": f"{kind}, $d = {d}$"}
            ax.plot(shift + np.arange(len(names)), rates, **look)
    level_line(ax)
    ax.set_xticks(range(len(names)), [name.removeprefix("kept-") for name in names])
    ax.set(xlabel="kept points", title="streams of 1,000 points")
    ax.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))


_STREAM_CELLS = [(kind, d) for kind in STREAMS for d in DIMENSIONS]

EXPERIMENT = Experiment(
    name="betting",
    title="betting against adversaries",
    reference="docs/theory/betting.md",
    setup=(
        "inverse multiquadric at the median distance under N(0, I), weight (1+|x|²)^(−½), τ in closed form, ε₀ = .05; "
        f"bets need no draws, {ORDERS} orders where it is said"
    ),
    says=(
        "The bettor's p-value is 1/max W, so every stream is stopped where it looks worst. On the edge of the ball the "
        "level .05 holds at n = 50, 300 and 1,000, also when each contaminated point is chosen, knowing all points "
        "before it and the bet, among about two hundred candidates for the largest payoff. A bettor whose direction "
        "has seen the point breaks the level: predictability is what the proof uses and what the test needs. Power at "
        "n = 500 and ε₀ = .05; what keeping 50, 100 or 200 points instead of all costs on streams of 1,000, among them "
        "streams that are clean at first (`late`). In the table, `strategy` names the part: `level`, `power`, `stream`."
    ),
    grid=tuple(
        {"strategy": "level", "kind": kind, "dimension": d, "n": n, "contamination": TOLERANCE}
        for n in SIZES
        for d in DIMENSIONS
        for kind in KINDS
    )
    + tuple(
        {"strategy": "power", "kind": kind, "dimension": 1, "n": 500, "contamination": share}
        for kind in KINDS[:2]
        for share in POWER
    )
    + tuple(
        {"strategy": "stream", "kind": kind, "dimension": d, "n": 1000, "contamination": STREAMS[kind][d]}
        for kind, d in _STREAM_CELLS
    ),
    trial=trial,
    repeats=400,
    again=2000,
    expectations=(
        *(
            theorem(
                below(
                    f"the level holds against every adversary ({_STYLES[test].label})",
                    0.05,
                    test=test,
                    strategy="level",
                    axes={"n": SIZES, "dimension": DIMENSIONS, "kind": KINDS},
                )
            )
            for test in ("betting", "betting-newton")
        ),
        above(
            "a direction that has seen its point breaks it",
            0.3,
            test="looks-ahead",
            strategy="level",
            axes={"n": SIZES[1:], "dimension": (1,), "kind": KINDS},
        ),
        above(
            "power at ε = .15, worst place",
            0.45,
            test="betting",
            strategy="power",
            contamination=0.15,
            axes={"kind": ("worst",)},
        ),
        above(
            "power at ε = .15, outliers at 10",
            0.55,
            test="betting",
            strategy="power",
            contamination=0.15,
            axes={"kind": ("far",)},
        ),
        above("power at ε = .2", 0.9, test="betting", strategy="power", contamination=0.2, axes={"kind": KINDS[:2]}),
        agree(
            "more power than the deviation bound",
            {"test": "r-ksd-dev", "strategy": "power"},
            {"test": "betting", "strategy": "power"},
            axes={"contamination": POWER, "kind": KINDS[:2]},
            least=True,
            errors=2.0,
        ),
        *(
            agree(
                f"a budget of {budget} costs no power{' for outliers in one place' if budget < 100 else ''}, d = {d}",
                {"test": "kept-all", "strategy": "stream", "dimension": d},
                {"test": f"kept-{budget}", "strategy": "stream", "dimension": d},
                axes={"kind": ("worst", "far") if budget < 100 else ("worst", "far", "shifted")},
                least=True,
                errors=2.0,
            )
            for budget in BUDGETS
            for d in DIMENSIONS
        ),
    ),
    draw=draw,
    size=(10.5, 3.4),
)
