"""Where data lie and how they spread, whatever outliers do: for the weighted norm of a tilt (paper §5)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from steinball.arrays import Array, Floats, OutOfRangeError, as_samples, to_host

__all__ = ["Scatter", "median_and_scales", "robust_scatter"]

_NORMAL = 1.4826
"""The standard deviation of a normal variable over its median absolute deviation."""

_LEAST_SPREAD = 1e-150
_FLAT = 1e-6  # the share of the largest spread below which a direction counts as flat
_TOGETHER = 2**22  # sums and differences of columns that are held at once


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
    def precision(self) -> Floats:
        """The inverse of the covariance, for ``PolynomialTilt(center=..., precision=...)`` or a kernel's ``metric``."""
        inverse = np.linalg.inv(self.covariance)
        return np.asarray((inverse + inverse.T) / 2.0)


def robust_scatter(samples: Array) -> Scatter:
    r"""Center and covariance that outliers cannot move far (orthogonalized Gnanadesikan–Kettenring, OGK)

    .. math:: \operatorname{cov}(x_j, x_k) = \tfrac14 \left[ \sigma(x_j + x_k)^2 - \sigma(x_j - x_k)^2 \right]

    for columns of unit scale, σ the median absolute deviation as a standard deviation; then the medians and scales
    along the eigenvectors of that matrix (Maronna and Zamar 2002), which make it positive definite. Nearly half of the
    rows may lie anywhere. The sample covariance follows a single one.

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
    It is not affine equivariant. Directions without any spread get a millionth of the largest one, so that the inverse
    exists. Time d² n.

    Examples
    --------
    >>> from steinball.tilts import PolynomialTilt
    >>> rng = np.random.default_rng(0)
    >>> x = rng.multivariate_normal([0, 0], [[1.0, 0.9], [0.9, 1.0]], size=1000)
    >>> x[:100] = 1e6
    >>> found = robust_scatter(x)
    >>> bool(np.abs(found.covariance - [[1.0, 0.9], [0.9, 1.0]]).max() < 0.4)
    True
    >>> tilt = PolynomialTilt(center=found.center, precision=found.precision)
    """
    x = np.asarray(to_host(as_samples(samples)), dtype=np.float64)
    center, scales = median_and_scales(x)
    unit = (x - center) / scales
    _, vectors = np.linalg.eigh(_pairwise(unit))
    turned = unit @ vectors
    middle = np.median(turned, axis=0)
    widths = _deviations(turned - middle)
    widths = np.maximum(widths, _FLAT * widths.max()) if widths.any() else np.ones_like(widths)
    root = scales[:, None] * vectors * widths
    return Scatter(center + scales * (vectors @ middle), root @ root.T)


def _pairwise(unit: Floats) -> Floats:
    """Robust correlations of columns with unit scale."""
    d = unit.shape[1]
    found, step = np.eye(d), max(1, _TOGETHER // max(1, unit.size))
    for start in range(0, d, step):
        part = unit[:, start : start + step, None]
        plus, minus = (_deviations(part + sign * unit[:, None, :]) for sign in (1.0, -1.0))
        found[start : start + step] = (plus**2 - minus**2) / 4.0
    np.fill_diagonal(found, 1.0)
    return np.asarray((found + found.T) / 2.0)


def _deviations(columns: Floats) -> Floats:
    """Median absolute deviations from the median along the first axis, as standard deviations."""
    return np.asarray(_NORMAL * np.median(np.abs(columns - np.median(columns, axis=0)), axis=0))


def median_and_scales(x: Floats) -> tuple[Floats, Floats]:
    """Of every column of (n, d) its median and its median absolute deviation as a standard deviation, never zero.

    A constant column takes the scale of the others.
    """
    center = np.median(x, axis=0)
    scales = _NORMAL * np.array([_median_deviation(column) for column in np.abs(x - center).T])
    known = scales[scales > 0.0]
    scales = np.where(scales > 0.0, scales, np.median(known) if known.size else 1.0)
    if not ((scales > _LEAST_SPREAD) & (scales < 1.0 / _LEAST_SPREAD)).all():
        raise OutOfRangeError(
            f"the spread of `samples` is {scales.min():g} to {scales.max():g}, which is too small or too large to be "
            "squared. Rescale `samples`, and the model with them."
        )
    return center, scales


def _median_deviation(deviations: Floats) -> float:
    """Their median; where most are 0, that of the others: a root mean square would follow the outliers."""
    median = float(np.median(deviations))
    return median if median > 0.0 or not deviations.any() else float(np.median(deviations[deviations > 0.0]))
