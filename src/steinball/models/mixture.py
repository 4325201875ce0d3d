"""The Gaussian mixture model."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steinball.arrays import Array, like, namespace
from steinball.models.gaussian import Covariance, as_points, frozen

__all__ = ["GaussianMixture"]


@dataclass(frozen=True, eq=False, repr=False)
class GaussianMixture:
    r"""A mixture of Gaussians :math:`p(x) = \sum_j \pi_j \mathcal N(x; \mu_j, \Sigma_j)` with score

    .. math:: s(x) = -\sum_j r_j(x) \Sigma_j^{-1} (x - \mu_j), \qquad
       r_j(x) = \pi_j \mathcal N(x; \mu_j, \Sigma_j) / p(x)

    (paper §5.4, with :math:`\Sigma_j = I`).

    Parameters
    ----------
    weights : (k,) array
        :math:`\pi`: not negative, sum 1.
    means : (k, d) array
        :math:`\mu`; (k,) means d = 1.
    cov : float, (d, d) or (k, d, d) array
        One variance or matrix for all components, or a matrix each; where d = 1 also (k,) variances. Held as
        (k, d, d).

    Notes
    -----
    ``log_density`` is normalised. ``location`` and ``covariance`` are the moments of the whole mixture.

    Examples
    --------
    >>> model = GaussianMixture([0.5, 0.5], [-1.0, 1.0])
    >>> model.score(np.array([1e20]))
    array([[-1.e+20]])
    """

    weights: Any
    means: Any
    cov: Any = 1.0
    dimension: int = field(init=False)
    _factors: tuple[Covariance, ...] = field(init=False)

    def __post_init__(self) -> None:
        weights, means = _as_weights(self.weights), _as_means(self.means)
        if len(weights) != len(means):
            raise ValueError(f"`weights` has {len(weights)} entries but `means` {len(means)} rows; give as many.")
        factors = _factors(self.cov, *means.shape)
        object.__setattr__(self, "weights", weights)
        object.__setattr__(self, "means", means)
        object.__setattr__(self, "cov", frozen([factor.matrix for factor in factors]))
        object.__setattr__(self, "dimension", means.shape[1])
        object.__setattr__(self, "_factors", factors)

    def __repr__(self) -> str:
        return f"GaussianMixture({len(self.weights)} components, dimension={self.dimension})"

    @property
    def location(self) -> NDArray[np.float64]:
        """The mean of the mixture, shape (d,)."""
        return np.asarray(self.weights @ self.means)

    @property
    def covariance(self) -> NDArray[np.float64]:
        """The covariance of the mixture, shape (d, d): within plus between the components."""
        offsets = self.means - self.location
        within = np.tensordot(self.weights, self.cov, axes=1)
        return np.asarray(within + (self.weights[:, None] * offsets).T @ offsets)

    def _whitened(self, x: Array) -> list[Array]:
        """L_j⁻¹(x − μ_j) for every component, each of shape (n, d)."""
        pairs = zip(self._factors, self.means, strict=True)
        return [factor.whiten(x - like(mean, x)) for factor, mean in pairs]

    def _log_heights(self) -> NDArray[np.float64]:
        """Logarithms of the heights of the components' peaks, up to (2π)^(−d/2), shape (k,)."""
        with np.errstate(divide="ignore"):  # a weight of 0 is a component that is not there
            logs = np.log(self.weights)
        return np.asarray(logs - [factor.log_volume for factor in self._factors])

    def _log_terms(self, z: list[Array]) -> tuple[Array, Array, Array]:
        """Log densities of the components less the largest, (n, k), and h, m, (n, 1), with h·m·m the largest.

        Whitened points are divided by m = max(1, |z|∞) before they are squared, and differences are taken
        before multiplying back: the largest term is exactly 0, the others at worst −10⁴, for every point.
        """
        xp = namespace(z[0])
        m = xp.max(xp.stack([xp.max(xp.abs(zj), axis=1) for zj in z], axis=1), axis=1, keepdims=True)
        m = xp.maximum(m, xp.ones_like(m))
        squares = xp.stack([xp.sum((zj / m) ** 2, axis=1) for zj in z], axis=1)  # (n, k)
        h = like(self._log_heights(), m) / m / m - 0.5 * squares
        top = xp.max(h, axis=1, keepdims=True)
        return xp.maximum((h - top) * m, -1e4 / m) * m, top, m

    def score(self, x: Array) -> Array:
        """∇ log p at each row of ``x``, shape (n, d)."""
        x = as_points(x, self.dimension)
        xp, z = namespace(x), self._whitened(x)
        shares = xp.exp(self._log_terms(z)[0])
        shares = shares / xp.sum(shares, axis=1, keepdims=True)  # the responsibilities r_j
        pulls = [shares[:, j : j + 1] * f.pull_back(z[j]) for j, f in enumerate(self._factors)]
        return -xp.sum(xp.stack(pulls, axis=0), axis=0)

    def log_density(self, x: Array) -> Array:
        """log p at each row of ``x``, normalised, shape (n,)."""
        x = as_points(x, self.dimension)
        xp = namespace(x)
        terms, top, m = self._log_terms(self._whitened(x))
        peak = (top * m * m)[:, 0] + xp.log(xp.sum(xp.exp(terms), axis=1))
        return peak - 0.5 * self.dimension * math.log(2.0 * math.pi)

    def sample(self, n: int, rng: Any = None) -> NDArray[np.float64]:
        """``n`` independent draws, shape (n, d)."""
        generator = np.random.default_rng(rng)
        component = generator.choice(len(self.weights), size=n, p=self.weights)
        draws = generator.standard_normal((n, self.dimension))
        for j, factor in enumerate(self._factors):
            chosen = component == j
            draws[chosen] = self.means[j] + factor.color(draws[chosen])
        return draws


def _as_weights(value: Any) -> NDArray[np.float64]:
    weights = np.asarray(value, dtype=np.float64)
    if weights.ndim != 1 or weights.size == 0:
        raise ValueError(f"`weights` must have shape (k,), got {weights.shape}.")
    if not np.isfinite(weights).all() or (weights < 0.0).any():
        raise ValueError(f"`weights` must be finite and not negative, got {value!r}.")
    total = float(weights.sum())
    if abs(total - 1.0) > 1e-6:
        raise ValueError(f"`weights` must sum to 1, got {total:g}; divide them by their sum.")
    return frozen(weights / total)


def _as_means(value: Any) -> NDArray[np.float64]:
    means = np.asarray(value, dtype=np.float64)
    means = means[:, None] if means.ndim == 1 else means
    if means.ndim != 2 or means.shape[1] < 1:
        raise ValueError(f"`means` must have shape (k, d), or (k,) for d = 1, got {means.shape}.")
    if not np.isfinite(means).all():
        raise ValueError("`means` must be finite.")
    return frozen(means)


def _factors(cov: Any, k: int, d: int) -> tuple[Covariance, ...]:
    """One covariance per component; a shared one is factored once."""
    shape = np.shape(cov)
    if shape == (k, d, d) or (d == 1 and shape == (k,)):
        return tuple(Covariance.of(each, "cov", d) for each in np.asarray(cov))
    if shape not in ((), (d, d)):
        raise ValueError(f"`cov` must be a variance, ({d}, {d}) or ({k}, {d}, {d}), got shape {shape}.")
    return (Covariance.of(cov, "cov", d),) * k
