"""The wealth of a bettor on a stream, and its history."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from steinball.kernels import InverseMultiquadric
from steinball.sequential.stream import SequentialTest
from steinball.stein import SteinKernel
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


def test_the_wealth_is_linear_in_the_payoff_of_the_last_point() -> None:
    """No bet depends on the point it is made on: W(a) against the payoff of a is a straight line."""
    x = stream(40, seed=2)
    stein = SteinKernel(KERNEL, TILT)
    last = np.array([[-2.0], [0.3], [1.7]])
    past = stein(x, -x, x, -x).sum()
    payoff = stein(x, -x, last, -last).sum(axis=0) / math.sqrt(past)
    wealth = np.array([a_test().update(x).update(point).evalue for point in last])
    slope = (wealth[1] - wealth[0]) / (payoff[1] - payoff[0])
    assert wealth[2] == pytest.approx(wealth[0] + slope * (payoff[2] - payoff[0]), rel=1e-8)


def test_a_history_is_short_however_long_the_stream() -> None:
    test = a_test(budget=20)
    for part in np.split(stream(3000, share=0.0), 30):
        test.update(part)
    n, path = test.history
    assert n.size == path.size <= 512
    assert set(np.diff(n)) == {8}
    assert n[-1] == 3000
    assert path[-1] == test.log_evalue
