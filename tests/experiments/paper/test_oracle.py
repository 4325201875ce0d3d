"""The oracle of the paper's theorem."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.stats import norm

import steinball as sb
from experiments.paper.oracle import distance_from_q

pytestmark = pytest.mark.paper


def test_the_oracle_distance_is_the_targeted_ksd_to_midpoints_of_equal_shares_of_q() -> None:
    x = np.random.default_rng(0).standard_normal((30, 1))
    q = np.append(norm.ppf((np.arange(800) + 0.5) / 800), np.full(200, 2.0))[:, None]
    options: dict[str, Any] = {"kernel": sb.InverseMultiquadric(2.0**0.5), "tilt": sb.PolynomialTilt()}
    direct = sb.targeted_ksd(x, q, sb.models.Gaussian(), **options)
    assert distance_from_q(x, 0.2, 2.0) == pytest.approx(direct, abs=1e-3)
