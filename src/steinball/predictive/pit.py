"""PIT intervals of rows under their predictive laws, also without the row itself, and those of fresh rows."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from steinball.arrays import Floats, as_numbers
from steinball.predictive.table import CELLS, EDGES, cells_of, row_chunks, spread

Whole: TypeAlias = NDArray[np.int64]
LEAST_DRAWS, RELIABLE_K = 19, 0.7
_POINTS = EDGES[:, None]
_LARGE = 100_000


@dataclass(frozen=True, eq=False)
class EdgeIntervals:
    """Rows whose PIT intervals are known where they hold an edge of the cells.

    A uniform u belongs to the interval of its row that contains it. If that interval lies inside of one cell, the table
    cannot tell it from the point u; so a law is given by the intervals around the 19 edges alone.

    Attributes
    ----------
    low, high : array, shape (19, n) or (19, 1)
        The interval of the row that contains each edge, low = high = edge where there is none. One column: all rows
        have the same intervals.

    Examples
    --------
    A coin in every row: u below ½ gives [0, ½], any other u gives [½, 1].

    >>> coin = from_class_probabilities([0, 1], [[0.5, 0.5], [0.5, 0.5]]).fresh
    >>> drawn = coin.category(np.array([[0.3], [0.6]]), slice(0, 2))[:, 0]
    >>> coin.low[drawn - 18, [0, 1]].tolist(), coin.high[drawn - 18, [0, 1]].tolist()
    ([0.0, 0.5], [0.5, 1.0])
    """

    low: Floats
    high: Floats
    outputs = 1

    @property
    def shared(self) -> bool:
        """Whether all rows have the same intervals."""
        return bool(self.low.shape[1] == 1)

    @property
    def points(self) -> bool:
        """Whether the table takes every interval for a point, so that N[k, c] is a count."""
        return bool((self.low == self.high).all())

    def category(self, u: Floats, rows: slice) -> Whole:
        """Of u (rows, count): its cell 0 … 17, or 18 + e where the interval around edge e contains u."""
        cell, row = cells_of(u), np.arange(self.low.shape[1])[slice(None) if self.shared else rows, None]
        left, right = u < self.high[cell, row], u >= self.low[cell + 1, row]
        return np.where(left | right, CELLS + cell + right, cell)

    def draw(self, rng: np.random.Generator, rows: slice, count: int) -> Whole:
        """Categories of fresh uniform numbers, shape (rows, count)."""
        return self.category(rng.random((rows.stop - rows.start, count)), rows)

    def spreads(self, rows: slice) -> Floats:
        """Cells of every category, shape (1, rows, 37, 18)."""
        around = slice(None) if self.shared else rows
        intervals = spread(self.low[:, around].T, self.high[:, around].T)  # (rows, 19, 18)
        return np.concatenate([np.broadcast_to(np.eye(CELLS), (len(intervals), CELLS, CELLS)), intervals], axis=1)[None]


@dataclass(frozen=True, eq=False)
class Classes:
    """Rows that fall into one of J unordered classes: J intervals per row, class j against the rest.

    Attributes
    ----------
    probabilities : array, shape (n, J)
        Predicted probability of each class.
    """

    probabilities: Floats
    points = False

    @property
    def outputs(self) -> int:
        """One interval per class."""
        return int(self.probabilities.shape[1])

    def intervals(self, y: Whole, rows: slice = slice(None)) -> tuple[Floats, Floats]:
        """Intervals of classes y (rows, count): [1 − π_j, 1] for the own class, [0, 1 − π_j] for the others."""
        rest, own = 1.0 - self.probabilities[rows].T[..., None], y == np.arange(self.outputs)[:, None, None]
        return np.where(own, rest, 0.0), np.where(own, 1.0, rest)

    def draw(self, rng: np.random.Generator, rows: slice, count: int) -> Whole:
        """Fresh classes, shape (rows, count)."""
        upto = np.cumsum(self.probabilities[rows], axis=1)[:, :-1, None]
        return np.asarray((rng.random((len(upto), 1, count)) >= upto).sum(axis=1))

    def spreads(self, rows: slice) -> Floats:
        """Cells of every output for every class that may be drawn, shape (J, rows, J, 18)."""
        return spread(*self.intervals(np.arange(self.outputs)[None], rows))


# What draws fresh rows: a category for each, and the cells that each category is spread over.
Fresh: TypeAlias = EdgeIntervals | Classes


@dataclass(frozen=True, eq=False)
class Pit:
    """PIT intervals of n rows, [F(y⁻ | x), F(y | x)], and the law of fresh ones.

    Attributes
    ----------
    low, high : array, shape (q, n)
        Ends of the intervals, equal for a continuous law; q = 1, or the number of classes of a nominal response.
    fresh : Fresh
        Draws intervals under the model.
    quantiles : callable or None
        ``quantiles(levels)`` gives quantiles of every row's law, shape (levels, n).
    predicted, observed : array of shape (q, n), or None
        Of classes: probability, and 1 for the class that was seen.
    """

    low: Floats
    high: Floats
    fresh: Fresh
    quantiles: Callable[[Floats], Floats] | None = None
    predicted: Floats | None = None
    observed: Floats | None = None


def as_rows(values: Any, name: str, n: int | None = None, low: float = -np.inf, high: float = np.inf) -> Floats:
    """One number per row, from ``low`` to ``high``."""
    found = as_numbers(values, name)
    if found.ndim != 1 or n not in (None, found.size) or not found.size:
        raise ValueError(f"`{name}` must have shape ({n or 'n'},), one number for each row, got {found.shape}.")
    bad = np.flatnonzero(np.isnan(found) | (found < low) | (found > high))
    if bad.size:
        wanted = "be numbers" if low == -np.inf else f"lie in [{low:g}, {high:g}]"
        raise ValueError(f"`{name}` must {wanted}, got {found[bad[0]]:g} in row {bad[0]}; leave out or mend such rows.")
    return found


def as_draws(draws: Any, n: int, name: str = "draws") -> Floats:
    """Draws of every row, shape (n, S)."""
    found = as_numbers(draws, name)
    if found.ndim != 2 or found.shape[0] != n or found.shape[1] < LEAST_DRAWS:
        hint = "; pass its transpose" if found.ndim == 2 and found.shape[1] == n else ""
        raise ValueError(f"`{name}` must have shape ({n}, S), S ≥ {LEAST_DRAWS} for each y, got {found.shape}{hint}.")
    as_rows(found.max(axis=1), name)  # NaN
    return found


def edge_ends(interval: Callable[[float], tuple[Any, Any]], n: int) -> tuple[Floats, Floats]:
    """Intervals around all edges, edge by edge; float32 for many rows, which moves no row to another cell."""
    low, high = zip((0.0, 0.0), *map(interval, EDGES[1:-1]), (1.0, 1.0), strict=True)
    kind: Any = np.float32 if n > _LARGE else np.float64
    low, high = (np.broadcast_arrays(*map(np.atleast_1d, ends)) for ends in (low, high))
    return np.array(low, dtype=kind), np.array(high, dtype=kind)


def _assemble(y: Floats, ends: tuple[Any, Any], edges: tuple[Floats, Floats], censoring: Any, **more: Any) -> Pit:
    """Rows with these intervals; ``censoring`` is None or (limits, F below the limits): beyond is one interval."""
    low, high = (as_rows(np.broadcast_to(end, y.shape), "predictive cdf", y.size, 0.0, 1.0) for end in ends)
    if censoring is not None:
        limits = as_rows(censoring[0], "limits", y.size)
        start = as_rows(censoring[1], "cdf at limits", y.size, 0.0, 1.0)
        if (y > limits).any():
            raise ValueError(f"`y` must be at most `limits`, which row {(y > limits).argmax()} is not.")
        low, high = np.where(y >= limits, start, low), np.where(y >= limits, 1.0, high)
        beyond = (start < _POINTS) & (_POINTS < 1.0)
        edges = np.where(beyond, start, edges[0]), np.where(beyond, 1.0, edges[1])
    return Pit(low[None], np.maximum(low, high)[None], EdgeIntervals(*edges), **more)


def from_cdf_values(u: Any, *, at_limits: Any = None) -> Pit:
    """Rows of continuous laws, given by u = F(y | x).

    Parameters
    ----------
    u : array, shape (n,)
        Predictive distribution function of each row at its y; of a censored row at its limit.
    at_limits : array, shape (n,), optional
        Distribution function at the limit at which the row is or would be censored from the right; 1 for none. A row
        with u = ``at_limits`` is censored.

    Examples
    --------
    >>> pit = from_cdf_values([0.2, 0.7], at_limits=[0.7, 0.7])
    >>> pit.low.tolist(), pit.high.tolist()
    ([[0.2, 0.7]], [[0.2, 1.0]])
    """
    values = as_rows(u, "u", low=0.0, high=1.0)
    return _assemble(values, (values, values), (_POINTS, _POINTS), None if at_limits is None else (at_limits,) * 2)


def from_distribution(y: Any, law: Any, *, step: float | None = None, limits: Any = None, fresh: bool = True) -> Pit:
    """Rows of a law with vector parameters, such as ``scipy.stats.norm(mean, sd)`` or ``scipy.stats.poisson(rate)``.

    Parameters
    ----------
    y : array, shape (n,)
        Observed values.
    law : object
        With ``cdf`` and ``ppf`` that broadcast over rows; with ``pmf`` a law on whole numbers.
    step : float, optional
        y of a continuous law is rounded to multiples of it: the interval is that of the rounding cell.
    limits : array, shape (n,), optional
        Values at which rows are or would be censored from the right (y = limit means "at least"); infinity for none.
    fresh : bool
        Without it only intervals are computed, and not the law of fresh rows of a law with steps.

    Examples
    --------
    >>> from scipy import stats
    >>> pit = from_distribution([0, 2], stats.poisson([1.0, 2.0]))
    >>> pit.low.round(3).tolist(), pit.high.round(3).tolist()
    ([[0.0, 0.406]], [[0.368, 0.677]])
    """
    y, discrete = as_rows(y, "y"), "pmf" in dir(law)
    grid, origin = (1.0, 0.0) if discrete else (step or 0.0, y[0])
    below, above = (1.0, 0.0) if discrete else (grid / 2.0, grid / 2.0)
    off = grid > 0.0 and np.abs(y - origin - grid * np.round((y - origin) / grid)) > 1e-6 * grid
    if np.any(off):
        wanted = "be whole numbers for a discrete law" if discrete else f"differ by multiples of `step={grid:g}`"
        raise ValueError(f"`y` must {wanted}, got {y[np.argmax(off)]:g} in row {np.argmax(off)}.")

    def interval(edge: float) -> tuple[Any, Any]:
        at = origin + grid * np.round((law.ppf(edge) - origin) / grid)
        return law.cdf(at - below), law.cdf(at + above)

    ends, stepped = (law.cdf(y - below), law.cdf(y + above)), grid > 0.0 and fresh
    edges = edge_ends(interval, y.size) if stepped else (_POINTS, _POINTS)
    censoring = None if limits is None else (limits, law.cdf(as_rows(limits, "limits", y.size) - below))
    return _assemble(y, ends, edges, censoring, quantiles=lambda at: law.ppf(at[:, None]))


def from_draws(y: Any, draws: Any, rng: np.random.Generator) -> Pit:
    """Rows with S predictive draws each: the rank r of y among them gives [r/(S + 1), (r + 1)/(S + 1)].

    Parameters
    ----------
    y : array, shape (n,)
        Observed values.
    draws : array, shape (n, S)
        At least 19 draws of each row's law, independent of the draws of other rows.
    rng : Generator
        Breaks ties.

    Notes
    -----
    Exact for every law: y and its draws are exchangeable under the model, so every rank has probability 1/(S + 1).

    Examples
    --------
    >>> pit = from_draws([0.5], [np.linspace(0.0, 1.0, 20)], np.random.default_rng(0))
    >>> pit.low.round(4).tolist(), pit.high.round(4).tolist()
    ([[0.4762]], [[0.5238]])
    """
    y = as_rows(y, "y")
    draws = as_draws(draws, y.size)
    size = draws.shape[1] + 1
    rank = (draws < y[:, None]).sum(axis=1) + rng.integers(0, (draws == y[:, None]).sum(axis=1) + 1)

    def interval(edge: float) -> tuple[float, float]:
        first = np.floor(edge * size + 1e-9)
        return first / size, (first + 1.0) / size

    ends = rank / size, (rank + 1.0) / size
    return _assemble(y, ends, edge_ends(interval, 1), None, quantiles=lambda at: np.quantile(draws, at, axis=1))


def from_class_probabilities(y: Any, probabilities: Any, *, ordered: bool = False) -> Pit:
    """Rows of a classifier or an ordinal model.

    Parameters
    ----------
    y : array, shape (n,)
        Class of each row, 0 … J − 1.
    probabilities : array, shape (n, J)
        Predicted probabilities, which add up to 1 in every row.
    ordered : bool
        Whether the classes have an order; two classes always have one. Unordered classes are compared one against the
        rest, all at once.

    Examples
    --------
    >>> pit = from_class_probabilities([1, 0], [[0.75, 0.25], [0.75, 0.25]])
    >>> pit.low.tolist(), pit.high.tolist()
    ([[0.75, 0.0]], [[1.0, 0.75]])
    """
    shares, values = as_numbers(probabilities, "probabilities"), as_rows(y, "y")
    if shares.ndim != 2 or len(shares) != values.size or shares.shape[1] < 2:
        raise ValueError(f"`probabilities` must have shape ({values.size}, J), got {shares.shape}.")
    if not ((shares >= 0.0).all() and np.allclose(shares.sum(axis=1), 1.0, atol=1e-6)):
        raise ValueError("`probabilities` must lie in [0, 1] and add up to 1 in every row.")
    classes, row = values.astype(np.int64), np.arange(values.size)
    if shares.shape[1] > 2 and not ordered:
        low, high = (end[..., 0] for end in Classes(shares).intervals(classes[:, None]))
        seen = (classes == np.arange(shares.shape[1])[:, None]).astype(float)
        return Pit(low, high, Classes(shares), None, shares.T, seen)
    upto = np.clip(np.column_stack([0.0 * row, np.cumsum(shares[:, :-1], axis=1), 0.0 * row + 1.0]), 0.0, 1.0)

    def interval(edge: float) -> tuple[Floats, Floats]:
        at = (upto[:, 1:-1] <= edge).sum(axis=1)
        return upto[row, at], upto[row, at + 1]

    ends = upto[row, classes], upto[row, classes + 1]
    binary = {"predicted": shares[None, :, 1], "observed": values[None]} if shares.shape[1] == 2 else {}
    return _assemble(values, ends, edge_ends(interval, row.size), None, **binary)


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
    edges = edge_ends(_weighted_steps(draws, weights), len(draws)) if (low < high).any() else (_POINTS, _POINTS)
    return Pit(low[None], high[None], EdgeIntervals(*edges)), pareto_k


def _mass_below(values: Floats, draws: Floats, weights: Floats) -> tuple[Floats, Floats]:
    less, upto = ((weights * keep).sum(axis=1) for keep in (draws < values[:, None], draws <= values[:, None]))
    return np.clip(less, 0.0, 1.0), np.clip(upto, 0.0, 1.0)


def _weighted_steps(draws: Floats, weights: Floats) -> Callable[[float], tuple[Floats, Floats]]:
    """The step of each row's weighted distribution function that holds an edge."""
    order = np.argsort(draws, axis=1)
    ordered, upto = np.take_along_axis(draws, order, axis=1), np.take_along_axis(weights, order, axis=1).cumsum(axis=1)

    def interval(edge: float) -> tuple[Floats, Floats]:
        at = np.minimum((upto < edge).sum(axis=1), draws.shape[1] - 1)
        return _mass_below(ordered[np.arange(len(draws)), at], draws, weights)

    return interval
