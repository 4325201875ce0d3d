"""Where the level was once lost: the same samples under the settings of before and under the defaults of today."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

import steinball as sb
from experiments.evidence.keys import LEVEL_LABEL, legend_of, level_line
from experiments.evidence.promise_edges import EDGED, STEEP, Line
from experiments.framework.base import Cell, Experiment, Row
from experiments.framework.expectations import LEVEL, Expectation, Finding, level
from experiments.framework.table import Results
from steinball.arrays import Floats
from steinball.evidence.base import three_way_verdict
from steinball.evidence.bounds import upper_bound
from steinball.models import Gaussian, GaussianMixture
from steinball.tilts import PolynomialTilt

DRAWS = 199
KEPT = 0.03
"""By how much power may fall at the setting of the paper."""
BEFORE, AFTER, TOLD = "before", "after", "told"

Ask = Callable[[Floats, int], bool]
"""One sample and a seed: whether what must not happen (a rejection, a miss) happened, or what must."""


@dataclass(frozen=True)
class Place:
    """A row of the list of breaks: how its samples come about, what was asked of them before and what is asked now.

    ``wanted`` is the share that must be rejected, for power, or ``"as before"``; ``told`` names the warning that must
    come where nothing better can be had; what is ``refusable`` may be refused instead.
    """

    draw: Callable[[np.random.Generator], Floats]
    before: Ask | None
    after: Ask
    wanted: float | str | None = None
    told: str = ""
    refusable: bool = False


def _tolerant(model: Any, share: float, **options: Any) -> Ask:
    def ask(x: Floats, seed: int) -> bool:
        given = {"calibration": sb.BoundaryBootstrap(DRAWS), **options}
        return sb.robust_ksd_test(x, model, share, rng=seed, standardize=False, **given).rejected

    return ask


def _line(line: Line, n: int, tolerance: float, share: float, outlier: float = 0.0, **changes: Any) -> Place:
    """Before: neither support nor sampler, τ of the sample. After: what is known of the model, and the defaults."""
    hidden = _tolerant(line.model(declared=False), tolerance, tau="sample", check_model=False)
    model = line.model()

    def known(x: Floats, seed: int) -> bool:
        """A model is remarked once: where the remark is what is looked for, it is made anew."""
        return _tolerant(line.model() if "told" in changes else model, tolerance)(x, seed)

    return Place(lambda rng: line.draw(n, share, outlier, rng), hidden, known, **changes)


def _edges() -> dict[str, Place]:
    places = {}
    for name, line in EDGED.items():
        places[f"A1 {name}, clean"] = _line(line, 200, 0.0, 0.0)
        for outlier in line.outliers:
            places[f"A1 {name}, 5 % at {outlier:g}"] = _line(line, 200, 0.05, 0.05, outlier)
    return places


def _growth() -> dict[str, Place]:
    line, tilt = STEEP["exp(-x^4)"], PolynomialTilt()
    places = {f"A2 exp(-x^4), 5 % at {z:g}": _line(line, 200, 0.05, 0.05, z) for z in line.outliers}
    seen = _line(line, 200, 0.05, 0.3, line.outliers[0], wanted=0.9)

    def one_far(rng: np.random.Generator) -> Floats:
        x = line.draw(200, 0.0, 0.0, rng)
        x[rng.integers(200)] = 100.0
        return x

    def result(x: Floats, seed: int) -> sb.GofResult:
        options: dict[str, Any] = {"tilt": tilt, "tau": "sample", "calibration": sb.BoundaryBootstrap(DRAWS)}
        return sb.robust_ksd_test(x, line.model(declared=False), 0.05, rng=seed, standardize=False, **options)

    certificate = Place(one_far, lambda x, seed: _certified(result(x, seed)), lambda x, seed: _said(result(x, seed)))
    return {
        **places,
        "A2 exp(-x^4), 30 % at 1.41421 (power)": seen,
        "A2 exp(-x^4), exponent 1/2, one point at 100: 'good enough'": certificate,
    }


def _certified(result: sb.GofResult) -> bool:
    """Whether the upper bound alone would say *good enough*."""
    return three_way_verdict(result.rejected, result.upper_bound, result.radius) == "good enough"


def _said(result: sb.GofResult) -> bool:
    return result.verdict == "good enough"


def _steep() -> dict[str, Place]:
    places = {}
    for name in ("uniform + .001 logistic", "exp(-|x|^100)"):
        places[f"A3 {name}, clean, ε₀ = 0"] = _line(STEEP[name], 200, 0.0, 0.0, told="RareFeaturesWarning")
    flat = "uniform + .001 logistic"
    return {**places, f"A3 {flat}, clean, ε₀ = .05": _line(STEEP[flat], 200, 0.05, 0.0)}


def _bets(order: str, share: float) -> Ask:
    def ask(x: Floats, seed: int) -> bool:
        calibration = sb.Betting(order=order)
        return sb.robust_ksd_test(x, Gaussian(), share, calibration=calibration, rng=seed, standardize=False).rejected

    return ask


def _outliers_first(rng: np.random.Generator) -> Floats:
    x = rng.normal(size=(200, 1))
    bad = rng.binomial(200, 0.05)
    x[:bad] = 1.5
    return x


def _orders() -> dict[str, Place]:
    return {
        "A4 bets, sorted rows": Place(
            lambda rng: np.sort(rng.normal(size=(200, 1)), axis=0), _bets("arrival", 0.0), _bets("random", 0.0)
        ),
        "A4 bets, 5 % of outliers stored first": Place(_outliers_first, _bets("arrival", 0.05), _bets("random", 0.05)),
    }


def _cut(rng: np.random.Generator, n: int = 500) -> Floats:
    """The steep model without what lies outside (0, 1) and next to its ends: .03 of its mass at most."""
    return 0.01 + 0.98 * rng.random((n, 1))


_STEEPEST = 1.2e6
"""An upper bound of u(x, x) for the steep model: |s| ≤ 1000, the length scale is above .1 and weights are at most 1."""


def _variation(tau: str | float) -> Ask:
    model = STEEP["uniform + .001 logistic"].model()

    def ask(x: Floats, seed: int) -> bool:
        options: dict[str, Any] = {"tilt": "auto", "calibration": sb.BoundaryBootstrap(DRAWS), "check_model": False}
        return sb.ksd_test(
            x, model, radius=sb.TotalVariation(0.05), tau=tau, rng=seed, standardize=False, **options
        ).rejected

    return ask


_FAR = GaussianMixture([0.5, 0.5], [-20.0, 20.0])


def _between(n: int, share: float) -> Place:
    """An upper bound of D(Q, P) that lies below it; a share of Q lies between the modes of P, where few points fall."""

    def draw(rng: np.random.Generator) -> Floats:
        x = np.asarray(_FAR.sample(n, rng))
        return np.where(rng.random((n, 1)) < share, 0.2, x)

    def result(x: Floats, seed: int) -> tuple[sb.GofResult, float]:
        calibration = sb.BoundaryBootstrap(DRAWS)
        found = sb.robust_ksd_test(x, _FAR, 0.05, tau="auto", calibration=calibration, rng=seed, standardize=False)
        stein = found._evidence.problem.at(np.full((1, 1), 0.2))
        return found, share * float(stein.diagonal[0]) ** 0.5

    def before(x: Floats, seed: int) -> bool:
        found, distance = result(x, seed)
        return upper_bound(found._evidence.null, found.ksd, LEVEL) < distance

    def after(x: Floats, seed: int) -> bool:
        found, distance = result(x, seed)
        return found.upper_bound < distance

    return Place(draw, before, after)


_TWO = GaussianMixture([0.5, 0.5], [-6.0, 6.0])


def _weights_of_modes() -> Place:
    wrong = GaussianMixture([0.95, 0.05], [-6.0, 6.0])

    def result(x: Floats, seed: int) -> sb.GofResult:
        calibration = sb.BoundaryBootstrap(DRAWS)
        return sb.robust_ksd_test(x, _TWO, 0.1, tau="sample", calibration=calibration, rng=seed, standardize=False)

    def draw(rng: np.random.Generator) -> Floats:
        return np.asarray(wrong.sample(500, rng))

    return Place(draw, lambda x, seed: _certified(result(x, seed)), lambda x, seed: _said(result(x, seed)))


def _rare_mode() -> Place:
    model = GaussianMixture([0.98, 0.02], [-6.0, 6.0])

    def before(x: Floats, seed: int) -> bool:
        evidence: Any = sb.mode_weights_test(x, model, method="asymptotic")._evidence
        return bool(replace(evidence, deviations=np.zeros(len(evidence.values))).pvalue(0.0) <= LEVEL)

    def after(x: Floats, seed: int) -> bool:
        return sb.mode_weights_test(x, model, method="asymptotic").rejected

    return Place(lambda rng: np.asarray(model.sample(50, rng)), before, after)


def _chain(n: int, d: int, memory: float) -> Callable[[np.random.Generator], Floats]:
    """A stationary chain of N(0, I), each step remembering a share of the last."""

    def draw(rng: np.random.Generator) -> Floats:
        x, noise = np.empty((n, d)), np.sqrt(1.0 - memory**2)
        x[0] = rng.normal(size=d)
        steps = rng.normal(size=(n, d))
        for k in range(1, n):
            x[k] = memory * x[k - 1] + noise * steps[k]
        return x

    return draw


def _chains() -> dict[str, Place]:
    def ask(d: int, dependence: str | None) -> Ask:
        calibration = sb.WildBootstrap(DRAWS, dependence=dependence)
        return lambda x, seed: (
            sb.ksd_test(
                x, Gaussian(dimension=d), tilt="auto", calibration=calibration, rng=seed, standardize=False
            ).rejected
        )

    return {
        f"A11 AR({memory:g}), n = {n}, d = {d}": Place(
            _chain(n, d, memory), ask(d, None), ask(d, "auto"), refusable=True
        )
        for n in (500, 2000)
        for d in (1, 5, 10)
        for memory in (0.5, 0.9)
    }


def _robust_chains() -> dict[str, Place]:
    """5 % of every chain put where it hurts, under a tolerance of 5 %."""

    def draw(memory: float) -> Callable[[np.random.Generator], Floats]:
        chain = _chain(2000, 1, memory)

        def spoilt(rng: np.random.Generator) -> Floats:
            x = chain(rng)
            return np.where(rng.random((2000, 1)) < 0.05, 1.5, x)

        return spoilt

    def ask(dependence: str | None) -> Ask:
        calibration = sb.BoundaryBootstrap(DRAWS, "wild", dependence=dependence)
        return _tolerant(Gaussian(), 0.05, calibration=calibration)

    return {
        f"A11 AR({memory:g}), n = 2000, d = 1, 5 % at 1.5": Place(draw(memory), ask(None), ask("auto"), refusable=True)
        for memory in (0.5, 0.9)
    }


def _power() -> Place:
    """The setting of the paper: outliers at 10, twice as many as are tolerated."""

    def draw(rng: np.random.Generator) -> Floats:
        return np.where(rng.random((500, 1)) < 0.1, 10.0, rng.normal(size=(500, 1)))

    before = _tolerant(Gaussian(), 0.05, tau="sample", calibration=sb.BoundaryBootstrap(DRAWS))
    return Place(draw, before, _tolerant(Gaussian(), 0.05), wanted="as before")


def _shapes() -> dict[str, Place]:
    def wide(x: Floats, seed: int) -> bool:
        return sb.ksd_test(x, Gaussian(dimension=x.shape[1]), rng=seed, standardize=False).rejected

    return {
        "A13 (chain, draw) read as (n, d)": Place(
            lambda rng: 3.0 * rng.normal(size=(4, 400)), None, wide, told="FewRowsWarning"
        ),
        "A14 n = 3": Place(lambda rng: rng.normal(size=(3, 1)), None, wide, told="FewRowsWarning"),
    }


PLACES: Mapping[str, Place] = {
    **_edges(),
    **_growth(),
    **_steep(),
    **_orders(),
    "A5 total variation .05, the model cut at its edges, τ given": Place(
        _cut, _variation("sample"), _variation(_STEEPEST)
    ),
    "A5 total variation .05, the model cut at its edges, τ of the sample": Place(
        _cut, None, _variation("sample"), told="RemovalWarning"
    ),
    **{f"A7 upper bound, n = {n}, {share:g} between modes": _between(n, share)
       for n, share in ((50, 0.02), (100, 0.01), (200, 0.005))},
    "A8 'good enough' for .95/.05 in place of .5/.5": _weights_of_modes(),
    "A10 asymptotic test of a mode of weight .02, n = 50": _rare_mode(),
    **_chains(),
    **_shapes(),
    **_robust_chains(),
    "A3 N(0, 1), n = 500, 10 % at 10, ε₀ = .05 (power)": _power(),
}  # fmt: skip


def trial(cell: Cell, rng: np.random.Generator) -> list[Row]:
    """One sample; a row for before, one for after, and one for what was said."""
    place, start = PLACES[cell["kind"]], time.perf_counter()
    x, seed = place.draw(rng), int(rng.integers(2**31))
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        found = {BEFORE: place.before(x, seed)} if place.before else {}
        del said[:]
        try:
            found[AFTER] = place.after(x, seed)
        except ValueError:  # too short a chain: nothing is rejected that is refused
            found[AFTER], found[TOLD] = False, True
    if place.told:
        found[TOLD] = any(each.category.__name__ == place.told for each in said)
    elif place.refusable:
        found.setdefault(TOLD, False)
    seconds = time.perf_counter() - start
    return [{"test": test, "rejected": int(rejected), "seconds": seconds, **cell} for test, rejected in found.items()]


def _kept(results: Results) -> Iterator[Finding]:
    for name, place in PLACES.items():
        if not place.told and place.wanted is None:
            yield from level("", test=AFTER, axes={"kind": (name,)}).findings(results)


def _told(results: Results) -> Iterator[Finding]:
    for name, place in PLACES.items():
        if place.told:
            rate = results.rates.one(test=TOLD, kind=name)
            yield Finding(f"{place.told}: {name}", "always", rate.rate, rate.rate == 1.0, rate.interval)


def _powerful(results: Results) -> Iterator[Finding]:
    for name, place in PLACES.items():
        if place.wanted is not None:
            rate = results.rates.one(test=AFTER, kind=name)
            before = results.rates.one(test=BEFORE, kind=name).rate - KEPT
            least = before if place.wanted == "as before" else float(place.wanted)
            yield Finding(name, f"≥ {least:.3g}", rate.rate, rate.rate >= least, rate.interval)


def table(results: Results) -> str:
    """Every place, before and after."""
    lines = ["| where | before | after | said |", "|---|---|---|---|"]
    for name, place in PLACES.items():
        rates = {row.where["test"]: row for row in results.rates.select(kind=name)}
        cells = [f"{rates[test].rate:.3f}" if test in rates else "" for test in (BEFORE, AFTER)]
        low, high = rates[AFTER].interval
        said = f"{f'`{place.told}`' if place.told else 'refused'} {rates[TOLD].rate:.0%}" if TOLD in rates else ""
        where = name.replace("|", r"\|")
        lines.append(f"| {where} | {cells[0]} | {cells[1]} ({low:.3f}–{high:.3f}) | {said} |")
    return "Share of samples, with its 95 % interval:\n\n" + "\n".join(lines)


def draw(results: Results, figure: Any) -> None:
    """One line per place: before and after."""
    ax, places = figure.subplots(), np.arange(len(PLACES))[::-1]
    looks: dict[str, dict[str, Any]] = {
        BEFORE: {"color": "#D55E00", "marker": "s", "markersize": 6.0, "fillstyle": "none"},
        AFTER: {"color": "#009E73", "marker": "o"},
    }
    for test, look in looks.items():
        rates = {row.where["kind"]: row.rate for row in results.rates.select(test=test)}
        ax.plot([rates.get(name, np.nan) for name in PLACES], places, linestyle="none", label=test, **look)
    level_line(ax, upright=True)
    ax.set(xlabel="share of samples", yticks=places, xlim=(-0.02, 1.02), ylim=(-1.0, len(PLACES)))
    ax.set_yticklabels([_typeset(name) for name in PLACES])
    legend_of(figure, ax, LEVEL_LABEL, loc="outside lower center", ncols=3)


def _typeset(name: str) -> str:
    """The name of a place with its formulas as mathematics."""
    formulas = {"exp(-x^4)": r"$\exp(-x^4)$", "exp(-|x|^100)": r"$\exp(-|x|^{100})$", "ε₀": r"$\varepsilon_0$"}
    for text, formula in formulas.items():
        name = name.replace(text, formula)
    return name


_LONG_MEMORY = (
    "The level of signs for dependent rows is asymptotic in the number of autocorrelation times, of which memory .9 "
    "leaves n/19, and their dependence is estimated from the same rows. Signs for independent rows reject far "
    "more often (`before` in the table below)."
)

EXPERIMENT = Experiment(
    name="promise",
    title="where the level was lost, before and after",
    reference="edges, growing and steep scores, orders, removal, upper bounds, chains, sizes",
    setup=(f"n from 3 to 2,000, d from 1 to 400; kernel, tilt and τ are the defaults of the tests; {DRAWS} draws"),
    says=(
        "Places where a test of level .05 once rejected true models, or said more than it knew, each with the settings "
        "of before and with the defaults of today on the same samples. The number in front groups them. "
        "A1: densities that do not vanish at an edge, clean and with 5 % of outliers under a 5 % "
        "tolerance. A2: a score that grows. A3: steep places that a sample misses. A4: bets in the order of the file. "
        "A5: a set that allows the removal of mass. A7: an upper bound of D that lies below D. A8: *good enough* "
        "where the weights of modes are wrong. A10: a mode that no point lies in. A11: chains, with signs for "
        "independent and for dependent rows; where n is below 20 autocorrelation times "
        "it is refused. A13, A14: sizes at which nothing can be promised. Where the level "
        "cannot be kept, a warning by name must come every time."
    ),
    grid=tuple({"kind": name} for name in PLACES),
    trial=trial,
    repeats=400,
    again=2000,
    expectations=(
        Expectation("the level is kept wherever it is promised", _kept),
        Expectation("a warning by name comes wherever it cannot be", _told),
        Expectation("more than is tolerated is seen, at the setting of the paper as often as before", _powerful),
    ),
    explanations={
        f"after at kind=A11 AR({memory:g}), n = {n}, d = {d}": _LONG_MEMORY
        for memory, n, d in ((0.9, 500, 5), (0.5, 500, 10), (0.9, 500, 10), (0.9, 2000, 10))
    },
    draw=draw,
    extra=table,
    size=(8.5, 11.0),
)
