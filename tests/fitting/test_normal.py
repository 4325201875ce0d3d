"""The normal family in several dimensions."""

from __future__ import annotations

import numpy as np
import pytest

from steinball.fitting.family import difference_jacobian
from steinball.fitting.normal import Normal, from_log_cholesky, log_cholesky, packed, unpacked

pytestmark = pytest.mark.exact
X = np.random.default_rng(1).normal(size=(60, 3)) @ np.array([[1.0, 0.5, 0.0], [0.0, 2.0, 0.3], [0.0, 0.0, 0.5]])


def test_scores_of_covariances_are_derivatives() -> None:
    family = Normal(3)
    params = family.fit(X) * 1.1
    found = difference_jacobian(lambda at: np.asarray(family.model(at).log_density(X)), params)
    np.testing.assert_allclose(family.parameter_scores(params, X), found, atol=1e-6)
    natural = family.natural(params)
    np.testing.assert_allclose(family.score_basis(X) @ natural, family.score(params, X), atol=1e-10)
    np.testing.assert_allclose(family.from_natural(natural), params, atol=1e-12)
    np.testing.assert_allclose(family.from_working(family.to_working(params)), params, atol=1e-12)


def test_matrices_pack_and_unpack() -> None:
    cov = np.cov(X.T)
    np.testing.assert_array_equal(unpacked(packed(cov), 3), cov)
    np.testing.assert_allclose(from_log_cholesky(log_cholesky(cov), 3), cov, rtol=1e-12)


def test_too_few_rows_and_constant_columns_are_refused() -> None:
    for x in (X[:3], np.ones((9, 3))):
        with pytest.raises(ValueError, match="more rows than columns and no constant column"):
            Normal(3).fit(x)
