"""What single points and coordinates do to D: points left out, far away or improbable, and shares of coordinates."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from steinball.arrays import Array, Floats, as_samples, chunks, like, to_host
from steinball.evidence.base import PairSums
from steinball.kernels.base import direct_squared_distances
from steinball.models.base import evaluate_score, score_of
from steinball.problem import Problem
from steinball.stein import SteinPoints, center_of
from steinball.tilts.scatter import median_and_scales


def as_places(problem: Problem, given: Any, name: str) -> Floats:
    """Places of the user's coordinates, (m, d); ``name`` says which argument they are."""
    places = to_host(as_samples(given, name, least=1))
    if places.shape[1] != problem.samples.shape[1]:
        raise ValueError(f"`{name}` must have {problem.samples.shape[1]} columns, got shape {places.shape}.")
    return places


def points_at(problem: Problem, there: Array) -> SteinPoints:
    """Other samples of the test, made ready for blocks with its own: from the same center."""
    return problem.stein.prepare(there, evaluate_score(problem.model, there), center_of(problem.samples))


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
    center, scales = median_and_scales(samples, squared=False)
    z = (samples - center) / scales
    out = np.sqrt(np.square(z).sum(axis=1))
    candidates = np.argsort(-out, kind="stable")[:_CANDIDATES]
    candidates = candidates[out[candidates] > np.median(out)]
    references = np.unique(np.linspace(0, len(z) - 1, _REFERENCES).astype(np.intp))
    reach = (_NEAR * (float(np.median(scipy.spatial.distance.pdist(z[references]))) or 1.0)) ** 2
    near = scipy.spatial.distance.cdist(z[candidates], z[references], "sqeuclidean") <= reach
    others = near.sum(axis=1) - np.isin(candidates, references)  # a point is near itself
    return np.asarray(candidates[others <= _FEW * len(references)])


MOST_POINTS = 4_000
"""Beyond so many points an even selection of them answers for all."""

_ENTRIES_AT_ONCE = 2**21


def coordinate_shares(problem: Problem) -> Floats:
    r"""The share of every coordinate in D², shape (d,)

    .. math:: D^2 = \sum_j D_j^2, \qquad D_j^2 = \frac1{n^2} \sum_{x, y} w(x) w(y) \Big[ \varphi s_j(x) s_j(y)
       + 2 \varphi' (x - y)_j (s_j(y) - s_j(x)) - 2 \varphi' - 4 \varphi'' (x - y)_j^2 \Big],

    with the shifted score s. Each of the d parts is a kernel Stein discrepancy of its own, that of the Stein functions
    along one coordinate, and so none is negative: the shares lie in [0, 1] and sum to 1.

    Examples
    --------
    >>> from steinball.problem import pose
    >>> from steinball.models import Gaussian
    >>> x = np.random.default_rng(0).normal(size=(300, 3))
    >>> x[:, 1] += 1.0
    >>> coordinate_shares(pose(x, Gaussian([0.0, 0.0, 0.0]))).round(2)
    array([0.01, 0.98, 0.  ])
    """
    n = len(problem)
    rows = np.unique(np.linspace(0, n - 1, MOST_POINTS).astype(np.intp))
    part = problem if n <= MOST_POINTS else problem.take(rows)
    squares = np.maximum(0.0, _coordinate_squares(part, to_host(center_of(problem.samples))))
    total = squares.sum()
    return squares / total if total > 0.0 else np.full(squares.size, 1.0 / squares.size)


def _coordinate_squares(problem: Problem, center: Floats) -> Floats:
    """n² D_j² for every j, with coordinates from ``center``, a few rows of pairs at a time."""
    points, kernel = problem.points, problem.stein.kernel
    s, z = to_host(points.s), to_host(points.z) - (center if points.a is None else 0.0)
    (n, d), a = s.shape, z if points.a is None else to_host(points.a)
    e = np.ones_like(s) if points.each is None else to_host(points.each)
    weight = np.ones(n) if points.weight is None else to_host(points.weight)
    traces = np.ones(d) if kernel.metric is None else np.diag(kernel.metric)
    ae, a2e, as_ = a * e, a * a * e, a * s
    total = np.zeros(d)
    for rows in chunks(n, n, _ENTRIES_AT_ONCE):
        r2 = direct_squared_distances(z[rows], z)
        value, slope, curvature = kernel.profile(r2)
        bend = np.where(r2 > 0.0, curvature / np.where(r2 > 0.0, r2, 1.0), 0.0)
        pair = weight[rows, None] * weight
        value, slope, bend = value * pair, slope * pair, bend * pair
        along = ae[rows] * (slope @ s) - as_[rows] * (slope @ e) - e[rows] * (slope @ as_) + s[rows] * (slope @ ae)
        apart = a2e[rows] * (bend @ e) - 2.0 * ae[rows] * (bend @ ae) + e[rows] * (bend @ a2e)
        parts = s[rows] * (value @ s) + 2.0 * along - 2.0 * traces * e[rows] * (slope @ e) - 4.0 * apart
        total += parts.sum(axis=0)
    return total


_LEVEL = 6  # of the finest rule, which doubles the nodes of the one before
_NATS, _SHARE = 1.0, 0.001  # an integral is known if its error is no more nats, or no larger share of it
_LOOKED_AT, _TYPICAL, _CLEAN = 2_000, 200, 0.01

Score = Callable[[Floats], Floats]


@np.errstate(all="ignore")
def line_integrals(score: Score, start: Floats, ends: Floats, scale: float) -> Floats:
    r"""log p at the end of each straight line less that at its start,

    .. math:: \log p(x) - \log p(c) = \int_0^1 (x - c) \cdot s(c + t (x - c)) \, dt ,

    by the double exponential rule, to 1 nat or 0.1 %; NaN where it does not converge, or the score is not finite.

    Parameters
    ----------
    score : callable
        s, from places (m, d) to (m, d).
    start : (d,) array
        c.
    ends : (n, d) array
        x.
    scale : float
        Nodes are spread evenly within this distance from c, and by equal factors beyond it, as tails are.

    Examples
    --------
    >>> line_integrals(lambda x: -x, np.zeros(1), np.array([[1.0], [10.0]]), 1.0).round(6)
    array([ -0.5, -50. ])
    """
    step = ends - start
    reach = np.log1p(np.sqrt(np.square(step).sum(axis=1)) / scale) + 1e-9

    def along(u: Floats, row: Floats) -> Floats:
        """The integrand in u, with t = (e^{au} − 1)/(e^a − 1) and a = log(1 + length/scale)."""
        a, there = reach[row.astype(np.intp)], step[row.astype(np.intp)]
        places = start + (np.expm1(a * u) / np.expm1(a))[..., None] * there
        scores = score(places.reshape(-1, len(start))).reshape(places.shape)
        return np.asarray(a * np.exp(a * u) / np.expm1(a) * np.sum(scores * there, axis=-1))

    rows, exact = np.arange(float(len(ends))), {"atol": _NATS, "rtol": _SHARE, "maxlevel": _LEVEL}
    found = scipy.integrate.tanhsinh(along, 0.0, 1.0, args=(rows,), **exact)
    return np.where(found.success, found.integral, np.nan)


def improbable_rows(problem: Problem) -> NDArray[np.intp]:
    r"""Samples of a problem whose log density lies far below that of the others, the lowest first.

    A row is named if its log density is less than the median of all rows by more than 2(√(dt) + t) nats,
    t = log(n/0.01): for a normal distribution half of this is exceeded by some of n clean rows with probability at most
    0.01 (Laurent and Massart 2000), and the factor 2 leaves room for tails as heavy as Cauchy's. It describes; it is no
    test. Empty where the score is not known elsewhere, or is not a gradient: a way around must give the same. Of very
    many rows the 2,000 outermost are looked at.
    """
    x = problem.host_samples
    n, d = x.shape
    center = np.median(x, axis=0)
    out = np.sqrt(np.square(x - center).sum(axis=1))
    scale, t = float(np.median(out)), math.log(n / _CLEAN)
    if not problem.evaluable or not 0.0 < scale < math.inf:
        return np.empty(0, dtype=np.intp)
    outer, typical = np.argsort(out, kind="stable")[-_LOOKED_AT:], np.arange(0, n, max(1, n // _TYPICAL))
    values = line_integrals(_score(problem), center, x[np.concatenate([outer, typical])], scale)
    values, usual = np.split(values, [len(outer)])
    below = (np.median(usual[np.isfinite(usual)]) if np.isfinite(usual).any() else np.nan) - values
    low = np.flatnonzero(below > 2.0 * (math.sqrt(d * t) + t))
    named = outer[low[np.argsort(-below[low], kind="stable")]]
    return named[_around(problem, center, x[named], scale)] if len(named) else named


def _around(problem: Problem, center: Floats, ends: Floats, scale: float) -> NDArray[np.bool_]:
    """Whether a way with a corner gives the same integrals as the straight lines: so it is for a gradient."""
    score, corner = _score(problem), center + scale * np.cos(1.0 + np.arange(len(center)))  # in no special direction
    straight = line_integrals(score, center, ends, scale)
    bent = line_integrals(score, center, corner[None], scale) + line_integrals(score, corner, ends, scale)
    return np.abs(bent - straight) <= np.maximum(3.0 * _NATS, 3.0 * _SHARE * np.abs(straight))


def _score(problem: Problem) -> Score:
    """The score at places of the test, NaN where it fails or is not finite."""

    def score(places: Floats) -> Floats:
        try:
            found = np.asarray(to_host(score_of(problem.model, like(places, problem.samples))), dtype=np.float64)
            return np.where(np.isfinite(found), found, np.nan).reshape(places.shape)
        except Exception:  # a user's score may raise anything far from the data
            return np.full(places.shape, np.nan)

    return score
