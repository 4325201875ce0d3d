"""How far contamination can push D of a fitted model, to first order in its share."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from steinball.arrays import Floats, check_share, like, to_host
from steinball.fitting.estimators import Estimate
from steinball.fitting.family import Family
from steinball.fitting.probes import far_and_near
from steinball.models.knowledge import Knowledge
from steinball.problem import Problem
from steinball.radius import Radius
from steinball.tau import Supremum

_DRAWS = 2048


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
        """θ."""
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
