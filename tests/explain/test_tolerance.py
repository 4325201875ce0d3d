from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from itertools import count
from typing import Any

import numpy as np
import pytest

import steinball as sb
from steinball.explain import Concession
from tests.rates import LEVEL, happens

pytestmark = pytest.mark.exact


def spoilt(n: int = 200) -> Any:
    x = np.random.default_rng(0).normal(size=n)
    x[: n // 5] = 3.0
    return x


MODEL = sb.models.Gaussian()
TESTS: dict[str, Callable[[Any], Any]] = {
    "boundary": lambda x: sb.robust_ksd_test(x, MODEL, 0.05, rng=0),
    "weighted": lambda x: sb.ksd_test(x, MODEL, tilt="auto", radius=0.1, tau="best", rng=0),
    "unbiased": lambda x: sb.robust_ksd_test(x, MODEL, 0.05, estimator="u", rng=0),
    "low rank": lambda x: sb.robust_ksd_test(x, MODEL, 0.05, engine="lowrank", rng=0),
    "bets": lambda x: sb.robust_ksd_test(x, MODEL, 0.05, calibration=sb.Betting(), rng=0),
    "bound": lambda x: sb.robust_ksd_test(x, MODEL, 0.05, calibration=sb.DeviationBound(), rng=0),
    "aggregated": lambda x: sb.robust_ksdagg_test(x, MODEL, 0.05, calibration=sb.BoundaryBootstrap(199), rng=0),
    "mmd": lambda x: sb.dcmmd_test(x, MODEL, contamination=0.05, n_resamples=199, rng=0),
    "weights": lambda x: sb.mode_weights_test(x, sb.models.GaussianMixture([0.5, 0.5], [-6.0, 6.0]), 0.05),
}


@pytest.mark.parametrize("test", TESTS.values(), ids=list(TESTS))
def test_the_curve_is_what_at_says(test: Any) -> None:
    result = test(spoilt())
    curve = result.tolerance_curve([0.3, 0.0, 0.1, 1.0])
    assert curve.contamination.tolist() == [0.0, 0.1, 0.3, 1.0]
    for share, pvalue, verdict in zip(curve.contamination, curve.pvalues, curve.verdicts, strict=True):
        there = result.at(contamination=float(share))
        assert (there.pvalue, there.verdict) == (pvalue, verdict)
    assert json.loads(json.dumps(curve.to_dict(), allow_nan=False)) == curve.to_dict()


@pytest.mark.parametrize(
    "test", [TESTS["boundary"], TESTS["low rank"], TESTS["bets"]], ids=["boundary", "low rank", "bets"]
)
def test_the_verdicts_change_where_the_bounds_say(test: Any) -> None:
    result = test(spoilt())
    curve = result.tolerance_curve()
    assert (np.diff(curve.pvalues) >= 0.0).all()
    misfit = np.array(curve.verdicts) == "misfit"
    assert misfit[0]
    assert curve.conceded == result.contamination_bound == result.conceded().share
    first, last = curve.contamination[~misfit].min(), curve.contamination[misfit].max()
    assert curve.conceded <= first + 1e-12
    assert last <= curve.conceded or result.engine == "lowrank"  # what is conceded holds at both ends of its bounds
    order = ["misfit", "undecided", "close in KSD"]
    assert list(curve.verdicts) == sorted(curve.verdicts, key=order.index)
    assert "must be conceded" in str(curve)


def test_all_three_zones_are_on_the_default_grid() -> None:
    curve = TESTS["boundary"](spoilt(400)).tolerance_curve()
    assert set(curve.verdicts) == {"misfit", "undecided", "close in KSD"}
    assert curve.contamination[0] == 0.0


def test_an_unbounded_kernel_is_warned_of_once() -> None:
    result = sb.ksd_test(spoilt(60), MODEL, rng=0)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        result.tolerance_curve()
    assert len(told) == 1


def test_a_grid_that_is_none_is_refused() -> None:
    result = TESTS["boundary"](spoilt(50))
    for grid in ([-0.1], [0.5, 1.2], [np.nan]):
        with pytest.raises(ValueError, match="`grid` must be a finite number in"):
            result.tolerance_curve(grid)
    with pytest.raises(ValueError, match="`grid` must hold at least one share"):
        result.tolerance_curve([])


def test_a_test_without_a_tolerance_says_so() -> None:
    result = sb.ksdagg_test(spoilt(50), MODEL, n_resamples=99, n_resamples_level=99, rng=0)
    with pytest.raises(TypeError, match="this test tolerates nothing"):
        result.tolerance_curve()


def test_what_is_conceded_is_said_in_words() -> None:
    assert "of the distribution they come from" in str(TESTS["boundary"](spoilt()).conceded())
    assert "does not come from the model" in " ".join(str(TESTS["boundary"](spoilt()).conceded()).split())
    clean = sb.robust_ksd_test(np.random.default_rng(0).normal(size=100), MODEL, 0.05, rng=0)
    assert str(clean.conceded()) == "No contamination has to be conceded at confidence 95 %."
    assert "they do not come from the model" in " ".join(
        str(Concession(0.2, 0.1, "of these points are contaminated")).split()
    )


@pytest.mark.calibration
def test_the_conceded_share_may_be_read_off_after_the_data_were_seen() -> None:
    """With 10 % of contamination where it shows most, the conceded share exceeds .1 in .05 of samples, not .13."""

    def misses(k: int) -> bool:
        rng = np.random.default_rng([5, k])
        x = rng.normal(size=100)
        x[rng.random(100) < 0.1] = 0.88
        return bool(sb.robust_ksd_test(x, MODEL, 0.0, rng=k, check_model=False).conceded().share > 0.1)

    assert happens(map(misses, count()), *LEVEL)
