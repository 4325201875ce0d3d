"""The whole matrix at once: fastest for small n."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from steinball.arrays import namespace, to_host
from steinball.gram.base import GramSummary, further_answers, mean_squares
from steinball.gram.request import Request
from steinball.gram.tiles import Asked, earlier_sums

if TYPE_CHECKING:
    from steinball.problem import Problem


@dataclass(frozen=True, eq=False)
class DenseGram:
    """The Stein Gram matrix of a problem, computed and held as a whole: time n²(d + B), memory n²."""

    problem: Problem

    def summarise(self, request: Request) -> GramSummary:
        """The answers of :class:`GramSummary`."""
        problem, n = self.problem, len(self.problem)
        xp, request = namespace(problem.samples), request.checked(n)
        with np.errstate(over="ignore", invalid="ignore"):  # caught by the summary, by name
            matrix = problem.stein.block(problem.points, problem.points)
            row_means = xp.sum(matrix, axis=1) / n
            drawn = Asked.of(request, n)
            asked = drawn.beside(matrix)
            rows = xp.astype(asked.weights, matrix.dtype)
            forms = to_host(xp.sum(xp.matmul(rows, matrix) * rows, axis=1)) / n**2
            linear = to_host(xp.matmul(rows, row_means)) / n
            further = xp.matmul(asked.directions, matrix)
            if places := asked.orders():
                further = xp.concat([earlier_sums(matrix, places, places)[1], further], axis=0)
        return GramSummary(
            problem.diagonal,
            row_means,
            float(to_host(row_means).mean()),
            forms,
            request.weights,
            "dense",
            "exact",
            linear_forms=linear,
            mean_squares=mean_squares(drawn.weights),
            **further_answers(request, to_host(further), problem),
        )
