"""The multivariate Student t model, and its family on the line."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from scipy.special import betaln, digamma, gammaln, stdtr

from steinball.arrays import Array, Floats, as_number, like, namespace
from steinball.models.base_map import normal_of
from steinball.models.family import Family
from steinball.models.gaussian import Covariance, as_points, as_vector, common_dimension, set_fields
from steinball.models.growth import Bounds, RadialScore, ScoreGrowth, linear_bounds

_MOST = 200.0  # degrees of freedom beyond which no sample tells the family from the normal one


@dataclass(frozen=True, eq=False, repr=False)
class StudentT:
    r"""The Student t distribution with density proportional to

    .. math:: \left(1 + (x-\mu)^\top \Sigma^{-1} (x-\mu) / \nu\right)^{-(\nu + d)/2},
       \qquad \Sigma = \sigma^2 \Omega.

    :meth:`standardized` is :math:`Q_\nu = t_\nu \sqrt{(\nu - 2)/\nu}` of the paper's §5.1.

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
    takes_numpy: ClassVar[bool] = True
    verified: ClassVar[bool] = True
    _factor: Covariance = field(init=False)

    def __post_init__(self) -> None:
        shape = 1.0 if self.shape is None else self.shape
        d = common_dimension(self.dimension, location=self.location, shape=shape)
        scale = as_number(self.scale, "scale", low=0.0, open_low=True)
        omega = Covariance.of(shape, "shape", d).matrix
        df, location = as_number(self.df, "df", low=0.0, open_low=True), as_vector(self.location, "location", d)
        with np.errstate(over="ignore", under="ignore"):  # what is no float then is refused
            factor = Covariance.of(np.square(scale) * omega, "scale", d)
        set_fields(self, df=df, location=location, scale=scale, shape=omega, dimension=d, _factor=factor)

    def __repr__(self) -> str:
        if self.dimension > 1:
            return f"StudentT(df={self.df:g}, dimension={self.dimension})"
        width = math.sqrt(self._factor.matrix[0, 0])
        return f"StudentT(df={self.df:g}, location={self.location[0]:g}, scale={width:g})"

    @classmethod
    def standardized(cls, df: float, dimension: int = 1) -> StudentT:
        r"""The t distribution of mean 0 and unit covariance, :math:`t_\nu \sqrt{(\nu - 2)/\nu}`.

        Examples
        --------
        >>> StudentT.standardized(4.0).scale ** 2
        0.5000000000000001
        """
        df = as_number(df, "df", low=2.0, open_low=True)
        return cls(df, scale=math.sqrt((df - 2.0) / df), dimension=dimension)

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
        return self._log_constant() - 0.5 * (self.df + self.dimension) * log_tail[:, 0]

    def _log_constant(self) -> float:
        nu, d = self.df, self.dimension
        # log Γ((ν+d)/2) − log Γ(ν/2), without the cancellation of two huge numbers for large ν
        gammas = gammaln(d / 2.0) - betaln(nu / 2.0, d / 2.0)
        return float(gammas - 0.5 * d * math.log(nu * math.pi) - self._factor.log_volume)

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
        return normal_of(stdtr(df, t), stdtr(df, -t))


class StudentFamily(Family):
    """Student's t on the line, with unknown degrees of freedom, location and scale.

    Examples
    --------
    >>> x = StudentT(5.0, 1.0, 2.0).sample(4000, rng=0)
    >>> StudentFamily().fit(x).round(1)
    array([4.9, 0.9, 2. ])
    """

    label = "student-t"
    names, positive = ("df", "loc", "scale"), (True, False, True)

    def from_working(self, working: Floats) -> Floats:
        """The parameters, with at most 200 degrees of freedom and at least a fifth."""
        limited = np.clip(working[0], np.log(0.2), np.log(_MOST))
        return super().from_working(np.concatenate([[limited], working[1:]]))

    def model(self, params: Floats) -> StudentT:
        return StudentT(*params)

    def start(self, x: Floats) -> Floats:
        """Five degrees of freedom at median and median absolute deviation."""
        center = float(np.median(x))
        spread = 1.376 * float(np.median(np.abs(x - center)))
        return np.array([5.0, center, spread if spread > 0.0 else max(float(x.std()), 1e-300)])

    def margins(self, params: Floats, x: Floats) -> Floats:
        return np.asarray(stdtr(params[0], (x - params[1]) / params[2]))

    def parameter_scores(self, params: Floats, x: Floats) -> Floats:
        df, loc, scale = params
        z = (x[:, 0] - loc) / scale
        ratio = (df + 1.0) * z / (df + z * z)
        by_df = digamma((df + 1.0) / 2.0) - digamma(df / 2.0) - 1.0 / df - np.log1p(z * z / df) + ratio * z / df
        return np.stack([0.5 * by_df, ratio / scale, (ratio * z - 1.0) / scale], axis=1)
