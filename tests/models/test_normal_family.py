"""The family of normal distributions, and covariances as parameters."""

from __future__ import annotations

import numpy as np
import pytest

from steinball.models.autodiff import difference_jacobian
from steinball.models.normal_family import NormalFamily, from_log_cholesky, log_cholesky, packed, unpacked

pytestmark = pytest.mark.exact

DATA = np.random.default_rng(1).normal(size=(60, 3)) @ np.array([[1.0, 0.5, 0.0], [0.0, 2.0, 0.3], [0.0, 0.0, 0.5]])


def test_scores_of_covariances_are_derivatives() -> None:
    family = NormalFamily(3)
    params = family.fit(DATA) * 1.1
    found = difference_jacobian(lambda at: np.asarray(family.model(at).log_density(DATA)), params)
    np.testing.assert_allclose(family.parameter_scores(params, DATA), found, atol=1e-6)
    natural = family.natural(params)
    np.testing.assert_allclose(family.score_basis(DATA) @ natural, family.score(params, DATA), atol=1e-10)
    np.testing.assert_allclose(family.from_natural(natural), params, atol=1e-12)
    np.testing.assert_allclose(family.from_working(family.to_working(params)), params, atol=1e-12)


def test_matrices_pack_and_unpack() -> None:
    cov = np.cov(DATA.T)
    np.testing.assert_array_equal(unpacked(packed(cov), 3), cov)
    np.testing.assert_allclose(from_log_cholesky(log_cholesky(cov), 3), cov, rtol=1e-12)


def test_too_few_rows_and_constant_columns_are_refused() -> None:
    for x in (DATA[:3], np.ones((9, 3))):
        with pytest.raises(ValueError, match="more rows than columns and no constant column"):
            NormalFamily(3).fit(x)
