"""What a family is: parameters by name, the model at each of them, and how its log density moves with them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from steinball.arrays import Floats, to_host
from steinball.models.autodiff import difference_jacobian
from steinball.models.base import Model
from steinball.models.support import Support


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

    @property
    def least(self) -> Floats:
        """The least values of the coordinates without constraints that a member may have, (p,)."""
        return np.full(len(self.names), -np.inf)

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
