"""Draws and model in units of the draws' own spread, so that no parameter rules the test by its units."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from steinball.arrays import Array, Floats, OutOfRangeError, like, namespace, to_host
from steinball.models.base import Model, evaluate_score, same_array
from steinball.models.base_map import Move
from steinball.models.knowledge import Clusters, Knowledge
from steinball.models.support import Support


def spread_of(draws: Array) -> tuple[Floats, Floats]:
    """Median and spread of every column: the median absolute deviation, or where that is 0 the standard deviation.

    Examples
    --------
    >>> spread_of(np.array([[0.0, 1.0], [1.0, 1.0], [2.0, 1.0], [3.0, 5.0]]))
    (array([1.5, 1. ]), array([1.        , 1.73205081]))
    """
    x = to_host(draws)
    center = np.median(x, axis=0)
    robust = np.median(np.abs(x - center), axis=0)
    with np.errstate(over="ignore", invalid="ignore"):
        scale = np.where(robust > 0.0, robust, x.std(axis=0))
    if not np.isfinite(scale).all():
        raise OutOfRangeError("`draws` are so far apart that their spread is no float. Change the unit.")
    return center, scale


@dataclass(frozen=True, eq=False)
class Units(Move):
    """The move from parameters to units of the draws' spread.

    Examples
    --------
    >>> Units(None, center=np.array([1.0]), scale=np.array([2.0]))(np.array([[5.0]]))
    array([[2.]])
    """

    center: Floats = field(kw_only=True)
    scale: Floats = field(kw_only=True)

    def __call__(self, samples: Array) -> Array:
        return (samples - like(self.center, samples)) / like(self.scale, samples)


@dataclass(frozen=True, eq=False)
class Standardized:
    r"""The model of :math:`z = (x - a) / b`, coordinate by coordinate: :math:`s_z(z) = b \, s(a + b z)`.

    Parameters
    ----------
    model : Model
        Of x.
    center, scale : (d,) arrays
        a and b > 0.
    draws : (n, d) array
        x, at which the score is computed once and kept.

    Examples
    --------
    >>> from steinball.models import Gaussian
    >>> x = np.array([[1.0], [3.0]])
    >>> model = Standardized(Gaussian(1.0, 4.0), np.array([1.0]), np.array([2.0]), x)
    >>> model.score(model.standard)
    array([[-0.],
           [-1.]])
    """

    model: Model
    center: Floats
    scale: Floats
    draws: Array

    @cached_property
    def standard(self) -> Array:
        """z, the draws in units of their spread."""
        return self.move(self.draws)

    @property
    def move(self) -> Units:
        """How parameters come into these units."""
        return Units(self.model, self._known.support, center=self.center, scale=self.scale)

    @cached_property
    def scores(self) -> Array:
        """The score at the draws, in those units."""
        with np.errstate(over="ignore"):
            scores = evaluate_score(self.model, self.draws) * like(self.scale, self.draws)
        if not bool(namespace(scores).all(namespace(scores).isfinite(scores))):
            raise self._foreign()
        return scores

    def score(self, z: Array, /) -> Array:
        """The score ∇log p of z, shape (n, d)."""
        if z is self.standard or same_array(z, self.standard):
            return self.scores
        return self.model.score(self._back(z)) * like(self.scale, z)

    def _back(self, z: Array) -> Array:
        return like(self.center, z) + like(self.scale, z) * z

    @cached_property
    def _known(self) -> Knowledge:
        return Knowledge(self.model)

    @property
    def evaluable(self) -> bool:
        """Whether the score is known at points other than the draws."""
        return self._known.evaluable

    @property
    def verified(self) -> bool:
        """Whether score and sampler of the model are known to fit each other."""
        return self._known.verified

    @property
    def dimension(self) -> int:
        """The number d of columns."""
        return len(self.scale)

    @property
    def growth(self) -> float | None:
        """The growth of the score of the model, which an affine map does not change."""
        return self._known.growth

    @property
    def sample(self) -> Callable[[int, np.random.Generator], Floats] | None:
        """Draws of the model, in units of the spread."""
        sampler = self._known.sampler
        return None if sampler is None else lambda n, rng: (to_host(sampler(n, rng)) - self.center) / self.scale

    @property
    def log_density(self) -> Callable[[Array], Array] | None:
        """The log density of z up to a constant."""
        density = self._known.log_density
        return None if density is None else lambda z: density(self._back(z))

    @property
    def support(self) -> Support | None:
        """The ends of the model, in units of the spread."""
        if self._known.support is None:
            return None
        low, high = ((ends - self.center) / self.scale for ends in self._known.support.along(self.dimension))
        return Support(tuple(zip(low.tolist(), high.tolist(), strict=True)))

    @property
    def modes(self) -> Clusters | None:
        """The separated modes that the model knows of, in units of the spread."""
        found = self._known.clusters
        if found is None:
            return None
        return Clusters((found.locations - self.center) / self.scale, self._shrunk(found.covariances))

    @property
    def location(self) -> Floats | None:
        """The center of the model, in units of the spread."""
        found = self._known.location
        return None if found is None else (found - self.center) / self.scale

    @property
    def covariance(self) -> Floats | None:
        """The covariance of the model, in units of the spread."""
        found = self._known.covariance
        return None if found is None else self._shrunk(found)

    def _shrunk(self, covariance: Floats) -> Floats:
        with np.errstate(over="ignore"):
            shrunk = np.asarray(covariance / np.outer(self.scale, self.scale))
        if not (np.isfinite(shrunk).all() and (np.einsum("...ii->...i", shrunk) > 0.0).all()):
            raise self._foreign()
        return shrunk

    def _foreign(self) -> OutOfRangeError:
        return OutOfRangeError(
            f"`draws` have spreads of {self.scale.tolist()}, in units of which the score or covariance of `model` is "
            "no float. Are they draws of this model?"
        )

    def __repr__(self) -> str:
        return f"Standardized({self.model!r})"
