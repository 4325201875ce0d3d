"""A model as far as regions need it: draws or a distribution function, how rows are standardized, grids of rounding."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import scipy

from steinball.arrays import Floats, as_samples, to_host
from steinball.models.base_space import normal_of

ON_GRID = 0.75  # the share of rows that must lie on a grid: contaminated rows may lie anywhere

LOOKED_AT = 4096  # rows that are enough to see a grid

_VISIBLE = 0.02  # steps whose product with √n is below this share of the spread cannot be seen by any region
_QUANTILES = np.array([0.25, 0.1, 0.02, 0.0])  # the first of these that differs from its mirror gives the spread
_BETTER = 0.1  # more rows than this on a finer grid: then that is the grid
_NEAR = 1e6  # spreads from the median within which steps are looked for
_PRECISIONS = (1e-15, 2e-7)  # relative errors of decimals in float64, and in float64 that was float32
_DECIMALS = np.sort(np.outer([1.0, 2.0, 2.5, 5.0], 10.0 ** np.arange(-12, 13)).ravel())[::-1]


@dataclass(frozen=True, eq=False)
class Grid:
    """Values offset + step·k in each column, k whole; a step of 0 is a column that is not rounded.

    Examples
    --------
    >>> grid = Grid(np.array([0.5, 0.0]), np.array([0.0, 0.0]))
    >>> grid.round(np.array([[1.3, 1.3]])), Grid(np.array([0.5]), np.array([0.0])).above(np.array([1.3]))
    (array([[1.5, 1.3]]), array([1.75]))
    """

    step: Floats
    offset: Floats

    def round(self, x: Floats) -> Floats:
        """Rows (n, d) moved to the nearest value of the grid."""
        step = np.where(self.step > 0.0, self.step, 1.0)
        return np.where(self.step > 0.0, self.offset + step * np.round((x - self.offset) / step), x)

    def above(self, values: Floats) -> Floats:
        """For one column: the middle between the nearest value of the grid and the next one."""
        return np.asarray(self.offset + self.step * (np.round((values - self.offset) / self.step) + 0.5))


def find_grid(x: Floats) -> Grid | None:
    """The grid that the rows were rounded to, or ``None`` where no column was visibly rounded.

    A column lies on a grid if at least 75 % of its rows do, those with its most frequent value left out. The steps that
    are tried are 1, 2, 2.5 or 5 times a power of ten, and the greatest common divisor of the differences of the values
    in the column (of those that occur twice, where there are some). The largest that fits counts, unless a finer one
    fits a tenth of the rows more.

    Parameters
    ----------
    x : array
        Shape (n, d).

    Notes
    -----
    Rounding to the nearest value is assumed; rows that were cut off (ages in whole years) are half a step away.

    Examples
    --------
    >>> x = np.random.default_rng(0).normal(size=(200, 1))
    >>> find_grid(x), find_grid(x.round(1)).step, find_grid(2.54 * x.round()).step.round(12)
    (None, array([0.1]), array([2.54]))
    """
    with np.errstate(over="ignore", invalid="ignore"):  # differences of values at ±1e308 are no steps
        step, offset = np.array([_column_grid(column) for column in x.T], dtype=np.float64).T
    return Grid(step, offset) if step.any() else None


def _column_grid(x: Floats) -> tuple[float, float]:
    """Step and offset of one column, (0, 0) where there is no grid."""
    n, x = len(x), x[:: len(x) // LOOKED_AT + 1]
    values, times = np.unique(x, return_counts=True)
    low, high = np.quantile(x, [_QUANTILES, 1.0 - _QUANTILES])
    spread = float(next(iter((high - low)[high > low]), 0.0))
    near = np.abs(values - np.median(x)) <= _NEAR * spread  # a row far out is no place to count steps from
    twice = values[near & (times > 1)]
    others = x[x != values[np.argmax(times)]]  # one value that most rows share lies on every grid
    found = [(0.0, 0.0, ON_GRID)]
    for precision in _PRECISIONS if len(values) > 2 else ():
        error = precision * (float(np.abs(np.median(x))) + 10.0 * spread)
        least = max(_VISIBLE * spread / math.sqrt(n), 100.0 * error)
        steps = [(step, 0.0) for step in _DECIMALS[(least <= _DECIMALS) & (4.0 * spread >= _DECIMALS)].tolist()]
        steps += [(_divisor(v - v[0], error, least), float(v[0])) for v in (twice, values[near]) if len(v) > 2]
        steps = [one for one in steps if one[0] >= least]
        found += [(*one, share) for one, share in zip(steps, _shares(others, steps, error), strict=True)]
    most = max(share for _, _, share in found)
    fitting = [(step, offset) for step, offset, share in found if share >= max(ON_GRID, most - _BETTER)]
    return next(one for one in fitting if 1.01 * one[0] >= max(fitting)[0])  # decimals stand before divisors


def _shares(x: Floats, steps: list[tuple[float, float]], error: float) -> list[float]:
    """How many of the values (n,) lie on each grid of a step and an offset, up to four times an error."""
    step, offset = np.reshape(steps, (-1, 2)).T[:, :, None]
    away = np.abs(x - offset - step * np.round((x - offset) / step))
    found: list[float] = np.mean(away <= 4.0 * error, axis=1).tolist()
    return found


def _divisor(differences: Floats, error: float, least: float) -> float:
    """The greatest common divisor of differences known up to an error (Euclid's algorithm), 0 where there is none; one
    below ``least`` is not followed further."""
    left, step = differences[differences > 4.0 * error], 0.0
    while left.size:
        step = float(left.min())
        rest = np.abs(differences - step * np.round(differences / step))
        left = rest[rest > 8.0 * error] if step > 100.0 * error and step >= least else left[:0]
    return step


def spread_over_cells(x: Floats, mapped: Floats, ends: tuple[Floats, Floats], to_base: Function) -> Floats:
    r"""Normal values of rounded rows of one column, evenly over the cells that were rounded to them

    .. math:: z = \Phi^{-1}(F(a) + v (F(b) - F(a))), \qquad v = \frac{1/2}{k}, \frac{3/2}{k}, \ldots,
       \frac{k - 1/2}{k}, \quad x = (a + b)/2,

    for k rows of one value and the distribution function F of the model. With uniform v in place of even ones z is
    standard normal, exactly, where rows of the model were rounded to the nearest value; even ones vary less, so that a
    test keeps its level, and do not depend on chance: which of the k rows has which place is random, and no statistic
    of a sample sees that. Cells stop at the ``ends`` of the support. Rows x (n, 1) that are not rounded, or all
    different, stay where they are ``mapped``.

    Examples
    --------
    >>> x = np.random.default_rng(0).normal(size=(400, 1)).round()
    >>> z = spread_over_cells(x, x, (np.array([-np.inf]), np.array([np.inf])), lambda x: x)
    >>> len(np.unique(x)), len(np.unique(z)), bool((np.abs(z - x) <= 0.5).all())
    (8, 400, True)
    """
    grid = find_grid(x) if len(np.unique(x)) < len(x) else None
    if grid is None:
        return mapped
    middle = grid.round(x)
    first, last = (to_base(np.clip(middle + side * grid.step, *ends)) for side in (-0.5, 0.5))
    on_grid = np.abs(x - middle) <= 1e-6 * grid.step
    place = np.full(x.shape, 0.5)
    place[on_grid] = _even_places(middle[on_grid])
    tails = (scipy.special.ndtr([sign * first, sign * last]) for sign in (1.0, -1.0))
    below, above = (start + place * (stop - start) for start, stop in tails)
    return np.where(on_grid, normal_of(below, above), mapped)


def _even_places(values: Floats) -> Floats:
    """For each value (n,) one of (i + 1/2)/k, where k are equal to it, in random order."""
    order = np.lexsort((np.random.default_rng(0).random(len(values)), values))
    _, first, counts = np.unique(values[order], return_index=True, return_counts=True)
    places = np.empty(len(values))
    places[order] = (np.arange(len(values)) - np.repeat(first, counts) + 0.5) / np.repeat(counts, counts)
    return places


MOMENT_DRAWS = 4096  # draws that location and covariance are taken from where the model does not say them

SET_ASIDE = 5  # one in so many rows of a second sample is set aside to standardize the others

_SEED = 20230917

Function = Callable[[Floats], Any]
Sampler = Callable[[int, np.random.Generator], Any]


class Rows(NamedTuple):
    """Rows in the user's columns, (n, d), and their standardized coordinates, (d, n)."""

    x: Floats
    z: Floats


@dataclass(frozen=True, eq=False)
class Source:
    r"""What regions are compared with: a distribution function in one column, a sampler, or a second sample.

    Parameters
    ----------
    columns : int
        Number of columns d.
    sample : callable, optional
        ``sample(n, rng)`` gives n fresh independent draws, (n, d) or for one column (n,), in the user's columns.
    cdf, quantile : callable, optional
        In one column: the distribution function, which makes probabilities exact, and its inverse, which is found by
        bisection where it is missing.
    discrete : bool
        Whether ``cdf`` is that of whole numbers. A row that the model cannot give lies in no region.
    log_density : callable, optional
        log p of rows in the user's columns, (n,): one more view.
    draws : array, optional
        A second sample (m, d), in place of a sampler.
    location, whitening : array, optional
        Rows are standardized to z = (x − ``location``) ``whitening``, (d,) and upper triangular (d, d). None: rows are
        standardized already, as in base space.
    grid : Grid, optional
        What the data were rounded to. Draws are rounded alike.

    Examples
    --------
    >>> from scipy import stats
    >>> Source(cdf=stats.expon().cdf).quantiles(np.array([0.5])).round(6)
    array([0.693147])
    """

    columns: int = 1
    sample: Sampler | None = None
    cdf: Any = None
    quantile: Function | None = None
    discrete: bool = False
    log_density: Function | None = None
    draws: Floats | None = None
    location: Floats | float = 0.0
    whitening: Floats | float = 1.0
    grid: Grid | None = None

    @property
    def correlated(self) -> bool:
        """Whether standardized coordinates mix columns."""
        return np.ndim(self.whitening) == 2

    @np.errstate(over="ignore", invalid="ignore")
    def rows(self, x: Floats) -> Rows:
        """Rows (n, d) rounded and standardized."""
        x = x if self.grid is None else self.grid.round(x)
        if self.discrete:  # what the model cannot give lies in no region
            x = np.where((x == np.round(x)) & (self.cdf(x) > self.cdf(x - 1.0)), x, np.nan)
        centered, whitening = np.ascontiguousarray((x - self.location).T), np.atleast_2d(self.whitening).T
        # A product of matrices may round equal rows differently, and equal rows must give equal values.
        return Rows(x, whitening @ centered if self.correlated else whitening * centered)

    def draw(self, n: int, rng: np.random.Generator) -> Floats:
        """n fresh draws, (n, d), not rounded: finite and not all the same, or an error that says what came."""
        if self.sample is None:
            return self.quantiles(rng.random(n))[:, None]
        x = to_host(as_samples(self.sample(n, rng), f"sample({n}, rng)", least=1))
        if x.shape != (n, self.columns):
            raise ValueError(f"`sample({n}, rng)` must return shape ({n}, {self.columns}), got {x.shape}.")
        if n > 1 and (x == x[0]).all():
            raise ValueError(f"`sample({n}, rng)` must return independent draws, got the same row {n} times.")
        return x

    def quantiles(self, levels: Floats) -> Floats:
        """Where the distribution function reaches these levels."""
        if self.quantile is not None:
            return np.asarray(self.quantile(levels), dtype=np.float64)
        low, high = np.full((2, len(levels)), [[-300.0], [300.0]])
        for _ in range(70):
            middle = (low + high) / 2.0
            reached = np.asarray(self.cdf(np.sinh(middle))) >= levels
            low, high = np.where(reached, low, middle), np.where(reached, middle, high)
        return np.asarray(np.sinh(high))


def _standardized(source: Source, mean: Any, covariance: Any, noise: float = 0.0) -> Source:
    """The source with its standardization: coordinate j is what the columns before j leave of column j.

    Correlations that are no larger than ``noise`` count as none; columns that repeat each other are taken one by one.
    """
    covariance = np.atleast_2d(np.asarray(covariance, dtype=np.float64))
    spread = np.sqrt(np.diag(covariance))
    correlation, whitening = covariance / np.outer(spread, spread), 1.0 / spread
    if (np.abs(np.triu(correlation, 1)) > noise).any() and np.linalg.eigvalsh(correlation)[0] > 1e-10:
        whitening = np.linalg.inv(np.linalg.cholesky(correlation)).T / spread[:, None]
    return replace(source, location=np.atleast_1d(np.asarray(mean, dtype=np.float64)), whitening=whitening)


def _standardized_by(source: Source, draws: Floats) -> Source:
    """The source standardized by draws, those far out moved in: tails may be so heavy that there is no variance."""
    middle = np.median(draws, axis=0)
    spread = 1.4826 * np.median(np.abs(draws - middle), axis=0)
    spread = np.where(spread > 0.0, spread, draws.std(axis=0))
    if not (spread > 0.0).all():
        raise ValueError(f"draws of the model must vary, but column {int(np.argmin(spread))} is constant.")
    near = np.clip((draws - middle) / spread, -6.0, 6.0)
    covariance = np.outer(spread, spread) * np.atleast_2d(np.cov(near.T))
    # The largest of many correlations of independent columns stays below five standard errors.
    return _standardized(source, middle + spread * near.mean(axis=0), covariance, noise=5.0 / len(draws) ** 0.5)


def from_sampler(sample: Sampler, columns: int, mean: Any = None, covariance: Any = None) -> Source:
    """A model that can be drawn from; mean and covariance come from 4,096 draws where they are not given.

    Examples
    --------
    >>> from_sampler(lambda n, rng: rng.normal(size=(n, 2)), 2, mean=[0, 0], covariance=np.eye(2)).correlated
    False
    """
    source = Source(columns, sample)
    if mean is not None and covariance is not None:
        return _standardized(source, mean, covariance)
    return _standardized_by(source, source.draw(MOMENT_DRAWS, np.random.default_rng(_SEED)))


def from_second_sample(draws: Floats) -> Source:
    """A second sample (m, d); in two columns and more a fifth of its rows, at random, standardizes the others."""
    if len(draws) < 10:
        raise ValueError(f"a second sample must have at least 10 rows, got {len(draws)}.")
    mixed = draws[np.random.default_rng(_SEED).permutation(len(draws))]
    aside = len(draws) // SET_ASIDE if draws.shape[1] > 1 else 0
    source = Source(draws.shape[1], draws=mixed[aside:])
    return _standardized_by(source, mixed[:aside]) if aside else source


def from_probabilities(probabilities: Sequence[float]) -> Source:
    """Categories 0, 1, … with these probabilities; a row holds the number of its category, or lies in no region.

    Examples
    --------
    >>> from_probabilities([0.2, 0.3, 0.5]).cdf(np.array([-1.0, 0.0, 1.5, 2.0]))
    array([0. , 0.2, 0.5, 1. ])
    """
    below = np.concatenate([[0.0], np.cumsum(probabilities) / np.sum(probabilities)])
    return Source(cdf=partial(_share_up_to, below), quantile=partial(_category_at, below), discrete=True)


def _share_up_to(below: Floats, x: Floats) -> Floats:
    return np.asarray(below[np.clip(np.floor(x) + 1, 0, len(below) - 1).astype(np.int64)])


def _category_at(below: Floats, levels: Floats) -> Any:
    return np.searchsorted(below[1:], levels - 1e-12)
