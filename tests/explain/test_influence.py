from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

import steinball as sb
from steinball.explain.influence import leave_one_out

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
