"""The whole matrix at once: fastest for small n."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from steinball.arrays import like, namespace, to_host
from steinball.gram.base import GramSummary
from steinball.gram.weights import Weights, gather
from steinball.stein import SteinProblem


@dataclass(frozen=True, eq=False)
class DenseGram:
    """The Stein Gram matrix of a problem, computed and held as a whole: time n²(d + B), memory n²."""

    problem: SteinProblem

    def summarise(self, weights: Weights) -> GramSummary:
        """The four answers of :class:`GramSummary`."""
        problem, n = self.problem, len(self.problem)
        xp = namespace(problem.samples)
        with np.errstate(over="ignore", invalid="ignore"):  # caught by the summary, by name
            matrix = problem.stein.block(problem.points, problem.points)
            row_means = xp.sum(matrix, axis=1) / n
            rows = like(gather(weights, n), matrix)
            forms = to_host(xp.sum(xp.matmul(rows, matrix) * rows, axis=1)) / n**2
            linear = to_host(xp.matmul(rows, row_means)) / n
        mean = float(to_host(row_means).mean())
        return GramSummary(problem.diagonal, row_means, mean, forms, weights, "dense", "exact", linear_forms=linear)
