"""Whole numbers against a density are remarked where their step can be seen."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from scipy import stats

import steinball as sb
from steinball.models import RoundedDataWarning

pytestmark = pytest.mark.exact

X = np.random.default_rng(0).normal(size=(100, 2))
MODEL = sb.models.Gaussian(dimension=2)


def test_rounded_data_are_remarked_with_the_radius_for_them() -> None:
    with pytest.warns(RoundedDataWarning, match=r"whole numbers.*Wasserstein\.rounding\(1\.0, dimension=2\)"):
        sb.ksd_test(np.round(2.0 * X), MODEL, rng=0)


def test_fine_steps_fractions_and_few_points_are_not() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for x in (np.round(50.0 * X), np.round(X, 1), np.round(2.0 * X)[:20], 1e6 + 1e-6 * X):
            sb.ksd_test(x, MODEL, rng=0)


@pytest.mark.parametrize(
    "model", [stats.gamma(3.0, scale=2.0), sb.in_base_space(stats.gamma(3.0, scale=2.0))], ids=["SciPy", "asked for"]
)
def test_whole_numbers_are_remarked_where_they_are_tested_in_base_space(model: Any) -> None:
    x = np.ceil(stats.gamma(3.0, scale=2.0).rvs(100, random_state=0))
    with pytest.warns(RoundedDataWarning, match=r"whole numbers.*Wasserstein\.rounding.*`sb\.as_model\(model\)`"):
        result = sb.robust_ksd_test(x, model, contamination=0.05, rng=0)
    assert result.to_dict()["details"]["tested in"] == "base space"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sb.robust_ksd_test(x + 0.25, model, contamination=0.05, rng=0)


def test_whole_numbers_on_an_edge_are_whole() -> None:
    x = np.ceil(stats.gamma(3.0, scale=2.0).rvs(100, random_state=0))
    x[7] = 0.0  # moved off the edge by next to nothing
    with pytest.warns(RoundedDataWarning):
        sb.robust_ksd_test(x, sb.as_model(stats.gamma(3.0, scale=2.0)), contamination=0.05, rng=0)


def test_who_tolerates_the_rounding_is_not_told_of_it() -> None:
    x, rounding = np.round(2.0 * X), sb.Wasserstein.rounding(1.0, dimension=2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for radius in (rounding, sb.Huber(0.05) + rounding, sb.radius.ScoreError(0.01, base=rounding)):
            sb.ksd_test(x, MODEL, tilt="auto", radius=radius, tau="auto", rng=0)
        sb.robust_ksdagg_test(x, MODEL, radius=rounding, rng=0)
    with pytest.warns(RoundedDataWarning):
        sb.ksd_test(x, MODEL, tilt="auto", radius=sb.Wasserstein.rounding(0.5, dimension=2), rng=0)
