"""What a family is: parameters by name, the model at each of them, how its log density moves; the normal family."""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import lru_cache
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from steinball.arrays import Floats, to_host
from steinball.models.autodiff import difference_jacobian
from steinball.models.base import Model
from steinball.models.gaussian import Gaussian
from steinball.models.support import Support
from steinball.tilts.scatter import median_and_scales


class Family(ABC):
    r"""A parametric family of densities :math:`p_\eta` with the same support for every η.

    A family of one's own gives the parameters their names, the model at given parameters, a start and the parameter
    scores; the rest follows.

    Attributes
    ----------
    label : str
        The name of the family in summaries.
    names : tuple of str
        The parameters that are fitted, in their order.
    positive : tuple of bool
        Which of these parameters are positive; an empty tuple is none. Positive ones are searched for on a logarithmic
        scale.
    support : Support or None
        Where all densities of the family end, if they do.
    numerical : bool
        Whether the parameter scores are finite differences.
    fixed : tuple of str
        Parameters that were known when the family was made, and are not fitted.
    quick : bool
        Whether a fit takes milliseconds, so that small samples are tested by some hundred fits.
    least : float or (p,) array
        The least values of the coordinates without constraints that a member may have.

    Examples
    --------
    >>> from steinball.fitting import as_family
    >>> as_family("gamma", 1).names
    ('shape', 'scale')
    """

    label: str
    names: tuple[str, ...]
    positive: tuple[bool, ...] = ()
    support: Support | None = None
    numerical: bool = False
    fixed: tuple[str, ...] = ()
    quick: bool = True
    least: Floats | float = -np.inf

    @abstractmethod
    def model(self, params: Floats) -> Model:
        """The member of the family at these parameters, shape (p,), which knows its log density and a sampler."""

    @abstractmethod
    def start(self, x: Floats) -> Floats:
        """Parameters near the bulk of ``x`` (n, d), whatever a few outliers do."""

    @abstractmethod
    def parameter_scores(self, params: Floats, x: Floats) -> Floats:
        """∂ log p / ∂η at each row of ``x``, shape (n, p)."""

    def mean_slope(self, params: Floats, x: Floats, units: Floats) -> Floats:
        """The mean of ∂² log p / ∂η² over the rows that ``params`` were fitted to, (p, p), by differences in units."""
        return difference_jacobian(lambda at: self.parameter_scores(at, x).mean(axis=0), params, units)

    def fit(self, x: Floats) -> Floats:
        """The maximum-likelihood parameters, by ascent from :meth:`start`."""
        return maximum_likelihood(self, x, self.start(x))

    def score(self, params: Floats, x: Floats) -> Floats:
        """∇ log p at each row of ``x``, shape (n, d)."""
        return to_host(self.model(params).score(x)).reshape(x.shape)

    def inside(self, params: Floats) -> NDArray[np.bool_]:
        """Which parameters could have moved both ways, (p,): not those at the edge of the family.

        A parameter that is held at its least value takes up nothing of the data, like one that is known.
        """
        return np.asarray(self.to_working(params) > self.least)

    def free_scores(self, params: Floats, x: Floats) -> Floats:
        """The parameter scores, with 0 for parameters at the edge of the family."""
        return np.where(self.inside(params), self.parameter_scores(params, x), 0.0)

    def reported(self, params: Floats, errors: Floats) -> dict[str, tuple[float, float]]:
        """Parameters and their standard errors by the names that a user knows."""
        return dict(zip(self.names, zip(params.tolist(), errors.tolist(), strict=True), strict=True))

    def matched(self, x: Floats, own: Floats, target: Floats) -> Floats:
        """Data whose fit is ``own`` moved so that their fit is ``target``, as far as moving a member gives another one.

        By default the data themselves.
        """
        return x

    def margins(self, params: Floats, x: Floats) -> Floats | None:
        """The distribution function of every column at its values, (n, d); ``None`` where it is not known."""
        return None

    @property
    def _logarithmic(self) -> NDArray[np.bool_]:
        return np.array(self.positive or (False,) * len(self.names), dtype=bool)

    def to_working(self, params: Floats) -> Floats:
        """Coordinates without constraints, shape (p,)."""
        chosen = self._logarithmic
        return np.where(chosen, np.log(np.where(chosen, params, 1.0)), params)

    def from_working(self, working: Floats) -> Floats:
        """The parameters at these coordinates."""
        chosen = self._logarithmic
        return np.where(chosen, np.exp(np.where(chosen, np.clip(working, -300, 300), 0.0)), working)

    def working_jacobian(self, params: Floats) -> Floats:
        """∂ params / ∂ working, shape (p, p)."""
        return np.diag(np.where(self._logarithmic, params, 1.0))

    def working_units(self, params: Floats, x: Floats) -> Floats:
        """Changes of the coordinates without constraints that matter, shape (p,), whatever unit the data are in.

        A coordinate changes by its unit where log p changes by about 1 at a typical row: 1 over the slope of log p
        that a tenth of the rows exceed.
        """
        slopes = np.abs(self.parameter_scores(params, x) @ self.working_jacobian(params))
        typical = np.quantile(slopes, 0.9, axis=0)
        typical = np.where(typical > 0.0, typical, slopes.max(axis=0))
        return 1.0 / np.where(np.isfinite(typical) & (typical > 0.0), typical, 1.0)

    def score_jacobian(self, working: Floats, x: Floats, units: Floats) -> Floats:
        """Derivatives of the score in the coordinates without constraints, (n, d, p), by central differences.

        ``units`` are those of :meth:`working_units` at all of the data.
        """
        return difference_jacobian(lambda at: self.score(self.from_working(at), x), working, units)


class ExponentialFamily(Family):
    r"""A family whose score is linear in natural parameters, :math:`s(x) = s_0(x) + J(x) \nu`.

    Its KSD is a quadratic in ν, with its minimum in closed form.

    Examples
    --------
    >>> import numpy as np, steinball as sb
    >>> normal = sb.fitting.as_family("normal", 1)
    >>> isinstance(normal, sb.fitting.ExponentialFamily)
    True
    """

    def base_score(self, x: Floats) -> Floats:
        """The part s₀ of the score that no parameter moves, shape (n, d); 0 unless a family says otherwise."""
        return np.zeros_like(x)

    @abstractmethod
    def score_basis(self, x: Floats) -> Floats:
        """The derivative J of the score in ν, shape (n, d, p)."""

    @abstractmethod
    def natural(self, params: Floats) -> Floats:
        """The natural parameters ν of a member."""

    @abstractmethod
    def from_natural(self, natural: Floats) -> Floats:
        """The parameters at ν; NaN where ν belongs to no density."""

    def origin(self, x: Floats) -> Floats:
        """A point that data may be moved from, shape (d,), where a moved member of the family is another one."""
        return np.zeros(x.shape[1])

    def moved(self, params: Floats, by: Floats) -> Floats:
        """The parameters of the density moved by so much."""
        return params


def maximum_likelihood(family: Family, x: Floats, start: Floats) -> Floats:
    """The parameters of the largest likelihood near ``start``, by a quasi-Newton method on the working scale.

    Steps are measured in :meth:`Family.working_units`, so that a change of the unit of the data changes nothing.
    """
    if not len(start):
        return start
    center, units = family.to_working(start), family.working_units(start, x)

    def loss(steps: Floats) -> tuple[float, Floats]:
        params = family.from_working(center + units * steps)
        with np.errstate(all="ignore"):
            model: Any = family.model(params)
            values = to_host(model.log_density(x))
            slopes = units * (family.parameter_scores(params, x).mean(axis=0) @ family.working_jacobian(params))
        value = -float(np.mean(values))
        return (value, -slopes) if np.isfinite(value) and np.isfinite(slopes).all() else (1e300, np.zeros_like(slopes))

    found = scipy.optimize.minimize(loss, np.zeros_like(center), jac=True, method="BFGS", options={"gtol": 1e-8})
    return family.from_working(center + units * np.asarray(found.x))


@lru_cache(maxsize=8)
def _triangle(dimension: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Rows and columns of the upper triangle, row by row."""
    rows, columns = np.triu_indices(dimension)
    return rows, columns


def unpacked(entries: Floats, dimension: int) -> Floats:
    """The symmetric matrix with this upper triangle, row by row."""
    matrix = np.zeros((dimension, dimension))
    matrix[_triangle(dimension)] = entries
    return matrix + np.triu(matrix, 1).T


def packed(matrix: NDArray[np.floating[Any]]) -> Floats:
    """The upper triangle of a matrix, row by row."""
    return np.asarray(matrix[_triangle(len(matrix))], dtype=np.float64)


def log_cholesky(cov: Floats) -> Floats:
    """The Cholesky factor of a covariance, column by column, with logarithms on its diagonal."""
    root = np.linalg.cholesky(cov)
    np.fill_diagonal(root, np.log(np.diag(root)))
    return packed(root.T)


def from_log_cholesky(entries: Floats, dimension: int) -> Floats:
    """The covariance with this factor."""
    root = np.triu(unpacked(entries, dimension))
    np.fill_diagonal(root, np.exp(np.clip(np.diag(root), -300.0, 300.0)))
    return np.asarray(root.T @ root)


def moment_scores(x: Floats, mean: Floats, precision: Floats) -> Floats:
    """∂ log p / ∂ mean and ∂ covariance (its upper triangle), shape (n, d + d(d + 1)/2)."""
    d = len(mean)
    pull = (x - mean) @ precision
    rows, columns = _triangle(d)
    twice = np.where(rows == columns, 0.5, 1.0)  # an entry off the diagonal stands in two places
    return np.hstack([pull, twice * (pull[:, rows] * pull[:, columns] - precision[rows, columns])])


def moment_names(dimension: int, spread: str) -> tuple[str, ...]:
    """The names of a mean and a covariance (its upper triangle); on the line the covariance is called ``spread``."""
    if dimension == 1:
        return "mean", spread
    apart = "_" if dimension > 9 else ""
    pairs = zip(*_triangle(dimension), strict=True)
    return (*(f"mean_{i + 1}" for i in range(dimension)), *(f"cov_{i + 1}{apart}{j + 1}" for i, j in pairs))


class NormalFamily(ExponentialFamily):
    r"""The family N(mean, sd²), or N(mean, cov) in several dimensions.

    Natural parameters are :math:`\nu = (\Lambda\mu, \Lambda)` with :math:`\Lambda = \Sigma^{-1}`:
    :math:`s(x) = \Lambda\mu - \Lambda x`.

    Examples
    --------
    >>> NormalFamily(1).fit(np.array([[1.0], [3.0]]))
    array([2., 1.])
    >>> NormalFamily(2).names
    ('mean_1', 'mean_2', 'cov_11', 'cov_12', 'cov_22')
    """

    label = "normal"

    def __init__(self, dimension: int) -> None:
        self.dimension, self.names = dimension, moment_names(dimension, "sd")

    def _moments(self, params: Floats) -> tuple[Floats, Floats]:
        d = self.dimension
        return params[:d], params[d:, None] ** 2 if d == 1 else unpacked(params[d:], d)

    def _params(self, mean: Floats, cov: Floats) -> Floats:
        return np.concatenate([mean, np.sqrt(cov[0]) if self.dimension == 1 else packed(cov)])

    def model(self, params: Floats) -> Gaussian:
        return Gaussian(*self._moments(params))

    def start(self, x: Floats) -> Floats:
        """Medians and median absolute deviations of the columns."""
        center, spread = median_and_scales(x, squared=False)
        return self._params(center, np.diag(spread**2))

    def fit(self, x: Floats) -> Floats:
        """Mean and covariance of the sample, with the divisor n."""
        n, d = x.shape
        if n <= d or not (x.std(axis=0) > 0.0).all():
            raise ValueError(
                f"`x` must have more rows than columns and no constant column to fit a normal distribution, got shape "
                f"{x.shape}. Leave out columns."
            )
        offset = x - x.mean(axis=0)
        return self._params(x.mean(axis=0), offset.T @ offset / n)

    def matched(self, x: Floats, own: Floats, target: Floats) -> Floats:
        """The affine map from one mean and covariance to the others."""
        (mean, cov), (there, wanted) = self._moments(own), self._moments(target)
        z = np.linalg.solve(np.linalg.cholesky(cov), (x - mean).T)
        return np.asarray(there + (np.linalg.cholesky(wanted) @ z).T)

    def parameter_scores(self, params: Floats, x: Floats) -> Floats:
        mean, cov = self._moments(params)
        scores = moment_scores(x, mean, np.asarray(np.linalg.inv(cov), dtype=np.float64))
        return scores if self.dimension > 1 else scores * [1.0, 2.0 * params[1]]  # the variance moves by 2 sd

    def mean_slope(self, params: Floats, x: Floats, units: Floats) -> Floats:
        """Minus Fisher's information, which it is at the fit: a half of tr(Λ dΣ Λ dΣ) for the covariance."""
        precision = np.asarray(np.linalg.inv(self._moments(params)[1]))
        rows, columns = _triangle(self.dimension)
        pairs = precision[np.ix_(rows, rows)] * precision[np.ix_(columns, columns)]
        crossed = precision[np.ix_(rows, columns)] * precision[np.ix_(columns, rows)]
        twice = np.where(rows == columns, 0.5, 1.0)  # an entry off the diagonal stands in two places
        found = scipy.linalg.block_diag(precision, twice * twice[:, None] * (pairs + crossed))
        by_sd = np.array([1.0, 2.0 * params[1]]) if self.dimension == 1 else np.ones(len(params))
        return np.asarray(-found * by_sd * by_sd[:, None])

    def margins(self, params: Floats, x: Floats) -> Floats:
        mean, cov = self._moments(params)
        return np.asarray(scipy.special.ndtr((x - mean) / np.sqrt(np.diag(cov))))

    def to_working(self, params: Floats) -> Floats:
        """Means, and the Cholesky factor with logarithms on its diagonal."""
        mean, cov = self._moments(params)
        return np.concatenate([mean, log_cholesky(cov)])

    def from_working(self, working: Floats) -> Floats:
        d = self.dimension
        return self._params(working[:d], from_log_cholesky(working[d:], d))

    def working_jacobian(self, params: Floats) -> Floats:
        return difference_jacobian(self.from_working, self.to_working(params))

    def score_basis(self, x: Floats) -> Floats:
        (n, d), (rows, columns) = x.shape, _triangle(x.shape[1])
        basis, places = np.zeros((n, d, d + len(rows))), d + np.arange(len(rows))
        basis[:, np.arange(d), np.arange(d)] = 1.0
        basis[:, columns, places] = -x[:, rows]
        basis[:, rows, places] = -x[:, columns]
        return basis

    def natural(self, params: Floats) -> Floats:
        mean, cov = self._moments(params)
        precision = np.linalg.inv(cov)
        return np.concatenate([precision @ mean, packed(precision)])

    def from_natural(self, natural: Floats) -> Floats:
        d = self.dimension
        precision = unpacked(natural[d:], d)
        if not np.isfinite(precision).all() or np.linalg.eigvalsh(precision)[0] <= 0.0:
            return np.full(len(natural), np.nan)
        cov = np.asarray(np.linalg.inv(precision), dtype=np.float64)
        return self._params(cov @ natural[:d], cov)

    def origin(self, x: Floats) -> Floats:
        """The median of every column."""
        return np.asarray(np.median(x, axis=0))

    def moved(self, params: Floats, by: Floats) -> Floats:
        """The same covariance around another mean."""
        return np.concatenate([params[: self.dimension] + by, params[self.dimension :]])
