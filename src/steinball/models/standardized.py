"""Standardized coordinates, in which neither the units of the columns nor their correlations matter."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from steinball.arrays import Array, Floats, OutOfRangeError, like, namespace, to_host
from steinball.models.base import Model, score_of
from steinball.models.family import Family
from steinball.models.gaussian import Gaussian
from steinball.models.kept import kept_with
from steinball.models.knowledge import Bounds, Clusters, Knowledge, ScoreGrowth, as_matrix, linear_bounds, times
from steinball.models.mixture import GaussianMixture
from steinball.models.reference import Reference
from steinball.models.student_t import StudentT
from steinball.models.support import Move, Support
from steinball.tilts.scatter import Scatter, median_and_scales, robust_scatter_of

#: Rows for each column from which correlations of the data are used; with fewer, their scales alone.
_ROWS_PER_COLUMN = 5

_LARGEST = 1e100


@dataclass(frozen=True, eq=False)
class Standardization(Move):
    r"""The affine map :math:`z = R^{-1/2} D^{-1} (x - a)`, with the covariance DRD of x, D diagonal.

    Each :math:`z_j` is as close to :math:`(x_j - a_j)/D_j` as uncorrelated columns can be. ``root`` is
    :math:`D R^{1/2}` and ``inverse`` its inverse, (d, d); or (d,) where columns are scaled alone.

    Examples
    --------
    >>> move = Standardization.of(Scatter(np.array([1.0, 0.0]), np.diag([4.0, 1.0])))
    >>> move(np.array([[5.0, 1.0]])), move.back(np.array([[2.0, 1.0]]))
    (array([[2., 1.]]), array([[5., 1.]]))
    """

    center: Floats = field(kw_only=True)
    root: Floats = field(kw_only=True)
    inverse: Floats = field(kw_only=True)
    label: ClassVar[str] = "standardized coordinates"

    @classmethod
    def of(cls, scatter: Scatter, support: Support | None = None, from_data: bool = False) -> Standardization:
        """By a center and a covariance; by its diagonal alone where it is diagonal or the model has edges.

        The center of a column with an end is that end: next to it not a digit is lost.
        """
        center, scales = scatter.center, scatter.scales
        root, inverse = scales, 1.0 / scales
        if support is not None:
            low, high = support.along(len(scales))
            center = np.where(np.isfinite(low), low, np.where(np.isfinite(high), high, center))
        elif scatter.covariance.ndim == 2 and np.triu(scatter.covariance, 1).any():
            values, vectors = np.linalg.eigh(scatter.covariance / scales / scales[:, None])
            half = np.sqrt(np.maximum(values, 1e-12 * values[-1]))
            root, inverse = scales[:, None] * ((vectors * half) @ vectors.T), (vectors / half) @ vectors.T / scales
        return cls(None, support, center=center, root=root, inverse=inverse, from_data=from_data)

    @cached_property
    def stretch(self) -> float:  # type: ignore[override]
        """‖L⁻¹‖: how many times as large distances become, at most."""
        return _norm(self.inverse)

    @cached_property
    def score_stretch(self) -> float:  # type: ignore[override]
        """‖L‖: how many times as large scores become, at most."""
        return _norm(self.root)

    def of_model(self, model: Any) -> Standardization:
        """The same map for another model of x."""
        return replace(self, model=model)

    @property
    def is_identity(self) -> bool:
        """Whether z is x."""
        return self.root.ndim == 1 and bool((self.root == 1.0).all() and (self.center == 0.0).all())

    def __call__(self, samples: Array) -> Array:
        """Rows z of rows x."""
        return times(samples - like(self.center, samples), self.inverse)

    def back(self, standard: Array) -> Array:
        """Rows x of rows z."""
        return like(self.center, standard) + times(standard, self.root)

    def pulled(self, scores: Array) -> Array:
        """Scores of z from scores of x: rows Lᵀs, with L the root."""
        return times(scores, self.root.T)

    def shrunk(self, covariances: Floats) -> Floats:
        """Covariances (…, d, d) of x as those of z."""
        if self.inverse.ndim == 1:
            return np.asarray(covariances * self.inverse * self.inverse[:, None])
        found = self.inverse @ covariances @ self.inverse.T
        return np.asarray((found + np.swapaxes(found, -1, -2)) / 2.0)


def _norm(matrix: Floats) -> float:
    """The largest singular value of a matrix, or of the diagonal of one."""
    return float(np.abs(matrix).max() if matrix.ndim == 1 else np.linalg.norm(matrix, 2))


#: What is as true of z as of x.
_UNMOVED = ("original", "evaluable", "unknown_elsewhere", "verified", "derived", "takes_numpy", "growth")


@dataclass(frozen=True, eq=False)
class Standardized:
    r"""The model of z, where x = a + L z comes from ``model``: :math:`s_z(z) = L^\top s(a + L z)`.

    What the model knows of itself is known of z.

    Examples
    --------
    >>> from steinball.models import Gaussian
    >>> move = Standardization.of(Scatter(np.ones(1), 4.0 * np.eye(1)))
    >>> model = Standardized(Gaussian(1.0, 4.0), move)
    >>> model.score(np.array([[1.0]])), model.covariance
    (array([[-1.]]), array([[1.]]))
    """

    model: Any
    move: Standardization

    @cached_property
    def known(self) -> Knowledge:
        """What the model of x knows of itself."""
        return Knowledge(self.model)

    def __getattr__(self, name: str) -> Any:
        if name not in _UNMOVED:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        found = vars(self)[name] = self.known.asked(name)  # asked once: what stands for the model lives for one test
        return found

    @cached_property
    def dimension(self) -> int:
        """The number d of columns."""
        return len(self.move.center)

    def score(self, z: Array, /) -> Array:
        """The score ∇log p of z, shape (n, d)."""
        x = self.move.back(z)
        scores = namespace(x).reshape(score_of(self.model, x), x.shape)
        return self.move.pulled(scores)

    @cached_property
    def log_density(self) -> Callable[[Array], Array] | None:
        """The log density of z up to a constant."""
        density = self.known.log_density
        return None if density is None else lambda z: density(self.move.back(z))

    @cached_property
    def sample(self) -> Callable[[int, np.random.Generator], Floats] | None:
        """Draws of z."""
        return None if self.known.sampler is None else lambda n, rng: self.move(self.known.needed_draws(n, rng))

    @cached_property
    def location(self) -> Floats | None:
        """The center of z."""
        found = self.known.location
        return None if found is None else np.asarray(self.move(found[None, :])[0])

    @cached_property
    def covariance(self) -> Floats | None:
        """The covariance of z."""
        found = self.known.covariance
        return None if found is None else self.move.shrunk(found)

    @cached_property
    def support(self) -> Support | None:
        """The ends of the model, in units of its spread."""
        found = self.known.support
        if found is None:
            return None
        low, high = (self.move(np.asarray(ends)[None, :])[0] for ends in found.along(self.dimension))
        return Support(tuple(zip(low.tolist(), high.tolist(), strict=True)))

    @cached_property
    def modes(self) -> Clusters | None:
        """The separated modes that the model knows of."""
        found = self.known.clusters
        return None if found is None else Clusters(self.move(found.locations), self.move.shrunk(found.covariances))

    @cached_property
    def score_growth(self) -> Callable[[Floats, Floats], list[ScoreGrowth]] | None:
        """Bounds of \\|s_z\\| by the distance of z from a center: those of x in the same metric, times ‖L‖."""
        return self._score_growth if self.known.grows_as is not None else None

    def _score_growth(self, center: Floats, precision: Floats) -> list[ScoreGrowth]:
        inverse = as_matrix(self.move.inverse)
        found = self.known.score_growth(self.move.back(center[None, :])[0], inverse.T @ precision @ inverse)
        stretch = self.move.score_stretch
        return [ScoreGrowth(g.offset * stretch, g.slope * stretch, g.middle * stretch**2) for g in found]

    @property
    def score_bounds(self) -> Callable[[Floats, Floats], Bounds] | None:
        """Bounds of each coordinate of s_z over boxes, by those of s over boxes around their images."""
        bounds, root, center = self.known.score_bounds, as_matrix(self.move.root), self.move.center

        def moved(lower: Floats, upper: Floats) -> Bounds:
            low, high = linear_bounds(root, lower, upper)
            return linear_bounds(root.T, *bounds(low + center, high + center))  # type: ignore[misc]

        return None if bounds is None else moved

    def moved_reference(self, found: Reference) -> Reference:
        """The reference of the model of x as that of z: drawn once, and moved once by what the model says of itself."""

        def make() -> Reference:
            scores = None if found.scores is None else self.move.pulled(found.scores)
            return Reference(self.move(found.draws), scores)

        return kept_with(found, Standardized, make)

    def __repr__(self) -> str:
        return f"Standardized({self.model!r})"


def _alike(model: Any, move: Standardization) -> Any:
    """The model of z in the class of the model of x, where that class is closed under affine maps."""
    if type(model) is Gaussian:
        alone = model.variances if move.inverse.ndim == 1 else None
        spread = move.shrunk(model.cov) if alone is None else alone * move.inverse * move.inverse
        return Gaussian(move(model.mean[None, :])[0], _rounded(spread))
    if isinstance(model, StudentT):
        shape = _rounded(move.shrunk(model.covariance))
        return StudentT(model.df, move(model.location[None, :])[0], shape=shape)
    if isinstance(model, GaussianMixture):
        return GaussianMixture(model.weights, move(model.means), move.shrunk(model.cov))
    return None


def _rounded(covariance: Floats) -> Floats:
    """The identity, or its diagonal, where rounding alone is between: closed forms are for round models."""
    unit = np.eye(len(covariance)) if covariance.ndim == 2 else np.ones(len(covariance))
    return unit if np.allclose(covariance, unit, rtol=0.0, atol=1e-8) else covariance


def standardized(model: Any, samples: Array, look: bool = True) -> tuple[Any, Standardization] | None:
    """The model in standardized coordinates, and how rows come there; ``None`` where nothing says where it lies.

    By the location and covariance that the model knows, otherwise by the robust scatter of its draws, kept with the
    model; otherwise by that of ``samples``, where one may ``look`` at them.
    """
    found = _by_model(model, samples) if Knowledge(model).evaluable else None
    if found is None and look:
        scatter = _checked(_scatter_of_rows(to_host(samples)))
        move = Standardization.of(scatter, Knowledge(model).support, from_data=True)
        found = _moved(model, move, _alike(model, move))
    return found if found is not None and len(found[1].center) == samples.shape[1] else None


def _by_model(model: Any, template: Array) -> tuple[Any, Standardization] | None:
    """By what the model knows or shows of itself, found once for each state of the model."""
    known = Knowledge(model)
    # Of a Gaussian with many uncorrelated columns no matrix is made.
    alone = model.variances if type(model) is Gaussian else None
    state: Any = known.place if alone is None else (model.location, alone)
    if state is None and (reference := Reference.of(model, template)) is not None:
        state = (reference.draws,)
    if state is None:
        return None

    def make() -> tuple[Any, Any]:  # nothing that refers to the model, which would live as long as what is kept
        scatter = Scatter(*state) if len(state) == 2 else _scatter_of_rows(state[0])
        move = Standardization.of(_checked(scatter), known.support)
        return state, (move, _alike(model, move))

    def holds(found: tuple[Any, Any]) -> bool:
        return all(np.array_equal(one, other) for one, other in zip(found[0], state, strict=False))

    return _moved(model, *kept_with(known.original, (Standardization, type(model)), make, holds)[1])


def _moved(model: Any, move: Standardization, alike: Any) -> tuple[Any, Standardization]:
    move = move.of_model(model)
    return Standardized(model, move) if alike is None else alike, move


def _scatter_of_rows(x: Floats) -> Scatter:
    if len(x) >= _ROWS_PER_COLUMN * x.shape[1]:
        return robust_scatter_of(x)
    center, scales = median_and_scales(x)
    return Scatter(center, scales**2)


def _checked(scatter: Scatter) -> Scatter:
    scales = scatter.scales
    if not ((scales > 1.0 / _LARGEST) & (scales < _LARGEST)).all():
        raise OutOfRangeError(f"the spread of the model is {scales.min():g} to {scales.max():g}: change its units.")
    return scatter


class MovedFamily(Family):
    r"""The densities of :math:`z = L^{-1}(x - a)` for x of a family: the same parameters, and rows z.

    Parameter scores are those of x, because :math:`\log p_z(z) = \log p_x(a + L z) + \log \det L`.

    Examples
    --------
    >>> from steinball.fitting import as_family
    >>> from steinball.tilts.scatter import Scatter
    >>> move = Standardization.of(Scatter(np.array([5.0, 0.0]), np.diag([4.0, 1.0])))
    >>> x = np.random.default_rng(0).normal([5.0, 0.0], [2.0, 1.0], size=(100, 2))
    >>> normal = as_family("normal", 2)
    >>> bool(np.allclose(MovedFamily(normal, move).fit(move(x)), normal.fit(x)))
    True
    """

    def __init__(self, family: Family, move: Standardization) -> None:
        self.family, self.move = family, move
        self.label, self.names, self.positive = family.label, family.names, family.positive
        self.numerical, self.fixed, self.quick, self.least = family.numerical, family.fixed, family.quick, family.least
        # What is about parameters alone is that of the family itself.
        vars(self).update(reported=family.reported, working_jacobian=family.working_jacobian)
        vars(self).update(to_working=family.to_working, from_working=family.from_working)

    def model(self, params: Floats) -> Model:
        model = self.family.model(params)
        return Standardized(model, self.move.of_model(model))

    def start(self, x: Floats) -> Floats:
        return self.family.start(self.move.back(x))

    def fit(self, x: Floats) -> Floats:
        return self.family.fit(self.move.back(x))

    def matched(self, x: Floats, own: Floats, target: Floats) -> Floats:
        return np.asarray(self.move(self.family.matched(self.move.back(x), own, target)))

    def parameter_scores(self, params: Floats, x: Floats) -> Floats:
        return self.family.parameter_scores(params, self.move.back(x))

    def mean_slope(self, params: Floats, x: Floats, units: Floats) -> Floats:
        return self.family.mean_slope(params, self.move.back(x), units)

    def margins(self, params: Floats, x: Floats) -> Floats | None:
        return self.family.margins(params, self.move.back(x))
