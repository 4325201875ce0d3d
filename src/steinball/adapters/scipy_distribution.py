"""Continuous distributions of SciPy on the line as models: frozen ones and the newer objects."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from steinball.adapters.density import refuse_angle, refuse_columns
from steinball.adapters.scipy_scores import SCORES
from steinball.arrays import Array, Floats, like, to_host
from steinball.models.base_map import normal_of
from steinball.models.differences import numerical_gradient
from steinball.models.gaussian import Gaussian, as_points
from steinball.models.student_t import StudentT
from steinball.models.support import Support

_QUARTILES, _NORMAL_QUARTILES = (0.25, 0.75), 1.3489795003921634


def shapes_of(distribution: Any) -> list[str]:
    return [name.strip() for name in (distribution.shapes or "").split(",") if name.strip()]


def ends_of(distribution: Any, parameters: Mapping[str, Floats]) -> tuple[Floats, Floats]:
    """Where a distribution of SciPy ends; NaN for parameters that it does not allow."""
    low, high = distribution.support(**parameters)
    if distribution.name != "pearson3":
        return low, high
    skew, loc, scale = (np.asarray(parameters[name], dtype=np.float64) for name in ("skew", "loc", "scale"))
    with np.errstate(divide="ignore"):  # SciPy says that it has the whole line, and its density is 0 beyond this
        edge = loc - 2.0 * scale / skew
    return np.where(skew > 0.0, edge, low), np.where(skew < 0.0, edge, high)


@dataclass(frozen=True, eq=False)
class Frozen:
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
        names = (*shapes_of(dist), "loc", "scale")
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
        return ends_of(self.distribution.dist, self.parameters)

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
class New:
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


def line_model(source: Frozen | New, dimension: int | None) -> Any:
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


def _own_model(source: Frozen | New, d: int) -> Any:
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
    >>> model = line_model(Frozen(stats.expon([0.0, 1.0])), 2)
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
        """Whether it is on the line and ends somewhere: there base space has the power (docs/edges.md)."""
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
