"""Families on the half-line."""

from __future__ import annotations

import numpy as np
import pytest

import steinball as sb
from steinball.fitting.positive import Gamma, GammaModel, LogNormal, LogNormalModel, Weibull, WeibullModel

pytestmark = pytest.mark.exact
MODELS = (
    GammaModel(0.7, 2.0),
    GammaModel(4.0, 0.5),
    LogNormalModel(0.3, 0.8),
    WeibullModel(0.8, 2.0),
    WeibullModel(3.0, 1.0),
)


@pytest.mark.parametrize("model", MODELS, ids=str)
def test_the_log_density_is_normalized_and_ends_at_0(model: GammaModel) -> None:
    """By the substitution x = eʸ."""
    y = np.linspace(-60.0, 12.0, 200_001)
    values = np.exp(np.asarray(model.log_density(np.exp(y))) + y)
    np.testing.assert_allclose(np.sum(values) * (y[1] - y[0]), 1.0, rtol=1e-6)
    assert model.support.ends == ((0.0, np.inf),)


@pytest.mark.parametrize("model", MODELS, ids=str)
def test_models_are_tested_with_a_tilt_that_vanishes_at_the_edge(model: GammaModel) -> None:
    assert sb.robust_ksd_test(model.sample(200, 3), model, contamination=0.05, rng=0).pvalue > 0.05


@pytest.mark.parametrize("family", [Gamma(), LogNormal(), Weibull()], ids=lambda f: f.label)
def test_values_that_are_not_positive_are_refused(family: Gamma) -> None:
    with pytest.raises(ValueError, match=r"must be positive for a family on \(0, ∞\), got 1 value"):
        family.start(np.array([[1.0], [0.0], [2.0]]))


def test_constant_data_have_no_log_normal_fit() -> None:
    with pytest.raises(ValueError, match="must not be constant"):
        LogNormal().fit(np.ones((5, 1)))
