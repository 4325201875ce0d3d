"""What each point adds to the points before it, in several orders: all that betting needs of the pairs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from steinball.arrays import Floats, OutOfRangeError


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
