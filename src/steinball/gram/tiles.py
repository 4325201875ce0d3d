"""One tile of the Stein Gram matrix, what is kept of it, and sums over the points before each point."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import array_api_compat
import numpy as np
from numpy.typing import NDArray

from steinball.arrays import Array, Floats, OutOfRangeError, like, namespace, to_host
from steinball.gram.request import Request
from steinball.gram.weights import gather
from steinball.stein import SteinKernel, SteinPoints

_COLUMNS = 64  # of a symmetric matrix that are multiplied together


class Asked(NamedTuple):
    """A request in arrays with one column for every point, and no rows where nothing is asked for.

    Bootstrap weights (B, n), places in the orders (K, n), and the directions (p, n).
    """

    weights: Array
    places: Array
    directions: Array

    @classmethod
    def of(cls, request: Request, n: int, n_jobs: int | None = 1) -> Asked:
        """All weights of the request as one matrix, drawn by several threads when they are many."""
        places = np.empty((0, n), np.int32) if request.orders is None else request.orders
        directions = np.empty((n, 0)) if request.directions is None else to_host(request.directions)
        return cls(gather(request.weights, n, n_jobs), places, directions.T)

    def part(self, points: slice) -> Asked:
        """The columns of some of the points."""
        return Asked(*(rows[:, points] for rows in self))

    def orders(self) -> tuple[Array, ...]:
        """The places in each of the orders, (n,)."""
        return tuple(self.places[k, :] for k in range(self.places.shape[0]))

    def on_device_of(self, samples: Array, padding: int = 0) -> Asked:
        """The same on the device of ``samples``, with columns of zeros for so many further points."""
        xp, device = namespace(samples), array_api_compat.device(samples)
        padded = [np.pad(rows, ((0, 0), (0, padding))) if padding else rows for rows in self]
        weights, places = (xp.asarray(rows, device=device) for rows in padded[:2])
        return Asked(weights, places, like(padded[2], samples))


@dataclass(frozen=True, eq=False)
class Strip:
    """Points of one strip, their tilt weights w (ones without a tilt), and what a tile of them is multiplied by.

    ``bootstrap`` is w·v for every row v of bootstrap weights, (B, m), and ``directions`` the same for directions,
    (p, m); ``places`` are those of the points in each of the K orders, (m,): apart, since compilers look at strides.
    """

    points: SteinPoints
    weight: Array
    bootstrap: Array
    directions: Array
    places: tuple[Array, ...]


def cut_strip(points: SteinPoints, asked: Asked) -> Strip:
    """A strip; the tilt goes into the vectors that a tile is multiplied by, not into the tile."""
    xp, weights = namespace(points.z), asked.weights
    bootstrap = like(weights, points.z) if isinstance(weights, np.ndarray) else xp.astype(weights, points.z.dtype)
    directions, places = like(asked.directions, points.z), asked.orders()
    if points.weight is None:
        return Strip(points, xp.ones_like(points.z[:, 0]), bootstrap, directions, places)
    bootstrap *= points.weight[None, :]
    return Strip(points, points.weight, bootstrap, directions * points.weight[None, :], places)


def tile_sums(stein: SteinKernel, rows: Strip, columns: Strip, fused: bool = False) -> tuple[Array, Array, Array]:
    """Of the tile u(rows, columns): vᵀ u v′ for every bootstrap row; and for its rows, then for its columns, an array
    (1 + K + p, m) of their sums, of their sums over earlier points in every order, and of products with directions."""
    xp = namespace(rows.weight)
    tile = stein.untilted_block(rows.points, columns.points, fused)
    answers = [_sums(tile, rows, columns, fused)]
    if rows.places:
        block = rows.weight[:, None] * tile * columns.weight[None, :]
        answers.append(earlier_sums(block, rows.places, columns.places))
    if rows.directions.shape[0]:
        answers.append(_direction_products(tile, rows, columns))
    across, down = (xp.concat(list(parts), axis=0) for parts in zip(*answers, strict=True))
    return _forms(rows, columns, tile), across, down


def _forms(rows: Strip, columns: Strip, tile: Array) -> Array:
    """v u v′ for every bootstrap row; a tile of NumPy on the diagonal is one strip against itself."""
    if isinstance(tile, np.ndarray) and rows is columns:
        return symmetric_forms(rows.bootstrap, tile)
    xp = namespace(tile)
    products = xp.matmul(rows.bootstrap, tile)
    if isinstance(tile, np.ndarray):
        return np.vecdot(products, columns.bootstrap)
    products *= columns.bootstrap
    return xp.sum(products, axis=1)


def symmetric_forms(rows: Floats, matrix: Floats) -> Floats:
    """v u vᵀ for every row v (B, m) and a symmetric u (m, m), of which blocks below the diagonal stand for those above:
    fewer operations than a whole product."""
    forms = np.zeros(len(rows), rows.dtype)
    for start in range(0, len(matrix), _COLUMNS):
        stop = start + _COLUMNS
        below = 2.0 * matrix[start:, start:stop]
        below[:_COLUMNS] *= 0.5  # the block on the diagonal has no mirror image
        forms += np.vecdot(rows[:, start:] @ below, rows[:, start:stop])
    return forms


def _sums(tile: Array, rows: Strip, columns: Strip, fused: bool) -> tuple[Array, Array]:
    xp = namespace(tile)
    if fused:  # elementwise: a compiler adds up in the pass that makes the tile
        row_sums = rows.weight * xp.sum(tile * columns.weight[None, :], axis=1)
        column_sums = columns.weight * xp.sum(tile * rows.weight[:, None], axis=0)
    else:
        row_sums = rows.weight * xp.matmul(tile, columns.weight)
        column_sums = columns.weight * xp.matmul(rows.weight, tile)
    return row_sums[None, :], column_sums[None, :]


def _direction_products(tile: Array, rows: Strip, columns: Strip) -> tuple[Array, Array]:
    xp = namespace(tile)
    across = xp.matmul(columns.directions, tile.T)
    down = across if rows is columns else xp.matmul(rows.directions, tile)
    return across * rows.weight[None, :], down * columns.weight[None, :]


def earlier_sums(block: Array, rows: tuple[Array, ...], columns: tuple[Array, ...]) -> tuple[Array, Array]:
    """For every order, in which ``rows`` and ``columns`` are places: to each row its sum over the columns before it,
    (K, m), and to each column its sum over the rows before it, (K, m′)."""
    xp, nothing = namespace(block), namespace(block).zeros_like(block[:1, :1])
    row_sums, column_sums = [], []
    for here, there in zip(rows, columns, strict=True):
        place, other = here[:, None], there[None, :]
        row_sums.append(xp.sum(xp.where(other < place, block, nothing), axis=1))
        column_sums.append(xp.sum(xp.where(place < other, block, nothing), axis=0))
    return xp.stack(row_sums), xp.stack(column_sums)


@dataclass(frozen=True, eq=False)
class PrefixSums:
    r"""Two (K, n) arrays: a row is one order of the points, and its t-th entry belongs to the t-th point of that order.

    .. math:: \text{sums}_t = \sum_{s < t} u(x_s, x_t), \qquad \text{diagonal}_t = u(x_t, x_t).

    Examples
    --------
    >>> PrefixSums(np.array([[0.0, 0.5]]), np.array([[1.0, 2.0]])).squares
    array([[1., 4.]])
    """

    sums: Floats
    diagonal: Floats

    def __post_init__(self) -> None:
        if not np.isfinite(self.sums).all():
            raise OutOfRangeError(
                "sums of the Stein kernel over earlier points overflow: rescale `samples`, use float64, or use a tilt."
            )

    @classmethod
    def in_order(cls, by_point: Floats, diagonal: Floats, orders: NDArray[np.integer]) -> PrefixSums:
        """From the sums (K, n) and the diagonal (n,) with the points as they came."""
        places = np.argsort(orders, axis=1)
        return cls(np.take_along_axis(by_point, places, axis=1), diagonal[places])

    @property
    def squares(self) -> Floats:
        r""":math:`|S_t|^2` of the sums :math:`S_t = \sum_{s \le t} u(\cdot, x_s)`: each grows by 2 sums + diagonal."""
        return np.cumsum(2.0 * self.sums + self.diagonal, axis=1)


@dataclass(frozen=True, eq=False)
class PrefixNorms:
    r"""Of M samples of n points of the model: the lengths of their partial sums, and a random number for each.

    .. math:: \text{norms}_{jm} = \Big| \sum_{i \le m} \varphi(Y_{ji}) \Big|, \qquad m = 0, \dots, n.

    Parameters
    ----------
    norms : (M, n + 1) array
        One row per sample: M·n numbers of 8 bytes.
    uniforms : (M,) array
        Uniform on [0, 1), independent of the samples: how many points of each are taken for contaminated.

    Examples
    --------
    >>> norms = PrefixNorms(np.array([[0.0, 1.0, 1.5]]), np.array([0.3]))
    >>> PrefixNorms.joined([norms, norms]).norms.shape
    (2, 3)
    """

    norms: Floats
    uniforms: Floats

    def __post_init__(self) -> None:
        if not np.isfinite(self.norms).all():
            raise OutOfRangeError(
                "sums of the Stein kernel over draws of the model overflow: rescale the model and `samples`, use "
                "float64, or use a tilt."
            )

    @classmethod
    def joined(cls, parts: Sequence[PrefixNorms]) -> PrefixNorms:
        """Several of them, one below the other."""
        return cls(np.concatenate([part.norms for part in parts]), np.concatenate([part.uniforms for part in parts]))
