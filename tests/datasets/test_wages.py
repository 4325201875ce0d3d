"""The wages: all rows of the survey's table, in an order that tells nothing."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import steinball as sb
from steinball.datasets import load_wages

pytestmark = pytest.mark.exact


def test_the_wages_are_those_of_the_survey() -> None:
    wages = load_wages()
    assert wages.shape == (25631, 1)
    assert wages.dtype == np.float64
    assert (wages.min(), wages.max()) == (50.39, 18777.2)
    assert int((wages == 712.25).sum()) == 808
    assert wages.sum() == pytest.approx(16408004.26)


def test_the_order_is_always_the_same_and_looks_independent() -> None:
    np.testing.assert_array_equal(load_wages(), load_wages())
    with warnings.catch_warnings():
        warnings.simplefilter("error", sb.cautions.DependentRowsWarning)
        sb.check(load_wages()[:500], sb.models.Gaussian(650.0, sd=450.0), tolerance=0.1, rng=0)
