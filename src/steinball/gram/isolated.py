"""Points that the model excludes: one more feature of norm √τ, orthogonal to those inside and of mean 0 under it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steinball.arrays import Array, like, take_rows, to_host
from steinball.gram.base import Bounds, Gram, GramSummary
from steinball.gram.prefix import PrefixSums
from steinball.gram.request import Request
from steinball.gram.weights import Chunk, Weights

Floats = NDArray[np.float64]
Index = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Others:
    """The columns of a stream of weights that belong to the points at ``rows``."""

    weights: Weights
    rows: Index

    def __iter__(self) -> Iterator[Chunk]:
        return (chunk[:, self.rows] for chunk in self.weights)


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

    @property
    def _rows(self) -> Index:
        return np.setdiff1d(np.arange(self.n), self.isolated)

    def summarise(self, request: Request) -> GramSummary:
        """The answers for all points, in one pass over those that are not isolated."""
        request = request.checked(self.n)
        found = self.others.summarise(self._inner(request))
        alone = _Alone.of(request.weights, self.isolated, self.n)
        share = (len(self._rows) / self.n) ** 2

        def joined(values: Any, more: Any) -> Any:
            return share * np.asarray(values) + self.tau * np.asarray(more) / self.n**2

        def bounds(pair: Bounds | None, more: Any) -> Bounds | None:
            return None if pair is None else (joined(pair[0], more), joined(pair[1], more))

        ends = None if found.mean_bounds is None else [float(joined(b, alone.count**2)) for b in found.mean_bounds]
        return replace(
            found,
            diagonal=self._spread(to_host(found.diagonal), self.tau, found.diagonal),
            row_means=self._spread(to_host(found.row_means) * share**0.5, self.tau * alone.mean, found.row_means),
            mean=float(joined(found.mean, alone.count**2)),
            quadratic_forms=joined(found.quadratic_forms, alone.sums**2),
            linear_forms=joined(found.linear_forms, alone.count * alone.sums),
            mean_squares=found.mean_squares * (len(self._rows) / self.n) + alone.squares / self.n,
            weights=request.weights,
            mean_bounds=None if ends is None else (ends[0], ends[1]),
            form_bounds=bounds(found.form_bounds, alone.sums**2),
            linear_bounds=bounds(found.linear_bounds, alone.count * alone.sums),
            prefix_sums=self._prefix_sums(request, found),
            direction_products=self._products(request, found),
        )

    def _inner(self, request: Request) -> Request:
        """What is asked of the others: their columns, and their order among themselves."""
        rows, orders, directions = self._rows, request.orders, request.directions
        return replace(
            request,
            weights=Others(request.weights, rows),
            orders=None if orders is None else _places(orders[:, rows]),
            directions=None if directions is None else take_rows(directions, rows),
        )

    def _spread(self, values: Floats, alone: Any, template: Array) -> Array:
        """Values of the others and of the isolated points, in the order of all."""
        whole = np.empty((self.n, *values.shape[1:]))
        whole[self._rows], whole[self.isolated] = values, alone
        return like(whole, template)

    def _prefix_sums(self, request: Request, found: GramSummary) -> PrefixSums | None:
        """Isolated points add τ to the sums of later ones of their kind, and nothing to others."""
        if request.orders is None or found.prefix_sums is None:
            return None
        sums = np.zeros((len(request.orders), self.n))
        inner = _places(request.orders[:, self._rows])
        sums[:, self._rows] = np.take_along_axis(found.prefix_sums.sums, inner, axis=1)
        sums[:, self.isolated] = self.tau * _places(request.orders[:, self.isolated])
        diagonal = to_host(self._spread(to_host(found.diagonal), self.tau, found.diagonal))
        return PrefixSums.in_order(sums, diagonal, request.orders)

    def _products(self, request: Request, found: GramSummary) -> Array | None:
        if request.directions is None or found.direction_products is None:
            return None
        alone = self.tau * to_host(request.directions)[self.isolated].sum(axis=0)
        return self._spread(to_host(found.direction_products), alone, found.direction_products)


@dataclass(frozen=True, eq=False)
class _Alone:
    """The isolated points: their number, their share, and Σw and Σw² over them for every draw."""

    count: int
    mean: float
    sums: Floats
    squares: Floats

    @classmethod
    def of(cls, weights: Weights, isolated: Index, n: int) -> _Alone:
        chunks = [chunk[:, isolated].astype(np.float64) for chunk in weights] or [np.empty((0, len(isolated)))]
        own = np.concatenate(chunks)
        return cls(len(isolated), len(isolated) / n, own.sum(axis=1), np.square(own).sum(axis=1))


def _places(orders: NDArray[np.integer]) -> Index:
    """The places that some points have among themselves, in each row of orders."""
    return np.argsort(np.argsort(orders, axis=1), axis=1)


def with_isolated(gram: Gram, n: int, isolated: Index, tau: float) -> Gram:
    """``gram``, or where there are isolated points the whole of which it is a part."""
    return IsolatedGram(gram, n, isolated, tau) if len(isolated) else gram
