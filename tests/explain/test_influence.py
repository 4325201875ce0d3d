from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

import steinball as sb
from steinball.explain.influence import far_points, leave_one_out

pytestmark = pytest.mark.exact

FIXED: dict[str, Any] = {"kernel": sb.InverseMultiquadric(1.0), "rng": 0}


@pytest.mark.parametrize("estimator", ["v", "u"])
def test_d_without_a_point_is_that_of_the_other_points(estimator: str) -> None:
    x = np.random.default_rng(1).normal(0.5, size=(40, 2))
    result = sb.ksd_test(x, lambda x: -x, estimator=estimator, **FIXED)
    found = leave_one_out(result._sums()[0])
    for i in (0, 7, 39):
        without = sb.ksd_test(np.delete(x, i, axis=0), lambda x: -x, estimator=estimator, **FIXED).ksd
        assert found.ksd[i] == pytest.approx(without, rel=1e-9, abs=1e-12)
    np.testing.assert_allclose(found.change, found.ksd - result.ksd)


def test_the_point_that_makes_the_decision_is_found() -> None:
    x = np.random.default_rng(0).normal(size=100)
    x[17] = 60.0  # to an untilted test one point is enough
    result = sb.ksd_test(x, lambda x: -x, **FIXED)
    sums = result._sums()[0]
    between = 0.5 * (result.ksd + leave_one_out(sums).ksd[17])
    assert leave_one_out(dataclasses.replace(sums, critical=between)).flips.tolist() == [17]
    assert leave_one_out(dataclasses.replace(sums, critical=np.inf)).flips.size == 0
    assert leave_one_out(dataclasses.replace(sums, critical=np.nan)).flips.size == 0


def test_two_points_are_enough() -> None:
    for estimator in ("v", "u"):
        result = sb.ksd_test(
            [0.0, 1.0], lambda x: -x, estimator=estimator, calibration=sb.WeightedBootstrap(99), **FIXED
        )
        assert np.isfinite(leave_one_out(result._sums()[0]).ksd).all()


def test_a_test_that_bets_says_nothing_of_single_points() -> None:
    x = np.random.default_rng(0).normal(3.0, size=60)
    result = sb.robust_ksd_test(x, sb.models.Gaussian(), 0.05, calibration=sb.Betting(), rng=0)
    assert result.rejected
    assert result.explain().influence.flips.size == 0


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
