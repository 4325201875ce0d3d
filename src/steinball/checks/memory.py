"""How long rows remember: whether a slow part lies below what the autocorrelation shows, and how slow it is."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import scipy

from steinball.arrays import Floats
from steinball.cautions import DependentRowsWarning
from steinball.checks.dependence import Chains, blocks_with, chain_starts, landmarks
from steinball.problem import Problem
from steinball.remarks import Remark

LONGEST = 0.14
"""The largest share of the rows over which signs stay alike where memory is slow.

All signs of a draw are then equal with probability exp(−1/.28) = .03, and no p-value is below that; with .17 none would
be below .05, and nothing rejected."""

LEAST_EFFECTIVE = 20
"""The least n/τ at which a length of signs is taken from the data, here and in ``mcmc_test``: there the level was kept
in simulations. A larger bound would do worse: it keeps those samples whose τ is underestimated."""

_SUSPECTED, _CERTAIN, _SAID = 1.0, 3.0, 4.0  # standard errors at which signs are lengthened, rows refused, users told
_NEARLY_EQUAL, _CLEARLY = 1.0, 3.0  # log likelihood by which noise and an autoregression must exceed long memory
_LEAST_ROWS, _LEAST_CHAIN = 200, 16
_LANDMARKS, _COORDINATES, _TRACE, _BATCHES, _BINS = 256, 8, 0.95, 16, 400
_CORRELATIONS = np.array([0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.93, 0.95, 0.97, 0.98, 0.99, 0.995])
_EXPONENTS = np.array([0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.49])
_SHARES = np.array([0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0])


@dataclass(frozen=True)
class Memory:
    """What the waves of n rows say of their memory.

    Attributes
    ----------
    n : int
        Rows.
    excess : float
        How much slow waves exceed those of an autoregression of order one, in standard errors.
    lead : float
        Log likelihood of an autoregression of order one below noise, less that of a fractional process below noise.
    time : float
        The autocorrelation time of that autoregression alone.
    effective : float
        How many independent rows the sum of both is worth.

    Examples
    --------
    >>> Memory(1000, 0.3, 2.0, 9.0, 200.0).length, Memory(1000, 3.5, 0.2, 9.0, 200.0).long
    (1.0, True)
    """

    n: int
    excess: float
    lead: float
    time: float
    effective: float

    @property
    def long(self) -> bool:
        """Whether no length of signs keeps the level: the memory grows with the window, or outlasts the rows."""
        outlasts = self.has_time and self.effective < LEAST_EFFECTIVE
        return self.excess > _CERTAIN and (self.lead < _NEARLY_EQUAL or outlasts)

    @property
    def has_time(self) -> bool:
        """Whether the slow part is an autoregression, clearly, rather than one whose time grows with n."""
        return self.lead > _CLEARLY

    @property
    def undecided(self) -> bool:
        """Whether there is a slow part, and it is not clear that it has a time."""
        return self.excess > _CERTAIN and not self.has_time

    @property
    def length(self) -> float:
        """How long signs must stay alike for the slow part: t (n/t)^(1/3) with its own time t, .14 n at most."""
        if not self.excess > _SUSPECTED:
            return 1.0
        known = self.has_time and self.time < self.n
        return min(LONGEST * self.n, self.time * (self.n / self.time) ** (1.0 / 3.0) if known else math.inf)


def slow_memory(problem: Problem, chains: Chains) -> Iterator[Remark]:
    """A remark where the rows have a slow part, for which signs stay alike longer than the autocorrelation asks."""
    memory = find_memory(problem, chains)
    if memory.excess > _SAID:
        yield Remark(
            DependentRowsWarning,
            f"the rows have waves that are slower than an autoregression explains ({memory.excess:.2g} standard "
            "errors): a slow part below noise, a trend, or several time scales. Random signs therefore stay alike for "
            f"at least {memory.length:.3g} of the {memory.n} rows, and a wrong model is found less often.",
            "More rows help. Give `dependence` a number of rows that you can defend, or keep rows far apart "
            "(`sb.thin`).",
        )


def find_memory(problem: Problem, chains: Chains) -> Memory:
    r"""The memory of the Stein features along the rows, in the coordinate whose means over n/16 rows vary most

    .. math:: z = \frac{\sum_j a_j I_j / \bar I}{\sqrt{\sum_j a_j^2}}, \qquad
       a_j \propto -\log(2 \sin(\lambda_j / 2)) - \text{its regression on } \partial_\rho \log f_\rho(\lambda_j),

    with I the periodogram over the spectral density :math:`f_\rho` of an autoregression of order one: the score test of
    that against fractional memory (Robinson 1994). Then two kinds of slow part below white noise are compared by
    Whittle's likelihood: an autoregression, which has a time, and a fractional process, whose time grows with n.

    Parameters
    ----------
    problem : Problem
        Its rows in their order; fewer than 200 say nothing.
    chains : int or tuple of int
        Chains that stand one behind the other: their periodograms are put together.

    Notes
    -----
    Simulated, not proved: ``docs/theory/chains.md`` has the rates. Coordinates are those of the leading eigenvectors of
    the Gram that carry .95 of its trace, eight at most; the null distribution is a sum over them, weighted by what the
    means over many rows vary.

    Examples
    --------
    >>> import steinball as sb
    >>> from steinball.problem import pose
    >>> x = np.random.default_rng(0).normal(size=1000)
    >>> slow = np.cumsum(np.random.default_rng(1).normal(size=1000)) / 30.0
    >>> [find_memory(pose(v, sb.models.Gaussian(), sb.InverseMultiquadric(1.0)), 1).long for v in (x, x + slow)]
    [False, True]
    """
    return problem.once(("memory", chains), lambda: _found_in(problem, chains))


def _found_in(problem: Problem, chains: Chains) -> Memory:
    n = len(problem)
    parts = [] if n < _LEAST_ROWS else np.split(_slowest(problem), chain_starts(n, chains)[1:])
    parts = [part - part.mean() for part in parts if len(part) >= _LEAST_CHAIN]
    if not parts or not sum(float(part @ part) for part in parts) > 0.0:
        return Memory(n, 0.0, math.inf, 1.0, float(n))
    frequencies, waves = _periodogram(parts)
    return Memory(n, _excess(frequencies, waves), *_slow_part(*_binned(frequencies, waves), n))


@np.errstate(over="ignore", invalid="ignore")
def _slowest(problem: Problem) -> Floats:
    """The coordinate of the Stein features (n,) whose means over a sixteenth of the rows vary most."""
    n, host = len(problem), problem.take(np.arange(len(problem)), host=True)
    some = landmarks(host, _LANDMARKS)
    block = host.stein.block(some, some)
    mean = block.mean(axis=0)
    values, vectors = np.linalg.eigh(block - mean - mean[:, None] + mean.mean())
    carried = np.cumsum(values[::-1]) / values.sum()
    leading = vectors[:, ::-1][:, : min(_COORDINATES, int(np.searchsorted(carried, _TRACE)) + 1)]
    rows = np.concatenate([block @ leading for block in blocks_with(host, some)])
    size = n // _BATCHES
    means = rows[: size * _BATCHES].reshape(_BATCHES, size, -1).mean(axis=1)
    return np.asarray(rows[:, int(np.argmax(means.var(axis=0)))])


def _periodogram(parts: list[Floats]) -> tuple[Floats, Floats]:
    """Frequencies in (0, π) and the squared waves there, of all chains together, in the order of frequencies."""
    found = [np.abs(np.fft.rfft(part)[1 : (len(part) + 1) // 2]) ** 2 / len(part) for part in parts]
    places = [2.0 * np.pi * np.arange(1, len(w) + 1) / len(part) for part, w in zip(parts, found, strict=True)]
    frequencies, waves = np.concatenate(places), np.concatenate(found)
    order = np.argsort(frequencies, kind="stable")
    return frequencies[order], waves[order]


def _excess(frequencies: Floats, waves: Floats) -> float:
    """The score test of an autoregression of order one against fractional memory, in standard errors."""
    cosine = np.cos(frequencies)
    rho = float(waves @ cosine / waves.sum())
    gain = 1.0 + rho**2 - 2.0 * rho * cosine
    rest, change = waves * gain, (cosine - rho) / gain
    slow = -np.log(2.0 * np.sin(frequencies / 2.0))
    change, slow = change - change.mean(), slow - slow.mean()
    slow = slow - change * float(slow @ change) / float(change @ change)
    return float(slow @ rest / rest.mean() / np.sqrt(slow @ slow))


def _binned(frequencies: Floats, waves: Floats) -> tuple[Floats, Floats, Floats]:
    """Means over bins that are one frequency wide below and wider above, and how many frequencies each has."""
    m = len(waves)
    starts = np.unique(np.geomspace(1, m + 1, _BINS).astype(np.intp)[:-1]) - 1
    counts = np.diff(np.append(starts, m)).astype(np.float64)
    return np.add.reduceat(frequencies, starts) / counts, np.add.reduceat(waves, starts) / counts, counts


def _slow_part(frequencies: Floats, waves: Floats, counts: Floats, n: int) -> tuple[float, float, float]:
    """Lead, time and effective rows of :class:`Memory`, by Whittle's likelihood on a grid of parameters."""
    rho, d = _CORRELATIONS[:, None], _EXPONENTS[:, None]
    autoregression = (1.0 - rho**2) / (1.0 + rho**2 - 2.0 * rho * np.cos(frequencies))
    unit = np.exp(2.0 * scipy.special.gammaln(1.0 - d) - scipy.special.gammaln(1.0 - 2.0 * d))
    fractional = unit * (2.0 * np.sin(frequencies / 2.0)) ** (-2.0 * d)
    short, long = (_whittle(density, waves, counts) for density in (autoregression, fractional))
    share, slow = np.unravel_index(np.argmax(short), short.shape)
    time = float((1.0 + _CORRELATIONS[slow]) / (1.0 - _CORRELATIONS[slow]))
    return float(short.max() - long.max()), time, n / (1.0 + float(_SHARES[share]) * (time - 1.0))


def _whittle(density: Floats, waves: Floats, counts: Floats) -> Floats:
    """The log likelihoods (share, parameter) of a spectral ``density`` (parameter, bin) below white noise."""
    shares, m = _SHARES[:, None, None], counts.sum()
    whole = shares * density + (1.0 - shares)
    return np.asarray(-m * np.log((waves / whole) @ counts / m) - np.log(whole) @ counts)
