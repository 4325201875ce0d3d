"""The normal family, in any dimension."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from steinball.arrays import Floats
from steinball.fitting.family import ExponentialFamily, difference_jacobian
from steinball.models.gaussian import Gaussian


def unpacked(entries: Floats, dimension: int) -> Floats:
    """The symmetric matrix with this upper triangle, row by row."""
    matrix = np.zeros((dimension, dimension))
    matrix[np.triu_indices(dimension)] = entries
    return matrix + np.triu(matrix, 1).T


def packed(matrix: NDArray[np.floating[Any]]) -> Floats:
    """The upper triangle, row by row."""
    return np.asarray(matrix[np.triu_indices(len(matrix))], dtype=np.float64)


def log_cholesky(cov: Floats) -> Floats:
    """The Cholesky factor of a covariance, column by column, with logarithms on its diagonal."""
    root = np.linalg.cholesky(cov)
    np.fill_diagonal(root, np.log(np.diag(root)))
    return packed(root.T)


def from_log_cholesky(entries: Floats, dimension: int) -> Floats:
    """The covariance with this factor."""
    root = np.zeros((dimension, dimension))
    root[np.triu_indices(dimension)] = entries
    np.fill_diagonal(root, np.exp(np.clip(np.diag(root), -300.0, 300.0)))
    return np.asarray(root.T @ root)


def moment_scores(x: Floats, mean: Floats, precision: Floats) -> Floats:
    """∂ log p / ∂ mean and ∂ covariance (its upper triangle), shape (n, d + d(d + 1)/2)."""
    d = len(mean)
    pull = (x - mean) @ precision
    rows, columns = np.triu_indices(d)
    twice = np.where(rows == columns, 0.5, 1.0)  # an entry off the diagonal stands in two places
    return np.hstack([pull, twice * (pull[:, rows] * pull[:, columns] - precision[rows, columns])])


class Normal(ExponentialFamily):
    """N(mean, sd²), or N(mean, cov) in several dimensions.

    Examples
    --------
    >>> Normal(1).fit(np.array([[1.0], [3.0]]))
    array([2., 1.])
    >>> Normal(2).names
    ('mean_1', 'mean_2', 'cov_11', 'cov_12', 'cov_22')
    """

    label = "normal"

    def __init__(self, dimension: int) -> None:
        self.dimension = dimension

    @property
    def names(self) -> tuple[str, ...]:
        """Mean and standard deviation; means and covariances in several dimensions."""
        d = self.dimension
        if d == 1:
            return "mean", "sd"
        apart = "_" if d > 9 else ""
        pairs = zip(*np.triu_indices(d), strict=True)
        return (*(f"mean_{i + 1}" for i in range(d)), *(f"cov_{i + 1}{apart}{j + 1}" for i, j in pairs))

    @property
    def positive(self) -> tuple[bool, ...]:
        """The standard deviation."""
        return (False, True) if self.dimension == 1 else super().positive

    def _moments(self, params: Floats) -> tuple[Floats, Floats]:
        d = self.dimension
        return params[:d], params[d:, None] ** 2 if d == 1 else unpacked(params[d:], d)

    def _params(self, mean: Floats, cov: Floats) -> Floats:
        return np.concatenate([mean, np.sqrt(cov[0]) if self.dimension == 1 else packed(cov)])

    def model(self, params: Floats) -> Gaussian:
        """The Gaussian."""
        return Gaussian(*self._moments(params))

    def start(self, x: Floats) -> Floats:
        """Medians and median absolute deviations of the columns."""
        center = np.median(x, axis=0)
        spread = 1.4826 * np.median(np.abs(x - center), axis=0)
        spread = np.where(spread > 0.0, spread, np.maximum(x.std(axis=0), np.finfo(float).tiny))
        return self._params(center, np.diag(spread**2))

    def fit(self, x: Floats) -> Floats:
        """Mean and covariance of the sample, with the divisor n."""
        n, d = x.shape
        if n <= d or not (x.std(axis=0) > 0.0).all():
            raise ValueError(
                f"`x` must have more rows than columns and no constant column to fit a normal distribution, got shape "
                f"{x.shape}. Leave out columns."
            )
        offset = x - x.mean(axis=0)
        return self._params(x.mean(axis=0), offset.T @ offset / n)

    def parameter_scores(self, params: Floats, x: Floats) -> Floats:
        """In closed form."""
        mean, cov = self._moments(params)
        scores = moment_scores(x, mean, np.asarray(np.linalg.inv(cov), dtype=np.float64))
        return scores if self.dimension > 1 else scores * [1.0, 2.0 * params[1]]  # the variance moves by 2 sd

    def margins(self, params: Floats, x: Floats) -> Floats:
        """Of the columns."""
        mean, cov = self._moments(params)
        return np.asarray(ndtr((x - mean) / np.sqrt(np.diag(cov))))

    def to_working(self, params: Floats) -> Floats:
        """Means, and the Cholesky factor with logarithms on its diagonal."""
        mean, cov = self._moments(params)
        return np.concatenate([mean, log_cholesky(cov)])

    def from_working(self, working: Floats) -> Floats:
        """The parameters at these coordinates."""
        d = self.dimension
        return self._params(working[:d], from_log_cholesky(working[d:], d))

    def working_jacobian(self, params: Floats) -> Floats:
        """By central differences."""
        return difference_jacobian(self.from_working, self.to_working(params))

    def base_score(self, x: Floats) -> Floats:
        """0."""
        return np.zeros_like(x)

    def score_basis(self, x: Floats) -> Floats:
        """Of ν = (Λμ, Λ), Λ the inverse covariance: s = Λμ − Λx."""
        (n, d), (rows, columns) = x.shape, np.triu_indices(x.shape[1])
        basis, places = np.zeros((n, d, d + len(rows))), d + np.arange(len(rows))
        basis[:, np.arange(d), np.arange(d)] = 1.0
        basis[:, columns, places] = -x[:, rows]
        basis[:, rows, places] = -x[:, columns]
        return basis

    def natural(self, params: Floats) -> Floats:
        """(Λμ, Λ)."""
        mean, cov = self._moments(params)
        precision = np.linalg.inv(cov)
        return np.concatenate([precision @ mean, packed(precision)])

    def from_natural(self, natural: Floats) -> Floats:
        """Mean and covariance; NaN where Λ is not positive definite."""
        d = self.dimension
        precision = unpacked(natural[d:], d)
        if not np.isfinite(precision).all() or np.linalg.eigvalsh(precision)[0] <= 0.0:
            return np.full(len(natural), np.nan)
        cov = np.asarray(np.linalg.inv(precision), dtype=np.float64)
        return self._params(cov @ natural[:d], cov)

    def origin(self, x: Floats) -> Floats:
        """The median of every column."""
        return np.asarray(np.median(x, axis=0))

    def moved(self, params: Floats, by: Floats) -> Floats:
        """With another mean."""
        return np.concatenate([params[: self.dimension] + by, params[self.dimension :]])
