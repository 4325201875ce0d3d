"""What a move is, and that not every set survives one."""

from __future__ import annotations

import numpy as np
import pytest

import steinball as sb
from steinball.jumps import Jumps, ModeJumps
from steinball.models import GaussianMixture

pytestmark = pytest.mark.exact

SEED = np.random.SeedSequence(5)


def test_whatever_has_a_move_is_one() -> None:
    assert isinstance(ModeJumps([-1.0, 1.0]), Jumps)
    assert not isinstance(GaussianMixture([1.0], [0.0]), Jumps)


def test_a_ksd_ball_is_not_closed() -> None:
    """Wrong weights of far modes have a KSD of about 0, and after a move they do not: to refuse it is no caution."""
    model, data = GaussianMixture([0.5, 0.5], [-8.0, 8.0]), GaussianMixture([0.9, 0.1], [-8.0, 8.0])
    x, kernel = data.sample(1500, rng=0), sb.kernels.InverseMultiquadric(1.0)
    before = sb.ksd(x, model, kernel=kernel, estimator="u")
    after = sb.ksd(ModeJumps.from_model(model).move(x, model, SEED), model, kernel=kernel, estimator="u")
    assert before < 0.05
    assert after > 0.15
