"""Robust aggregation: the joint decision by hand, one kernel as a special case, level and power by simulation."""

from __future__ import annotations

import json
import math
from itertools import count
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import steinball as sb
from steinball.calibration.betting import BettingJointNull, BettingNull
from steinball.calibration.boundary import BoundaryJointNull
from tests import rates

Floats = NDArray[np.float64]
LEVEL = 0.05


def contaminated(n: int, share: float, place: float, seed: int = 0) -> Floats:
    rng = np.random.default_rng([seed, n])
    return np.where(rng.random(n) < share, place, rng.normal(size=n))


@pytest.mark.exact
def test_the_joint_pvalue_is_the_share_of_draws_whose_largest_ratio_is_as_large() -> None:
    """By explicit feature vectors for three kernels, with one set of weights."""
    rng = np.random.default_rng(0)
    n, draws, theta = 30, 99, np.array([0.1, 0.2, 0.15])
    weights = rng.multinomial(n, np.full(n, 1.0 / n), size=draws) - 1
    features = [rng.normal(size=(n, d)) + 0.25 for d in (2, 3, 5)]
    means = [f.mean(axis=0) for f in features]
    ksds = np.array([np.linalg.norm(m) for m in means])
    moved = [weights @ f / n for f in features]
    null = BoundaryJointNull(
        ksds,
        np.array([np.linalg.norm(d, axis=1) for d in moved]),
        np.array([d @ m / np.linalg.norm(m) for d, m in zip(moved, means, strict=True)]),
    )
    excess = []
    for t, m, d in zip(theta, means, moved, strict=True):
        ends = [np.linalg.norm(r * m / np.linalg.norm(m) + d, axis=1) for r in (0.0, t)]
        excess.append(np.maximum(*ends) - t)
    scales = np.array([np.sort(e)[draws - 5] for e in excess])  # 95 of 100 with the data among them
    ours = ((ksds - theta) / scales).max()
    largest = (np.array(excess) / scales[:, None]).max(axis=0)
    assert null.statistic(theta) == pytest.approx(ours, rel=1e-9)
    assert null.pvalue(theta) == (1 + int((largest >= ours).sum())) / (draws + 1)


@pytest.mark.exact
def test_with_one_kernel_it_is_the_boundary_bootstrap() -> None:
    x, kernel = contaminated(200, 0.15, 8.0), sb.InverseMultiquadric(1.5)
    options: dict[str, Any] = {"calibration": sb.BoundaryBootstrap(199), "rng": 4}
    single = sb.robust_ksd_test(x, sb.models.Gaussian(), 0.05, kernel=kernel, **options)
    several = sb.robust_ksdagg_test(x, sb.models.Gaussian(), 0.05, kernels=[kernel], **options)
    assert several.pvalue == single.pvalue
    assert several.contamination_bound == pytest.approx(single.contamination_bound, abs=1e-6)
    assert (several.ksd, several.radius) == pytest.approx((single.ksd, single.radius))


@pytest.mark.exact
def test_bets_on_one_kernel_are_those_of_betting() -> None:
    x, kernel = contaminated(200, 0.3, 1.1), sb.InverseMultiquadric(1.5)
    options: dict[str, Any] = {"calibration": sb.Betting(), "tau": "auto", "rng": 0}
    single = sb.robust_ksd_test(x, sb.models.Gaussian(), 0.05, kernel=kernel, **options)
    several = sb.robust_ksdagg_test(x, sb.models.Gaussian(), 0.05, kernels=[kernel], **options)
    assert several.pvalue == pytest.approx(single.pvalue, rel=1e-9)
    assert several.rejected == single.rejected


@pytest.mark.exact
def test_wealth_is_averaged_at_every_time_and_not_its_maxima() -> None:
    """Two kernels that win at different times: the average of the maxima would be no e-process."""
    gains = np.zeros((2, 40))
    gains[0, :20], gains[0, 20:], gains[1, 20:] = 0.9, -0.9, 0.9
    nulls = tuple(BettingNull(row[None], tau=1.0, ksd=1.0) for row in gains)
    alone = [math.exp(BettingJointNull((null,)).statistic(np.zeros(1))) for null in nulls]
    assert math.exp(BettingJointNull(nulls).statistic(np.zeros(2))) < 0.75 * np.mean(alone)


@pytest.mark.exact
@pytest.mark.parametrize("strategy", ["mixture", "newton"])
def test_a_pvalue_of_bets_over_several_kernels_never_falls_as_all_radii_grow(strategy: str) -> None:
    """With Newton's bets for each radius itself it fell, and the contamination bound was any crossing of the level."""
    for seed in range(40):
        gains = np.clip(np.random.default_rng(seed).normal(0.15, 0.35, size=(2, 100)), -1.0, 1.0)
        null = BettingJointNull(tuple(BettingNull(row[None], 1.0, 1.0, strategy, 0.05) for row in gains))
        assert (np.diff([null.pvalue(np.full(2, radius)) for radius in np.linspace(0.0, 1.0, 51)]) >= 0.0).all()


@pytest.mark.exact
@pytest.mark.parametrize("calibration", [sb.BoundaryBootstrap(199), sb.Betting()], ids=["boundary", "betting"])
def test_statistic_threshold_pvalue_and_bound_tell_one_story(calibration: Any) -> None:
    for seed in range(2):
        x = contaminated(150, 0.35, 1.1, seed)
        result = sb.robust_ksdagg_test(x, sb.models.Gaussian(), 0.05, calibration=calibration, rng=seed)
        for share in np.linspace(0.0, 0.5, 11):
            for level in (0.05, 0.2):
                moved = result.at(contamination=share, level=level)
                assert moved.rejected == (moved.pvalue <= level) == (moved.statistic > moved.threshold)
                if abs(share - moved.contamination_bound) > 1e-3 and moved.rejected:
                    assert share < moved.contamination_bound + 0.01
        assert json.loads(json.dumps(result.to_dict(), allow_nan=False))["schema"] == "steinball.robust-ksdagg/2"
        assert "length scales" in result.summary(details=True)


@pytest.mark.exact
def test_the_summary_says_whose_contamination_is_bounded() -> None:
    clean, spoilt = contaminated(100, 0.0, 0.0), contaminated(300, 0.4, 2.0)
    assert "At confidence" not in sb.robust_ksdagg_test(clean, sb.models.Gaussian(), 0.05, rng=0).summary(details=True)
    for tau, whose in (("sample", "of these points are"), ("auto", "of the distribution they come from is")):
        said = sb.robust_ksdagg_test(spoilt, sb.models.Gaussian(), 0.05, tau=tau, rng=0).summary(details=True)
        assert f"{whose} contaminated" in " ".join(said.split())


@pytest.mark.exact
def test_one_number_on_the_ksd_scale_is_refused_and_sets_are_not() -> None:
    x = contaminated(50, 0.0, 0.0)
    with pytest.raises(ValueError, match="every kernel"):
        sb.robust_ksdagg_test(x, sb.models.Gaussian(), radius=sb.FixedRadius(0.1))
    found = sb.robust_ksdagg_test(x, sb.models.Gaussian(), radius=sb.radius.TotalVariation(0.05), rng=0)
    assert found.contamination is None
    assert not found.rejected
    with pytest.raises(TypeError, match="BoundaryBootstrap or Betting"):
        sb.robust_ksdagg_test(x, sb.models.Gaussian(), 0.05, calibration=sb.WeightedBootstrap(99))
    with pytest.raises(ValueError, match="upper bound"):
        sb.robust_ksdagg_test(x, sb.models.Gaussian(), 0.05, calibration=sb.Betting(), tau="sample")


@pytest.mark.exact
def test_bets_do_not_look_at_the_data_for_their_kernels() -> None:
    """Other data, the same length scales; and without a sampler the user has to give them."""
    first, second = (
        sb.robust_ksdagg_test(
            contaminated(60, 0.0, 0.0, seed) * (1 + seed), sb.models.Gaussian(), 0.05, calibration=sb.Betting()
        )
        for seed in range(2)
    )
    assert first.kernels == second.kernels
    with pytest.raises(ValueError, match="`kernel="):
        sb.robust_ksdagg_test(contaminated(60, 0.0, 0.0), lambda x: -x, 0.05, calibration=sb.Betting(), tau=5.0)


@pytest.mark.calibration
@pytest.mark.parametrize("place", [1.109, 10.0])
def test_the_level_is_kept_at_the_tolerated_share(place: float) -> None:
    """ε = ε₀ = .1 at n = 150: a rate of .05 or less, and not .13."""
    results = (
        sb.robust_ksdagg_test(
            contaminated(150, 0.1, place, seed), sb.models.Gaussian(), 0.1,
            calibration=sb.BoundaryBootstrap(199), kernels=[sb.InverseMultiquadric(s) for s in (0.5, 1.4, 4.0)],
            rng=seed, n_jobs=1, tau=("auto"),
        ).rejected
        for seed in count()
    )  # fmt: skip
    assert rates.happens(results, *rates.LEVEL)


@pytest.mark.exact
def test_how_much_is_tolerated_has_no_default() -> None:
    x = np.random.default_rng(0).normal(size=50)
    with pytest.raises(TypeError, match="give `contamination`, the tolerated share, or `radius`"):
        sb.robust_ksdagg_test(x, sb.models.Gaussian())
    with pytest.raises(TypeError, match="contamination"):
        sb.robust_ksd_test(x, sb.models.Gaussian())  # type: ignore[call-arg]
