"""The Gaussian mixture model, and its family, fitted by the EM algorithm."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy

from steinball.arrays import Array, Floats, as_numbers, like, namespace
from steinball.models import family
from steinball.models.autodiff import difference_jacobian
from steinball.models.base_space import rosenblatt
from steinball.models.gaussian import BuiltIn, Covariance, as_points, frozen
from steinball.models.knowledge import Bounds, Clusters, ScoreGrowth, linear_bounds, unit_root
from steinball.tilts.scatter import median_and_scales

_STARTS, _STEPS, _ENOUGH, _LEAST = 8, 500, 1e-6, 1e-3  # no component shrinks below _LEAST of the variance

#: Weights (k,), means (k, d) and covariances (k, d, d).
Parts = tuple[Floats, Floats, Floats]


@dataclass(frozen=True, eq=False, repr=False)
class GaussianMixture(BuiltIn):
    r"""A mixture of Gaussians :math:`p(x) = \sum_j \pi_j \mathcal N(x; \mu_j, \Sigma_j)` with score

    .. math:: s(x) = -\sum_j r_j(x) \Sigma_j^{-1} (x - \mu_j), \qquad
       r_j(x) = \pi_j \mathcal N(x; \mu_j, \Sigma_j) / p(x)

    (paper §5.4, with :math:`\Sigma_j = I`).

    Parameters
    ----------
    weights : (k,) array
        :math:`\pi`: not negative, sum 1. A component of weight 0 is left out.
    means : (k, d) array
        :math:`\mu`; (k,) means d = 1.
    cov : float, (d, d) or (k, d, d) array
        One variance or matrix for all components, or a matrix each; where d = 1 also (k,) variances. Held as
        (k, d, d).

    Notes
    -----
    ``log_density`` is normalized. ``location`` and ``covariance`` are the moments of the whole mixture.

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
        weights, means = _as_weights(self.weights), as_places(self.means, "means")
        if len(weights) != len(means):
            raise ValueError(f"`weights` has {len(weights)} entries but `means` {len(means)} rows; give as many.")
        there = np.flatnonzero(weights)
        factors = factors_of(self.cov, "cov", *means.shape)
        factors = tuple(factors[j] for j in there)
        cov = frozen([factor.matrix for factor in factors])
        vars(self).update(weights=frozen(weights[there]), means=frozen(means[there]), cov=cov)
        vars(self).update(dimension=means.shape[1], _factors=factors)

    def __repr__(self) -> str:
        return f"GaussianMixture({len(self.weights)} components, dimension={self.dimension})"

    @property
    def location(self) -> Floats:
        """The mean of the mixture, shape (d,)."""
        return np.asarray(self.weights @ self.means)

    @property
    def covariance(self) -> Floats:
        """The covariance of the mixture, shape (d, d): within plus between the components."""
        offsets = self.means - self.location
        within = np.tensordot(self.weights, self.cov, axes=1)
        return np.asarray(within + (self.weights[:, None] * offsets).T @ offsets)

    @property
    def modes(self) -> Clusters:
        """Means and covariances of the components."""
        return Clusters(self.means, self.cov)

    @property
    def normal_parts(self) -> Parts:
        """Weights (k,), means (k, d) and covariances (k, d, d) of the components."""
        return self.weights, self.means, self.cov

    def _whitened(self, x: Array) -> list[Array]:
        """L_j⁻¹(x − μ_j) for every component, each of shape (n, d)."""
        pairs = zip(self._factors, self.means, strict=True)
        return [factor.whiten(x - like(mean, x)) for factor, mean in pairs]

    def _log_heights(self) -> Floats:
        """Logarithms of the heights of the components' peaks, up to (2π)^(−d/2), shape (k,)."""
        return np.asarray(np.log(self.weights) - [factor.log_volume for factor in self._factors])

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

    def score_growth(self, center: Any, precision: Floats | None = None) -> list[ScoreGrowth]:
        """How the score grows with the distance from ``center``, in the metric ``precision``; all of these hold.

        The score is a weighted mean of those of the components, so the largest of their bounds holds. Components of
        one covariance allow a sharper one (:meth:`_shared_growth`); one that is widest in every direction wins far out
        (:meth:`_excess_over`).
        """
        center = np.asarray(center, dtype=np.float64)
        pairs = zip(self._factors, self.means, strict=True)
        each = [factor.score_growth(mean, center, precision) for factor, mean in pairs]
        largest = ScoreGrowth(*(max(numbers) for numbers in zip(*each, strict=True)))
        if (self.cov == self.cov[0]).all():
            return [largest, self._shared_growth(center, precision)]
        far = ((own, self._excess_over(j)) for j, own in enumerate(each))
        return [largest, *(ScoreGrowth(own.offset + excess, own.slope) for own, excess in far if excess < math.inf)]

    def _excess_over(self, j: int) -> float:
        """A bound on |s − sⱼ| = |Σ rₖ (sₖ − sⱼ)| if component j is the widest in every direction, else ∞.

        For Δ = Σₖ⁻¹ − Σⱼ⁻¹ positive definite the log odds of k against j are α − t²/2 with t² = (x − n)ᵀΔ(x − n) for
        some n, and sₖ − sⱼ = −Δ(x − n): so rₖ|sₖ − sⱼ| ≤ √‖Δ‖ · max t / (1 + exp(t²/2 − α)). For Δ = 0 the
        difference of scores is constant.
        """
        own, mean, height = self._factors[j].inverse, self.means[j], self._log_heights()
        excess = shift = 0.0
        for k, factor in enumerate(self._factors):
            inverse, apart = factor.inverse, self.means[k] - mean
            if np.array_equal(self.cov[k], self.cov[j]):
                shift = max(shift, float(np.linalg.norm(own @ apart)))
                continue
            difference = inverse - own
            least, most = np.linalg.eigvalsh(difference)[[0, -1]]
            if least <= 1e-9 * most:
                return math.inf
            # The log odds at their peak n: −½ min over x of |x − μₖ|² − |x − μⱼ|² in the two metrics.
            alpha = height[k] - height[j] + 0.5 * float(apart @ inverse @ np.linalg.solve(difference, own @ apart))
            excess += math.sqrt(most) * _largest_pull(alpha)
        return excess + shift

    def _shared_growth(self, center: Floats, precision: Floats | None) -> ScoreGrowth:
        """With one Σ the score is −Σ⁻¹(x − m(x)), m(x) the mean of the μⱼ under the responsibilities.

        Along a ray from the center m moves forward (its derivative is a covariance), so in whitened coordinates
        |z − m|² ≤ |z|² + 2|m(a)||z| + max|μⱼ|², all relative to the center.
        """
        factor = self._factors[0]
        widest = float(np.linalg.norm(factor.whitener, 2))
        slope = widest * float(np.linalg.norm(factor.whitener @ unit_root(precision, self.dimension), 2))
        radius = float(np.linalg.norm((self.means - center) @ factor.whitener.T, axis=1).max())
        drift = float(np.linalg.norm(factor.root.T @ np.asarray(self.score(center[None, :]))[0]))
        return ScoreGrowth(widest * radius, slope, widest * drift * slope)

    def score_bounds(self, lower: Floats, upper: Floats) -> Bounds:
        """Bounds of each coordinate of the score over boxes, shapes (m, d).

        The responsibilities are bounded through the log odds, quadratics in x; then the weighted mean of the
        components' scores is made as small and as large as they allow, with sum 1.
        """
        inverses = np.stack([factor.inverse for factor in self._factors])
        pairs = zip(inverses, self.means, strict=True)
        parts = [linear_bounds(-inverse, lower - mean, upper - mean) for inverse, mean in pairs]
        low, high = (np.stack([part[side] for part in parts], axis=1) for side in (0, 1))  # (m, k, d)
        least, most = self._share_bounds(inverses, (lower + upper) / 2.0, (upper - lower) / 2.0)
        return -_largest_mean(-low, least, most), _largest_mean(high, least, most)

    def _share_bounds(self, inverses: Floats, middle: Floats, half: Floats) -> Bounds:
        """Bounds of the responsibilities over boxes, shapes (m, k): 1 over the sum of odds against a component."""
        offsets = middle[:, None, :] - self.means  # (m, k, d)
        pulls = np.einsum("kij,mkj->mki", inverses, offsets)
        logs = self._log_heights() - 0.5 * np.sum(pulls * offsets, axis=2)
        most, least = np.zeros_like(logs), np.zeros_like(logs)
        for j in range(len(self.weights)):
            bend = 0.5 * np.einsum("mi,kij,mj->mk", half, np.abs(inverses - inverses[j]), half)
            slack = np.einsum("mki,mi->mk", np.abs(pulls - pulls[:, j : j + 1]), half) + bend
            odds = logs - logs[:, j : j + 1]
            with np.errstate(over="ignore"):
                most[:, j] = 1.0 / np.exp(odds - slack).sum(axis=1)
                least[:, j] = 1.0 / np.exp(odds + slack).sum(axis=1)
        return least, np.minimum(most, 1.0)

    def log_density(self, x: Array) -> Array:
        """log p at each row of ``x``, normalized, shape (n,)."""
        x = as_points(x, self.dimension)
        xp = namespace(x)
        terms, top, m = self._log_terms(self._whitened(x))
        peak = (top * m * m)[:, 0] + xp.log(xp.sum(xp.exp(terms), axis=1))
        return peak - 0.5 * self.dimension * math.log(2.0 * math.pi)

    def sample(self, n: int, rng: Any = None) -> Floats:
        """``n`` independent draws, shape (n, d)."""
        generator = np.random.default_rng(rng)
        component = generator.choice(len(self.weights), size=n, p=self.weights)
        draws = generator.standard_normal((n, self.dimension))
        for j, factor in enumerate(self._factors):
            chosen = component == j
            draws[chosen] = self.means[j] + factor.color(draws[chosen])
        return draws

    def to_base(self, x: Floats) -> Floats:
        """Rosenblatt's map: standard normal where x comes from the model."""
        scales = np.log([np.diag(factor.root) for factor in self._factors])
        return rosenblatt(np.stack(self._whitened(x), axis=1), np.log(self.weights), scales)


def _largest_pull(alpha: float) -> float:
    """max t / (1 + exp(t²/2 − α)) over t ≥ 0: t − 1/t where t² = 1 + exp(α − t²/2), so t² = 1 + 2ω(α − ½ − log 2)."""
    t = math.sqrt(1.0 + 2.0 * float(scipy.special.wrightomega(alpha - 0.5 - math.log(2.0))))
    return t - 1.0 / t


def _largest_mean(values: Floats, least: Floats, most: Floats) -> Floats:
    """The largest Σ rⱼ vⱼ over least ≤ r ≤ most with Σ r = 1: what is left over goes to the largest values first.

    ``values`` is (m, k, d), the bounds (m, k).
    """
    order = np.argsort(-values, axis=1)
    ranked = np.take_along_axis(values, order, axis=1)
    sides = (np.broadcast_to(side[:, :, None], values.shape) for side in (least, most - least))
    floor, room = (np.take_along_axis(side, order, axis=1) for side in sides)
    spare = 1.0 - least.sum(axis=1)[:, None, None] - (np.cumsum(room, axis=1) - room)
    return np.asarray(np.sum(ranked * (floor + np.clip(spare, 0.0, room)), axis=1))


def _as_weights(value: Any) -> Floats:
    weights = as_numbers(value, "weights")
    if weights.ndim != 1 or not weights.size or not np.isfinite(weights).all() or (weights < 0.0).any():
        raise ValueError(f"`weights` must have shape (k,), be finite and not negative, got {value!r}.")
    total = float(weights.sum())
    if abs(total - 1.0) > 1e-6:
        raise ValueError(f"`weights` must sum to 1, got {total:g}; divide them by their sum.")
    return frozen(weights / total)


def as_places(value: Any, name: str) -> Floats:
    """Finite points (k, d), read-only; (k,) means d = 1."""
    places = as_numbers(value, name)
    places = places[:, None] if places.ndim == 1 else places
    if places.ndim != 2 or not places.size or not np.isfinite(places).all():
        raise ValueError(f"`{name}` must be finite, of shape (k, d), or (k,) for d = 1; got {places.shape}.")
    return frozen(places)


def factors_of(value: Any, name: str, k: int, d: int) -> tuple[Covariance, ...]:
    """One covariance for each of k components; a shared one is factored once."""
    cov = as_numbers(value, name)
    if cov.shape == (k, d, d) or (d == 1 and cov.shape == (k,)):
        return tuple(Covariance.of(each, name, d) for each in cov)
    if cov.shape not in ((), (d, d)):
        raise ValueError(f"`{name}` must be a variance, ({d}, {d}) or ({k}, {d}, {d}), got shape {cov.shape}.")
    return (Covariance.of(cov, name, d),) * k


class MixtureFamily(family.Family):
    """A mixture of k normal distributions, each with its own mean and covariance.

    Examples
    --------
    >>> x = GaussianMixture([0.3, 0.7], [-3.0, 2.0]).sample(2000, rng=0)
    >>> MixtureFamily(2, 1).fit(x).round(1)
    array([ 0.3, -3. ,  0.9,  2. ,  1.1])
    """

    quick = False

    def __init__(self, components: int, dimension: int) -> None:
        self.components, self.dimension = components, dimension
        self.label = f"mixture of {components} normal distributions"
        each = [f"{name}[{j + 1}]" for j in range(components) for name in family.moment_names(dimension, "var")]
        self.names = (*(f"weight[{j + 1}]" for j in range(components - 1)), *each)

    def parts(self, params: Floats) -> Parts:
        """Weights, means and covariances."""
        k, d = self.components, self.dimension
        weights = np.append(params[: k - 1], 1.0 - params[: k - 1].sum())
        moments = params[k - 1 :].reshape(k, -1)
        return weights, moments[:, :d], np.stack([family.unpacked(row[d:], d) for row in moments])

    def pack(self, parts: Parts) -> Floats:
        """The parameters, components in the order of their first mean."""
        weights, means, covs = parts
        order = np.argsort(means[:, 0], kind="stable")
        moments = [np.concatenate([means[j], family.packed(covs[j])]) for j in order]
        return np.concatenate([weights[order][:-1], *moments])

    def model(self, params: Floats) -> GaussianMixture:
        return GaussianMixture(*self.parts(params))

    def start(self, x: Floats) -> Floats:
        """The fit to the bulk: rows within five median absolute deviations of the median."""
        center, spread = median_and_scales(x, squared=False)
        return self.fit(x[(np.abs(x - center) <= 5.0 * spread).all(axis=1)])

    def fit(self, x: Floats) -> Floats:
        """The best of several runs of the EM algorithm from random points of the data, with seeds of its own, and then
        ascent."""
        if len(x) < 2 * len(self.names):
            raise ValueError(
                f"`x` must have at least {2 * len(self.names)} rows to fit {self.label}, got {len(x)}. Use fewer "
                "components."
            )
        try:
            runs = [_em(x, self._first(x, np.random.default_rng([7, k]))) for k in range(_STARTS)]
            best = self.pack(max(runs, key=lambda run: run[0])[1])
            risen = self.parts(family.maximum_likelihood(self, x, best))
            return self.pack(risen) if _has_spread(risen[2], x) else best
        except np.linalg.LinAlgError:
            raise ValueError(
                f"`x` has no fit of a {self.label}: some component has no spread, since rows are equal or lie too far "
                "apart. Use fewer components, or leave such rows out."
            ) from None

    def _first(self, x: Floats, rng: np.random.Generator) -> Parts:
        k, cov = self.components, np.atleast_2d(np.cov(x.T, bias=True))
        means = x[rng.choice(len(x), size=k, replace=False)]
        return np.full(k, 1.0 / k), means, np.repeat(cov[None] / k ** (2.0 / x.shape[1]), k, axis=0)

    def parameter_scores(self, params: Floats, x: Floats) -> Floats:
        """∂ log p / ∂η: responsibilities times the scores of the components, shape (n, p)."""
        weights, means, covs = self.parts(params)
        shares = np.exp(_log_shares(x, (weights, means, covs))[0])
        by_weight = shares[:, :-1] / weights[:-1] - shares[:, -1:] / weights[-1]
        moments = (family.moment_scores(x, mean, np.linalg.inv(cov)) for mean, cov in zip(means, covs, strict=True))
        return np.hstack([by_weight, *(shares[:, j : j + 1] * each for j, each in enumerate(moments))])

    def margins(self, params: Floats, x: Floats) -> Floats:
        parts = zip(*self.parts(params), strict=True)
        shares = [weight * scipy.special.ndtr((x - mean) / np.sqrt(np.diag(cov))) for weight, mean, cov in parts]
        return np.asarray(np.sum(shares, axis=0))

    def to_working(self, params: Floats) -> Floats:
        """Log odds against the last weight, means, and Cholesky factors with logarithms on their diagonals."""
        weights, means, covs = self.parts(params)
        moments = [np.concatenate([mean, family.log_cholesky(cov)]) for mean, cov in zip(means, covs, strict=True)]
        return np.concatenate([np.log(weights[:-1] / weights[-1]), *moments])

    def from_working(self, working: Floats) -> Floats:
        k, d = self.components, self.dimension
        logs, rows = np.append(working[: k - 1], 0.0), working[k - 1 :].reshape(k, -1)
        moments = [np.append(row[:d], family.packed(family.from_log_cholesky(row[d:], d))) for row in rows]
        return np.concatenate([np.exp(logs - scipy.special.logsumexp(logs))[:-1], *moments])

    def working_jacobian(self, params: Floats) -> Floats:
        return difference_jacobian(self.from_working, self.to_working(params))


def _log_shares(x: Floats, parts: Parts) -> tuple[Floats, Floats]:
    """The logarithms of the responsibilities (n, k), and the log densities (n,)."""
    weights, means, covs = parts
    roots = np.linalg.cholesky(covs)
    z = np.einsum("kij,nkj->nki", np.linalg.inv(roots), x[:, None, :] - means)
    heights = np.log(weights) - np.log(np.diagonal(roots, axis1=1, axis2=2)).sum(axis=1)
    joint = heights - 0.5 * np.sum(z * z, axis=2) - 0.5 * x.shape[1] * np.log(2.0 * np.pi)
    total = scipy.special.logsumexp(joint, axis=1)
    return joint - total[:, None], total


def _em(x: Floats, parts: Parts) -> tuple[float, Parts]:
    """The EM algorithm until the mean log likelihood hardly rises."""
    last = -np.inf
    for _ in range(_STEPS):
        log_shares, total = _log_shares(x, parts)
        if total.mean() - last < _ENOUGH:
            break
        last, shares = float(total.mean()), np.exp(log_shares)
        sizes = np.maximum(shares.sum(axis=0), 1e-8)
        means = shares.T @ x / sizes[:, None]
        covs = [_spread(x - m, s / n) for s, m, n in zip(shares.T, means, sizes, strict=True)]
        parts = sizes / sizes.sum(), means, np.stack(covs)
    return last, parts


def _has_spread(covs: Floats, x: Floats) -> bool:
    """Whether no component has shrunk onto a point or a plane, where the likelihood has no bound."""
    scale = x.std(axis=0)
    return bool((np.linalg.eigvalsh(covs / np.outer(scale, scale)) >= 0.5 * _LEAST).all())


def _spread(offset: Floats, shares: Floats) -> Floats:
    """A weighted covariance, widened in directions where it has next to none of the variance of the data."""
    scale = np.sqrt(offset.var(axis=0))
    values, vectors = np.linalg.eigh((shares[:, None] * offset / scale).T @ (offset / scale))
    return np.asarray((vectors * np.maximum(values, _LEAST)) @ vectors.T * scale * scale[:, None])
