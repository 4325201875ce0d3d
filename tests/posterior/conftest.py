"""Chains whose distribution is known, and eight schools."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.signal import lfilter

from steinball.arrays import Floats

EFFECTS = np.array([28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0])
ERRORS = np.array([15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0])
"""The effects of coaching in eight schools and their standard errors (Rubin 1981)."""


@pytest.fixture(scope="session")
def schools() -> tuple[Floats, Floats]:
    return EFFECTS, ERRORS


@pytest.fixture(scope="session")
def chains() -> Any:
    """Autoregressions (chain, draw, d) whose draws are N(0, I), with a correlation from draw to draw."""

    def make(correlation: float, shape: tuple[int, int, int], seed: int) -> Floats:
        chains, draws, d = shape
        noise = np.random.default_rng(seed).normal(size=(chains, draws + 200, d))
        spread = np.sqrt(1.0 - correlation**2)
        return np.asarray(lfilter([spread], [1.0, -correlation], noise, axis=1)[:, 200:])

    return make
