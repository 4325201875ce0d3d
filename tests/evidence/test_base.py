from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import steinball as sb

pytestmark = pytest.mark.exact

X = np.append(np.random.default_rng(0).normal(size=80), np.full(40, 2.5))
MODEL = sb.models.Gaussian()


@pytest.mark.parametrize("estimator", ["v", "u"])
def test_the_sums_of_a_result_are_its_own(estimator: str) -> None:
    result = sb.ksd_test(X, MODEL, estimator=estimator, radius=0.1, rng=0)
    (sums,) = result._sums()
    np.testing.assert_allclose(sums.contributions, result.contributions)
    assert sums.ksd == pytest.approx(result.ksd)
    assert sums.critical == result.radius + result.threshold
    assert (result.ksd > sums.critical) == result.rejected
    assert len(sums) == 120
    assert sums.rows.tolist() == list(range(120))


@pytest.mark.parametrize("x", [X, X[:80]], ids=["spoilt", "clean"])
def test_of_several_kernels_the_leading_one_is_first_and_decides(x: Any) -> None:
    robust = sb.robust_ksdagg_test(x, MODEL, 0.05, rng=0)
    standard = sb.ksdagg_test(x, MODEL, n_resamples=199, n_resamples_level=199, rng=0)
    for result in (robust, standard):
        sums = result._sums()
        assert len(sums) == len(result.kernels)
        assert sums[0].problem.stein.kernel is result.kernel
        assert sums[0].ksd == pytest.approx(result.ksd)
        assert any(one.ksd > one.critical for one in sums) == result.rejected


def test_bets_have_no_critical_distance() -> None:
    assert math.isnan(sb.robust_ksd_test(X, MODEL, 0.05, calibration=sb.Betting(), rng=0)._sums()[0].critical)
    assert math.isnan(sb.robust_ksdagg_test(X, MODEL, 0.05, calibration=sb.Betting(), rng=0)._sums()[0].critical)


def test_a_curve_rejects_nothing_where_the_quantile_of_a_u_statistic_is_negative() -> None:
    result = sb.ksd_test(X, MODEL, estimator="u", level=0.5, rng=0)
    curve = result._evidence.curve(sb.FixedRadius(0.0), np.array([0.0]), 0.5)
    assert math.isinf(result.threshold)
    assert curve.pvalues[0] == result.pvalue <= 0.5
    assert curve.verdicts == (result.verdict,) == ("undecided",)


def test_where_the_tolerated_set_has_no_size_its_radius_slides() -> None:
    both = sb.Huber(0.02) + sb.radius.ScoreError(0.05)
    result = sb.ksd_test(X, MODEL, radius=both, tilt="auto", tau="best", rng=0)
    sliding = result._evidence.sliding(result._tolerated)
    assert sliding == sb.FixedRadius(result.radius)
    assert result.radius > 0.0
    same = result.at(radius=sliding)
    assert (same.pvalue, same.radius) == (result.pvalue, result.radius)
