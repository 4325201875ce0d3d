"""Points that the model excludes: one more feature of norm √τ, orthogonal to those inside and of mean 0 under it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steinball.arrays import Array, Floats, like, take_rows, to_host
from steinball.gram.base import Gram, GramSummary
from steinball.gram.prefix import PrefixSums
from steinball.gram.request import Request

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

        def joined(values: Any, more: Any) -> Any:
            return share**2 * np.asarray(values) + self.tau * np.asarray(more) / self.n**2

        def bounds(pair: Any, more: Any) -> Any:
            return None if pair is None else (joined(pair[0], more), joined(pair[1], more))

        products = found.direction_products
        return replace(
            found,
            diagonal=self._spread(found.diagonal, 1.0, self.tau),
            row_means=self._spread(found.row_means, share, self.tau * (m / self.n)),
            mean=float(joined(found.mean, m**2)),
            quadratic_forms=joined(found.quadratic_forms, sums**2),
            linear_forms=joined(found.linear_forms, m * sums),
            mean_squares=found.mean_squares * share + np.square(own).sum(axis=1) / self.n,
            weights=request.weights,
            mean_bounds=bounds(found.mean_bounds, m**2),
            form_bounds=bounds(found.form_bounds, sums**2),
            linear_bounds=bounds(found.linear_bounds, m * sums),
            prefix_sums=self._prefix_sums(request, found),
            direction_products=None if products is None else self._spread(products, 1.0, self._pulled(request)),
        )

    def _pulled(self, request: Request) -> Floats:
        """τ Σ S over the isolated points, (p,): the products of each of them with the directions S."""
        return np.asarray(self.tau * to_host(request.directions)[self.isolated].sum(axis=0))

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


def with_isolated(gram: Gram, n: int, isolated: Index, tau: float) -> Gram:
    """``gram``, or where there are isolated points the whole of which it is a part."""
    return IsolatedGram(gram, n, isolated, tau) if len(isolated) else gram
