"""The family of normal distributions, and covariances as vectors of parameters."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from steinball.arrays import Floats
from steinball.models.autodiff import difference_jacobian
from steinball.models.family import ExponentialFamily
from steinball.models.gaussian import Gaussian


@lru_cache(maxsize=8)
def _triangle(dimension: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Rows and columns of the upper triangle, row by row."""
    rows, columns = np.triu_indices(dimension)
    return rows, columns


def unpacked(entries: Floats, dimension: int) -> Floats:
    """The symmetric matrix with this upper triangle, row by row."""
    matrix = np.zeros((dimension, dimension))
    matrix[_triangle(dimension)] = entries
    return matrix + np.triu(matrix, 1).T


def packed(matrix: NDArray[np.floating[Any]]) -> Floats:
    """The upper triangle of a matrix, row by row."""
    return np.asarray(matrix[_triangle(len(matrix))], dtype=np.float64)


def log_cholesky(cov: Floats) -> Floats:
    """The Cholesky factor of a covariance, column by column, with logarithms on its diagonal."""
    root = np.linalg.cholesky(cov)
    np.fill_diagonal(root, np.log(np.diag(root)))
    return packed(root.T)


def from_log_cholesky(entries: Floats, dimension: int) -> Floats:
    """The covariance with this factor."""
    root = np.triu(unpacked(entries, dimension))
    np.fill_diagonal(root, np.exp(np.clip(np.diag(root), -300.0, 300.0)))
    return np.asarray(root.T @ root)


def moment_scores(x: Floats, mean: Floats, precision: Floats) -> Floats:
    """∂ log p / ∂ mean and ∂ covariance (its upper triangle), shape (n, d + d(d + 1)/2)."""
    d = len(mean)
    pull = (x - mean) @ precision
    rows, columns = _triangle(d)
    twice = np.where(rows == columns, 0.5, 1.0)  # an entry off the diagonal stands in two places
    return np.hstack([pull, twice * (pull[:, rows] * pull[:, columns] - precision[rows, columns])])


def moment_names(dimension: int, spread: str) -> tuple[str, ...]:
    """The names of a mean and a covariance (its upper triangle); on the line the covariance is called ``spread``."""
    if dimension == 1:
        return "mean", spread
    apart = "_" if dimension > 9 else ""
    pairs = zip(*_triangle(dimension), strict=True)
    return (*(f"mean_{i + 1}" for i in range(dimension)), *(f"cov_{i + 1}{apart}{j + 1}" for i, j in pairs))


class NormalFamily(ExponentialFamily):
    r"""The family N(mean, sd²), or N(mean, cov) in several dimensions.

    Natural parameters are :math:`\nu = (\Lambda\mu, \Lambda)` with :math:`\Lambda = \Sigma^{-1}`:
    :math:`s(x) = \Lambda\mu - \Lambda x`.

    Examples
    --------
    >>> NormalFamily(1).fit(np.array([[1.0], [3.0]]))
    array([2., 1.])
    >>> NormalFamily(2).names
    ('mean_1', 'mean_2', 'cov_11', 'cov_12', 'cov_22')
    """

    label = "normal"

    def __init__(self, dimension: int) -> None:
        self.dimension, self.names = dimension, moment_names(dimension, "sd")
        self.positive = (False, True) if dimension == 1 else ()

    def _moments(self, params: Floats) -> tuple[Floats, Floats]:
        d = self.dimension
        return params[:d], params[d:, None] ** 2 if d == 1 else unpacked(params[d:], d)

    def _params(self, mean: Floats, cov: Floats) -> Floats:
        return np.concatenate([mean, np.sqrt(cov[0]) if self.dimension == 1 else packed(cov)])

    def model(self, params: Floats) -> Gaussian:
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

    def matched(self, x: Floats, own: Floats, target: Floats) -> Floats:
        """The affine map from one mean and covariance to the others."""
        (mean, cov), (there, wanted) = self._moments(own), self._moments(target)
        z = np.linalg.solve(np.linalg.cholesky(cov), (x - mean).T)
        return np.asarray(there + (np.linalg.cholesky(wanted) @ z).T)

    def parameter_scores(self, params: Floats, x: Floats) -> Floats:
        mean, cov = self._moments(params)
        scores = moment_scores(x, mean, np.asarray(np.linalg.inv(cov), dtype=np.float64))
        return scores if self.dimension > 1 else scores * [1.0, 2.0 * params[1]]  # the variance moves by 2 sd

    def margins(self, params: Floats, x: Floats) -> Floats:
        mean, cov = self._moments(params)
        return np.asarray(scipy.special.ndtr((x - mean) / np.sqrt(np.diag(cov))))

    def to_working(self, params: Floats) -> Floats:
        """Means, and the Cholesky factor with logarithms on its diagonal."""
        mean, cov = self._moments(params)
        return np.concatenate([mean, log_cholesky(cov)])

    def from_working(self, working: Floats) -> Floats:
        d = self.dimension
        return self._params(working[:d], from_log_cholesky(working[d:], d))

    def working_jacobian(self, params: Floats) -> Floats:
        return difference_jacobian(self.from_working, self.to_working(params))

    def score_basis(self, x: Floats) -> Floats:
        (n, d), (rows, columns) = x.shape, _triangle(x.shape[1])
        basis, places = np.zeros((n, d, d + len(rows))), d + np.arange(len(rows))
        basis[:, np.arange(d), np.arange(d)] = 1.0
        basis[:, columns, places] = -x[:, rows]
        basis[:, rows, places] = -x[:, columns]
        return basis

    def natural(self, params: Floats) -> Floats:
        mean, cov = self._moments(params)
        precision = np.linalg.inv(cov)
        return np.concatenate([precision @ mean, packed(precision)])

    def from_natural(self, natural: Floats) -> Floats:
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
        """The same covariance around another mean."""
        return np.concatenate([params[: self.dimension] + by, params[self.dimension :]])
