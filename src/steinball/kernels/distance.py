"""Squared distances between two sets of points."""

from __future__ import annotations

import numpy as np

from steinball.arrays import Array, Floats, like, namespace


def metric_root(metric: Floats) -> Floats:
    """A root L of the metric, C = L Lᵀ, so that r² = |Lᵀx − Lᵀy|²."""
    return np.asarray(np.linalg.cholesky(metric))


def direct_squared_distances(x: Array, y: Array) -> Array:
    """|xᵢ − yⱼ|² from the differences themselves: no cancellation, one pass over (n, m) per coordinate."""
    r2 = (x[:, None, 0] - y[None, :, 0]) ** 2  # (n, m)
    for k in range(1, x.shape[1]):
        r2 += (x[:, None, k] - y[None, :, k]) ** 2
    return r2


def squared_distances(x: Array, y: Array, metric: Floats | None = None) -> Array:
    """r² = (x − y)ᵀC(x − y) for every pair, shape (n, m)."""
    if metric is not None:
        root = like(metric_root(metric), x)
        xp = namespace(x)
        x, y = xp.matmul(x, root), xp.matmul(y, root)
    return direct_squared_distances(x, y)
