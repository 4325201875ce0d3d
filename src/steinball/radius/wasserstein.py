"""Small displacements: Wasserstein distance, rounding, and errors in the score."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

from steinball.arrays import as_number
from steinball.problem import Problem
from steinball.radius.base import FixedRadius, Radius, as_radius, within_all
from steinball.tau.certificate import Supremum
from steinball.tau.isotropic import kernel_constants
from steinball.tau.lipschitz import lipschitz_constant


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
        An upper bound of L that you know. By default :func:`~steinball.tau.lipschitz.lipschitz_constant`: a closed
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
        object.__setattr__(self, "distance", as_number(self.distance, "distance", low=0.0))
        if self.lipschitz is not None:
            object.__setattr__(self, "lipschitz", as_number(self.lipschitz, "lipschitz", low=0.0))
        self._declare(displacement=self.distance)

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


@dataclass(frozen=True, repr=False)
class ScoreError(Radius):
    r"""A score that is itself approximate, on top of any other tolerance

    .. math:: \theta = \theta_0 + \sqrt{h(0)} \, \delta, \qquad
       \delta \ge \mathbb{E} \left| w(X) (\hat s(X) - s(X)) \right|,

    where ŝ is the score that the test uses and s the exact one: a fitted network, a subsampled likelihood, finite
    differences. δ may also bound the root mean square, which is larger.

    Parameters
    ----------
    delta : float
        δ ≥ 0, under the exact model: then θ₀ may be any radius computed, as it is, with ŝ. (A bound under the law of
        the data serves a θ₀ that was computed with s.)
    base : Radius or float
        θ₀, 0 by default; ``Huber(0.05) + ScoreError(0.01)`` says the same as ``ScoreError(0.01, base=Huber(0.05))``.

    Examples
    --------
    >>> ScoreError(0.01)
    ScoreError(delta=0.01)
    """

    delta: float
    base: Any = 0.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "delta", as_number(self.delta, "delta", low=0.0))
        base = as_radius(self.base)
        object.__setattr__(self, "base", base)
        self._declare(
            needs_bounded=base.needs_bounded,
            anchored=base.anchored,
            kernel_specific=base.kernel_specific,
            displacement=base.displacement,
        )  # the score error itself is none of these

    def __repr__(self) -> str:
        base = "" if self.base == FixedRadius(0.0) else f", base={self.base!r}"
        return f"ScoreError(delta={self.delta!r}{base})"

    def kind(self, problem: Problem, tau: Supremum) -> str:
        """That of the radius below it."""
        return str(self.base.kind(problem, tau))

    def trusts(self, tau: Supremum) -> bool:
        """As the radius below it."""
        return bool(self.base.trusts(tau))

    def __call__(self, problem: Problem, tau: Supremum) -> float:
        """θ₀ + √h(0) δ."""
        height = math.sqrt(kernel_constants(problem.stein.kernel)[0])
        return float(self.base(problem, tau)) + height * self.delta * problem.rows.score_stretch
