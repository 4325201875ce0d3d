"""Lone far points, which count for little in a tilted test however wrong they are."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import pdist

from steinball.arrays import Floats

__all__ = ["far_points"]

_REFERENCES = 1_000
_CANDIDATES = 1_000
_NEAR = np.sqrt(3.0)  # in median distances: where the default kernel has fallen to one half
_FEW = 0.01


def far_points(samples: Floats) -> NDArray[np.intp]:
    """The points with hardly another one near them, the farthest from the middle first.

    Each coordinate is measured in units of its own spread. A point is far if at most 1 % of the points, itself left
    out, lie within √3 median distances of it, and it lies further out than half of them.

    Examples
    --------
    >>> x = np.random.default_rng(0).normal(size=(200, 1))
    >>> x[7] = 30.0
    >>> far_points(x)
    array([7])
    """
    z = _standardized(samples)
    out = np.sqrt(np.square(z).sum(axis=1))
    candidates = np.argsort(-out, kind="stable")[:_CANDIDATES]
    candidates = candidates[out[candidates] > np.median(out)]
    references = np.unique(np.linspace(0, len(z) - 1, _REFERENCES).astype(np.intp))
    reach = (_NEAR * (float(np.median(pdist(z[references]))) or 1.0)) ** 2
    return np.array([i for i in candidates if _is_alone(z, i, references, reach)], dtype=np.intp)


def _standardized(samples: Floats) -> Floats:
    """Coordinates from their median, in units of their median absolute deviation where that is not 0."""
    z = samples - np.median(samples, axis=0)
    spread = np.median(np.abs(z), axis=0)
    spread = np.where(spread > 0.0, spread, np.abs(z).mean(axis=0))
    return np.asarray(z / np.where(spread > 0.0, spread, 1.0))


def _is_alone(z: Floats, i: int, references: NDArray[np.intp], reach: float) -> bool:
    near = np.square(z[references] - z[i]).sum(axis=1) <= reach
    return int(np.sum(near & (references != i))) <= _FEW * len(references)
