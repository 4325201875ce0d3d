"""Tests to rows of a table: one pass over the pairs serves every tolerance that shares it."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Any

import numpy as np

from steinball.arrays import as_seed
from steinball.calibration import BootstrapNull, DeviationNull, WeightedBootstrap, WildBootstrap
from steinball.calibration.base import Null
from steinball.discrepancy import pose
from steinball.gof.ksd import ksd_test
from steinball.gram.base import GramSummary
from steinball.gram.choose import Settings, make_gram
from steinball.gram.weights import ChainedWeights
from steinball.kernels.base import Kernel
from steinball.kernels.radial import InverseMultiquadric
from steinball.paper.base import Cell, Row
from steinball.radius import Radius
from steinball.result import GofResult
from steinball.tilts import PolynomialTilt

__all__ = ["TOLERANCE", "bandwidth_kernel", "bootstrap_rows", "standard_row", "tilted_rows"]

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


def result_row(test: str, result: GofResult, seconds: float, cell: Cell, **grid: Any) -> Row:
    """The row of a result."""
    measured = {
        "rejected": int(result.rejected), "pvalue": result.pvalue, "ksd": result.ksd, "radius": result.radius,
        "tau": result.tau, "seconds": seconds,
    }  # fmt: skip
    size = {"n": result.n, "dimension": result.dimension, "bootstrap": "weighted"}
    return {"test": test, **measured, **size, **_shared(cell), **grid}


def _timed(x: Any, model: Any, rng: np.random.Generator, **options: Any) -> tuple[GofResult, float]:
    start = time.perf_counter()
    result = ksd_test(x, model, rng=rng, n_jobs=1, progress=False, level=_LEVEL, **options)
    return result, time.perf_counter() - start


def standard_row(
    x: Any, model: Any, rng: np.random.Generator, cell: Cell, kernel: Kernel | None = None, **grid: Any
) -> Row:
    """The standard test with the untilted kernel, 1000 draws."""
    result, seconds = _timed(x, model, rng, kernel=kernel, calibration=WeightedBootstrap(STANDARD_DRAWS))
    return result_row("imq-ksd", result, seconds, cell, exponent=0.0, **grid)


def tilted_result(
    x: Any,
    model: Any,
    rng: np.random.Generator,
    kernel: Kernel | None = None,
    exponent: float = 0.5,
    tau: Any = "sample",
) -> tuple[GofResult, float]:
    """The tilted test, 500 draws, and the seconds it took; it answers for every radius."""
    calibration = WeightedBootstrap(TILTED_DRAWS)
    return _timed(x, model, rng, kernel=kernel, tilt=PolynomialTilt(exponent), tau=tau, calibration=calibration)


def tilted_rows(
    x: Any,
    model: Any,
    rng: np.random.Generator,
    cell: Cell,
    kernel: Kernel | None = None,
    tolerances: Iterable[float] = (TOLERANCE,),
    deviation: bool = False,
    **grid: Any,
) -> list[Row]:
    """Tilted-KSD, R-KSD for every tolerance and, if asked for, R-KSD-Dev: one pass over the pairs."""
    result, seconds = tilted_result(x, model, rng, kernel)
    rows = [result_row("tilted-ksd", result, seconds, cell, exponent=0.5, **grid)]
    for tolerance in tolerances:
        given = {"exponent": 0.5, "tolerance": tolerance, **grid}
        rows.append(result_row("r-ksd", result.at(contamination=tolerance), seconds, cell, **given))
        if deviation:
            rows.append(deviation_row(result, seconds, cell, **given))
    return rows


def radius_row(result: GofResult, radius: float | Radius, seconds: float, cell: Cell, **grid: Any) -> Row:
    """R-KSD at any radius, from a tilted result."""
    return result_row("r-ksd", result.at(radius=radius), seconds, cell, exponent=0.5, **grid)


def deviation_row(result: GofResult, seconds: float, cell: Cell, *, tolerance: float, **grid: Any) -> Row:
    """R-KSD-Dev (App. D): the bound in place of the draws, from the D and τ of a tilted result."""
    radius = result.at(contamination=tolerance).radius
    row = null_row("r-ksd-dev", DeviationNull(result.tau, result.n), result, radius)
    return {**row, "seconds": seconds, **_shared(cell), "tolerance": tolerance, **grid}


def null_row(test: str, null: Null, result: GofResult, radius: float) -> Row:
    """A row for the D of a result against another null distribution."""
    pvalue = null.pvalue(result.ksd, radius)
    rejected = int(pvalue <= _LEVEL)
    size = {"n": result.n, "dimension": result.dimension}
    return {"test": test, "rejected": rejected, "pvalue": pvalue, "ksd": result.ksd, "radius": radius, "tau": result.tau, **size}


def bootstrap_rows(
    x: Any, model: Any, rng: np.random.Generator, cell: Cell, tolerances: Iterable[float]
) -> list[Row]:
    """R-KSD by the weighted and by the wild bootstrap: one Gram matrix, both sets of draws."""
    start = time.perf_counter()
    problem = pose(x, model, None, PolynomialTilt())
    seeds = [as_seed(rng), as_seed(rng)]
    streams = tuple(
        calibration.weights(len(problem), seed)
        for calibration, seed in zip((WeightedBootstrap(TILTED_DRAWS), WildBootstrap(TILTED_DRAWS)), seeds, strict=True)
    )
    gram = make_gram(problem, 2 * TILTED_DRAWS, Settings("auto", None, 1, False), lambda _: True)
    summary = gram.summarise(ChainedWeights(streams))
    seconds = (time.perf_counter() - start) / 2.0
    return [
        _bootstrap_row(summary, name, part, tolerance, seconds, cell)
        for name, part in (("weighted", slice(0, TILTED_DRAWS)), ("wild", slice(TILTED_DRAWS, None)))
        for tolerance in tolerances
    ]


def _bootstrap_row(
    summary: GramSummary, name: str, part: slice, tolerance: float, seconds: float, cell: Cell
) -> Row:
    """One decision from one of the two sets of draws."""
    null = BootstrapNull(np.sqrt(np.maximum(summary.quadratic_forms[part], 0.0)))
    tau, ksd = float(np.max(summary.diagonal)), max(0.0, summary.mean) ** 0.5
    radius = tolerance * tau**0.5
    pvalue = null.pvalue(ksd, radius)
    measured = {"rejected": int(pvalue <= _LEVEL), "pvalue": pvalue, "ksd": ksd, "radius": radius, "tau": tau}
    grid = {"tolerance": tolerance, "exponent": 0.5, "bootstrap": name}
    return {"test": "r-ksd", **measured, "seconds": seconds, **_shared(cell), **grid}

