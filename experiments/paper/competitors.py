"""The paper's competitors as rows: KSDAgg beside single bandwidths, dcMMD and MMD-Dev."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from experiments.framework.base import PUBLISHED, TEXT, Cell, Row
from experiments.framework.figures import TESTS, Series, shades
from experiments.framework.passes import factored_summary
from experiments.framework.rows import bandwidth_kernel, decision_row, robust_nulls
from experiments.framework.table import Rates
from steinball.arrays import as_seed
from steinball.calibration import WeightedBootstrap, WildBootstrap
from steinball.evidence.kernels import AggregationEvidence
from steinball.gof.mmd import MMDDeviationNull, dcmmd_test
from steinball.gram.base import GramSummary
from steinball.gram.weights import gather
from steinball.kernels import Gaussian as GaussianKernel
from steinball.kernels.base import Kernel
from steinball.problem import Problem, pose
from steinball.radius import Huber
from steinball.stein import SteinKernel
from steinball.tilts import Tilt

__all__ = ["BANDWIDTHS", "MMD_VARIANTS", "Collection", "bandwidth_lines", "bandwidth_rows", "mmd_rows"]

BANDWIDTHS = (0.01, 0.1, 1, 10, 100)
MMD_VARIANTS = {
    PUBLISHED: "MMD tests with exp(−|x−y|²/d), the kernel that gives the published curves",
    TEXT: "MMD tests with the Gaussian kernel at the median distance of the pooled sample, as the text says",
}
_QUANTILE_DRAWS, _LEVEL_DRAWS, _BISECTIONS = 2000, 2000, 50
_PERMUTATIONS = 500
_LEVEL = 0.05


@dataclass(frozen=True)
class Collection:
    """A single-bandwidth test to be compared with KSDAgg over the same kernels."""

    test: str
    tilt: Tilt | None
    draws: int
    tolerance: float | None = None


def bandwidth_rows(x: Any, model: Any, rng: np.random.Generator, cell: Cell, collection: Collection) -> list[Row]:
    """The test at every λ² and at the median, and KSDAgg: the Gram matrix of a kernel serves both."""
    n = len(x)
    first = pose(x, model, None, collection.tilt)
    calibrations = (WeightedBootstrap(collection.draws), WildBootstrap(_QUANTILE_DRAWS + _LEVEL_DRAWS))
    weighted, signs = (gather(c.request(n, as_seed(rng)).weights, n).astype(np.float64) for c in calibrations)
    kernels = [bandwidth_kernel(square, cell["variant"]) for square in BANDWIDTHS]
    problems = [replace(first, stein=SteinKernel(kernel, first.stein.tilt)) for kernel in kernels if kernel is not None]
    rows, summaries, start = [], [], time.perf_counter()
    for square, problem in zip(BANDWIDTHS, problems, strict=True):
        begin = time.perf_counter()
        summary = factored_summary(problem, [weighted, signs])
        summaries.append(replace(summary, quadratic_forms=summary.quadratic_forms[collection.draws :]))
        rows += _single(summary, collection, cell, square, time.perf_counter() - begin)
    aggregated = _aggregated(problems, summaries, cell, collection, start)
    begin = time.perf_counter()
    median = _single(factored_summary(first, [weighted]), collection, cell, "median", time.perf_counter() - begin)
    return [*rows, *median, aggregated]


def bandwidth_lines(rates: Rates, test: str) -> list[Series]:
    """One line for every bandwidth of a test, and KSDAgg's."""
    styles = shades([format(square, "g") for square in BANDWIDTHS] + ["median"], r"$\lambda^2 = {}$")
    styles["median"] = replace(styles["median"], label=r"$\lambda$ by the median")
    lines = [Series(rates.select(test=test, bandwidth=square), style) for square, style in styles.items()]
    return [*lines, Series(rates.select(test="ksdagg"), TESTS["ksdagg"])]


def _single(summary: GramSummary, collection: Collection, cell: Cell, square: Any, seconds: float) -> list[Row]:
    """The test with one bandwidth, from the first draws of its pass; a robust one by both readings of them."""
    nulls = robust_nulls(summary, slice(collection.draws))
    if collection.tolerance is None:
        nulls = [(collection.test, nulls[0][1])]
    tau, ksd = float(np.max(summary.diagonal)), max(0.0, summary.mean) ** 0.5
    radius = (collection.tolerance or 0.0) * tau**0.5
    grid = {"bandwidth": square, "tolerance": collection.tolerance, "bootstrap": "weighted", **_exponent(collection)}
    return [decision_row(test, null, ksd, radius, cell, tau=tau, seconds=seconds, **grid) for test, null in nulls]


def _exponent(collection: Collection) -> Row:
    return {"exponent": 0.0 if collection.tilt is None else 0.5}


def _aggregated(
    problems: list[Problem], summaries: list[GramSummary], cell: Cell, collection: Collection, start: float
) -> Row:
    """KSDAgg from the signs of every kernel's pass."""
    evidence = AggregationEvidence.of(problems, summaries, _QUANTILE_DRAWS, _BISECTIONS)
    found = evidence.decide(Huber(0.0), _LEVEL)
    rejected = found["pvalue"] <= _LEVEL and found["statistic"] > found["threshold"]
    measured = {"rejected": int(rejected), "pvalue": found["pvalue"], "ksd": found["ksd"], "radius": 0.0}
    shared = {name: value for name, value in cell.items() if name not in ("bandwidth", "tolerance")}
    seconds = time.perf_counter() - start
    return {"test": "ksdagg", **measured, "seconds": seconds, **shared, "bootstrap": "wild", **_exponent(collection)}


def mmd_rows(x: Any, model: Any, rng: np.random.Generator, cell: Cell, tolerances: Iterable[float]) -> list[Row]:
    """dcMMD and MMD-Dev for every tolerance from one sample of the model and one kernel matrix."""
    start, kernel = time.perf_counter(), mmd_kernel(cell)
    result = dcmmd_test(x, model, contamination=0.0, kernel=kernel, n_resamples=_PERMUTATIONS, rng=rng, level=_LEVEL)
    seconds = time.perf_counter() - start
    peak = float(result.kernel.profile(np.zeros(1))[0][0])
    bound = MMDDeviationNull(math.sqrt(peak * (1.0 / result.n + 1.0 / result.m)))
    rows = []
    for tolerance in tolerances:
        shared = {"tolerance": tolerance, "seconds": seconds, "bandwidth": _mmd_bandwidth(kernel)}
        moved = result.at(contamination=tolerance)
        permuted = decision_row("dcmmd", None, moved.mmd, moved.radius, cell, pvalue=moved.pvalue, **shared)
        radius = tolerance * math.sqrt(2.0 * peak)
        rows += [permuted, decision_row("mmd-dev", bound, result.mmd, radius, cell, **shared)]
    return rows


def mmd_kernel(cell: Cell) -> Kernel | None:
    """exp(−|x − y|²/d), the kernel of the published MMD curves; None for the median distance of the text."""
    return None if cell["variant"] == TEXT else GaussianKernel(math.sqrt(cell["dimension"] / 2.0))


def _mmd_bandwidth(kernel: Kernel | None) -> Any:
    return "median" if kernel is None else kernel.lengthscale**2  # type: ignore[attr-defined]
