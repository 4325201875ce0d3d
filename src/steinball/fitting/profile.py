"""The member of a family that comes closest to being tolerated: the least D − θ − q."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from steinball.arrays import Floats, as_seed, to_host
from steinball.calibration.base import Calibration, draw_quantile
from steinball.calibration.boundary import moved_to_the_edge
from steinball.fitting.first_order import far_and_near
from steinball.fitting.minimum_ksd import ScoreDistance
from steinball.gram.weights import gather
from steinball.models.family import ExponentialFamily, Family
from steinball.stein import SteinKernel

_SEARCH_DRAWS = 199
_EXCLUDED = 1e6
_FARTHEST = 50.0
"""How far from the fit the search goes, in steps that raise D as much as chance does."""

_LEVEL = 0.05
"""The level of q in the search. One member then answers for every level, so that its p-value is one number."""

EXCLUSION = 1e-3
"""β: the probability that the right member is not among the candidates, by which the level may be exceeded."""


@dataclass(frozen=True, eq=False)
class Landscape:
    r"""D, θ and q of every member of a family, for fixed points, kernel, tilt and bootstrap weights.

    Everything is a quadratic in the scores s of a member: :math:`v^\top U v`, :math:`v^\top U 1` and
    :math:`1^\top U 1` for the weights v. The parts without s are computed once; what depends on s costs a product with
    the kernel matrix, and nothing at all where s is linear in the parameters, since the quadratics are then known.

    Parameters
    ----------
    distance : ScoreDistance
        The points, kernel and tilt.
    stein : SteinKernel
    draws : (B, n) array
        Bootstrap weights.
    """

    family: Family
    distance: ScoreDistance
    stein: SteinKernel
    draws: Floats
    share: float

    @cached_property
    def rows(self) -> Floats:
        """Ones, for the statistic, and then the draws, (1 + B, n)."""
        return np.vstack([np.ones((1, self.draws.shape[1])), self.draws])

    @cached_property
    def pulls(self) -> Floats:
        """−2 wᵢ Σⱼ φ′ᵢⱼ C(xᵢ − xⱼ) wⱼvⱼ for every row v, shape (1 + B, n, d)."""
        where, metric = self.distance, self.distance.kernel.metric
        x = where.x - np.median(where.x, axis=0)
        a = x if metric is None else x @ metric
        slopes = np.concatenate([slope for _, _, slope in where._blocks(where.x)])
        found = np.empty((*self.rows.shape, x.shape[1]))
        for k in range(x.shape[1]):
            right = self.rows * where.weights[:, k]
            turned = a[:, k] * (right @ slopes) - (right * a[:, k]) @ slopes
            found[:, :, k] = -2.0 * where.weights[:, k] * turned
        return found

    def forms(self, scores: Floats) -> tuple[Floats, Floats]:
        """vᵀUv and vᵀU1, up to what does not depend on the scores (n, d), for every row v; not divided by n²."""
        s = scores + self.distance.shift
        squares, linear = np.zeros(len(self.rows)), np.zeros(len(self.rows))
        for k in range(s.shape[1]):
            weighted = self.rows * (self.distance.weights[:, k] * s[:, k])
            smoothed = self.distance.smooth(weighted.T).T
            pull = self.pulls[:, :, k]
            squares += np.sum(weighted * smoothed, axis=1) + 2.0 * np.sum(self.rows * s[:, k] * pull, axis=1)
            linear += weighted @ smoothed[0] + (self.rows * s[:, k]) @ pull[0] + pull @ s[:, k]
        return squares, linear

    @cached_property
    def constants(self) -> tuple[Floats, Floats]:
        """What does not depend on the scores: the forms of U at scores that cancel those of the tilt."""
        where = self.distance
        scores = -where.shift
        matrix = to_host(self.stein(where.x, scores, where.x, scores))
        return np.sum((self.rows @ matrix) * self.rows, axis=1), self.rows @ matrix.sum(axis=1)

    @cached_property
    def probes(self) -> Floats:
        """Where u(x, x) may be largest."""
        return far_and_near(self.distance.x, self.family.support)

    @cached_property
    def _quadratics(self) -> Quadratics:
        """For an exponential family."""
        assert isinstance(self.family, ExponentialFamily)
        near = self.distance.x - self.origin
        return Quadratics.of(self, self.family.base_score(near), self.family.score_basis(near))

    @cached_property
    def origin(self) -> Floats:
        """Where the data of an exponential family are moved from, to keep the digits of its natural parameters."""
        assert isinstance(self.family, ExponentialFamily)
        return self.family.origin(self.distance.x)

    def excess(self, params: Floats) -> float:
        """D − θ − q at these parameters; very large outside the family and far from the margins of the data."""
        try:
            with np.errstate(all="ignore"):
                if (beyond := self._beyond(params)) > 0.0:
                    return _EXCLUDED * (1.0 + beyond)
                squares, linear = self._all_forms(params)
                theta = self.share * math.sqrt(self._tau(params))
        except (ValueError, FloatingPointError):
            return math.inf
        n2 = self.rows.shape[1] ** 2
        squares, linear = (squares + self.constants[0]) / n2, (linear + self.constants[1]) / n2
        ksd, lengths = math.sqrt(max(squares[0], 0.0)), np.sqrt(np.maximum(squares[1:], 0.0))
        along = linear[1:] / ksd if ksd > 0.0 else np.zeros_like(lengths)
        level = max(_LEVEL, 1.0 / (len(lengths) + 1))
        found = ksd - max(theta, draw_quantile(moved_to_the_edge(lengths, along, theta), level, 0.0))
        return found if math.isfinite(found) else math.inf

    def _beyond(self, params: Floats) -> float:
        r"""By how much some margin is further from the data than contamination and chance could put it.

        For the right member :math:`\sup |F_n - F| \le \varepsilon + \sqrt{\log(2 d / \beta) / 2n}` in every column
        with probability 1 − β (Dvoretzky, Kiefer and Wolfowitz, with Massart's constant). Without this, members that
        are all but points would be candidates: their τ is so large that any data are tolerated.
        """
        x = self.distance.x
        heights = self.family.margins(params, x)
        if heights is None:
            return 0.0
        heights, steps = np.sort(heights, axis=0), np.arange(1, len(x) + 1)[:, None] / len(x)
        return float(np.max([steps - heights, heights - steps + 1.0 / len(x)])) - self.margin

    @property
    def margin(self) -> float:
        """How far a margin of the right member may be from that of the data."""
        n, d = self.distance.x.shape
        return self.share + math.sqrt(math.log(2.0 * d / EXCLUSION) / (2.0 * n))

    def _all_forms(self, params: Floats) -> tuple[Floats, Floats]:
        if isinstance(self.family, ExponentialFamily):
            return self._quadratics.at(self.family.natural(self.family.moved(params, -self.origin)))
        return self.forms(self.family.score(params, self.distance.x))

    def _tau(self, params: Floats) -> float:
        scores = self.family.score(params, self.probes)
        return float(np.max(to_host(self.stein.diagonal(self.probes, scores))))


@dataclass(frozen=True, eq=False)
class Quadratics:
    """The forms of a score that is linear in ν: νᵀAν + 2bᵀν + c for every row, and the same for vᵀU1."""

    squares: tuple[Floats, Floats, Floats]
    linear: tuple[Floats, Floats, Floats]

    @classmethod
    def of(cls, land: Landscape, base: Floats, basis: Floats) -> Quadratics:
        """By one product with the kernel matrix for every parameter."""
        where, rows = land.distance, land.rows
        s, (_, d, p) = base + where.shift, basis.shape
        quad, lin = np.zeros((len(rows), p + 1, p + 1)), np.zeros((len(rows), p + 1, p + 1))
        for k in range(d):
            columns = np.column_stack([basis[:, k], s[:, k]])  # (n, p + 1)
            used = np.flatnonzero(columns.any(axis=0))
            weighted = where.weights[:, k, None] * columns[:, used]
            first = where.smooth(weighted)  # of the row of ones
            for i, at in enumerate(used):
                smoothed = where.smooth((rows * weighted[:, i]).T).T * rows
                quad[:, at, used] += smoothed @ weighted
                lin[:, at, used] += (rows * weighted[:, i]) @ first
            pull = land.pulls[:, :, k]
            own = (rows * pull) @ columns  # Σ vᵢ sᵢ pullᵥᵢ
            quad[:, :, -1] += own
            quad[:, -1, :] += own
            mixed = (rows * pull[0]) @ columns + pull @ columns
            lin[:, :, -1] += mixed / 2.0
            lin[:, -1, :] += mixed / 2.0
        return cls(_parts(quad), _parts(lin))

    def at(self, natural: Floats) -> tuple[Floats, Floats]:
        """Both forms at ν."""
        return _evaluated(self.squares, natural), _evaluated(self.linear, natural)


def _parts(matrix: Floats) -> tuple[Floats, Floats, Floats]:
    """A, b and c of a quadratic in (ν, 1), whose corner counts what was added to it twice once."""
    even = (matrix + matrix.transpose(0, 2, 1)) / 2.0
    return even[:, :-1, :-1], even[:, :-1, -1], even[:, -1, -1]


def _evaluated(parts: tuple[Floats, Floats, Floats], natural: Floats) -> Floats:
    quadratic, linear, constant = parts
    return (quadratic @ natural) @ natural + 2.0 * linear @ natural + constant


@dataclass(frozen=True, eq=False)
class Closest:
    """The parameters of the member that comes closest to being tolerated.

    ``apart`` is None where it is a candidate. Otherwise no member is: the least Kolmogorov distance of its margins from
    those of the data that was found, which exceeds ``margin``.
    """

    params: Floats
    margin: float
    apart: float | None = None


def closest_member(
    family: Family,
    x: Floats,
    stein: SteinKernel,
    start: Floats,
    share: float,
    calibration: Calibration,
    rng: Any,
) -> Closest:
    """The member of the least D − θ − q, searched for from the fit and from the robust start."""
    weights = gather(calibration.request(len(x), as_seed(rng)).weights, len(x))[:_SEARCH_DRAWS]
    land = Landscape(family, ScoreDistance.of(x, stein), stein, weights.astype(np.float64), share)
    with np.errstate(all="ignore"):
        found = _searched(land, start)
    excess = land.excess(found)
    if excess < _EXCLUDED:
        return Closest(found, land.margin)
    return Closest(start, land.margin, land.margin + excess / _EXCLUDED - 1.0)


def _searched(land: Landscape, start: Floats) -> Floats:
    """Nelder and Mead's search from the better of the fit and the robust start."""
    from scipy.optimize import minimize

    family = land.family
    center = family.to_working(min((start, family.start(land.distance.x)), key=land.excess))
    steps = _steps(family, center, land)

    def loss(z: Floats) -> float:
        if (beyond := float(np.abs(z).max())) > _FARTHEST:
            return _EXCLUDED * beyond
        return min(land.excess(family.from_working(center + steps * z)), 1e300)

    simplex = np.vstack([np.zeros_like(center), np.eye(len(center))])
    options = {"xatol": 1e-3, "fatol": 1e-7, "maxfev": 200 * len(center), "initial_simplex": simplex}
    found = minimize(loss, simplex[0], method="Nelder-Mead", options=options).x
    return family.from_working(center + steps * found)


def _steps(family: Family, center: Floats, land: Landscape) -> Floats:
    """How far each coordinate may go before D² has risen as much as a draw has: the scale of the search."""
    scores = family.score(family.from_working(center), land.distance.x)
    curvature = np.diag(land.distance.expansion(scores, family.score_jacobian(center, land.distance.x))[0])
    typical = float(np.median((land.constants[0] + land.forms(scores)[0])[1:])) / len(land.distance) ** 2
    return np.sqrt(max(typical, 1e-300) / np.maximum(curvature, 1e-300))
