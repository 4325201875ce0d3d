"""Δ, how far apart two features can be."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from steinball.arrays import check_kind
from steinball.features.isotropic import IsotropicCase
from steinball.features.kinds import Supremum

if TYPE_CHECKING:
    from steinball.problem import Problem


def diameter(problem: Problem, tau: Supremum) -> float:
    r"""An upper bound of the diameter of the Stein features, never above 2√τ

    .. math:: \Delta = \sup_{x, y} |\varphi(x) - \varphi(y)| \le 2 \sqrt{\tau_\infty}.

    Certified to one percent (two where d > 1) by branch and bound for an isotropic Gaussian model under a polynomial
    tilt of exponent ½ at its mean, where it is some 5 to 8 % below 2√τ at the median length scale, and more at shorter
    ones; 2√τ for every other model. A rough score can reach 2√τ: nothing better holds without knowing the score.

    Examples
    --------
    >>> from steinball.problem import pose
    >>> from steinball.kernels import InverseMultiquadric
    >>> from steinball.models import Gaussian
    >>> problem = pose([0.0, 1.0], Gaussian(), InverseMultiquadric(1.0), "auto")
    >>> diameter(problem, Supremum(1.6312, "given")) < 0.93 * 2.0 * math.sqrt(1.6312)
    True
    """
    check_kind(tau, Supremum, "tau", "a Supremum")
    bound, case = 2.0 * math.sqrt(tau.value), IsotropicCase.of(problem)
    return bound if case is None else min(bound, problem.once("diameter", case.diameter))
