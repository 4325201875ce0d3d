"""Leave-one-out: every row is predicted from a posterior of the other rows, by weights of the draws."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from steinball.arrays import Floats, chunks
from steinball.cautions import FittedOnDataWarning
from steinball.predictive.law import AS_DRAWN, Draws, Observed
from steinball.predictive.pit import POINTS, EdgeIntervals, Pit, as_draws
from steinball.predictive.table import TOGETHER
from steinball.remarks import Remark
from steinball.text import count

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
    some = chunks(len(excess), points * size, TOGETHER)
    shapes = np.concatenate([np.log1p(-rates[c, :, None] * excess[c, None]).mean(axis=2) for c in some])
    profile = size * (np.log(-rates / shapes) - shapes - 1.0)
    posterior = np.exp(profile - profile.max(axis=1, keepdims=True))
    rate = (rates * posterior).sum(axis=1) / posterior.sum(axis=1)
    shape = np.log1p(-rate[:, None] * excess).mean(axis=1)
    return (size * shape + 5.0) / (size + 10.0), -shape / rate


@dataclass(frozen=True, eq=False)
class LeaveOneOut(Draws):
    """Predictive draws and log-likelihoods (n, S) of draws of a posterior: every row is predicted from the others.

    Notes
    -----
    Not exact: weights are estimated, and rows share the posterior. Simulated levels are in the evidence.
    """

    log_likelihood: Floats

    @cached_property
    def weights(self) -> tuple[Floats, Floats]:
        """:func:`loo_weights`."""
        return loo_weights(self.log_likelihood)

    def pit(self, y: Any, observed: Observed = AS_DRAWN, rng: Any = None, fresh: bool = True) -> Pit:
        """Leave-one-out PIT: [Σ w 1(ỹ < y), Σ w 1(ỹ ≤ y)] over draws ỹ."""
        observed.refuse("do not go with a posterior and its `log_likelihood`")
        y, (weights, _) = self.read(y), self.weights
        draws = as_draws(self.draws, y.size)
        if draws.shape != weights.shape:
            raise ValueError(f"`log_likelihood` must have the shape {draws.shape} of `draws`, got {weights.shape}.")
        low, high = _mass_below(y, draws, weights)
        around = EdgeIntervals.around(_weighted_steps(draws, weights), len(draws)) if (low < high).any() else POINTS
        return Pit(low[None], high[None], around)

    @property
    def remarks(self) -> tuple[Remark, ...]:
        """Rows whose weights are not reliable."""
        many = int((self.weights[1] > RELIABLE_K).sum())
        cause = f"The leave-one-out weights of {count(many, 'row')} are not reliable (Pareto k above {RELIABLE_K})."
        found = Remark(FittedOnDataWarning, cause, "Refit the model without those rows, or leave them out.")
        return (found,) if many else ()


def _mass_below(values: Floats, draws: Floats, weights: Floats) -> Floats:
    """The weights of draws below the values, and of those at most as large, (2, n)."""
    counted = draws < values[:, None], draws <= values[:, None]
    return np.asarray(np.clip([(weights * some).sum(axis=1) for some in counted], 0.0, 1.0))


def _weighted_steps(draws: Floats, weights: Floats) -> Callable[[float], Floats]:
    """The step of each row's weighted distribution function that holds an edge."""
    order = np.argsort(draws, axis=1)
    ordered, upto = np.take_along_axis(draws, order, axis=1), np.take_along_axis(weights, order, axis=1).cumsum(axis=1)

    def interval(edge: float) -> Floats:
        at = np.minimum((upto < edge).sum(axis=1), draws.shape[1] - 1)
        return _mass_below(ordered[np.arange(len(draws)), at], draws, weights)

    return interval
