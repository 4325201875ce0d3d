"""Whether rows near each other in a file are more alike than others, and rows of chains that are far enough apart."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from steinball.arrays import Array, Floats, as_samples, as_scores, check_resamples, chunks, like, take_rows, to_host
from steinball.cautions import DependentRowsWarning
from steinball.checks.rows import repeated_rows
from steinball.gram.base import GramSummary
from steinball.gram.workers import single_threaded_algebra
from steinball.kernels import InverseMultiquadric
from steinball.models.base import from_scores
from steinball.models.gaussian import Gaussian
from steinball.problem import Problem, pose
from steinball.remarks import Remark
from steinball.stein import SteinPoints
from steinball.tilts.scatter import median_and_scales

Chains = int | Sequence[int]
"""A number of chains of one length, or the length of each."""


def as_chains(chains: Any) -> Chains:
    """What a user passed: a number of chains, or their lengths in order.

    Examples
    --------
    >>> as_chains(4), as_chains([500, 300])
    (4, (500, 300))
    """
    chains = chains.tolist() if isinstance(chains, np.ndarray) else chains
    if isinstance(chains, Sequence) and not isinstance(chains, str) and len(chains):
        return tuple(check_resamples(length, "chains") for length in chains)
    return check_resamples(chains, "chains")


def chain_lengths(n: int, chains: Chains) -> tuple[int, ...]:
    """The length of each chain in n rows; refused where they do not add up to n.

    Examples
    --------
    >>> chain_lengths(600, 2)
    (300, 300)
    """
    lengths = (n // chains,) * chains if isinstance(chains, int) else tuple(chains)
    if sum(lengths) != n or min(lengths) < 1:
        rule = "divide the number of rows" if isinstance(chains, int) else "be lengths that add up to the rows"
        raise ValueError(f"`chains={chains!r}` must {rule}, n = {n}. Give the length of each chain, in their order.")
    return lengths


def chain_starts(n: int, chains: Chains) -> NDArray[np.intp]:
    """The first row of each chain."""
    return np.cumsum([0, *chain_lengths(n, chains)[:-1]])


LAGS = 16
"""Rows up to this far apart are compared; one lag alone misses chains that were interleaved."""

N_PERMUTATIONS = 399
RARE = 0.003
"""The p-value at which rows count as dependent: fewer than one of three hundred independent samples is called so."""

_ROWS = 512
_STRETCHES = 4
_ENTRIES = 2**14  # rows times columns that are looked at, but 128 rows at least: many columns show dependence sooner
_SUSPICIOUS = 3.0  # standard errors below which no permutation is worth its time
_WORTH_A_LOOK = 2.5  # the same for the first look, whose standard errors are rougher
_LEAST_ROWS = 20
_BAND = 64  # rows of one block beside the diagonal
_ORDERS = 32  # random orders that are looked at together, at most
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


def dependent_rows(problem: Problem, summary: GramSummary) -> Iterator[Remark]:
    """A remark where rows near each other are more alike than others; ``summary`` has the row means of all pairs.

    A first look at 16 n pairs costs a small share of a test; the random orders are asked only where it is suspicious.
    """
    yield from repeated_rows(problem.rows.original)
    if len(problem) >= _LEAST_ROWS:
        yield from _remark(_dependence_where_suspected(problem, summary))


def dependent_values(values: Floats) -> Iterator[Remark]:
    """A remark where near rows are more alike than others, for rows (n, d) in any units: the normal scores of their
    ranks are compared under a standard normal model."""
    n, d = values.shape
    if n >= _LEAST_ROWS:
        scores = np.stack([scipy.special.ndtri(_middle_ranks(column) / n) for column in values.T], axis=1)
        yield from _remark(find_dependence(pose(scores, Gaussian(np.zeros(d)), InverseMultiquadric(math.sqrt(d)))))


def _middle_ranks(column: Floats) -> Floats:
    """The ranks of the values less one half; equal values have the mean of their ranks."""
    ordered = np.sort(column)
    return (np.searchsorted(ordered, column, "left") + np.searchsorted(ordered, column, "right")) / 2.0


def _remark(found: Dependence | None) -> Iterator[Remark]:
    if found is not None and found.dependent:
        yield Remark(
            DependentRowsWarning,
            f"rows that stand near each other are more alike than others (most at distance {found.lag}; p-value "
            f"{found.pvalue:.2g} over random orders of the rows): a Markov chain, a time series, a sorted file, or "
            "outliers that are stored together. This test takes the rows as independent, and rejects too often where "
            "they are not.",
            "Where the order means nothing, shuffle the rows. Otherwise keep rows far apart (`sb.thin`), or use "
            '`WildBootstrap(dependence="auto")`, `BoundaryBootstrap(scheme="wild", dependence="auto")`.',
        )


def _dependence_where_suspected(problem: Problem, summary: GramSummary) -> Dependence | None:
    """What random orders say where a first look is suspicious; features whose squares overflow say nothing."""
    with np.errstate(over="ignore", invalid="ignore"):
        near = _Neighbors.of(problem)
        whole = len(summary) == len(problem)  # isolated points count in the summary, and have no Stein features
        return None if whole and not near.first_look(summary).max() >= _WORTH_A_LOOK else _calibrated(near)


def find_dependence(problem: Problem) -> Dependence:
    r"""Compare the Stein features of rows at lags 1 to 16 with those of all pairs of rows

    .. math:: T_k = \operatorname{mean}_i g(x_i, x_{i+k}), \qquad g = \text{the double-centered Stein kernel},

    in standard errors of a mean of pairs, each by itself and the first 2, 4, 8 and 16 together; the largest of these is
    calibrated by random orders of the rows.

    Parameters
    ----------
    problem : Problem
        Its rows in their order. Of more than 512 rows, four stretches of 128 are looked at; of more than 64 columns,
        fewer rows.

    Examples
    --------
    >>> import steinball as sb
    >>> from steinball.problem import pose
    >>> x = np.random.default_rng(0).normal(size=300)
    >>> problems = [pose(rows, sb.models.Gaussian(), sb.InverseMultiquadric(1.0)) for rows in (x, np.sort(x))]
    >>> [find_dependence(problem).dependent for problem in problems]
    [False, True]
    """
    return _calibrated(_Neighbors.of(problem))


@dataclass(frozen=True, eq=False)
class _Neighbors:
    """The rows that are looked at, on the host, in stretches of one length."""

    problem: Problem
    rows: NDArray[np.intp]
    length: int

    @classmethod
    def of(cls, problem: Problem) -> _Neighbors:
        n, d = (int(size) for size in problem.samples.shape)
        most = min(_ROWS, max(_ROWS // _STRETCHES, _ENTRIES // d))
        length = n if n <= most else most // _STRETCHES
        starts = np.array([0]) if n <= most else np.linspace(0, n - length, _STRETCHES).astype(np.intp)
        rows = (starts[:, None] + np.arange(length)).ravel()
        ready = length == n and problem.host_samples is problem.samples  # what the pass has prepared serves
        return cls(problem if ready else problem.take(rows, host=True), rows, length)

    @cached_property
    def _lags(self) -> NDArray[np.intp]:
        return np.arange(1, min(LAGS, self.length - 1) + 1)

    @cached_property
    def _counts(self) -> NDArray[np.intp]:
        """Pairs of each lag."""
        return np.asarray(len(self.rows) // self.length * (self.length - self._lags))

    def first_look(self, summary: GramSummary) -> Floats:
        """The excesses, with centers from all rows and the variance from the same few pairs."""
        means, level, counts = to_host(summary.row_means)[self.rows], summary.mean, self._counts
        mean = (level - float(to_host(summary.diagonal).mean())) / (len(summary) - 1)
        second = np.arange(len(self.rows))[:, None] + self._lags  # (m, lags)
        there = second % self.length >= self._lags  # in the same stretch
        second = np.minimum(second, len(self.rows) - 1)
        near = np.where(there, self._near(second) - means[:, None] - means[second] + level, 0.0)
        sums = near.sum(axis=0)
        variances = np.square(near - sums / counts).sum(axis=0, where=there) / counts
        return self._excesses(sums - mean * counts, float(variances.mean()))

    def _near(self, second: NDArray[np.intp]) -> Floats:
        """u of each row and those at ``second``, (m, lags), by blocks beside the diagonal of the Gram matrix."""
        points, found = self.problem.points, []
        for start in range(0, len(second), _BAND):
            stop = start + _BAND
            block = self.problem.stein.block(points.rows(start, stop), points.rows(start, stop + len(self._lags)))
            found.append(np.take_along_axis(block, second[start:stop] - start, axis=1))
        return np.concatenate(found)

    def _excesses(self, sums: Floats, variance: float) -> Floats:
        """Each lag, then the first 2, 4, 8 and 16 together, in standard errors; sums (…, lags)."""
        if not variance > 0.0:
            return np.zeros(sums.shape)
        single = sums / np.sqrt(variance * self._counts)
        together = _TOGETHER[len(self._lags) >= _TOGETHER]
        added = np.cumsum(single, axis=-1)[..., together - 1] / np.sqrt(together)
        return np.concatenate([single, added], axis=-1)

    @cached_property
    def _centered(self) -> Floats:
        """The double-centered Gram matrix, less the mean of its off-diagonal entries."""
        points = self.problem.points
        with single_threaded_algebra():  # threads that were woken for so little would be in the way of what follows
            block = self.problem.stein.block(points, points)
        means = block.mean(axis=0)
        block = block - means[:, None] - means[None, :] + means.mean()
        m = len(block)
        return np.asarray(block + np.trace(block) / (m * (m - 1)))  # all entries together add up to 0

    @cached_property
    def _variance(self) -> float:
        square, diagonal = np.square(self._centered), np.diag(self._centered)
        return float(square.sum() - np.square(diagonal).sum()) / (len(square) * (len(square) - 1))

    def excesses(self, orders: NDArray[np.intp]) -> Floats:
        """The excesses for the rows in other orders (k, m), one row for each order."""
        entries, sums = self._centered.ravel(), []
        columns = orders.reshape(len(orders), -1, self.length)
        rows = columns * len(self.rows)
        for lag, count in zip(self._lags, self._counts, strict=True):
            near = entries.take(rows[:, :, :-lag] + columns[:, :, lag:])
            sums.append(np.add.reduceat(near.ravel(), count * np.arange(len(orders))))
        return self._excesses(np.stack(sums, axis=1), self._variance)


def _calibrated(near: _Neighbors) -> Dependence:
    """The largest excess and its p-value among random orders, with an early end where that can no longer be small."""
    m, rng, reached = len(near.rows), np.random.default_rng(0), np.empty(0, dtype=bool)
    (found,) = near.excesses(np.arange(m)[None, :])
    lag, largest = int(np.argmax(found[: len(near._lags)])) + 1, float(found.max())
    if not largest >= _SUSPICIOUS:
        return Dependence(lag, largest, 1.0)
    while len(reached) < N_PERMUTATIONS:
        few = min(max(1, len(reached)), _ORDERS, N_PERMUTATIONS - len(reached))
        orders = np.stack([rng.permutation(m) for _ in range(few)])
        reached = np.append(reached, near.excesses(orders).max(axis=1) >= largest)
        counts = 1 + np.cumsum(reached)
        if (over := np.flatnonzero(counts > RARE * (1 + N_PERMUTATIONS))).size:
            return Dependence(lag, largest, float(counts[over[0]] / (2 + over[0])))
    return Dependence(lag, largest, float(counts[-1] / (1 + N_PERMUTATIONS)))


@np.errstate(over="ignore", invalid="ignore")
def autocorrelation_time(problem: Problem, chains: Chains = 1) -> float:
    r"""The integrated autocorrelation time of the Stein features along the rows

    .. math:: \tau = 1 + 2 \sum_{k=1}^{K} \frac{\operatorname{tr} \Gamma_k}{\operatorname{tr} \Gamma_0}, \qquad
       \operatorname{tr} \Gamma_k = \operatorname{mean}_i g(x_i, x_{i+k}),

    with g the double-centered Stein kernel and K the first lag beyond 5τ (Sokal's window) and 16; at least 1. Centering
    by the mean of the same rows takes about τ/n of tr Γ₀ from every term, which is given back.

    Parameters
    ----------
    problem : Problem
        Its rows in their order.
    chains : int or tuple of int
        Chains of one length that stand one behind the other, or their lengths; pairs of two chains are left out.

    Examples
    --------
    >>> import steinball as sb
    >>> from steinball.problem import pose
    >>> x = np.repeat(np.random.default_rng(0).normal(size=200), 5)
    >>> 3.0 < autocorrelation_time(pose(x, sb.models.Gaussian(), sb.InverseMultiquadric(1.0))) < 7.0
    True
    """
    n = len(problem)
    lengths, problem = chain_lengths(n, chains), problem.take(np.arange(n), host=True)
    points, blocks = problem.points, blocks_with(problem, landmarks(problem, _ROWS))
    means = np.concatenate([block.mean(axis=1) for block in blocks])  # the center of the features, to sampling error
    level = float(means.mean())
    variance = float(problem.diagonal.mean()) - level
    chain, total, time = np.repeat(np.arange(len(lengths)), lengths), 1.0, 1.0
    for lag in range(1, max(lengths) // 2 if variance > 0.0 else 0):
        same = chain[lag:] == chain[:-lag]
        near = problem.stein.pairs(points.rows(0, n - lag), points.rows(lag, n)) - means[:-lag] - means[lag:]
        total += 2.0 * (float(near[same].mean()) + level) / variance
        time = total / (1.0 - min(0.5, 2.0 * lag / n))
        if lag >= max(LAGS, _WINDOW * time):
            break
    return max(1.0, time)


def landmarks(problem: Problem, most: int) -> SteinPoints:
    """At most so many points, spread over all rows."""
    rows = np.linspace(0, len(problem) - 1, min(len(problem), most))
    return problem.points.take(rows.astype(np.intp))


def blocks_with(problem: Problem, some: SteinPoints) -> Iterator[Floats]:
    """u(xᵢ, yⱼ) for all rows i and the points y, a few rows at a time."""
    for part in chunks(len(problem), 1, 4096):
        yield problem.stein.block(problem.points.rows(part.start, part.stop), some)


REMAINING = 0.01
"""The correlation of neighboring rows that thinning leaves at most, where it decays geometrically."""


def thin(x: Any, scores: Any = None, *, chains: Any = 1, step: int | str = "auto") -> Any:
    r"""Every k-th row of each chain, far enough apart for a test that needs independent rows.

    Parameters
    ----------
    x : array
        Draws, shape (n, d), or (n,) for d = 1; several chains one behind the other.
    scores : array, optional
        The scores at ``x``, thinned alike. With them the autocorrelation time is that of the Stein features, without
        that of the features for a normal distribution of the location and spread of the columns.
    chains : int or sequence of int
        The number of chains of one length, or the length of each. Rows are picked in each by itself, from its first.
    step : int or "auto"
        k. ``"auto"`` keeps every row where they do not look dependent, and otherwise takes k from the autocorrelation
        time τ: correlations :math:`\rho^k` that add up to τ have :math:`\rho = (\tau - 1)/(\tau + 1)`, and k is the
        first lag at which they are .01 or less, about 2.3τ. In ten dimensions a test still sees .05.

    Returns
    -------
    array, or a pair of arrays
        The rows that are kept; with ``scores`` also their scores.

    Notes
    -----
    Kept: the distribution of the rows. Lost: information, since a mean over all rows varies less than one over every
    k-th, so that a test of thinned rows has less power than one of all rows that knows of the dependence
    (``WildBootstrap(dependence="auto")``). Not kept: what a chain has not seen. Thinning mends neither a chain that has
    not converged nor an autocorrelation time that was estimated from too short a chain.

    Examples
    --------
    >>> import steinball as sb
    >>> noise, x = np.random.default_rng(0).normal(size=4000), np.zeros(4000)
    >>> for i in range(1, 4000):
    ...     x[i] = 0.8 * x[i - 1] + 0.6 * noise[i]
    >>> kept = sb.thin(x)
    >>> 200 < len(kept) < 500, sb.ksd_test(kept, sb.models.Gaussian(), rng=0).rejected
    (True, False)
    """
    samples, chains = as_samples(x, "x"), as_chains(chains)
    n = int(samples.shape[0])
    starts = chain_starts(n, chains)
    known = None if scores is None else as_scores(scores, samples)
    k = _step(samples, known, chains) if step == "auto" else check_resamples(step, "step")
    rows = np.concatenate([chain[::k] for chain in np.split(np.arange(n), starts[1:])])
    kept = take_rows(samples, rows)
    return kept if known is None else (kept, take_rows(known, rows))


def _step(samples: Array, scores: Array | None, chains: Any) -> int:
    """Every how many rows are far enough apart; refused for a chain that stays at one point, which has neither a length
    scale nor an autocorrelation time."""
    x = to_host(samples)
    counts = np.unique(x, axis=0, return_counts=True)[1]
    if np.square(counts).sum() > 0.5 * len(x) ** 2:
        raise ValueError(
            f"`x` stays at one point for {counts.max()} of its {len(x)} rows, so that their autocorrelation time is "
            "not known. Run a chain that moves, or give `step` a number."
        )
    if scores is None:  # those of a normal distribution
        center, scale = median_and_scales(x, squared=False)
        scores = like((center - x) / scale / scale, samples)
    problem = pose(samples, from_scores(scores))
    if not find_dependence(problem).dependent:
        return 1
    time = autocorrelation_time(problem, chains)
    correlation = (time - 1.0) / (time + 1.0)
    return 1 if correlation <= REMAINING else math.ceil(math.log(REMAINING) / math.log(correlation))
