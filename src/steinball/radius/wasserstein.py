"""Small displacements: Wasserstein distance, rounding, and errors in the score."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from steinball.arrays import as_number
from steinball.problem import Problem
from steinball.radius.base import Radius, within_all
from steinball.tau.certificate import Supremum
from steinball.tau.isotropic import kernel_constants, lipschitz_constant


@dataclass(frozen=True)
class Wasserstein(Radius):
    r"""All distributions that come from the model by moving points a mean distance W₁ at most

    .. math:: \theta = \min(L \, W_1, \sqrt{\tau_\infty}), \qquad
       L = \sup_{x \ne y} \frac{|\varphi(x) - \varphi(y)|}{|x - y|}.

    Proof by coupling, in docs/theory/radii.md. Every point may move, none of them far: measurement error, binning.

    Parameters
    ----------
    distance : float
        W₁ ≥ 0, in the units of the data (Euclidean).
    lipschitz : float, optional
        An upper bound of L that you know. By default :func:`~steinball.tau.isotropic.lipschitz_constant`: a closed
        form for an isotropic Gaussian under its own tilt, elsewhere *optimized*, a lower bound of L that is usually
        sharp, so that the radius is then no proved one (:meth:`kind` says which).

    Examples
    --------
    >>> Wasserstein.rounding(0.1, dimension=4)
    Wasserstein(distance=0.1)
    """

    distance: float
    lipschitz: float | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        distance = as_number(self.distance, "distance", low=0.0)
        self._declare(distance=distance, displacement=distance)
        if self.lipschitz is not None:
            self._declare(lipschitz=as_number(self.lipschitz, "lipschitz", low=0.0))

    @classmethod
    def rounding(cls, spacing: float, dimension: int = 1, lipschitz: float | None = None) -> Wasserstein:
        """Data rounded to multiples of ``spacing``: no coordinate moves by more than half, W₁ ≤ √d · spacing/2."""
        spacing = as_number(spacing, "spacing", low=0.0)
        return cls(0.5 * spacing * math.sqrt(as_number(dimension, "dimension", low=1.0)), lipschitz)

    def constant(self, problem: Problem) -> Supremum:
        """L, and how it was obtained."""
        return lipschitz_constant(problem) if self.lipschitz is None else Supremum(self.lipschitz, "given")

    def kind(self, problem: Problem, tau: Supremum) -> str:
        """That of L."""
        return self.constant(problem).kind

    def trusts(self, tau: Supremum) -> bool:
        """L decides; τ is only a cap."""
        return True

    def __call__(self, problem: Problem, tau: Supremum) -> float:
        """L W₁, at most √τ."""
        farthest = self.distance * problem.rows.stretch
        return within_all(self.constant(problem).value * farthest, tau) if farthest > 0.0 else 0.0


@dataclass(frozen=True)
class ScoreError(Radius):
    r"""A score that is itself approximate, to be added to any other tolerance θ₀

    .. math:: \theta = \sqrt{h(0)} \, \delta, \qquad
       \delta \ge \mathbb{E} \left| w(X) (\hat s(X) - s(X)) \right|,

    where ŝ is the score that the test uses and s the exact one: a fitted network, a subsampled likelihood, finite
    differences. δ may also bound the root mean square, which is larger.

    Parameters
    ----------
    delta : float
        δ ≥ 0, under the exact model: then θ₀ may be any radius computed, as it is, with ŝ. (A bound under the law of
        the data serves a θ₀ that was computed with s.)

    Examples
    --------
    >>> from steinball.radius import Huber
    >>> Huber(0.05) + ScoreError(0.01)
    Huber(contamination=0.05) + ScoreError(delta=0.01)
    """

    delta: float
    needs_bounded = False

    def __post_init__(self) -> None:
        self._declare(delta=as_number(self.delta, "delta", low=0.0))

    def __call__(self, problem: Problem, tau: Supremum) -> float:
        """√h(0) δ."""
        return math.sqrt(kernel_constants(problem.stein.kernel)[0]) * self.delta * problem.rows.score_stretch
