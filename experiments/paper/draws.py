"""R-KSD from one Gram matrix, in less time than a whole test takes: for experiments that ask many tests."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from experiments.framework.base import Cell, Row
from experiments.framework.rows import PAPER, TILTED_DRAWS, decision_row
from steinball.arrays import as_seed, to_host
from steinball.calibration import WeightedBootstrap
from steinball.calibration.base import BootstrapNull
from steinball.gram.base import GramSummary, mean_squares
from steinball.gram.lowrank import PivotedCholesky
from steinball.gram.request import Request
from steinball.gram.weights import Weights, gather
from steinball.gram.whole import DenseGram
from steinball.kernels.base import Kernel
from steinball.problem import Problem, pose
from steinball.tilts import Tilt

__all__ = ["Drawn", "drawn", "summary_of"]

_LEFT = 1e-9
"""The share of the trace that a factor may leave out: five digits of D² under the null at n = 2,000."""


def summary_of(problem: Problem, weights: Weights) -> GramSummary:
    """The answers of one pass; on the line from a factor of rank 50 or so, which takes half of the time."""
    if problem.samples.shape[1] > 1:
        return DenseGram(problem).summarise(Request(weights))
    n, factor = len(problem), PivotedCholesky(problem)
    factor.grow(_LEFT, n)
    rows = to_host(factor.rows_at(np.arange(n)))
    total, chunk = rows.sum(axis=0), gather(weights, n)
    moved = chunk @ rows
    forms, linear = np.sum(moved**2, axis=1) / n**2, moved @ total / n**2
    answers = problem.diagonal, rows @ total / n, float(total @ total) / n**2, forms, weights, "dense", "exact"
    return GramSummary(*answers, linear_forms=linear, mean_squares=mean_squares(chunk))


@dataclass(frozen=True, eq=False)
class Drawn:
    """A sample's answers, and how long they took."""

    summary: GramSummary
    seconds: float

    @property
    def ksd(self) -> float:
        """D, by the V-statistic."""
        return math.sqrt(max(0.0, self.summary.mean))

    @property
    def tau(self) -> float:
        """The largest u(x, x) of the sample."""
        return float(np.max(to_host(self.summary.diagonal)))

    def standard(self, test: str, cell: Cell, **columns: Any) -> Row:
        """The row of a test without a radius."""
        null = BootstrapNull.from_summary(self.summary, "v")
        return decision_row(test, null, self.ksd, 0.0, cell, tau=self.tau, **self._shared, **columns)

    def robust(self, cell: Cell, tolerance: float, tau: float | None = None, **columns: Any) -> Row:
        """The row of R-KSD at the radius ε₀√τ; τ of the sample by default."""
        null, tau = BootstrapNull.from_summary(self.summary, "v"), self.tau if tau is None else tau
        given = {"tolerance": tolerance, "tau": tau, **self._shared, **columns}
        return decision_row(PAPER, null, self.ksd, tolerance * tau**0.5, cell, **given)

    @property
    def _shared(self) -> dict[str, Any]:
        return {"seconds": self.seconds, "bootstrap": "weighted"}


def drawn(
    x: Any, model: Any, rng: np.random.Generator, kernel: Kernel | None = None, tilt: Tilt | None = None
) -> Drawn:
    """500 draws of the weighted bootstrap."""
    start = time.perf_counter()
    problem = pose(x, model, kernel, tilt)
    summary = summary_of(problem, WeightedBootstrap(TILTED_DRAWS).request(len(problem), as_seed(rng)).weights)
    return Drawn(summary, time.perf_counter() - start)
