"""Moves that a model allows: its modes, and P-invariant jumps that turn their wrong weights into wrong shapes."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import Any, Protocol, runtime_checkable

import numpy as np
import scipy
from numpy.typing import NDArray

from steinball.arrays import Array, Floats, OutOfRangeError, as_number, generator_at, like, private_copy, to_host
from steinball.models.base import score_of
from steinball.models.gaussian import Covariance, frozen
from steinball.models.knowledge import Knowledge
from steinball.models.mixture import as_places, factors_of

TOLERANCE = 1e-6
_PANELS = 200
MOST_MODES = 64
_STARTS = 64
_MERGE = 0.5
_STEP = 1e-4


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
        locations = as_places(self.locations, "locations` of the `modes")
        factors = factors_of(self.covariances, "covariances", *locations.shape)
        matrices = frozen([factor.matrix for factor in factors])
        vars(self).update(locations=locations, covariances=matrices, _factors=factors)

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


def find_modes(model: Any, *, template: Array | None = None) -> Modes:
    """The modes of a model by climbing its log density; the data that are tested play no part.

    Parameters
    ----------
    model : Model
        With ``log_density`` and ``score``.
    template : array, optional
        Any array of the library, dtype and device that the model computes in; NumPy by default.

    Returns
    -------
    Modes
        Maxima that lie at least half a standard deviation apart, the highest 64 at most, in the order of their
        coordinates, with the inverse of the curvature of −log p as their shape.

    Notes
    -----
    Climbs start from the components of a mixture, or the ``modes`` that a model declares, else from 64 draws of
    ``model.sample`` with a fixed seed, so that the modes are those of the model and of nothing else. A mode that no
    start reaches is missed, which costs power, not validity.

    Examples
    --------
    >>> from steinball.models import GaussianMixture
    >>> model = GaussianMixture([0.3, 0.3, 0.4], [-6.0, -5.5, 6.0])
    >>> find_modes(model).locations.round(2).tolist()
    [[-5.75], [6.0]]
    """
    surface = _Surface(model, Knowledge(model).evaluated_in(template))
    with np.errstate(over="ignore", invalid="ignore"):  # a climb from far out may fail, and is left out
        tops = np.array([surface.climb(start) for start in _starts(model)])
        return _merged(surface, tops[np.isfinite(tops).all(axis=1)])


def _starts(model: Any) -> Floats:
    known = Knowledge(model)
    if known.clusters is not None:
        return known.clusters.locations
    if known.sampler is None:
        raise TypeError(
            "finding modes needs places to climb from: `model` has no `sample(n, rng)`. Pass the modes themselves: "
            "`ModeJumps(modes)`."
        )
    return known.needed_draws(_STARTS)


def _log_density(model: Any, x: Floats, template: Array) -> Floats:
    """log p at rows of ``x``, computed in the library of ``template``; −∞ where it is NaN."""
    with np.errstate(all="ignore"):
        values = to_host(model.log_density(private_copy(like(x, template)))).reshape(len(x))
    return np.where(np.isnan(values), -np.inf, values)


class _Surface:
    """log p, its gradient and its curvature, for climbing."""

    def __init__(self, model: Any, template: Array) -> None:
        if Knowledge(model).log_density is None:
            raise TypeError(
                "finding modes climbs `model.log_density`, which this model does not have. Pass the modes themselves: "
                "`ModeJumps(modes)`, or build the model with `from_log_density`."
            )
        self.model, self.template = model, template
        self.value = partial(_log_density, model, template=template)

    def gradient(self, x: Floats) -> Floats:
        return to_host(score_of(self.model, like(x, self.template))).reshape(x.shape)

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

    def curvature(self, x: Floats) -> Floats:
        """−∇∇ log p by central differences of the score, symmetrized, shape (d, d)."""
        moves = _STEP * max(1.0, float(np.abs(x).max())) * np.eye(len(x))
        slopes = self.gradient(np.vstack([x + moves, x - moves]))
        hessian = -(slopes[: len(x)] - slopes[len(x) :]) / (2.0 * moves[0, 0])
        return np.asarray((hessian + hessian.T) / 2.0)


def _merged(surface: _Surface, tops: Floats) -> Modes:
    """The highest maxima, each at least half a standard deviation from those before it."""
    if not len(tops):
        raise ValueError("no mode was found: the log density climbs to infinity from every start. Pass the modes.")
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


def log_ratio_along_paths(model: Any, x: Floats, y: Floats, template: Array) -> Floats:
    r"""log p(y) − log p(x) for pairs of rows, from the score

    .. math:: \log p(y) - \log p(x) = \int_0^1 s(x + t (y - x))^\top (y - x) \, dt,

    by adaptive quadrature to 10⁻⁶. Paths on which that is not reached, across a place where the score jumps or is
    infinite, are refused: an acceptance that is only roughly right would not leave the model alone.
    """
    if not Knowledge(model).evaluable:
        raise TypeError("jumps need the model away from the samples; `model` is an array of scores.")
    apart = y - x

    def slope(t: float) -> Floats:
        scores = to_host(score_of(model, like(x + t * apart, template))).reshape(x.shape)
        return np.asarray(np.sum(scores * apart, axis=1))

    value, error = scipy.integrate.quad_vec(slope, 0.0, 1.0, epsabs=TOLERANCE, epsrel=0.0, norm="max", limit=_PANELS)
    if not error <= TOLERANCE:
        raise ValueError(
            f"the score could not be integrated to {TOLERANCE:g} along {len(x)} jumps. Give the model a "
            "`log_density(x)` (up to a constant), for instance by `from_log_density`."
        )
    return np.asarray(value)


def log_ratio(model: Any, x: Floats, y: Floats, template: Array) -> Floats:
    """log p(y) − log p(x) for pairs of rows, by the log density where the model has one."""
    if Knowledge(model).log_density is None:
        return log_ratio_along_paths(model, x, y, template)
    with np.errstate(invalid="ignore"):
        return np.asarray(_log_density(model, y, template) - _log_density(model, x, template))


@dataclass(frozen=True, eq=False)
class ModeJumps:
    r"""Metropolis jumps from mode to mode that miss the other mode's center by a fixed offset

    .. math:: x = m_i + L_i z \;\longmapsto\; x' = m_j + L_j (z + o_{ij}), \qquad
       \min\!\left(1, \frac{p(x') \det L_j}{p(x) \det L_i}\right) \mathbf 1\{c(x') = j\},

    i = c(x) the cell of x, j one of the other modes at random, :math:`o_{ji} = -o_{ij}` of length ``offset`` along the
    first axis of the mode's own coordinates.

    Parameters
    ----------
    modes : Modes or (k, d) array
        :math:`m_i`, known or found *without the data that are tested*. With one mode nothing moves.
    covariances : float, (d, d) or (k, d, d) array
        :math:`L_i L_i^\top`, the shapes of the modes; ignored when ``modes`` is a :class:`Modes`. Wrong shapes cost
        power, not validity.
    offset : float
        :math:`|o_{ij}|`, in standard deviations of a mode. Without an offset a jump maps mode onto mode and shows
        nothing.

    Notes
    -----
    Proved (``docs/theory/many-modes.md``): the kernel is reversible with respect to P, whatever the modes, shapes and
    offset, as long as they are fixed without the tested data. So the moved data test the same null, for every
    tolerance that is ``closed_under_moves``. Simulated: an offset of 1.5 gives the most power, from
    d = 1 to 10, for modes of equal and of unequal weight; a random offset averages its own effect away.

    A model without ``log_density`` is integrated along the jump, to a relative 1e-6 of the acceptance, or refused.

    Examples
    --------
    >>> from steinball.models import GaussianMixture
    >>> model = GaussianMixture([0.5, 0.5], [-6.0, 6.0])
    >>> jumps = ModeJumps.from_model(model)
    >>> x = np.full((1000, 1), 6.0)
    >>> y = jumps.move(x, model, np.random.SeedSequence(0))
    >>> sorted(set(y[:, 0].round(6).tolist())), int(np.sum(y < 0))
    ([-7.5, 6.0], 305)
    """

    modes: Any
    covariances: Any = 1.0
    offset: float = 1.5

    def __post_init__(self) -> None:
        modes = self.modes if isinstance(self.modes, Modes) else Modes(self.modes, self.covariances)
        offset = as_number(self.offset, "offset", low=0.0)
        vars(self).update(modes=modes, covariances=modes.covariances, offset=offset)

    @classmethod
    def from_model(cls, model: Any, *, template: Array | None = None, offset: float = 1.5) -> ModeJumps:
        """Jumps between the modes that :func:`find_modes` finds."""
        return cls(find_modes(model, template=template), offset=offset)

    def move(self, samples: Array, model: Any, seed: np.random.SeedSequence, /) -> Array:
        """Every point moved by itself; random numbers come from the host, so every library gives the same points."""
        x = to_host(samples)
        self._check_columns(x)
        if len(self.modes) == 1:
            return samples
        draws = generator_at(seed, 0).random((2, len(x)))
        # The j-th of the other modes, counted from the cell: uniform on all modes but the point's own.
        ahead = 1 + np.floor(draws[0] * (len(self.modes) - 1)).astype(np.intp)
        proposed, acceptance = self.propose(x, ahead, model, samples)
        return like(np.where((draws[1] < acceptance)[:, None], proposed, x), samples)

    def propose(self, x: Floats, ahead: NDArray[np.intp], model: Any, template: Array) -> tuple[Floats, Floats]:
        """Where each row would go, to the mode ``ahead`` places after its own (mod k), and with what probability."""
        here = self.modes.cells(x)
        there = (here + ahead) % len(self.modes)
        z = self.modes.coordinates(x, here)
        z[:, 0] += self.offset * np.sign(there - here)
        proposed, log_mass = self._moved(x, z, there, model, template)
        support = Knowledge(model).support
        if support is not None:
            log_mass = np.where((support.distance(proposed) > 0.0).all(axis=1), log_mass, -np.inf)
        # From where p = 0 any jump is as good as staying: both ends of such a jump carry no mass of P.
        return proposed, np.exp(np.minimum(0.0, log_mass - self.modes.log_volumes[here]))

    def memberships(self, samples: Array, model: Any) -> tuple[NDArray[np.intp], Floats]:
        r"""The cell of each point, (n,), and the cells' probabilities given its coordinates, (n, k)

        .. math:: P(j \mid z) \propto p(m_j + L_j z) \det L_j,

        over the modes j whose own cell contains :math:`m_j + L_j z`. Under P this is the law of the cell, given z.
        """
        x = to_host(samples)
        self._check_columns(x)
        here = self.modes.cells(x)
        z = self.modes.coordinates(x, here)
        cells = (np.full(len(x), j) for j in range(len(self.modes)))
        logs = np.stack([self._moved(x, z, cell, model, samples)[1] for cell in cells], axis=1)
        logs[np.arange(len(x)), here] = self.modes.log_volumes[here]  # the point itself, without rounding
        top = logs.max(axis=1, keepdims=True)
        # Where p(x) = 0 < p elsewhere a ratio is infinite: such modes share all of the mass.
        logs = np.where(np.isinf(top), np.where(logs == top, 0.0, -np.inf), logs - np.where(np.isinf(top), 0.0, top))
        weights = np.exp(logs)
        return here, weights / weights.sum(axis=1, keepdims=True)

    def _moved(self, x: Floats, z: Floats, j: NDArray[np.intp], model: Any, template: Array) -> tuple[Floats, Floats]:
        """y = m_j + L_j z for a mode j of each row, and log p(y) + log det L_j − log p(x).

        Outside of cell j that is −∞: from there no jump leads back to x.
        """
        y = self.modes.places(z, j)
        ratio = log_ratio(model, x, y, template) + self.modes.log_volumes[j]
        return y, np.where((self.modes.cells(y) == j) & ~np.isnan(ratio), ratio, -np.inf)

    def _check_columns(self, x: Floats) -> None:
        if x.shape[1] != self.modes.dimension:
            raise ValueError(f"`modes` have {self.modes.dimension} coordinates, the samples {x.shape[1]} columns.")


def as_jumps(jumps: Any, model: Any, template: Array | None = None) -> Jumps | None:
    """What a user passed as ``jumps``: ``None``, ``"auto"`` (from the model's own modes), or a :class:`Jumps`."""
    if jumps is None:
        return None
    if isinstance(jumps, str) and jumps == "auto":
        return ModeJumps.from_model(model, template=template)
    if isinstance(jumps, type) or not isinstance(jumps, Jumps):
        raise TypeError(f'`jumps` must be None, "auto" or an object with `move(samples, model, seed)`, got {jumps!r}.')
    return jumps


SEPARATION = 5.0  # in standard deviations: from there on two groups of components count as separated
_MOST_COMPONENTS = 128


def count_groups(model: Any) -> int | None:
    """How many groups of modes a model is known to have; ``None`` where that cannot be told at once.

    Components i and j of a :class:`steinball.models.GaussianMixture` are in one group when

        (μ_i − μ_j)ᵀ ((Σ_i + Σ_j)/2)⁻¹ (μ_i − μ_j) < 5²,

    so that between two groups the overlap exp(−dist²/8) of any two components is below 0.044. That is where the test
    begins to lose sight of the weights: in the paper's experiment (§5.4) the power falls from .94 to .07 between 3 and
    5 times the scale. Other models are asked for ``modes``, a :class:`Modes`, if they have it; nothing is searched.

    Examples
    --------
    >>> from steinball.models import GaussianMixture
    >>> count_groups(GaussianMixture([0.5, 0.5], [-6.0, 6.0])), count_groups(GaussianMixture([0.5, 0.5], [-1.0, 1.0]))
    (2, 1)
    """
    clusters = Knowledge(model).clusters
    if clusters is None or len(clusters.locations) > _MOST_COMPONENTS:
        return None
    means, covariances = clusters
    apart = means[:, None, :] - means[None, :, :]
    pooled = (covariances[:, None] + covariances[None, :]) / 2.0
    square = np.einsum("ijk,ijk->ij", apart, np.linalg.solve(pooled, apart[..., None])[..., 0])
    return int(scipy.sparse.csgraph.connected_components(square < SEPARATION**2, directed=False, return_labels=False))
