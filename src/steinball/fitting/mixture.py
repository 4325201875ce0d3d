"""Mixtures of normal distributions, fitted by the EM algorithm."""

from __future__ import annotations

import numpy as np
from scipy.special import logsumexp, ndtr

from steinball.arrays import Floats
from steinball.fitting.family import Family, difference_jacobian, maximum_likelihood
from steinball.fitting.normal import from_log_cholesky, log_cholesky, moment_scores, packed, unpacked
from steinball.models.mixture import GaussianMixture

_STARTS, _STEPS, _ENOUGH = 8, 500, 1e-6
_LEAST = 1e-3  # of the variance of the data: no component shrinks onto a point

Parts = tuple[Floats, Floats, Floats]
"""Weights (k,), means (k, d) and covariances (k, d, d)."""


class Mixture(Family):
    """A mixture of k normal distributions, each with its own mean and covariance.

    Examples
    --------
    >>> x = GaussianMixture([0.3, 0.7], [-3.0, 2.0]).sample(2000, rng=0)
    >>> Mixture(2, 1).fit(x).round(1)
    array([ 0.3, -3. ,  0.9,  2. ,  1.1])
    """

    def __init__(self, components: int, dimension: int) -> None:
        self.components, self.dimension = components, dimension
        self.label = f"mixture of {components} normal distributions"

    @property
    def names(self) -> tuple[str, ...]:
        """Weights but the last; then mean and variance, or means and covariances, of each component."""
        k, d = self.components, self.dimension
        pairs = list(zip(*np.triu_indices(d), strict=True))
        means = [""] if d == 1 else [f"_{i + 1}" for i in range(d)]
        moments = [
            *(f"mean{end}" for end in means),
            *(["var"] if d == 1 else [f"cov_{i + 1}{j + 1}" for i, j in pairs]),
        ]
        return (*(f"weight[{j + 1}]" for j in range(k - 1)), *(f"{m}[{j + 1}]" for j in range(k) for m in moments))

    def parts(self, params: Floats) -> Parts:
        """Weights, means and covariances."""
        k, d = self.components, self.dimension
        weights = np.append(params[: k - 1], 1.0 - params[: k - 1].sum())
        moments = params[k - 1 :].reshape(k, -1)
        return weights, moments[:, :d], np.stack([unpacked(row[d:], d) for row in moments])

    def pack(self, parts: Parts) -> Floats:
        """The parameters, components in the order of their first mean."""
        weights, means, covs = parts
        order = np.argsort(means[:, 0], kind="stable")
        moments = [np.concatenate([means[j], packed(covs[j])]) for j in order]
        return np.concatenate([weights[order][:-1], *moments])

    def model(self, params: Floats) -> GaussianMixture:
        """The mixture."""
        return GaussianMixture(*self.parts(params))

    def start(self, x: Floats) -> Floats:
        """The fit to the bulk: rows within five median absolute deviations of the median."""
        center = np.median(x, axis=0)
        apart = np.abs(x - center)
        spread = np.median(apart, axis=0)
        inside = (apart <= 5.0 * 1.4826 * np.where(spread > 0.0, spread, np.inf)).all(axis=1)
        return self.fit(x[inside])

    def fit(self, x: Floats) -> Floats:
        """The best of several runs of the EM algorithm from random points of the data, with seeds of its own, and then
        ascent."""
        if len(x) < 2 * len(self.names):
            raise ValueError(
                f"`x` must have at least {2 * len(self.names)} rows to fit {self.label}, got {len(x)}. Use fewer "
                "components."
            )
        runs = [_em(x, self._first(x, np.random.default_rng([7, k]))) for k in range(_STARTS)]
        best = self.pack(max(runs, key=lambda run: run[0])[1])
        return self.pack(self.parts(maximum_likelihood(self, x, best)))

    def _first(self, x: Floats, rng: np.random.Generator) -> Parts:
        k, cov = self.components, np.atleast_2d(np.cov(x.T, bias=True))
        means = x[rng.choice(len(x), size=k, replace=False)]
        return np.full(k, 1.0 / k), means, np.repeat(cov[None] / k ** (2.0 / x.shape[1]), k, axis=0)

    def parameter_scores(self, params: Floats, x: Floats) -> Floats:
        """In closed form: responsibilities times the scores of the components."""
        weights, means, covs = self.parts(params)
        shares = np.exp(_log_shares(x, (weights, means, covs))[0])
        by_weight = shares[:, :-1] / weights[:-1] - shares[:, -1:] / weights[-1]
        moments = (moment_scores(x, mean, np.linalg.inv(cov)) for mean, cov in zip(means, covs, strict=True))
        return np.hstack([by_weight, *(shares[:, j : j + 1] * each for j, each in enumerate(moments))])

    def margins(self, params: Floats, x: Floats) -> Floats:
        """Of the columns: mixtures of normal distributions again."""
        parts = zip(*self.parts(params), strict=True)
        return np.asarray(sum(weight * ndtr((x - mean) / np.sqrt(np.diag(cov))) for weight, mean, cov in parts))

    def to_working(self, params: Floats) -> Floats:
        """Log odds against the last weight, means, and Cholesky factors with logarithms on their diagonals."""
        weights, means, covs = self.parts(params)
        moments = [np.concatenate([mean, log_cholesky(cov)]) for mean, cov in zip(means, covs, strict=True)]
        return np.concatenate([np.log(weights[:-1] / weights[-1]), *moments])

    def from_working(self, working: Floats) -> Floats:
        """The parameters at these coordinates."""
        k, d = self.components, self.dimension
        logs = np.append(working[: k - 1], 0.0)
        moments = [np.append(m[:d], packed(from_log_cholesky(m[d:], d))) for m in working[k - 1 :].reshape(k, -1)]
        return np.concatenate([np.exp(logs - logsumexp(logs))[:-1], *moments])

    def working_jacobian(self, params: Floats) -> Floats:
        """By central differences."""
        return difference_jacobian(self.from_working, self.to_working(params))


def _log_shares(x: Floats, parts: Parts) -> tuple[Floats, Floats]:
    """The logarithms of the responsibilities (n, k), and the log densities (n,)."""
    weights, means, covs = parts
    roots = np.linalg.cholesky(covs)
    z = np.einsum("kij,nkj->nki", np.linalg.inv(roots), x[:, None, :] - means)
    heights = np.log(weights) - np.log(np.diagonal(roots, axis1=1, axis2=2)).sum(axis=1)
    joint = heights - 0.5 * np.sum(z * z, axis=2) - 0.5 * x.shape[1] * np.log(2.0 * np.pi)
    total = logsumexp(joint, axis=1)
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


def _spread(offset: Floats, shares: Floats) -> Floats:
    """A weighted covariance, widened in directions where it has next to none of the variance of the data."""
    scale = np.sqrt(offset.var(axis=0))
    values, vectors = np.linalg.eigh((shares[:, None] * offset / scale).T @ (offset / scale))
    return np.asarray((vectors * np.maximum(values, _LEAST)) @ vectors.T * scale * scale[:, None])
