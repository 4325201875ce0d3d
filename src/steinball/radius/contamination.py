"""Shares of the data: contamination, and total variation."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from steinball.arrays import check_share
from steinball.problem import Problem
from steinball.radius.base import Radius, within_all
from steinball.tau.certificate import Supremum
from steinball.tau.isotropic import diameter


@dataclass(frozen=True)
class Huber(Radius):
    r"""All distributions with at most a share ε of contamination (paper, Proposition on Huber's model)

    .. math:: \theta = \varepsilon \sqrt{\tau_\infty}, \qquad
       \{ (1 - \varepsilon') P + \varepsilon' R : \varepsilon' \le \varepsilon \} \subseteq B(P; \theta).

    The bound is tight: contamination at the point where u(x, x) is largest reaches it.

    Parameters
    ----------
    contamination : float
        ε in [0, 1].

    Examples
    --------
    >>> Huber(0.05)
    Huber(contamination=0.05)
    """

    contamination: float = field()  # without a default, although the class above has one
    sized_by, axis, in_percent = "contamination", "tolerated contamination", True
    closed_under_moves = True
    invariant = True
    allows_removal = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "contamination", check_share(self.contamination, "contamination"))
        self._declare(needs_bounded=self.contamination > 0.0, variation=self.contamination)

    def __call__(self, problem: Problem, tau: Supremum) -> float:
        """ε √τ."""
        return self.contamination * math.sqrt(tau.value)


@dataclass(frozen=True)
class TotalVariation(Radius):
    r"""All distributions that differ from the model by at most t on every event

    .. math:: \theta = \min(t \Delta, \sqrt{\tau_\infty}), \qquad
       \Delta = \sup_{x, y} |\varphi(x) - \varphi(y)| \le 2 \sqrt{\tau_\infty}.

    A share t of the model's mass may be taken from anywhere and put anywhere: twice the radius of :class:`Huber`, which
    takes it evenly, where Δ is 2√τ. Proof in docs/theory/radii.md; Δ is bounded there too.

    Parameters
    ----------
    distance : float
        t in [0, 1].

    Examples
    --------
    >>> TotalVariation(0.05)
    TotalVariation(distance=0.05)
    """

    distance: float
    sized_by, axis, in_percent = "distance", "tolerated difference of shares", True
    closed_under_moves = True
    invariant = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "distance", check_share(self.distance, "distance"))
        self._declare(variation=self.distance)

    def __call__(self, problem: Problem, tau: Supremum) -> float:
        """t Δ, at most √τ."""
        return within_all(self.distance * diameter(problem, tau), tau)
