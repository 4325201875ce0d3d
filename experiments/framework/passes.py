"""One pass over the pairs of a sample, read at any radius: what ``ksd_test`` finds, without its checks of strangers.

An experiment makes some eighty thousand tests of samples that it drew itself. Looking at each for dependent rows,
unbounded kernels and free memory would take as long as the tests of small samples do.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.lapack import dpstrf

from steinball.arrays import as_seed
from steinball.calibration import WeightedBootstrap
from steinball.calibration.base import BootstrapNull, Null
from steinball.calibration.boundary import BoundaryNull
from steinball.gram.base import Gram, GramSummary, linear_forms
from steinball.gram.blocked import CPU_TILE, BlockedGram
from steinball.gram.choose import DENSE_UP_TO
from steinball.gram.request import Request
from steinball.gram.weights import Chunk, gather
from steinball.gram.whole import DenseGram
from steinball.kernels.base import Kernel
from steinball.problem import Problem, pose
from steinball.radius import Huber, Radius
from steinball.radius.base import as_radius
from steinball.tau.certificate import Supremum
from steinball.tau.supremum import find_supremum
from steinball.tilts import Tilt

__all__ = ["Reading", "read", "summary_of"]

Floats = NDArray[np.float64]

LEVEL = 0.05
_FACTORED, _LARGE = range(DENSE_UP_TO + 1, 1001), range(1001, 5001)
"""Numbers of points on the line at which draws go through a factor of the matrix: of the whole, or of some columns."""
_STRIP, _MOST_COLUMNS = 64, 150


@dataclass(frozen=True, eq=False)
class Reading:
    """A test from one pass: at radius 0, at another one, or read by the boundary bootstrap.

    ``ksd``, ``pvalue``, ``rejected``, ``radius``, ``tau``, ``n`` and ``n_resamples`` are those of a
    :class:`steinball.GofResult`.
    """

    problem: Problem
    summary: GramSummary
    supremum: Supremum
    null: Null
    radius: float = 0.0

    @property
    def n(self) -> int:
        """How many points there are."""
        return len(self.problem)

    @property
    def n_resamples(self) -> int:
        """How many draws there are."""
        return int(self.summary.quadratic_forms.size)

    @property
    def tau(self) -> float:
        """The supremum of u(x, x) that radii are scaled by."""
        return self.supremum.value

    @property
    def ksd(self) -> float:
        """D of the sample."""
        return math.sqrt(max(0.0, self.summary.mean))

    @cached_property
    def pvalue(self) -> float:
        """At this radius."""
        return self.null.pvalue(self.ksd, self.radius)

    @property
    def rejected(self) -> bool:
        """At level .05."""
        return self.pvalue <= LEVEL

    def at(self, *, contamination: float | None = None, radius: float | Radius | None = None) -> Reading:
        """The same draws at another tolerance."""
        tolerated = as_radius(Huber(contamination) if contamination is not None else radius)
        return replace(self, radius=tolerated(self.problem, self.supremum))

    def at_the_boundary(self) -> Reading:
        """The same draws and radius, read by the boundary bootstrap."""
        return replace(self, null=BoundaryNull.from_summary(self.summary))


def read(
    x: Any,
    model: Any,
    rng: np.random.Generator,
    draws: int,
    kernel: Kernel | None = None,
    tilt: Tilt | None = None,
    tau: Any = "sample",
) -> Reading:
    """The weighted bootstrap's test at radius 0; the same numbers as those of ``ksd_test``."""
    seed, problem = as_seed(rng), pose(x, model, kernel, tilt)
    summary = summary_of(problem, gather(WeightedBootstrap(draws).request(len(problem), seed).weights, len(problem)))
    return Reading(problem, summary, find_supremum(tau, problem), BootstrapNull.from_summary(summary, "v"))


def summary_of(problem: Problem, weights: Chunk) -> GramSummary:
    """What the pairs say of these weights (B, n)."""
    n, d = problem.samples.shape
    if d == 1 and n in _FACTORED:
        return factored_summary(problem, [weights.astype(np.float64)])
    if d == 1 and n in _LARGE and (factor := columns_of(problem)) is not None:
        return _with_draws(_engine(problem).summarise(Request()), factor, [weights.astype(np.float64)])
    return _engine(problem).summarise(Request((weights,)))


def _engine(problem: Problem) -> Gram:
    """The engine that a test takes for so many points, on one core."""
    n = len(problem)
    if n <= DENSE_UP_TO:
        return DenseGram(problem)
    return BlockedGram(problem, CPU_TILE // 2 if n < 3 * CPU_TILE else CPU_TILE, 1)


def _with_draws(summary: GramSummary, factor: Floats, weights: Sequence[Floats]) -> GramSummary:
    r"""A summary with the draws of a factor :math:`U = L L^\top`: wᵀUw = |Lᵀw|²."""
    products = [rows @ factor for rows in weights]
    forms = np.concatenate([np.einsum("br,br->b", part, part) for part in products]) / len(summary) ** 2
    linear = np.concatenate([linear_forms(rows, summary.row_means) for rows in weights])
    # The weights are whole numbers, as everywhere; here they come as floating-point ones, for the products.
    return replace(summary, quadratic_forms=forms, linear_forms=linear, weights=weights)  # type: ignore[arg-type]


def factored_summary(problem: Problem, weights: Sequence[Floats]) -> GramSummary:
    """The same through a factor of the matrix, whose columns end where rounding begins.

    A smooth kernel on the line has few of them, so that many draws cost little more than the matrix.
    """
    n, points = len(problem), problem.points
    strips = [points.map(lambda part, k=k: part[k : k + _STRIP]) for k in range(0, n, _STRIP)]  # type: ignore[misc]
    matrix = np.concatenate([np.asarray(problem.stein.block(strip, points)) for strip in strips])
    row_means = matrix.sum(axis=1) / n
    bare = GramSummary(problem.diagonal, row_means, float(row_means.mean()), np.empty(0), (), "dense", "exact")
    return _with_draws(bare, factor_of(matrix), weights)


def columns_of(problem: Problem) -> Floats | None:
    """The factor of :func:`factor_of` from the columns of its pivots alone; ``None`` where they would be many.

    Examples
    --------
    >>> from steinball.models import Gaussian
    >>> problem = pose(np.linspace(-2.0, 2.0, 9), Gaussian())
    >>> found = columns_of(problem)
    >>> bool(np.allclose(found @ found.T, problem.stein.block(problem.points, problem.points)))
    True
    """
    rest = np.array(problem.diagonal)
    factor, points = np.empty((len(rest), _MOST_COLUMNS), order="F"), problem.points
    end = len(rest) * np.finfo(np.float64).eps * float(rest.max())
    for k in range(_MOST_COLUMNS):
        pivot = int(np.argmax(rest))
        if rest[pivot] <= end:
            return factor[:, :k]
        column = np.asarray(problem.stein.block(points, points.map(lambda part, i=pivot: part[i : i + 1])))[:, 0]  # type: ignore[misc]
        factor[:, k] = (column - factor[:, :k] @ factor[pivot, :k]) / rest[pivot] ** 0.5
        rest -= factor[:, k] ** 2
    return None


def factor_of(matrix: Floats) -> Floats:
    """L (n, r) with LLᵀ the matrix, up to n rounding errors of its largest entry: Cholesky's factor with pivots.

    Examples
    --------
    >>> half = np.arange(6.0).reshape(3, 2)
    >>> found = factor_of(half @ half.T)
    >>> found.shape, bool(np.allclose(found @ found.T, half @ half.T))
    ((3, 2), True)
    """
    packed, order, rank, _ = dpstrf(matrix, lower=1)
    factor = np.empty((len(matrix), rank))
    factor[order - 1] = np.tril(packed[:, :rank])
    return factor
