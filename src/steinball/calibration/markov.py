"""Signs for rows that depend on each other: a Markov chain of them, started anew in every chain of the data."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from steinball.arrays import as_number
from steinball.calibration.base import Calibration
from steinball.checks.chains import Chains, as_chains, chain_starts
from steinball.checks.dependence import autocorrelation_time
from steinball.gram.base import GramSummary
from steinball.gram.request import Request
from steinball.gram.weights import WeightStream
from steinball.problem import Problem

__all__ = ["LEAST_EFFECTIVE", "Length", "MarkovCalibration", "MarkovSigns", "as_length", "centered", "length_of"]

Length = float | str | None
"""How long signs stay alike: a number of rows, ``"auto"``, or ``None`` for independent signs."""

LEAST_EFFECTIVE = 20
"""The least n/τ at which a length of signs is taken from the data, here and in ``mcmc_test``: there the level was kept
in simulations. A larger bound would do worse: it keeps those samples whose τ is underestimated."""


def as_length(dependence: Length, chains: Chains) -> Length:
    """What a user passed as ``dependence``, checked with what ``chains`` goes with it."""
    if dependence is None:
        if chains != 1:
            raise ValueError(
                f'`chains={chains!r}` is for rows that depend on each other. Give `dependence="auto"` with it.'
            )
        return None
    if isinstance(dependence, str):
        if dependence != "auto":
            raise ValueError(f'`dependence` must be None, "auto" or a number of rows, got {dependence!r}.')
        return dependence
    return as_number(dependence, "dependence", low=1.0)


def length_of(problem: Problem, chains: Chains, stretch: float = 1.0) -> float:
    """``stretch`` times τ (n/τ)^(1/3), τ the autocorrelation time of the Stein features; refused where n/τ < 20."""
    n = len(problem)
    time = autocorrelation_time(problem, chains)
    if n / time < LEAST_EFFECTIVE:
        raise ValueError(
            f'`dependence="auto"` needs at least {LEAST_EFFECTIVE} times the autocorrelation time of the rows, which '
            f"is about {time:.3g}; got n = {n}. Run the chain longer, or give `dependence` a number of rows that you "
            "can defend."
        )
    return float(min(stretch * time * (n / time) ** (1.0 / 3.0), 0.25 * n))


def check_length(length: Length, n: int) -> float:
    """A length that is settled, and short enough for n rows."""
    if not isinstance(length, float):
        raise ValueError(f"`dependence={length!r}` is not settled: `settled(problem)` comes before `request`.")
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
        signs = np.bitwise_xor.accumulate(flips, axis=1).astype(np.int8)
        signs *= -2
        signs += 1
        return signs


class MarkovCalibration(Calibration):
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

    n_resamples: int
    dependence: Length
    chains: Chains

    stretch: ClassVar[float] = 1.0

    @property
    def independent_rows(self) -> bool:
        """Not where its signs are for dependent ones."""
        return self.dependence is None

    @property
    def needs_every_row(self) -> bool:
        """Where it takes the autocorrelation time from several chains."""
        return self.dependence == "auto" and self.chains != 1

    def settled(self, problem: Problem) -> Self:
        """With a number in place of ``dependence="auto"``."""
        if self.dependence != "auto":
            return self
        return replace(self, dependence=length_of(problem, self.chains, self.stretch))  # type: ignore[type-var]

    def _check_dependence(self) -> None:
        """What a user passed for ``chains`` and ``dependence``, in their place."""
        object.__setattr__(self, "chains", as_chains(self.chains))
        object.__setattr__(self, "dependence", as_length(self.dependence, self.chains))

    def _markov_request(self, n: int, seed: np.random.SeedSequence, start: int) -> Request:
        """Draws from ``start`` on of the signs of a chain, after a check of chains and length."""
        signs = MarkovSigns(check_length(self.dependence, n), self.chains)
        chain_starts(n, signs.chains)
        return Request(WeightStream(signs, n, seed, start, self.n_resamples), dependent_weights=True)


def centered(summary: GramSummary, length: Length) -> GramSummary:
    r"""The answers for :math:`(w - \bar w 1) / \sqrt{1 - 2L/n}` in place of the signs w.

    Signs that stay alike have a mean of variance 2L/n, which centering takes away and the divisor gives back.
    """
    n, mean = len(summary), summary.mean
    means = np.concatenate([chunk.mean(axis=1) for chunk in summary.weights])
    share = 1.0 - 2.0 * check_length(length, n) / n
    forms = summary.quadratic_forms - 2.0 * means * summary.linear_forms + means**2 * mean
    linear = summary.linear_forms - means * mean
    return replace(summary, quadratic_forms=forms / share, linear_forms=linear / np.sqrt(share))
