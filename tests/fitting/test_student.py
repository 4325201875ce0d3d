"""The Student family."""

from __future__ import annotations

import numpy as np
import pytest

from steinball.fitting.student import Student

pytestmark = pytest.mark.exact


def test_normal_data_end_at_the_largest_degrees_of_freedom() -> None:
    """Uniform data have lighter tails than any member: the likelihood rises with the degrees of freedom."""
    df, loc, scale = Student().fit(np.random.default_rng(0).uniform(-1.0, 1.0, (300, 1)))
    assert 50.0 < df <= 200.0 + 1e-9
    assert abs(loc) < 0.1
    assert 0.4 < scale < 0.8
