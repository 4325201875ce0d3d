"""What a tolerated share does to a fit: how far it pushes D, to first order, and the member of the least D − θ − q."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import scipy

from steinball.arrays import Floats, MemoryLimitError, as_seed, check_share, like, to_host
from steinball.calibration.base import Calibration, draw_quantile
from steinball.calibration.boundary import moved_to_the_edge
from steinball.fitting.estimators import Estimate
from steinball.fitting.minimum_ksd import KEPT, PAIRS_AT_ONCE, ScoreDistance
from steinball.gram.choose import Settings
from steinball.gram.memory import in_words
from steinball.gram.weights import gather
from steinball.models.family import ExponentialFamily, Family
from steinball.models.knowledge import Knowledge
from steinball.models.support import Support
from steinball.problem import Problem
from steinball.radius import Radius
from steinball.stein import SteinKernel
from steinball.tau.certificate import Supremum

_DRAWS = 2048
_DIRECTIONS, _POINTS = 48, 256
_SEARCH_DRAWS = 199
_EXCLUDED = 1e6
_FARTHEST = 50.0  # how far from the fit the search goes, in steps that raise D as much as chance does
# The level of q in the search. One member then answers for every level, so that its p-value is one number.
_LEVEL = 0.05
# β: the probability that the right member is not among the candidates, by which the level may be exceeded.
EXCLUSION = 1e-3


@dataclass(frozen=True, eq=False)
class FirstOrder(Radius):
    r"""The radius of Huber's model around a fitted model, to first order in ε

    .. math:: \theta = \varepsilon \sup_x \left| \varphi(x) - \mathbb E[\varphi s^\top] \psi(x) \right|,

    with s the parameter scores and ψ the influence function of the estimator. A share ε at x adds εφ(x) to the mean
    feature and moves the parameters by εψ(x), which takes :math:`\varepsilon \mathbb E[\varphi s^\top] \psi(x)` off it;
    what is left out is O(ε²). The expectation is over draws of the model, since outliers have any scores, and x is
    searched for on rays to 10⁶ times the spread of the data.
    """

    contamination: float = field()  # without a default, although the class above has one
    estimate: Estimate
    family: Family
    sized_by = "contamination"
    closed_under_moves = False
    allows_removal = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "contamination", check_share(self.contamination, "contamination"))

    def __repr__(self) -> str:
        return f"FirstOrder(contamination={self.contamination:g})"

    def __call__(self, problem: Problem, tau: Supremum) -> float:
        """The radius θ."""
        return self.contamination * math.sqrt(float(self.lengths(problem).max()))

    def lengths(self, problem: Problem) -> Floats:
        """|φ(x) − E[φsᵀ]ψ(x)|² at the points that are looked at."""
        points = problem.at(like(far_and_near(problem.host_samples, problem.support), problem.samples))
        draws = Knowledge(problem.model).needed_draws(_DRAWS)
        draws = draws if problem.support is None else problem.support.off_edges(draws)
        model = problem.at(like(draws, problem.samples))
        scores = self.family.parameter_scores(self.estimate.params, model.host_samples) / _DRAWS
        scores = scores - scores.mean(axis=0)
        stein = problem.stein
        across = to_host(stein(points.samples, points.scores, model.samples, model.scores)) @ scores  # (m, p)
        gram = scores.T @ to_host(stein(model.samples, model.scores, model.samples, model.scores)) @ scores
        moves = self.estimate.influence(points.host_samples)
        turned = np.sum((moves @ gram) * moves, axis=1) - 2.0 * np.sum(moves * across, axis=1)
        return np.asarray(to_host(points.diagonal) + turned)


def far_and_near(x: Floats, support: Support | None) -> Floats:
    """Points of the data, and on rays from their median to 10⁶ times the spread, inside the support."""
    n, d = x.shape
    center = np.median(x, axis=0)
    offsets = x - center
    spread = np.median(np.abs(offsets), axis=0)
    spread = np.where(spread > 0.0, spread, 1.0)
    radii = np.concatenate([[0.0], np.geomspace(0.05, 20.0, 160 if d == 1 else 24), np.geomspace(30.0, 1e6, 8)])
    directions = np.array([[1.0], [-1.0]]) if d == 1 else _directions(offsets / spread)
    rays = center + (radii[:, None, None] * directions * spread).reshape(-1, d)
    found = np.vstack([x[:: -(-n // _POINTS)], rays])
    if support is None:
        return found
    return support.rows_inside(np.vstack([found, *_next_to_edges(x, support)]))


def _directions(whitened: Floats) -> Floats:
    lengths = np.linalg.norm(whitened, axis=1, keepdims=True)
    apart = whitened[lengths[:, 0] > 0.0] / lengths[lengths[:, 0] > 0.0]
    axes = np.vstack([np.eye(whitened.shape[1]), -np.eye(whitened.shape[1])])
    return np.vstack([axes, apart[:: max(1, -(-len(apart) // _DIRECTIONS))]])


def _next_to_edges(x: Floats, support: Support) -> list[Floats]:
    """Rows of the data moved next to each finite end, column by column."""
    rows, near = x[:: -(-len(x) // 16)] if x.shape[1] > 1 else x[:1], np.geomspace(1e-8, 1.0, 60)
    found = []
    for ends, sign in zip(support.along(x.shape[1]), (1.0, -1.0), strict=True):
        for j in np.flatnonzero(np.isfinite(ends)):
            moved = np.tile(rows, (len(near), 1))
            usual = float(np.median(np.abs(x[:, j] - ends[j])))
            moved[:, j] = ends[j] + sign * np.repeat(near, len(rows)) * usual
            found.append(moved)
    return found


def check_memory(x: Floats, settings: Settings) -> None:
    """Refuse a search that would need more memory than a user allows."""
    n, d = x.shape
    needed = 8 * (min(n * n, KEPT) + 12 * PAIRS_AT_ONCE + 6 * n * d * (_SEARCH_DRAWS + 1))
    if needed > (limit := settings.limit(x, needed)):
        raise MemoryLimitError(
            f"a search over the family for {n} rows needs about {in_words(needed)}, more than the "
            f"{in_words(limit)} that `memory_limit` allows. Allow more, or test fewer rows."
        )


@dataclass(frozen=True, eq=False)
class MemberSearch:
    r"""D, θ and q of every member of a family, for fixed points, kernel, tilt and bootstrap weights.

    Everything is a quadratic in the scores s of a member: :math:`v^\top U v`, :math:`v^\top U 1` and
    :math:`1^\top U 1` for the weights v. The parts without s are computed once; what depends on s costs a product with
    the kernel matrix, and nothing at all where s is linear in the parameters, since the quadratics are then known.

    Parameters
    ----------
    distance : ScoreDistance
        The points, kernel, tilt and bootstrap weights.
    stein : SteinKernel
    share : float
        The tolerated share.
    """

    family: Family
    distance: ScoreDistance
    stein: SteinKernel
    share: float

    @cached_property
    def constants(self) -> tuple[Floats, Floats]:
        """What does not depend on the scores: the forms of U at scores that cancel those of the tilt."""
        where = self.distance
        x, scores, rows = where.x, -where.shift, where.rows
        squares, sums, step = np.zeros(len(rows)), np.zeros(len(x)), max(1, PAIRS_AT_ONCE // len(x))
        for part in (slice(start, start + step) for start in range(0, len(x), step)):
            matrix = to_host(self.stein(x[part], scores[part], x, scores))
            squares += np.sum((rows[:, part] @ matrix) * rows, axis=1)
            sums[part] = matrix.sum(axis=1)
        return squares, rows @ sums

    @cached_property
    def probes(self) -> Floats:
        """Points at which u(x, x) may be largest."""
        return far_and_near(self.distance.x, self.family.support)

    @cached_property
    def _quadratics(self) -> tuple[Floats, Floats]:
        """The forms of an exponential family, whose score is linear in its natural parameters."""
        assert isinstance(self.family, ExponentialFamily)
        near = self.distance.x - self.origin
        return self.distance.forms(self.family.base_score(near), self.family.score_basis(near))

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
        n2 = len(self.distance) ** 2
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
        """vᵀUv and vᵀU1 for every v, (m,) each, up to the constants; not divided by n²."""
        family = self.family
        if not isinstance(family, ExponentialFamily):
            squares, linear = self.distance.forms(family.score(params, self.distance.x))
            return squares[:, 0, 0], linear[:, 0, 0]
        z = np.append(family.natural(family.moved(params, -self.origin)), 1.0)
        squares, linear = ((matrices @ z) @ z for matrices in self._quadratics)
        return squares, linear

    def _tau(self, params: Floats) -> float:
        scores = self.family.score(params, self.probes)
        return float(np.max(to_host(self.stein.diagonal(self.probes, scores))))


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
    family: Family, x: Floats, stein: SteinKernel, start: Floats, share: float, calibration: Calibration, rng: Any
) -> Closest:
    """The member of the least D − θ − q, searched for from the fit and from the robust start."""
    weights = gather(calibration.request(len(x), as_seed(rng)).weights, len(x))[:_SEARCH_DRAWS]
    search = MemberSearch(family, ScoreDistance.of(x, stein, weights.astype(np.float64)), stein, share)
    with np.errstate(all="ignore"):
        found = _searched(search, start)
    excess = search.excess(found)
    if excess < _EXCLUDED:
        return Closest(found, search.margin)
    return Closest(start, search.margin, search.margin + excess / _EXCLUDED - 1.0)


def _searched(search: MemberSearch, start: Floats) -> Floats:
    """Nelder and Mead's search from the better of the fit and the robust start."""
    family = search.family
    center = family.to_working(min((start, family.start(search.distance.x)), key=search.excess))
    steps = _steps(search, center)

    def loss(z: Floats) -> float:
        if (beyond := float(np.abs(z).max())) > _FARTHEST:
            return _EXCLUDED * beyond
        return min(search.excess(family.from_working(center + steps * z)), 1e300)

    simplex = np.vstack([np.zeros_like(center), np.eye(len(center))])
    options = {"xatol": 1e-3, "fatol": 1e-7, "maxfev": 200 * len(center), "initial_simplex": simplex}
    found = scipy.optimize.minimize(loss, simplex[0], method="Nelder-Mead", options=options).x
    return family.from_working(center + steps * found)


def _steps(search: MemberSearch, center: Floats) -> Floats:
    """How far each coordinate may go before D² has risen as much as a draw has: the scale of the search."""
    family, where = search.family, search.distance
    scores = family.score(family.from_working(center), where.x)
    units = family.working_units(family.from_working(center), where.x)
    forms = where.forms(scores, family.score_jacobian(center, where.x, units))[0]
    curvature = np.diag(forms[0])[:-1] / len(where) ** 2
    typical = float(np.median((search.constants[0] + forms[:, -1, -1])[1:])) / len(where) ** 2
    return np.sqrt(max(typical, 1e-300) / np.maximum(curvature, 1e-300))
