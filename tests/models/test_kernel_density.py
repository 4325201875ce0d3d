"""A kernel density estimate against the mixture that it is."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from steinball.models import GaussianMixture
from steinball.models.kernel_density import KernelDensity

RNG = np.random.default_rng(0)
COV = np.array([[0.5, 0.1], [0.1, 0.3]])
DENSITY = KernelDensity(RNG.normal(size=(30, 2)), COV, RNG.uniform(size=30))
MIXTURE = GaussianMixture(DENSITY.weights, DENSITY.centers, COV)
X = RNG.normal(size=(40, 2)) * 3.0

pytestmark = pytest.mark.exact


def test_it_is_the_mixture_of_its_points() -> None:
    for name in ("score", "log_density", "to_base"):
        np.testing.assert_allclose(getattr(DENSITY, name)(X), getattr(MIXTURE, name)(X), rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(DENSITY.location, MIXTURE.location)
    np.testing.assert_allclose(DENSITY.covariance, MIXTURE.covariance)


def test_the_score_is_finite_far_out_and_its_growth_is_a_bound() -> None:
    far = np.concatenate([X * 10.0**k for k in (0, 3, 8)])
    scores = np.linalg.norm(DENSITY.score(far), axis=1)
    assert np.isfinite(scores).all()
    center = np.array([0.3, -0.2])
    bound = DENSITY.score_growth(center)
    assert (scores <= bound.at(np.linalg.norm(far - center, axis=1)) * (1.0 + 1e-9)).all()


def test_many_points_are_worked_through_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = DENSITY.score(X)
    monkeypatch.setattr("steinball.models.kernel_density._TOGETHER", 64)
    np.testing.assert_allclose(DENSITY.score(X), whole)


def test_draws_have_its_distribution() -> None:
    z = DENSITY.to_base(DENSITY.sample(2000, rng=1))
    assert all(stats.kstest(column, "norm").pvalue > 1e-3 for column in z.T)
