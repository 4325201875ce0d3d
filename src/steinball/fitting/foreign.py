"""Families and estimators from what a user passes: a name, a distribution of SciPy, an estimator, anything that fits.

This is the one place that asks such an object what it is.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from steinball.arrays import Floats, as_number, check_kind, check_resamples
from steinball.fitting.family import Family, Restricted, difference_jacobian
from steinball.fitting.mixture import Mixture
from steinball.fitting.normal import Normal
from steinball.fitting.positive import Gamma, LogNormal, Weibull
from steinball.fitting.student import Student
from steinball.models.autodiff import from_log_density
from steinball.models.base import Model
from steinball.models.gaussian import Gaussian
from steinball.models.knowledge import Knowledge
from steinball.models.mixture import GaussianMixture
from steinball.models.support import Support

FAMILIES = ("normal", "student-t", "gamma", "lognormal", "weibull", "mixture:k")
_ON_THE_LINE: Mapping[str, Callable[[], Family]] = {
    "student-t": Student,
    "gamma": Gamma,
    "lognormal": LogNormal,
    "weibull": Weibull,
}
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
        A name of ``"normal"``, ``"student-t"``, ``"gamma"``, ``"lognormal"``, ``"weibull"`` and ``"mixture:3"``.
    dimension : int
        d.
    known_params : mapping, optional
        Parameters that are not fitted, by name.

    Examples
    --------
    >>> as_family("mixture:2", 1).names
    ('weight[1]', 'mean[1]', 'var[1]', 'mean[2]', 'var[2]')
    """
    given = check_kind({} if known_params is None else known_params, Mapping, "known_params", "a mapping of numbers")
    known = {name: as_number(value, f"known_params[{name!r}]") for name, value in given.items()}
    found = _found(family, check_resamples(dimension, "dimension"), known)
    if isinstance(found, SciPyFamily) or not known:
        return found
    if isinstance(found, Fitter):
        raise ValueError(f"`known_params` cannot be given for {found.label}, whose parameters are its own affair.")
    return Restricted(found, _checked(found, known))


def _checked(family: Family, known: dict[str, float]) -> dict[str, float]:
    for wrong in (name for name in known if name not in family.names):
        raise ValueError(f"`known_params` names `{wrong}`, but the family has {', '.join(family.names)}.")
    if len(family.names) > 3:
        raise ValueError(f"`known_params` cannot be given for {family.label}, whose parameters constrain each other.")
    for name, positive in zip(family.names, family.positive, strict=True):
        if positive and name in known and not known[name] > 0.0:
            raise ValueError(f"`known_params[{name!r}]` must be positive, got {known[name]}.")
    return known


def _found(family: Any, dimension: int, known: dict[str, float]) -> Family | Fitter:
    if isinstance(family, Family):
        return family
    if isinstance(family, str):
        return _named(family, dimension)
    if isinstance(family, type):
        raise TypeError(f"`family` must be an instance, got the class {family.__name__}; make one.")
    if _has(family, "shapes", "logpdf", "fit"):
        return SciPyFamily(family, dimension, known)
    if _has(family, "dist", "logpdf"):
        raise TypeError(
            f"`family` is a frozen distribution, whose parameters are known: test it by `sb.ksd_test`; or pass the "
            f"family `scipy.stats.{family.dist.name}` itself."
        )
    if _has(family, "score") and not _has(family, "fit"):
        raise TypeError(
            f"`family` is one model, an object of type {type(family).__name__}, and not what fits one. Test a model "
            "that is known by `sb.ksd_test`; or pass a function from data to a model."
        )
    return _fitter(family)


def _has(thing: Any, *names: str) -> bool:
    return all(hasattr(thing, name) for name in names)


def _named(text: str, dimension: int) -> Family:
    name, _, size = text.strip().lower().partition(":")
    name = _SYNONYMS.get(name, name)
    if name == "normal" and not size:
        return Normal(dimension)
    if name == "mixture" and re.fullmatch(r"[1-9]\d?", size):
        return Mixture(int(size), dimension)
    if name not in _ON_THE_LINE or size:
        known = ", ".join(f'"{family}"' for family in FAMILIES)
        raise ValueError(f"`family` must be one of {known} (with a number for k), got {text!r}.")
    if dimension != 1:
        raise ValueError(f"`family={text!r}` is on the line, but `x` has {dimension} columns. Use one column.")
    return _ON_THE_LINE[name]()


class SciPyFamily(Family):
    """A continuous distribution of SciPy whose parameters are not frozen; its scores are finite differences.

    Examples
    --------
    >>> import scipy.stats as st
    >>> as_family(st.gamma, 1, {"loc": 0.0}).names
    ('a', 'scale')
    """

    numerical = True

    def __init__(self, distribution: Any, dimension: int, known: dict[str, float]) -> None:
        shapes = [name.strip() for name in (distribution.shapes or "").split(",") if name.strip()]
        self.distribution, self.label = distribution, str(distribution.name)
        self._all, self._known = (*shapes, "loc", "scale"), known
        if dimension != 1:
            raise ValueError(f"`family={self.label}` is on the line, but `x` has {dimension} columns. Use one column.")
        for wrong in (name for name in known if name not in self._all):
            raise ValueError(f"`known_params` names `{wrong}`, but {self.label} has {', '.join(self._all)}.")
        self.support = self._fixed_support()

    @property
    def names(self) -> tuple[str, ...]:
        """Shapes, location and scale, without those that are known."""
        return tuple(name for name in self._all if name not in self._known)

    @property
    def positive(self) -> tuple[bool, ...]:
        """The scale."""
        return tuple(name == "scale" for name in self.names)

    def _whole(self, params: Floats) -> dict[str, float]:
        return {**dict(zip(self.names, np.asarray(params).tolist(), strict=True)), **self._known}

    def _fixed_support(self) -> Support | None:
        """Where the densities end, if that is the same for all of them; refused otherwise."""
        ends = set()
        for values in ([1.3, 0.0, 1.0], [0.7, 0.5, 2.0], [-0.4, 0.0, 1.0]):
            params = [*(values[0] for _ in self._all[:-2]), *values[1:]]
            whole = {**dict(zip(self._all, params, strict=True)), **self._known}
            found = tuple(float(end) for end in self.distribution.support(**whole))
            if not np.isnan(found).any():
                ends.add(found)
        if len(ends) > 1:
            raise ValueError(
                f"the support of `family={self.label}` would be fitted: it ends at {_listed(ends)}, and tests of "
                'fitted models need an end that is known. Give what moves it: `known_params={"loc": 0}`.'
            )
        low, high = ends.pop()
        return None if np.isinf([low, high]).all() else Support.of((low, high))

    def model(self, params: Floats) -> Model:
        """The frozen distribution, differentiated numerically."""
        frozen = self.distribution(**self._whole(params))
        return from_log_density(
            _Column(frozen), backend="numerical", dimension=1, support=self.support, sample=_Draws(frozen)
        )

    def fit(self, x: Floats) -> Floats:
        """SciPy's own fit, with the known parameters fixed."""
        if not self.names:
            return np.empty(0)
        self._refuse_outside(x)
        fixed = {("f" + name): value for name, value in self._known.items()}
        found = dict(zip(self._all, self.distribution.fit(x[:, 0], **fixed), strict=True))
        return np.array([found[name] for name in self.names])

    def _refuse_outside(self, x: Floats) -> None:
        if self.support is not None and (outside := self.support.outside(x)).any():
            raise ValueError(
                f"{int(outside.sum())} values of `x` lie outside the support {self.support} of {self.label}."
            )

    def start(self, x: Floats) -> Floats:
        """The fit to the bulk: between the quantiles of 5 and 95 %."""
        low, high = np.quantile(x, [0.05, 0.95])
        return self.fit(x[(x[:, 0] >= low) & (x[:, 0] <= high)])

    def margins(self, params: Floats, x: Floats) -> Floats:
        """SciPy's distribution function."""
        return np.asarray(self.distribution.cdf(x, **self._whole(params)))

    def parameter_scores(self, params: Floats, x: Floats) -> Floats:
        """By central differences of the log density."""
        return difference_jacobian(lambda at: self.distribution.logpdf(x[:, 0], **self._whole(at)), params)


def _listed(ends: set[tuple[float, ...]]) -> str:
    return " or ".join(f"({low:g}, {high:g})" for low, high in sorted(ends))


@dataclass(frozen=True, eq=False)
class _Column:
    """The log density of a frozen distribution as a function of rows."""

    frozen: Any

    def __call__(self, x: Floats) -> Floats:
        return np.asarray(self.frozen.logpdf(x[:, 0]))


@dataclass(frozen=True, eq=False)
class _Draws:
    """Its draws as a column."""

    frozen: Any

    def __call__(self, n: int, rng: Any = None) -> Floats:
        return np.asarray(self.frozen.rvs(size=(n, 1), random_state=np.random.default_rng(rng)))


def _fitter(family: Any) -> Family | Fitter:
    """An estimator with ``fit``, or a function from data to a model."""
    if not _has(family, "fit"):
        if not callable(family):
            raise TypeError(
                f"`family` must be one of {', '.join(FAMILIES)}, a distribution of scipy.stats, or have `fit(x)` that "
                f"returns a model, got an object of type {type(family).__name__}."
            )
        return Fitter(family, str(getattr(family, "__name__", "a function")))
    return Fitter(_Refit(family), type(family).__name__)


@dataclass(frozen=True, eq=False)
class _Refit:
    """A copy of an estimator, fitted; the user's own is left as it was."""

    estimator: Any

    def __call__(self, x: Floats) -> Model:
        fresh = copy.deepcopy(self.estimator)
        found = fresh.fit(x)
        return model_of(fresh if found is None else found)


def model_of(fitted: Any) -> Model:
    """The model that a fitted object is, or that its attributes describe as in scikit-learn."""
    if _has(fitted, "weights_", "means_", "covariances_"):
        return GaussianMixture(fitted.weights_, fitted.means_, _full_covariances(fitted))
    if _has(fitted, "location_", "covariance_"):
        return Gaussian(fitted.location_, fitted.covariance_)
    if _has(fitted, "score_samples"):
        sample = _sampler(fitted) if _has(fitted, "sample") else None
        return from_log_density(fitted.score_samples, backend="numerical", sample=sample)
    if not Knowledge(fitted).has_score:
        raise TypeError(
            f"`family.fit(x)` must return a model with `score(x)`, got an object of type {type(fitted).__name__}."
        )
    return fitted  # type: ignore[no-any-return]


def _sampler(fitted: Any) -> Callable[..., Any]:
    def sample(n: int, rng: Any = None) -> Any:
        seed = int(np.random.default_rng(rng).integers(2**31))
        draws = fitted.sample(n, random_state=seed)
        return draws[0] if isinstance(draws, tuple) else draws

    return sample


def _full_covariances(mixture: Any) -> Floats:
    """(k, d, d) from whatever ``covariance_type`` holds."""
    covs, means = np.asarray(mixture.covariances_, dtype=float), np.asarray(mixture.means_)
    k, d = means.shape
    kind = str(mixture.covariance_type)
    if kind == "full":
        return covs
    if kind == "tied":
        return np.repeat(covs[None], k, axis=0)
    variances = covs if kind == "diag" else np.repeat(covs[:, None], d, axis=1)
    return np.stack([np.diag(row) for row in variances])
