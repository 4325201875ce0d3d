"""Tiles of the upper triangle, each used once for every answer and then dropped: exact for any n."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from steinball.arrays import Floats, like
from steinball.gram.base import GramSummary, further_answers, linear_forms, mean_squares
from steinball.gram.cost import KEPT_WEIGHTS
from steinball.gram.device import DeviceTiles, Sums
from steinball.gram.request import Request
from steinball.gram.tiles import Asked, Strip, cut_strip, tile_sums
from steinball.gram.weights import Chunk
from steinball.gram.workers import run_tasks
from steinball.progress import Progress
from steinball.stein import SteinKernel, center_of

if TYPE_CHECKING:
    from steinball.problem import Problem


CPU_TILE = 256
"""Rows of a tile on a CPU: a few such blocks of float64 fit its second-level cache."""


@dataclass(frozen=True, eq=False)
class BlockedGram:
    """The Stein Gram matrix of a problem in tiles: time n²(d + B)/2, memory one tile and n·B bytes of weights.

    ``n_jobs`` are threads for NumPy arrays; ``None`` is what joblib is configured for (its backend may be a cluster),
    or else all cores. Arrays of other libraries are worked on by their own device.
    """

    problem: Problem
    tile: int = CPU_TILE
    n_jobs: int | None = None
    progress: bool | str = False
    details: dict[str, Any] = field(default_factory=dict)

    def summarise(self, request: Request) -> GramSummary:
        """The answers of :class:`GramSummary`, in one pass over the upper triangle."""
        problem, n, request = self.problem, len(self.problem), request.checked(len(self.problem))
        if isinstance(problem.samples, np.ndarray):
            asked = Asked.of(request, n, self.n_jobs)
            strips, weight_forms = self._strips(asked), _weight_forms(asked.weights)
        else:
            tiles = DeviceTiles(problem, request, self.tile)
            self.details.update(tiles.details)
            strips, weight_forms = iter(tiles), tiles.weight_forms
        with np.errstate(over="ignore", invalid="ignore"):  # caught by the summary, by name
            forms, sums = self._accumulate(strips)
            row_means = sums[0] / n
            linear, squares = weight_forms(row_means)
        return GramSummary(
            problem.diagonal,
            like(row_means, problem.samples),
            float(sums[0].sum()) / n**2,
            forms / n**2,
            request.weights,
            "blocked",
            "exact",
            self.details,
            linear,
            mean_squares=squares,
            **further_answers(request, sums[1:], problem),
        )

    def _accumulate(self, strips: Iterator[Sums]) -> Sums:
        """Totals of the forms and of the answers by point, added strip by strip in a fixed order, in float64."""
        n = len(self.problem)
        forms, sums, starts = np.zeros(()), np.zeros((1, n)), range(0, n, self.tile)
        with Progress("Stein kernel", sum(n - start for start in starts), self.progress) as progress:
            for start, (strip_forms, strip_sums) in zip(starts, strips, strict=True):
                if start == 0:  # the first strip says how many draws and answers there are
                    forms, sums = np.zeros(strip_forms.shape), np.zeros(strip_sums.shape)
                forms += strip_forms
                sums[:, start:] += strip_sums
                progress.advance(n - start)
        return forms, sums

    def _strips(self, asked: Asked) -> Iterator[Sums]:
        problem, starts = self.problem, range(0, len(self.problem), self.tile)
        common = (problem.samples, problem.scores, *asked, problem.stein, self.tile)
        if self.n_jobs == 1 and asked.weights.size < KEPT_WEIGHTS:
            cut = functools.cache(_cutter(*common))
            return (_strip_sums(problem.stein, cut, starts[k:]) for k in range(len(starts)))
        return run_tasks(strip_task, common, starts, self.n_jobs)


def _weight_forms(weights: Chunk) -> Callable[[Floats], tuple[Floats, Floats]]:
    """From row means r to (1/n) Σ wᵢ rᵢ and (1/n) Σ wᵢ² for every row w of the weights."""
    return lambda row_means: (linear_forms(weights, row_means), mean_squares(weights))


def _cutter(
    samples: NDArray[np.floating],
    scores: NDArray[np.floating],
    weights: NDArray[np.integer],
    places: NDArray[np.integer],
    directions: NDArray[np.floating],
    stein: SteinKernel,
    tile: int,
) -> Callable[[int], Strip]:
    """A function from the first row of a strip to the strip."""
    center, asked = center_of(samples), Asked(weights, places, directions)

    def cut(first: int) -> Strip:
        part = slice(first, first + tile)
        return cut_strip(stein.prepare(samples[part], scores[part], center), asked.part(part))

    return cut


def strip_task(*common_and_start: Any) -> Sums:
    """One strip as a task of its own: the arguments of :func:`_cutter`, and where the strip begins.

    They are plain arrays, so that a cluster ships each of them once.
    """
    *common, start = common_and_start
    samples, stein, tile = common[0], common[-2], common[-1]
    with np.errstate(over="ignore", invalid="ignore"):
        return _strip_sums(stein, _cutter(*common), range(start, samples.shape[0], tile))


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
    return forms, np.concatenate([rows, *columns], axis=1)
