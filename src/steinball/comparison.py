r"""Which of several models is closer to the data, whatever a share of the rows is: the mathematics of comparison.

One kernel serves all models: otherwise g_ab + g_bc ≠ g_ac. The proofs are in ``docs/theory/comparison.md``.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, product
from typing import NamedTuple

import numpy as np
import scipy

from steinball.arrays import LEAST_LEVEL, Floats
from steinball.tau.isotropic import halved_boxes

# Length scales of the kernel in its own coordinates: 2, 1 and ½ times the median distance of the pooled draws.
WIDTHS = (1.0, 0.5, 0.25)

POOLED = 2000  # draws, of all models together, that center, scatter and length scale are taken from

_TILE = 256  # a tile of so many rows and columns stays in the processor's cache
_WINSOR, _FARTHEST = 4.0, 1e150  # the square of a coordinate must be a float

SEARCHED_COLUMNS = 3  # up to so many columns the extremes are searched for; beyond, cells are too many

_PRECISION = 0.01  # of |μ_a − μ_b|
_MOST_CELLS = 40_000
_MOST_PAIRS = 3e8  # of cells and draws
_TOGETHER = 256
_NO_SPREAD = 1e-12  # of sup g − inf g


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
    def box(self, reach: float) -> tuple[Floats, Floats]:
        """Ends (d,) of a box of kernel coordinates outside of which μ ≤ exp(−``reach``²/2)."""

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

    def box(self, reach: float) -> tuple[Floats, Floats]:
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

    def box(self, reach: float) -> tuple[Floats, Floats]:
        return self.draws.min(axis=0) - reach, self.draws.max(axis=0) + reach

    def score_and_error(self, rows: Floats) -> tuple[Floats, float]:
        r"""The scores and :math:`4 \operatorname{Var}_j[\bar k(A_j) - \mu(A_j)]/m`, k̄ the mean over the rows."""
        values, mean_over_rows = kernel_means(self.coordinates.of(rows), self.draws)
        error = 4.0 * float(np.var(mean_over_rows - self.at_draws, ddof=1)) / len(self.draws)
        return 2.0 * values - self.square, error


class Extremes(NamedTuple):
    """A lower bound of inf g, an upper bound of sup g, and where they come from.

    ``kind`` is "search" (cells with a Lipschitz bound: 1 % of \\|μ_a − μ_b\\| beyond the truth, more where the search
    ended early) or "norm" (±2\\|μ_a − μ_b\\| about the constant, up to about twice the truth).
    """

    lowest: float
    highest: float
    kind: str


def extremes_of(first: Embedding, second: Embedding) -> Extremes:
    """Bounds that hold for every x, for g of ``first`` against ``second``.

    Examples
    --------
    >>> at = KernelCoordinates(np.zeros(1), np.eye(1))
    >>> a, b = (MixtureEmbedding(at, np.array([[m]]), np.ones((1, 1, 1)), np.ones(1)) for m in (-1.0, 1.0))
    >>> found = extremes_of(a, b)
    >>> found.kind, round(found.highest, 2), round(found.lowest, 2)
    ('search', 0.74, -0.74)
    """
    constant = second.square - first.square
    norm = math.sqrt(max(0.0, first.norm + second.norm - 2.0 * first.expect(second)))
    if len(first.coordinates.center) > SEARCHED_COLUMNS or norm == 0.0:
        return Extremes(constant - 2.0 * norm, constant + 2.0 * norm, "norm")
    reach = math.sqrt(2.0 * math.log(1.0 / (_PRECISION * norm)))
    ends = np.array([embedding.box(reach) for embedding in (first, second)])
    box = ends[:, 0].min(axis=0), ends[:, 1].max(axis=0)
    most = min(_MOST_CELLS, int(_MOST_PAIRS / (first.terms + second.terms)))
    highest = largest_value(lambda z: first.values(z) - second.values(z), norm, box, most)
    lowest = -largest_value(lambda z: second.values(z) - first.values(z), norm, box, most)
    return Extremes(constant + 2.0 * lowest, constant + 2.0 * highest, "search")


def largest_value(f: Callable[[Floats], Floats], norm: float, box: tuple[Floats, Floats], most: int) -> float:
    r"""An upper bound of f over all x, for f of length ``norm`` in the RKHS that is below 1 % of it outside the box.

    Cells are halved, the most promising first, until none can hold more than was found; in a cell of center c and
    radius ρ, :math:`f(x) \le f(c) + |f| \sqrt{2 (k(0) - k(\rho))}`. About ``most`` values of f are computed.
    """
    centers, halves = (box[0] + box[1])[None] / 2.0, (box[1] - box[0])[None] / 2.0
    bounds, found, used = np.array([norm]), 0.0, 0  # far from everything f is 0
    while used < most and bounds.max(initial=0.0) > found + _PRECISION * norm:
        order = np.argsort(-bounds, kind="stable")
        chosen, rest = order[:_TOGETHER], order[_TOGETHER:]
        near, small = halved_boxes(centers[chosen], halves[chosen])
        values = f(near)
        drift = norm * np.sqrt(2.0 * (1.0 - kernel_values(-0.5 * np.sum(small * small, axis=1))))
        bounds = np.concatenate([bounds[rest], np.minimum(values + drift, np.tile(bounds[chosen], 2))])
        centers, halves = np.concatenate([centers[rest], near]), np.concatenate([halves[rest], small])
        found, used = max(found, float(values.max())), used + len(values)
        centers, halves, bounds = (part[bounds > found] for part in (centers, halves, bounds))
    return float(max(found, bounds.max(initial=0.0), _PRECISION * norm))


@dataclass(frozen=True, eq=False)
class Comparison:
    r"""Two models a and b before the clean part Q₀ of rows from Q = (1 − ε)Q₀ + εR, R anything,

    .. math:: \mathrm{MMD}^2(Q_0, b) - \mathrm{MMD}^2(Q_0, a) \in \Big[ \frac{\bar g - z\,\mathrm{se} - \varepsilon
       \sup g}{1 - \varepsilon}, \; \frac{\bar g + z\,\mathrm{se} - \varepsilon \inf g}{1 - \varepsilon} \Big].

    Attributes
    ----------
    first, second : str
        The names of a and b.
    values : (n,) array
        g at the rows, positive where a row speaks for a. At other points g is ``a.score(points) - b.score(points)``.
    error : float
        se, with the errors of both embeddings in it.
    extremes : Extremes
        inf g and sup g, and how they were bounded.
    contamination : float
        ε.
    pvalue : float
        The smaller p-value of "b is at least as close" and "a is at least as close", by Holm over all such claims.
    closer : str or None
        The name of the closer model where ``pvalue`` ≤ level; otherwise None, for no difference is shown.
    tail : float
        The probability beyond each end of ``interval``: z is its quantile.
    """

    first: str
    second: str
    values: Floats
    error: float
    extremes: Extremes
    contamination: float
    pvalue: float = 1.0
    closer: str | None = None
    tail: float = 0.025

    @property
    def mean(self) -> float:
        """ḡ."""
        return float(self.values.mean())

    @property
    def margins(self) -> tuple[float, float]:
        """By how much ḡ exceeds what the worst R could make of it, for a and for b."""
        share, ends = self.contamination, self.extremes
        return self.mean - share * ends.highest, share * ends.lowest - self.mean

    @property
    def interval(self) -> tuple[float, float]:
        """The interval above, of confidence 1 − level or more; 0 lies outside exactly where a model is closer.

        With several pairs ``tail`` belongs to the step at which Holm's procedure decides this pair.
        """
        reach, rest = -float(scipy.special.ndtri(self.tail)) * self.error, 1.0 - self.contamination
        return (self.margins[0] - reach) / rest, (reach - self.margins[1]) / rest

    @property
    def pvalues(self) -> tuple[float, float]:
        """p-values of "b is at least as close" and "a is at least as close"; 1 where rows show no error."""
        if self.error <= _NO_SPREAD * (self.extremes.highest - self.extremes.lowest):
            return 1.0, 1.0
        first, second = np.maximum(scipy.special.ndtr(-np.array(self.margins) / self.error), LEAST_LEVEL)  # never 0
        return float(first), float(second)


def compare_embeddings(
    rows: Floats, models: Mapping[str, Embedding], contamination: float, level: float = 0.05
) -> list[Comparison]:
    """Compare every pair of ``models`` on ``rows`` (n, d), of which a share ``contamination`` < 1 may be anything.

    Notes
    -----
    Proved (``docs/theory/comparison.md``): the interval, up to the normal approximation of a mean of n bounded values
    and m draws; the bounds of g; that with probability 1 − level no model is called closer that is not, over all pairs
    together. Only simulated: how good the approximation is at n = 500, and power.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> at = KernelCoordinates.from_draws([rng.normal(m, 1.0, size=(500, 1)) for m in (0.0, 0.7)])
    >>> near, far = (MixtureEmbedding(at, np.array([[m]]), np.ones((1, 1, 1)), np.ones(1)) for m in (0.0, 0.7))
    >>> x = rng.normal(size=(500, 1))
    >>> x[:20] = 8.0
    >>> found = compare_embeddings(x, {"near": near, "far": far}, contamination=0.05)
    >>> found[0].closer, found[0].extremes.kind
    ('near', 'search')
    """
    known = {name: model.score_and_error(rows) for name, model in models.items()}
    pairs = []
    for a, b in combinations(models, 2):
        g, draws = known[a][0] - known[b][0], known[a][1] + known[b][1]
        error = math.sqrt(float(g.var(ddof=1)) / len(g) + draws)
        pairs.append(Comparison(a, b, g, error, extremes_of(models[a], models[b]), contamination))
    return decide_pairs(pairs, contamination, level)


def decide_pairs(pairs: Sequence[Comparison], contamination: float, level: float) -> list[Comparison]:
    """Pairs decided together, by Holm's procedure, for another tolerated share and level."""
    pairs, decided = [replace(pair, contamination=contamination) for pair in pairs], []
    found = holm(np.array([pair.pvalues for pair in pairs]).ravel(), level)
    for pair, adjusted, tails in zip(pairs, *(part.reshape(-1, 2) for part in found), strict=True):
        best = int(adjusted.argmin())
        closer = (pair.first, pair.second)[best] if adjusted[best] <= level else None
        decided.append(replace(pair, pvalue=float(adjusted[best]), closer=closer, tail=float(tails[best])))
    return decided


def holm(pvalues: Floats, level: float) -> tuple[Floats, Floats]:
    """Holm's adjusted p-values, and the level of the step that decides each: that of the first failure after it.

    Examples
    --------
    >>> adjusted, steps = holm(np.array([0.01, 0.5, 0.03, 0.02]), 0.05)
    >>> adjusted.round(3), steps.round(4)
    (array([0.04, 0.5 , 0.06, 0.06]), array([0.0125, 0.0167, 0.0167, 0.0167]))
    """
    rank, left = np.argsort(np.argsort(pvalues, kind="stable")), np.arange(len(pvalues), 0, -1)
    stepped = np.minimum(1.0, np.maximum.accumulate(np.sort(pvalues) * left))
    stopped = min(int(np.count_nonzero(stepped <= level)), len(pvalues) - 1)
    return stepped[rank], level / left[np.minimum(rank, stopped)]
