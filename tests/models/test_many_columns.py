"""Many uncorrelated columns: no matrix of all pairs of them is made."""

from __future__ import annotations

import pickle
import time
import tracemalloc
import warnings

import numpy as np
import pytest

import steinball as sb
from steinball.models.gaussian import MANY, Covariance
from steinball.models.growth import RadialScore
from steinball.models.standardized import standardized

pytestmark = pytest.mark.exact


def test_five_rows_of_twenty_thousand_columns_are_tested_without_a_matrix() -> None:
    """A matrix of 20,000 by 20,000 has 3.2 GB; the draws of the model have .13 GB."""
    x = np.random.default_rng(0).normal(size=(5, 20_000))
    tracemalloc.start()
    start = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = sb.ksd_test(x, sb.models.Gaussian(0.0, 1.0, dimension=20_000), rng=0)
    seconds, peak = time.process_time() - start, tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert 0.0 < result.pvalue <= 1.0
    assert peak < 1.0e9
    assert seconds < 15.0


def test_a_diagonal_covariance_is_that_of_its_matrix() -> None:
    variances, x = np.array([4.0, 0.25, 9.0]), np.random.default_rng(1).normal(size=(7, 3))
    alone, whole = (Covariance.of(value, "cov", 3) for value in (variances, np.diag(variances)))
    assert alone.correlated is None
    assert whole.correlated is not None
    for name in ("matrix", "root", "whitener", "inverse"):
        np.testing.assert_allclose(getattr(alone, name), getattr(whole, name), rtol=1e-15)
    for name in ("whiten", "pull_back", "color"):
        np.testing.assert_allclose(getattr(alone, name)(x), getattr(whole, name)(x), rtol=1e-14)
    assert alone.log_volume == pytest.approx(whole.log_volume)


def test_the_covariance_of_many_columns_is_there_when_it_is_asked_for() -> None:
    model = sb.models.Gaussian(1.0, 4.0, dimension=MANY + 1)
    assert "cov" not in vars(model)
    assert model.cov.shape == (MANY + 1, MANY + 1)
    assert model.cov[3, 3] == 4.0
    assert pickle.loads(pickle.dumps(model)).covariance[0, 0] == 4.0
    with pytest.raises(AttributeError, match="no attribute 'covv'"):
        _ = model.covv
    assert "cov" in vars(sb.models.Gaussian(1.0, 4.0, dimension=3))


def test_a_diagonal_says_how_steep_and_whether_round() -> None:
    center = np.zeros(3)
    for axes in (np.array([2.0, 2.0, 2.0]), np.array([1.0, 2.0, 4.0])):
        alone, whole = RadialScore(center, axes), RadialScore(center, np.diag(axes))
        assert alone.steepness == whole.steepness
        assert alone.isotropic_variance == whole.isotropic_variance


def test_other_scales_of_many_columns_are_standardized_one_by_one() -> None:
    d = MANY + 1
    scales = np.linspace(0.1, 10.0, d)
    z = np.random.default_rng(2).normal(size=(6, d))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ours = sb.ksd_test(3.0 + z * scales, sb.models.Gaussian(np.full(d, 3.0), scales**2), rng=0)
        plain = sb.ksd_test(z, sb.models.Gaussian(dimension=d), rng=0)
    assert ours.ksd == pytest.approx(plain.ksd, rel=1e-9)
    found = standardized(sb.models.Gaussian(np.full(d, 3.0), scales**2), z)
    assert found is not None
    np.testing.assert_allclose(found[0].variances, 1.0)


def test_more_columns_than_fit_are_refused_by_name() -> None:
    with pytest.raises(ValueError, match=r"100,001 columns, and at most 100,000.*transpose"):
        sb.ksd_test(np.zeros((2, 100_001)), sb.models.Gaussian(dimension=100_001))


def test_weights_of_modes_of_a_gaussian_are_refused_before_modes_are_looked_for() -> None:
    start = time.process_time()
    with pytest.raises(ValueError, match="the model has one"):
        sb.mode_weights_test(np.zeros((9, 2000)), sb.models.Gaussian(dimension=2000))
    assert time.process_time() - start < 2.0
