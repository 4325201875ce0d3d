r"""The kernel of a comparison, and the mean embedding μ(x) = E k(x, A) of each model A.

One kernel serves all models: otherwise g_ab + g_bc ≠ g_ac. The proofs are in ``docs/theory/comparison.md``.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
import scipy

from steinball.arrays import Floats

WIDTHS = (1.0, 0.5, 0.25)
"""Length scales of the kernel in its own coordinates: 2, 1 and ½ times the median distance of the pooled draws."""

POOLED = 2000
"""Draws, of all models together, that center, scatter and length scale are taken from."""

_TILE = 256  # a tile of so many rows and columns stays in the processor's cache
_WINSOR, _FARTHEST = 4.0, 1e150  # the square of a coordinate must be a float


def number_of_draws(n: int) -> int:
    """The number m of draws of a model whose embedding has no closed form, for ``n`` rows of data."""
    return min(20 * n, 20_000)


def kernel_values(exponent: Floats) -> Floats:
    """The kernel where −r²/2 is ``exponent``: (q + q⁴ + q¹⁶)/3 with q its exponential, one for all three widths."""
    widest = np.exp(exponent)
    middle = np.square(np.square(widest))
    return np.asarray((widest + middle + np.square(np.square(middle))) / len(WIDTHS))


def kernel_means(x: Floats, y: Floats) -> tuple[Floats, Floats]:
    """Means of k(xᵢ, yⱼ) over j, shape (n,), and over i, shape (m,), from one pass over the pairs in small tiles."""
    left = np.column_stack([x, -0.5 * np.sum(x * x, axis=1), np.ones(len(x))])
    right = np.column_stack([y, np.ones(len(y)), -0.5 * np.sum(y * y, axis=1)])
    rows, columns = np.zeros(len(x)), np.zeros(len(y))
    for i in range(0, len(x), _TILE):
        for j in range(0, len(y), _TILE):
            tile = kernel_values(np.minimum(left[i : i + _TILE] @ right[j : j + _TILE].T, 0.0))
            rows[i : i + _TILE] += tile.sum(axis=1)
            columns[j : j + _TILE] += tile.sum(axis=0)
    return rows / len(y), columns / len(x)


@dataclass(frozen=True, eq=False)
class KernelCoordinates:
    r"""The kernel that all models are compared with, as a map of the rows to coordinates z in which it is

    .. math:: k(x, y) = \tfrac13 \sum_{h \in \{1, 1/2, 1/4\}} \exp\Big( -\frac{|z(x) - z(y)|^2}{2 h^2} \Big), \qquad
       z(x) = A (x - c).

    c (d,) is ``center`` and A (d, d) is ``linear``. Both are taken from draws of the models, never from the data.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> draws = [rng.normal(size=(500, 2)), rng.normal(1.0, 1.0, size=(500, 2))]
    >>> z = KernelCoordinates.from_draws(draws).of(draws[0])
    >>> inches = KernelCoordinates.from_draws([part / 2.54 for part in draws]).of(draws[0] / 2.54)
    >>> bool(np.allclose(z, inches))
    True
    """

    center: Floats
    linear: Floats

    @classmethod
    def from_draws(cls, pools: Sequence[Floats]) -> KernelCoordinates:
        """Coordinates from draws (mₐ, d) of each model: as many of each, so that the order of the models is nothing.

        Columns are divided by their interquartile range (by their mean deviation where it is 0), then decorrelated
        by the covariance of the winsorized pool, shrunk a little where draws are few; the widest length scale is twice
        the median distance. So the units of a column do not matter, nor does a correlation that the models share.
        """
        each = min(POOLED // len(pools), *(len(pool) for pool in pools))
        pool = np.concatenate([part[np.linspace(0, len(part) - 1, each).astype(int)] for part in pools])
        low, center, high = np.percentile(pool, [25.0, 50.0, 75.0], axis=0)
        scale = np.where(high > low, (high - low) / 1.349, np.abs(pool - center).mean(axis=0))  # σ of a normal column
        scale = np.where(scale > 0.0, scale, 1.0)
        inner = np.clip((pool - center) / scale, -_WINSOR, _WINSOR)
        share = (inner.shape[1] / (inner.shape[1] + len(inner))) ** 2
        scatter = (1.0 - share) * np.atleast_2d(np.cov(inner.T)) + share * np.eye(inner.shape[1])
        linear = scipy.linalg.solve_triangular(np.linalg.cholesky(scatter), np.diag(1.0 / scale), lower=True)
        distances = scipy.spatial.distance.pdist(cls(center, linear).of(pool))
        typical = float(np.median(distances)) or float(distances.mean()) or 1.0  # most counts coincide, say
        return cls(center, linear / (2.0 * typical))

    def of(self, rows: Floats) -> Floats:
        """Kernel coordinates (n, d) of rows (n, d); what is farther than floats can square is as far as they can."""
        moved = np.clip(rows - self.center, -_FARTHEST, _FARTHEST) @ self.linear.T
        return np.clip(moved, -_FARTHEST, _FARTHEST)


class Embedding(ABC):
    r"""The mean embedding μ of a model, and the kernel score 2μ(x) − |μ|² of a row, larger where the model is better.

    ``coordinates`` are those of the kernel; ``square`` is |μ|², without its diagonal where it is estimated; ``norm`` is
    the squared length of μ as it is evaluated, with it; ``terms`` the number of summands of μ.
    """

    coordinates: KernelCoordinates
    square: float
    norm: float
    terms: int

    @abstractmethod
    def values(self, z: Floats) -> Floats:
        """μ at kernel coordinates (n, d), shape (n,)."""

    @abstractmethod
    def expect(self, other: Embedding) -> float:
        """⟨μ, ν⟩, the expectation of the embedding ν of ``other`` under this model."""

    @abstractmethod
    def box(self, least: float) -> tuple[Floats, Floats]:
        """Ends (d,) of a box of kernel coordinates outside of which μ ≤ ``least``."""

    def score(self, rows: Floats) -> Floats:
        """2μ(x) − |μ|² at rows (n, d) of the data's columns, shape (n,): g of two models is the difference of these."""
        return 2.0 * self.values(self.coordinates.of(rows)) - self.square

    def score_and_error(self, rows: Floats) -> tuple[Floats, float]:
        """:meth:`score`, and the variance that the embedding's own error adds to its mean over the rows."""
        return self.score(rows), 0.0


class MixtureEmbedding(Embedding):
    r"""The embedding of a mixture of Gaussians Σ wᵢ N(mᵢ, Sᵢ), in closed form: in kernel coordinates

    .. math:: \mu(x) = \tfrac13 \sum_{h, i} w_i \det(I + S_i/h^2)^{-1/2}
       \exp\big( -\tfrac12 (x - m_i)^\top (h^2 I + S_i)^{-1} (x - m_i) \big).

    Parameters
    ----------
    coordinates : KernelCoordinates
    means : (c, d) array
    covariances : (c, d, d) array
    weights : (c,) array

    Examples
    --------
    >>> at = KernelCoordinates(np.zeros(1), np.eye(1))
    >>> normal = MixtureEmbedding(at, np.zeros((1, 1)), np.zeros((1, 1, 1)), np.ones(1))
    >>> normal.values(np.zeros((1, 1))), normal.square  # all mass in one point: k(x, 0), k(0, 0)
    (array([1.]), 1.0)
    """

    def __init__(self, coordinates: KernelCoordinates, means: Floats, covariances: Floats, weights: Floats) -> None:
        spreads = coordinates.linear @ covariances @ coordinates.linear.T
        self.parts = list(zip(weights, coordinates.of(means), spreads, strict=True))
        self.coordinates, self.terms = coordinates, len(weights)
        self.square = self.norm = self.expect(self)

    def values(self, z: Floats) -> Floats:
        return np.asarray(sum(weight * _smoothed_gaussian(z, mean, spread) for weight, mean, spread in self.parts))

    def expect(self, other: Embedding) -> float:
        if not isinstance(other, MixtureEmbedding):
            return other.expect(self)
        pairs = product(self.parts, other.parts)
        return float(sum(v * w * _smoothed_gaussian(m[None], n, s + t)[0] for (v, m, s), (w, n, t) in pairs))

    def box(self, least: float) -> tuple[Floats, Floats]:
        reach = math.sqrt(2.0 * math.log(1.0 / least))
        ends = [(mean, reach * math.sqrt(1.0 + np.linalg.norm(spread, 2))) for _, mean, spread in self.parts]
        return np.min([mean - far for mean, far in ends], axis=0), np.max([mean + far for mean, far in ends], axis=0)


def _smoothed_gaussian(z: Floats, mean: Floats, spread: Floats) -> Floats:
    """E k(z, A) for A ~ N(``mean``, ``spread``) at z (n, d)."""
    total = np.zeros(len(z))
    for width in WIDTHS:
        root = np.linalg.cholesky(width**2 * np.eye(len(mean)) + spread)
        near = scipy.linalg.solve_triangular(root, (z - mean).T, lower=True)
        total += np.prod(width / np.diag(root)) * np.exp(-0.5 * np.sum(near * near, axis=0))
    return total / len(WIDTHS)


class DrawnEmbedding(Embedding):
    """The embedding of a model that is known by ``draws`` (m, d): the mean of k(x, Aⱼ) over the draws Aⱼ.

    Its error is that of m draws, and is in the standard error of every comparison (:meth:`score_and_error`).

    Examples
    --------
    >>> draws = np.random.default_rng(0).normal(size=(400, 1))
    >>> drawn = DrawnEmbedding(KernelCoordinates(np.zeros(1), np.eye(1)), draws)
    >>> drawn.values(np.zeros((1, 1))).round(2)
    array([0.46])
    """

    def __init__(self, coordinates: KernelCoordinates, draws: Floats) -> None:
        self.coordinates, self.draws = coordinates, coordinates.of(draws)
        self.terms = m = len(draws)
        self.at_draws = kernel_means(self.draws, self.draws)[0]  # with k(Aⱼ, Aⱼ) = 1
        self.norm = float(self.at_draws.mean())
        self.square = (m * self.norm - 1.0) / (m - 1.0)

    def values(self, z: Floats) -> Floats:
        return kernel_means(z, self.draws)[0]

    def expect(self, other: Embedding) -> float:
        return self.norm if other is self else float(other.values(self.draws).mean())

    def box(self, least: float) -> tuple[Floats, Floats]:
        reach = math.sqrt(2.0 * math.log(1.0 / least))
        return self.draws.min(axis=0) - reach, self.draws.max(axis=0) + reach

    def score_and_error(self, rows: Floats) -> tuple[Floats, float]:
        r"""The scores and :math:`4 \operatorname{Var}_j[\bar k(A_j) - \mu(A_j)]/m`, k̄ the mean over the rows."""
        values, mean_over_rows = kernel_means(self.coordinates.of(rows), self.draws)
        error = 4.0 * float(np.var(mean_over_rows - self.at_draws, ddof=1)) / len(self.draws)
        return 2.0 * values - self.square, error
