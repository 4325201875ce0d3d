from __future__ import annotations

import numpy as np
import pytest

import steinball as sb
from steinball.explain.far import far_points

pytestmark = pytest.mark.exact


@pytest.mark.parametrize("d", [1, 3, 50])
@pytest.mark.parametrize("seed", range(5))
def test_ordinary_points_are_not_far(d: int, seed: int) -> None:
    assert far_points(np.random.default_rng(seed).normal(size=(300, d))).size == 0


@pytest.mark.parametrize("d", [1, 3, 50])
def test_lone_points_are_listed_and_the_farthest_is_first(d: int) -> None:
    x = np.random.default_rng(0).normal(size=(300, d))
    x[4], x[9] = 20.0, -1e6
    assert far_points(x).tolist() == [9, 4]


def test_a_group_is_not_far() -> None:
    x = np.random.default_rng(0).normal(size=(300, 2))
    x[:15] = 30.0
    assert far_points(x).size == 0


def test_coordinates_are_measured_by_their_own_spread() -> None:
    x = np.random.default_rng(0).normal(size=(300, 2)) * [1e6, 1e-3]
    x[5, 1] = 0.1
    assert far_points(x).tolist() == [5]


def test_constant_columns_and_few_points_are_no_error() -> None:
    assert far_points(np.zeros((5, 2))).size == 0
    assert far_points(np.array([[0.0], [1.0]])).size == 0
    assert far_points(np.array([[0.0], [0.0], [0.0], [5.0]])).tolist() in ([], [3])


def test_a_lone_far_point_does_not_lead_a_tilted_test_and_is_listed_apart() -> None:
    x = np.random.default_rng(0).normal(size=400)
    x[7], x[100:160] = 1e4, 2.5
    found = sb.robust_ksd_test(x, sb.models.Gaussian(), 0.02, rng=0).explain()
    assert 7 not in found.points
    assert found.far.tolist() == [7]
    assert "Far from all others: 1 point (row 7)" in str(found)
    assert found.shares(found.far)[0] < 0.01


def test_a_lone_far_point_that_causes_a_rejection_leads() -> None:
    x = np.random.default_rng(0).normal(size=400)
    x[7] = 1e3
    found = sb.ksd_test(x, sb.models.Gaussian(), rng=0).explain()
    assert found.points[0] == 7
    assert found.far.tolist() == [7]


def test_of_very_many_points_the_outermost_are_looked_at() -> None:
    x = np.random.default_rng(0).normal(size=(200_000, 1))
    x[77] = 40.0
    assert far_points(x)[0] == 77
