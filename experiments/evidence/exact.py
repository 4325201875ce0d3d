"""The exact test by samples of the model: its level everywhere, its power, and what it says of shares."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np

from experiments.evidence.exact_settings import GRID, LEVEL_CELLS, POWER_CELLS, Setting, sample, setting_of
from experiments.evidence.keys import LEVEL_LABEL, legend_of, level_line
from experiments.framework.base import Cell, Experiment, Row
from experiments.framework.expectations import LEVEL, Expectation, Finding, describe, theorem
from experiments.framework.figures import Style
from experiments.framework.rows import decision_row
from experiments.framework.table import Rate, Results
from steinball.calibration import BoundaryBootstrap, MonteCarlo
from steinball.calibration.base import BootstrapNull, Null
from steinball.calibration.betting import BettingNull, payoffs
from steinball.calibration.deviation import DeviationNull
from steinball.calibration.monte_carlo import MonteCarloNull
from steinball.gram.base import GramSummary
from steinball.gram.request import Request
from steinball.gram.tiles import PrefixNorms
from steinball.gram.whole import DenseGram, ReplicatedGram, prefix_norms
from steinball.problem import Problem
from steinball.tau.certificate import Supremum

__all__ = ["EXPERIMENT"]

DRAWS = 199
BOOTSTRAPS_UP_TO = 500
_TILE = 128
TESTS = {
    "monte-carlo": Style("exact (MonteCarlo)", "#CC79A7", "D"),
    "r-ksd": Style("the paper's test", "#009E73"),
    "boundary": Style("boundary bootstrap", "#D55E00", "s"),
    "betting": Style("betting", "#0072B2", "^"),
    "deviation": Style("deviation bound", "#56B4E9", "v"),
}
SHARES = {"share": "share of the distribution", "points": "share of these points"}


def pool_size(n: int) -> int:
    """Samples of the model in the pool of a cell."""
    return 20_000 if n <= 100 else 4_000


@cache
def pool_of(kind: str, d: int, n: int) -> PrefixNorms:
    """Many samples of the model, drawn once for all repeats of a cell."""
    setting = setting_of(kind, d)
    seed = np.random.SeedSequence((n, d, *kind.encode()))
    draws = np.asarray(setting.model.sample(2, np.random.default_rng(0)), dtype=np.float64).reshape(2, -1)
    problem = setting.problem(draws)
    found = ReplicatedGram(DenseGram(problem), problem, _TILE).summarise(MonteCarlo(pool_size(n)).request(n, seed))
    assert found.prefix_norms is not None
    return found.prefix_norms


def _taken(pool: PrefixNorms, rng: np.random.Generator) -> PrefixNorms:
    """Some samples of the pool, and fresh random numbers for them."""
    return PrefixNorms(pool.norms[rng.choice(len(pool.norms), DRAWS, replace=False)], rng.random(DRAWS))


def trial(cell: Cell, rng: np.random.Generator) -> list[Row]:
    """One sample and every test; *share* and *points* count bounds that are larger than the truth."""
    start, name = time.perf_counter(), cell["kind"].partition(" ")[0]
    setting = setting_of(name, cell["dimension"])
    pool = pool_of(name, cell["dimension"], cell["n"])
    x, bad = sample(cell, setting, rng)
    problem = setting.problem(x)
    ksd, nulls = _nulls(problem, setting, _taken(pool, rng), rng)
    exact, theta = nulls["monte-carlo"], cell["tolerance"] * math.sqrt(setting.tau)
    assert isinstance(exact, MonteCarloNull)
    shared = {"tau": setting.tau, "seconds": time.perf_counter() - start, "tolerance": cell["tolerance"]}
    rows = [decision_row(test, null, ksd, theta, cell, **shared) for test, null in nulls.items()]
    share = exact.share_bound(ksd, LEVEL, setting.tau)
    points = exact.remarks(ksd, LEVEL)["contaminated_points"] / cell["n"]
    misses = {"share": (share, share > cell["contamination"]), "points": (points, points > bad / cell["n"])}
    return rows + [
        {**cell, "test": test, "rejected": int(missed), "ksd": bound, **shared}
        for test, (bound, missed) in misses.items()
    ]


def _nulls(
    problem: Problem, setting: Setting, sampled: PrefixNorms, rng: np.random.Generator
) -> tuple[float, dict[str, Null]]:
    """D and every test that is affordable at this n: bootstraps need the whole matrix."""
    n, tau = len(problem), setting.tau
    if n > BOOTSTRAPS_UP_TO:
        norms = prefix_norms(problem.stein, problem.points, problem.diagonal, _TILE)
        ksd, bets, more = float(norms[-1]) / n, None, {}
    else:
        summary = _summary(problem, rng)
        ksd, earlier = math.sqrt(max(0.0, summary.mean)), summary.prefix_sums
        assert earlier is not None
        bets = BettingNull(payoffs(earlier.sums, earlier.diagonal), tau, ksd)
        more = _bootstraps(summary, tau)
    nulls: dict[str, Null] = {"monte-carlo": MonteCarloNull(sampled, tau, ksd), "deviation": _deviation(tau, n), **more}
    return ksd, nulls if bets is None else {**nulls, "betting": bets}


def _deviation(tau: float, n: int) -> DeviationNull:
    return DeviationNull(tau, n, ("norm", "pinelis"))


def _summary(problem: Problem, rng: np.random.Generator) -> GramSummary:
    """The draws of the boundary bootstrap, which are the paper's, and sums in one random order."""
    n, seed = len(problem), np.random.SeedSequence(int(rng.integers(2**62)))
    weights = BoundaryBootstrap(DRAWS).request(n, seed).weights
    return DenseGram(problem).summarise(Request(weights, orders=rng.permutation(n)[None]))


def _bootstraps(summary: GramSummary, tau: float) -> dict[str, Null]:
    boundary = BoundaryBootstrap(DRAWS).null(summary, Supremum(tau, "given"), "v")
    return {"r-ksd": BootstrapNull.from_summary(summary, "v"), "boundary": boundary}


def _rate(results: Results, test: str, cell: Cell) -> Rate | None:
    found = list(results.rates.select(test=test, **_where(cell)))
    return found[0] if found else None


def _where(cell: Cell) -> dict[str, Any]:
    return {name: cell[name] for name in ("kind", "dimension", "contamination", "n", "tolerance", "strategy")}


def _levels(results: Results, tests: tuple[str, ...]) -> Iterator[Finding]:
    for cell in LEVEL_CELLS:
        for test in tests:
            rate = _rate(results, test, cell)
            if rate is None:
                continue
            where = {"test": test, **_where(cell)}
            variance = LEVEL * (1.0 - LEVEL) * (1.0 / rate.repeats + 1.0 / pool_size(cell["n"]))
            room = LEVEL + 2.0 * math.sqrt(variance)
            expected = f"≤ {room:.3f} (level + 2 s.e.)"
            yield Finding(describe(where), expected, rate.rate, rate.rate <= room, rate.interval, where)


def _powers(results: Results) -> Iterator[Finding]:
    for cell in POWER_CELLS:
        exact, deviation = (_rate(results, test, cell) for test in ("monte-carlo", "deviation"))
        if exact is None or deviation is None:
            continue
        words = f"{cell['kind']}, d = {cell['dimension']}, n = {cell['n']}, ε = {cell['contamination']:g}"
        yield Finding(words, f"≥ {deviation.rate:.3f}, the deviation bound", exact.rate, exact.rate >= deviation.rate)


def draw(results: Results, figure: Any) -> None:
    """Left the level of the exact test in every cell, right the power of all tests."""
    left, right = figure.subplots(1, 2, width_ratios=(1, 1.5))
    sizes = sorted({cell["n"] for cell in LEVEL_CELLS})
    for test, style in TESTS.items():
        found = [(sizes.index(cell["n"]), _rate(results, test, cell)) for cell in LEVEL_CELLS]
        shown = [(place, rate.rate) for place, rate in found if rate is not None and rate.rate < 0.16]
        shift = 0.13 * (list(TESTS).index(test) - 2)
        places, rates = (np.array(part) for part in zip(*shown, strict=True))
        left.scatter(places + shift, rates, s=9, color=style.color, alpha=0.6, linewidth=0, label=style.label)
    level_line(left)
    left.set_xticks(range(len(sizes)), [f"{n:,}" for n in sizes])
    left.set(xlabel="sample size $n$", ylabel="rejection rate", title="level (rates above .16 are cut off)")
    _power_panel(results, right)
    legend_of(figure, right, LEVEL_LABEL, loc="outside upper center", ncols=len(TESTS) + 1)


def _power_panel(results: Results, ax: Any) -> None:
    for test, style in TESTS.items():
        rates = [_rate(results, test, cell) for cell in POWER_CELLS]
        at = 0.13 * (list(TESTS).index(test) - 2) + np.arange(len(rates))
        ax.plot(
            at, [np.nan if r is None else r.rate for r in rates], style.marker, color=style.color, label=style.label
        )
    level_line(ax)
    words = [f"{c['n']}, {c['dimension']}, {c['contamination']:g}\n{c['kind'].split()[1]}" for c in POWER_CELLS]
    ax.set_xticks(range(len(words)), words, rotation=60, fontsize=6.5)
    ax.set(title=r"power at $\varepsilon_0 = 0.05$ ($n$, $d$, $\varepsilon$)", ylim=(-0.03, 1.03))


def table(results: Results) -> str:
    """Power of every test, and the mean of both bounds."""
    head = [
        "outliers",
        "n",
        "d",
        "ε",
        *(style.label for style in TESTS.values()),
        "bound, distribution",
        "bound, points",
    ]
    lines = [f"| {' | '.join(head)} |", "|" + "---|" * len(head)]
    for cell in POWER_CELLS:
        rates = [_rate(results, test, cell) for test in TESTS]
        bounds = [_rate(results, test, cell) for test in SHARES]
        texts = [f"{r.rate:.2f}" if r else "" for r in rates] + [f"{r.ksd:.3f}" if r else "" for r in bounds]
        first = [cell["kind"].split()[1], f"{cell['n']}", f"{cell['dimension']}", f"{cell['contamination']:g}"]
        lines.append(f"| {' | '.join(first + texts)} |")
    powers = "\n".join(lines)
    return f"Power at ε₀ = .05, and the mean proven share:\n\n{powers}\n\n{_largest(results)}"


def _largest(results: Results) -> str:
    """The largest rates of every test over the level cells."""
    lines = ["| test | largest rate over the level cells | where |", "|---|---|---|"]
    for test, label in {**{test: style.label for test, style in TESTS.items()}, **SHARES}.items():
        found = [(rate.rate, cell) for cell in LEVEL_CELLS if (rate := _rate(results, test, cell)) is not None]
        worst, cell = max(found, key=lambda pair: pair[0])
        where = f"{cell['kind']}, n = {cell['n']}, d = {cell['dimension']}, ε₀ = {cell['tolerance']:g}"
        lines.append(f"| {label}{' (misses)' if test in SHARES else ''} | {worst:.3f} | {where} |")
    return "\n".join(lines)


EXPERIMENT = Experiment(
    name="exact",
    title="the exact test by samples of the model",
    reference="MonteCarlo, theory/exact.md",
    setup=(
        f"inverse multiquadric, τ in closed form or over a fine grid, both fixed without the data; {DRAWS} samples "
        f"of the model, {DRAWS} draws of the bootstraps"
    ),
    says=(
        f"`MonteCarlo` holds its level at every n, whatever contaminates the model: {len(LEVEL_CELLS)} cells on "
        "the edge of Huber's model, with n = 10 to 1,000 and d = 1 to 50, a steep model (uniform on (−1, 1) "
        "plus .001 times a logistic variable), models with an edge (exponential, uniform), outliers where u(x, "
        "x) is largest, and sorted rows with outliers in one cluster. Every repeat has 199 samples of the "
        "model, taken at random from a pool that is drawn once for each n, d and model: 20,000 samples up to n "
        "= 100, beyond that 4,000. That leaves the rate unbiased and adds 1/20,000 or 1/4,000 of the variance "
        "of one decision, which the standard errors below contain. The bootstraps are not run at n = 1,000. In "
        "the table the tests `share` and `points` count misses: a bound on the share of the distribution above "
        "ε, and on the share of these points above the true one; `ksd` is then the bound."
    ),
    grid=GRID,
    trial=trial,
    repeats=1000,
    again=4000,
    expectations=(
        theorem(Expectation("MonteCarlo keeps its level in every cell", lambda r: _levels(r, ("monte-carlo",)))),
        theorem(Expectation("both bounds on the share miss no more than they may", lambda r: _levels(r, (*SHARES,)))),
        theorem(Expectation("betting and deviation bounds keep it", lambda r: _levels(r, ("betting", "deviation")))),
        Expectation("it has more power than the deviation bound", _powers),
    ),
    draw=draw,
    extra=table,
    size=(10.0, 3.8),
)  # fmt: skip
