"""Distributions of SciPy: frozen ones, the newer objects, multivariate ones and kernel density estimates."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from scipy import stats

from steinball.arrays import Array, Floats, like, to_host
from steinball.models.adapters import refusals
from steinball.models.adapters.kernel_density import KernelDensity
from steinball.models.adapters.scipy_scores import FAMILIES
from steinball.models.base_map import normal_of
from steinball.models.differences import numerical_gradient
from steinball.models.gaussian import Gaussian, as_points
from steinball.models.student_t import StudentT
from steinball.models.support import Support

_ANGLES = ("vonmises", "wrapcauchy")
_QUARTILES, _NORMAL_QUARTILES = (0.25, 0.75), 1.3489795003921634
_CURVED = {
    "dirichlet_frozen": "a simplex",
    "dirichlet_multinomial_frozen": "counts",
    "matrix_normal_frozen": "matrices",
    "matrix_t_frozen": "matrices",
    "wishart_frozen": "positive definite matrices",
    "invwishart_frozen": "positive definite matrices",
    "vonmises_fisher_frozen": "a sphere",
    "uniform_direction_frozen": "a sphere",
    "special_ortho_group_frozen": "rotations",
    "ortho_group_frozen": "rotations",
    "unitary_group_frozen": "rotations",
    "multivariate_hypergeom_frozen": "counts",
    "multinomial_frozen": "counts",
    "random_table_frozen": "tables of counts",
    "normal_inverse_gamma_frozen": "pairs of random variables",
}


def adapt(model: Any, dimension: int | None) -> Any:
    """The model of an object of ``scipy.stats``; ``None`` for what is no distribution."""
    kind = type(model).__name__
    if kind in _MULTIVARIATE:
        return _MULTIVARIATE[kind](model)
    if kind in _CURVED:
        if "counts" in _CURVED[kind]:
            refusals.discrete(kind.removesuffix("_frozen"))
        refusals.not_a_box(kind.removesuffix("_frozen"), _CURVED[kind])
    _refuse_families(model)
    if kind == "rv_continuous_frozen":
        return _of_line(_Frozen(model), dimension)
    if _is_new(model):
        return _of_line(_New(model), dimension)
    return None


def _is_new(model: Any) -> bool:
    names = [cls.__name__ for cls in type(model).__mro__]
    if "DiscreteDistribution" in names:
        refusals.discrete(type(model).__name__)
    return "UnivariateDistribution" in names or "_ProbabilityDistribution" in names


def _refuse_families(model: Any) -> None:
    """Families without parameters, histograms, and discrete distributions."""
    if isinstance(model, (stats.rv_discrete, type(stats.poisson(1.0)))):
        refusals.discrete(model.name if isinstance(model, stats.rv_discrete) else model.dist.name)
    if isinstance(model, stats.rv_histogram):
        raise TypeError(
            "`model` is a histogram, whose density jumps between its bins and has no score ∇log p. Smooth it: "
            "`scipy.stats.gaussian_kde(data)`."
        )
    if isinstance(model, stats.rv_continuous):
        shapes = "".join(f"{name}=…, " for name in (model.shapes or "").split(", ") if name)
        raise TypeError(
            f"`model` is the family scipy.stats.{model.name} and no distribution of it; freeze it with parameters: "
            f"`scipy.stats.{model.name}({shapes}loc=…, scale=…)`."
        )


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
        names = [*((dist.shapes or "").split(", ") if shapes else ()), "loc", "scale"]
        return {
            key: np.asarray(value, dtype=np.float64) for key, value in zip(names, (*shapes, loc, scale), strict=True)
        }

    @property
    def text(self) -> str:
        """As one would write it."""
        defaults = {"loc": 0.0, "scale": 1.0}
        given = {key: value for key, value in self.parameters.items() if not np.all(value == defaults.get(key))}
        return f"{self.name}({', '.join(f'{key}={_short(value)}' for key, value in given.items())})"

    def draw(self, shape: tuple[int, int], rng: np.random.Generator) -> Floats:
        return np.asarray(self.distribution.rvs(size=shape, random_state=rng), dtype=np.float64)

    def quantile(self, p: float) -> Floats:
        return np.asarray(self.distribution.ppf(p), dtype=np.float64)

    def score(self) -> Callable[[Floats], Floats] | None:
        """The score in closed form."""
        *shapes, loc, scale = self.parameters.values()
        if self.name not in FAMILIES:
            return None
        family = FAMILIES[self.name]
        return lambda x: np.asarray(family.score((x - loc) / scale, *shapes) / scale)

    @property
    def growth(self) -> float | None:
        *shapes, _, _ = self.parameters.values()
        return FAMILIES[self.name].rate(*shapes) if self.name in FAMILIES else None


@dataclass(frozen=True, eq=False)
class _New:
    """An object of the newer kind, such as ``stats.Normal(mu=0.0)``."""

    distribution: Any
    growth: ClassVar[float | None] = None

    @property
    def name(self) -> str:
        return str(self.distribution).partition("(")[0] or type(self.distribution).__name__

    @property
    def text(self) -> str:
        """As it writes itself, on one line."""
        return " ".join(str(self.distribution).split())

    @cached_property
    def parameters(self) -> dict[str, Floats]:
        """What can be read from its text: mixtures and transformed ones have no parameters of their own."""
        known = vars(self.distribution).get("_parameters", {})
        return {key: np.asarray(value, dtype=np.float64) for key, value in known.items()}

    def draw(self, shape: tuple[int, int], rng: np.random.Generator) -> Floats:
        size = np.broadcast_shapes(*(value.shape for value in self.parameters.values()))
        wanted = shape[0] if size == (shape[1],) else shape
        return np.asarray(self.distribution.sample(shape=wanted, rng=rng), dtype=np.float64).reshape(shape)

    def quantile(self, p: float) -> Floats:
        return np.asarray(self.distribution.icdf(p), dtype=np.float64)

    def score(self) -> None:
        return None


def _of_line(source: _Frozen | _New, dimension: int | None) -> Any:
    """A distribution of one number, or of independent columns where its parameters are vectors."""
    _refuse_angles(source)
    size = np.broadcast_shapes(*(value.shape for value in source.parameters.values()))
    if np.isnan(source.distribution.support()).any():
        raise ValueError(f"`model` is {source.text}, with parameters that SciPy does not allow; correct them.")
    if len(size) > 1:
        raise ValueError(f"`model` has parameters of shape {size}; give one number, or one for each column.")
    if not size and dimension not in (None, 1):
        assert dimension is not None
        refusals.on_the_line(source.name, dimension, _repeated(source, dimension))
    return _closed(source, size[0] if size else 1) or ScipyDistribution(source, size[0] if size else 1)


def _repeated(source: _Frozen | _New, dimension: int) -> str:
    some = next(iter(source.parameters), "loc")
    return f"{source.name}(..., {some}=np.full({dimension}, {float(source.parameters.get(some, np.zeros(()))):g}))"


def _refuse_angles(source: _Frozen | _New) -> None:
    if source.name in _ANGLES:
        raise TypeError(
            f"`model` is the distribution {source.name} of an angle, and angles wrap around. (cos, sin) of them has "
            "no density in the plane. Test it as a density on an interval: "
            '`sb.from_log_density(model.logpdf, backend="numerical", support=(-np.pi, np.pi))`, with '
            "the angles between its ends; or use a test for angles."
        )


def _closed(source: _Frozen | _New, d: int) -> Any:
    """The model of our own that it is, where we have it."""
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
    >>> model = adapt(stats.expon([0.0, 1.0]), 2)
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
        return self._closed_score is not None

    @cached_property
    def _closed_score(self) -> Callable[[Floats], Floats] | None:
        score: Callable[[Floats], Floats] | None = self.source.score()
        return score

    @property
    def prefers_base(self) -> bool:
        """Whether it is on the line and ends somewhere: there base space has the power (docs/base-space.md)."""
        return self.dimension == 1 and self.support.has_edges

    def __getstate__(self) -> dict[str, Any]:
        return {"source": self.source, "dimension": self.dimension}

    @cached_property
    def support(self) -> Support:
        """The ends of every column."""
        low, high = (np.broadcast_to(end, self.dimension) for end in self.source.distribution.support())
        return Support(tuple((float(a), float(b)) for a, b in zip(low, high, strict=True)))

    @cached_property
    def location(self) -> Floats:
        """The medians, shape (d,)."""
        return np.array(np.broadcast_to(self.source.quantile(0.5), self.dimension))

    @cached_property
    def covariance(self) -> Floats:
        """The squared spreads on the diagonal, shape (d, d)."""
        low, high = (np.broadcast_to(self.source.quantile(p), self.dimension) for p in _QUARTILES)
        return np.diag(((high - low) / _NORMAL_QUARTILES) ** 2)

    @property
    def growth(self) -> float | None:
        """r with |s(x)| = O(1 + |x|^r); between two ends nothing grows toward infinity."""
        rate: float | None = self.source.growth
        closed = np.isfinite(self.support.along(self.dimension)).all()
        return min(rate, 0.0) if rate is not None and closed else rate

    def score(self, x: Array) -> Array:
        """∇ log p at each row of ``x``, shape (n, d)."""
        x = as_points(x, self.dimension)
        points = to_host(x)
        with np.errstate(all="ignore"):  # outside the support there is no score, and that is told by name
            if self._closed_score is not None:
                return like(self._closed_score(points), x)
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
        distribution = self.source.distribution
        above = distribution.sf if isinstance(self.source, _Frozen) else distribution.ccdf
        with np.errstate(all="ignore"):
            return normal_of(np.asarray(distribution.cdf(x)), np.asarray(above(x)))


def _short(value: Floats) -> str:
    return (
        f"{float(value):g}"
        if value.ndim == 0
        else f"[{', '.join(f'{v:g}' for v in value[:4])}{', …' * (value.size > 4)}]"
    )


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
