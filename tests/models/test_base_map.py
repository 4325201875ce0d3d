"""Maps to standard normal data."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats

from steinball.models import Gaussian, GaussianMixture, StudentT
from steinball.models.base_map import normal_of, rosenblatt

pytestmark = pytest.mark.exact

COV = np.array([[2.0, 0.8], [0.8, 1.0]])
MODELS: dict[str, Any] = {
    "gaussian": Gaussian([1.0, -1.0], COV),
    "student t": StudentT(3.0, [1.0, -1.0], shape=COV),
    "mixture": GaussianMixture([0.3, 0.7], [[0.0, 0.0], [3.0, 1.0]], np.stack([COV, np.eye(2)])),
}


@pytest.mark.parametrize("name", MODELS)
def test_draws_become_independent_standard_normal_ones(name: str) -> None:
    z = MODELS[name].to_base(MODELS[name].sample(4000, rng=0))
    assert all(stats.kstest(column, "norm").pvalue > 1e-3 for column in z.T)
    assert abs(np.corrcoef(z.T)[0, 1]) < 4.0 / np.sqrt(4000)
    assert abs(np.corrcoef((z**2).T)[0, 1]) < 4.0 / np.sqrt(4000)


def test_on_the_line_the_map_is_the_quantile_of_the_distribution_function() -> None:
    x = np.linspace(-8.0, 8.0, 21)[:, None]
    np.testing.assert_allclose(StudentT(3.0).to_base(x), stats.norm.isf(stats.t(3.0).sf(x)), atol=1e-9)
    mixture = GaussianMixture([0.3, 0.7], [-1.0, 2.0])
    cdf = 0.3 * stats.norm.cdf(x, -1.0) + 0.7 * stats.norm.cdf(x, 2.0)
    np.testing.assert_allclose(mixture.to_base(x), stats.norm.ppf(cdf), atol=1e-6)


def test_tails_keep_their_digits_and_are_finite() -> None:
    np.testing.assert_allclose(
        normal_of(np.array([1e-300, 1.0]), np.array([1.0, 1e-300])), [-37.0471, 37.0471], rtol=2e-3
    )
    assert np.isfinite(normal_of(np.array([0.0, 1.0]), np.array([1.0, 0.0]))).all()
    one = rosenblatt(np.array([[[40.0, -3.0]]]), np.zeros(1), np.zeros((1, 2)))
    np.testing.assert_allclose(one, [[37.0, -3.0]])
