"""Which coordinates the distance from a model is made of."""

from __future__ import annotations

import numpy as np

from steinball.arrays import Floats, to_host
from steinball.kernels.base import Kernel, direct_squared_distances
from steinball.problem import Problem
from steinball.stein import SteinPoints, center_of

MOST_POINTS = 4_000
"""Beyond so many points an even selection of them answers for all."""

_ENTRIES_AT_ONCE = 2**21

Terms = list[tuple[float, Floats, Floats]]


def coordinate_shares(problem: Problem) -> Floats:
    r"""The share of every coordinate in D², shape (d,)

    .. math:: D^2 = \sum_j D_j^2, \qquad D_j^2 = \frac1{n^2} \sum_{x, y} w(x) w(y) \Big[ \varphi s_j(x) s_j(y)
       + 2 \varphi' (x - y)_j (s_j(y) - s_j(x)) - 2 \varphi' - 4 \varphi'' (x - y)_j^2 \Big],

    with the shifted score s. Each of the d parts is a kernel Stein discrepancy of its own, that of the Stein functions
    along one coordinate, and so none is negative: the shares lie in [0, 1] and sum to 1.

    Examples
    --------
    >>> from steinball.problem import pose
    >>> from steinball.models import Gaussian
    >>> x = np.random.default_rng(0).normal(size=(300, 3))
    >>> x[:, 1] += 1.0
    >>> coordinate_shares(pose(x, Gaussian([0.0, 0.0, 0.0]))).round(2)
    array([0.01, 0.98, 0.  ])
    """
    squares = np.maximum(0.0, _coordinate_squares(_selected(problem), problem))
    total = squares.sum()
    return squares / total if total > 0.0 else np.full(squares.size, 1.0 / squares.size)


def _selected(problem: Problem) -> Problem:
    rows = (
        np.unique(np.linspace(0, len(problem) - 1, MOST_POINTS).astype(np.intp)) if len(problem) > MOST_POINTS else None
    )
    if rows is None:
        return problem
    return problem.take(rows)


def _coordinate_squares(part: Problem, problem: Problem) -> Floats:
    """n² D_j² for every j, a few rows of pairs at a time."""
    points = _Factors.of(part, to_host(center_of(problem.samples)))
    n, total = len(points.z), np.zeros(points.s.shape[1])
    for start in range(0, n, max(1, _ENTRIES_AT_ONCE // n)):
        total += points.block(problem.stein.kernel, slice(start, min(start + max(1, _ENTRIES_AT_ONCE // n), n)))
    return total


class _Factors:
    """Points on the host, centered, with all that the parts of u are products of."""

    def __init__(self, points: SteinPoints, center: Floats, traces: Floats) -> None:
        z = to_host(points.z)
        self.z = z - center if points.a is None else z
        self.s, a = to_host(points.s), self.z if points.a is None else to_host(points.a)
        e = np.ones_like(self.s) if points.each is None else to_host(points.each)
        self.weight = np.ones(len(z)) if points.weight is None else to_host(points.weight)
        self.e, self.ae, self.a2e, self.as_ = e, a * e, a * a * e, a * self.s
        self.traces = traces

    @classmethod
    def of(cls, problem: Problem, center: Floats) -> _Factors:
        metric, d = problem.stein.kernel.metric, int(problem.samples.shape[1])
        return cls(problem.points, center, np.ones(d) if metric is None else np.diag(metric))

    def block(self, kernel: Kernel, rows: slice) -> Floats:
        """Sums over the pairs of some rows with all points, shape (d,)."""
        r2 = direct_squared_distances(self.z[rows], self.z)
        value, slope, curvature = kernel.profile(r2)
        bend = np.where(r2 > 0.0, curvature / np.where(r2 > 0.0, r2, 1.0), 0.0)
        pair = self.weight[rows, None] * self.weight
        value, slope, bend = value * pair, slope * pair, bend * pair
        s, e, ae, a2e, as_ = self.s, self.e, self.ae, self.a2e, self.as_
        along = ae[rows] * (slope @ s) - as_[rows] * (slope @ e) - e[rows] * (slope @ as_) + s[rows] * (slope @ ae)
        apart = a2e[rows] * (bend @ e) - 2.0 * ae[rows] * (bend @ ae) + e[rows] * (bend @ a2e)
        parts = s[rows] * (value @ s) + 2.0 * along - 2.0 * self.traces * e[rows] * (slope @ e) - 4.0 * apart
        return np.asarray(parts.sum(axis=0))
