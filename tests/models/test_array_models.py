"""Draws as a model: their shape, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

import steinball as sb
from steinball.models.knowledge import Knowledge

pytestmark = pytest.mark.exact


def test_draws_are_rows_and_nothing_else_is_known() -> None:
    model = sb.from_draws(np.arange(12.0))
    assert model.draws.shape == (12, 1)
    assert model.dimension == 1
    known = Knowledge(model)
    assert known.second_sample is not None
    assert (known.sampler, known.log_density, known.has_score) == (None, None, False)
    assert repr(model) == "from_draws(<12 × 1 numbers>)"


def test_what_is_no_sample_is_refused_by_name() -> None:
    with pytest.raises(ValueError, match="`draws`"):
        sb.from_draws([1.0, np.nan, 2.0])
    with pytest.raises(ValueError, match="at least 10 rows"):
        sb.region_test([1.0, 2.0], sb.from_draws(np.arange(5.0)), contamination=0.05)
    with pytest.raises(ValueError, match="`model` has 2 columns, but `x` has 1"):
        sb.region_test([1.0, 2.0], sb.from_draws(np.zeros((50, 2))), contamination=0.05)
    with pytest.raises(TypeError):
        sb.ksd_test(np.zeros(5), sb.from_draws(np.arange(50.0)))
