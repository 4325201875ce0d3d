"""A model with mass moved from one interval to another: a member of a density band (paper §2.3)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.integrate import quad

from steinball.arrays import as_number
from steinball.models.knowledge import Knowledge

__all__ = ["DensityBandPerturbation", "density_band"]


def density_band(
    model: Any, mass: float, source: tuple[float, float], target: tuple[float, float]
) -> DensityBandPerturbation:
    r"""A distribution whose density differs from a model's on the line by exactly a given mass (paper §2.3)

    .. math:: q = p - \tfrac{\delta_0}{2}\, p(\cdot \mid S) + \tfrac{\delta_0}{2}\, \mathrm{Unif}(T), \qquad
       \int |q - p| = \delta_0 .

    Mass δ₀/2 leaves the interval S, in proportion to p, and arrives uniformly on the interval T.

    Parameters
    ----------
    model : Model
        With one column, ``log_density`` (a constant may be missing) and ``sample(n, rng)``.
    mass : float
        δ₀ in [0, 2 p(S)].
    source, target : (float, float)
        The intervals S and T, which must not overlap; S may be infinite.

    Returns
    -------
    DensityBandPerturbation
        With ``sample(n, rng)`` and ``density(x)``. It lies in ``DensityBand(mass)`` around the model.

    Examples
    --------
    >>> import steinball as sb
    >>> q = density_band(sb.models.Gaussian(), 0.1, source=(-1.0, 0.0), target=(2.0, 3.0))
    >>> q.sample(5, rng=0).shape, round(q.moved, 4)
    ((5, 1), 0.1465)
    """
    perturbed = DensityBandPerturbation(
        model, as_number(mass, "mass", low=0.0, high=2.0), _interval(source, "source"), _interval(target, "target")
    )
    perturbed.check()
    return perturbed


@dataclass(frozen=True, eq=False)
class DensityBandPerturbation:
    """What :func:`density_band` returns: a model on the line with mass moved from one interval to another.

    Examples
    --------
    >>> import steinball as sb
    >>> q = density_band(sb.models.Gaussian(), 0.1, source=(0.0, math.inf), target=(-5.0, -4.0))
    >>> q.density([-4.5, 0.0]).round(4)
    array([0.05 , 0.359])
    """

    model: Any
    mass: float
    source: tuple[float, float]
    target: tuple[float, float]

    @cached_property
    def _integrals(self) -> tuple[float, float]:
        """Of exp(log_density): over ``source``, and over the line."""
        edges = sorted({-math.inf, *self.source, *self._landmarks(), math.inf})
        pieces = {
            piece: float(quad(self._unnormalized, *piece, limit=500, full_output=1)[0]) for piece in pairwise(edges)
        }
        low, high = self.source
        inside = math.fsum(value for (start, stop), value in pieces.items() if low <= start and stop <= high)
        return inside, math.fsum(pieces.values())

    def _landmarks(self) -> tuple[float, ...]:
        """Where the bulk of the model lies, so that the integration does not pass over it."""
        place = Knowledge(self.model).place
        if place is None:
            return ()
        center, spread = float(place[0][0]), math.sqrt(float(place[1][0, 0]))
        return tuple(center + step * spread for step in (-8.0, -2.0, 0.0, 2.0, 8.0))

    def _unnormalized(self, x: float) -> float:
        return math.exp(float(self.model.log_density(np.array([[x]]))[0]))

    @property
    def moved(self) -> float:
        """The share of the points in ``source`` that is moved: (δ₀/2) / p(S)."""
        inside, total = self._integrals
        return 0.5 * self.mass / (inside / total) if self.mass else 0.0

    def check(self) -> None:
        """Raise unless the intervals are apart and ``source`` holds the mass that is to leave it."""
        if max(self.source[0], self.target[0]) < min(self.source[1], self.target[1]):
            raise ValueError(f"`source` and `target` must not overlap, got {self.source} and {self.target}.")
        if not all(map(math.isfinite, self.target)):
            raise ValueError(f"`target` must be a finite interval, got {self.target}.")
        dimension = Knowledge(self.model).dimension
        if dimension is not None and dimension != 1:
            raise ValueError(f"`model` must have one dimension, got {dimension}.")
        inside, total = self._integrals
        if self.mass > 2.0 * inside / total:
            raise ValueError(
                f"`mass={self.mass:g}` cannot be reached: half of it must come from `source`, which holds "
                f"{inside / total:.4g}. Use at most {2.0 * inside / total:.4g}, or a wider `source`."
            )

    def density(self, x: Any) -> NDArray[np.float64]:
        """q at each of ``x``, shape (n,)."""
        points = np.asarray(x, dtype=np.float64).reshape(-1, 1)
        p = np.exp(np.asarray(self.model.log_density(points))) / self._integrals[1]
        arrived = 0.5 * self.mass / (self.target[1] - self.target[0])
        kept = np.where(_within(points[:, 0], self.source), 1.0 - self.moved, 1.0)
        return np.asarray(p * kept + np.where(_within(points[:, 0], self.target), arrived, 0.0))

    def sample(self, n: int, rng: Any = None) -> NDArray[np.float64]:
        """``n`` independent draws, shape (n, 1)."""
        generator = np.random.default_rng(rng)
        x = np.array(self.model.sample(n, generator), dtype=np.float64).reshape(n, 1)
        leaves = _within(x[:, 0], self.source) & (generator.random(n) < self.moved)
        x[leaves, 0] = generator.uniform(*self.target, size=int(leaves.sum()))
        return x


def _interval(value: Any, name: str) -> tuple[float, float]:
    low, high = (float(end) for end in value)
    if not low < high:
        raise ValueError(f"`{name}` must be an interval (low, high) with low < high, got {value!r}.")
    return low, high


def _within(x: NDArray[np.float64], interval: tuple[float, float]) -> NDArray[np.bool_]:
    return np.asarray((interval[0] <= x) & (x < interval[1]))
