"""Chains whose distribution is known."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.signal import lfilter

from steinball.arrays import Floats


@pytest.fixture(scope="session")
def chains() -> Any:
    """Autoregressions (chain, draw, d) whose draws are N(0, I), with a correlation from draw to draw."""

    def make(correlation: float, shape: tuple[int, int, int], seed: int) -> Floats:
        chains, draws, d = shape
        noise = np.random.default_rng(seed).normal(size=(chains, draws + 200, d))
        spread = np.sqrt(1.0 - correlation**2)
        return np.asarray(lfilter([spread], [1.0, -correlation], noise, axis=1)[:, 200:])

    return make
