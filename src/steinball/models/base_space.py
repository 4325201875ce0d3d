"""Base space: data are mapped to standard normal ones, where they come from the model, and N(0, I) is tested."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
import scipy

from steinball.arrays import Array, Floats, like, to_host
from steinball.models.base import Model, as_model, model_at
from steinball.models.gaussian import Gaussian
from steinball.models.knowledge import Knowledge
from steinball.models.support import Move, within

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
    below, above = (np.sum(shares * scipy.special.ndtr(side), axis=1) for side in (whitened, -whitened))
    return normal_of(below, above)


@dataclass(frozen=True, eq=False)
class BaseMap(Move):
    """The move into base space."""

    label: ClassVar[str] = "base space"

    def __call__(self, samples: Array) -> Array:
        """The samples in base space, in their own library."""
        return like(self.model.to_base(to_host(samples)), samples)


@dataclass(frozen=True, eq=False, repr=False)
class BaseSpace(Gaussian):
    """The standard normal distribution that data are tested against once ``base_map`` has mapped them.

    Made by :func:`in_base_space`. All that it says of itself is about base space.
    """

    base_map: Any = field(default=None, kw_only=True)

    @property
    def move(self) -> Any:
        """How places of the data's coordinates come here."""
        return self.base_map

    def __repr__(self) -> str:
        return f"in_base_space({self.base_map.model!r})"


def in_base_space(model: Any) -> BaseSpace:
    r"""The same question, asked where the model is standard normal

    .. math:: z = \Phi^{-1}(F(x)), \qquad X \sim P \iff Z \sim \mathcal N(0, I),

    coordinate by coordinate for distributions on the line and independent columns, by Rosenblatt's map for Gaussians,
    Student t distributions and mixtures, through the inverse of a normalizing flow. Tests map the data themselves:
    pass what this returns in place of the model.

    Parameters
    ----------
    model : object
        Anything that knows its distribution function or a map to normal noise: a univariate distribution of SciPy,
        torch or NumPyro, a built-in Gaussian, t or mixture, :class:`steinball.models.Independent`, a flow.

    Notes
    -----
    A univariate distribution of SciPy whose support has an end is tested in this way by default, unless a kernel, a
    tilt, a number for τ or a distance is asked for, which are about the coordinates of the data; pass
    ``sb.as_model(distribution)`` to test it as it is.

    The level needs nothing but Z ~ N(0, I): no edge, no growing score. A set of distributions that is stated by shares
    or divergences is the same set there (:class:`Huber`, :class:`TotalVariation`, :class:`Hellinger`,
    :class:`KullbackLeibler`, :class:`ChiSquared`, :class:`DensityBand`); distances are not, so that numbers on the
    KSD scale and :class:`Wasserstein` are refused. Rows keep their places: contributions and removals are about the
    original points, and explanations, pictures and reports speak of the original coordinates.
    docs/edges.md compares the power with that of an edge tilt.

    Examples
    --------
    >>> import numpy as np
    >>> import steinball as sb
    >>> from scipy import stats
    >>> x = np.random.default_rng(0).lognormal(size=300)
    >>> sb.robust_ksd_test(x, sb.in_base_space(stats.lognorm(1.0)), contamination=0.05, rng=0).rejected
    False
    """
    found = as_model(model)
    known = Knowledge(found)
    if known.base_map is not None:
        return found  # type: ignore[return-value]
    if known.to_base is None or known.dimension is None:
        raise TypeError(
            f"`model` must know its distribution function or the inverse of a flow, and {found!r} does not. Univariate "
            "distributions, `sb.models.Independent([...])` of them, Gaussians, t, mixtures and flows do."
        )
    return _based(found)


def _based(model: Model) -> BaseSpace:
    known = Knowledge(model)
    return BaseSpace(dimension=known.dimension, base_map=BaseMap(model, known.support))


_last_based: Any = lru_cache(maxsize=8)(_based)  # what was found out of it serves the next test; it holds its model


def as_tested(model: Any, samples: Array, base: bool) -> Model:
    """What a user passed, as a model; with ``base`` in base space where an object of another library is better there.

    A distribution of SciPy on the line whose support ends is (docs/edges.md). One that was made a model by
    :func:`~steinball.models.base.as_model` is taken as it is.
    """
    found = model_at(model, samples)
    return _last_based(found) if base and found is not model and Knowledge(found).prefers_base else found


def bring_stream(rows: Array, model: Any) -> Array:
    """Rows of a stream in the coordinates of the model; refused outside the support."""
    move, support = Knowledge(model).move, Knowledge(model).support
    support = support if move is None else move.support
    rows = rows if support is None else within(rows, support)
    return rows if move is None else move(rows)
