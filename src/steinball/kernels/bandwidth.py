"""The median heuristic for the length scale."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
import scipy

from steinball.arrays import Array, Floats, as_samples, take_rows, to_host
from steinball.kernels.base import as_metric, metric_root

EXACT_UP_TO = 2000
"""Number of points up to which all pairs are used; beyond it, all pairs of a subsample of this size."""


def median_distance(samples: Array, metric: Floats | None = None) -> float:
    r"""The median heuristic :math:`\lambda_{\mathrm{med}}` (paper §5): the median distance between pairs of points,

    .. math:: \lambda_{\mathrm{med}}^2 = \mathrm{Median}\{ r^2(x_i, x_j) : i < j \}.

    The median is taken of the squared distances; with an even number of pairs, the root of the mean of the middle two
    squares differs a little from the mean of the two middle distances. Past 2,000 points the median is that of a random
    subsample of 2,000 with a fixed seed (error 1–2 %), so that the length scale depends on the data alone and not on
    the `rng` of a test.

    Parameters
    ----------
    samples : array
        Shape (n, d), of any array library.
    metric : (d, d) array, optional
        The metric of the kernel it is meant for.

    Returns
    -------
    float
        The length scale, positive.

    Examples
    --------
    >>> median_distance(np.array([[0.0], [1.0], [3.0]]))
    2.0
    """
    x, metric = as_samples(samples), as_metric(metric)
    if metric is not None and len(metric) != x.shape[1]:
        raise ValueError(f"`metric` is {metric.shape}, but `samples` has {x.shape[1]} columns.")
    return median_of_checked(x, metric)


@lru_cache
def standard_distance(dimension: int) -> float:
    """The median distance between two points of N(0, I) in so many dimensions.

    Examples
    --------
    >>> round(standard_distance(1), 4), round(standard_distance(50), 2)
    (0.9539, 9.93)
    """
    return math.sqrt(2.0 * float(scipy.special.chdtri(dimension, 0.5)))


def median_of_checked(samples: Array, metric: Floats | None = None) -> float:
    """:func:`median_distance` of samples that were checked."""
    if samples.shape[0] > EXACT_UP_TO:
        rows = np.random.default_rng(0).choice(samples.shape[0], EXACT_UP_TO, replace=False)
        samples = take_rows(samples, rows)
    x = to_host(samples)
    if metric is not None:
        x = (x - np.median(x, axis=0)) @ metric_root(np.asarray(metric, dtype=np.float64))
    squared = scipy.spatial.distance.pdist(x, "sqeuclidean")
    median = _exact_median(squared)
    if not np.isfinite(median):
        raise ValueError("the median distance overflows; rescale `samples` or pass a kernel with its `lengthscale`.")
    if median <= 0.0:
        share = float(np.mean(squared == 0.0))
        raise ValueError(
            f"the median distance is 0: {share:.0%} of all pairs of `samples` coincide, so the default length scale is "
            "undefined. Pass a kernel, e.g. `kernel=InverseMultiquadric(lengthscale=1.0)`."
        )
    return float(np.sqrt(median))


def _exact_median(values: Floats) -> float:
    """The median, sorting only what lies between two quantiles of a sample that bracket it: a third of the time."""
    sample = np.sort(values[:: max(1, values.size // 2048)])
    margin = int(2.0 * np.sqrt(sample.size)) + 1
    if values.size < 8192 or not np.isfinite(sample[-1]):
        return float(np.median(values))
    low, high = sample[sample.size // 2 - margin], sample[sample.size // 2 + margin]
    below, between = int(np.count_nonzero(values < low)), values[(values >= low) & (values <= high)]
    ranks = (values.size - 1) // 2 - below, values.size // 2 - below
    if ranks[0] < 0 or ranks[1] >= between.size:
        return float(np.median(values))
    return float(np.partition(between, ranks)[list(ranks)].mean())
