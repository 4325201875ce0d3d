"""What leaving a single point out would do to a test."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
import scipy
from numpy.typing import NDArray

from steinball.arrays import Floats
from steinball.evidence.base import PairSums


@dataclass(frozen=True, eq=False)
class Influence:
    """What leaving out each single point does to the statistic and to the decision.

    Attributes
    ----------
    ksd : (n,) array
        D of the sample without that point.
    change : (n,) array
        By how much that differs from D; negative where the point speaks against the model.
    flips : array of int
        The points without which the decision would be the other one, the largest change first. Radius and threshold are
        held as they are: those of n − 1 points differ by a share of about 1/(2n).

    Examples
    --------
    >>> Influence(np.array([0.1, 0.2]), np.array([-0.05, 0.05]), np.array([0])).flips.tolist()
    [0]
    """

    ksd: Floats = field(repr=False)
    change: Floats = field(repr=False)
    flips: NDArray[np.intp]


def leave_one_out(sums: PairSums) -> Influence:
    r"""D without each point, exactly, from the sums over pairs

    .. math:: (n-1)^2 D_{-i}^2 = n^2 D^2 - 2 \sum_j u(x_i, x_j) + u(x_i, x_i).

    Examples
    --------
    >>> import steinball as sb
    >>> x = np.random.default_rng(0).normal(size=50)
    >>> result = sb.ksd_test(x, sb.models.Gaussian(), kernel=sb.InverseMultiquadric(1.0), rng=0)
    >>> without = sb.ksd_test(x[1:], sb.models.Gaussian(), kernel=sb.InverseMultiquadric(1.0), rng=0)
    >>> bool(np.isclose(leave_one_out(result._sums()[0]).ksd[0], without.ksd))
    True
    """
    n, rows, diagonal = len(sums), len(sums) * sums.row_means, sums.diagonal
    rest = rows.sum() - 2.0 * rows + diagonal
    if sums.estimator == "v":
        squares = rest / (n - 1) ** 2
    else:
        squares = (rest - (diagonal.sum() - diagonal)) / max(1, (n - 1) * (n - 2))
    ksd, whole = np.sqrt(np.maximum(0.0, squares)), sums.ksd
    turned = np.zeros(n, dtype=bool) if math.isnan(sums.critical) else (ksd > sums.critical) != (whole > sums.critical)
    change = ksd - whole
    flips = np.flatnonzero(turned)
    return Influence(ksd, change, flips[np.argsort(-np.abs(change[flips]), kind="stable")])


_REFERENCES = 1_000
_CANDIDATES = 1_000
_NEAR = np.sqrt(3.0)  # in median distances: where the default kernel has fallen to one half
_FEW = 0.01


def far_points(samples: Floats) -> NDArray[np.intp]:
    """The points with hardly another one near them, the farthest from the middle first.

    Each coordinate is measured in units of its own spread. A point is far if at most 1 % of the points, itself left
    out, lie within √3 median distances of it, and it lies further out than half of them.

    Examples
    --------
    >>> x = np.random.default_rng(0).normal(size=(200, 1))
    >>> x[7] = 30.0
    >>> far_points(x)
    array([7])
    """
    z = _standardized(samples)
    out = np.sqrt(np.square(z).sum(axis=1))
    candidates = np.argsort(-out, kind="stable")[:_CANDIDATES]
    candidates = candidates[out[candidates] > np.median(out)]
    references = np.unique(np.linspace(0, len(z) - 1, _REFERENCES).astype(np.intp))
    reach = (_NEAR * (float(np.median(scipy.spatial.distance.pdist(z[references]))) or 1.0)) ** 2
    return np.array([i for i in candidates if _is_alone(z, i, references, reach)], dtype=np.intp)


def _standardized(samples: Floats) -> Floats:
    """Coordinates from their median, in units of their median absolute deviation where that is not 0."""
    z = samples - np.median(samples, axis=0)
    spread = np.median(np.abs(z), axis=0)
    spread = np.where(spread > 0.0, spread, np.abs(z).mean(axis=0))
    return np.asarray(z / np.where(spread > 0.0, spread, 1.0))


def _is_alone(z: Floats, i: int, references: NDArray[np.intp], reach: float) -> bool:
    near = np.square(z[references] - z[i]).sum(axis=1) <= reach
    return int(np.sum(near & (references != i))) <= _FEW * len(references)
