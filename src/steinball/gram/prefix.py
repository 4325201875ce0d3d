"""What each point adds to the points before it, in several orders: all that betting needs of the pairs."""

from __future__ import annotations

from collections.abc import Sequence
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
            raise FloatingPointError(
                "sums of the Stein kernel over draws of the model overflow: rescale the model and `samples`, use "
                "float64, or use a tilt."
            )

    @classmethod
    def joined(cls, parts: Sequence[PrefixNorms]) -> PrefixNorms:
        """Several of them, one below the other."""
        return cls(np.concatenate([part.norms for part in parts]), np.concatenate([part.uniforms for part in parts]))
