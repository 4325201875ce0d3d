"""Squared distances: by the definition, in a metric, and without cancellation."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from steinball.kernels.distance import direct_squared_distances, metric_root, squared_distances

pytestmark = pytest.mark.exact

RNG = np.random.default_rng(0)
METRIC = np.array([[2.0, 0.5, 0.0], [0.5, 1.0, 0.3], [0.0, 0.3, 3.0]])


@pytest.mark.parametrize("d", [1, 3])
def test_they_are_the_squares_of_the_distances(d: int) -> None:
    x, y = RNG.normal(size=(7, d)), RNG.normal(size=(4, d))
    np.testing.assert_allclose(squared_distances(x, y), cdist(x, y, "sqeuclidean"), rtol=1e-13)


def test_a_metric_is_applied_to_the_differences() -> None:
    x, y = RNG.normal(size=(7, 3)), RNG.normal(size=(4, 3))
    apart = x[:, None] - y[None]
    expected = np.einsum("ijk,kl,ijl->ij", apart, METRIC, apart)
    np.testing.assert_allclose(squared_distances(x, y, METRIC), expected, rtol=1e-12)
    root = metric_root(METRIC)
    np.testing.assert_allclose(root @ root.T, METRIC, rtol=1e-13)


def test_a_large_offset_costs_no_digits() -> None:
    x = np.array([[0.0], [1.0]])
    np.testing.assert_array_equal(direct_squared_distances(x + 2.0**40, x + 2.0**40), [[0.0, 1.0], [1.0, 0.0]])


@pytest.mark.backend
def test_every_array_library_gives_the_same_distances(xp: Any) -> None:
    x, y = RNG.normal(size=(5, 3)), RNG.normal(size=(2, 3))
    found = squared_distances(xp.asarray(x), xp.asarray(y), METRIC)
    np.testing.assert_allclose(np.asarray(found), squared_distances(x, y, METRIC), rtol=1e-12)
