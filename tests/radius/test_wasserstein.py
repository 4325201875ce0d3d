"""Small displacements, and errors of the score."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import steinball as sb
from steinball import radius as r
from steinball.problem import Problem, pose
from steinball.tau.certificate import Supremum

pytestmark = pytest.mark.exact

X = np.random.default_rng(5).normal(size=(60, 2))
TAU = Supremum(2.25, "given")
TILT = sb.PolynomialTilt(0.5)


def problem(model: Any = None, kernel: Any = None, tilt: Any = TILT, x: Any = X) -> Problem:
    return pose(x, (lambda x: -x) if model is None else model, kernel or sb.InverseMultiquadric(1.3), tilt)


def test_the_score_error_grows_with_the_kernel() -> None:
    assert r.ScoreError(0.2)(problem(kernel=4.0 * sb.InverseMultiquadric(1.0)), TAU) == pytest.approx(0.4)


def test_rounding_is_half_a_cell_diagonal() -> None:
    assert r.Wasserstein.rounding(0.5, 4).distance == 0.5
    rng = np.random.default_rng(0)
    x = rng.normal(size=(500, 4))
    assert np.linalg.norm(np.round(x / 0.5) * 0.5 - x, axis=1).max() <= 0.5
