"""A model that was fitted on its own data is remarked on."""

from __future__ import annotations

import numpy as np
import pytest

import steinball as sb
from steinball.models import FittedOnDataWarning

pytestmark = pytest.mark.exact
X = np.random.default_rng(0).normal(3.0, 2.0, size=(100, 2))


def test_a_model_with_the_mean_of_the_data_is_warned_of() -> None:
    with pytest.warns(FittedOnDataWarning, match="sb.fit_test"):
        sb.ksd_test(X, sb.models.Gaussian(X.mean(axis=0), np.cov(X.T)), rng=0)
    with pytest.warns(FittedOnDataWarning, match="were centered by it"):
        sb.robust_ksd_test((X - X.mean(axis=0)) / X.std(axis=0), sb.models.Gaussian([0.0, 0.0]), 0.05, rng=0)


def test_known_models_grids_and_those_who_know_are_not_warned() -> None:
    sb.ksd_test(X, sb.models.Gaussian([3.0, 3.0]), rng=0)
    sb.ksd_test(np.linspace(-1.0, 1.0, 40), sb.models.Gaussian(), rng=0)
    sb.ksd_test(X, sb.models.Gaussian(X.mean(axis=0), np.cov(X.T)), check_model=False, rng=0)
    sb.fit_test(X, "normal", rng=0)
