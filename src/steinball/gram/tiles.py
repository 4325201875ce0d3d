"""One tile of the Stein Gram matrix, and what is kept of it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from steinball.arrays import Array, like, namespace
from steinball.stein import SteinKernel, SteinPoints


@dataclass(frozen=True, eq=False)
class Strip:
    """Points of one strip, their tilt weights (ones without a tilt), and w·v for every row v of bootstrap weights."""

    points: SteinPoints
    weight: Array
    bootstrap: Array


def cut_strip(points: SteinPoints, weights: Array) -> Strip:
    """A strip; the tilt goes into the vectors that a tile is multiplied by, not into the tile."""
    xp = namespace(points.z)
    bootstrap = like(weights, points.z) if isinstance(weights, np.ndarray) else xp.astype(weights, points.z.dtype)
    if points.weight is None:
        return Strip(points, xp.ones_like(points.z[:, 0]), bootstrap)
    bootstrap *= points.weight[None, :]
    return Strip(points, points.weight, bootstrap)


def tile_sums(stein: SteinKernel, rows: Strip, columns: Strip, fused: bool = False) -> tuple[Array, Array, Array]:
    """Of the tile u(rows, columns): vᵀ u v′ for every bootstrap row, row sums, column sums."""
    xp = namespace(rows.weight)
    tile = stein.untilted_block(rows.points, columns.points, fused)
    if fused:  # elementwise, so that no matrix unit rounds them
        row_sums = rows.weight * xp.sum(tile * columns.weight[None, :], axis=1)
        column_sums = columns.weight * xp.sum(tile * rows.weight[:, None], axis=0)
    else:
        row_sums = rows.weight * xp.matmul(tile, columns.weight)
        column_sums = columns.weight * xp.matmul(rows.weight, tile)
    products = xp.matmul(rows.bootstrap, tile)
    products *= columns.bootstrap
    return xp.sum(products, axis=1), row_sums, column_sums
