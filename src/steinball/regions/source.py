"""A model as far as regions need it: its draws or its distribution function, and how rows are standardized."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from steinball.arrays import Floats, as_samples, to_host
from steinball.regions.grid import Grid

__all__ = ["Rows", "Source", "from_probabilities", "from_sampler", "from_second_sample"]

MOMENT_DRAWS = 4096
"""Draws that location and covariance are taken from where the model does not say them."""

SET_ASIDE = 5
"""One in so many rows of a second sample is set aside to standardize the others."""

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
    location: Floats | None = None
    whitening: Floats | None = None
    grid: Grid | None = None

    @property
    def correlated(self) -> bool:
        """Whether standardized coordinates mix columns."""
        return self.whitening is not None and bool(np.triu(self.whitening, 1).any())

    @np.errstate(over="ignore", invalid="ignore")
    def rows(self, x: Floats) -> Rows:
        """Rows (n, d) rounded and standardized."""
        x = x if self.grid is None else self.grid.round(x)
        if self.discrete:  # what the model cannot give lies in no region
            x = np.where((x == np.round(x)) & (self.cdf(x) > self.cdf(x - 1.0)), x, np.nan)
        centered = x.T if self.location is None else (x - self.location).T
        if self.whitening is None:
            return Rows(x, np.ascontiguousarray(centered))
        # A product of matrices may round equal rows differently, and equal rows must give equal values.
        return Rows(x, self.whitening.T @ centered if self.correlated else np.diag(self.whitening)[:, None] * centered)

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
        low, high = np.full((2, len(levels)), [[-700.0], [700.0]])
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
    correlation, root = covariance / np.outer(spread, spread), np.eye(len(spread))
    if (np.abs(np.triu(correlation, 1)) > noise).any() and np.linalg.eigvalsh(correlation)[0] > 1e-10:
        root = np.linalg.cholesky(correlation)
    whitening = np.linalg.inv(root).T / spread[:, None]
    return replace(source, location=np.atleast_1d(np.asarray(mean, dtype=np.float64)), whitening=whitening)


def _standardized_by(source: Source, draws: Floats) -> Source:
    """The same by draws, those far out moved in: tails may be so heavy that there is no variance."""
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
    return Source(
        cdf=lambda x: below[np.clip(np.floor(x) + 1, 0, len(below) - 1).astype(np.int64)],
        quantile=lambda levels: np.searchsorted(below[1:], levels - 1e-12),
        discrete=True,
    )
