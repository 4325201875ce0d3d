"""Whether rows near each other in a file are more alike than others: chains, sorted files, outliers stored together."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from steinball.arrays import to_host
from steinball.stein import SteinProblem

__all__ = ["Dependence", "autocorrelation_time", "find_dependence"]

Floats = NDArray[np.float64]

LAGS = 16
"""Rows up to this far apart are compared; one lag alone misses chains that were interleaved."""

N_PERMUTATIONS = 999
RARE = 0.003
"""The p-value at which rows count as dependent: of three hundred independent samples one is called so at most."""

_ROWS = 512
_STRETCHES = 4
_SUSPICIOUS = 3.0  # standard errors below which no permutation is worth its time
_TOGETHER = np.array([2, 4, 8, 16])  # lags that are also added up: weak dependence that lasts
_WINDOW = 5.0  # Sokal's: lags are summed up to this many times the time that they add up to


@dataclass(frozen=True)
class Dependence:
    """How alike near rows are: the lag at which they are most alike, in standard errors, and a p-value.

    Examples
    --------
    >>> Dependence(1, 0.5, 1.0).dependent
    False
    """

    lag: int
    excess: float
    pvalue: float

    @property
    def dependent(self) -> bool:
        """Whether hardly any random order of the rows was as extreme."""
        return self.pvalue <= RARE


def find_dependence(problem: SteinProblem) -> Dependence:
    r"""Compare the Stein features of rows at lags 1 to 16 with those of all pairs of rows

    .. math:: T_k = \operatorname{mean}_i g(x_i, x_{i+k}), \qquad g = \text{the double-centered Stein kernel},

    in standard errors of a mean of pairs, each by itself and the first 2, 4, 8 and 16 together; the largest of these is
    calibrated by random orders of the rows.

    Parameters
    ----------
    problem : SteinProblem
        Its rows in their order. Of more than 512 rows, four stretches of 128 are looked at.

    Examples
    --------
    >>> import steinball as sb
    >>> from steinball.problem import pose
    >>> x = np.random.default_rng(0).normal(size=300)
    >>> problems = [pose(rows, sb.models.Gaussian(), sb.InverseMultiquadric(1.0)) for rows in (x, np.sort(x))]
    >>> [find_dependence(problem).dependent for problem in problems]
    [False, True]
    """
    rows, pairs = _stretches(len(problem))
    centered = _double_centered(problem, rows)
    m, trace = len(rows), float(np.trace(centered))
    mean = -trace / (m * (m - 1))  # all entries of a double-centered matrix add up to 0
    variance = (float(np.square(centered).sum()) - float(np.square(np.diag(centered)).sum())) / (m * (m - 1)) - mean**2
    if not variance > 0.0:
        return Dependence(1, 0.0, 1.0)

    def excesses(order: NDArray[np.intp]) -> Floats:
        sums = [centered[order[first], order[second]].sum() - mean * len(first) for first, second in pairs]
        single = np.array(sums) / np.sqrt([variance * len(first) for first, _ in pairs])
        counts = _TOGETHER[len(single) >= _TOGETHER]
        return np.concatenate([single, np.cumsum(single)[counts - 1] / np.sqrt(counts)])

    found = excesses(np.arange(m))
    lag, largest = int(np.argmax(found[: len(pairs)])) + 1, float(found.max())
    if largest < _SUSPICIOUS:
        return Dependence(lag, largest, 1.0)
    return Dependence(lag, largest, _share_as_extreme(excesses, m, largest))


def _share_as_extreme(excesses: Callable[[NDArray[np.intp]], Floats], m: int, largest: float) -> float:
    """The p-value among random orders; an early end where it can no longer be small."""
    rng, reached = np.random.default_rng(0), 0
    for done in range(1, N_PERMUTATIONS + 1):
        reached += bool(excesses(rng.permutation(m)).max() >= largest)
        if reached > RARE * N_PERMUTATIONS:
            return (1 + reached) / (1 + done)
    return (1 + reached) / (1 + N_PERMUTATIONS)


def _stretches(n: int) -> tuple[NDArray[np.intp], list[tuple[NDArray[np.intp], NDArray[np.intp]]]]:
    """The rows that are looked at, and for each lag the places of the pairs among them."""
    length = n if n <= _ROWS else _ROWS // _STRETCHES
    starts = np.array([0]) if n <= _ROWS else np.linspace(0, n - length, _STRETCHES).astype(np.intp)
    rows = (starts[:, None] + np.arange(length)).ravel()
    places = np.arange(len(rows)).reshape(len(starts), length)
    lags = range(1, min(LAGS, length - 1) + 1)
    return rows, [(places[:, :-k].ravel(), places[:, k:].ravel()) for k in lags]


def _double_centered(problem: SteinProblem, rows: NDArray[np.intp]) -> Floats:
    points = problem.points.take(rows)
    block = to_host(problem.stein.block(points, points))
    means = block.mean(axis=0)
    return np.asarray(block - means[:, None] - means[None, :] + means.mean())


def autocorrelation_time(problem: SteinProblem, chains: int = 1) -> float:
    r"""The integrated autocorrelation time of the Stein features along the rows

    .. math:: \tau = 1 + 2 \sum_{k=1}^{K} \frac{\operatorname{tr} \Gamma_k}{\operatorname{tr} \Gamma_0}, \qquad
       \operatorname{tr} \Gamma_k = \operatorname{mean}_i g(x_i, x_{i+k}),

    with g the double-centered Stein kernel and K the first lag beyond 5τ (Sokal's window); at least 1.

    Parameters
    ----------
    problem : SteinProblem
        Its rows in their order.
    chains : int
        Number of chains of one length that stand one behind the other; pairs of two chains are left out.

    Examples
    --------
    >>> import steinball as sb
    >>> from steinball.problem import pose
    >>> x = np.repeat(np.random.default_rng(0).normal(size=200), 5)
    >>> 3.0 < autocorrelation_time(pose(x, sb.models.Gaussian(), sb.InverseMultiquadric(1.0))) < 7.0
    True
    """
    n = len(problem)
    length, points = n // chains, problem.points
    means = _row_means(problem)
    level = float(means.mean())
    variance = float(to_host(problem.diagonal).mean()) - level
    places, time = np.arange(length * chains).reshape(chains, length), 1.0
    for lag in range(1, length // 2):
        first, second = places[:, :-lag].ravel(), places[:, lag:].ravel()
        alike = to_host(problem.stein.pairs(points.take(first), points.take(second)))
        product = float(alike.mean() - means[first].mean() - means[second].mean()) + level
        time += 2.0 * product / variance if variance > 0.0 else 0.0
        if lag >= _WINDOW * time:
            break
    return max(1.0, time)


def _row_means(problem: SteinProblem) -> Floats:
    """(1/m) Σⱼ u(xᵢ, xⱼ) over at most 512 rows j spread over all: the center of the features, to sampling error."""
    n = len(problem)
    some = problem.points.take(np.linspace(0, n - 1, min(n, _ROWS)).astype(np.intp))
    parts = [problem.points.rows(start, min(start + 4096, n)) for start in range(0, n, 4096)]
    return np.concatenate([to_host(problem.stein.block(part, some)).mean(axis=1) for part in parts])
