"""Families in standardized coordinates."""

from __future__ import annotations

import numpy as np
import pytest

import steinball as sb
from steinball.fitting import as_family
from steinball.models.differences import difference_jacobian
from steinball.models.family import Family
from steinball.models.moved_family import MovedFamily
from steinball.models.standardized import Standardization
from steinball.tilts.scatter import Scatter

pytestmark = pytest.mark.exact

COV = np.array([[100.0, 0.9], [0.9, 0.01]])
MOVE = Standardization.of(None, Scatter(np.array([3.0, -1.0]), COV))
X = np.random.default_rng(0).multivariate_normal([3.0, -1.0], COV, size=300)


@pytest.mark.parametrize("name", ["normal", "mixture:2"])
def test_parameters_are_those_of_the_data_and_scores_those_of_z(name: str) -> None:
    family = as_family(name, 2)
    assert isinstance(family, Family)
    x = X if name == "normal" else np.where(np.arange(len(X))[:, None] % 2 == 0, X, X + np.array([60.0, 0.0]))
    moved, z = MovedFamily(family, MOVE), MOVE(x)
    params = moved.fit(z)
    np.testing.assert_allclose(params, family.fit(x), rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(moved.score(params, z), MOVE.pulled(family.score(params, x)), rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(
        moved.parameter_scores(params, z), family.parameter_scores(params, x), rtol=1e-5, atol=1e-5
    )
    np.testing.assert_allclose(moved.start(z), family.start(x), rtol=1e-5, atol=1e-8)
    np.testing.assert_allclose(moved.from_working(moved.to_working(params)), params, rtol=1e-6, atol=1e-9)
    steps = 1e-6 * np.maximum(np.abs(params), 1e-3)

    def densities(at: np.ndarray) -> np.ndarray:
        return np.asarray(moved.model(at).log_density(z[:20]))  # type: ignore[attr-defined]

    slopes = difference_jacobian(densities, params, steps)
    np.testing.assert_allclose(
        moved.parameter_scores(params, z[:20]), slopes, rtol=2e-3, atol=2e-3 * np.abs(slopes).max()
    )


def test_draws_are_those_of_z() -> None:
    moved = MovedFamily(as_family("normal", 2), MOVE)  # type: ignore[arg-type]
    model = moved.model(moved.fit(MOVE(X)))
    assert isinstance(model.model, sb.models.Gaussian)  # type: ignore[attr-defined]
    np.testing.assert_allclose(np.cov(model.sample(4000, np.random.default_rng(0)).T), np.cov(MOVE(X).T), atol=0.1)  # type: ignore[attr-defined]
