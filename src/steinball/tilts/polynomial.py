"""Polynomial weights, for scores that grow like a power of |x| (paper §5)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from steinball.arrays import Array, as_number, as_numbers, like, namespace
from steinball.kernels.base import as_metric
from steinball.tilts.base import Tilt


@dataclass(frozen=True, eq=False)
class PolynomialTilt(Tilt):
    r"""The polynomial weight (paper §5)

    .. math:: w(x) = \left(1 + |x - a|^2 / c^2\right)^{-b}
       \quad\text{or}\quad \left(1 + (x - a)^\top C (x - a)\right)^{-b}.

    Bounded Stein kernels need :math:`|w(x) s(x)|` bounded: for a score that grows like :math:`|x|^r`,
    :math:`b \ge r/2` (the paper prints :math:`1/(2r)`; the two agree at r = 1, Gaussian tails).

    Parameters
    ----------
    exponent : float
        :math:`b > 0`.
    center : float or (d,) array
        :math:`a`.
    scale : float
        :math:`c > 0`. Ignored when ``precision`` is given.
    precision : (d, d) array, optional
        :math:`C`, symmetric positive definite; (d,) is a diagonal.

    Examples
    --------
    >>> tilt = PolynomialTilt(exponent=0.5, center=1.0, scale=2.0)
    >>> np.exp(tilt.log_weight(np.array([[1.0], [3.0]]))).round(6)
    array([1.      , 0.707107])
    """

    exponent: float = 0.5
    center: Any = 0.0
    scale: float = 1.0
    precision: Any = None

    def __post_init__(self) -> None:
        center = as_numbers(self.center, "center")
        if center.ndim > 1 or not np.isfinite(center).all():
            raise ValueError(f"`center` must be a finite number or a (d,) array, got {self.center!r}.")
        object.__setattr__(self, "center", float(center) if center.ndim == 0 else tuple(center.tolist()))
        object.__setattr__(self, "exponent", as_number(self.exponent, "exponent", low=0.0, open_low=True))
        object.__setattr__(self, "scale", as_number(self.scale, "scale", low=0.0, open_low=True))
        object.__setattr__(self, "precision", as_metric(self.precision, "precision"))

    def _key(self) -> tuple[Any, ...]:
        precision = None if self.precision is None else self.precision.tobytes()
        return self.exponent, self.center, self.scale, precision

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PolynomialTilt) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def _offset(self, x: Array) -> Array:
        center = np.asarray(self.center)
        if center.ndim and center.size != x.shape[1]:
            raise ValueError(
                f"`center` of the tilt has {center.size} entries, but the samples have {x.shape[1]} columns."
            )
        return x - like(center, x)

    def _curved(self, offset: Array) -> Array:
        """C (x − a) as rows, with C = I/c² by default."""
        if self.precision is None:
            return offset * self.scale**-2
        if self.precision.shape[0] != offset.shape[1]:
            raise ValueError(
                f"`precision` of the tilt is {self.precision.shape}, but the samples have {offset.shape[1]} columns."
            )
        return namespace(offset).matmul(offset, like(self.precision, offset))

    @property
    def decay(self) -> float:
        """b."""
        return self.exponent

    def log_weight(self, x: Array) -> Array:
        """log w at each row of ``x``, shape (n,)."""
        xp, offset = namespace(x), self._offset(x)
        return -self.exponent * xp.log1p(xp.sum(offset * self._curved(offset), axis=1))

    def log_weight_gradient(self, x: Array) -> Array:
        """∇ log w = −2b C(x − a) / (1 + (x − a)ᵀC(x − a)) at each row of ``x``, shape (n, d)."""
        xp, offset = namespace(x), self._offset(x)
        curved = self._curved(offset)
        q = xp.sum(offset * curved, axis=1)
        return curved * (-2.0 * self.exponent / (1.0 + q))[:, None]
