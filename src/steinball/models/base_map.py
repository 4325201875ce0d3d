"""Base space: data mapped so that they are standard normal where they come from the model."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import scipy

from steinball.arrays import Array, Floats, like, to_host
from steinball.models.support import Support

_FARTHEST = 37.0  # Φ(−37) is about the smallest number that a float holds


def normal_of(below: Floats, above: Floats) -> Floats:
    """The normal quantile of a probability, by whichever tail is the smaller; at most ±37.

    Examples
    --------
    >>> normal_of(np.array([0.5, 1.0]), np.array([0.5, 1e-30])).round(3)
    array([ 0.   , 11.464])
    """
    with np.errstate(all="ignore"):
        z = np.where(below <= above, scipy.special.ndtri(below), -scipy.special.ndtri(above))
    return np.asarray(np.clip(z, -_FARTHEST, _FARTHEST))


@dataclass(frozen=True, eq=False)
class Move(ABC):
    """How rows come from one system of coordinates to another, with the model and its support in the first one."""

    model: Any
    support: Support | None = None
    label: ClassVar[str] = ""
    """What a result says of where the rows are tested; empty where nothing need be said."""
    from_data: ClassVar[bool] = False
    """Whether the rows themselves say where they are moved."""
    stretch: ClassVar[float] = 1.0
    """How many times as large distances become, at most."""
    score_stretch: ClassVar[float] = 1.0
    """How many times as large scores become, at most."""

    @abstractmethod
    def __call__(self, samples: Array) -> Array:
        """The samples there, in their own library."""


@dataclass(frozen=True, eq=False)
class BaseMap(Move):
    """The move into base space."""

    label: ClassVar[str] = "base space"

    def __call__(self, samples: Array) -> Array:
        """The samples in base space, in their own library."""
        return like(self.model.to_base(to_host(samples)), samples)


def rosenblatt(whitened: Floats, log_weights: Floats, log_scales: Floats) -> Floats:
    r"""Rosenblatt's map of a Gaussian mixture: each coordinate by its distribution given those before it

    .. math:: F_j = \sum_k r_k(x_{<j})\, \Phi(w_{kj}), \qquad
       r_k(x_{<j}) \propto \pi_k \prod_{i<j} \varphi(w_{ki}) / L_{k,ii}, \quad w_k = L_k^{-1}(x - \mu_k).

    Parameters
    ----------
    whitened : (n, k, d) array
        w.
    log_weights, log_scales : (k,) and (k, d) arrays
        log π, and the logarithms of the diagonals of L.

    Examples
    --------
    >>> rosenblatt(np.array([[[1.0, 2.0]]]), np.zeros(1), np.zeros((1, 2)))
    array([[1., 2.]])
    """
    steps = -0.5 * whitened**2 - log_scales
    before = np.cumsum(steps, axis=2) - steps + log_weights[:, None]
    shares = scipy.special.softmax(before, axis=1)
    return normal_of(
        np.sum(shares * scipy.special.ndtr(whitened), axis=1), np.sum(shares * scipy.special.ndtr(-whitened), axis=1)
    )
