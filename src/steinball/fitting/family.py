"""What a family is: parameters by name, the model at each of them, and how the log density moves with them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import numpy as np

from steinball.arrays import Floats, to_host
from steinball.models.base import Model
from steinball.models.support import Support

_STEP = 6e-6  # the cube root of the rounding error: the best step of a central difference


class Family(ABC):
    r"""A parametric family of densities :math:`p_\eta` with the same support for every η.

    A family of one's own gives the parameters their names, the model at given parameters, a start and the parameter
    scores; the rest follows.

    Attributes
    ----------
    label : str
        Its name in summaries.
    names : tuple of str
        The parameters, in their order.
    positive : tuple of bool
        Which of them are positive; those are searched for on a logarithmic scale.
    support : Support or None
        Where all of its densities end, if they do.
    numerical : bool
        Whether the parameter scores are finite differences.

    Examples
    --------
    >>> from steinball.fitting import as_family
    >>> as_family("gamma", 1).names
    ('shape', 'scale')
    """

    label: str
    support: Support | None = None
    numerical: ClassVar[bool] = False

    @property
    @abstractmethod
    def names(self) -> tuple[str, ...]:
        """The parameters, in their order."""

    @property
    def positive(self) -> tuple[bool, ...]:
        """Which parameters are positive; none, unless a family says otherwise."""
        return (False,) * len(self.names)

    @abstractmethod
    def model(self, params: Floats) -> Model:
        """The member of the family at these parameters, shape (p,), which knows its log density and a sampler."""

    @abstractmethod
    def start(self, x: Floats) -> Floats:
        """Parameters near the bulk of ``x`` (n, d), whatever a few outliers do."""

    @abstractmethod
    def parameter_scores(self, params: Floats, x: Floats) -> Floats:
        """∂ log p / ∂η at each row of ``x``, shape (n, p)."""

    def fit(self, x: Floats) -> Floats:
        """The maximum-likelihood parameters, by ascent from :meth:`start`."""
        return maximum_likelihood(self, x, self.start(x))

    def score(self, params: Floats, x: Floats) -> Floats:
        """∇ log p at each row of ``x``, shape (n, d)."""
        return to_host(self.model(params).score(x)).reshape(x.shape)

    def steepest(self, params: Floats) -> Floats:
        """Parameters of a member around these whose score grows as fast as that of any of them; tilts must bound it."""
        return params

    def margins(self, params: Floats, x: Floats) -> Floats | None:
        """The distribution function of every column at its values, (n, d); ``None`` where it is not known."""
        return None

    def to_working(self, params: Floats) -> Floats:
        """Coordinates without constraints, shape (p,)."""
        return np.where(self.positive, np.log(np.where(self.positive, params, 1.0)), params)

    def from_working(self, working: Floats) -> Floats:
        """The parameters at these coordinates."""
        return np.where(self.positive, np.exp(np.where(self.positive, np.clip(working, -300, 300), 0.0)), working)

    def score_jacobian(self, working: Floats, x: Floats) -> Floats:
        """Derivatives of the score in the coordinates without constraints, (n, d, p), by central differences."""
        return difference_jacobian(lambda at: self.score(self.from_working(at), x), working)

    def working_jacobian(self, params: Floats) -> Floats:
        """∂ params / ∂ working, shape (p, p)."""
        return np.diag(np.where(self.positive, params, 1.0))


def difference_jacobian(function: Callable[[Floats], Floats], at: Floats) -> Floats:
    """Derivatives of an array-valued function in each coordinate, along a last axis."""
    columns = []
    for k, value in enumerate(at):
        step = np.zeros_like(at)
        step[k] = _STEP * max(1.0, abs(value))
        columns.append((function(at + step) - function(at - step)) / (2.0 * step[k]))
    return np.stack(columns, axis=-1)


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

    @abstractmethod
    def base_score(self, x: Floats) -> Floats:
        """s₀, shape (n, d)."""

    @abstractmethod
    def score_basis(self, x: Floats) -> Floats:
        """J, shape (n, d, p)."""

    @abstractmethod
    def natural(self, params: Floats) -> Floats:
        """ν at these parameters."""

    @abstractmethod
    def from_natural(self, natural: Floats) -> Floats:
        """The parameters at ν; NaN where ν belongs to no density."""

    def origin(self, x: Floats) -> Floats:
        """A point that data may be moved from, shape (d,), where a moved member of the family is another one."""
        return np.zeros(x.shape[1])

    def moved(self, params: Floats, by: Floats) -> Floats:
        """The parameters of the density moved by so much."""
        return params


class Restricted(Family):
    """A family with some of its parameters known.

    Examples
    --------
    >>> from steinball.fitting import as_family
    >>> as_family("normal", 1, {"mean": 0.0}).fit(np.array([[3.0], [-3.0]])).round(6)
    array([3.])
    """

    def __init__(self, family: Family, known: Mapping[str, float]) -> None:
        self.family, self.known = family, dict(known)
        self.label, self.support = family.label, family.support
        self._free = np.array([name not in known for name in family.names])
        self._values = np.array([known.get(name, np.nan) for name in family.names])

    @property
    def names(self) -> tuple[str, ...]:
        """Those that are not known."""
        return tuple(name for name in self.family.names if name not in self.known)

    @property
    def positive(self) -> tuple[bool, ...]:
        """Of those."""
        return tuple(np.array(self.family.positive)[self._free].tolist())

    def _whole(self, params: Floats) -> Floats:
        whole = self._values.copy()
        whole[self._free] = params
        return whole

    def model(self, params: Floats) -> Model:
        """The member of the whole family."""
        return self.family.model(self._whole(params))

    def start(self, x: Floats) -> Floats:
        """That of the whole family."""
        return np.asarray(self.family.start(x)[self._free])

    def margins(self, params: Floats, x: Floats) -> Floats | None:
        """Those of the whole family."""
        return self.family.margins(self._whole(params), x)

    def parameter_scores(self, params: Floats, x: Floats) -> Floats:
        """The columns of those parameters that are not known."""
        return np.asarray(self.family.parameter_scores(self._whole(params), x)[:, self._free])


def maximum_likelihood(family: Family, x: Floats, start: Floats) -> Floats:
    """The parameters of the largest likelihood near ``start``, by a quasi-Newton method on the working scale."""
    from scipy.optimize import minimize

    def loss(working: Floats) -> tuple[float, Floats]:
        params = family.from_working(working)
        with np.errstate(all="ignore"):
            values = _log_densities(family.model(params), x)
            slopes = family.parameter_scores(params, x).mean(axis=0) @ family.working_jacobian(params)
        value = -float(np.mean(values))
        return (value, -slopes) if np.isfinite(value) and np.isfinite(slopes).all() else (1e300, np.zeros_like(slopes))

    if not len(start):
        return start
    found = minimize(loss, family.to_working(start), jac=True, method="BFGS", options={"gtol": 1e-8})
    return family.from_working(np.asarray(found.x))


def _log_densities(model: Any, x: Floats) -> Floats:
    return to_host(model.log_density(x)).reshape(len(x))
