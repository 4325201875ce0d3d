"""A power of the density itself as a weight, for scores that grow faster than any power of |x|."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from steinball.arrays import Array, as_number, lent, namespace
from steinball.tilts.base import Tilt

__all__ = ["PowerTilt"]


@dataclass(frozen=True)
class PowerTilt(Tilt):
    r"""A power of the model's density

    .. math:: w(x) = \left( p(x) / p_0 \right)^\kappa, \qquad s + \nabla \log w = (1 + \kappa) s,

    so that the Stein kernel is bounded where :math:`p^\kappa |s|` is. No second derivative is needed.

    Parameters
    ----------
    log_density, score : callable
        Of the model: (n, d) to (n,), up to a constant, and to (n, d).
    power : float
        :math:`\kappa > 0`.
    reference : float
        :math:`\log p_0`, on the scale of ``log_density``: it changes the unit of D and nothing else.

    Examples
    --------
    >>> import numpy as np
    >>> tilt = PowerTilt(lambda x: -np.cosh(x[:, 0]), lambda x: -np.sinh(x), power=0.5, reference=-1.0)
    >>> tilt.log_weight(np.array([[0.0], [1.0]])).round(3)
    array([ 0.   , -0.272])
    """

    log_density: Callable[[Array], Array]
    score: Callable[[Array], Array]
    power: float = 1.0
    reference: float = 0.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "power", as_number(self.power, "power", low=0.0, open_low=True))
        object.__setattr__(self, "reference", as_number(self.reference, "reference"))

    def log_weight(self, x: Array) -> Array:
        """κ (log p − log p₀) at each row of ``x``, shape (n,)."""
        return self.power * (namespace(x).reshape(self.log_density(lent(x)), (x.shape[0],)) - self.reference)

    def log_weight_gradient(self, x: Array) -> Array:
        """κ s at each row of ``x``, shape (n, d)."""
        return self.power * namespace(x).reshape(self.score(lent(x)), x.shape)
