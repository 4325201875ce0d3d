"""What a tilt is: a weight that bounds the Stein kernel, k(x, y) = w(x) h(x − y) w(y) (paper §3.2)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

from steinball.arrays import Array, as_number, namespace, private_copy


class Tilt(ABC):
    r"""A positive weight w, given by its logarithm and the gradient of that, and perhaps weights of each coordinate

    .. math:: \xi_j(x) = w(x) e_j(x) \left[ s_j(x) + \partial_j + \partial_j \log (w e_j)(x) \right],

    the j-th part of the Stein operator. A subclass gives :meth:`log_weight` and :meth:`log_weight_gradient`; one that
    treats coordinates apart (:class:`EdgeTilt`) gives :meth:`coordinate_weights`, too. Tilts multiply with ``*``.

    Examples
    --------
    >>> import numpy as np
    >>> from steinball.tilts import EdgeTilt, PolynomialTilt
    >>> tilt = EdgeTilt(low=0.0) * PolynomialTilt(scale=3.0)
    >>> tilt.coordinate_weights(np.array([[1.0]]))
    array([[0.5]])
    """

    @abstractmethod
    def log_weight(self, x: Array) -> Array:
        """log w at each row of ``x``, shape (n,)."""

    @abstractmethod
    def log_weight_gradient(self, x: Array) -> Array:
        """∂ⱼ log(w eⱼ) at each row of ``x``, shape (n, d): what tilting adds to the score."""

    def coordinate_weights(self, x: Array) -> Array | None:
        """e at each row of ``x``, shape (n, d); ``None`` where every coordinate has the same weight."""
        return None

    @property
    def decay(self) -> float:
        """b where w falls like \\|x\\|^(−2b) in every direction, as far as that is known; 0 otherwise."""
        return 0.0

    def __mul__(self, other: object) -> Tilt:
        return Product(self, other) if isinstance(other, Tilt) else NotImplemented


@dataclass(frozen=True)
class Product(Tilt):
    """The product of two tilts: log weights and their gradients add, weights of coordinates multiply.

    Examples
    --------
    >>> import numpy as np
    >>> from steinball.tilts import PolynomialTilt
    >>> both = PolynomialTilt(0.5) * PolynomialTilt(1.0)
    >>> bool(np.isclose(both.log_weight(np.ones((1, 1))), PolynomialTilt(1.5).log_weight(np.ones((1, 1)))))
    True
    """

    first: Tilt
    second: Tilt

    @property
    def decay(self) -> float:
        """b of both, added."""
        return self.first.decay + self.second.decay

    def log_weight(self, x: Array) -> Array:
        """log w of both, added."""
        return self.first.log_weight(x) + self.second.log_weight(x)

    def log_weight_gradient(self, x: Array) -> Array:
        """∂ⱼ log(w eⱼ) of both, added."""
        return self.first.log_weight_gradient(x) + self.second.log_weight_gradient(x)

    def coordinate_weights(self, x: Array) -> Array | None:
        """e of both, multiplied."""
        ours, theirs = self.first.coordinate_weights(x), self.second.coordinate_weights(x)
        if ours is None or theirs is None:
            return theirs if ours is None else ours
        return ours * theirs


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
        return self.power * (namespace(x).reshape(self.log_density(private_copy(x)), (x.shape[0],)) - self.reference)

    def log_weight_gradient(self, x: Array) -> Array:
        """κ s at each row of ``x``, shape (n, d)."""
        return self.power * namespace(x).reshape(self.score(private_copy(x)), x.shape)
