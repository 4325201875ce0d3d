"""Data that are not quite the model's: contaminated, heavy-tailed, shifted, mixed otherwise (paper §2.3 and §5)."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from steinball.arrays import (
    Array,
    as_number,
    as_samples,
    check_resamples,
    check_share,
    is_array_like,
    like,
    to_host,
)
from steinball.models.gaussian import Gaussian
from steinball.models.knowledge import Knowledge
from steinball.models.mixture import GaussianMixture
from steinball.models.student_t import StudentT

__all__ = [
    "MixturePair",
    "contaminate",
    "mean_shift",
    "mixture_pair",
    "scaled_student_t",
    "split_with_outliers",
]

_MIXTURE_SEED = 4321


def contaminate(x: Any, share: float, contamination: Any, rng: Any = None, *, count: str = "exact") -> Array:
    r"""A sample with a share of its rows replaced (Huber's model, paper §2.3)

    .. math:: Q = (1 - \varepsilon) P + \varepsilon R.

    Parameters
    ----------
    x : array
        A sample of P, shape (n, d), or (n,) for d = 1. It is not changed.
    share : float
        ε in [0, 1].
    contamination : number, array, callable or model
        R: a point (a number, or a vector of d numbers); rows to draw from with replacement, shape (k, d), where d = 1
        also (k,); a function ``(m, rng) -> (m, d)``; or a model with ``sample(m, rng)``.
    rng : None, int, SeedSequence or Generator
        Source of randomness.
    count : {"exact", "binomial"}
        Replace exactly ⌊nε⌋ rows, as in the paper's experiments, or each row with probability ε, as the model says.

    Returns
    -------
    (n, d) array
        Of the library and dtype of ``x``. Which rows are replaced is random.

    Examples
    --------
    >>> x = contaminate(np.zeros(100), 0.05, 10.0, rng=0)
    >>> x.shape, int(np.sum(x == 10.0))
    ((100, 1), 5)
    """
    samples, share = as_samples(x, "x", least=1), check_share(share, "share")
    clean, generator = to_host(samples).copy(), np.random.default_rng(rng)
    n, d = clean.shape
    m = _number_of_outliers(n, share, count, generator)
    drawn = _draw(contamination, m, d, generator)
    clean[generator.choice(n, size=m, replace=False)] = drawn
    return like(clean, samples)


def scaled_student_t(n: int, df: float, rng: Any = None) -> NDArray[np.float64]:
    r"""Draws from the t distribution of unit variance, :math:`Q_\nu = t_\nu \sqrt{(\nu - 2)/\nu}` (paper §5.1); (n, 1).

    Examples
    --------
    >>> scaled_student_t(3, df=5.0, rng=0).shape
    (3, 1)
    """
    return StudentT.standardized(df).sample(check_resamples(n, "n"), rng)


def mean_shift(n: int, dimension: int, shift: float, rng: Any = None) -> NDArray[np.float64]:
    r"""Draws from :math:`\mathcal N(\mu e_1, I_d)`, shifted in the first coordinate (paper App. B); (n, d).

    Examples
    --------
    >>> mean_shift(3, dimension=2, shift=0.5, rng=0).shape
    (3, 2)
    """
    mean = np.zeros(check_resamples(dimension, "dimension"))
    mean[0] = as_number(shift, "shift")
    return Gaussian(mean, 1.0).sample(check_resamples(n, "n"), rng)


class MixturePair(NamedTuple):
    """A model, and the distribution of data that differ from it by the weights of the components alone.

    Examples
    --------
    >>> model, data = mixture_pair(1.0)
    >>> bool(np.all(model.means == data.means))
    True
    """

    model: GaussianMixture
    data: GaussianMixture


def mixture_pair(separation: float) -> MixturePair:
    r"""The paper's mixture of five Gaussians in the plane and its data with other weights (paper §5.4)

    .. math:: P = \sum_j \pi_j \mathcal N(\gamma \mu_j, I_2), \qquad Q = \sum_j \pi'_j \mathcal N(\gamma \mu_j, I_2).

    The means, uniform on [−2, 2]², and both sets of weights, uniform and normalized, are those of the published curves:
    drawn once, in this order, from NumPy's legacy generator with seed 4321.

    Parameters
    ----------
    separation : float
        γ > 0, the scale of the means.

    Examples
    --------
    >>> pair = mixture_pair(3.0)
    >>> pair.model.weights.round(3), pair.data.sample(4, rng=0).shape
    (array([0.234, 0.174, 0.083, 0.251, 0.257]), (4, 2))
    """
    gamma = as_number(separation, "separation", low=0.0, open_low=True)
    stream = np.random.RandomState(_MIXTURE_SEED)
    means = stream.uniform(-2.0, 2.0, size=(5, 2))
    ratios, other_ratios = stream.uniform(size=5), stream.uniform(size=5)
    return MixturePair(*(GaussianMixture(r / r.sum(), gamma * means) for r in (ratios, other_ratios)))


def split_with_outliers(
    x: Any, share: float, outlier: float, rng: Any = None, *, noise: float = 0.1
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    r"""Two random halves of a sample, outliers added to each: one to fit, one to test (paper §5.3).

    To each half of size h are added ⌊hε/(1 − ε)⌋ draws of :math:`\mathcal N(z, \sigma^2)` in every coordinate, so that
    a share of about ε of the result is contaminated.

    Parameters
    ----------
    x : array
        The sample, shape (n, d) or (n,); in the paper the 82 galaxies, 41 in each half. The first half has ⌊n/2⌋ rows.
    share : float
        ε in [0, 1).
    outlier, noise : float
        z and σ ≥ 0.
    rng : None, int, SeedSequence or Generator
        Source of randomness.

    Returns
    -------
    fit, test : arrays
        The outliers are the last rows of each.

    Examples
    --------
    >>> from steinball.datasets import load_galaxies
    >>> [len(half) for half in split_with_outliers(load_galaxies(), 0.2, 10.0, rng=0)]
    [51, 51]
    """
    samples, share = to_host(as_samples(x, "x")), check_share(share, "share")
    if share == 1.0:
        raise ValueError("`share` must be below 1: the data are kept, and outliers are added to them.")
    z, sigma = as_number(outlier, "outlier"), as_number(noise, "noise", low=0.0)
    generator = np.random.default_rng(rng)
    shuffled, half = generator.permutation(samples), len(samples) // 2

    def with_outliers(part: NDArray[np.float64]) -> NDArray[np.float64]:
        m = _floor(len(part) * share / (1.0 - share))
        return np.concatenate([part, generator.normal(z, sigma, size=(m, part.shape[1]))])

    return with_outliers(shuffled[:half]), with_outliers(shuffled[half:])


def _floor(value: float) -> int:
    """The whole part; a product such as 100 · 0.29 = 28.999999999999996 means 29."""
    return math.floor(value + 1e-9)


def _number_of_outliers(n: int, share: float, count: str, generator: np.random.Generator) -> int:
    if count not in ("exact", "binomial"):
        raise ValueError(f'`count` must be "exact" or "binomial", got {count!r}.')
    return _floor(n * share) if count == "exact" else int(generator.binomial(n, share))


def _draw(contamination: Any, m: int, d: int, generator: np.random.Generator) -> NDArray[np.float64]:
    """m rows of R, shape (m, d)."""
    if not is_array_like(contamination) and not isinstance(contamination, type):
        sampler = Knowledge(contamination).sampler or contamination
        if callable(sampler):
            return _checked_rows(sampler(m, generator), m, d)
    rows = _rows(contamination, d)
    return rows[generator.integers(0, len(rows), size=m)] if len(rows) > 1 else np.repeat(rows, m, axis=0)


def _checked_rows(drawn: Any, m: int, d: int) -> NDArray[np.float64]:
    rows = to_host(drawn)
    rows = rows[:, None] if rows.ndim == 1 and d == 1 else rows
    if rows.shape != (m, d):
        raise ValueError(f"`contamination` must return {m} rows of {d} numbers, got shape {rows.shape}.")
    if not np.isfinite(rows).all():
        raise ValueError("`contamination` must return finite numbers.")
    return rows


def _rows(contamination: Any, d: int) -> NDArray[np.float64]:
    """A point as one row, or the rows to draw from."""
    if isinstance(contamination, (str, bytes, bool, type)) or contamination is None:
        raise TypeError(
            "`contamination` must be a point, rows to draw from, a function (m, rng) -> (m, d) or a model with "
            f"`sample(m, rng)`, got {contamination!r}."
        )
    values = to_host(contamination)
    rows = np.full((1, d), values) if values.ndim == 0 else values
    if rows.ndim == 1:
        rows = rows[:, None] if d == 1 else rows[None, :]
    if rows.ndim != 2 or rows.shape[1] != d or len(rows) == 0:
        raise ValueError(f"`contamination` must be a point of {d} numbers or have shape (k, {d}), got {values.shape}.")
    if not np.isfinite(rows).all():
        raise ValueError("`contamination` must be finite.")
    return rows
