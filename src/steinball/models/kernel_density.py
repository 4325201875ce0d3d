"""A Gaussian kernel density estimate: a mixture of one component a point, all of one covariance."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy

from steinball.arrays import Array, Floats, like, to_host
from steinball.models.base_space import rosenblatt
from steinball.models.gaussian import BuiltIn, Covariance, as_points, set_fields
from steinball.models.growth import ScoreGrowth, unit_root

_TOGETHER = 2**22  # numbers of a block of points by centers


@dataclass(frozen=True, eq=False, repr=False)
class KernelDensity(BuiltIn):
    r"""The density :math:`\sum_j w_j \mathcal N(x; y_j, \Sigma)` with score

    .. math:: s(x) = -\Sigma^{-1} (x - m(x)), \qquad m(x) = \sum_j r_j(x) y_j,

    r the shares of the centers y at x.

    Examples
    --------
    >>> KernelDensity(np.array([[-1.0], [1.0]]), 1.0).score(np.array([[0.0], [50.0]])).round(6)
    array([[  0.],
           [-49.]])
    """

    centers: Floats
    cov: Any
    weights: Any = None
    dimension: int = field(init=False)
    _factor: Covariance = field(init=False)

    def __post_init__(self) -> None:
        k, d = self.centers.shape
        weights = np.ones(k) if self.weights is None else np.asarray(self.weights, dtype=np.float64)
        set_fields(self, weights=weights / weights.sum(), dimension=d, _factor=Covariance.of(self.cov, "cov", d))

    def __repr__(self) -> str:
        return f"KernelDensity({len(self.centers)} points, dimension={self.dimension})"

    @property
    def location(self) -> Floats:
        """The mean, shape (d,)."""
        return np.asarray(self.weights @ self.centers)

    @property
    def covariance(self) -> Floats:
        """The covariance, shape (d, d): of the kernel plus that of the centers."""
        offsets = self.centers - self.location
        return np.asarray(self._factor.matrix + (self.weights[:, None] * offsets).T @ offsets)

    def score(self, x: Array) -> Array:
        """∇ log p at each row of ``x``, shape (n, d)."""
        x = as_points(x, self.dimension)
        points = to_host(x)
        pulled = [(scipy.special.softmax(logs, axis=1) @ self.centers) - part for part, logs in self._blocks(points)]
        return like(np.concatenate(pulled) @ self._factor.inverse, x)

    def log_density(self, x: Array) -> Array:
        """log p at each row of ``x``, normalized, shape (n,)."""
        x = as_points(x, self.dimension)
        constant = self._factor.log_volume + 0.5 * self.dimension * np.log(2.0 * np.pi)
        return like(
            np.concatenate([scipy.special.logsumexp(logs, axis=1) for _, logs in self._blocks(to_host(x))]) - constant,
            x,
        )

    def _blocks(self, x: Floats) -> list[tuple[Floats, Floats]]:
        """Blocks of points, each with the terms log w − |L⁻¹(x − y)|²/2 of every center, (m, k)."""
        size, center = max(1, _TOGETHER // len(self.centers)), self.location
        centers = (self.centers - center) @ self._factor.whitener.T
        with np.errstate(divide="ignore"):
            heights = np.log(self.weights) - 0.5 * np.sum(centers**2, axis=1)
        found = []
        for part in np.split(x, range(size, len(x), size)):
            z = (part - center) @ self._factor.whitener.T
            found.append((part, z @ centers.T + heights - 0.5 * np.sum(z**2, axis=1, keepdims=True)))
        return found

    def score_growth(self, center: Any, precision: Floats | None = None) -> ScoreGrowth:
        """The growth of the score, a weighted mean of −Σ⁻¹(x − yⱼ) = −Σ⁻¹(x − a) − Σ⁻¹(a − yⱼ)."""
        pulls = (np.asarray(center) - self.centers) @ self._factor.inverse
        slope = float(np.linalg.norm(self._factor.inverse @ unit_root(precision, self.dimension), 2))
        return ScoreGrowth(float(np.linalg.norm(pulls, axis=1).max()), slope)

    def sample(self, n: int, rng: Any = None) -> Floats:
        """``n`` independent draws, shape (n, d)."""
        generator = np.random.default_rng(rng)
        chosen = generator.choice(len(self.centers), size=n, p=self.weights)
        return self.centers[chosen] + self._factor.color(generator.standard_normal((n, self.dimension)))

    def to_base(self, x: Floats) -> Floats:
        """Rosenblatt's map: standard normal where x comes from the model."""
        offsets = (x[:, None, :] - self.centers) @ self._factor.whitener.T
        scales = np.log(np.diag(self._factor.root))
        with np.errstate(divide="ignore"):
            return rosenblatt(offsets, np.log(self.weights), np.broadcast_to(scales, self.centers.shape))
