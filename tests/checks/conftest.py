"""Chains for the tests of dependent rows."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.signal import lfilter

Floats = NDArray[np.float64]


def autoregression(n: int, d: int, rho: float, rng: np.random.Generator) -> Floats:
    """A stationary chain with standard normal rows: x' = ρx + √(1 − ρ²) e."""
    noise = rng.normal(size=(n, d))
    noise[1:] *= np.sqrt(1.0 - rho**2)
    return np.asarray(lfilter([1.0], [1.0, -rho], noise, axis=0))


@pytest.fixture
def chain() -> Callable[..., Floats]:
    return autoregression
