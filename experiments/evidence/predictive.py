"""Predictive checks: levels, adversaries, power, every type of y, fitted models, posteriors, differences of shares."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from itertools import takewhile
from typing import Any

import numpy as np
from scipy.special import ndtr
from scipy.stats import norm, poisson

import steinball as sb
from experiments.evidence.keys import LEVEL_LABEL, key, legend_of, level_line
from experiments.evidence.predictive_settings import (
    ANY_PLACES,
    INDEPENDENT_PLACES,
    POWER,
    ROBUST,
    SHARE,
    TRUE_TYPES,
    WRONG_TYPES,
    bad_rows,
    bend,
    fan,
    fixed_x,
    huber,
    jump,
    least_squares,
    poisson_fit,
    with_ones,
)
from experiments.framework.base import Cell, Experiment, Row
from experiments.framework.expectations import LEVEL, Expectation, Finding, above, below, describe
from experiments.framework.table import Rate, Results
from steinball.arrays import Floats
from steinball.evidence.predictive import PredictiveEvidence
from steinball.gof.regions import tolerated_set
from steinball.predictive.difference import Difference
from steinball.predictive.law import Distribution, DistributionFunction, Draws, Prediction
from steinball.predictive.loo import LeaveOneOut
from steinball.predictive.null import SHARES, Null
from steinball.predictive.table import Features, tabulate

__all__ = ["EXPERIMENT"]

KEPT, TEN_KEPT = 1999, 999
"""Replicates of a null that is kept for all repeats of a cell; with ten covariates there are fewer."""

TOLERATED = tolerated_set(SHARE, None)
UNIFORM = DistributionFunction(np.asarray)
"""Rows that are given by their PIT."""

Decisions = dict[str, bool]
# What a first implementation found at ε = 0, for independent bad rows and for any, in 400 repeats.
EARLIER = {
    "mean ±.4 by sign of x": (1.0, 0.98, 0.96), "missed x²": (1.0, 0.99, 0.98),
    "missed x², 5 % at 8": (1.0, 0.96, 0.92), "heteroscedastic": (1.0, 1.0, 1.0), "skewed": (1.0, 1.0, 1.0),
    "sd × 1.35": (1.0, 0.94, 0.91), "shift 2 where x > 1.2": (1.0, 1.0, 1.0), "10 % at z = 8": (1.0, 0.62, 0.57),
}  # fmt: skip


def _table(u: Floats, x: Floats) -> Floats:
    return tabulate(u[None], u[None], Features.of({"x": x}))


@cache
def _known_null(n: int, rows: str) -> Null:
    """Of one feature without ties, which decides nothing but the size of bins."""
    pit, features = UNIFORM.pit(np.full(n, 0.5)), Features.of({"x": np.arange(n)})
    return Null(pit, features, pilot=400, n_resamples=KEPT, rng=n).with_rows(rows)


def _verdicts(tables: Floats, any_null: Null, independent: Null) -> Decisions:
    tests = {"ε = 0": (any_null, 0.0), "any": (any_null, SHARE), "independent": (independent, SHARE)}
    found = {name: null.pvalue(tables, share) <= LEVEL for name, (null, share) in tests.items()}
    return found | {"proven": any_null.pvalue(tables, SHARE, proven=True) <= LEVEL}


def _share_bound(null: Null, tables: Floats) -> float:
    """The last rejected share before the first that is not."""
    return float(max(takewhile(lambda share: null.pvalue(tables, share) <= LEVEL, SHARES), default=0.0))


def _known(cell: Cell, rng: np.random.Generator) -> Decisions:
    n, truths = cell["n"], {**POWER, **ANY_PLACES}
    x, z = truths[cell["strategy"]](n, rng)
    null = _known_null(n, "any")
    found = _verdicts(_table(ndtr(z), x), null, _known_null(n, "independent"))
    if cell["kind"] != "power":
        return found
    share = {"5": 0.05, "1": 0.10}.get(cell["strategy"][0])
    return found if share is None else found | {"share bound": _share_bound(null, _table(ndtr(z), x)) > share}


@cache
def _type_null(family: str, n: int, rows: str) -> Null:
    x = fixed_x(n)
    pit = TRUE_TYPES[family](x, np.random.default_rng(0))
    return Null(pit, Features.of({"x": x}), pilot=400, n_resamples=KEPT, rng=1).with_rows(rows)


def _typed(cell: Cell, rng: np.random.Generator) -> Decisions:
    name, n = cell["strategy"], cell["n"]
    pit, family = {**TRUE_TYPES, **WRONG_TYPES}[name](fixed_x(n), rng), name.partition(":")[0]
    tables = tabulate(pit.low, pit.high, Features.of({"x": fixed_x(n)}))
    return _verdicts(tables, _type_null(family, n, "any"), _type_null(family, n, "independent"))


def _called(cell: Cell, rng: np.random.Generator) -> Decisions:
    """The test that users call, with a null of its own: nothing tolerated, contamination, tolerance."""
    x, z = POWER[cell["strategy"]](cell["n"], rng)
    result = sb.predictive_test(x + z, (x, 1.0), {"x": x}, contamination=0.0, rng=rng)
    others = {"any": result.at(contamination=SHARE), "tolerance": result.at(tolerance=SHARE)}
    return {"ε = 0": result.rejected} | {name: other.rejected for name, other in others.items()}


@cache
def _least_squares_null(n: int) -> Null:
    """Residuals over their estimated scale have one law for all parameters, so one null serves all samples."""
    x, fit = fixed_x(n), least_squares(fixed_x(n))

    def redraw(rng: np.random.Generator) -> tuple[Floats, Floats]:
        y = rng.normal(size=n)
        mean, sd = fit(y)
        return (u := ndtr((y - mean) / sd)), u

    features = Features.of({"x": x})
    pit = replace(UNIFORM.pit(np.full(n, 0.5)), redraw=redraw)
    return Null(pit, features, pilot=200, n_resamples=KEPT, rng=2)


def _least_squares(cell: Cell, rng: np.random.Generator) -> Decisions:
    """ε = 0 with refits, and with fresh rows of the fitted model."""
    x, z = fixed_x(cell["n"]), rng.normal(size=cell["n"])
    y = 1.0 + x + 0.25 * (x**2 - 4.0 / 3.0) * ("x²" in cell["strategy"]) + 2.0 * z
    mean, sd = least_squares(x)(y)
    nulls = {"refit": _least_squares_null(cell["n"]), "fresh": _known_null(cell["n"], "any")}
    return {test: null.pvalue(_table(ndtr((y - mean) / sd), x)) <= LEVEL for test, null in nulls.items()}


def _poisson(cell: Cell, rng: np.random.Generator) -> Decisions:
    """The same for counts, by the test that users call."""
    x = fixed_x(cell["n"])

    def fit(y: Floats) -> Any:
        return poisson(poisson_fit(with_ones(x), y))

    y = rng.poisson(np.exp(1.0 + 0.3 * x)).astype(float)
    result = sb.predictive_test(y, fit(y), {"x": x}, contamination=0.0, refit=fit, n_resamples=99, rng=rng)
    return {"refit": result.rejected}


def _evidence(columns: Floats, y: Floats, null: Null) -> PredictiveEvidence:
    """Huber's fit to the same rows, as the test reads it, with a null that is kept."""
    mean, sd = huber(with_ones(columns), y)
    names = [f"x{j + 1}" for j in range(columns.shape[1])]
    features = Features.of({**dict(zip(names, columns.T, strict=True)), "prediction": mean}, tuple(names))
    found = PredictiveEvidence(
        y=y, pit=UNIFORM.pit(ndtr((y - mean) / sd)), features=features.distinct(),
        prediction=Prediction(Distribution(norm(mean, sd)), "same-rows", robust=True), rows="any", redraw=None,
        proven=False, own=SHARE, n_resamples=KEPT, seed=np.random.SeedSequence(0),
    )  # fmt: skip
    found.once(("null", "any"), lambda: null)
    return found


def _pvalues(found: PredictiveEvidence) -> Decisions:
    """Under 5 %: fresh rows alone, and with recalibrations forgiven."""
    fresh, slack = found.null("any").pvalue(found.tables, SHARE), found.pvalues(TOLERATED, np.array([SHARE]))[0]
    return {"fresh": fresh <= LEVEL, "slack": bool(slack <= LEVEL)}


def _robust(cell: Cell, rng: np.random.Generator) -> Decisions:
    x, z = ROBUST[cell["strategy"]](cell["n"], rng)
    return _pvalues(_evidence(x[:, None], 1.0 + x + z, _known_null(cell["n"], "any")))


TEN = {"true": None, "5 % at z = 8": None, "missed x²": bend, "heteroscedastic": fan, "mean ±.8 by sign of x": jump}
WRONG_TEN = tuple(name for name, change in TEN.items() if change is not None)


@cache
def _ten_setting(n: int) -> tuple[Floats, Null]:
    """A fixed design of ten covariates; in the null the bins of the prediction are those of the true mean."""
    covariates = np.random.default_rng(n).uniform(-2.0, 2.0, size=(n, 10))
    columns = {str(j): column for j, column in enumerate((*covariates.T, covariates.sum(axis=1)))}
    return covariates, Null(UNIFORM.pit(np.full(n, 0.5)), Features.of(columns), pilot=400, n_resamples=TEN_KEPT, rng=3)


def _ten(cell: Cell, rng: np.random.Generator) -> Decisions:
    """Is the first of ten covariates found and named?"""
    covariates, null = _ten_setting(cell["n"])
    change, noise = TEN[cell["strategy"]], np.asarray(rng.normal(size=cell["n"]))
    if cell["strategy"].startswith("5 %"):
        noise[rng.random(noise.size) < SHARE] = 8.0
    z = noise if change is None else change(covariates[:, 0], noise)
    found = _evidence(covariates, covariates.sum(axis=1) + z, null)
    named = {} if change is None else {"named": found.finding(*found.worst(TOLERATED, SHARE)[0][:2]).feature == "x1"}
    return _pvalues(found) | named


def _posterior(cell: Cell, rng: np.random.Generator) -> Decisions:
    """Sixty coefficients from 400 rows, known scale: predictive draws in sample, and leave-one-out."""
    n, p, size = cell["n"], 60, 1000
    design = np.column_stack([np.ones(n), rng.normal(size=(n, p - 1))])
    y = design @ np.ones(p) + rng.normal(size=n)
    root = np.linalg.inv(np.linalg.cholesky(design.T @ design + 0.01 * np.eye(p)))
    theta = (root.T @ root @ design.T @ y)[:, None] + root.T @ rng.normal(size=(p, size))
    center = design @ theta  # (n, size)
    draws = center + rng.normal(size=(n, size))
    laws = {
        "in sample": Prediction(Draws(draws)),
        "leave one out": Prediction(LeaveOneOut(draws, -0.5 * (y[:, None] - center) ** 2), "loo"),
    }
    found: Decisions = {}
    for name, law in laws.items():
        result = sb.predictive_test(y, law, {"x": design[:, 1]}, contamination=0.0, rng=rng)
        found |= {f"{name}, ε = 0": result.rejected, f"{name}, any": result.at(contamination=SHARE).rejected}
    return found


TOLERANCE = (*POWER, "7 % at z = 8")


def _tolerance(cell: Cell, rng: np.random.Generator) -> Decisions:
    n, truths = cell["n"], {**POWER, "7 % at z = 8": bad_rows(lambda x, z: (x, 8.0), 0.07)}
    x, z = truths[cell["strategy"]](n, rng)
    found = Difference.of(_table(ndtr(z), x), UNIFORM.pit(ndtr(z)), Features.of({"x": x}))
    low, high = found.lower_bound(LEVEL), found.upper_bound(LEVEL)
    changed = _known_null(n, "changed").pvalue(_table(ndtr(z), x), SHARE) <= LEVEL
    return {"boxes": low > SHARE, "changed": changed, "good enough": high <= SHARE}


_KINDS = {
    "level": _known, "called": _called, "power": _known, "adversary": _known, "type": _typed, "counts": _poisson,
    "least squares": _least_squares, "robust": _robust, "ten": _ten, "posterior": _posterior, "tolerance": _tolerance,
}  # fmt: skip


def trial(cell: Cell, rng: np.random.Generator) -> list[Row]:
    """One sample, all tests of its kind."""
    start = time.perf_counter()
    found = _KINDS[cell["kind"]](cell, rng)
    seconds = time.perf_counter() - start
    return [{"test": test, "rejected": int(value), "seconds": seconds, **cell} for test, value in found.items()]


LEVEL_SIZES, PLACE_SIZES, FITTED_SIZES, ROBUST_SIZES = (50, 200, 2000), (400, 2000), (200, 1000), (400, 4000, 20_000)
BAD_PLACES = tuple(name for name in ROBUST if name.startswith("5 %"))
GRID: tuple[Cell, ...] = (
    *({"kind": kind, "strategy": "model", "n": n} for kind in ("level", "called") for n in LEVEL_SIZES),
    *({"kind": "power", "strategy": name, "n": 400} for name in POWER),
    *({"kind": "adversary", "strategy": name, "n": n} for name in ANY_PLACES for n in PLACE_SIZES),
    *({"kind": "type", "strategy": name, "n": 400} for name in (*TRUE_TYPES, *WRONG_TYPES)),
    *({"kind": kind, "strategy": "model", "n": n} for kind in ("least squares", "counts") for n in FITTED_SIZES),
    {"kind": "least squares", "strategy": "missed x²", "n": 1000},
    *({"kind": "robust", "strategy": name, "n": 400} for name in ROBUST),
    *({"kind": "robust", "strategy": name, "n": n} for n in ROBUST_SIZES[1:] for name in BAD_PLACES),
    *({"kind": "ten", "strategy": name, "n": 400} for name in TEN),
    {"kind": "posterior", "strategy": "linear", "n": 400},
    *({"kind": "tolerance", "strategy": name, "n": n} for name in TOLERANCE for n in PLACE_SIZES),
)

_MOST = {"called": 200, "counts": 200, "ten": 200, "posterior": 200, "tolerance": 200}


def most_repeats(cell: Cell) -> float:
    """Fits take long, the more so the more rows they have."""
    if cell["kind"] == "robust":
        return {400: 200, 4000: 100, 20_000: 30}[cell["n"]]
    return _MOST.get(cell["kind"], math.inf)


def _at_level(rate: Rate, where: dict[str, Any], kept: int) -> Finding:
    """The level plus two standard errors, of the repeats and of a null that is kept."""
    error = math.sqrt(LEVEL * (1.0 - LEVEL) * (1.0 / rate.repeats + (1.0 / kept if kept else 0.0)))
    bound = LEVEL + 2.0 * error
    return Finding(describe(where), f"≤ {bound:.3f}", rate.rate, rate.rate <= bound, rate.interval, where)


def _levels(cells: list[dict[str, Any]], kept: int = KEPT) -> Callable[[Results], Iterator[Finding]]:
    return lambda results: (_at_level(results.rates.one(**where), where, kept) for where in cells)


def _as_before(results: Results) -> Iterator[Finding]:
    """No lower than the rate of the first implementation less two standard errors of both."""
    for name, rates in EARLIER.items():
        for test, before in zip(("ε = 0", "independent", "any"), rates, strict=True):
            where = {"kind": "power", "strategy": name, "n": 400, "test": test}
            found = results.rates.one(**where)
            shares = ((found.rate * found.repeats + 0.5) / (found.repeats + 1), (before * 400 + 0.5) / 401)
            sizes = (found.repeats, 400)
            error = math.sqrt(sum(p * (1.0 - p) / n for p, n in zip(shares, sizes, strict=True)))
            least = before - 2.0 * error
            yield Finding(
                describe(where), f"≥ {least:.3f} ({before:g})", found.rate, found.rate >= least, found.interval
            )


def _of(kind: str, names: Any, sizes: Any, tests: Any) -> list[dict[str, Any]]:
    return [{"kind": kind, "strategy": s, "n": n, "test": t} for s in names for n in sizes for t in tests]


def table_of_rates(results: Results) -> str:
    """Every rate, one line a cell and test."""
    lines = ["| what | rows | n | test | repeats | rate | 95 % interval |", "|" + "---|" * 7]
    for row in results.rates:
        told, (low, high) = [row.where[name] for name in ("kind", "strategy", "n", "test")], row.interval
        lines.append(f"| {' | '.join(told)} | {row.repeats} | {row.rate:.3f} | {low:.3f} – {high:.3f} |")
    return "\n".join(lines)


def draw(results: Results, figure: Any) -> None:
    """Left the power of the three tests, right adversaries and robust fits."""
    left, right = figure.subplots(1, 2)
    looks = {"ε = 0": ("o", "0.3"), "independent": ("s", "#0072B2"), "any": ("D", "#D55E00")}
    for test, (marker, color) in looks.items():
        rates = [results.rates.one(kind="power", strategy=name, n=400, test=test).rate for name in POWER]
        left.plot(rates, range(len(rates)), marker, color=color, label=test)
    left.set_yticks(range(len(POWER)), list(POWER))
    left.set(xlabel="rejected", title="known model, $n = 400$", xlim=(-0.02, 1.02))
    for test, (marker, color) in {"fresh": ("o", "0.3"), "slack": ("D", "#CC79A7")}.items():
        for name, look in zip(BAD_PLACES, ("-", "--", ":"), strict=True):
            rates = [results.rates.one(kind="robust", strategy=name, n=n, test=test).rate for n in ROBUST_SIZES]
            label = test if look == "-" else None
            right.plot(ROBUST_SIZES, rates, marker + look, color=color, label=label)
    right.set(xscale="log", xlabel="$n$", title="Huber's fit, 5 % bad rows", ylim=(-0.02, 1.02))
    for panel in (left, right):
        level_line(panel, upright=panel is left)
    legend_of(left, left, LEVEL_LABEL, fontsize=7)
    places = zip(BAD_PLACES, ("-", "--", ":"), strict=True)
    legend_of(right, right, *(key(name, color="0.3", linestyle=look) for name, look in places), fontsize=7)


EXPERIMENT = Experiment(
    name="predictive",
    title="predictive checks",
    reference="theory/predictive.md",
    setup=(
        f"{KEPT} replicates that are kept for all repeats of a cell; {TEN_KEPT} for ten covariates; *called*, "
        "*counts* and *posterior* call the test as users do, with 299 fresh ones (counts: 99); what takes long has "
        "fewer repeats, which the last table says"
    ),
    says=(
        "A true model keeps the level for every type of y, whatever 5 % of the rows do where 5 % are tolerated, and "
        "faults of the rest are found. Refits are the null of a fitted model at ε = 0. A robust fit with bad rows is "
        "rejected as n grows unless what bad rows can do to it is forgiven; with ten covariates that takes much of the "
        "power (tests *fresh* and *slack*). Posterior predictive draws need leave-one-out."
    ),
    grid=GRID,
    trial=trial,
    repeats=400,
    expectations=(
        Expectation("A known model keeps the level.", _levels(_of(
            "level", ["model"], LEVEL_SIZES, ("ε = 0", "any", "independent", "proven")))),
        Expectation("So it does as users call the test.", _levels(_of(
            "called", ["model"], LEVEL_SIZES, ("ε = 0", "any", "tolerance")), 0)),
        Expectation("So it does if bad rows choose their place.", _levels(_of(
            "adversary", ANY_PLACES, PLACE_SIZES, ("any", "proven")))),
        Expectation("So it does if bad rows are independent of x.", _levels(_of(
            "adversary", INDEPENDENT_PLACES, PLACE_SIZES, ("independent",)))),
        Expectation("So it does for every type of y.", _levels(_of(
            "type", TRUE_TYPES, (400,), ("ε = 0", "any", "independent")))),
        Expectation("Faults are found as often as by a first implementation.", _as_before),
        above("Faults of other types of y are found under 5 %.", 0.5, kind="type", n=400, test="any",
              axes={"strategy": tuple(name for name in WRONG_TYPES if "12 %" not in name)}),
        Expectation("The share bound is no larger than the share.", _levels(_of(
            "power", ["5 % at z = 8", "5 % at x = 1.9, z = 2", "10 % at z = 8"], (400,), ("share bound",)))),
        Expectation("Refits are the null of a least-squares line.", _levels(_of(
            "least squares", ("model",), FITTED_SIZES, ("refit",)))),
        Expectation("And of a Poisson regression.", _levels(_of("counts", ("model",), FITTED_SIZES, ("refit",)), 0)),
        Expectation("A robust fit with bad rows keeps the level if recalibrations are forgiven.", _levels(_of(
            "robust", BAD_PLACES, ROBUST_SIZES, ("slack",)))),
        above("Without them it does not.", 0.5, kind="robust", strategy="5 % at z = 3", test="fresh",
              axes={"n": (4000, 20_000)}),
        above("Faults beside outliers are still found.", 0.5, kind="robust", n=400, test="slack",
              axes={"strategy": ("missed x², 5 % at 8", "heteroscedastic, 5 % at 8")}),
        Expectation("Ten covariates keep the level.", _levels(_of(
            "ten", ["true", "5 % at z = 8"], (400,), ("slack",)), TEN_KEPT)),
        above("The right one of ten covariates is named.", 0.9, kind="ten", n=400, test="named",
              axes={"strategy": WRONG_TEN}),
        Expectation("Leave-one-out keeps the level.", _levels(_of(
            "posterior", ["linear"], (400,), ("leave one out, ε = 0", "leave one out, any")), 0)),
        above("Posterior draws in sample do not.", 0.2, kind="posterior", n=400, strategy="linear",
              axes={"test": ("in sample, ε = 0",)}),
        below("Good enough is said of a difference beyond the tolerance no more often than the level.", LEVEL,
              kind="tolerance", test="good enough",
              axes={"strategy": ("7 % at z = 8", "10 % at z = 8"), "n": PLACE_SIZES}),
        Expectation("If 5 % are tolerated, 5 % of changed rows keep the level.", _levels(_of(
            "tolerance", ["model", "5 % at z = 8", "5 % at x = 1.9, z = 2"], PLACE_SIZES, ("boxes", "changed")))),
        above("Faults that take more changed rows are found.", 0.7, kind="tolerance", n=2000, test="changed",
              axes={"strategy": tuple(EARLIER)}),
        above("A true model is called good enough from 2,000 rows on.", 0.7, kind="tolerance", test="good enough",
              n=2000, axes={"strategy": ("model",)}),
    ),
    most=most_repeats,
    explanations={
        "named at kind=ten, n=400, strategy=mean ±.8 by sign of x": (
            "The interval of the rate contains .9. With ten covariates this misfit is weak: the test sees it in a "
            "quarter of the samples, and where it does not, the named covariate may be one of chance."
        ),
    },
    draw=draw,
    extra=table_of_rates,
    size=(8.6, 3.6),
    again=1600,
)  # fmt: skip
