"""The Gram matrix as a whole, with points that the model excludes, and beside whole samples of the model."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from steinball.arrays import Array, Floats, chunks, dtype_name, generator_at, like, namespace, take_rows, to_host
from steinball.gram.base import Gram, GramSummary, further_answers, mean_squares
from steinball.gram.request import Replicates, Request
from steinball.gram.tiles import Asked, PrefixNorms, PrefixSums, earlier_sums, symmetric_forms
from steinball.gram.workers import share_threads
from steinball.models.knowledge import Knowledge
from steinball.models.support import off_edges
from steinball.progress import counted
from steinball.stein import SteinKernel, SteinPoints

if TYPE_CHECKING:
    from steinball.problem import Problem


@dataclass(frozen=True, eq=False)
class DenseGram:
    """The Stein Gram matrix of a problem, computed and held as a whole: time n²(d + B), memory n²."""

    problem: Problem

    def summarise(self, request: Request) -> GramSummary:
        """The answers of :class:`GramSummary`."""
        problem, n = self.problem, len(self.problem)
        xp, request = namespace(problem.samples), request.checked(n)
        with np.errstate(over="ignore", invalid="ignore"):  # caught by the summary, by name
            matrix = problem.stein.block(problem.points, problem.points)
            row_means = xp.sum(matrix, axis=1) / n
            drawn = Asked.of(request, n)
            asked = drawn.on_device_of(matrix)
            forms, linear = (_host_forms if xp is np else _device_forms)(asked.weights, matrix, row_means)
            further = xp.matmul(asked.directions, matrix)
            if places := asked.orders():
                further = xp.concat([earlier_sums(matrix, places, places)[1], further], axis=0)
        return GramSummary(
            problem.diagonal,
            row_means,
            float(to_host(row_means).mean()),
            to_host(forms) / n**2,
            request.weights,
            "dense",
            "exact",
            linear_forms=to_host(linear) / n,
            mean_squares=mean_squares(drawn.weights),
            **further_answers(request, to_host(further), problem),
        )


def _host_forms(weights: Array, matrix: Floats, row_means: Floats) -> tuple[Floats, Floats]:
    """v u vᵀ and v m for every row v of weights, with m the row means; short rows a few at a time, in memory that is
    at hand: a larger piece is asked of the system and zeroed for every test."""
    count = max(1, len(weights))
    parts = chunks(count, 1, count if len(matrix) > _SHORT else _TOGETHER)
    pieces = (weights[part].astype(matrix.dtype) for part in parts)
    found = [(symmetric_forms(rows, matrix), rows @ row_means) for rows in pieces]
    forms, linear = (np.concatenate(one) for one in zip(*found, strict=True))
    return forms, linear


def _device_forms(weights: Array, matrix: Array, row_means: Array) -> tuple[Array, Array]:
    """The same on a device, of all rows at once."""
    xp = namespace(matrix)
    rows = xp.astype(weights, matrix.dtype)
    return xp.sum(xp.matmul(rows, matrix) * rows, axis=1), xp.matmul(rows, row_means)


_SHORT, _TOGETHER = 64, 256  # numbers of a row, and rows, that are widened together: up to 128 KiB

Index = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class IsolatedGram:
    r"""The Gram matrix of n points of which some are isolated: with U that of the others,

    .. math:: \begin{pmatrix} U & 0 \\ 0 & \tau 1 1^\top \end{pmatrix}

    in the order of the points: the Stein functions have got one more, √τ outside the support and 0 inside. Every answer
    follows from that of ``others``, exactly (docs/theory/edges.md).

    Parameters
    ----------
    others : Gram
        Of the points that are not isolated.
    n : int
        Number of points in all.
    isolated : (m,) integers
        Their places.
    tau : float
        τ.
    """

    others: Gram
    n: int
    isolated: Index
    tau: float

    @cached_property
    def _rows(self) -> Index:
        return np.setdiff1d(np.arange(self.n), self.isolated)

    def summarise(self, request: Request) -> GramSummary:
        """The answers for all points, in one pass over those that are not isolated."""
        request, m = request.checked(self.n), len(self.isolated)
        found = self.others.summarise(self._inner(request))
        own = np.concatenate([np.empty((0, m)), *(chunk[:, self.isolated] for chunk in request.weights)])
        sums, share = own.sum(axis=1), len(self._rows) / self.n

        def joined(values: Any, more: Any) -> Any:  # of a sum over all pairs, or of both bounds of one
            return None if values is None else share**2 * np.asarray(values) + self.tau * more / self.n**2

        products = found.direction_products
        pull = 0.0 if products is None else to_host(request.directions)[self.isolated].sum(axis=0)  # Σ S over them
        return replace(
            found,
            diagonal=self._spread(found.diagonal, 1.0, self.tau),
            row_means=self._spread(found.row_means, share, self.tau * (m / self.n)),
            mean=float(joined(found.mean, m**2)),
            quadratic_forms=joined(found.quadratic_forms, sums**2),
            linear_forms=joined(found.linear_forms, m * sums),
            mean_squares=found.mean_squares * share + np.square(own).sum(axis=1) / self.n,
            weights=request.weights,
            mean_bounds=joined(found.mean_bounds, m**2),
            form_bounds=joined(found.form_bounds, sums**2),
            linear_bounds=joined(found.linear_bounds, m * sums),
            prefix_sums=self._prefix_sums(request, found),
            direction_products=None if products is None else self._spread(products, 1.0, self.tau * pull),
        )

    def _inner(self, request: Request) -> Request:
        """What is asked of the others: their columns, and their order among themselves."""
        rows, orders, directions = self._rows, request.orders, request.directions
        return replace(
            request,
            weights=[chunk[:, rows] for chunk in request.weights],
            orders=None if orders is None else _places(orders[:, rows]),
            directions=None if directions is None else take_rows(directions, rows),
        )

    def _spread(self, values: Array, factor: float, alone: Any) -> Array:
        """Values of the others times ``factor``, and those of the isolated points, in the order of all."""
        whole = np.empty((self.n, *values.shape[1:]))
        whole[self._rows], whole[self.isolated] = to_host(values) * factor, alone
        return like(whole, values)

    def _prefix_sums(self, request: Request, found: GramSummary) -> PrefixSums | None:
        """Isolated points add τ to the sums of later ones of their kind, and nothing to others."""
        if request.orders is None or found.prefix_sums is None:
            return None
        sums = np.zeros((len(request.orders), self.n))
        inner = _places(request.orders[:, self._rows])
        sums[:, self._rows] = np.take_along_axis(found.prefix_sums.sums, inner, axis=1)
        sums[:, self.isolated] = self.tau * _places(request.orders[:, self.isolated])
        return PrefixSums.in_order(sums, to_host(self._spread(found.diagonal, 1.0, self.tau)), request.orders)


def _places(orders: NDArray[np.integer]) -> Index:
    """The places that some points have among themselves, in each row of orders."""
    return np.argsort(np.argsort(orders, axis=1), axis=1)


CHUNK = 16
"""Samples that are drawn together. It fixes which random numbers a sample sees, so it is part of the results."""

_BRANCH = 3  # below the seed of the test, apart from jumps


@dataclass(frozen=True, eq=False)
class ReplicatedGram:
    """A Gram matrix that is also asked about samples of the model of the same size.

    Drawing and scoring go through the user's model one chunk at a time; the sums over pairs run on ``n_jobs`` threads,
    or on the device of the samples. Time M·n²(d + 1)/2 for M samples, memory M·n numbers and a few tiles.
    """

    gram: Gram
    problem: Problem
    tile: int
    n_jobs: int = 1
    progress: bool | str = False

    def summarise(self, request: Request) -> GramSummary:
        """The answers of ``gram``, and the lengths of sums over the samples that ``request.replicates`` names."""
        wanted = request.replicates
        found = self.gram.summarise(replace(request, replicates=None))
        return found if wanted is None else replace(found, prefix_norms=self._norms(wanted))

    def _norms(self, wanted: Replicates) -> PrefixNorms:
        chunks, lock = range(wanted.start // CHUNK, -(-wanted.stop // CHUNK)), Lock()
        parts = share_threads(lambda k: self._chunk(wanted, k, lock), chunks, self.n_jobs)
        return PrefixNorms.joined(list(counted(parts, "samples of the model", len(chunks), self.progress)))

    def _chunk(self, wanted: Replicates, k: int, lock: Lock) -> PrefixNorms:
        """Those samples of the k-th chunk that are wanted; the model is asked by one thread at a time."""
        below = np.random.SeedSequence(wanted.seed.entropy, spawn_key=(*wanted.seed.spawn_key, _BRANCH))
        generator, n = generator_at(below, k), wanted.n
        with lock:
            uniforms = generator.random(CHUNK)
            samples = self._samples(CHUNK * n, generator)
            drawn = self.problem.at(samples)
        kept = range(max(0, wanted.start - k * CHUNK), min(CHUNK, wanted.stop - k * CHUNK))
        points = drawn.points
        diagonal = to_host(drawn.diagonal).reshape(CHUNK, n)
        stein, tile = self.problem.stein, self.tile
        rows = [prefix_norms(stein, points.rows(j * n, (j + 1) * n), diagonal[j], tile) for j in kept]
        return PrefixNorms(np.array(rows).reshape(len(kept), n + 1), uniforms[kept.start : kept.stop])

    def _samples(self, count: int, generator: np.random.Generator) -> Array:
        """Draws of the model beside the data, those that were rounded onto an edge moved off it."""
        template, support = self.problem.samples, self.problem.support
        draws = Knowledge(self.problem.model).needed_draws(count, generator)
        if draws.shape != (count, template.shape[1]):
            raise ValueError(
                f"`model.sample({count}, rng)` must return {count} rows of {template.shape[1]} columns, got shape "
                f"{draws.shape}."
            )
        return like(off_edges(draws, support, dtype_name(template)), template)


def prefix_norms(stein: SteinKernel, points: SteinPoints, diagonal: Floats, tile: int) -> Floats:
    r"""The lengths of the sums of the first m features, m = 0, …, n, from tiles of the upper triangle

    .. math:: |S_m|^2 = |S_{m-1}|^2 + 2 \sum_{s < m} u(x_s, x_m) + u(x_m, x_m).

    Parameters
    ----------
    stein, points
        The Stein kernel, and n points ready for its blocks.
    diagonal : (n,) array
        u(xᵢ, xᵢ).
    tile : int
        Rows of a tile.

    Examples
    --------
    >>> from steinball.kernels import InverseMultiquadric
    >>> x = np.array([[0.0], [1.0]])
    >>> stein = SteinKernel(InverseMultiquadric(1.0))
    >>> prefix_norms(stein, stein.prepare(x, -x, np.zeros(1)), np.array([1.0, 2.0]), 8).round(4)
    array([0.    , 1.    , 1.3926])
    """
    n = len(points)
    strips = [points.rows(start, min(start + tile, n)) for start in range(0, n, tile)]
    with np.errstate(over="ignore", invalid="ignore"):  # caught by name when the norms are put together
        earlier = [_earlier(stein, strips[: k + 1]) for k in range(len(strips))]
        squares = np.cumsum(2.0 * np.concatenate(earlier) + diagonal)
    return np.concatenate([[0.0], np.sqrt(np.maximum(squares, 0.0))])


def _earlier(stein: SteinKernel, strips: list[SteinPoints]) -> Floats:
    """Σ u(x_s, x_t) over all earlier points s, for every t of the last strip."""
    here = strips[-1]
    xp, weight = namespace(here.z), here.weight
    total = _column_sums(xp.triu(stein.untilted_block(here, here), k=1), here)
    for strip in strips[:-1]:
        total = total + _column_sums(stein.untilted_block(strip, here), strip)
    return to_host(total if weight is None else total * weight)


def _column_sums(block: Array, rows: SteinPoints) -> Array:
    xp = namespace(block)
    return xp.sum(block, axis=0) if rows.weight is None else xp.matmul(rows.weight, block)
