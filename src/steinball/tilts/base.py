"""Tilts: weights that bound the Stein kernel, k(x, y) = w(x) h(x − y) w(y) (paper §3.2)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from steinball.arrays import Array, as_number, as_numbers, like, namespace, private_copy
from steinball.kernels.base import ByValue, as_metric


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

    def log_weight_and_gradient(self, x: Array) -> tuple[Array, Array]:
        """Both at once, for a tilt that finds them together faster."""
        return self.log_weight(x), self.log_weight_gradient(x)

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

    def log_weight_and_gradient(self, x: Array) -> tuple[Array, Array]:
        """Both of both, added."""
        pairs = zip(self.first.log_weight_and_gradient(x), self.second.log_weight_and_gradient(x), strict=True)
        log_weight, gradient = (ours + theirs for ours, theirs in pairs)
        return log_weight, gradient

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
        power = as_number(self.power, "power", low=0.0, open_low=True)
        vars(self).update(power=power, reference=as_number(self.reference, "reference"))

    def log_weight(self, x: Array) -> Array:
        """κ (log p − log p₀) at each row of ``x``, shape (n,)."""
        return self.power * (namespace(x).reshape(self.log_density(private_copy(x)), (x.shape[0],)) - self.reference)

    def log_weight_gradient(self, x: Array) -> Array:
        """κ s at each row of ``x``, shape (n, d)."""
        return self.power * namespace(x).reshape(self.score(private_copy(x)), x.shape)


@dataclass(frozen=True, eq=False)
class PolynomialTilt(ByValue, Tilt):
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
        positive = {name: as_number(vars(self)[name], name, low=0.0, open_low=True) for name in ("exponent", "scale")}
        center, precision = as_coordinates(self.center, "center"), as_metric(self.precision, "precision")
        vars(self).update(center=center, precision=precision, **positive)

    def _curved(self, x: Array) -> tuple[Array, Array]:
        """C (x − a) as rows, with C = I/c² by default, and (x − a)ᵀC(x − a)."""
        xp, offset = namespace(x), x - _along(self.center, "center", x)
        whole = None if self.precision is None else _along(self.precision, "precision", x)
        curved = offset * self.scale**-2 if whole is None else xp.matmul(offset, whole)
        return curved, xp.sum(offset * curved, axis=1)

    @property
    def decay(self) -> float:
        """b."""
        return self.exponent

    def log_weight(self, x: Array) -> Array:
        """log w at each row of ``x``, shape (n,)."""
        return self.log_weight_and_gradient(x)[0]

    def log_weight_gradient(self, x: Array) -> Array:
        """∇ log w = −2b C(x − a) / (1 + (x − a)ᵀC(x − a)) at each row of ``x``, shape (n, d)."""
        return self.log_weight_and_gradient(x)[1]

    def log_weight_and_gradient(self, x: Array) -> tuple[Array, Array]:
        """Both from one product of ``x``."""
        curved, q = self._curved(x)
        return -self.exponent * namespace(x).log1p(q), curved * (-2.0 * self.exponent / (1.0 + q))[:, None]


@dataclass(frozen=True)
class EdgeTilt(Tilt):
    r"""One weight per coordinate, which vanishes at the finite ends of its support

    .. math:: e_j(x) = \left( \frac{r}{a_j + r} \right)^m \left( \frac{R}{a_j + R} \right)^m,
       \qquad r = x_j - \text{low}_j, \quad R = \text{high}_j - x_j,

    with the factor of an infinite end left out. Stein's identity E φ(X) = 0 fails for a density that does not vanish
    at the edge of its support (exponential, uniform, half-normal), and E u is infinite where it vanishes too slowly.
    With this weight both hold whenever the weighted score is integrable.

    Parameters
    ----------
    low, high : float, None, or one per coordinate
        The ends of the support; ``None`` is infinite.
    scale : float or (d,) array
        :math:`a_j > 0`, how far from the edge the weight has risen to one half.
    power : float
        :math:`m \ge 1`: the Stein kernel is bounded near an edge where the score grows like :math:`r^{-m}` at most.

    Notes
    -----
    Each weight vanishes on the faces of its own coordinate only. The product of all weights in place of them would
    bound the Stein kernel as well, and have hardly any power in several dimensions.

    Examples
    --------
    >>> EdgeTilt(low=0.0, high=1.0, scale=0.5).coordinate_weights(np.array([[0.5]]))
    array([[0.25]])
    """

    low: Any = None
    high: Any = None
    scale: Any = 1.0
    power: float = 1.0

    def __post_init__(self) -> None:
        low, high = _ends(self.low, "low", -np.inf), _ends(self.high, "high", np.inf)
        scale, power = as_coordinates(self.scale, "scale", positive=True), as_number(self.power, "power", low=1.0)
        vars(self).update(low=low, high=high, scale=scale, power=power)
        sizes = {np.size(side) for side in (self.low, self.high, self.scale)} - {1}
        if len(sizes) > 1:
            raise ValueError(f"`low`, `high` and `scale` must agree on the coordinates, got {sorted(sizes)} of them.")
        if not np.all(np.asarray(self.low) < np.asarray(self.high)):
            raise ValueError(f"`low` must be below `high`, got {self.low!r} and {self.high!r}.")

    def log_weight(self, x: Array) -> Array:
        """0: nothing is common to all coordinates."""
        return namespace(x).zeros_like(x[:, 0])

    def log_weight_gradient(self, x: Array) -> Array:
        """m a/(r (a + r)) at the lower end, minus the same at the upper one; shape (n, d)."""
        scale, total = _along(self.scale, "scale", x), namespace(x).zeros_like(x)
        for distance, sign in self._distances(x):
            total = total + (sign * self.power) * (scale / distance) / (scale + distance)
        return total

    def coordinate_weights(self, x: Array) -> Array:
        """e at each row of ``x``, shape (n, d)."""
        scale, weights = _along(self.scale, "scale", x), namespace(x).ones_like(x)
        for distance, _ in self._distances(x):
            weights = weights * (distance / (scale + distance)) ** self.power
        return weights

    def _distances(self, x: Array) -> Iterator[tuple[Array, float]]:
        """The distance from each finite end, infinite ones stood in for by a very far one, and its sign."""
        for ends, sign in ((self.low, 1.0), (self.high, -1.0)):
            along = np.broadcast_to(np.asarray(ends), (x.shape[1],))
            if np.isfinite(along).any():
                yield sign * (x - like(np.where(np.isfinite(along), along, -sign * _FAR), x)), sign


def _along(values: Any, name: str, x: Array) -> Array:
    """A number, or one or a row of numbers for each column of ``x``, in its library."""
    array = np.asarray(values)
    if array.ndim and len(array) != x.shape[1]:
        raise ValueError(f"`{name}` of the tilt has {len(array)} entries, but the samples have {x.shape[1]} columns.")
    return like(array, x)


_FAR = 1e30  # a distance at which the weight of an edge is 1 and its slope 0, to rounding


def _ends(value: Any, name: str, infinite: float) -> Any:
    filled = [infinite if v is None else v for v in value] if isinstance(value, (list, tuple)) else value
    values = np.atleast_1d(as_numbers(infinite if value is None else filled, name))
    if np.isnan(values).any() or values.ndim != 1 or not values.size:
        raise ValueError(f"`{name}` must be a number, None, or one of them per coordinate, got {value!r}.")
    return float(values[0]) if np.ndim(value) == 0 else tuple(values.tolist())


def as_coordinates(value: Any, name: str, positive: bool = False) -> Any:
    """A finite number, or a tuple of one per coordinate."""
    values = as_numbers(value, name)
    if values.ndim > 1 or not np.isfinite(values).all() or (positive and not (values > 0.0).all()):
        kind = "positive" if positive else "finite"
        raise ValueError(f"`{name}` must be a {kind} number or a (d,) array, one per coordinate, got {value!r}.")
    return float(values) if values.ndim == 0 else tuple(values.tolist())
