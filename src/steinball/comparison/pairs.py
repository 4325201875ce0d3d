"""Which of two models is closer to the clean part of the data: bounds of their preference, intervals for all pairs."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import NamedTuple

import numpy as np
import scipy

from steinball.arrays import LEAST_LEVEL, Floats
from steinball.comparison.embeddings import Embedding, kernel_values

SEARCHED_COLUMNS = 3
"""Up to so many columns the extremes are searched for; beyond, cells are too many."""

_PRECISION = 0.01  # of |μ_a − μ_b|
_MOST_CELLS = 40_000
_MOST_PAIRS = 3e8  # of cells and draws
_TOGETHER = 256


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
    >>> from steinball.comparison import KernelCoordinates, MixtureEmbedding
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
    ends = np.array([embedding.box(_PRECISION * norm) for embedding in (first, second)])
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
        near, small = _halved(centers[chosen], halves[chosen])
        values = f(near)
        drift = norm * np.sqrt(2.0 * (1.0 - kernel_values(-0.5 * np.sum(small * small, axis=1))))
        bounds = np.concatenate([bounds[rest], np.minimum(values + drift, np.tile(bounds[chosen], 2))])
        centers, halves = np.concatenate([centers[rest], near]), np.concatenate([halves[rest], small])
        found, used = max(found, float(values.max())), used + len(values)
        centers, halves, bounds = (part[bounds > found] for part in (centers, halves, bounds))
    return float(max(found, bounds.max(initial=0.0), _PRECISION * norm))


def _halved(centers: Floats, halves: Floats) -> tuple[Floats, Floats]:
    """Both halves of each cell, cut across its longest side, by center and half of the sides."""
    longest = np.arange(halves.shape[1]) == halves.argmax(axis=1)[:, None]
    halves = np.where(longest, halves / 2.0, halves)
    step = np.where(longest, halves, 0.0)
    return np.concatenate([centers - step, centers + step]), np.concatenate([halves, halves])


_NO_SPREAD = 1e-12


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
        """Of "b is at least as close" and "a is at least as close"; 1 where all rows are alike and show no error."""
        if self.error <= _NO_SPREAD * (self.extremes.highest - self.extremes.lowest):
            return 1.0, 1.0
        first, second = (
            max(float(scipy.special.ndtr(-margin / self.error)), LEAST_LEVEL) for margin in self.margins
        )  # never 0
        return first, second

    def _decided(self, adjusted: Floats, tails: Floats, level: float) -> Comparison:
        best = int(adjusted.argmin())
        closer = (self.first, self.second)[best] if adjusted[best] <= level else None
        return replace(self, pvalue=float(adjusted[best]), closer=closer, tail=float(tails[best]))


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
    >>> from steinball.comparison import KernelCoordinates, MixtureEmbedding
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
    """The same pairs decided together, by Holm's procedure, for another tolerated share and level."""
    pairs = [replace(pair, contamination=contamination) for pair in pairs]
    adjusted, tails = holm(np.array([pair.pvalues for pair in pairs]).ravel(), level)
    return [pair._decided(adjusted[2 * i :][:2], tails[2 * i :][:2], level) for i, pair in enumerate(pairs)]


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
