"""Tiles of the upper triangle, each used once for every answer and then dropped: exact for any n."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steinball.arrays import like
from steinball.gram.base import GramSummary, linear_forms
from steinball.gram.cost import KEPT_WEIGHTS
from steinball.gram.device import DeviceTiles
from steinball.gram.tiles import Strip, cut_strip, tile_sums
from steinball.gram.weights import Weights, gather
from steinball.gram.workers import run_tasks
from steinball.progress import Progress
from steinball.stein import SteinKernel, SteinProblem, center_of

CPU_TILE = 256
"""Rows of a tile on a CPU: a few such blocks of float64 fit its second-level cache."""

Sums = tuple[NDArray[np.float64], NDArray[np.float64]]


@dataclass(frozen=True, eq=False)
class BlockedGram:
    """The Stein Gram matrix of a problem in tiles: time n²(d + B)/2, memory one tile and n·B bytes of weights.

    Parameters
    ----------
    problem : SteinProblem
    tile : int
        Rows and columns of a tile.
    n_jobs : int or None
        Threads for NumPy arrays; ``None`` is what joblib is configured for (its backend may be a cluster), or else all
        cores. Arrays of other libraries are worked on by their own device.
    progress : bool or "auto"
        Whether to show progress.
    """

    problem: SteinProblem
    tile: int = CPU_TILE
    n_jobs: int | None = None
    progress: bool | str = False
    details: dict[str, Any] = field(default_factory=dict)

    def summarise(self, weights: Weights) -> GramSummary:
        """The answers of :class:`GramSummary`, in one pass over the upper triangle."""
        problem, n = self.problem, len(self.problem)
        on_host = isinstance(problem.samples, np.ndarray)
        rows = gather(weights, n, self.n_jobs if on_host else None)
        tiles = None if on_host else DeviceTiles(problem, rows, self.tile)
        if tiles is not None:
            self.details.update(tiles.details)
        with np.errstate(over="ignore", invalid="ignore"):  # caught by the summary, by name
            forms, sums = self._accumulate(rows.shape[0], self._strips(rows) if tiles is None else iter(tiles))
            linear = linear_forms(rows, sums / n) if tiles is None else tiles.linear_forms(sums / n)
        return GramSummary(
            problem.diagonal,
            like(sums / n, problem.samples),
            float(sums.sum()) / n**2,
            forms / n**2,
            weights,
            "blocked",
            "exact",
            self.details,
            linear,
        )

    def _accumulate(self, draws: int, strips: Iterator[Sums]) -> Sums:
        """Totals of the quadratic forms and of the rows, added strip by strip in a fixed order, in float64."""
        n = len(self.problem)
        forms, sums = np.zeros(draws), np.zeros(n)
        starts = range(0, n, self.tile)
        with Progress("Stein kernel", self._work(starts), self.progress) as progress:
            for start, (strip_forms, strip_sums) in zip(starts, strips, strict=True):
                forms += strip_forms
                sums[start:] += strip_sums
                progress.advance(n - start)
        return forms, sums

    def _work(self, starts: range) -> int:
        return sum(len(self.problem) - start for start in starts)

    def _strips(self, weights: NDArray[np.integer]) -> Iterator[Sums]:
        problem, starts = self.problem, range(0, len(self.problem), self.tile)
        common = (problem.samples, problem.scores, weights, problem.stein, self.tile)
        if self.n_jobs == 1 and weights.size < KEPT_WEIGHTS:
            cut = functools.cache(_cutter(*common))
            return (_strip_sums(problem.stein, cut, starts[k:]) for k in range(len(starts)))
        return run_tasks(strip_task, common, starts, self.n_jobs)


def _cutter(
    samples: NDArray[np.floating],
    scores: NDArray[np.floating],
    weights: NDArray[np.integer],
    stein: SteinKernel,
    tile: int,
) -> Callable[[int], Strip]:
    """A function from the first row of a strip to the strip."""
    center = center_of(samples)

    def cut(first: int) -> Strip:
        part = slice(first, first + tile)
        return cut_strip(stein.prepare(samples[part], scores[part], center), weights[:, part])

    return cut


def strip_task(
    samples: NDArray[np.floating],
    scores: NDArray[np.floating],
    weights: NDArray[np.integer],
    stein: SteinKernel,
    tile: int,
    start: int,
) -> Sums:
    """One strip as a task of its own. Its arguments are plain arrays, so that a cluster ships each of them once."""
    cut = _cutter(samples, scores, weights, stein, tile)
    with np.errstate(over="ignore", invalid="ignore"):
        return _strip_sums(stein, cut, range(start, samples.shape[0], tile))


def _strip_sums(stein: SteinKernel, cut: Callable[[int], Strip], firsts: range) -> Sums:
    """Over the tiles of one strip of rows, from the diagonal to the right: the forms, and sums of rows and columns."""
    here = cut(firsts[0])
    forms, rows, _ = tile_sums(stein, here, here)
    columns = []
    for first in firsts[1:]:
        tile_forms, tile_rows, tile_columns = tile_sums(stein, here, cut(first))
        forms += 2.0 * tile_forms  # for itself and for its mirror image below the diagonal
        rows += tile_rows
        columns.append(tile_columns)
    return forms, np.concatenate([rows, *columns])
