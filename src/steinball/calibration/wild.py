"""The wild bootstrap."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from steinball.arrays import check_resamples
from steinball.calibration.base import BootstrapNull
from steinball.calibration.markov import Length, MarkovCalibration
from steinball.checks.chains import Chains
from steinball.features import Supremum
from steinball.gram.base import GramSummary
from steinball.gram.request import Request
from steinball.gram.weights import WeightStream


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
        :math:`L = \tau (n/\tau)^{1/3}` with the autocorrelation time τ of the Stein features, refused where n/τ < 20.
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
    label: ClassVar[str] = "wild bootstrap"

    def __post_init__(self) -> None:
        object.__setattr__(self, "n_resamples", check_resamples(self.n_resamples))
        self._check_dependence()

    def request(self, n: int, seed: np.random.SeedSequence, start: int = 0) -> Request:
        """Rows of signs."""
        if self.dependence is None:
            return Request(WeightStream(_signs, n, seed, start, self.n_resamples))
        return self._markov_request(n, seed, start)

    def null(self, summary: GramSummary, tau: Supremum, estimator: str) -> BootstrapNull:
        """The draws as a null distribution."""
        return BootstrapNull.from_summary(summary, estimator)


def _signs(generator: np.random.Generator, rows: int, n: int) -> NDArray[np.integer]:
    bits = generator.integers(0, 2, size=(rows, n), dtype=np.int8)
    return np.asarray(2 * bits - 1, dtype=np.int8)
