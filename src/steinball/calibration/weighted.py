"""Bootstraps: Efron's multinomial weights, the paper's choice, and random signs, for independent and dependent rows."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import ClassVar, Self

import numpy as np
import scipy
from numpy.typing import NDArray

from steinball.arrays import as_number
from steinball.calibration.base import Resampling
from steinball.checks.dependence import Chains, as_chains, autocorrelation_time, chain_starts
from steinball.checks.memory import LEAST_EFFECTIVE, find_memory
from steinball.gram.request import Request
from steinball.gram.weights import WeightStream
from steinball.problem import Problem

_POISSON_FROM = 2**13
_CELLS_AT_ONCE = 2**20
_MARGIN = 6.0  # standard deviations that the Poisson sums are kept below n


@dataclass(frozen=True)
class WeightedBootstrap(Resampling):
    r"""Efron's (multinomial) bootstrap of a degenerate statistic (paper §2.2, eq. 4)

    .. math:: D_W^2 = \frac{1}{n^2} \sum_{i,j} (W_i - 1)(W_j - 1) u(x_i, x_j), \qquad
       W \sim \mathrm{Multinomial}(n; 1/n, \dots, 1/n).

    Parameters
    ----------
    n_resamples : int
        Number of draws B. The smallest p-value is 1 / (B + 1).

    Notes
    -----
    With it the test has its level as n → ∞, for each data distribution in the KSD ball (paper, Theorem 4: pointwise,
    for a kernel fixed in advance and independent observations).

    Examples
    --------
    >>> chunk = next(iter(WeightedBootstrap(3).request(5, np.random.SeedSequence(0)).weights))
    >>> chunk.shape, chunk.sum(axis=1).tolist()
    ((3, 5), [0, 0, 0])
    """

    n_resamples: int = 999
    label = "weighted bootstrap"

    def request(self, n: int, seed: np.random.SeedSequence, start: int = 0) -> Request:
        """Rows W − 1, each summing to 0."""
        return Request(WeightStream(centered_counts, n, seed, start, self.n_resamples))


def centered_counts(generator: np.random.Generator, rows: int, n: int) -> NDArray[np.integer]:
    """Multinomial counts minus 1."""
    return _counts_of_indices(generator, rows, n) if n < _POISSON_FROM else _thinned_counts(generator, rows, n)


def _counts_of_indices(generator: np.random.Generator, rows: int, n: int) -> NDArray[np.integer]:
    """By counting random indices."""
    indices = generator.integers(0, n, size=rows * n)
    indices.reshape(rows, n)[:] += n * np.arange(rows)[:, None]
    counts = np.bincount(indices, minlength=rows * n).reshape(rows, n)
    narrow = n <= 128 or counts.max() <= 128
    return np.subtract(counts, 1, dtype=np.int8 if narrow else np.int32, casting="unsafe")


def _thinned_counts(generator: np.random.Generator, rows: int, n: int) -> NDArray[np.integer]:
    """By Poisson counts, a few rows at a time.

    Independent Poisson counts are multinomial given their sum. So are they with n − sum further points thrown in at
    random, and then there are n. A mean a little below 1 keeps the sum below n (rows where it is not are drawn again),
    and leaves few points to throw: several times faster than counting n random indices, and free of Python's lock.
    """
    counts = np.empty((rows, n), dtype=np.int8)
    together = max(1, min(rows, _CELLS_AT_ONCE // n))
    for start in range(0, rows, together):
        part = counts[start : start + together]
        missing = _poisson_rows(generator, part)
        cells = generator.integers(0, n, size=int(missing.sum()))
        cells += np.repeat(n * np.arange(len(part)), missing)
        np.add.at(part.reshape(-1), cells, np.int8(1))
    counts -= 1
    return counts


def _poisson_rows(generator: np.random.Generator, counts: NDArray[np.int8]) -> NDArray[np.int64]:
    """Fill ``counts`` with Poisson counts whose rows sum to at most n, and say how many are missing to n."""
    n = counts.shape[1]
    mean = 1.0 - _MARGIN / math.sqrt(n)
    counts[:] = _poisson(generator, counts.shape, mean)
    missing: NDArray[np.int64] = n - counts.sum(axis=1, dtype=np.int64)
    for row in np.flatnonzero(missing < 0):
        while missing[row] < 0:
            counts[row] = _poisson(generator, (1, n), mean)[0]
            missing[row] = n - counts[row].sum(dtype=np.int64)
    return missing


def _poisson(generator: np.random.Generator, shape: tuple[int, ...], mean: float) -> NDArray[np.int8]:
    """Poisson counts by inversion: 16 random bits look the count up, and the rare cells that straddle a step ask for
    52 more."""
    steps, table = _inversion(mean)
    size = math.prod(shape)
    bits = generator.integers(0, 2**64, size=-(-size // 4), dtype=np.uint64).view(np.uint16)[:size]
    counts = table.take(bits)  # twice as fast as table[bits]
    unclear = np.flatnonzero(counts < 0)
    exact = (bits[unclear] + generator.random(unclear.size)) / 2**16
    counts[unclear] = np.searchsorted(steps, exact, side="right")
    return counts.reshape(shape)


@lru_cache(maxsize=8)
def _inversion(mean: float) -> tuple[NDArray[np.float64], NDArray[np.int8]]:
    """The steps of the Poisson distribution function, and the count for each 16-bit cell (−1 where it holds a step)."""
    steps = scipy.special.pdtr(np.arange(30.0), mean)
    low, high = (np.searchsorted(steps, np.arange(65536.0) / 2**16 + shift, side="right") for shift in (0.0, 2.0**-16))
    return steps, np.where(low == high, low, -1).astype(np.int8)


Length = float | str | None
"""How long signs stay alike: a number of rows, ``"auto"``, or ``None`` for independent signs."""


def length_of(problem: Problem, chains: Chains, stretch: float = 1.0, centered: bool = False) -> float:
    """``stretch`` times τ (n/τ)^(1/3), τ the autocorrelation time of the Stein features, or longer for a slow part.

    Refused where n/τ < 20, and where the memory of the rows grows with the window. Long signs that are centered do not
    keep the level of such rows, so that ``centered`` ones are refused wherever it may grow.
    """
    n = len(problem)
    time = autocorrelation_time(problem, chains)
    if n / time < LEAST_EFFECTIVE:
        raise ValueError(
            f'`dependence="auto"` needs at least {LEAST_EFFECTIVE} times the autocorrelation time of the rows, which '
            f"is about {time:.3g}; got n = {n}. Run the chain longer, or give `dependence` a number of rows that you "
            "can defend."
        )
    memory = find_memory(problem, chains)
    if memory.long or (centered and memory.undecided):
        raise ValueError(
            '`dependence="auto"` needs rows that forget: these have waves that are slower than an autoregression '
            f"explains ({memory.excess:.2g} standard errors), as long memory and trends have, so that no length that "
            f"is found in the n = {n} rows keeps the level. Give `dependence` a number of rows that you can defend, "
            "run the chain longer, or keep rows far apart (`sb.thin(x, step=...)`)."
        )
    slow = memory.length if memory.has_time or not centered else 1.0
    return float(min(max(stretch * time * (n / time) ** (1.0 / 3.0), slow), 0.25 * n))


def check_length(length: Length, n: int) -> float:
    """A length that is found, and short enough for n rows."""
    if not isinstance(length, float):
        raise ValueError(f"`dependence={length!r}` is not yet found: `for_rows(problem)` comes before `request`.")
    if 2.0 * length >= n:
        raise ValueError(f"`dependence={length:g}` must be below half of the n = {n} rows.")
    return length


@dataclass(frozen=True)
class MarkovSigns:
    r"""Rows of signs that flip with probability :math:`a = 1/(2L)` from one point to the next

    .. math:: E[w_i w_{i+k}] = (1 - 2a)^k = (1 - 1/L)^k.

    Parameters
    ----------
    length : float
        L ≥ 1; 1 gives independent signs.
    chains : int or tuple of int
        Chains of one length, or their lengths: each starts with a fair sign of its own.

    Examples
    --------
    >>> signs = MarkovSigns(10.0)(np.random.default_rng(0), 2, 500)
    >>> signs.shape, bool(np.mean(signs[:, 1:] == signs[:, :-1]) > 0.9)
    ((2, 500), True)
    """

    length: Length
    chains: Chains = 1

    def __call__(self, generator: np.random.Generator, rows: int, n: int) -> NDArray[np.integer]:
        """``rows`` rows of n signs."""
        chance = np.full(n, 0.5 / check_length(self.length, n))
        chance[chain_starts(n, self.chains)] = 0.5
        flips = generator.random((rows, n)) < chance
        return np.int8(1) - np.int8(2) * np.bitwise_xor.accumulate(flips, axis=1)


class MarkovCalibration(Resampling):
    """A bootstrap whose signs may be those of a chain: what it says of its rows, and how it settles their length.

    Attributes
    ----------
    n_resamples : int
        Draws.
    dependence : float, "auto" or None
        How long signs stay alike.
    chains : int or tuple of int
        Chains of one length, or their lengths.
    """

    dependence: Length
    chains: Chains

    stretch: ClassVar[float] = 1.0
    centers: ClassVar[bool] = False

    def for_rows(self, problem: Problem) -> Self:
        """With a number in place of ``dependence="auto"``."""
        if self.dependence != "auto":
            return self
        length = length_of(problem, self.chains, self.stretch, self.centers)
        return replace(self, dependence=length)  # type: ignore[type-var]

    def __post_init__(self) -> None:
        super().__post_init__()
        dependence, chains = self.dependence, as_chains(self.chains)
        if dependence is None and chains != 1:
            raise ValueError(
                f'`chains={chains!r}` is for rows that depend on each other. Give `dependence="auto"` with it.'
            )
        if isinstance(dependence, str) and dependence != "auto":
            raise ValueError(f'`dependence` must be None, "auto" or a number of rows, got {dependence!r}.')
        if not (dependence is None or isinstance(dependence, str)):
            dependence = as_number(dependence, "dependence", low=1.0)
        vars(self).update(dependence=dependence, chains=chains)
        # What a class declares, an instance may take back.
        searched = chains if dependence == "auto" else None
        several = searched not in (None, 1)
        vars(self).update(independent_rows=dependence is None, searched_chains=searched, needs_every_row=several)

    def _markov_request(self, n: int, seed: np.random.SeedSequence, start: int) -> Request:
        """Draws from ``start`` on of the signs of a chain, after a check of chains and length."""
        signs = MarkovSigns(check_length(self.dependence, n), self.chains)
        chain_starts(n, signs.chains)
        return Request(WeightStream(signs, n, seed, start, self.n_resamples), dependent_weights=True)


@dataclass(frozen=True)
class WildBootstrap(MarkovCalibration):
    r"""The wild bootstrap with Rademacher signs (paper App. B; Leucht and Neumann 2013)

    .. math:: D_W^2 = \frac{1}{n^2} \sum_{i,j} W_i W_j u(x_i, x_j), \qquad \Pr(W_i = \pm 1) = 1/2.

    Parameters
    ----------
    n_resamples : int
        Number of draws B.
    dependence : None, "auto" or float
        For rows that depend on each other, such as those of a Markov chain: how many rows L signs stay alike, in the
        mean. The signs are then a Markov chain that flips with probability 1/(2L). ``"auto"`` is
        :math:`L = \tau (n/\tau)^{1/3}` with the autocorrelation time τ of the Stein features, refused where n/τ < 20,
        and where their memory grows with the window (long memory); longer, up to .14 n, for a slow part below noise.
    chains : int or sequence of int
        With ``dependence``: how many chains of one length stand one behind the other, or the length of each. Signs
        start anew with each.

    Notes
    -----
    It imitates the null at D = 0, and its draws contain the misfit itself, so that away from the null it is a little
    more conservative than the weighted bootstrap, whose weights sum to zero.

    With ``dependence`` the level holds at θ = 0 as n → ∞ for stationary, weakly dependent rows and a kernel fixed in
    advance, if L → ∞ and L/n → 0 (Leucht and Neumann 2013 for degenerate V-statistics; Chwialkowski, Sejdinovic and
    Gretton 2014; for the KSD Chwialkowski, Strathmann and Gretton 2016). The theorem has L as a given number: that
    ``"auto"`` takes it from the rows is simulated only, and so is the level at a radius θ > 0 (``docs/chains.md``).

    Examples
    --------
    >>> chunk = next(iter(WildBootstrap(3).request(5, np.random.SeedSequence(0)).weights))
    >>> chunk.shape, sorted(set(np.abs(chunk).ravel().tolist()))
    ((3, 5), [1])
    """

    n_resamples: int = 999
    dependence: Length = None
    chains: Chains = 1
    label = "wild bootstrap"

    def request(self, n: int, seed: np.random.SeedSequence, start: int = 0) -> Request:
        """Rows of signs."""
        if self.dependence is None:
            return Request(WeightStream(_signs, n, seed, start, self.n_resamples))
        return self._markov_request(n, seed, start)


def _signs(generator: np.random.Generator, rows: int, n: int) -> NDArray[np.integer]:
    return np.asarray(2 * generator.integers(0, 2, size=(rows, n), dtype=np.int8) - 1, dtype=np.int8)
