"""Eight schools."""

from __future__ import annotations

import numpy as np
import pytest

from steinball.arrays import Floats

EFFECTS = np.array([28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0])
ERRORS = np.array([15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0])
"""The effects of coaching in eight schools and their standard errors (Rubin 1981)."""


@pytest.fixture(scope="session")
def schools() -> tuple[Floats, Floats]:
    return EFFECTS, ERRORS
