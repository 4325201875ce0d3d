"""What keeps the workers of the suite small."""

from __future__ import annotations

import numpy as np
import pytest

from tests.housekeeping import give_back, resident

pytestmark = pytest.mark.exact


def test_compiled_programs_are_dropped_and_can_be_made_again() -> None:
    jax = pytest.importorskip("jax")
    twice = jax.jit(lambda x: 2.0 * x)
    assert float(twice(1.0)) == 2.0
    assert give_back(0.0) == (resident() > 0)
    assert float(twice(np.float64(3.0))) == 6.0
