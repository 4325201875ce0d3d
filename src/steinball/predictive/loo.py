"""Leave-one-out PIT from posterior predictive draws and log-likelihoods, by Pareto-smoothed importance weights."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from steinball.arrays import Floats
from steinball.predictive.pit import EdgeIntervals, Pit, as_draws, as_rows, edge_ends
from steinball.predictive.table import EDGES, row_chunks

RELIABLE_K = 0.7


def loo_weights(log_likelihood: Any) -> tuple[Floats, Floats]:
    """Pareto-smoothed weights w_is ∝ 1/p(y_i | θ_s), which turn posterior draws into draws of one without row i.

    The largest M = min(S/5, 3√S) raw weights of a row are replaced by the quantiles of a generalized Pareto law that
    is fitted to them (Vehtari, Simpson, Gelman, Yao and Gabry 2024; the fit is that of Zhang and Stephens 2009).

    Parameters
    ----------
    log_likelihood : array, shape (n, S)
        log p(y_i | θ_s) for every row and posterior draw.

    Returns
    -------
    weights : array, shape (n, S)
        They add up to 1 in every row.
    pareto_k : array, shape (n,)
        Shape of the tail of each row's raw weights; above ``RELIABLE_K`` the weights of the row are not reliable.

    Examples
    --------
    >>> weights, pareto_k = loo_weights(np.random.default_rng(0).normal(size=(2, 1000)))
    >>> weights.sum(axis=1).round(6).tolist(), bool((pareto_k < RELIABLE_K).all())
    ([1.0, 1.0], True)
    """
    ratios = -as_draws(log_likelihood, np.shape(log_likelihood)[0], "log_likelihood")
    ratios -= ratios.max(axis=1, keepdims=True)
    size = math.ceil(min(0.2 * ratios.shape[1], 3.0 * math.sqrt(ratios.shape[1])))
    order = np.argsort(ratios, axis=1)[:, -size - 1 :]
    tail = np.exp(np.take_along_axis(ratios, order, axis=1))
    excess = tail[:, 1:] - tail[:, :1]  # (n, M), ascending
    heavy = excess[:, -1] > 1e-12  # otherwise the largest weights are equal, and there is no tail to smooth
    k, scale = _fit_pareto(np.where(heavy[:, None], excess, np.arange(1.0, size + 1.0)))
    chance = (np.arange(size) + 0.5) / size
    smooth = scale[:, None] * np.expm1(-k[:, None] * np.log1p(-chance)) / k[:, None] + tail[:, :1]
    tail[:, 1:] = np.where(heavy[:, None], np.minimum(smooth, 1.0), tail[:, 1:])
    weights = np.exp(ratios)
    np.put_along_axis(weights, order, tail, axis=1)
    return weights / weights.sum(axis=1, keepdims=True), np.where(heavy, k, 0.0)


def _fit_pareto(excess: Floats) -> tuple[Floats, Floats]:
    """Shape and scale of generalized Pareto laws for sorted rows of excesses (n, M), each of shape (n,)."""
    size = excess.shape[1]
    points = 30 + math.isqrt(size)
    ladder = 1.0 - np.sqrt(points / (np.arange(1, points + 1) - 0.5))
    quarter, top = (np.maximum(excess[:, [j]], 1e-300) for j in (int(size / 4 + 0.5) - 1, -1))
    rates = ladder / (3.0 * quarter) + 1.0 / top  # (n, points)
    chunks = row_chunks(len(excess), points * size)
    shapes = np.concatenate([np.log1p(-rates[c, :, None] * excess[c, None]).mean(axis=2) for c in chunks])
    profile = size * (np.log(-rates / shapes) - shapes - 1.0)
    posterior = np.exp(profile - profile.max(axis=1, keepdims=True))
    rate = (rates * posterior).sum(axis=1) / posterior.sum(axis=1)
    shape = np.log1p(-rate[:, None] * excess).mean(axis=1)
    return (size * shape + 5.0) / (size + 10.0), -shape / rate


def loo_pit(y: Any, draws: Any, log_likelihood: Any) -> tuple[Pit, Floats]:
    """Rows under their predictive laws without themselves: [Σ w 1(ỹ < y), Σ w 1(ỹ ≤ y)] over draws ỹ.

    Parameters
    ----------
    y : array, shape (n,)
        Observed values.
    draws, log_likelihood : array, shape (n, S)
        A predictive draw, and log p(y | θ), for every row and posterior draw θ.

    Returns
    -------
    pit : Pit
    pareto_k : array, shape (n,)
        Above ``RELIABLE_K`` the row's interval is not reliable.

    Notes
    -----
    Not exact: weights are estimated, and rows share the posterior. Simulated levels are in the evidence.
    """
    y = as_rows(y, "y")
    draws, (weights, pareto_k) = as_draws(draws, y.size), loo_weights(log_likelihood)
    if draws.shape != weights.shape:
        raise ValueError(f"`log_likelihood` must have the shape {draws.shape} of `draws`, got {weights.shape}.")
    low, high = _mass_below(y, draws, weights)
    points = EdgeIntervals(EDGES[:, None], EDGES[:, None])
    return Pit(low[None], high[None], _steps_at_edges(draws, weights) if (low < high).any() else points), pareto_k


def _mass_below(values: Floats, draws: Floats, weights: Floats) -> tuple[Floats, Floats]:
    less, upto = ((weights * keep).sum(axis=1) for keep in (draws < values[:, None], draws <= values[:, None]))
    return np.clip(less, 0.0, 1.0), np.clip(upto, 0.0, 1.0)


def _steps_at_edges(draws: Floats, weights: Floats) -> EdgeIntervals:
    """The step of each row's weighted distribution function that holds each edge."""
    order = np.argsort(draws, axis=1)
    ordered, upto = np.take_along_axis(draws, order, axis=1), np.take_along_axis(weights, order, axis=1).cumsum(axis=1)

    def interval(edge: float) -> tuple[Floats, Floats]:
        at = np.minimum((upto < edge).sum(axis=1), draws.shape[1] - 1)
        return _mass_below(ordered[np.arange(len(draws)), at], draws, weights)

    return EdgeIntervals(*edge_ends(interval, len(draws)))
