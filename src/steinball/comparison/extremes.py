r"""The largest and smallest value of the preference g = 2(μ_a − μ_b) + |μ_b|² − |μ_a|² over all x, by proved bounds."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from steinball.arrays import Floats
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
