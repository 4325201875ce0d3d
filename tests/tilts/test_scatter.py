"""The robust scatter: against the definition, and against outliers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import steinball as sb
from steinball.tilts import PolynomialTilt
from steinball.tilts.scatter import median_and_scales, robust_scatter

pytestmark = pytest.mark.exact

Floats = NDArray[np.float64]


def toeplitz(d: int, rho: float) -> Floats:
    place = np.arange(d)
    return np.asarray(rho ** np.abs(place[:, None] - place))


def draws(n: int, d: int, rho: float = 0.9, seed: int = 0) -> Floats:
    return np.random.default_rng(seed).multivariate_normal(np.zeros(d), toeplitz(d, rho), size=n)


def mad(v: Floats) -> float:
    return float(1.4826 * np.median(np.abs(v - np.median(v))))


def one_round(x: Floats) -> tuple[Floats, Floats]:
    """Center and root of OGK with the quadrant correlation, entry by entry (Maronna and Zamar 2002)."""
    n, d = x.shape
    u = np.eye(d)
    for j in range(d):
        for k in range(j):
            above = (x[:, j] > np.median(x[:, j])) == (x[:, k] > np.median(x[:, k]))
            u[j, k] = u[k, j] = np.sin(np.pi * (above.sum() / n - 0.5))
    a = np.diag([mad(x[:, j]) for j in range(d)]) @ np.linalg.eigh(u)[1]
    z = (x - np.median(x, axis=0)) @ np.linalg.inv(a).T
    return np.median(x, axis=0) + a @ np.median(z, axis=0), a @ np.diag([mad(z[:, j]) for j in range(d)])


def by_definition(x: Floats) -> tuple[Floats, Floats]:
    """Two rounds; the second does not scale again what the first has scaled."""
    center, root = one_round(x)
    again, second = one_round((x - center) @ np.linalg.inv(root).T)
    return center + root @ again, root @ second @ second.T @ root.T


@pytest.mark.parametrize("d", [1, 2, 5])
def test_it_is_what_the_definition_says(d: int) -> None:
    x = draws(200, d) + np.arange(d)
    center, covariance = by_definition(x)
    found = robust_scatter(x)
    np.testing.assert_allclose(found.center, center, atol=1e-12)
    np.testing.assert_allclose(found.covariance, covariance, atol=1e-12)
    np.testing.assert_allclose(found.precision @ found.covariance, np.eye(d), atol=1e-9)


def test_many_normal_rows_give_their_covariance() -> None:
    found = robust_scatter(draws(20_000, 4))
    np.testing.assert_allclose(found.center, np.zeros(4), atol=0.05)
    np.testing.assert_allclose(found.covariance, toeplitz(4, 0.9), atol=0.1)


@pytest.mark.parametrize("share", [0.05, 0.2, 0.3])
def test_outliers_move_it_by_a_bounded_amount_however_far_they_lie(share: float) -> None:
    clean = robust_scatter(draws(1000, 3)).covariance
    moved = []
    for z in (1e2, 1e6, 1e12):
        x = draws(1000, 3)
        x[: int(1000 * share)] = [z, 0.0, -z]
        moved.append(robust_scatter(x))
    np.testing.assert_allclose(moved[1].covariance, moved[2].covariance, rtol=1e-6)
    assert max(np.abs(found.center).max() for found in moved) < 10.0
    assert np.linalg.eigvalsh(moved[2].covariance)[-1] < 100.0 * np.linalg.eigvalsh(clean)[-1]


def test_scales_and_places_of_columns_are_followed() -> None:
    x, units = draws(300, 3), np.array([1e-6, 1.0, 1e6])
    plain, moved = robust_scatter(x), robust_scatter(x * units + 7.0 * units)
    np.testing.assert_allclose(moved.center, (plain.center + 7.0) * units, rtol=1e-6)
    np.testing.assert_allclose(moved.covariance, plain.covariance * units * units[:, None], rtol=1e-6)


@pytest.mark.parametrize(
    "x",
    [
        draws(10, 30),
        np.column_stack([draws(50, 1), np.full(50, 3.0)]),
        np.repeat(draws(40, 1), 3, axis=1),
        np.ones((20, 2)),
        np.round(draws(50, 2)),
        draws(200, 2).astype(np.float32),
        [[0.0, 1.0], [2.0, 3.0]],
    ],
    ids=["more columns than rows", "constant column", "equal columns", "equal rows", "rounded", "float32", "two rows"],
)
def test_the_inverse_always_exists_and_makes_a_tilt(x: Any) -> None:
    found = robust_scatter(x)
    assert found.center.dtype == found.covariance.dtype == np.float64
    assert np.linalg.eigvalsh(found.covariance)[0] > 0.0
    PolynomialTilt(center=found.center, precision=found.precision)


def test_a_flat_direction_is_a_millionth_as_wide_as_the_widest_in_every_case() -> None:
    values = np.linalg.eigvalsh(robust_scatter(np.repeat(draws(40, 1), 3, axis=1)).covariance)
    np.testing.assert_array_less(0.1e-12, values[:2] / values[2])
    np.testing.assert_array_less(values[:2] / values[2], 10e-12)


def test_the_median_and_scales_are_those_of_each_column() -> None:
    center, scales = median_and_scales(np.array([[0.0, 5.0], [1.0, 5.0], [5.0, 5.0]]))
    np.testing.assert_allclose(center, [1.0, 5.0])
    np.testing.assert_allclose(scales, [1.4826, 1.4826])


def test_what_is_no_sample_is_refused() -> None:
    with pytest.raises(ValueError, match="at least 2 rows"):
        robust_scatter([[1.0, 2.0]])
    with pytest.raises(ValueError, match="NaN"):
        robust_scatter([[1.0], [np.nan]])


def test_an_inverse_that_is_symmetric_up_to_rounding_is_a_precision_and_a_metric() -> None:
    inverse = np.linalg.inv(toeplitz(5, 0.9))
    assert not np.allclose(inverse, inverse.T, rtol=1e-10, atol=0.0)
    for held in (PolynomialTilt(precision=inverse).precision, sb.InverseMultiquadric(1.0, metric=inverse).metric):
        assert np.array_equal(held, held.T)
        np.testing.assert_allclose(held, inverse, atol=1e-12)


def test_a_column_that_is_mostly_constant_has_the_median_deviation_of_the_others_of_its_rows() -> None:
    x = np.column_stack([np.r_[np.zeros(6), 1.0, 2.0, 1e9], np.arange(9.0), np.full(9, 7.0)])
    center, scales = median_and_scales(x)
    assert center.tolist() == [0.0, 4.0, 7.0]
    assert scales == pytest.approx([1.4826 * 2.0, 1.4826 * 2.0, 1.4826 * 2.0])
    assert median_and_scales(1e-200 * x[:, 1:2], squared=False)[1] == pytest.approx([1.4826 * 2e-200])
