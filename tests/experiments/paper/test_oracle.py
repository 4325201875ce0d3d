"""The oracle of the paper's theorem."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import steinball as sb
from experiments.paper.oracle import distance_from_q

pytestmark = pytest.mark.paper


def test_the_oracle_distance_is_the_targeted_ksd_to_a_large_sample_of_q() -> None:
    rng = np.random.default_rng(0)
    x = rng.standard_normal((30, 1))
    q = sb.datasets.contaminate(rng.standard_normal((4000, 1)), 0.2, 2.0, rng)
    options: dict[str, Any] = {"kernel": sb.InverseMultiquadric(2.0**0.5), "tilt": sb.PolynomialTilt()}
    direct = sb.targeted_ksd(x, q, sb.models.Gaussian(), **options)
    assert distance_from_q(x, 0.2, 2.0) == pytest.approx(direct, abs=0.02)  # √(E u/4000) ≈ .015
