"""What keeps the workers of the suite small."""

from __future__ import annotations

import numpy as np
import pytest

from tests.housekeeping import STEP, Housekeeper, give_back

pytestmark = pytest.mark.exact


def test_compiled_programs_are_dropped_and_can_be_made_again() -> None:
    jax = pytest.importorskip("jax")
    twice = jax.jit(lambda x: 2.0 * x)
    assert float(twice(1.0)) == 2.0
    give_back()
    assert float(twice(np.float64(3.0))) == 6.0


def test_memory_is_given_back_once_and_again_only_after_it_has_grown(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = iter([100, 90, 90, 90 + STEP, 91 + STEP, 95])
    monkeypatch.setattr("tests.housekeeping.resident", lambda: next(sizes))
    housekeeper = Housekeeper(50)
    assert housekeeper.tidy()
    assert not housekeeper.tidy()
    assert not housekeeper.tidy()
    assert housekeeper.tidy()
    assert housekeeper.threshold == 95 + STEP
