"""The paper's data that are not quite the model's: heavy-tailed, shifted, mixed otherwise, split in halves (§5)."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from steinball.arrays import as_number, as_samples, check_resamples, check_share, to_host
from steinball.datasets.data import whole_part
from steinball.models.gaussian import Gaussian
from steinball.models.mixture import GaussianMixture
from steinball.models.student_t import StudentT

__all__ = ["MixturePair", "mean_shift", "mixture_pair", "scaled_student_t", "split_with_outliers", "standardized_t"]

_MIXTURE_SEED = 4321


def scaled_student_t(n: int, df: float, rng: Any = None) -> NDArray[np.float64]:
    r"""Draws from the t distribution of unit variance, :math:`Q_\nu = t_\nu \sqrt{(\nu - 2)/\nu}` (paper §5.1); (n, 1).

    Examples
    --------
    >>> scaled_student_t(3, df=5.0, rng=0).shape
    (3, 1)
    """
    return standardized_t(df).sample(check_resamples(n, "n"), rng)


def standardized_t(df: float) -> StudentT:
    r"""The t distribution of mean 0 and unit variance, :math:`t_\nu \sqrt{(\nu - 2)/\nu}`, ν > 2.

    Examples
    --------
    >>> standardized_t(4.0).scale ** 2
    0.5000000000000001
    """
    return StudentT(as_number(df, "df", low=2.0, open_low=True), scale=math.sqrt((df - 2.0) / df))


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
        m = whole_part(len(part) * share / (1.0 - share))
        return np.concatenate([part, generator.normal(z, sigma, size=(m, part.shape[1]))])

    return with_outliers(shuffled[:half]), with_outliers(shuffled[half:])
