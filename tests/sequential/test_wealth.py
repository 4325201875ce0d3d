"""The wealth of a bettor on a stream, and its history."""

from __future__ import annotations

import math

import numpy as np
import pytest

from steinball.stein import SteinKernel
from tests.sequential.streams import KERNEL, TILT, a_test, stream

pytestmark = pytest.mark.exact


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
