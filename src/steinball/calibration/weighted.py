"""Efron's weighted bootstrap, the paper's choice."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from steinball.arrays import check_resamples
from steinball.calibration.base import BootstrapNull, WeightStream
from steinball.gram.base import GramSummary, Weights
from steinball.supremum import Supremum

_INDICES_AT_ONCE = 2**20


@dataclass(frozen=True)
class WeightedBootstrap:
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
    >>> chunk = next(iter(WeightedBootstrap(3).weights(5, np.random.SeedSequence(0))))
    >>> chunk.shape, chunk.sum(axis=1).tolist()
    ((3, 5), [0, 0, 0])
    """

    n_resamples: int = 999

    def __post_init__(self) -> None:
        object.__setattr__(self, "n_resamples", check_resamples(self.n_resamples))

    def weights(self, n: int, seed: np.random.SeedSequence, start: int = 0) -> Weights:
        """Rows W − 1, each summing to 0."""
        return WeightStream(_centred_counts, n, seed, start, self.n_resamples)

    def null(self, summary: GramSummary, tau: Supremum, estimator: str) -> BootstrapNull:
        """The draws as a null distribution."""
        return BootstrapNull.from_summary(summary, estimator)


def _centred_counts(generator: np.random.Generator, rows: int, n: int) -> NDArray[np.integer]:
    """Multinomial counts minus 1, by counting random indices: much faster than ``Generator.multinomial``."""
    together = max(1, min(rows, _INDICES_AT_ONCE // n))
    parts = [_count_indices(generator, min(together, rows - r), n) for r in range(0, rows, together)]
    counts = parts[0] if len(parts) == 1 else np.concatenate(parts)
    return counts


def _count_indices(generator: np.random.Generator, rows: int, n: int) -> NDArray[np.integer]:
    indices = generator.integers(0, n, size=(rows, n), dtype=np.int64)
    indices += n * np.arange(rows)[:, None]
    counts = np.bincount(indices.ravel(), minlength=rows * n).reshape(rows, n)
    counts -= 1
    return counts.astype(np.int8 if counts.max() <= 127 else np.int32)
