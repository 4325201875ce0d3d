"""SciPy: frozen distributions, the newer objects, multivariate ones and kernel density estimates; and families."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

import numpy as np
from scipy import stats

from steinball.adapters.density import refuse_set
from steinball.adapters.scipy_distribution import SCORES, ends_of, line_model, name_of, read_frozen, read_new, shapes_of
from steinball.arrays import Floats
from steinball.models.autodiff import difference_jacobian
from steinball.models.base import Model, refuse_discrete
from steinball.models.family import Family
from steinball.models.gaussian import Gaussian
from steinball.models.kernel_exponential import KernelDensity
from steinball.models.positive import GammaFamily, LogNormalFamily, WeibullFamily
from steinball.models.registry import Adapter, class_names
from steinball.models.student_t import StudentFamily, StudentT
from steinball.models.support import Support

#: Values of a shape parameter at which the ends of a family are asked for; SciPy does not allow all of them.
_TRIED = (-1.5, -0.4, 0.3, 0.7, 1.3, 2.0, 3.0)

#: Sets that are no box of the space that points are written in: where frozen multivariate distributions live.
_SETS = "a set such as a simplex, a sphere, counts, matrices, rotations"


#: ∂ log p / ∂ of the shapes at a column z, (n, 1) to (n, k), where a family of our own has it, by the name of SciPy.
SHAPE_SCORES: dict[str, Callable[..., Floats]] = {
    "gamma": lambda z, a: GammaFamily().parameter_scores(np.array([a, 1.0]), z)[:, :1],
    "lognorm": lambda z, s: LogNormalFamily().parameter_scores(np.array([0.0, s]), z)[:, 1:],
    "t": lambda z, df: -StudentFamily().parameter_scores(np.array([1.0 / df, 0.0, 1.0]), z)[:, :1] / df**2,
    "weibull_min": lambda z, c: WeibullFamily().parameter_scores(np.array([c, 1.0]), z)[:, :1],
}


class SciPy(Adapter):
    """Models and families of SciPy."""

    def model(self, thing: Any, dimension: int | None) -> Any:
        """The model of an object of ``scipy.stats``; ``None`` for what is no distribution."""
        kind, kinds = type(thing).__name__, class_names(thing)
        if kind in _MULTIVARIATE:
            return _MULTIVARIATE[kind](thing)
        _refuse_families(thing)
        if "rv_continuous_frozen" in kinds:
            return _frozen_model(thing, dimension)
        if kind.endswith(("_frozen", "_gen")):
            refuse_set(kind.removesuffix("_frozen").removesuffix("_gen"), _SETS)
        if "DiscreteDistribution" in kinds:
            refuse_discrete(kind)
        is_new = kinds & {"UnivariateDistribution", "_ProbabilityDistribution"}
        return line_model(read_new(thing), dimension) if is_new else None

    def family(self, thing: Any, dimension: int, known: Mapping[str, float]) -> Family | None:
        """The family of a continuous distribution whose parameters are not frozen; our own of Student's t, in which
        the normal distribution is a member."""
        if "rv_continuous_frozen" in class_names(thing):
            raise TypeError(
                f"`family` is a frozen distribution, whose parameters are known: test it by `sb.ksd_test`; or pass the "
                f"family `scipy.stats.{thing.dist.name}` itself."
            )
        if not isinstance(thing, stats.rv_continuous):
            return None
        if dimension != 1:
            raise ValueError(f"`family={thing.name}` is on the line, but `x` has {dimension} columns. Use one column.")
        return StudentFamily() if name_of(thing) == "t" and not known else SciPyFamily(thing, known)


def _frozen_model(thing: Any, dimension: int | None) -> Any:
    """The model of a frozen distribution, the same one for as long as its parameters are."""
    try:
        return _last_models(thing, thing.args, tuple(thing.kwds.items()), dimension)
    except TypeError:  # parameters that are arrays
        return line_model(read_frozen(thing), dimension)


@lru_cache(maxsize=8)  # a model holds its distribution
def _last_models(thing: Any, args: Any, kwds: Any, dimension: int | None) -> Any:
    return line_model(read_frozen(thing), dimension)


def _refuse_families(model: Any) -> None:
    """Refuse families without parameters, histograms, and discrete distributions."""
    family = model.dist if type(model).__name__ == "rv_discrete_frozen" else model
    if isinstance(family, stats.rv_discrete):
        refuse_discrete(family.name)
    if isinstance(model, stats.rv_histogram):
        raise TypeError(
            "`model` is a histogram, whose density jumps between its bins and has no score ∇log p. Smooth it: "
            "`scipy.stats.gaussian_kde(data)`."
        )
    if isinstance(model, stats.rv_continuous):
        shapes = "".join(f"{name}=…, " for name in shapes_of(model))
        raise TypeError(
            f"`model` is the family scipy.stats.{model.name} and no distribution of it; freeze it with parameters: "
            f"`scipy.stats.{model.name}({shapes}loc=…, scale=…)`."
        )


def _multivariate_t(model: Any) -> Any:
    at_infinity = np.isinf(model.df)
    return Gaussian(model.loc, model.shape) if at_infinity else StudentT(model.df, model.loc, shape=model.shape)


_MULTIVARIATE: dict[str, Callable[[Any], Any]] = {
    "multivariate_normal_frozen": lambda model: Gaussian(model.mean, model.cov_object.covariance),
    "multivariate_t_frozen": _multivariate_t,
    "gaussian_kde": lambda model: KernelDensity(model.dataset.T, model.covariance, model.weights),
}


class SciPyFamily(Family):
    r"""The family of a continuous distribution of SciPy: shapes, location μ and scale σ, without those that are known.

    With s the score of a member, the parameter scores of location and scale are

    .. math:: \frac{\partial \log p}{\partial \mu} = -s(x), \qquad
       \frac{\partial \log p}{\partial \sigma} = -\frac{1 + (x - \mu) s(x)}{\sigma};

    those of shapes are in closed form where one of our own families has them, otherwise finite differences.

    Examples
    --------
    >>> import scipy.stats as st
    >>> SciPyFamily(st.gamma, {"loc": 0.0}).names
    ('a', 'scale')
    """

    def __init__(self, distribution: Any, known: Mapping[str, float]) -> None:
        self.distribution, self.label, self._known = distribution, name_of(distribution), dict(known)
        self._shapes = shapes_of(distribution)
        self._all = (*self._shapes, "loc", "scale")
        for wrong in (name for name in known if name not in self._all):
            raise ValueError(f"`known_params` names `{wrong}`, but {self.label} has {', '.join(self._all)}.")
        self.names, self.fixed = tuple(name for name in self._all if name not in known), tuple(known)
        self.positive = tuple(name == "scale" for name in self.names)
        closed = self.label in SHAPE_SCORES or not set(self._shapes) - set(known)
        self.numerical = not (closed and self.label in SCORES)
        self.support = self._fixed_support()

    def _whole(self, params: Floats) -> dict[str, float]:
        return {**dict(zip(self.names, np.asarray(params).tolist(), strict=True)), **self._known}

    def _fixed_support(self) -> Support | None:
        """Where the densities end, if that is the same for all of them; refused otherwise."""
        tried = {**dict.fromkeys(self._shapes, _TRIED), "loc": (0.0, 0.5), "scale": (1.0, 2.0)}
        values = ((self._known[name],) if name in self._known else tried[name] for name in self._all)
        grid = [axis.ravel() for axis in np.meshgrid(*values, indexing="ij")]
        with np.errstate(all="ignore"):
            low, high = ends_of(self.distribution, dict(zip(self._all, grid, strict=True)))
        ends = np.stack(np.broadcast_arrays(low, high), axis=1)
        found = np.unique(ends[~np.isnan(ends).any(axis=1)], axis=0)
        if not len(found):
            raise ValueError(f"`known_params={self._known}` are not allowed by scipy.stats.{self.label}; correct them.")
        if len(found) > 1:
            moving = next(name for name in ("loc", "scale", *self._shapes) if name not in self._known)
            remedy = f'`known_params={{"{moving}": {0 if moving == "loc" else 1}}}`'
            listed = " or ".join(f"({low:g}, {high:g})" for low, high in found[:3])
            raise ValueError(
                f"the support of `family={self.label}` would be fitted: it ends at {listed}, and tests of fitted "
                f"models need an end that is known. Give what moves it: {remedy}."
            )
        return None if np.isinf(found).all() else Support.of(found[0].tolist())

    def model(self, params: Floats) -> Model:
        return line_model(read_frozen(self.distribution(**self._whole(params))), 1)  # type: ignore[no-any-return]

    def fit(self, x: Floats) -> Floats:
        """SciPy's own fit, with the known parameters fixed."""
        if not self.names:
            return np.empty(0)
        if self.support is not None and (outside := self.support.outside(x)).any():
            raise ValueError(f"{outside.sum()} values of `x` lie outside the support {self.support} of {self.label}.")
        if "scale" in self.names and not x.std() > 0.0:
            raise ValueError(f"`x` must not be constant to fit {self.label}.")
        # SciPy's search depends on the unit of the data: it is made in units in which a known place is 0, a scale 1.
        by = self._known.get("loc", float(np.median(x)))
        unit = self._known.get("scale", float(np.median(np.abs(x - by))) or float(x.std()) or 1.0)
        fixed = {f"f{name}": {"loc": 0.0, "scale": 1.0}.get(name, value) for name, value in self._known.items()}
        found = dict(zip(self._all, self.distribution.fit((x[:, 0] - by) / unit, **fixed), strict=True))
        found |= {"loc": by + unit * found["loc"], "scale": unit * found["scale"]}
        return np.array([found[name] for name in self.names])

    def start(self, x: Floats) -> Floats:
        """The fit to the bulk: between the quantiles of 5 and 95 %."""
        low, high = np.quantile(x, [0.05, 0.95])
        return self.fit(x[(x[:, 0] >= low) & (x[:, 0] <= high)])

    def matched(self, x: Floats, own: Floats, target: Floats) -> Floats:
        """The affine map from one location and scale to the others."""
        here, there = self._whole(own), self._whole(target)
        return np.asarray(there["loc"] + there["scale"] * (x - here["loc"]) / here["scale"])

    def margins(self, params: Floats, x: Floats) -> Floats:
        return np.asarray(self.distribution.cdf(x, **self._whole(params)))

    def parameter_scores(self, params: Floats, x: Floats) -> Floats:
        whole = self._whole(params)
        scores, apart = self.score(params, x)[:, 0], x[:, 0] - whole["loc"]
        by_place = [-scores, -(1.0 + apart * scores) / whole["scale"]]
        columns = np.column_stack([self._shape_scores(whole, x), *by_place])
        return np.compress([name in self.names for name in self._all], columns, axis=1)

    def _shape_scores(self, whole: Mapping[str, float], x: Floats) -> Floats:
        """∂ log p / ∂ of every shape, shape (n, k)."""
        shapes, loc, scale = np.array([whole[name] for name in self._shapes]), whole["loc"], whole["scale"]
        if not len(shapes):
            return np.empty((len(x), 0))
        if self.label in SHAPE_SCORES:
            return SHAPE_SCORES[self.label]((x - loc) / scale, *shapes)
        return difference_jacobian(lambda at: self.distribution.logpdf(x[:, 0], *at, loc=loc, scale=scale), shapes)


ADAPTERS = {"scipy": SciPy()}
