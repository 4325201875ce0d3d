"""What is asked of the pairs of points, all of it answered in one pass."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from steinball.arrays import Array, to_host
from steinball.gram.weights import ChainedWeights, Weights, WeightStream, gather


@dataclass(frozen=True, eq=False)
class Request:
    r"""What a calibration needs to know of the Gram matrix U beside its diagonal, row means and mean.

    Parameters
    ----------
    weights : iterable of (b, n) integer arrays
        Rows w for which :math:`w^\top U w` and :math:`w^\top U 1` are wanted.
    orders : (K, n) integers, optional
        ``orders[k, i]`` is the place of point i in order k, for the sums of u over earlier points in each order; every
        row is a permutation of 0, …, n − 1.
    directions : (n, p) array, optional
        S, for the products U S. The row means are the case of a single column of ones.
    dependent_weights : bool
        Whether the weights of one row depend on each other, as signs for Markov chains do: the error bounds of a
        low-rank engine are for independent ones.

    Examples
    --------
    >>> Request(orders=np.array([[0, 1, 2]])).needs
    'sums over earlier points'
    """

    weights: Weights = ()
    orders: NDArray[np.integer] | None = None
    directions: Array | None = None
    dependent_weights: bool = False

    @property
    def needs(self) -> str:
        """What only an engine that sees every pair can answer, in words; empty where there is no such thing."""
        wanted = {
            "sums over earlier points": self.orders is not None,
            "products with directions": self.directions is not None,
            "draws with dependent weights": self.dependent_weights,
        }
        return " and ".join(words for words, there in wanted.items() if there)

    def checked(self, n: int) -> Request:
        """The same for n points, its orders in 32 bits; refused where its arrays do not fit."""
        orders, directions = self.orders, self.directions
        if orders is not None:
            orders = np.asarray(orders)
            if orders.ndim != 2 or orders.shape[1] != n or not (np.sort(orders, axis=1) == np.arange(n)).all():
                shape = orders.shape
                raise ValueError(f"`orders` must hold a permutation of 0, …, {n - 1} in each row, got shape {shape}.")
            orders = orders.astype(np.int32)
        if directions is not None and (directions.ndim != 2 or directions.shape[0] != n):
            raise ValueError(f"`directions` must have shape ({n}, p), got {tuple(directions.shape)}.")
        return replace(self, orders=orders, directions=directions)

    def gathered(self, n: int, n_jobs: int | None) -> Request:
        """The same with its weights drawn, for several passes that share them."""
        return replace(self, weights=(gather(self.weights, n, n_jobs),))

    def missing(self, other: Request) -> str:
        """What ``other`` asks for beyond this, in words; empty where answers to this are answers to that."""
        unlike = {
            "other draws": not _same_weights(other.weights, self.weights),
            "sums over earlier points": not _same(other.orders, self.orders),
            "products with directions": not _same(other.directions, self.directions),
        }
        return " and ".join(words for words, there in unlike.items() if there)


def _same_weights(wanted: Weights, known: Weights) -> bool:
    """Whether no draws are wanted, or those that are known; of streams that is known without drawing them."""
    if isinstance(wanted, WeightStream | ChainedWeights):
        return wanted == known
    if not (chunks := list(wanted)):
        return True
    ours = list(known)
    return len(ours) == len(chunks) and all(map(np.array_equal, chunks, ours))


def _same(wanted: Array | None, known: Array | None) -> bool:
    """Whether nothing is wanted, or what is known."""
    return wanted is None or (known is not None and np.array_equal(to_host(wanted), to_host(known)))
