"""Rows where a model has next to nothing, from its score alone: log p is an integral of the score along a line."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from steinball.arrays import Floats, like, to_host
from steinball.models.base import score_of
from steinball.problem import Problem

_NODES = (8, 16, 32, 64, 128)
_NATS, _SHARE = 1.0, 0.001  # rules agree if they differ by no more nats, or by no larger share of the integral
_LOOKED_AT, _TYPICAL, _CLEAN = 2_000, 200, 0.01

Score = Callable[[Floats], Floats]


def line_integrals(score: Score, start: Floats, ends: Floats, scale: float) -> Floats:
    r"""log p at the end of each straight line less that at its start,

    .. math:: \log p(x) - \log p(c) = \int_0^1 (x - c) \cdot s(c + t (x - c)) \, dt ,

    by Gauss rules of 8, 16, … 128 nodes until three in a row agree to 1 nat or 0.1 % (two can agree by chance where the
    score jumps); NaN where none do, or the score is not finite.

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
    found, open_rows = np.full(len(ends), np.nan), np.arange(len(ends))
    before = np.full((2, len(ends)), np.nan)
    for nodes in _NODES:
        values = _gauss(score, start, ends[open_rows], scale, nodes)
        agree = (np.abs(values - before) <= np.maximum(_NATS, _SHARE * np.abs(values))).all(axis=0)
        found[open_rows[agree]] = values[agree]
        open_rows, before = open_rows[~agree], np.stack([before[1], values])[:, ~agree]
        if not len(open_rows):
            break
    return found


@np.errstate(all="ignore")
def _gauss(score: Score, start: Floats, ends: Floats, scale: float, nodes: int) -> Floats:
    """One rule, in u with t = (e^{au} − 1)/(e^a − 1) and a = log(1 + length/scale)."""
    u, weights = np.polynomial.legendre.leggauss(nodes)
    u, step = (u + 1.0) / 2.0, ends - start
    a = np.log1p(np.sqrt(np.square(step).sum(axis=1)) / scale)[:, None] + 1e-9
    t, slope = np.expm1(a * u) / np.expm1(a), a * np.exp(a * u) / np.expm1(a)  # (n, nodes)
    places = start + t[:, :, None] * step[:, None, :]
    along = np.einsum("nkd,nd->nk", score(places.reshape(-1, len(start))).reshape(places.shape), step)
    return np.asarray((along * slope * (weights / 2.0)).sum(axis=1))


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
