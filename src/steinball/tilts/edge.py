"""A weight that vanishes where the support of a model ends."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from steinball.arrays import Array, as_number, as_numbers, like, namespace
from steinball.tilts.base import Tilt


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
        for name, infinite in (("low", -np.inf), ("high", np.inf)):
            object.__setattr__(self, name, _ends(getattr(self, name), name, infinite))
        object.__setattr__(self, "scale", _positive(self.scale))
        object.__setattr__(self, "power", as_number(self.power, "power", low=1.0))
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
        scale, total = self._along(self.scale, x), namespace(x).zeros_like(x)
        for distance, sign in self._distances(x):
            total = total + (sign * self.power) * (scale / distance) / (scale + distance)
        return total

    def coordinate_weights(self, x: Array) -> Array:
        """e at each row of ``x``, shape (n, d)."""
        scale, weights = self._along(self.scale, x), namespace(x).ones_like(x)
        for distance, _ in self._distances(x):
            weights = weights * (distance / (scale + distance)) ** self.power
        return weights

    def _distances(self, x: Array) -> list[tuple[Array, float]]:
        """The distance from each finite end, infinite ones stood in for by the largest float, and its sign."""
        xp, found = namespace(x), []
        for ends, sign in ((self.low, 1.0), (self.high, -1.0)):
            along = np.broadcast_to(np.asarray(ends), (x.shape[1],))
            if np.isfinite(along).any():
                there = like(np.where(np.isfinite(along), along, 0.0), x)
                distance = sign * (x - there)
                far = like(np.isfinite(along).astype(np.float64), x) > 0.0
                found.append((xp.where(far[None, :], distance, xp.full_like(x, _FAR)), sign))
        return found

    def _along(self, values: Any, x: Array) -> Array:
        array = np.asarray(values)
        if array.ndim and array.size != x.shape[1]:
            raise ValueError(f"the tilt has {array.size} coordinates, but the samples have {x.shape[1]} columns.")
        return like(array, x)


_FAR = 1e30  # a distance at which the weight of an edge is 1 and its slope 0, to rounding


def _ends(value: Any, name: str, infinite: float) -> Any:
    filled = [infinite if v is None else v for v in value] if isinstance(value, (list, tuple)) else value
    values = np.atleast_1d(as_numbers(infinite if value is None else filled, name))
    if np.isnan(values).any() or values.ndim != 1 or not values.size:
        raise ValueError(f"`{name}` must be a number, None, or one of them per coordinate, got {value!r}.")
    return float(values[0]) if np.ndim(value) == 0 else tuple(values.tolist())


def _positive(value: Any) -> Any:
    values = as_numbers(value, "scale")
    if values.ndim > 1 or not (np.isfinite(values) & (values > 0.0)).all():
        raise ValueError(f"`scale` must be a positive number, or one per coordinate, got {value!r}.")
    return float(values) if values.ndim == 0 else tuple(values.tolist())
