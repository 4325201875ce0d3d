"""The family that a user means, how its parameters are fitted, and what each point does to them."""

from __future__ import annotations

import math
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np

from steinball.adapters.estimators import fitted_copy, fitted_model
from steinball.arrays import Floats, as_number, check_kind, check_resamples
from steinball.fitting.minimum_ksd import minimize_ksd
from steinball.models.autodiff import difference_jacobian
from steinball.models.base import Model
from steinball.models.family import Family, NormalFamily
from steinball.models.knowledge import Knowledge
from steinball.models.mixture import MixtureFamily
from steinball.models.positive import ExponentialDistributions, GammaFamily, LogNormalFamily, WeibullFamily
from steinball.models.registry import Fit, read_family
from steinball.models.student_t import StudentFamily
from steinball.stein import SteinKernel

_ON_THE_LINE: Mapping[str, Callable[[], Family]] = {
    "student-t": StudentFamily,
    "exponential": ExponentialDistributions,
    "gamma": GammaFamily,
    "lognormal": LogNormalFamily,
    "weibull": WeibullFamily,
}
FAMILIES = ("normal", *_ON_THE_LINE, "mixture:k")
_SYNONYMS = {"gaussian": "normal", "t": "student-t", "student": "student-t", "log-normal": "lognormal"}


@dataclass(frozen=True, eq=False)
class Fitter:
    """Something that fits models and whose parameters are not known: ``fit(x)`` gives a model."""

    fit: Callable[[Floats], Model]
    label: str


def as_family(family: Any, dimension: int, known_params: Mapping[str, float] | None = None) -> Family | Fitter:
    """The family that a user means, for data with so many columns.

    Parameters
    ----------
    family : str, Family, distribution of SciPy, or object with ``fit``
        A name of ``"normal"``, ``"student-t"``, ``"exponential"``, ``"gamma"``, ``"lognormal"``, ``"weibull"`` and
        ``"mixture:3"``.
    dimension : int
        d.
    known_params : mapping, optional
        Parameters of a distribution of SciPy that are not fitted, by name.

    Examples
    --------
    >>> as_family("mixture:2", 1).names
    ('weight[1]', 'mean[1]', 'var[1]', 'mean[2]', 'var[2]')
    """
    given = check_kind({} if known_params is None else known_params, Mapping, "known_params", "a mapping of numbers")
    known = {name: as_number(value, f"known_params[{name!r}]") for name, value in given.items()}
    meant = _found(family, check_resamples(dimension, "dimension"), known)
    label = Knowledge(family).name or type(family).__name__
    found = meant if isinstance(meant, Family) else Fitter(meant, label)
    if known and not (isinstance(found, Family) and set(known) <= set(found.fixed)):
        raise ValueError(
            f"`known_params` are for families of SciPy and cannot be given for {found.label}: pass one such as "
            "`scipy.stats.norm`, or a `Family` that does not fit them."
        )
    return found


def _found(family: Any, dimension: int, known: dict[str, float]) -> Family | Fit:
    if isinstance(family, Family):
        return family
    if isinstance(family, str):
        return _named(family, dimension)
    if isinstance(family, type):
        raise TypeError(f"`family` must be an instance, got the class {family.__name__}; make one.")
    if (found := read_family(family, dimension, known)) is not None:
        return found
    if "fit" in dir(family):
        return partial(fitted_copy, family)
    if Knowledge(family).has_score:
        raise TypeError(
            f"`family` is one model, an object of type {type(family).__name__}, and not what fits one. Test a model "
            "that is known by `sb.ksd_test`; or pass a function from data to a model."
        )
    if not callable(family):
        raise TypeError(
            f"`family` must be one of {', '.join(FAMILIES)}, a distribution of scipy.stats, or have `fit(x)` that "
            f"returns a model, got an object of type {type(family).__name__}."
        )
    return partial(_fitted_by, family)


def _fitted_by(function: Callable[[Floats], Any], x: Floats) -> Model:
    return fitted_model(function(x))


def _named(text: str, dimension: int) -> Family:
    name, _, size = text.strip().lower().partition(":")
    name = _SYNONYMS.get(name, name)
    if name == "normal" and not size:
        return NormalFamily(dimension)
    if name == "mixture" and re.fullmatch(r"[1-9]\d?", size):
        return MixtureFamily(int(size), dimension)
    if name not in _ON_THE_LINE or size:
        known = ", ".join(f'"{family}"' for family in FAMILIES)
        raise ValueError(f"`family` must be one of {known} (with a number for k), got {text!r}.")
    if dimension != 1:
        raise ValueError(f"`family={text!r}` is on the line, but `x` has {dimension} columns. Use one column.")
    return _ON_THE_LINE[name]()


_QUARTILE = 0.6744897501960817


@dataclass(frozen=True, eq=False)
class Estimate:
    """Fitted parameters (p,), and their influence function, (m, d) to (m, p): n times what a point moves them by.

    ``pulls`` (n, p) are what bootstrap draws take for the influences of the data, where these are not the best choice.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.random.default_rng(0).normal(size=(100, 1))
    >>> mean = Estimate(x.mean(axis=0), lambda y: y - x.mean(axis=0))
    >>> np.isclose(mean.standard_errors(x), x.std() / 10)
    array([ True])
    """

    params: Floats
    influence: Callable[[Floats], Floats]
    pulls: Floats | None = None

    def standard_errors(self, x: Floats) -> Floats:
        """The sandwich estimate of the standard errors, from the influences of the data."""
        return np.asarray(np.sqrt(np.sum(self.influence(x) ** 2, axis=0)) / len(x))


class Estimator(ABC):
    """A way to fit the parameters of a family.

    Attributes
    ----------
    label : str
        Its name in summaries.
    bounded_influence : bool
        Whether one point can move the parameters by no more than a fixed number over n, wherever it lies.
    minimizes_ksd : bool
        Whether it minimizes the very distance that is tested.

    Examples
    --------
    >>> import steinball as sb
    >>> made = (sb.fitting.MaximumLikelihood(), sb.fitting.MedianMAD(), sb.fitting.MinimumKSD())
    >>> [estimator.bounded_influence for estimator in made]
    [False, True, True]
    """

    label: ClassVar[str]
    bounded_influence: ClassVar[bool] = False
    minimizes_ksd: ClassVar[bool] = False

    @abstractmethod
    def estimate(self, family: Family, x: Floats, stein: SteinKernel) -> Estimate:
        """The fitted parameters and their influence function."""

    def params(self, family: Family, x: Floats, stein: SteinKernel) -> Floats:
        """The fitted parameters alone."""
        return self.estimate(family, x, stein).params


@dataclass(frozen=True)
class MaximumLikelihood(Estimator):
    r"""Maximum likelihood, with the influence function :math:`\psi = H^{-1} s`, H minus the mean slope of the scores s.

    Standard errors from it hold also where the family is wrong. Bootstrap draws take
    :math:`(S^\top S / n)^{-1} s` in its place, the regression on the parameter scores S of the data, which is the same
    in the limit where the family is right.

    Examples
    --------
    >>> import steinball as sb
    >>> x = np.random.default_rng(0).gamma(2.0, size=50)
    >>> sb.fit_test(x, "gamma", fit=MaximumLikelihood(), rng=0).fit
    'maximum likelihood'
    """

    label: ClassVar[str] = "maximum likelihood"

    def params(self, family: Family, x: Floats, stein: SteinKernel) -> Floats:
        return family.fit(x)

    def estimate(self, family: Family, x: Floats, stein: SteinKernel) -> Estimate:
        params = family.fit(x)
        scores = family.free_scores(params, x)
        inverse = _inverse(scores.T @ scores / len(x))
        slopes = _mean_slope(family, params, x)
        turn = inverse if slopes is None else _inverse(slopes)
        return Estimate(params, partial(_turned_scores, family, params, turn), scores @ inverse)


@dataclass(frozen=True)
class MinimumKSD(Estimator):
    """The member with the least KSD from the data: of bounded influence wherever the Stein kernel is bounded.

    Examples
    --------
    >>> import steinball as sb
    >>> x = np.append(np.random.default_rng(0).normal(size=200), 1e6)
    >>> abs(sb.fit_test(x, "normal", fit=MinimumKSD(), tilt="auto", rng=0).params["mean"]) < 0.2
    True
    """

    label: ClassVar[str] = "minimum KSD"
    bounded_influence: ClassVar[bool] = True
    minimizes_ksd: ClassVar[bool] = True

    def estimate(self, family: Family, x: Floats, stein: SteinKernel) -> Estimate:
        found = minimize_ksd(family, x, stein)
        return Estimate(found.params, found.influence)


@dataclass(frozen=True)
class MedianMAD(Estimator):
    """The median, and the median absolute deviation as a standard deviation, of a normal family on the line.

    Examples
    --------
    >>> import steinball as sb
    >>> x = np.append(np.random.default_rng(0).normal(size=200), 1e6)
    >>> abs(sb.fit_test(x, "normal", fit=MedianMAD(), tilt="auto", rng=0).params["mean"]) < 0.2
    True
    """

    label: ClassVar[str] = "median and median absolute deviation"
    bounded_influence: ClassVar[bool] = True

    def estimate(self, family: Family, x: Floats, stein: SteinKernel) -> Estimate:
        """The fitted parameters and their influence function, in closed form."""
        if family.label != "normal" or family.names != ("mean", "sd"):
            raise ValueError(f"`fit={self!r}` is for normal families on the line: use MinimumKSD() for {family.label}.")
        center, spread = family.start(x)
        return Estimate(np.array([center, spread]), partial(_median_influence, center, spread))


def _turned_scores(family: Family, params: Floats, inverse: Floats, points: Floats) -> Floats:
    return np.asarray(family.free_scores(params, points) @ inverse)


def _inverse(matrix: Floats) -> Floats:
    """The pseudo-inverse of a positive semi-definite matrix, after its rows and columns have lost their units."""
    scale = np.sqrt(np.maximum(np.diag(matrix), 1e-300))
    return np.asarray(np.linalg.pinv(matrix / scale / scale[:, None], hermitian=True) / scale / scale[:, None])


def _mean_slope(family: Family, params: Floats, x: Floats) -> Floats | None:
    """Minus the mean derivative of the parameter scores, by differences; ``None`` where it is not positive definite."""
    free = family.inside(params)
    root = np.sqrt(np.mean(family.free_scores(params, x) ** 2, axis=0))
    units = np.where(root > 0.0, 1.0 / np.where(root > 0.0, root, 1.0), 1.0)
    found = np.zeros((len(params), len(params)))
    with np.errstate(all="ignore"):
        whole = -difference_jacobian(lambda at: family.parameter_scores(at, x).mean(axis=0), params, units)
    part = ((whole + whole.T) / 2.0 * units * units[:, None])[np.ix_(free, free)]
    if not np.isfinite(part).all() or (part.size and np.linalg.eigvalsh(part)[0] <= 1e-6 * np.abs(part).max()):
        return None
    found[np.ix_(free, free)] = part
    return found / units / units[:, None]


def _median_influence(center: float, spread: float, points: Floats) -> Floats:
    z, height = (points[:, 0] - center) / spread, math.exp(-(_QUARTILE**2) / 2.0) / math.sqrt(2.0 * math.pi)
    by_mean = np.sign(z) * math.sqrt(math.pi / 2.0)
    return spread * np.stack([by_mean, np.sign(np.abs(z) - _QUARTILE) / (4.0 * _QUARTILE * height)], axis=1)


_NAMED = {"maximum likelihood": MaximumLikelihood(), "mle": MaximumLikelihood(), "minimum KSD": MinimumKSD()}


def as_estimator(fit: Any) -> Estimator:
    """The estimator that the user asked for: maximum likelihood by default."""
    if fit is None:
        return MaximumLikelihood()
    if isinstance(fit, str) and fit in _NAMED:
        fit = _NAMED[fit]
    if not isinstance(fit, Estimator):
        raise TypeError(
            "`fit` must be None, MaximumLikelihood(), MinimumKSD() or MedianMAD() of `steinball.fitting`, or an "
            f"estimator of your own derived from `steinball.fitting.Estimator`, got {fit!r}."
        )
    return fit
