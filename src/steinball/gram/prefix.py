"""What each point adds to the points before it, in several orders: all that betting needs of the pairs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import array_api_compat
import numpy as np
from numpy.typing import NDArray

from steinball.arrays import Array, namespace, to_host
from steinball.gram.blocked import CPU_TILE
from steinball.gram.workers import run_tasks
from steinball.progress import Progress
from steinball.stein import SteinKernel, SteinProblem, center_of

__all__ = ["PrefixSums", "prefix_sums"]

Ranks = NDArray[np.int64]

DEVICE_TILE = 4096


@dataclass(frozen=True, eq=False)
class PrefixSums:
    r"""Two (K, n) arrays: a row is one order of the points, and its t-th entry belongs to the t-th point of that order.

    .. math:: \text{sums}_t = \sum_{s < t} u(x_s, x_t), \qquad \text{diagonal}_t = u(x_t, x_t).

    Examples
    --------
    >>> PrefixSums(np.array([[0.0, 0.5]]), np.array([[1.0, 2.0]])).squares
    array([[1., 4.]])
    """

    sums: NDArray[np.float64]
    diagonal: NDArray[np.float64]

    @property
    def squares(self) -> NDArray[np.float64]:
        r""":math:`|S_t|^2` of the sums :math:`S_t = \sum_{s \le t} u(\cdot, x_s)`: each grows by 2 sums + diagonal."""
        return np.cumsum(2.0 * self.sums + self.diagonal, axis=1)


def prefix_sums(
    problem: SteinProblem,
    ranks: NDArray[np.integer],
    tile: int | None = None,
    n_jobs: int | None = None,
    progress: bool | str = False,
) -> PrefixSums:
    """Sums of the Stein kernel over the points before each point, for K orders in one pass over the upper triangle.

    Parameters
    ----------
    problem : SteinProblem
    ranks : (K, n) integers
        ``ranks[k, i]`` is the place of point i in order k; every row is a permutation of 0, …, n − 1.
    tile : int, optional
        Rows and columns of a tile: up to that many points the matrix is formed whole, beyond that the memory is one
        tile. By default 256 for NumPy and 4096 for libraries with a device of their own.
    n_jobs : int or None
        Threads for NumPy arrays, as in :class:`BlockedGram`. Other libraries work on their own device.
    progress : bool or "auto"
        Whether to show progress.

    Notes
    -----
    Time n²(d + K)/2. Sums over a tile are in the precision of the samples, sums of tiles on the host in float64.

    Examples
    --------
    >>> from steinball.problem import pose
    >>> from steinball.kernels import InverseMultiquadric
    >>> problem = pose([[0.0], [1.0]], lambda x: -x, InverseMultiquadric(1.0))
    >>> prefix_sums(problem, np.array([[0, 1], [1, 0]])).sums.round(5)
    array([[ 0.     , -0.53033],
           [ 0.     , -0.53033]])
    """
    ranks, n = _checked(ranks, len(problem)), len(problem)
    tile = tile or (CPU_TILE if isinstance(problem.samples, np.ndarray) else DEVICE_TILE)
    by_point, starts = np.zeros(ranks.shape), range(0, n, tile)
    with Progress("bets", n * (n + tile) / 2, progress) as shown, np.errstate(over="ignore", invalid="ignore"):
        for start, strip in zip(starts, _strips(problem, ranks, starts, n_jobs), strict=True):
            by_point[:, start:] += strip
            shown.advance((n - start) * min(tile, n - start))
    if not np.isfinite(by_point).all():
        raise FloatingPointError("sums of the Stein kernel overflow: rescale `samples`, use float64, or use a tilt.")
    order = np.argsort(ranks, axis=1)
    return PrefixSums(np.take_along_axis(by_point, order, axis=1), to_host(problem.diagonal)[order])


def _checked(ranks: NDArray[np.integer], n: int) -> Ranks:
    ranks = np.asarray(ranks)
    if ranks.ndim != 2 or ranks.shape[1] != n or not (np.sort(ranks, axis=1) == np.arange(n)).all():
        raise ValueError(f"`ranks` must hold a permutation of 0, …, {n - 1} in each row, got shape {ranks.shape}.")
    return ranks.astype(np.int64)


def _strips(problem: SteinProblem, ranks: Ranks, starts: range, n_jobs: int | None) -> Iterator[NDArray[np.float64]]:
    """For every strip of rows, what it adds to the sums of its own points and of those behind."""
    common = (problem.samples, problem.scores, ranks, problem.stein, starts.step)
    if isinstance(problem.samples, np.ndarray):
        return run_tasks(prefix_strip, common, starts, n_jobs)
    return (prefix_strip(*common, start) for start in starts)


def prefix_strip(
    samples: Array, scores: Array, ranks: Ranks, stein: SteinKernel, tile: int, start: int
) -> NDArray[np.float64]:
    """One strip of tiles, from the diagonal to the right; (K, n − start). Plain arrays, for clusters ship them once."""
    center = center_of(samples)

    def cut(first: int) -> tuple[Any, Array]:
        part = slice(first, min(first + tile, samples.shape[0]))
        return stein.prepare(samples[part, :], scores[part, :], center), _on_device(ranks[:, part], samples)

    here, places = cut(start)
    _, columns = _tile_sums(stein.block(here, here), places, places)
    parts = [columns]  # a pair of one tile stands in it twice, once on either side of the diagonal
    total = np.zeros_like(columns)
    for first in range(start + tile, samples.shape[0], tile):
        there, their_places = cut(first)
        rows, columns = _tile_sums(stein.block(here, there), places, their_places)
        total += rows
        parts.append(columns)
    parts[0] = parts[0] + total
    return np.concatenate(parts, axis=1)


def _on_device(ranks: Ranks, samples: Array) -> Array:
    return namespace(samples).asarray(ranks, device=array_api_compat.device(samples))


def _tile_sums(block: Array, rows: Array, columns: Array) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """For every order: to each row its sum over columns before it, and to each column its sum over rows before it."""
    xp, nothing = namespace(block), namespace(block).zeros_like(block)
    row_sums, column_sums = [], []
    for k in range(rows.shape[0]):
        place, other = rows[k, :][:, None], columns[k, :][None, :]
        row_sums.append(to_host(xp.sum(xp.where(other < place, block, nothing), axis=1)))
        column_sums.append(to_host(xp.sum(xp.where(place < other, block, nothing), axis=0)))
    return np.stack(row_sums), np.stack(column_sums)
