"""Rows of chains that are far enough apart to be tested as if they were independent."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from steinball.arrays import Array, Floats, as_samples, as_scores, check_resamples, like, take_rows, to_host
from steinball.checks.dependence import as_chains, autocorrelation_time, chain_lengths, chain_starts, find_dependence
from steinball.models.base import from_scores
from steinball.problem import pose
from steinball.tilts.scatter import median_and_scales

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
    lengths = chain_lengths(n, chains)
    known = None if scores is None else as_scores(scores, samples)
    k = _step(samples, known, chains) if step == "auto" else check_resamples(step, "step")
    pairs = zip(chain_starts(n, chains), lengths, strict=True)
    rows = np.concatenate([start + np.arange(0, length, k) for start, length in pairs])
    kept = take_rows(samples, rows)
    return kept if known is None else (kept, take_rows(known, rows))


def _step(samples: Array, scores: Array | None, chains: Any) -> int:
    _refuse_stuck(to_host(samples))
    problem = pose(samples, from_scores(_normal_scores(samples) if scores is None else scores))
    if not find_dependence(problem).dependent:
        return 1
    time = autocorrelation_time(problem, chains)
    correlation = (time - 1.0) / (time + 1.0)
    return 1 if correlation <= REMAINING else math.ceil(math.log(REMAINING) / math.log(correlation))


def _refuse_stuck(x: Floats) -> None:
    """A chain that stays at one point has no length scale and no autocorrelation time."""
    counts = np.unique(x, axis=0, return_counts=True)[1]
    if np.square(counts).sum() > 0.5 * len(x) ** 2:
        raise ValueError(
            f"`x` stays at one point for {counts.max()} of its {len(x)} rows, so that their autocorrelation time is "
            "not known. Run a chain that moves, or give `step` a number."
        )


def _normal_scores(samples: Array) -> Array:
    """Scores of a normal distribution with the columns' medians and median absolute deviations."""
    x = to_host(samples)
    center, scale = median_and_scales(x, squared=False)
    return like((center - x) / scale / scale, samples)
