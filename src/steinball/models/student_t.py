"""The multivariate Student t model, and its family on the line."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy

from steinball.arrays import Array, Floats, as_number, like, namespace
from steinball.models.base_space import normal_of
from steinball.models.family import Family
from steinball.models.gaussian import BuiltIn, Covariance, Gaussian, as_points, as_vector, common_dimension
from steinball.models.knowledge import Bounds, RadialScore, ScoreGrowth, linear_bounds

_MOST = 5.0  # of 1/ν: a fifth of a degree of freedom
_NORMAL = 1e-9  # 1/ν below which the member is the normal one


@dataclass(frozen=True, eq=False, repr=False)
class StudentT(BuiltIn):
    r"""The Student t distribution with density proportional to

    .. math:: \left(1 + (x-\mu)^\top \Sigma^{-1} (x-\mu) / \nu\right)^{-(\nu + d)/2},
       \qquad \Sigma = \sigma^2 \Omega.

    At the scale :math:`\sqrt{(\nu - 2)/\nu}` it is :math:`Q_\nu` of the paper's §5.1, of unit variance.

    Parameters
    ----------
    df : float
        :math:`\nu > 0`.
    location : float or (d,) array
        :math:`\mu`.
    scale : float
        :math:`\sigma > 0`.
    shape : float, (d,) or (d, d) array, optional
        :math:`\Omega`, the identity by default. Held as the matrix.
    dimension : int, optional
        d, where no parameter shows it.

    Notes
    -----
    ``log_density`` is normalized. ``covariance`` is :math:`\Sigma`, the measure of width that exists for
    every :math:`\nu`; the second moments, where :math:`\nu > 2`, are :math:`\Sigma\, \nu/(\nu - 2)`.

    Examples
    --------
    >>> StudentT(3.0).score(np.array([1.0]))
    array([[-1.]])
    """

    df: Any
    location: Any = 0.0
    scale: Any = 1.0
    shape: Any = field(default=None, kw_only=True)
    dimension: Any = field(default=None, kw_only=True)
    _factor: Covariance = field(init=False)

    def __post_init__(self) -> None:
        shape = 1.0 if self.shape is None else self.shape
        d = common_dimension(self.dimension, location=self.location, shape=shape)
        scale = as_number(self.scale, "scale", low=0.0, open_low=True)
        omega = Covariance.of(shape, "shape", d).matrix
        df, location = as_number(self.df, "df", low=0.0, open_low=True), as_vector(self.location, "location", d)
        with np.errstate(over="ignore", under="ignore"):  # what is no float then is refused
            factor = Covariance.of(np.square(scale) * omega, "scale", d)
        vars(self).update(df=df, location=location, scale=scale, shape=omega, dimension=d, _factor=factor)

    def __repr__(self) -> str:
        if self.dimension > 1:
            return f"StudentT(df={self.df:g}, dimension={self.dimension})"
        width = math.sqrt(self._factor.matrix[0, 0])
        return f"StudentT(df={self.df:g}, location={self.location[0]:g}, scale={width:g})"

    @property
    def covariance(self) -> Floats:
        """Σ, shape (d, d): not the second moments, which need not exist (see Notes)."""
        return self._factor.matrix

    def _scaled(self, x: Array) -> tuple[Array, Array, Array]:
        """v/m, m and |v/m|² for v = L⁻¹(x − μ)/√ν and m = max(1, |v|∞): no square overflows."""
        xp = namespace(x)
        v = self._factor.whiten(x - like(self.location, x)) * self.df**-0.5
        m = xp.max(xp.abs(v), axis=1, keepdims=True)
        m = xp.maximum(m, xp.ones_like(m))
        v = v / m
        return v, m, xp.sum(v * v, axis=1, keepdims=True)

    def score(self, x: Array) -> Array:
        """∇ log p at each row of ``x``, shape (n, d)."""
        x = as_points(x, self.dimension)
        v, m, q = self._scaled(x)
        rate = (self.df + self.dimension) * self.df**-0.5
        return -rate * self._factor.pull_back(v) / (1.0 / m / m + q) / m

    @property
    def radial_score(self) -> RadialScore:
        """The score as a function of the distance from the location, for sharp bounds of sup u(x, x)."""
        rate = (self.df + self.dimension) / self.df
        return RadialScore(self.location, self._factor.inverse, rate, 1.0 / self.df)

    def score_growth(self, center: Any, precision: Floats | None = None) -> ScoreGrowth:
        """The bound of the score, whatever the center: |s| ≤ (ν + d) √‖Σ⁻¹‖ / (2√ν), attained."""
        return ScoreGrowth(float(self.radial_score.most(0.0, np.inf)), 0.0)

    def score_bounds(self, lower: Floats, upper: Floats) -> Bounds:
        """Bounds of each coordinate of the score over boxes, shapes (m, d): −(ν + d) Σ⁻¹y over ν + t, t = yᵀΣ⁻¹y."""
        lower, upper = lower - self.location, upper - self.location
        middle, half = (lower + upper) / 2.0 @ self._factor.whitener.T, (upper - lower) / 2.0
        root = np.linalg.norm(middle, axis=1)
        slack = np.sqrt(np.sum(half @ np.abs(self._factor.inverse) * half, axis=1))  # √t moves by no more
        least, most = (self.df + np.maximum(root + sign * slack, 0.0) ** 2 for sign in (-1.0, 1.0))
        low, high = linear_bounds(-(self.df + self.dimension) * self._factor.inverse, lower, upper)
        quotients = np.stack([side / t[:, None] for side in (low, high) for t in (least, most)])
        return quotients.min(axis=0), quotients.max(axis=0)

    def log_density(self, x: Array) -> Array:
        """log p at each row of ``x``, normalized, shape (n,)."""
        x = as_points(x, self.dimension)
        xp = namespace(x)
        _, m, q = self._scaled(x)
        # log(1 + |mv|²) = 2 log m + log(1/m² + |v|²), with the 1 kept apart for points near the center.
        log_tail = 2.0 * xp.log(m) + xp.log1p((1.0 / m / m - 1.0) + q)  # (n, 1)
        constant = _log_height(self.df, self.dimension) - self._factor.log_volume
        return constant - 0.5 * (self.df + self.dimension) * log_tail[:, 0]

    def sample(self, n: int, rng: Any = None) -> Floats:
        """``n`` independent draws, shape (n, d): Gaussian noise over the root of a scaled χ² variable."""
        generator = np.random.default_rng(rng)
        noise = self._factor.color(generator.standard_normal((n, self.dimension)))
        mixing = np.sqrt(generator.chisquare(self.df, size=(n, 1)) / self.df)
        return np.asarray(self.location + noise / mixing)

    def to_base(self, x: Floats) -> Floats:
        """Rosenblatt's map: given j whitened coordinates, the next is √((ν + Σw²)/(ν + j)) times a t with ν + j."""
        w = self._factor.whiten(x - self.location)
        df = self.df + np.arange(self.dimension)
        before = np.cumsum(np.pad(w**2, ((0, 0), (1, 0)))[:, :-1], axis=1)
        t = w * np.sqrt(df / (self.df + before))
        return normal_of(scipy.special.stdtr(df, t), scipy.special.stdtr(df, -t))


def _log_height(nu: float, d: int) -> float:
    """The log density of the standard t at 0."""
    # log Γ((ν+d)/2) − log Γ(ν/2), without the cancellation of two huge numbers for large ν
    gammas = scipy.special.gammaln(d / 2.0) - scipy.special.betaln(nu / 2.0, d / 2.0)
    return float(gammas - 0.5 * d * math.log(nu * math.pi))


class StudentFamily(Family):
    r"""Student's t on the line, with unknown degrees of freedom ν, location and scale; the normal is a member of it.

    The parameter is :math:`\kappa = 1/\nu \in [0, 5]`, with the score

    .. math:: s(x) = -\frac{1 + \kappa}{\sigma} \cdot \frac{z}{1 + \kappa z^2}, \qquad z = (x - \mu) / \sigma,

    so that κ = 0 is N(μ, σ²), a member like any other. Results speak of the degrees of freedom, ``df``.

    Examples
    --------
    >>> x = StudentT(5.0, 1.0, 2.0).sample(4000, rng=0)
    >>> StudentFamily().fit(x).round(1)
    array([0.2, 0.9, 2. ])
    >>> (StudentFamily().fit(np.linspace(-1.0, 1.0, 50)[:, None]).round(2) + 0.0).tolist()
    [0.0, 0.0, 0.59]
    """

    label = "student-t"
    names, positive = ("1/df", "loc", "scale"), (False, False, True)
    least = np.array([0.0, -np.inf, -np.inf])  # the normal distribution is at the edge of the family

    def from_working(self, working: Floats) -> Floats:
        """The parameters, with 1/ν between 0 and 5."""
        return super().from_working(np.concatenate([np.clip(working[:1], 0.0, _MOST), working[1:]]))

    def model(self, params: Floats) -> StudentT | Gaussian:
        inverse, loc, scale = params
        return StudentT(1.0 / inverse, loc, scale) if inverse > _NORMAL else Gaussian(loc, scale * scale)

    def start(self, x: Floats) -> Floats:
        """Five degrees of freedom at median and median absolute deviation."""
        center = float(np.median(x))
        spread = 1.376 * float(np.median(np.abs(x - center)))
        return np.array([0.2, center, spread if spread > 0.0 else max(float(x.std()), 1e-300)])

    def fit(self, x: Floats) -> Floats:
        """The maximum-likelihood parameters: from the best of three starts, with light and heavy tails."""
        _, center, spread = self.start(x)
        if not x.std() > 0.0:
            raise ValueError("`x` must not be constant to fit a student-t distribution.")
        z = (x[:, 0] - center) / spread
        bounds = [(0.0, _MOST), (None, None), (None, None)]
        options = {"ftol": 1e-13, "gtol": 1e-9}
        starts = ([0.02, z.mean(), np.log(z.std())], [0.2, 0.0, 0.0], [1.0, 0.0, -0.3])
        start = min(starts, key=lambda at: _loss(np.array(at), z)[0])
        inverse, loc, log_scale = scipy.optimize.minimize(
            _loss, start, (z,), "L-BFGS-B", True, bounds=bounds, options=options
        ).x
        inverse = inverse if inverse > _NORMAL else 0.0
        return np.array([inverse, center + spread * loc, spread * np.exp(log_scale)])

    def matched(self, x: Floats, own: Floats, target: Floats) -> Floats:
        """The affine map from one location and scale to the others."""
        return np.asarray(target[1] + target[2] * (x - own[1]) / own[2])

    def margins(self, params: Floats, x: Floats) -> Floats:
        inverse, z = params[0], (x - params[1]) / params[2]
        return np.asarray(scipy.special.stdtr(1.0 / inverse, z) if inverse > _NORMAL else scipy.special.ndtr(z))

    def score_jacobian(self, working: Floats, x: Floats, units: Floats) -> Floats:
        """In closed form: differences would step over the edge of the family."""
        inverse, loc, scale = self.from_working(working)
        z = (x - loc) / scale
        below = 1.0 + inverse * z * z
        slope = -(1.0 + inverse) * (1.0 - inverse * z * z) / below / below  # of the score in z, times the scale
        by_tail = -z * (1.0 - z) * (1.0 + z) / below / below
        by_scale = (1.0 + inverse) * z / below - z * slope
        return np.asarray(np.stack([by_tail, -slope / scale, by_scale], axis=2) / scale)

    def parameter_scores(self, params: Floats, x: Floats) -> Floats:
        inverse, loc, scale = params
        z = (x[:, 0] - loc) / scale
        ratio = (1.0 + inverse) * z / (1.0 + inverse * z * z)
        return np.stack([_tail_score(inverse, z), ratio / scale, (ratio * z - 1.0) / scale], axis=1)

    def reported(self, params: Floats, errors: Floats) -> dict[str, tuple[float, float]]:
        """Degrees of freedom in place of 1/ν; infinite for the normal distribution, with an error that is not known."""
        inverse, error = float(params[0]), float(errors[0])
        df = (1.0 / inverse, error / inverse**2) if inverse > 0.0 else (math.inf, math.nan)
        return {"df": df, **{n: v for n, v in super().reported(params, errors).items() if n != "1/df"}}


def _loss(at: Floats, z: Floats) -> tuple[float, Floats]:
    """Minus the mean log density of rows z, and its slope, at 1/ν, location and log scale."""
    inverse, loc, log_scale = at
    y = (z - loc) * np.exp(-log_scale)
    value = _log_constant(inverse) - log_scale - 0.5 * (1.0 + inverse) * _log_over(inverse, y)
    ratio = (1.0 + inverse) * y / (1.0 + inverse * y * y)
    slopes = _tail_score(inverse, y).mean(), (ratio * np.exp(-log_scale)).mean(), (ratio * y - 1.0).mean()
    return -float(np.mean(value)), -np.array(slopes)


def _log_over(inverse: float, y: Floats) -> Floats:
    """log(1 + κy²)/κ, which is y² at κ = 0."""
    t = inverse * y * y
    return np.where(t < 1e-8, y * y * (1.0 - t / 2.0), np.log1p(t) / max(inverse, 1e-300))


def _log_constant(inverse: float) -> float:
    """The log density of the standard t on the line at 0: −½ log 2π − κ/4 + κ³/24 − … for small κ."""
    if inverse < 1e-3:
        return -0.5 * math.log(2.0 * math.pi) - inverse / 4.0 + inverse**3 / 24.0
    return _log_height(1.0 / inverse, 1)


def _tail_score(inverse: float, z: Floats) -> Floats:
    r"""∂ log p / ∂κ at z, :math:`c'(\kappa) + z^4 g(t)/2 - z^2/(2(1 + t))`, :math:`g(t) = (\log(1+t) - t/(1+t))/t^2`.

    With t = κz²; at κ = 0 it is (z⁴ − 2z² − 1)/4.
    """
    t = inverse * z * z
    near = 0.5 + t * (-2.0 / 3.0 + t * (3.0 / 4.0 - t * 4.0 / 5.0))
    with np.errstate(divide="ignore", invalid="ignore"):
        apart = np.where(t < 1e-4, near, (np.log1p(t) - t / (1.0 + t)) / (t * t))
    constant = -0.25 + inverse * inverse / 8.0
    if inverse >= 1e-3:
        nu = 1.0 / inverse
        above, below = scipy.special.digamma([(nu + 1.0) / 2.0, nu / 2.0])
        constant = -0.5 * nu * nu * float(above - below - 1.0 / nu)
    return np.asarray(constant + 0.5 * z**4 * apart - 0.5 * z * z / (1.0 + t))
