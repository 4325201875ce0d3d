"""Efron's weighted bootstrap, the paper's choice."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import pdtr

from steinball.arrays import check_resamples
from steinball.calibration.base import BootstrapNull, Calibration
from steinball.gram.base import GramSummary
from steinball.gram.request import Request
from steinball.gram.weights import WeightStream
from steinball.tau.certificate import Supremum

_POISSON_FROM = 2**13
_CELLS_AT_ONCE = 2**20
_MARGIN = 6.0  # standard deviations that the Poisson sums are kept below n


@dataclass(frozen=True)
class WeightedBootstrap(Calibration):
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
    label: ClassVar[str] = "weighted bootstrap"

    def __post_init__(self) -> None:
        object.__setattr__(self, "n_resamples", check_resamples(self.n_resamples))

    def request(self, n: int, seed: np.random.SeedSequence, start: int = 0) -> Request:
        """Rows W − 1, each summing to 0."""
        return Request(WeightStream(centered_counts, n, seed, start, self.n_resamples))

    def null(self, summary: GramSummary, tau: Supremum, estimator: str) -> BootstrapNull:
        """The draws as a null distribution."""
        return BootstrapNull.from_summary(summary, estimator)


def centered_counts(generator: np.random.Generator, rows: int, n: int) -> NDArray[np.integer]:
    """Multinomial counts minus 1."""
    return _counts_of_indices(generator, rows, n) if n < _POISSON_FROM else _thinned_counts(generator, rows, n)


def _counts_of_indices(generator: np.random.Generator, rows: int, n: int) -> NDArray[np.integer]:
    """By counting random indices."""
    indices = generator.integers(0, n, size=(rows, n), dtype=np.int64)
    indices += n * np.arange(rows)[:, None]
    counts = np.bincount(indices.ravel(), minlength=rows * n).reshape(rows, n)
    counts -= 1
    return counts.astype(np.int8 if n <= 128 or counts.max() <= 127 else np.int32)


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
    steps = pdtr(np.arange(30.0), mean)
    low, high = (np.searchsorted(steps, np.arange(65536.0) / 2**16 + shift, side="right") for shift in (0.0, 2.0**-16))
    return steps, np.where(low == high, low, -1).astype(np.int8)
