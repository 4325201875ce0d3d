"""Regions: levels, powers, bounds, what is called good enough, learned views and rows to blame."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from experiments.evidence.keys import LEVEL_LABEL, legend_of, level_line
from experiments.evidence.regions_settings import (
    CHANGED,
    GOOD_ENOUGH,
    design_of,
    normal,
    null_of,
    sample,
    second_sample,
)
from experiments.framework.base import Cell, Experiment, Row
from experiments.framework.expectations import LEVEL, Expectation, Finding, describe, theorem
from experiments.framework.figures import Style
from experiments.framework.table import Rate, Results
from steinball.regions.counted import blame, count, rows_needed
from steinball.regions.design import Design
from steinball.regions.views import learned_family

__all__ = ["EXPERIMENT"]

DRAWS = 1999
"""Replicates of a null that is kept."""

MEASURED_AT = 100
"""Repeats of the table that powers are compared with."""

TESTS = {
    "contamination": Style("contamination (theorem A, or B)", "#0072B2", "o"),
    "bonferroni": Style("contamination, theorem B", "#56B4E9", "^"),
    "tolerance": Style("tolerance", "#D55E00", "s"),
}


def _cells(strategy: str, kinds: Any, dimensions: Any, sizes: Any, shares: Any) -> list[Cell]:
    return [
        {"kind": kind, "dimension": d, "n": n, "contamination": share, "tolerance": share, "strategy": strategy}
        for kind in kinds for d in dimensions for n in sizes for share in shares
    ]  # fmt: skip


SIZES = (20, 200, 2000)
EDGE = ("far", "near", "cluster", "wide")
GRIDS = tuple(f"grid {step}" for step in (0.01, 0.1, 0.5))
LEVEL_CELLS: tuple[Cell, ...] = (
    *_cells("level", ("clean",), (1, 5), SIZES, (0.0,)),
    *_cells("level", EDGE, (1, 5), SIZES, (0.05, 0.2)),
    *_cells("level", CHANGED, (1, 5), SIZES, (0.05, 0.2)),
    *_cells("level", ("clean",), (20,), (500,), (0.0,)),
    *_cells("level", ("far", "cluster"), (20,), (500,), (0.05,)),
    *_cells("level", ("clean",), (100,), (1000,), (0.0,)),
    *_cells("level", ("far",), (100,), (1000,), (0.05,)),
    *_cells("level", GRIDS, (1, 3), (500,), (0.0, 0.05)),
    *_cells("level", ("poisson", "categories", "mixture"), (1,), (300,), (0.0,)),
    *_cells("level", ("second sample", "large second sample"), (1, 5), (200,), (0.0,)),
)

# Powers at a tolerated share of .05, as they were measured when regions were designed: contamination and tolerance.
POWERS: Mapping[tuple[str, int, int], tuple[float | None, float | None]] = {
    ("no upper 5 %", 1, 200): (0.60, None),
    ("10 % at 10", 1, 200): (0.52, 0.25), ("10 % at 10", 1, 1000): (1.0, 1.0),
    ("15 % at 1", 1, 200): (0.80, 0.39), ("15 % at 1", 1, 1000): (1.0, 1.0),
    ("shift 0.3", 1, 200): (0.55, 0.08), ("shift 0.3", 1, 1000): (1.0, 0.88),
    ("sd times 1.4", 1, 200): (0.90, 0.63), ("sd times 1.4", 1, 1000): (1.0, 1.0),
    ("sd times 0.8", 1, 200): (0.79, 0.07), ("sd times 0.8", 1, 1000): (1.0, 0.76),
    ("t3", 1, 200): (0.34, 0.16), ("t3", 1, 1000): (0.99, 0.86),
    ("15 % wide", 1, 200): (0.99, 0.86), ("15 % wide", 1, 1000): (1.0, 1.0),
    ("no upper 10 %", 1, 200): (1.0, 0.28), ("no upper 10 %", 1, 1000): (1.0, 1.0),
    ("wiggle", 1, 200): (0.87, None),
    ("sd times 1.05", 20, 500): (0.85, None), ("t10", 20, 500): (0.90, None), ("direction", 20, 500): (0.82, None),
    ("column", 20, 500): (0.94, None), ("pair 0.4", 20, 500): (0.94, None),
    ("sd times 1.05", 20, 1000): (None, 0.75), ("sd times 1.1", 20, 1000): (None, 1.0),
    ("pair 0.4", 20, 1000): (None, 0.85), ("t10", 20, 1000): (None, 1.0), ("column", 20, 1000): (None, 1.0),
    ("25 % wide", 20, 1000): (None, 1.0),
    ("sd times 1.05", 100, 1000): (1.0, None), ("column", 100, 1000): (0.94, None),
    ("pair 0.4", 100, 1000): (0.94, None),
    ("poisson, 15 % zeros", 1, 300): (0.97, None), ("poisson, variance times 1.5", 1, 300): (0.40, None),
}  # fmt: skip
POWER_CELLS = tuple(
    {"kind": kind, "dimension": d, "n": n, "tolerance": 0.05, "strategy": "power"} for kind, d, n in POWERS
)

SHARE_CELLS: tuple[Cell, ...] = tuple(
    {"kind": kind, "dimension": d, "n": 500, "contamination": share, "strategy": "share"}
    for kind in ("far", "near", "wide") for d in (1, 10) for share in (0.1, 0.2) if d == 1 or kind != "near"
)  # fmt: skip
ROWS_CELLS: tuple[Cell, ...] = tuple(
    {"kind": "clean", "dimension": d, "n": math.ceil(rows_needed(share, 0.0, views)), "tolerance": share,
     "strategy": "true claim"}
    for d, views, share in ((1, 1, 0.05), (1, 1, 0.1), (2, 6, 0.1), (6, 24, 0.1), (20, 213, 0.1))
)  # fmt: skip
# Columns, share, center and spread of the bad rows; truly bad among the named, and named among the bad, when measured.
BLAMED: Mapping[str, tuple[int, float, float, float, float, float]] = {
    "at 10": (1, 0.04, 10.0, 0.0, 1.0, 1.0), "around 3": (1, 0.12, 3.0, 0.1, 0.95, 1.0),
    "around 1": (1, 0.12, 1.0, 0.1, 0.69, 0.89), "cluster at 2": (10, 0.05, 2.0, 0.3, 0.93, 1.0),
    "far": (10, 0.05, 10.0, 0.0, 0.94, 1.0),
}  # fmt: skip
BLAME_CELLS: tuple[Cell, ...] = (
    *({"kind": kind, "dimension": d, "n": 500, "strategy": "blame"} for kind, (d, *_) in BLAMED.items()),
    *({"kind": "clean", "dimension": d, "n": 500, "strategy": "blame"} for d in (1, 10)),
)
LEARNED_CELLS: tuple[Cell, ...] = tuple(
    {"kind": kind, "dimension": d, "n": n, "tolerance": 0.05, "strategy": "learned"}
    for d, n in ((20, 500), (100, 1000)) for kind in ("clean", "direction", "factor")
)  # fmt: skip


def trial(cell: Cell, rng: np.random.Generator) -> list[Row]:
    """One sample of a cell, and what regions say of it."""
    start = time.perf_counter()
    rows = _TRIALS[cell["strategy"]](cell, rng)
    seconds = (time.perf_counter() - start) / len(rows)
    return [{**cell, "seconds": seconds, **row} for row in rows]


_MODELS = ("poisson", "three", "gennorm", "grid", "categories", "mixture")


def _here(cell: Cell) -> tuple[str, int, int]:
    """Model, columns and rows of a cell: what its design depends on."""
    model = cell["kind"].partition(",")[0]
    return model if model.startswith(_MODELS) else "normal", cell["dimension"], cell["n"]


def _tests(cell: Cell, rng: np.random.Generator) -> list[Row]:
    """Theorem A where replicates are affordable, theorem B, and theorem F."""
    share = cell["tolerance"]
    if "second sample" in cell["kind"]:
        design, null = second_sample(cell, rng)
        counted = count(design, rng.normal(size=(cell["n"], cell["dimension"])))
    else:
        counted, null = count(design_of(*_here(cell)), sample(cell, rng)), null_of(*_here(cell), share)
    bound = counted.bonferroni("contamination", share)
    pvalues = {
        "contamination": bound if null is None else counted.pvalue(null),
        "bonferroni": bound,
        "tolerance": counted.bonferroni("tolerance", share),
    }
    asked = ("tolerance",) if cell["kind"] in CHANGED else pvalues
    return [{"test": test, "rejected": int(pvalues[test] <= LEVEL), "pvalue": pvalues[test]} for test in asked]


def _share(cell: Cell, rng: np.random.Generator) -> list[Row]:
    """The lower bound of the contaminated share; *rejected* is a miss."""
    counted = count(design_of(*_here(cell)), sample(cell, rng))
    bound = counted.bound("contamination")
    return [{"test": "share", "rejected": int(bound > cell["contamination"]), "ksd": bound}]


def _claim(cell: Cell, rng: np.random.Generator) -> list[Row]:
    """Whether the data are called good enough; the upper bound stands in the column of D."""
    counted, share = count(design_of(*_here(cell)), sample(cell, rng)), cell["tolerance"]
    lower, upper = counted.bound("tolerance"), counted.upper()
    claimed = upper <= share and counted.bonferroni("tolerance", share) > LEVEL
    return [{"test": "good enough", "rejected": int(claimed), "ksd": upper, "radius": lower}]


def _blame(cell: Cell, rng: np.random.Generator) -> list[Row]:
    """The truly bad among the named rows (column of D), and the named among the bad (column of the radius)."""
    n, d, kind = cell["n"], cell["dimension"], cell["kind"]
    _, share, center, spread, *_ = BLAMED.get(kind, (d, 0.0, 0.0, 0.0))
    x, bad = rng.normal(size=(n, d)), np.asarray(rng.random(n) < share)
    x[bad] = center + spread * x[bad]
    found = blame(design_of("normal", d, n), x)
    named = np.concatenate([step.rows for step in found]) if found else np.zeros(0, dtype=int)
    right = float(bad[named].mean()) if len(named) else None
    recalled = float(np.isin(np.flatnonzero(bad), named).mean()) if bad.any() else None
    return [{"test": "blame", "rejected": int(len(named) > 0), "ksd": right, "radius": recalled}]


def _learned(cell: Cell, rng: np.random.Generator) -> list[Row]:
    """Views learned on one half and looked at on the other, alone and with the fixed ones: 2·min of both."""
    d, n, share = cell["dimension"], cell["n"], cell["tolerance"]
    source, x = normal(d), sample(cell, rng)
    family = learned_family(source.rows(x[: n // 2]).z)
    other = count(Design.build(source, n - n // 2, [family], 10), x[n // 2 :]).bonferroni("contamination", share)
    counted = count(design_of("normal", d, n), x)
    null = null_of("normal", d, n, share)
    fixed = counted.bonferroni("contamination", share) if null is None else counted.pvalue(null)
    pvalues = {"learned": other, "fixed and learned": min(1.0, 2.0 * min(other, fixed))}
    return [{"test": test, "rejected": int(p <= LEVEL), "pvalue": p} for test, p in pvalues.items()]


_TRIALS = {
    "level": _tests, "power": _tests, "share": _share, "false claim": _claim, "true claim": _claim, "blame": _blame,
    "learned": _learned,
}  # fmt: skip


def _where(test: str, cell: Cell) -> dict[str, Any]:
    return {"test": test, **cell}


def _is_proved(test: str, cell: Cell) -> bool:
    """Not proved: replicates out of a second sample in several columns, atoms in a pool by theorem B at ε > 0."""
    several = cell["dimension"] > 1
    overlapping = several and cell["kind"] == "large second sample" and test == "contamination"
    counted = several and cell["kind"] in GRIDS and test != "contamination" and cell["tolerance"] > 0.0
    return not (overlapping or counted)


def _levels(results: Results, proved: bool) -> Iterator[Finding]:
    for cell in LEVEL_CELLS:
        for test in TESTS if cell["kind"] not in CHANGED else ("tolerance",):
            if _is_proved(test, cell) == proved:
                where = _where(test, cell)
                rate = results.rates.one(**where)
                yield Finding(describe(where), *_judged(rate), rate.interval, where)


def _judged(rate: Rate) -> tuple[str, float, bool]:
    """At most the level and two standard errors, which contain that of a null that is kept for all repeats."""
    room = LEVEL + 2.0 * math.sqrt(LEVEL * (1.0 - LEVEL) * (1.0 / rate.repeats + 1.0 / DRAWS))
    return f"≤ {room:.3f} (level + 2 s.e.)", rate.rate, rate.rate <= room


def _attained(results: Results) -> Iterator[Finding]:
    rates = [results.rates.one(**_where("contamination", c)) for c in LEVEL_CELLS
             if c["dimension"] == 1 and c["contamination"] > 0.0 and c["kind"] in EDGE]  # fmt: skip
    largest = max(rate.rate for rate in rates)
    yield Finding("the largest level on the edge, d = 1", "≥ 0.03", largest, largest >= 0.03)


def _powers(results: Results) -> Iterator[Finding]:
    for cell, expected in zip(POWER_CELLS, POWERS.values(), strict=True):
        for test, before in zip(("contamination", "tolerance"), expected, strict=True):
            if before is not None:
                where = _where(test, cell)
                rate = results.rates.one(**where)
                spread = math.sqrt(max(before * (1.0 - before), 0.01) * (1.0 / MEASURED_AT + 1.0 / rate.repeats))
                words = f"≥ {before:g} − 2 s.e. ({before - 2.0 * spread:.2f})"
                yield Finding(
                    describe(where), words, rate.rate, rate.rate >= before - 2.0 * spread, rate.interval, where
                )


def _shares(results: Results) -> Iterator[Finding]:
    for cell in SHARE_CELLS:
        where = _where("share", cell)
        rate = results.rates.one(**where)
        yield Finding(describe(where), *_judged(rate), rate.interval, where)


def _sharp(results: Results) -> Iterator[Finding]:
    for cell in (cell for cell in SHARE_CELLS if cell["kind"] != "near"):  # rows near 1 hide among the others
        mean, share = results.rates.one(**_where("share", cell)).ksd, cell["contamination"]
        least = {0.1: 0.05, 0.2: 0.13}[share]
        yield Finding(f"{describe(_where('mean bound', cell))}", f"≥ {least:g}", mean, mean >= least)


def _claims(results: Results, cells: tuple[Cell, ...], low: float, high: float) -> Iterator[Finding]:
    for cell in cells:
        where = _where("good enough", cell)
        rate = results.rates.one(**where)
        expected = "0" if high == 0.0 else f"≥ 0.8 − 2 s.e. ({low:g})"
        yield Finding(describe(where), expected, rate.rate, low <= rate.rate <= high, rate.interval)


def _blamed(results: Results) -> Iterator[Finding]:
    for cell in BLAME_CELLS:
        rate = results.rates.one(**_where("blame", cell))
        words = f"{cell['kind']}, d = {cell['dimension']}"
        if cell["kind"] == "clean":
            yield Finding(f"{words}: samples with a blamed row", "≤ 0.05", rate.rate, rate.rate <= 0.05, rate.interval)
        else:
            *_, right, found = BLAMED[cell["kind"]]
            yield Finding(f"{words}: truly bad among the named", f"≥ {right:g} − .1", rate.ksd, rate.ksd >= right - 0.1)
            yield Finding(f"{words}: named among the bad", f"≥ {found:g} − .1", rate.radius, rate.radius >= found - 0.1)


def _learning(results: Results) -> Iterator[Finding]:
    for cell in LEARNED_CELLS:
        for test in ("learned", "fixed and learned"):
            where = _where(test, cell)
            rate = results.rates.one(**where)
            if cell["kind"] == "clean":
                yield Finding(describe(where), *_judged(rate), rate.interval, where)
            else:
                yield Finding(describe(where), "≥ 0.9", rate.rate, rate.rate >= 0.9, rate.interval)


def draw(results: Results, figure: Any) -> None:
    """Left the level in every cell, right the power in one column."""
    left, right = figure.subplots(1, 2, width_ratios=(1, 1.4))
    for shift, (test, style) in zip((-0.2, 0.0, 0.2), TESTS.items(), strict=True):
        rates = [list(results.rates.select(**_where(test, cell))) for cell in LEVEL_CELLS]
        found = [(d, rate.rate) for cell, some in zip(LEVEL_CELLS, rates, strict=True)
                 for d, rate in ((_PLACES.index(cell["dimension"]), rate) for rate in some)]  # fmt: skip
        places, values = (np.array(part, dtype=float) for part in zip(*found, strict=True))
        left.scatter(places + shift, values, s=9, color=style.color, alpha=0.6, linewidth=0, label=style.label)
        cells = [cell for cell in POWER_CELLS if cell["dimension"] == 1 and cell["n"] == 200]
        powers = [results.rates.one(**_where(test, cell)).rate for cell in cells]
        right.plot(shift + np.arange(len(cells)), powers, style.marker, color=style.color, label=style.label)
    level_line(left)
    level_line(right)
    left.set_xticks(range(len(_PLACES)), [str(d) for d in _PLACES])
    left.set(xlabel="columns", ylabel="rejection rate", title="level", ylim=(-0.005, 0.1))
    right.set_xticks(range(len(cells)), [cell["kind"] for cell in cells], rotation=50, ha="right", fontsize=6.5)
    right.set(title="power, one column, n = 200, ε = .05", ylim=(-0.03, 1.03))
    legend_of(figure, right, LEVEL_LABEL, loc="outside upper center", ncols=4)


_PLACES = (1, 3, 5, 20, 100)

EXPERIMENT = Experiment(
    name="regions",
    title="regions that are short of rows",
    reference="docs/theory/regions.md",
    setup="fixed views unless learned ones are named; 1,999 replicates, or theorem B where those cost too much",
    says=(
        "Where a model can be drawn from, a region with fewer rows than the tolerated contamination (or difference of"
        " shares) leaves is looked for among all intervals of all views and their complements. The level is proved at"
        " every n for whatever bad rows, but for replicates out of a second sample in several columns, and for "
        "rounded rows in several columns without replicates; powers are compared with those measured when regions "
        "were designed, at 100 repeats. Good enough is claimed if the upper bound of all differences is within the "
        "tolerance and no misfit is shown. In the table the test `share` counts misses of the lower bound (column "
        "`ksd`), `good enough` counts claims (`ksd` the upper bound, `radius` the lower one), `blame` samples with a "
        "named row (`ksd` the truly bad among the named, `radius` the named among the bad)."
    ),
    grid=(*LEVEL_CELLS, *POWER_CELLS, *SHARE_CELLS, *GOOD_ENOUGH, *ROWS_CELLS, *BLAME_CELLS, *LEARNED_CELLS),
    trial=trial,
    repeats=400,
    expectations=(
        theorem(Expectation("the level is kept in every cell", lambda r: _levels(r, True))),
        Expectation("also where it is not proved", lambda r: _levels(r, False)),
        Expectation("on the edge it is attained", _attained),
        Expectation("power is what it was, or better", _powers),
        theorem(Expectation("the bound of the share misses no more than it may", _shares)),
        Expectation("and is sharp", _sharp),
        Expectation("what plainly does not fit is never called good enough", lambda r: _claims(r, GOOD_ENOUGH, 0, 0)),
        Expectation("a true model mostly is, at the rows of the rule", lambda r: _claims(r, ROWS_CELLS, 0.76, 1)),
        Expectation("rows are blamed that are bad", _blamed),
        Expectation("learned views keep the level, and find what lies in a random direction", _learning),
    ),
    explanations={
        "tolerance at kind=no upper 10 %, dimension=1, n=200, tolerance=0.05, strategy=power": (
            "Somebody who changes 10 of 200 rows empties an upper tenth with probability .008: with the second tail of "
            "theorem F this cannot be called a misfit. The earlier number has the first tail alone."
        ),
        "contamination at kind=t3, dimension=1, n=1000, tolerance=0.05, strategy=power": (
            "An independent implementation misses the number, too."
        ),
        "tolerance at kind=t3, dimension=1, n=1000, tolerance=0.05, strategy=power": (
            "The number is that of equal weights, which an independent implementation confirms."
        ),
    },
    draw=draw,
    size=(9.5, 3.8),
    again=1600,
)  # fmt: skip
