"""How far contamination can push D of a fitted model, to first order in its share, and where that is looked for."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from steinball.arrays import Floats, check_share, like, to_host
from steinball.fitting.estimators import Estimate
from steinball.models.family import Family
from steinball.models.knowledge import Knowledge
from steinball.models.support import Support
from steinball.problem import Problem
from steinball.radius import Radius
from steinball.tau.certificate import Supremum

_DRAWS = 2048
_DIRECTIONS, _POINTS = 48, 256


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
        model = problem.at(
            like(draws if problem.support is None else problem.support.off_edges(draws), problem.samples)
        )
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
