"""Tests to rows of a table: one pass over the pairs serves every tolerance that shares it."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Iterable
from typing import Any

import numpy as np

from experiments.framework.base import Cell, Row
from experiments.framework.passes import Reading, read, summary_of
from steinball.arrays import as_seed
from steinball.calibration import WeightedBootstrap, WildBootstrap
from steinball.calibration.base import BootstrapNull, Null
from steinball.calibration.boundary import BoundaryNull
from steinball.calibration.deviation import DeviationNull
from steinball.gram.base import GramSummary
from steinball.gram.weights import gather
from steinball.kernels.base import Kernel
from steinball.kernels.radial import InverseMultiquadric
from steinball.problem import pose
from steinball.radius import Radius
from steinball.results.gof import GofResult
from steinball.tilts import PolynomialTilt

__all__ = [
    "BOUNDARY", "PAPER", "TOLERANCE", "bandwidth_kernel", "bootstrap_rows", "decision_row", "radius_rows",
    "result_row", "robust_nulls", "robust_rows", "standard_row", "tilted_result", "tilted_rows",
]  # fmt: skip

PAPER, BOUNDARY = "r-ksd", "r-ksd-boundary"
TOLERANCE = 0.05
STANDARD_DRAWS = 1000
TILTED_DRAWS = 500
_LEVEL = 0.05


def bandwidth_kernel(square: float | str, variant: str = "published") -> Kernel | None:
    """The inverse multiquadric of a stated λ²: lengthscale² = 2λ² as published, λ² in the text; None for the median."""
    if isinstance(square, str):
        return None
    return InverseMultiquadric((square if variant == "text" else 2.0 * square) ** 0.5)


def _shared(cell: Cell) -> Row:
    """What a cell says of every row; ``tolerance`` belongs to robust tests alone."""
    return {name: value for name, value in cell.items() if name != "tolerance"}


def decision_row(
    test: str, null: Null | None, ksd: float, radius: float, cell: Cell, *, pvalue: float | None = None, **columns: Any
) -> Row:
    """A row by the p-value of a null distribution, or by a p-value already known."""
    if pvalue is None:
        assert null is not None
        pvalue = null.pvalue(ksd, radius)
    decision = {"rejected": int(pvalue <= _LEVEL), "pvalue": pvalue, "ksd": ksd, "radius": radius}
    return {"test": test, **decision, **_shared(cell), **columns}


def result_row(test: str, result: GofResult | Reading, seconds: float, cell: Cell, **columns: Any) -> Row:
    """The row of a result."""
    measured = {
        "rejected": int(result.rejected), "pvalue": result.pvalue, "ksd": result.ksd, "radius": result.radius,
        "tau": result.tau, "seconds": seconds, "bootstrap": "weighted",
    }  # fmt: skip
    return {"test": test, **measured, **_shared(cell), **columns}


def _timed(x: Any, model: Any, rng: np.random.Generator, draws: int, *settings: Any) -> tuple[Reading, float]:
    start = time.perf_counter()
    reading = read(x, model, rng, draws, *settings)
    return reading, time.perf_counter() - start


def standard_row(
    x: Any, model: Any, rng: np.random.Generator, cell: Cell, kernel: Kernel | None = None, **columns: Any
) -> Row:
    """The standard test with the untilted kernel, 1000 draws."""
    result, seconds = _timed(x, model, rng, STANDARD_DRAWS, kernel)
    return result_row("imq-ksd", result, seconds, cell, exponent=0.0, **columns)


def tilted_result(
    x: Any,
    model: Any,
    rng: np.random.Generator,
    kernel: Kernel | None = None,
    exponent: float = 0.5,
    tau: Any = "sample",
) -> tuple[Reading, float]:
    """The tilted test, 500 draws, and the seconds it took; it answers for every radius."""
    return _timed(x, model, rng, TILTED_DRAWS, kernel, PolynomialTilt(exponent), tau)


def tilted_rows(
    x: Any,
    model: Any,
    rng: np.random.Generator,
    cell: Cell,
    kernel: Kernel | None = None,
    tolerances: Iterable[float] = (TOLERANCE,),
    deviation: bool = False,
    **columns: Any,
) -> list[Row]:
    """Tilted-KSD, R-KSD for every tolerance and, if asked for, R-KSD-Dev: one pass over the pairs."""
    result, seconds = tilted_result(x, model, rng, kernel)
    rows = [result_row("tilted-ksd", result, seconds, cell, exponent=0.5, **columns)]
    for tolerance in tolerances:
        given = {"exponent": 0.5, "tolerance": tolerance, **columns}
        moved = result.at(contamination=tolerance)
        rows += robust_rows(moved, seconds, cell, **given)
        if deviation:
            rows.append(_deviation_row(moved, seconds, cell, **given))
    return rows


def robust_rows(result: Reading, seconds: float, cell: Cell, **columns: Any) -> list[Row]:
    """R-KSD, and the same draws read by the boundary bootstrap."""
    both = ((PAPER, result), (BOUNDARY, result.at_the_boundary()))
    return [result_row(test, answer, seconds, cell, **columns) for test, answer in both]


def radius_rows(result: Reading, radius: float | Radius, seconds: float, cell: Cell, **columns: Any) -> list[Row]:
    """R-KSD at any radius, from a tilted result, by both readings of its draws."""
    return robust_rows(result.at(radius=radius), seconds, cell, exponent=0.5, **columns)


def robust_nulls(summary: GramSummary, draws: slice) -> list[tuple[str, Null]]:
    """Both readings of some draws of a summary, by the name of their test."""
    part = dataclasses.replace(
        summary, quadratic_forms=summary.quadratic_forms[draws], linear_forms=summary.linear_forms[draws]
    )
    return [(PAPER, BootstrapNull.from_summary(part, "v")), (BOUNDARY, BoundaryNull.from_summary(part))]


def _deviation_row(result: Reading, seconds: float, cell: Cell, **columns: Any) -> Row:
    """R-KSD-Dev (App. D): the bound in place of the draws, at the D, τ and radius of a robust result."""
    null = DeviationNull(result.tau, result.n)
    return decision_row("r-ksd-dev", null, result.ksd, result.radius, cell, tau=result.tau, seconds=seconds, **columns)


def bootstrap_rows(x: Any, model: Any, rng: np.random.Generator, cell: Cell, tolerances: Iterable[float]) -> list[Row]:
    """R-KSD by the weighted and by the wild bootstrap: one Gram matrix, both sets of draws."""
    start = time.perf_counter()
    problem = pose(x, model, None, PolynomialTilt())
    calibrations = (WeightedBootstrap(TILTED_DRAWS), WildBootstrap(TILTED_DRAWS))
    n = len(problem)
    streams = [gather(calibration.request(n, as_seed(rng)).weights, n) for calibration in calibrations]
    summary = summary_of(problem, np.concatenate(streams))
    tau, ksd = float(np.max(summary.diagonal)), max(0.0, summary.mean) ** 0.5
    weighted, wild = (robust_nulls(summary, part) for part in (slice(TILTED_DRAWS), slice(TILTED_DRAWS, None)))
    nulls = [("weighted", *null) for null in weighted] + [("wild", *wild[0])]  # signs that do not sum to 0 have no edge
    shared = {"tau": tau, "seconds": (time.perf_counter() - start) / 2.0, "exponent": 0.5}
    return [
        decision_row(test, null, ksd, e0 * tau**0.5, cell, tolerance=e0, bootstrap=name, **shared)
        for name, test, null in nulls
        for e0 in tolerances
    ]
