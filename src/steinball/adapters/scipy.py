"""SciPy: frozen distributions, the newer objects, multivariate ones and kernel density estimates; and families."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from scipy import stats

from steinball.adapters.density import refuse_angle, refuse_columns, refuse_set
from steinball.adapters.registry import Adapter, class_names
from steinball.adapters.scipy_scores import SCORES, SHAPE_SCORES
from steinball.arrays import Array, Floats, like, to_host
from steinball.models.base import Model, refuse_discrete
from steinball.models.base_map import normal_of
from steinball.models.differences import difference_jacobian, numerical_gradient
from steinball.models.family import Family
from steinball.models.gaussian import Gaussian, as_points
from steinball.models.kernel_density import KernelDensity
from steinball.models.student_t import StudentT
from steinball.models.support import Support

_QUARTILES, _NORMAL_QUARTILES = (0.25, 0.75), 1.3489795003921634
_TRIED = (-1.5, -0.4, 0.3, 0.7, 1.3, 2.0, 3.0)
"""Values of a shape parameter at which the ends of a family are asked for; SciPy does not allow all of them."""

_CURVED = {
    "a simplex": ("dirichlet",),
    "a sphere": ("vonmises_fisher", "uniform_direction"),
    "counts": ("dirichlet_multinomial", "multivariate_hypergeom", "multinomial", "random_table"),
    "matrices": ("matrix_normal", "matrix_t"),
    "pairs of random variables": ("normal_inverse_gamma",),
    "positive definite matrices": ("wishart", "invwishart"),
    "rotations": ("special_ortho_group", "ortho_group", "unitary_group"),
}
"""Sets that are no box of the space that points are written in, and distributions on them."""


class SciPy(Adapter):
    """Models and families of SciPy."""

    def model(self, thing: Any, dimension: int | None) -> Any:
        """The model of an object of ``scipy.stats``; ``None`` for what is no distribution."""
        kind = type(thing).__name__
        if kind in _MULTIVARIATE:
            return _MULTIVARIATE[kind](thing)
        _refuse_sets(kind.removesuffix("_frozen"))
        _refuse_families(thing)
        if kind == "rv_continuous_frozen":
            return _of_line(_Frozen(thing), dimension)
        if "DiscreteDistribution" in class_names(thing):
            refuse_discrete(kind)
        is_new = class_names(thing) & {"UnivariateDistribution", "_ProbabilityDistribution"}
        return _of_line(_New(thing), dimension) if is_new else None

    def family(self, thing: Any, dimension: int, known: Mapping[str, float]) -> SciPyFamily | None:
        """The family of a continuous distribution whose parameters are not frozen."""
        if type(thing).__name__ == "rv_continuous_frozen":
            raise TypeError(
                f"`family` is a frozen distribution, whose parameters are known: test it by `sb.ksd_test`; or pass the "
                f"family `scipy.stats.{thing.dist.name}` itself."
            )
        if not isinstance(thing, stats.rv_continuous):
            return None
        if dimension != 1:
            raise ValueError(f"`family={thing.name}` is on the line, but `x` has {dimension} columns. Use one column.")
        return SciPyFamily(thing, known)


def _refuse_sets(name: str) -> None:
    """Refuse a multivariate distribution on a set that is no box."""
    where = next((where for where, names in _CURVED.items() if name in names), None)
    if where == "counts":
        refuse_discrete(name)
    if where is not None:
        refuse_set(name, where)


def _refuse_families(model: Any) -> None:
    """Refuse families without parameters, histograms, and discrete distributions."""
    if isinstance(model, (stats.rv_discrete, type(stats.poisson(1.0)))):
        refuse_discrete(model.name if isinstance(model, stats.rv_discrete) else model.dist.name)
    if isinstance(model, stats.rv_histogram):
        raise TypeError(
            "`model` is a histogram, whose density jumps between its bins and has no score ∇log p. Smooth it: "
            "`scipy.stats.gaussian_kde(data)`."
        )
    if isinstance(model, stats.rv_continuous):
        shapes = "".join(f"{name}=…, " for name in _shapes(model))
        raise TypeError(
            f"`model` is the family scipy.stats.{model.name} and no distribution of it; freeze it with parameters: "
            f"`scipy.stats.{model.name}({shapes}loc=…, scale=…)`."
        )


def _shapes(distribution: Any) -> list[str]:
    return [name.strip() for name in (distribution.shapes or "").split(",") if name.strip()]


def _ends(distribution: Any, parameters: Mapping[str, Floats]) -> tuple[Floats, Floats]:
    """Where a distribution of SciPy ends; NaN for parameters that it does not allow."""
    low, high = distribution.support(**parameters)
    if distribution.name != "pearson3":
        return low, high
    skew, loc, scale = (np.asarray(parameters[name], dtype=np.float64) for name in ("skew", "loc", "scale"))
    with np.errstate(divide="ignore"):  # SciPy says that it has the whole line, and its density is 0 beyond this
        edge = loc - 2.0 * scale / skew
    return np.where(skew > 0.0, edge, low), np.where(skew < 0.0, edge, high)


@dataclass(frozen=True, eq=False)
class _Frozen:
    """A frozen distribution, such as ``stats.gamma(2.0)``."""

    distribution: Any

    @property
    def name(self) -> str:
        return str(self.distribution.dist.name)

    @cached_property
    def parameters(self) -> dict[str, Floats]:
        """Shape parameters by their names, then ``loc`` and ``scale``."""
        dist = self.distribution.dist
        shapes, loc, scale = dist._parse_args(*self.distribution.args, **self.distribution.kwds)
        names = (*_shapes(dist), "loc", "scale")
        return {
            key: np.asarray(value, dtype=np.float64) for key, value in zip(names, (*shapes, loc, scale), strict=True)
        }

    @property
    def text(self) -> str:
        """The code that makes the distribution."""
        defaults = {"loc": 0.0, "scale": 1.0}
        given = {key: value for key, value in self.parameters.items() if not np.all(value == defaults.get(key))}
        return f"{self.name}({', '.join(f'{key}={_short(value)}' for key, value in given.items())})"

    @property
    def ends(self) -> tuple[Floats, Floats]:
        return _ends(self.distribution.dist, self.parameters)

    def draw(self, shape: tuple[int, int], rng: np.random.Generator) -> Floats:
        return np.asarray(self.distribution.rvs(size=shape, random_state=rng), dtype=np.float64)

    def quantile(self, p: float) -> Floats:
        return np.asarray(self.distribution.ppf(p), dtype=np.float64)

    def above(self, x: Floats) -> Floats:
        return np.asarray(self.distribution.sf(x))

    @property
    def score(self) -> Callable[[Floats], Floats] | None:
        """The score in closed form, where it is known."""
        *shapes, loc, scale = self.parameters.values()
        if self.name not in SCORES:
            return None
        standard = SCORES[self.name].score
        return lambda x: np.asarray(standard((x - loc) / scale, *shapes) / scale)

    @property
    def growth(self) -> float | None:
        *shapes, _, _ = self.parameters.values()
        return SCORES[self.name].rate(*shapes) if self.name in SCORES else None


@dataclass(frozen=True, eq=False)
class _New:
    """An object of the newer kind, such as ``stats.Normal(mu=0.0)``."""

    distribution: Any
    growth: ClassVar[float | None] = None
    score: ClassVar[None] = None

    @property
    def name(self) -> str:
        return str(self.distribution).partition("(")[0] or type(self.distribution).__name__

    @property
    def text(self) -> str:
        """The text of the object, on one line."""
        return " ".join(str(self.distribution).split())

    @cached_property
    def parameters(self) -> dict[str, Floats]:
        """The parameters of the object: mixtures and transformed ones have none of their own."""
        known = vars(self.distribution).get("_parameters", {})
        return {key: np.asarray(value, dtype=np.float64) for key, value in known.items()}

    @property
    def ends(self) -> tuple[Floats, Floats]:
        low, high = self.distribution.support()
        return low, high

    def draw(self, shape: tuple[int, int], rng: np.random.Generator) -> Floats:
        size = np.broadcast_shapes(*(value.shape for value in self.parameters.values()))
        wanted = shape[0] if size == (shape[1],) else shape
        return np.asarray(self.distribution.sample(shape=wanted, rng=rng), dtype=np.float64).reshape(shape)

    def quantile(self, p: float) -> Floats:
        return np.asarray(self.distribution.icdf(p), dtype=np.float64)

    def above(self, x: Floats) -> Floats:
        return np.asarray(self.distribution.ccdf(x))


def _of_line(source: _Frozen | _New, dimension: int | None) -> Any:
    """A distribution of one number, or of independent columns where its parameters are vectors."""
    if source.name in ("vonmises", "wrapcauchy"):
        refuse_angle(source.name, "model.logpdf", "numerical")
    size = np.broadcast_shapes(*(value.shape for value in source.parameters.values()))
    if np.isnan(source.ends).any():
        raise ValueError(f"`model` is {source.text}, with parameters that SciPy does not allow; correct them.")
    if len(size) > 1:
        raise ValueError(f"`model` has parameters of shape {size}; give one number, or one for each column.")
    if not size and dimension is not None and dimension > 1:
        some = next(iter(source.parameters), "loc")
        value = float(source.parameters.get(some, np.zeros(())))
        refuse_columns(source.name, dimension, f"{source.name}(..., {some}=np.full({dimension}, {value:g}))")
    return _own_model(source, size[0] if size else 1) or ScipyDistribution(source, size[0] if size else 1)


def _own_model(source: _Frozen | _New, d: int) -> Any:
    """The Gaussian or Student t that a distribution is; ``None`` for others."""
    known = source.parameters
    if source.name == "norm":
        return Gaussian(np.broadcast_to(known["loc"], d), sd=np.broadcast_to(known["scale"], d))
    if source.name == "Normal":
        return Gaussian(np.broadcast_to(known["mu"], d), sd=np.broadcast_to(known["sigma"], d))
    if source.name == "StandardNormal":
        return Gaussian()
    if source.name in ("t", "cauchy") and d == 1:
        df, loc, scale = (float(known[key]) if key in known else 1.0 for key in ("df", "loc", "scale"))
        return StudentT(df, loc, scale) if np.isfinite(df) else Gaussian(loc, sd=scale)
    return None


@dataclass(frozen=True, eq=False, repr=False)
class ScipyDistribution:
    """A continuous distribution of SciPy on the line, or of independent columns where its parameters are vectors.

    Its score is in closed form for the usual families, otherwise the numerical derivative of ``logpdf``; the repr says
    which. Its place is the median, its spread that of a normal distribution with the same quartiles, which every
    distribution has.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy import stats
    >>> model = ADAPTER.model(stats.expon([0.0, 1.0]), 2)
    >>> model, model.support
    (ScipyDistribution(expon(loc=[0, 1]), score: closed form), Support(ends=((0.0, inf), (1.0, inf))))
    >>> model.score(np.array([[1.0, 2.0]]))
    array([[-1., -1.]])
    """

    source: Any
    dimension: int
    takes_numpy: ClassVar[bool] = True
    derived: ClassVar[bool] = True

    def __repr__(self) -> str:
        how = "closed form" if self.verified else "numerical derivative"
        return f"ScipyDistribution({self.source.text}, score: {how})"

    @property
    def verified(self) -> bool:
        """Whether its score is in closed form, and compared with its sampler in the tests."""
        return self.source.score is not None

    @property
    def prefers_base(self) -> bool:
        """Whether it is on the line and ends somewhere: there base space has the power (docs/base-space.md)."""
        return self.dimension == 1 and self.support.has_edges

    def _columns(self, value: Any) -> Floats:
        return np.array(np.broadcast_to(value, self.dimension), dtype=np.float64)

    @cached_property
    def support(self) -> Support:
        """The ends of every column."""
        low, high = (self._columns(end).tolist() for end in self.source.ends)
        return Support(tuple(zip(low, high, strict=True)))

    @cached_property
    def location(self) -> Floats:
        """The medians, shape (d,)."""
        return self._columns(self.source.quantile(0.5))

    @cached_property
    def covariance(self) -> Floats:
        """The squared spreads on the diagonal, shape (d, d)."""
        low, high = (self._columns(self.source.quantile(p)) for p in _QUARTILES)
        return np.diag(((high - low) / _NORMAL_QUARTILES) ** 2)

    @property
    def growth(self) -> float | None:
        """r with |s(x)| = O(1 + |x|^r); between two ends nothing grows toward infinity."""
        rate: float | None = self.source.growth
        closed = np.isfinite(self.support.along(self.dimension)).all()
        return min(rate, 0.0) if rate is not None and closed else rate

    def score(self, x: Array) -> Array:
        """∇ log p at each row of ``x``, shape (n, d)."""
        x, closed = as_points(x, self.dimension), self.source.score
        points = to_host(x)
        with np.errstate(all="ignore"):  # outside the support there is no score, and that is told by name
            if closed is not None:
                return like(closed(points), x)
            return like(numerical_gradient(self._log_density, points, self.support.distance(points))[0], x)

    def log_density(self, x: Array) -> Array:
        """log p at each row of ``x``, shape (n,)."""
        x = as_points(x, self.dimension)
        return like(self._log_density(to_host(x)), x)

    def _log_density(self, x: Any) -> Floats:
        with np.errstate(all="ignore"):
            return np.asarray(np.broadcast_to(self.source.distribution.logpdf(x), x.shape).sum(axis=1))

    def sample(self, n: int, rng: Any = None) -> Floats:
        """``n`` independent draws, shape (n, d)."""
        return np.asarray(self.source.draw((n, self.dimension), np.random.default_rng(rng)))

    def to_base(self, x: Floats) -> Floats:
        """Φ⁻¹(F(x)), column by column: standard normal where x comes from the model."""
        with np.errstate(all="ignore"):
            return normal_of(np.asarray(self.source.distribution.cdf(x)), self.source.above(x))


def _short(value: Floats) -> str:
    if value.ndim == 0:
        return f"{float(value):g}"
    return f"[{', '.join(f'{v:g}' for v in value[:4])}{', …' * (value.size > 4)}]"


def _kernel_density(model: Any) -> KernelDensity:
    return KernelDensity(np.asarray(model.dataset).T, np.asarray(model.covariance), np.asarray(model.weights))


def _multivariate_t(model: Any) -> Any:
    if np.isinf(model.df):
        return Gaussian(model.loc, model.shape)
    return StudentT(model.df, model.loc, shape=model.shape)


_MULTIVARIATE: dict[str, Callable[[Any], Any]] = {
    "multivariate_normal_frozen": lambda model: Gaussian(model.mean, model.cov_object.covariance),
    "multivariate_t_frozen": _multivariate_t,
    "gaussian_kde": _kernel_density,
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
        self.distribution, self.label, self._known = distribution, str(distribution.name), dict(known)
        self._shapes = _shapes(distribution)
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
            low, high = _ends(self.distribution, dict(zip(self._all, grid, strict=True)))
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
        return _of_line(_Frozen(self.distribution(**self._whole(params))), 1)  # type: ignore[no-any-return]

    def fit(self, x: Floats) -> Floats:
        """SciPy's own fit, with the known parameters fixed."""
        if not self.names:
            return np.empty(0)
        if self.support is not None and (outside := self.support.outside(x)).any():
            raise ValueError(
                f"{int(outside.sum())} values of `x` lie outside the support {self.support} of {self.label}."
            )
        if "scale" in self.names and not x.std() > 0.0:
            raise ValueError(f"`x` must not be constant to fit {self.label}.")
        by, unit = self._place(x)  # SciPy's search depends on the unit of the data
        standard = {"loc": lambda value: (value - by) / unit, "scale": lambda value: value / unit}
        fixed = {f"f{name}": standard[name](v) if name in standard else v for name, v in self._known.items()}
        found = dict(zip(self._all, self.distribution.fit((x[:, 0] - by) / unit, **fixed), strict=True))
        found |= {"loc": by + unit * found["loc"], "scale": unit * found["scale"]}
        return np.array([found[name] for name in self.names])

    def _place(self, x: Floats) -> tuple[float, float]:
        """What is taken off the data before they are fitted, and what they are then divided by."""
        by = self._known["loc"] if "loc" in self._known else float(np.median(x))
        spread = float(np.median(np.abs(x - by))) or float(x.std()) or 1.0
        return by, self._known.get("scale", spread)

    def start(self, x: Floats) -> Floats:
        """The fit to the bulk: between the quantiles of 5 and 95 %."""
        low, high = np.quantile(x, [0.05, 0.95])
        return self.fit(x[(x[:, 0] >= low) & (x[:, 0] <= high)])

    def margins(self, params: Floats, x: Floats) -> Floats:
        return np.asarray(self.distribution.cdf(x, **self._whole(params)))

    def parameter_scores(self, params: Floats, x: Floats) -> Floats:
        whole = self._whole(params)
        scores, apart = self.score(params, x)[:, 0], x[:, 0] - whole["loc"]
        by_place = [-scores, -(1.0 + apart * scores) / whole["scale"]]
        columns = dict(zip(self._all, [*self._shape_scores(whole, x).T, *by_place], strict=True))
        return np.stack([columns[name] for name in self.names], axis=1) if self.names else np.empty((len(x), 0))

    def _shape_scores(self, whole: Mapping[str, float], x: Floats) -> Floats:
        """∂ log p / ∂ of every shape, shape (n, k)."""
        shapes, loc, scale = np.array([whole[name] for name in self._shapes]), whole["loc"], whole["scale"]
        if not len(shapes):
            return np.empty((len(x), 0))
        if self.label in SHAPE_SCORES:
            return SHAPE_SCORES[self.label]((x - loc) / scale, *shapes)
        return difference_jacobian(lambda at: self.distribution.logpdf(x[:, 0], *at, loc=loc, scale=scale), shapes)


ADAPTER = SciPy()
