"""The wild bootstrap."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from steinball.arrays import check_resamples
from steinball.calibration.base import BootstrapNull, Calibration
from steinball.features import Supremum
from steinball.gram.base import GramSummary
from steinball.gram.request import Request
from steinball.gram.weights import WeightStream


@dataclass(frozen=True)
class WildBootstrap(Calibration):
    r"""The wild bootstrap with Rademacher signs (paper App. B; Leucht and Neumann 2013)

    .. math:: D_W^2 = \frac{1}{n^2} \sum_{i,j} W_i W_j u(x_i, x_j), \qquad \Pr(W_i = \pm 1) = 1/2.

    Parameters
    ----------
    n_resamples : int
        Number of draws B.

    Notes
    -----
    For independent observations. It imitates the null at D = 0, and its draws contain the misfit itself, so that away
    from the null it is a little more conservative than the weighted bootstrap, whose weights sum to zero.

    Examples
    --------
    >>> chunk = next(iter(WildBootstrap(3).request(5, np.random.SeedSequence(0)).weights))
    >>> chunk.shape, sorted(set(np.abs(chunk).ravel().tolist()))
    ((3, 5), [1])
    """

    n_resamples: int = 999
    label: ClassVar[str] = "wild bootstrap"

    def __post_init__(self) -> None:
        object.__setattr__(self, "n_resamples", check_resamples(self.n_resamples))

    def request(self, n: int, seed: np.random.SeedSequence, start: int = 0) -> Request:
        """Rows of signs."""
        return Request(WeightStream(_signs, n, seed, start, self.n_resamples))

    def null(self, summary: GramSummary, tau: Supremum, estimator: str) -> BootstrapNull:
        """The draws as a null distribution."""
        return BootstrapNull.from_summary(summary, estimator)


def _signs(generator: np.random.Generator, rows: int, n: int) -> NDArray[np.integer]:
    bits = generator.integers(0, 2, size=(rows, n), dtype=np.int8)
    return np.asarray(2 * bits - 1, dtype=np.int8)
