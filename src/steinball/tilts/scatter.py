"""Where data lie and how they spread, whatever outliers do: for the weighted norm of a tilt (paper §5)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from steinball.arrays import Array, Floats, OutOfRangeError, as_samples, to_host

_NORMAL = 1.4826
"""The standard deviation of a normal variable over its median absolute deviation."""

_LEAST_SPREAD = 1e-150
_FLAT = 1e-6  # the share of the largest spread below which a direction counts as flat


class Scatter(NamedTuple):
    """A place (d,), and a positive definite matrix (d, d) on the scale of a covariance.

    Examples
    --------
    >>> Scatter(np.zeros(2), np.diag([4.0, 1.0])).precision
    array([[0.25, 0.  ],
           [0.  , 1.  ]])
    """

    center: Floats
    covariance: Floats

    @property
    def scales(self) -> Floats:
        """The roots of the diagonal of the covariance, (d,), also where that is all there is of it."""
        return np.sqrt(np.diag(self.covariance) if self.covariance.ndim == 2 else self.covariance)

    @property
    def precision(self) -> Floats:
        """The inverse of the covariance, for ``PolynomialTilt(center=..., precision=...)`` or a kernel's ``metric``."""
        inverse = np.linalg.inv(self.covariance)
        return np.asarray((inverse + inverse.T) / 2.0)


def robust_scatter(samples: Array) -> Scatter:
    r"""Center and covariance that outliers cannot move far: orthogonalized quadrant correlations

    .. math:: r_{jk} = \sin\left( \frac{\pi}{2} \operatorname{mean}_i \operatorname{sign}(x_{ij})
       \operatorname{sign}(x_{ik}) \right)

    of the columns about their medians, in units of their median absolute deviations; then the medians and median
    absolute deviations along the eigenvectors of that matrix, which make it positive definite (the OGK method of
    Maronna and Zamar 2002 with the quadrant correlation). This is done twice: the second time in the coordinates that
    the first has found, where correlations are small and well estimated. Nearly half of the rows may lie anywhere; the
    sample covariance follows a single one.

    Parameters
    ----------
    samples : array
        Shape (n, d), of any array library, n ≥ 2. It need not exceed d.

    Returns
    -------
    Scatter
        ``center`` (d,), ``covariance`` (d, d) and its inverse ``precision``.

    Notes
    -----
    Consistent for normal rows; not affine equivariant. Directions without any spread get a millionth of the largest
    one, so that the inverse exists. Time n d².

    Examples
    --------
    >>> from steinball.tilts import PolynomialTilt
    >>> rng = np.random.default_rng(0)
    >>> x = rng.standard_normal((1000, 2)) @ [[1.0, 0.8], [0.0, 0.6]]
    >>> x[:50] = 1e6
    >>> found = robust_scatter(x)
    >>> bool(np.abs(found.covariance - [[1.0, 0.8], [0.8, 1.0]]).max() < 0.4)
    True
    >>> tilt = PolynomialTilt(center=found.center, precision=found.precision)
    """
    return robust_scatter_of(np.asarray(to_host(as_samples(samples)), dtype=np.float64))


def robust_scatter_of(x: Floats) -> Scatter:
    """:func:`robust_scatter` of rows that were checked, (n, d) on the host."""
    center, scales = median_and_scales(x)
    root, z = np.diag(scales), (x - center) / scales  # x = center + root z
    for least in (_FLAT, 1.0):  # a direction that was flat in the first round got its width there
        vectors = np.linalg.eigh(_quadrant_correlations(z))[1]
        turned = z @ vectors
        middle = median_of_rows(turned)
        widths = _widths(turned - middle, least)
        center = center + root @ (vectors @ middle)
        root, z = root @ (vectors * widths), (turned - middle) / widths
    return Scatter(center, root @ root.T)


def _quadrant_correlations(z: Floats) -> Floats:
    """Of columns with median 0; rows in which one of two columns is 0 do not count for the two."""
    signs = np.sign(z)
    counted = np.abs(signs).T @ np.abs(signs)
    found = np.sin(np.pi / 2.0 * (signs.T @ signs) / np.maximum(counted, 1.0))
    np.fill_diagonal(found, 1.0)
    return np.asarray(found)


def _widths(offsets: Floats, least: float) -> Floats:
    """Median absolute deviations as standard deviations; flat directions have this share of the largest."""
    found = _NORMAL * median_of_rows(np.abs(offsets))
    widest = found.max()
    return np.where(found > _FLAT * widest, found, least * widest) if widest > 0.0 else np.ones_like(found)


def median_of_rows(x: Floats) -> Floats:
    """The median along the first axis of finite numbers, without the questions that NumPy's asks of a few."""
    low, high = (len(x) - 1) // 2, len(x) // 2
    ordered = np.partition(x, (low, high), axis=0)
    return np.asarray((ordered[low] + ordered[high]) / 2.0)


def median_and_scales(x: Floats, *, squared: bool = True) -> tuple[Floats, Floats]:
    """Of every column of (n, d) its median and its median absolute deviation as a standard deviation, never zero.

    The rule for all columns: where most deviations are 0 the median is that of the others, since a root mean square
    would follow the outliers; a constant column takes the scale of the other columns, or 1. Three places have another
    rule: rounded rows (``checks/rows.py``) must know columns of deviation 0, models by their draws
    (``regions/source.py``) refuse constant columns, and :func:`robust_scatter` has columns that are rotated ones.
    ``squared`` says that the scales are going to be squared: then those whose squares are no floats are refused.
    """
    center = median_of_rows(x)
    apart = np.abs(x - center)
    middle = median_of_rows(apart)
    for j in np.flatnonzero((middle == 0.0) & apart.any(axis=0)):
        middle[j] = np.median(apart[apart[:, j] > 0.0, j])
    scales = _NORMAL * middle
    if not scales.all():
        known = scales[scales > 0.0]
        scales = np.where(scales > 0.0, scales, np.median(known) if known.size else 1.0)
    if squared and not ((scales > _LEAST_SPREAD) & (scales < 1.0 / _LEAST_SPREAD)).all():
        raise OutOfRangeError(
            f"the spread of `samples` is {scales.min():g} to {scales.max():g}, which is too small or too large to be "
            "squared. Rescale `samples`, and the model with them."
        )
    return center, scales
