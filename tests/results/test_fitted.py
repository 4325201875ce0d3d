"""The result on a family."""

from __future__ import annotations

import numpy as np
import pytest

import steinball as sb

pytestmark = pytest.mark.exact


def test_many_parameters_are_cut_short_in_the_summary_and_kept_in_the_dictionary() -> None:
    result = sb.fit_test(np.random.default_rng(0).normal(size=(200, 4)), "normal", rng=0)
    assert "and 6 more parameters" in result.summary(details=True)
    assert len(result.to_dict()["params"]) == 14
    assert result.to_dict()["schema"] == "steinball.fit/1"


def test_known_parameters_and_finite_differences_are_told() -> None:
    st = pytest.importorskip("scipy.stats")
    summary = sb.fit_test(
        np.random.default_rng(0).gamma(2.0, size=200), st.fisk, known_params={"loc": 0}, rng=0
    ).summary(details=True)
    assert "known" in summary
    assert "finite differences" in summary
