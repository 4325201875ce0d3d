"""The mixture family."""

from __future__ import annotations

import numpy as np
import pytest

from steinball.fitting.family import difference_jacobian
from steinball.fitting.mixture import Mixture

pytestmark = pytest.mark.exact
RNG = np.random.default_rng(0)
X = np.vstack([RNG.normal(-2.0, 1.0, (120, 2)), RNG.normal(2.0, 0.5, (60, 2))])


def test_scores_in_two_dimensions_are_derivatives() -> None:
    family = Mixture(2, 2)
    params = family.fit(X)
    assert len(params) == len(family.names) == 11
    found = difference_jacobian(lambda at: np.asarray(family.model(at).log_density(X)), params)
    scores = family.parameter_scores(params, X)
    np.testing.assert_allclose(scores, found, atol=1e-6 * np.abs(scores).max())
    assert np.abs(scores.mean(axis=0)).max() < 1e-5


def test_the_order_of_rows_does_not_name_the_components() -> None:
    family = Mixture(2, 1)
    first, second = (family.fit(x[:, :1]) for x in (X, X[::-1]))
    np.testing.assert_allclose(first, second, atol=1e-4)
    assert first[1] < first[3]


def test_too_few_rows_are_refused() -> None:
    with pytest.raises(ValueError, match="at least 22 rows"):
        Mixture(2, 2).fit(X[:20])


def test_equal_points_do_not_swallow_a_component() -> None:
    x = np.vstack([X[:, :1], np.zeros((30, 1))])
    weights, _, covs = Mixture(3, 1).parts(Mixture(3, 1).fit(x))
    assert (covs > 0.0).all()
    assert abs(weights.sum() - 1.0) < 1e-12
