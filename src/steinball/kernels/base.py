"""What a kernel is: one function of the squared distance, the algebra of such functions, the median heuristic."""

from __future__ import annotations

import dataclasses
import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
import scipy

from steinball.arrays import Array, Floats, as_number, as_numbers, as_samples, like, namespace, take_rows, to_host


def metric_root(metric: Floats) -> Floats:
    """A root L of the metric, C = L Lᵀ, so that r² = |Lᵀx − Lᵀy|²."""
    return np.asarray(np.linalg.cholesky(metric))


def direct_squared_distances(x: Array, y: Array) -> Array:
    """|xᵢ − yⱼ|² from the differences themselves: no cancellation, one pass over (n, m) per coordinate."""
    r2 = (x[:, None, 0] - y[None, :, 0]) ** 2  # (n, m)
    for k in range(1, x.shape[1]):
        r2 += (x[:, None, k] - y[None, :, k]) ** 2
    return r2


def squared_distances(x: Array, y: Array, metric: Floats | None = None) -> Array:
    """r² = (x − y)ᵀC(x − y) for every pair, shape (n, m)."""
    if metric is not None:
        root = like(metric_root(metric), x)
        xp = namespace(x)
        x, y = xp.matmul(x, root), xp.matmul(y, root)
    return direct_squared_distances(x, y)


Profile = tuple[Array, Array, Array]


class ByValue:
    """A frozen dataclass (``eq=False``) whose fields, arrays among them, say whether it equals another one."""

    @cached_property
    def _key(self) -> tuple[Any, ...]:
        fields = [getattr(self, f.name) for f in dataclasses.fields(self)]  # type: ignore[arg-type]
        return (type(self), *[f.tobytes() if isinstance(f, np.ndarray) else f for f in fields])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ByValue) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)


class Kernel(ByValue, ABC):
    r"""A radial kernel

    .. math:: h(x, y) = \varphi(r^2), \qquad r^2 = (x - y)^\top C (x - y).

    A subclass is a frozen dataclass (``eq=False``) that gives :meth:`profile`; the metric :math:`C` is ``metric``
    (``None`` is the identity). Kernels of one metric add and multiply, and are scaled by positive numbers.

    Examples
    --------
    >>> import numpy as np, steinball as sb
    >>> kernel = sb.kernels.Gaussian(1.0) + 0.5 * sb.InverseMultiquadric(2.0)
    >>> isinstance(kernel, sb.kernels.Kernel), kernel(np.zeros((1, 2)), np.zeros((1, 2)))
    (True, array([[1.5]]))
    """

    metric: Floats | None

    @abstractmethod
    def profile(self, r2: Array) -> Profile:
        r"""Values of :math:`\varphi`, :math:`\varphi'` and :math:`r^2 \varphi''`, derivatives with respect to r².

        The last is a product so that it is finite at 0 even where :math:`\varphi''` is not (Matérn-3/2).

        Parameters
        ----------
        r2 : array
            Squared distances, any shape.
        """

    def combine(self, r2: Array, inner: Array, cross: Array, stretch: Array | None = None) -> Array:
        r"""The untilted Stein kernel of pairs from their geometry

        .. math:: \varphi \cdot \text{inner} + \varphi' \cdot \text{cross} - 4 r^2 \varphi'' \cdot \text{stretch},

        with inner = s(x)ᵀs(y), cross = 2(x − y)ᵀC(s(y) − s(x)) − 2 tr C and stretch = |C(x − y)|²/r² (1 without
        a metric). The arguments may be overwritten. A kernel may override this to save passes over a block.
        """
        value, slope, curvature = self.profile(r2)
        curvature = curvature * 4.0 if stretch is None else curvature * (4.0 * stretch)
        cross *= slope
        cross -= curvature
        inner *= value
        inner += cross
        return inner

    def __call__(self, x: Array, y: Array) -> Array:
        """The Gram matrix :math:`h(x_i, y_j)`, shape (n, m), for samples (n, d) and (m, d)."""
        return self.profile(squared_distances(x, y, self.metric))[0]

    def __add__(self, other: Any) -> Kernel:
        return Sum(self, other) if isinstance(other, Kernel) else NotImplemented

    def __mul__(self, other: Any) -> Kernel:
        if isinstance(other, Kernel):
            return Product(self, other)
        return Scaled(self, float(other)) if isinstance(other, (int, float, np.floating)) else NotImplemented

    __rmul__ = __mul__


def as_metric(metric: Any, name: str = "metric") -> Floats | None:
    """A symmetric positive definite matrix, read-only, or ``None``."""
    if metric is None:
        return None
    matrix = as_numbers(metric, name)
    matrix = np.diag(matrix) if matrix.ndim == 1 else matrix
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or not matrix.size or not np.isfinite(matrix).all():
        raise ValueError(f"`{name}` must be a finite (d, d) matrix or (d,) diagonal, got shape {matrix.shape}.")
    size = np.sqrt(np.abs(np.diag(matrix)))
    if not (np.abs(matrix - matrix.T) <= 1e-10 * size[:, None] * size).all():  # an inverse is symmetric up to rounding
        raise ValueError(f"`{name}` must be symmetric; it is the precision C of (x − y)ᵀC(x − y).")
    matrix = (matrix + matrix.T) / 2.0
    if np.linalg.eigvalsh(matrix)[0] <= 0.0:
        raise ValueError(f"`{name}` must be positive definite, but its smallest eigenvalue is not above 0.")
    matrix.flags.writeable = False
    return matrix


@dataclass(frozen=True, eq=False)
class _OfTwo(Kernel):
    """Two kernels of one metric."""

    first: Kernel
    second: Kernel

    def __post_init__(self) -> None:
        if not np.array_equal(np.asarray(self.first.metric), np.asarray(self.second.metric)):
            raise ValueError("kernels are combined only with equal `metric`s: the Stein kernel has one r².")

    @property
    def metric(self) -> Floats | None:  # type: ignore[override]
        return self.first.metric


@dataclass(frozen=True, eq=False)
class Sum(_OfTwo):
    """The sum of two kernels; its profile is the sum of theirs.

    Examples
    --------
    >>> from steinball.kernels import Gaussian
    >>> (Gaussian(1.0) + Gaussian(2.0)).profile(0.0 * np.ones(1))[0]
    array([2.])
    """

    def profile(self, r2: Array) -> Profile:
        f, f1, f2 = self.first.profile(r2)
        g, g1, g2 = self.second.profile(r2)
        return f + g, f1 + g1, f2 + g2


@dataclass(frozen=True, eq=False)
class Product(_OfTwo):
    """The product of two kernels; its profile follows from Leibniz' rule.

    Examples
    --------
    >>> from steinball.kernels import Gaussian
    >>> (Gaussian(1.0) * Gaussian(1.0)).profile(np.zeros(1))[1]
    array([-1.])
    """

    def profile(self, r2: Array) -> Profile:
        f, f1, f2 = self.first.profile(r2)
        g, g1, g2 = self.second.profile(r2)
        return f * g, f1 * g + f * g1, f2 * g + 2.0 * r2 * f1 * g1 + f * g2


@dataclass(frozen=True, eq=False)
class Scaled(Kernel):
    """A kernel times a positive number.

    Examples
    --------
    >>> from steinball.kernels import Gaussian
    >>> (3.0 * Gaussian(1.0)).profile(np.zeros(1))[0]
    array([3.])
    """

    kernel: Kernel
    factor: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "factor", as_number(self.factor, "factor", low=0.0, open_low=True))

    @property
    def metric(self) -> Floats | None:  # type: ignore[override]
        return self.kernel.metric

    def profile(self, r2: Array) -> Profile:
        f, f1, f2 = self.kernel.profile(r2)
        return self.factor * f, self.factor * f1, self.factor * f2


def unit_kernel(kernel: Kernel) -> tuple[Kernel, float]:
    """The kernel at length scale 1, and its length scale; sums and products, which have several, stay as they are."""
    lengthscale = getattr(kernel, "lengthscale", None)
    if lengthscale is None:
        return kernel, 1.0
    return dataclasses.replace(kernel, lengthscale=1.0), float(lengthscale)  # type: ignore[type-var]


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
    median = _median_on_a_line(x[:, 0]) if x.shape[1] == 1 and len(x) >= _MANY else None
    if median is None:
        median = _exact_median(scipy.spatial.distance.pdist(x, "sqeuclidean"))
    if not np.isfinite(median):
        raise ValueError("the median distance overflows; rescale `samples` or pass a kernel with its `lengthscale`.")
    if median <= 0.0:
        share = float(np.mean(scipy.spatial.distance.pdist(x, "sqeuclidean") == 0.0))
        raise ValueError(
            f"the median distance is 0: {share:.0%} of all pairs of `samples` coincide, so the default length scale is "
            "undefined. Pass a kernel, e.g. `kernel=InverseMultiquadric(lengthscale=1.0)`."
        )
    return float(np.sqrt(median))


_MANY, _POINTS, _AROUND = 256, 64, 0.03  # rows; of the search on a line its points, and what they leave to be ordered


@np.errstate(over="ignore")
def _median_on_a_line(values: Floats) -> float | None:
    """The median squared distance of numbers (n,), by ordering those pairs alone whose distance lies between two
    quantiles of the distances of some points; ``None`` where these do not bracket it."""
    x, n = np.sort(values), len(values)
    few = x[np.linspace(0, n - 1, _POINTS).astype(np.intp)]
    apart = np.sort((few[None, :] - few[:, None])[np.triu_indices(_POINTS, 1)])
    low, high = (float(apart[int(share * apart.size)]) for share in (0.5 - _AROUND, 0.5 + _AROUND))
    left, pairs = np.arange(n), n * (n - 1) // 2
    first = np.maximum(np.searchsorted(x, x + low), left + 1)  # of each number the partners that are far enough
    last = np.maximum(np.searchsorted(x, x + high, side="right"), first)
    counts, below = last - first, int(np.sum(first - left - 1))
    ranks = (pairs - 1) // 2 - below, pairs // 2 - below
    if ranks[0] < 0 or ranks[1] >= counts.sum():
        return None
    right = np.arange(counts.sum()) + np.repeat(first - np.cumsum(counts) + counts, counts)
    middle = np.partition(x[right] - np.repeat(x, counts), ranks)[list(ranks)]
    bracketed = low <= middle[0] and middle[1] <= high  # x + low is rounded, so that the nearest of all may be taken in
    return float(np.square(middle).mean()) if bracketed else None


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
