"""Families on the half-line."""

from __future__ import annotations

import numpy as np
import pytest

import steinball as sb
from steinball.models.positive import Gamma, GammaFamily, LogNormal, LogNormalFamily, Weibull, WeibullFamily

pytestmark = pytest.mark.exact
MODELS = (
    Gamma(0.7, 2.0),
    Gamma(4.0, 0.5),
    LogNormal(0.3, 0.8),
    Weibull(0.8, 2.0),
    Weibull(3.0, 1.0),
)


@pytest.mark.parametrize("model", MODELS, ids=str)
def test_the_log_density_is_normalized_and_ends_at_0(model: Gamma) -> None:
    """By the substitution x = eʸ."""
    y = np.linspace(-60.0, 12.0, 200_001)
    values = np.exp(np.asarray(model.log_density(np.exp(y))) + y)
    np.testing.assert_allclose(np.sum(values) * (y[1] - y[0]), 1.0, rtol=1e-6)
    assert model.support.ends == ((0.0, np.inf),)


@pytest.mark.parametrize("model", MODELS, ids=str)
def test_models_are_tested_with_a_tilt_that_vanishes_at_the_edge(model: Gamma) -> None:
    assert sb.robust_ksd_test(model.sample(200, 3), model, contamination=0.05, rng=0).pvalue > 0.05


@pytest.mark.parametrize("family", [GammaFamily(), LogNormalFamily(), WeibullFamily()], ids=lambda f: f.label)
def test_values_that_are_not_positive_are_refused(family: GammaFamily) -> None:
    with pytest.raises(ValueError, match=r"must be positive for a family on \(0, ∞\), got 1 value"):
        family.start(np.array([[1.0], [0.0], [2.0]]))


def test_constant_data_have_no_log_normal_fit() -> None:
    with pytest.raises(ValueError, match="must not be constant"):
        LogNormalFamily().fit(np.ones((5, 1)))
