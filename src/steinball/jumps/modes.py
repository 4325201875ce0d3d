"""Modes of a model, found from the model alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

import numpy as np
import scipy
from numpy.typing import NDArray

from steinball.arrays import (
    Array,
    Floats,
    OutOfRangeError,
    as_numbers,
    as_samples,
    like,
    namespace,
    private_copy,
    to_host,
)
from steinball.models.base import score_of
from steinball.models.gaussian import Covariance, frozen
from steinball.models.knowledge import Knowledge

MOST_MODES = 64
_STARTS = 64
_MERGE = 0.5


@dataclass(frozen=True, eq=False, repr=False)
class Modes:
    r"""Places :math:`m_i` and shapes :math:`\Sigma_i = L_i L_i^\top` of modes.

    They give every point a cell, that of the mode nearest in its own metric, and coordinates in it,

    .. math:: c(x) = \arg\min_i |L_i^{-1}(x - m_i)|^2 + 2 \log\det L_i, \qquad z(x) = L_c^{-1} (x - m_c).

    Parameters
    ----------
    locations : (k, d) array
        :math:`m_i`; (k,) means d = 1.
    covariances : float, (d, d) or (k, d, d) array
        :math:`\Sigma_i`: one variance or matrix for all modes, or a matrix each.

    Examples
    --------
    >>> modes = Modes([-6.0, 6.0])
    >>> modes.cells(np.array([[-5.0], [7.5]])), modes.coordinates(np.array([[7.5]]), np.array([1]))
    (array([0, 1]), array([[1.5]]))
    """

    locations: Any
    covariances: Any = 1.0
    _factors: tuple[Covariance, ...] = field(init=False)

    def __post_init__(self) -> None:
        locations = as_numbers(self.locations, "locations` of the `modes")
        locations = locations[:, None] if locations.ndim == 1 else locations
        if locations.ndim != 2 or not locations.size or not np.isfinite(locations).all():
            raise ValueError(
                f"`locations` of the `modes` must be finite, of shape (k, d), or (k,) for d = 1; got {locations.shape}."
            )
        k, d = locations.shape
        covariances = as_numbers(self.covariances, "covariances")
        each = covariances if covariances.shape == (k, d, d) else [covariances] * k
        factors = tuple(Covariance.of(c, "covariances", d) for c in each)
        matrices = frozen([factor.matrix for factor in factors])
        vars(self).update(locations=frozen(locations), covariances=matrices, _factors=factors)

    def __len__(self) -> int:
        return len(self.locations)

    def __repr__(self) -> str:
        return f"Modes({len(self)} in dimension {self.dimension})"

    @property
    def dimension(self) -> int:
        """d."""
        return int(self.locations.shape[1])

    @property
    def log_volumes(self) -> Floats:
        """log det L_i, shape (k,)."""
        return np.array([factor.log_volume for factor in self._factors])

    def cells(self, x: Floats) -> NDArray[np.intp]:
        """The number of the cell of each row, shape (n,)."""
        with np.errstate(over="ignore", invalid="ignore"):
            squares = [np.sum(f.whiten(x - m) ** 2, axis=1) for f, m in zip(self._factors, self.locations, strict=True)]
        if not np.isfinite(squares).all():
            raise OutOfRangeError(
                "`x` has values so far from all modes that the squares of their distances are no floats, so that they "
                "belong to none of them. Remove them, or change the unit of the data and the model."
            )
        return np.asarray(np.argmin(np.stack(squares, axis=1) + 2.0 * self.log_volumes, axis=1))

    def coordinates(self, x: Floats, cells: NDArray[np.intp]) -> Floats:
        """z = L_i⁻¹(x − m_i) with i the given cell of each row, shape (n, d)."""
        whiteners = np.stack([factor.whitener for factor in self._factors])
        return np.asarray(np.einsum("nij,nj->ni", whiteners[cells], x - self.locations[cells]))

    def places(self, z: Floats, cells: NDArray[np.intp]) -> Floats:
        """x = m_i + L_i z, the inverse of :meth:`coordinates`."""
        roots = np.stack([factor.root for factor in self._factors])
        return np.asarray(self.locations[cells] + np.einsum("nij,nj->ni", roots[cells], z))


def find_modes(model: Any, *, starts: Any = None, template: Array | None = None, rng: Any = 0) -> Modes:
    """The modes of a model by climbing its log density; the data that are tested play no part.

    Parameters
    ----------
    model : Model
        With ``log_density`` and ``score``.
    starts : (m, d) array, optional
        Where to climb from. By default the components of a mixture, or the ``modes`` that a model declares, else 64
        draws of ``model.sample``.
    template : array, optional
        Any array of the library, dtype and device that the model computes in; NumPy by default.
    rng : int, SeedSequence or Generator
        For the draws; fixed by default, so that the modes are those of the model and of nothing else.

    Returns
    -------
    Modes
        Maxima that lie at least half a standard deviation apart, the highest 64 at most, in the order of their
        coordinates, with the inverse of the curvature of −log p as their shape.

    Notes
    -----
    Multistart finds what its starts lead to: a mode that no start reaches is missed, which costs power, not validity.

    Examples
    --------
    >>> from steinball.models import GaussianMixture
    >>> model = GaussianMixture([0.3, 0.3, 0.4], [-6.0, -5.5, 6.0])
    >>> find_modes(model).locations.round(2).tolist()
    [[-5.75], [6.0]]
    """
    surface = _Surface(model, Knowledge(model).evaluated_in(template))
    with np.errstate(over="ignore", invalid="ignore"):  # a climb from far out may fail, and is left out
        tops = np.array([surface.climb(start) for start in _starts(model, starts, rng)])
        return _merged(surface, tops[np.isfinite(tops).all(axis=1)])


def _starts(model: Any, starts: Any, rng: Any) -> Floats:
    known = Knowledge(model)
    if starts is not None:
        found = to_host(as_samples(starts, "starts", least=1))
        if known.dimension not in (None, found.shape[1]):
            raise ValueError(f"`starts` must have the {known.dimension} columns of the model, got shape {found.shape}.")
        return found
    if known.clusters is not None:
        return known.clusters.locations
    if known.sampler is None:
        raise TypeError(
            "finding modes needs places to climb from: `model` has no `sample(n, rng)`. Pass `starts`, or the modes "
            "themselves: `ModeJumps(modes)`."
        )
    return known.needed_draws(_STARTS, rng)


def host_log_density(model: Any, template: Array) -> Callable[[Floats], Floats]:
    """log p as a function of NumPy rows, computed in the library of ``template``."""

    def evaluate(x: Floats) -> Floats:
        with np.errstate(all="ignore"):
            values = to_host(model.log_density(private_copy(like(x, template)))).reshape(len(x))
        return np.where(np.isnan(values), -np.inf, values)

    return evaluate


class _Surface:
    """log p, its gradient and its curvature, for climbing."""

    def __init__(self, model: Any, template: Array) -> None:
        if Knowledge(model).log_density is None:
            raise TypeError(
                "finding modes climbs `model.log_density`, which this model does not have. Pass the modes themselves: "
                "`ModeJumps(modes)`, or build the model with `from_log_density`."
            )
        self.model, self.template = model, template
        self.value = host_log_density(model, template)

    def gradient(self, x: Floats) -> Floats:
        there = like(x, self.template)
        return to_host(namespace(there).reshape(score_of(self.model, there), x.shape))

    def climb(self, start: Floats) -> Floats:
        """A local maximum, by quasi-Newton steps in units of the local scale where that is known."""
        scale = 1.0 / max(float(np.sqrt(np.abs(self.curvature(start)).max())), 1e-8)

        def objective(y: Floats) -> tuple[float, Floats]:
            x = (start + scale * y)[None, :]
            value = float(self.value(x)[0])
            return -value if np.isfinite(value) else 1e300, -scale * self.gradient(x)[0]

        found = scipy.optimize.minimize(
            objective, np.zeros(len(start)), jac=True, method="L-BFGS-B", options={"gtol": 1e-9}
        )
        return np.asarray(start + scale * found.x)

    def curvature(self, x: Floats, step: float = 1e-4) -> Floats:
        """−∇∇ log p by central differences of the score, symmetrized, shape (d, d)."""
        moves = step * max(1.0, float(np.abs(x).max())) * np.eye(len(x))
        slopes = self.gradient(np.vstack([x + moves, x - moves]))
        hessian = -(slopes[: len(x)] - slopes[len(x) :]) / (2.0 * moves[0, 0])
        return np.asarray((hessian + hessian.T) / 2.0)


def _merged(surface: _Surface, tops: Floats) -> Modes:
    """The highest maxima, each at least half a standard deviation from those before it."""
    if not len(tops):
        raise ValueError("no mode was found: the log density climbs to infinity from every start. Pass other `starts`.")
    order = np.argsort(-surface.value(tops), kind="stable")
    kept, shapes = list[Floats](), list[Floats]()
    for top in tops[order]:
        apart = [np.sqrt((top - m) @ np.linalg.solve(c, top - m)) for m, c in zip(kept, shapes, strict=True)]
        if len(kept) < MOST_MODES and min(apart, default=np.inf) >= _MERGE:
            kept.append(top)
            shapes.append(_covariance(surface.curvature(top)))
    places, deviations = np.array(kept), np.sqrt(np.array([np.diag(c) for c in shapes]))
    # Equal heights would leave the order to rounding, and the order sets the signs of the offsets.
    keys = np.round(places / deviations.min(axis=0), 4)
    order = np.lexsort(keys.T[::-1])
    return Modes(places[order], np.array(shapes)[order])


def _covariance(curvature: Floats) -> Floats:
    """The inverse of a curvature; directions that are flat, or curve upward, take the scale of the flattest other."""
    values, vectors = np.linalg.eigh(curvature)
    usable = values > 1e-8 * max(float(values.max()), 1e-300)
    values = np.where(usable, values, values[usable].min() if usable.any() else 1.0)
    return np.asarray((vectors / values) @ vectors.T)


@runtime_checkable
class Jumps(Protocol):
    r"""A Markov kernel K that leaves the model alone, applied to each point before testing

    .. math:: P K = P, \qquad Q K = (1 - \varepsilon) P + \varepsilon R K
       \quad\text{for}\quad Q = (1 - \varepsilon) P + \varepsilon R.

    Notes
    -----
    Whoever writes one promises three things, none of which can be checked from outside: K is *exactly* P-invariant;
    it was fixed without looking at the tested data; each point moves by itself, with randomness of its own. Then the
    moved data are an independent sample of QK, and every statement about sets that K does not leave
    (:attr:`steinball.radius.Radius.closed_under_moves`) holds for the moved data (``docs/theory/many-modes.md``).

    Examples
    --------
    >>> class Mirror:  # P-invariant for every model symmetric about 0
    ...     def move(self, samples, model, seed):
    ...         signs = np.random.default_rng(seed).choice([-1.0, 1.0], size=(len(samples), 1))
    ...         return signs * samples
    >>> isinstance(Mirror(), Jumps)
    True
    """

    def move(self, samples: Array, model: Any, seed: np.random.SeedSequence, /) -> Array:
        """The moved points: the shape, library, device and dtype of ``samples`` (n, d)."""


SEPARATION = 5.0
"""Distance, in standard deviations, from which two groups of components count as separated."""

_MOST_COMPONENTS = 128


def is_multimodal(model: Any) -> bool | None:
    """Whether a model is known to have separated modes; ``None`` where that cannot be told at once.

    A :class:`steinball.models.GaussianMixture` falls into groups of components; components i and j are linked when

        (μ_i − μ_j)ᵀ ((Σ_i + Σ_j)/2)⁻¹ (μ_i − μ_j) < 5²,

    so that between two groups the overlap exp(−dist²/8) of any two components is below 0.044. That is where the test
    begins to lose sight of the weights: in the paper's experiment (§5.4) the power falls from .94 to .07 between 3 and
    5 times the scale. Other models are asked for ``modes``, a :class:`Modes`, if they have it; nothing is searched.

    Examples
    --------
    >>> from steinball.models import GaussianMixture
    >>> is_multimodal(GaussianMixture([0.5, 0.5], [-6.0, 6.0])), is_multimodal(GaussianMixture([0.5, 0.5], [-1.0, 1.0]))
    (True, False)
    """
    groups = count_groups(model)
    return None if groups is None else groups > 1


def count_groups(model: Any) -> int | None:
    """How many groups of components (or of the model's ``modes``) there are, or ``None`` where they are not known."""
    clusters = Knowledge(model).clusters
    if clusters is None or len(clusters.locations) > _MOST_COMPONENTS:
        return None
    means, covariances = clusters
    apart = means[:, None, :] - means[None, :, :]
    pooled = (covariances[:, None] + covariances[None, :]) / 2.0
    square = np.einsum("ijk,ijk->ij", apart, np.linalg.solve(pooled, apart[..., None])[..., 0])
    return int(scipy.sparse.csgraph.connected_components(square < SEPARATION**2, directed=False, return_labels=False))
