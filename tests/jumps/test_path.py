"""Differences of log densities from scores alone: right, or refused."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import steinball as sb
from steinball.jumps import ModeJumps
from steinball.jumps.path import log_ratio_along_paths
from steinball.models import GaussianMixture

pytestmark = pytest.mark.exact

SEED = np.random.SeedSequence(5)
MODEL = GaussianMixture([0.2, 0.5, 0.3], [-5.0, 0.0, 3.0], [0.5, 1.0, 2.0])
JUMPS = ModeJumps([-5.0, 0.0, 3.0], np.array([0.5, 1.0, 2.0]).reshape(3, 1, 1))


@dataclass(frozen=True)
class Bare:
    """A model with a score and nothing else."""

    score: Callable[[Any], Any]


def test_a_score_alone_will_do() -> None:
    x = MODEL.sample(300, rng=0)
    y = JUMPS.move(x, Bare(MODEL.score), SEED)
    assert np.allclose(y, JUMPS.move(x, MODEL, SEED))
    pairs = np.random.default_rng(0).uniform(-30.0, 30.0, size=(2, 200, 1))
    exact = MODEL.log_density(pairs[1]) - MODEL.log_density(pairs[0])
    assert np.abs(log_ratio_along_paths(MODEL, pairs[0], pairs[1], pairs[0]) - exact).max() < 1e-6


def test_a_score_that_cannot_be_integrated_is_refused() -> None:
    x = np.array([[-1.0], [-2.0]])
    with pytest.raises(ValueError, match=r"could not be integrated to 1e-06 along 2 of 2 jumps. Give the model a"):
        log_ratio_along_paths(Bare(lambda x: -1.0 / (x - 0.1)), x, -x, x)
    scores = sb.models.base.as_model(-x, x)
    with pytest.raises(TypeError, match="away from the samples; `model` is an array of scores"):
        ModeJumps([-1.0, 1.0]).move(x, scores, SEED)
