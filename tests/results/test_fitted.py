"""The result on a family."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

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


def test_a_fit_says_family_parameters_and_rows_first() -> None:
    result = sb.fit_test(np.random.default_rng(0).normal(3.0, 2.0, size=200), "normal", rng=0)
    first = str(result).splitlines()[0]
    assert first == "normal, n = 200: mean 3.03 ± 0.136, sd 1.92 ± 0.0859"
    known = sb.fit_test(np.random.default_rng(0).normal(size=80), stats.norm, known_params={"loc": 0.0}, rng=0)
    assert str(known).splitlines()[0].endswith("loc 0 (known)")
    many = sb.fit_test(np.random.default_rng(0).normal(size=(200, 4)), "normal", rng=0)
    assert "and 6 more\n" in str(many)
    own = sb.fit_test(np.random.default_rng(1).normal(size=30), lambda x: sb.models.Gaussian(x.mean(), x.var()), rng=0)
    assert str(own).splitlines()[0] == "<lambda>, n = 30"


def test_what_a_known_model_would_have_detected_is_not_said_of_a_fit() -> None:
    result = sb.fit_test(np.random.default_rng(0).exponential(size=100), "exponential", rng=0)
    assert "missed" not in str(result)
    with pytest.raises(TypeError, match="for a model that is known"):
        result.smallest_detectable()
