"""Continuous distributions of SciPy on the line as models: frozen ones and the newer objects."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy.special import erfcx, ndtri

from steinball.adapters.density import refuse_angle, refuse_columns
from steinball.arrays import Array, Floats, like, to_host
from steinball.models.autodiff import numerical_gradient
from steinball.models.base_space import normal_of
from steinball.models.gaussian import Gaussian, as_points
from steinball.models.student_t import StudentT
from steinball.models.support import Support


class ClosedScore(NamedTuple):
    """The score at z with the shape parameters of SciPy, and r with |s| = O(1 + |z|^r), and O(1/distance) at an edge.

    ``growth`` is a number or a function of the shape parameters, and NaN where no such r exists.
    """

    score: Callable[..., Any]
    growth: Callable[..., Any] | float


def _mills(z: Floats) -> Floats:
    """φ(z)/Φ(z)."""
    return np.asarray(np.sqrt(2.0 / np.pi) / erfcx(-z / np.sqrt(2.0)))


#: By the names of SciPy: distributions with the same score stand together.
_SCORES = {
    "beta": ClosedScore(lambda z, a, b: (a - 1.0) / z - (b - 1.0) / (1.0 - z), 0.0),
    "cauchy halfcauchy t": ClosedScore(lambda z, df=1.0: -(df + 1.0) * z / (df + z * z), 0.0),
    "chi2": ClosedScore(lambda z, df: (df / 2.0 - 1.0) / z - 0.5, 0.0),
    "erlang gamma": ClosedScore(lambda z, a: (a - 1.0) / z - 1.0, 0.0),
    "expon truncexpon": ClosedScore(lambda z, *_: -np.ones_like(z), 0.0),
    "f": ClosedScore(lambda z, m, n: (m / 2.0 - 1.0) / z - (m + n) / 2.0 * m / (n + m * z), 0.0),
    "genpareto": ClosedScore(lambda z, c: -(1.0 + c) / (1.0 + c * z), 0.0),
    "gennorm": ClosedScore(
        lambda z, beta: -beta * np.sign(z) * np.abs(z) ** (beta - 1.0),
        lambda beta: np.where(beta >= 1.0, beta - 1.0, np.nan),
    ),
    "gumbel_l": ClosedScore(lambda z: 1.0 - np.exp(z), np.nan),
    "gumbel_r": ClosedScore(lambda z: np.exp(-z) - 1.0, np.nan),
    "halflogistic logistic": ClosedScore(lambda z: -np.tanh(z / 2.0), 0.0),
    "halfnorm norm truncnorm": ClosedScore(lambda z, *_: -z, 1.0),
    "invgamma": ClosedScore(lambda z, a: (1.0 / z - a - 1.0) / z, np.nan),
    "invgauss": ClosedScore(lambda z, mu: (0.5 / z - 1.5) / z - 0.5 / mu**2, np.nan),
    "laplace": ClosedScore(lambda z: -np.sign(z), 0.0),
    "lognorm": ClosedScore(lambda z, s: -(1.0 + np.log(z) / s**2) / z, np.nan),
    "lomax": ClosedScore(lambda z, c: -(c + 1.0) / (1.0 + z), 0.0),
    "maxwell": ClosedScore(lambda z: 2.0 / z - z, 1.0),
    "pareto": ClosedScore(lambda z, b: -(b + 1.0) / z, 0.0),
    "powerlaw": ClosedScore(lambda z, a: (a - 1.0) / z, 0.0),
    "rayleigh": ClosedScore(lambda z: 1.0 / z - z, 1.0),
    "skewnorm": ClosedScore(lambda z, a: a * _mills(a * z) - z, 1.0),
    "uniform": ClosedScore(np.zeros_like, 0.0),
    "weibull_min": ClosedScore(lambda z, c: (c - 1.0) / z - c * z ** (c - 1.0), lambda c: np.maximum(c - 1.0, 0.0)),
}

SCORES = {name: score for names, score in _SCORES.items() for name in names.split()}


def name_of(family: Any) -> str:
    """The name of a family of SciPy; of one of the user's own with its module, for the same name may mean another."""
    module = type(family).__module__
    return str(family.name if module.startswith("scipy.") else f"{module}.{family.name}")


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
    >>> model = line_model(read_frozen(stats.expon([0.0, 1.0])), 2)
    >>> model, model.support
    (ScipyDistribution(expon(loc=[0, 1]), score: closed form), Support(ends=((0.0, inf), (1.0, inf))))
    >>> model.score(np.array([[1.0, 2.0]]))
    array([[-1., -1.]])
    """

    distribution: Any
    name: str
    text: str  # the code that makes the distribution
    parameters: dict[str, Floats]
    ends: tuple[Any, Any]
    draw: Callable[[tuple[int, int], np.random.Generator], Any]
    quantile: Callable[[float], Any]
    above: Callable[[Floats], Any]  # the probability of larger values
    verified: bool = False  # whether the score is in closed form, and compared with the sampler in the tests
    takes_numpy: ClassVar[bool] = True
    derived: ClassVar[bool] = True

    def __repr__(self) -> str:
        how = "closed form" if self.verified else "numerical derivative"
        return f"ScipyDistribution({self.text}, score: {how})"

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the parameters: () on the line."""
        return np.broadcast_shapes(*(value.shape for value in self.parameters.values()))

    @property
    def dimension(self) -> int:
        """The number d of columns."""
        return (*self.shape, 1)[0]

    @property
    def prefers_base(self) -> bool:
        """Whether it is on the line and ends somewhere: there base space has the power (docs/edges.md)."""
        return self.dimension == 1 and self.support.has_edges

    def _columns(self, value: Any) -> Floats:
        return np.array(np.broadcast_to(value, self.dimension), dtype=np.float64)

    @cached_property
    def support(self) -> Support:
        """The ends of every column."""
        low, high = (self._columns(end).tolist() for end in self.ends)
        return Support(tuple(zip(low, high, strict=True)))

    @cached_property
    def location(self) -> Floats:
        """The medians, shape (d,)."""
        return self._columns(self.quantile(0.5))

    @cached_property
    def covariance(self) -> Floats:
        """The squared spreads on the diagonal, shape (d, d)."""
        low, high = (self._columns(self.quantile(p)) for p in (0.25, 0.75))
        return np.diag(((high - low) / (2.0 * ndtri(0.75))) ** 2)

    @property
    def growth(self) -> float | None:
        """r with |s(x)| = O(1 + |x|^r), of the columns the largest; between two ends nothing grows toward infinity."""
        if not self.verified:
            return None
        *shapes, _, _ = self.parameters.values()
        growth = SCORES[self.name].growth
        largest = float(np.max(growth(*shapes) if callable(growth) else growth))
        bounded = np.isfinite(self.support.along(self.dimension)).all()
        return None if np.isnan(largest) else largest * (not bounded)

    def score(self, x: Array) -> Array:
        """∇ log p at each row of ``x``, shape (n, d)."""
        x = as_points(x, self.dimension)
        points = to_host(x)
        with np.errstate(all="ignore"):  # outside the support there is no score, and that is told by name
            if not self.verified:
                return like(numerical_gradient(self._log_density, points, self.support.distance(points))[0], x)
            *shapes, loc, scale = self.parameters.values()
            return like(SCORES[self.name].score((points - loc) / scale, *shapes) / scale, x)

    def log_density(self, x: Array) -> Array:
        """log p at each row of ``x``, shape (n,)."""
        x = as_points(x, self.dimension)
        return like(self._log_density(to_host(x)), x)

    def _log_density(self, x: Any) -> Floats:
        with np.errstate(all="ignore"):
            return np.asarray(np.broadcast_to(self.distribution.logpdf(x), x.shape).sum(axis=1))

    def sample(self, n: int, rng: Any = None) -> Floats:
        """``n`` independent draws, shape (n, d)."""
        return np.asarray(self.draw((n, self.dimension), np.random.default_rng(rng)), dtype=np.float64)

    def to_base(self, x: Floats) -> Floats:
        """Φ⁻¹(F(x)), column by column: standard normal where x comes from the model."""
        with np.errstate(all="ignore"):
            return normal_of(np.asarray(self.distribution.cdf(x)), np.asarray(self.above(x)))


def read_frozen(distribution: Any) -> ScipyDistribution:
    """The model of a frozen distribution, such as ``stats.gamma(2.0)``."""
    dist = distribution.dist
    shapes, loc, scale = dist._parse_args(*distribution.args, **distribution.kwds)
    values = (np.asarray(value, dtype=np.float64) for value in (*shapes, loc, scale))
    known = dict(zip((*shapes_of(dist), "loc", "scale"), values, strict=True))
    defaults = {"loc": 0.0, "scale": 1.0}
    given = [f"{key}={_short(value)}" for key, value in known.items() if not np.all(value == defaults.get(key))]
    name, text, ends = name_of(dist), f"{dist.name}({', '.join(given)})", ends_of(dist, known)
    ask = distribution.rvs, distribution.ppf, distribution.sf
    return ScipyDistribution(distribution, name, text, known, ends, *ask, name in SCORES)


def read_new(distribution: Any) -> ScipyDistribution:
    """The model of an object of the newer kind, such as ``stats.Normal(mu=0.0)``.

    Mixtures and transformed distributions have no parameters of their own.
    """
    text = " ".join(str(distribution).split())
    name = str(distribution).partition("(")[0] or type(distribution).__name__
    own = vars(distribution).get("_parameters", {})
    known = {key: np.asarray(value, dtype=np.float64) for key, value in own.items()}
    ask = partial(_draw_new, distribution), distribution.icdf, distribution.ccdf
    return ScipyDistribution(distribution, name, text, known, distribution.support(), *ask)


def _draw_new(distribution: Any, shape: tuple[int, int], rng: Any) -> Floats:
    return np.asarray(distribution.sample(shape=shape[0], rng=rng)).reshape(shape)  # vectors bring their own axis


def line_model(found: ScipyDistribution, dimension: int | None) -> Any:
    """A distribution of one number, or of independent columns where its parameters are vectors."""
    if found.name in ("vonmises", "wrapcauchy"):
        refuse_angle(found.name, "model.logpdf", "numerical")
    if np.isnan(found.ends).any():
        raise ValueError(f"`model` is {found.text}, with parameters that SciPy does not allow; correct them.")
    if len(found.shape) > 1:
        raise ValueError(f"`model` has parameters of shape {found.shape}; give one number, or one for each column.")
    if not found.shape and dimension is not None and dimension > 1:
        some = next(iter(found.parameters), "loc")
        value = float(found.parameters.get(some, np.zeros(())))
        refuse_columns(found.name, dimension, f"{found.name}(..., {some}=np.full({dimension}, {value:g}))")
    return _own_model(found) or found


def _own_model(found: ScipyDistribution) -> Any:
    """The Gaussian or Student t that a distribution is; ``None`` for others."""
    known, d = found.parameters, found.dimension
    if found.name in ("norm", "Normal"):
        mean, sd = (known[key] for key in (("loc", "scale") if found.name == "norm" else ("mu", "sigma")))
        return Gaussian(np.broadcast_to(mean, d), sd=np.broadcast_to(sd, d))
    if found.name == "StandardNormal":
        return Gaussian()
    if found.name in ("t", "cauchy") and d == 1:
        df, loc, scale = (float(known[key]) if key in known else 1.0 for key in ("df", "loc", "scale"))
        return StudentT(df, loc, scale) if np.isfinite(df) else Gaussian(loc, sd=scale)
    return None


def _short(value: Floats) -> str:
    if value.ndim == 0:
        return f"{float(value):g}"
    return f"[{', '.join(f'{v:g}' for v in value.flat[:4])}{', …' * (value.size > 4)}]"
