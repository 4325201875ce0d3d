"""The Gaussian model, its family, and the covariance factor that the models built from Gaussians share."""

from __future__ import annotations

import math
from dataclasses import InitVar, dataclass, field
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import scipy

from steinball.arrays import Array, Floats, as_numbers, check_resamples, is_array, like, namespace
from steinball.models.knowledge import Bounds, RadialScore, ScoreGrowth, as_matrix, linear_bounds, times, unit_root


class BuiltIn:
    """A model of our own: it takes NumPy arrays, and the tests compare its score with its sampler."""

    takes_numpy: ClassVar[bool] = True
    verified: ClassVar[bool] = True


MANY = 1000
"""Columns beyond which a diagonal covariance is not made a matrix, and no certificates are looked for."""


def frozen(value: Any) -> Floats:
    """A read-only copy as NumPy float64."""
    array = np.array(value, dtype=np.float64)
    array.flags.writeable = False
    return array


def as_points(x: Any, dimension: int) -> Array:
    """Points as an (n, d) floating array of their own library; (n,) means d = 1.

    Values are not looked at, so that tracing (``jax.grad``, ``jax.jit``) passes through.
    """
    x = x if is_array(x) else np.asarray(x, dtype=np.float64)
    xp = namespace(x)
    if not xp.isdtype(x.dtype, "real floating"):
        x = xp.astype(x, xp.float64)
    if x.ndim == 1 and dimension == 1:
        return xp.reshape(x, (-1, 1))
    if x.ndim != 2 or x.shape[1] != dimension:
        raise ValueError(f"`x` must have shape (n, {dimension}), as the model has, got {tuple(x.shape)}.")
    return x


def as_vector(value: Any, name: str, dimension: int) -> Floats:
    """A read-only finite (d,) vector; a scalar is repeated."""
    vector = as_numbers(value, name)
    if vector.ndim > 1 or (vector.ndim == 1 and vector.shape != (dimension,)):
        raise ValueError(f"`{name}` must be a number or have shape ({dimension},), got {vector.shape}.")
    if not np.isfinite(vector).all():
        raise ValueError(f"`{name}` must be finite, got {value!r}.")
    return frozen(np.broadcast_to(vector, (dimension,)))


def common_dimension(dimension: int | None, **parameters: Any) -> int:
    """The dimension that the parameters that are not scalars agree on, or ``dimension``, or 1."""
    shapes = {name: as_numbers(value, name).shape for name, value in parameters.items()}
    sizes = {name: shape[-1] for name, shape in shapes.items() if shape}
    if dimension is not None:
        sizes["dimension"] = check_resamples(dimension, "dimension")
    if len(set(sizes.values())) > 1:
        found = ", ".join(f"`{name}` says {size}" for name, size in sizes.items())
        raise ValueError(f"parameters must agree on the dimension, but {found}.")
    d = next(iter(sizes.values()), 1)
    if d < 1:
        raise ValueError(f"`dimension` must be at least 1, got {d}.")
    return d


@dataclass(frozen=True, eq=False)
class Covariance:
    r"""A covariance :math:`\Sigma = L L^\top` with what its use needs, computed once.

    Parameters
    ----------
    compact, compact_root, compact_whitener : (d, d) or (d,) arrays
        :math:`\Sigma`, its Cholesky factor :math:`L` and :math:`L^{-1}`; their diagonals where :math:`\Sigma` was given
        by its own: then no matrix is made unless it is asked for.
    log_volume : float
        :math:`\log \det L`.

    Examples
    --------
    >>> Covariance.of([4.0, 9.0], "cov", 2).whiten(np.array([[2.0, 3.0]]))
    array([[1., 1.]])
    """

    compact: Floats
    compact_root: Floats
    compact_whitener: Floats
    log_volume: float

    @classmethod
    def of(cls, value: Any, name: str, dimension: int) -> Covariance:
        """Factor a variance, (d,) variances or a (d, d) matrix.

        Rows and columns are divided by the standard deviations first: units (metres beside kilometres) cost
        no digits, and only the correlations decide whether the matrix is definite.
        """
        given = as_numbers(value, name)
        if given.shape in ((), (dimension,)):
            variances = frozen(np.broadcast_to(given, (dimension,)))
            _check_variances(variances, name)
            deviations = np.sqrt(variances)
            return cls(variances, deviations, 1.0 / deviations, float(np.sum(np.log(deviations))))
        matrix = _as_symmetric(given, name, dimension)
        deviations = np.sqrt(np.diag(matrix))
        correlation_root = _cholesky(matrix / deviations / deviations[:, None], name)
        unit = np.eye(dimension)  # its inverse need not be asked for, nor SciPy be loaded for it
        alone = np.array_equal(correlation_root, unit)
        inverse = unit if alone else scipy.linalg.solve_triangular(correlation_root, unit, lower=True)
        inverse = inverse / deviations
        root = correlation_root * deviations[:, None]
        log_volume = float(np.sum(np.log(np.diag(correlation_root))) + np.sum(np.log(deviations)))
        return cls(frozen(matrix), frozen(root), frozen(inverse), log_volume)

    @cached_property
    def matrix(self) -> Floats:
        """:math:`\\Sigma`, shape (d, d)."""
        return frozen(as_matrix(self.compact))

    @cached_property
    def root(self) -> Floats:
        """The Cholesky factor :math:`L`, shape (d, d)."""
        return frozen(as_matrix(self.compact_root))

    @cached_property
    def whitener(self) -> Floats:
        """:math:`L^{-1}`, shape (d, d)."""
        return frozen(as_matrix(self.compact_whitener))

    def whiten(self, offset: Array) -> Array:
        """Rows :math:`L^{-1} v` for rows v of ``offset``, shape (n, d)."""
        return times(offset, self.compact_whitener)

    def pull_back(self, whitened: Array) -> Array:
        """Rows :math:`L^{-T} z`: after :meth:`whiten`, the rows of :math:`\\Sigma^{-1} v`."""
        return times(whitened, self.compact_whitener.T)

    def color(self, noise: Floats) -> Floats:
        """Rows :math:`L z`: standard normal noise given this covariance."""
        return np.asarray(times(noise, self.compact_root))

    @property
    def inverse(self) -> Floats:
        """:math:`\\Sigma^{-1}`, shape (d, d)."""
        return np.asarray(self.whitener.T @ self.whitener)

    def score_growth(self, mean: Floats, center: Any, precision: Floats | None) -> ScoreGrowth:
        """The growth of −Σ⁻¹(x − μ) = −Σ⁻¹y − Σ⁻¹(a − μ): the three terms of its square, each at its largest."""
        offset = self.inverse @ (np.asarray(center) - mean)
        slope = self.inverse @ unit_root(precision, len(mean))
        terms = np.linalg.norm(offset), np.linalg.norm(slope, 2), np.linalg.norm(offset @ slope)
        return ScoreGrowth(*map(float, terms))


def _as_symmetric(matrix: Floats, name: str, dimension: int) -> Floats:
    if matrix.shape != (dimension, dimension):
        wanted = f"a variance, ({dimension},) variances or a ({dimension}, {dimension}) matrix"
        raise ValueError(f"`{name}` must be {wanted}, got shape {matrix.shape}.")
    variances = np.diag(matrix)
    _check_variances(variances if np.isfinite(matrix).all() else np.full(dimension, np.nan), name)
    gap = (np.abs(matrix - matrix.T) / np.sqrt(variances) / np.sqrt(variances)[:, None]).max()
    if gap > 1e-8:
        raise ValueError(f"`{name}` must be symmetric; its correlations and their transposes differ by {gap:.2g}.")
    return np.asarray(matrix / 2.0 + matrix.T / 2.0)


def _check_variances(variances: Floats, name: str) -> None:
    if not ((variances >= 1e-300) & (variances <= 1e300)).all():
        raise ValueError(f"`{name}` must be finite with positive variances, got the diagonal {variances}.")


def _cholesky(correlation: Floats, name: str) -> Floats:
    try:
        root = np.linalg.cholesky(correlation)
    except np.linalg.LinAlgError:
        root = np.zeros_like(correlation)
    # A pivot at rounding level is a singular matrix whose factor came out real by luck.
    if np.diag(root).min() ** 2 <= len(root) * np.finfo(np.float64).eps:
        smallest = np.linalg.eigvalsh(correlation)[0]
        raise ValueError(
            f"`{name}` must be positive definite, but its correlations have the eigenvalue {smallest:.2g}. "
            "Remove redundant coordinates or add to the diagonal."
        )
    return np.asarray(root, dtype=np.float64)


@dataclass(frozen=True, eq=False, repr=False)
class Gaussian(BuiltIn):
    r"""The Gaussian distribution :math:`\mathcal N(\mu, \Sigma)`, with score

    .. math:: s(x) = -\Sigma^{-1} (x - \mu)

    (paper §5.1 with :math:`\mu = 0`, :math:`\Sigma = 1`).

    Parameters
    ----------
    mean : float or (d,) array
        :math:`\mu`.
    cov : float, (d,) or (d, d) array
        :math:`\Sigma`: a *variance*, 1 by default, one per coordinate, or the matrix. Read as the matrix; of more than
        1,000 uncorrelated columns as their variances (``covariance`` is the matrix always).
    sd : float or (d,) array, optional
        Standard deviations, in place of ``cov``.
    dimension : int, optional
        d, where neither parameter shows it.

    Notes
    -----
    ``log_density`` is normalized.

    Examples
    --------
    >>> model = Gaussian(mean=[0.0, 1.0], sd=[1.0, 2.0])  # or cov=[1.0, 4.0]
    >>> model.score(np.array([[1.0, 3.0]]))
    array([[-1. , -0.5]])
    """

    mean: Any = 0.0
    cov: Any = None
    sd: InitVar[Any] = field(default=None, kw_only=True)
    dimension: Any = field(default=None, kw_only=True)
    _factor: Covariance = field(init=False)

    def __post_init__(self, sd: Any) -> None:
        cov = self._variances(sd)
        d = common_dimension(self.dimension, mean=self.mean, cov=cov)
        factor = Covariance.of(cov, "cov", d)
        held = factor.compact if d > MANY else factor.matrix
        vars(self).update(mean=as_vector(self.mean, "mean", d), cov=held, dimension=d, _factor=factor)

    def _variances(self, sd: Any) -> Any:
        if sd is None:
            return 1.0 if self.cov is None else self.cov
        if self.cov is not None:
            raise ValueError("give `cov`, a variance, or `sd`, a standard deviation, and not both.")
        deviations = as_numbers(sd, "sd")
        if deviations.ndim > 1 or not ((deviations > 1e-150) & (deviations < 1e150)).all():
            raise ValueError(f"`sd` must be a positive number or one per coordinate, got {sd!r}.")
        return deviations**2

    def __repr__(self) -> str:
        if self.dimension > 1:
            return f"Gaussian(dimension={self.dimension})"
        return f"Gaussian(mean={self.mean[0]:g}, cov={self.covariance[0, 0]:g})"

    @property
    def location(self) -> Floats:
        """The mean, shape (d,)."""
        return np.asarray(self.mean)

    @property
    def covariance(self) -> Floats:
        """The covariance, shape (d, d)."""
        return self._factor.matrix

    @property
    def variances(self) -> Floats | None:
        """The variances (d,) where the columns are uncorrelated, so that no matrix need be made."""
        return self._factor.compact if self._factor.compact.ndim == 1 else None

    @property
    def normal_parts(self) -> tuple[Floats, Floats, Floats]:
        """Weights (1,), means (1, d) and covariances (1, d, d): a mixture of one."""
        return np.ones(1), self.location[None], self.covariance[None]

    def score(self, x: Array) -> Array:
        """∇ log p at each row of ``x``, shape (n, d)."""
        x = as_points(x, self.dimension)
        return -self._factor.pull_back(self._factor.whiten(x - like(self.mean, x)))

    @cached_property
    def radial_score(self) -> RadialScore:
        """The score as a function of the distance from the mean, for a closed form of sup u(x, x)."""
        alone = self.variances if self.dimension > MANY else None
        return RadialScore(self.location, self._factor.inverse if alone is None else 1.0 / alone)

    def score_growth(self, center: Any, precision: Floats | None = None) -> ScoreGrowth:
        """How the score grows with the distance from ``center``, in the metric ``precision``; each term is attained."""
        return self._factor.score_growth(self.location, center, precision)

    def score_bounds(self, lower: Floats, upper: Floats) -> Bounds:
        """The smallest and largest of each coordinate of the score over boxes, shapes (m, d)."""
        return linear_bounds(-self._factor.inverse, lower - self.mean, upper - self.mean)

    def log_density(self, x: Array) -> Array:
        """log p at each row of ``x``, normalized, shape (n,)."""
        x = as_points(x, self.dimension)
        z = self._factor.whiten(x - like(self.mean, x))
        constant = self._factor.log_volume + 0.5 * self.dimension * math.log(2.0 * math.pi)
        return -0.5 * namespace(x).sum(z * z, axis=1) - constant

    def sample(self, n: int, rng: Any = None) -> Floats:
        """``n`` independent draws, shape (n, d)."""
        noise = np.random.default_rng(rng).standard_normal((n, self.dimension))
        return np.asarray(self.mean + self._factor.color(noise))

    def to_base(self, x: Floats) -> Floats:
        """L⁻¹(x − μ), which is Rosenblatt's map: standard normal where x comes from the model."""
        return np.asarray(self._factor.whiten(x - self.mean))
