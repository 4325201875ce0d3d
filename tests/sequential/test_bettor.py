"""The books of a stream: bounded, blind to what comes, and whole after an error."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from steinball.kernels import InverseMultiquadric
from steinball.sequential import ledger
from steinball.sequential.stream import SequentialTest
from steinball.tilts import PolynomialTilt

pytestmark = pytest.mark.exact
Floats = NDArray[np.float64]

KERNEL, TILT = InverseMultiquadric(math.sqrt(2.0)), PolynomialTilt()


def score(x: Any) -> Any:
    return -x


def stream(n: int, d: int = 1, share: float = 0.2, place: float = 3.0, seed: int = 0) -> Floats:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, d))
    x[rng.random(n) < share] = place
    return x


def a_test(model: Any = score, **options: Any) -> SequentialTest:
    given = {"kernel": KERNEL, "tilt": TILT, "tau": 3.0, "contamination": 0.05, "rng": 0}
    return SequentialTest(model, **{**given, **options})


def test_kept_points_are_bounded_by_the_budget() -> None:
    test = a_test(budget=25).update(stream(500, 2))
    assert test._books is not None
    held = [array for array in test._books.state().values() if array.ndim]
    assert max(array.shape[0] for array in held if array.ndim == 2) <= 25
    assert test._books.kept.samples.shape == test._books.kept.spare_samples.shape == (25, 2)
    assert sum(array.size for array in held) < 4 * 25 * 2 + 25**2 + 25 + ledger.GRID.size * 20 + 2 * ledger.KEPT + 200


@pytest.mark.parametrize("options", [{}, {"strategy": "newton"}, {"budget": 20}, {"burn_in": 10, "kernel": None}])
def test_points_to_come_change_nothing_that_was(options: dict[str, Any]) -> None:
    x = stream(90)
    for cut in (11, 30, 75):
        other = x.copy()
        other[cut:] = np.random.default_rng(5).uniform(-5.0, 5.0, size=(90 - cut, 1))
        first, second = (a_test(**options).update(part) for part in (x, other))
        np.testing.assert_allclose(first.history[1][:cut], second.history[1][:cut], atol=1e-9)
        assert not np.allclose(first.history[1][cut:], second.history[1][cut:])
