"""What the test functions do with calibrations, jumps and suprema that go beyond the paper."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import steinball as sb
from steinball.calibration import ModelMoments
from steinball.jumps import ModeJumps, SeparatedModesWarning

pytestmark = pytest.mark.exact

GAUSSIAN = sb.models.Gaussian()
MODES = sb.models.GaussianMixture([0.5, 0.5], [-6.0, 6.0])
X = np.random.default_rng(0).normal(size=200)
SPOILT = np.where(np.arange(200) % 4 == 0, 2.0, X)
UNEVEN = sb.models.GaussianMixture([0.85, 0.15], [-6.0, 6.0]).sample(300, rng=0)


# defaults


def test_the_robust_test_reads_its_draws_by_the_boundary_bootstrap() -> None:
    result = sb.robust_ksd_test(SPOILT, GAUSSIAN, rng=1)
    explicit = sb.robust_ksd_test(SPOILT, GAUSSIAN, calibration=sb.BoundaryBootstrap(999), tau="sample", rng=1)
    assert result.to_dict() == explicit.to_dict()
    assert sb.robust_ksd_test(X, GAUSSIAN, estimator="u", rng=1).calibration == "WeightedBootstrap"


def test_calibrations_that_need_an_upper_bound_get_one() -> None:
    for calibration in (sb.Betting(), sb.DeviationBound()):
        assert sb.robust_ksd_test(X, GAUSSIAN, calibration=calibration).tau_kind == "closed form"
    with pytest.raises(ValueError, match="upper bound"):
        sb.robust_ksd_test(X, GAUSSIAN, calibration=sb.Betting(), tau="sample")


# bets must not look ahead


def test_bets_take_kernel_and_tilt_from_the_model() -> None:
    first, second = (sb.robust_ksd_test(x, GAUSSIAN, calibration=sb.Betting()) for x in (X, 5.0 + 3.0 * X))
    assert first.kernel == second.kernel
    assert first.tilt == second.tilt
    assert sb.robust_ksd_test(5.0 + 3.0 * X, GAUSSIAN, rng=0).kernel != first.kernel


def test_without_a_sampler_the_user_must_give_them() -> None:
    options: dict[str, Any] = {"calibration": sb.Betting(), "tau": 5.0}
    with pytest.raises(ValueError, match="must not choose its kernel"):
        sb.robust_ksd_test(X, lambda x: -x, **options)
    with pytest.raises(ValueError, match="must not choose its tilt"):
        sb.robust_ksd_test(X, lambda x: -x, kernel=sb.InverseMultiquadric(1.0), **options)
    given: dict[str, Any] = {"kernel": sb.InverseMultiquadric(1.0), "tilt": sb.PolynomialTilt()}
    assert sb.robust_ksd_test(X, lambda x: -x, **given, **options).tau_kind == "given"


def test_bets_answer_for_every_radius_and_level() -> None:
    result = sb.robust_ksd_test(np.tile(SPOILT, 3), GAUSSIAN, calibration=sb.Betting())
    assert result.rejected
    bound = result.contamination_bound
    assert 0.05 < bound < 0.25
    assert result.at(contamination=0.99 * bound).rejected
    assert not result.at(contamination=1.01 * bound).rejected
    assert result.at(level=0.2).contamination_bound > bound


# jumps


def test_separated_modes_without_jumps_are_warned_of() -> None:
    with pytest.warns(SeparatedModesWarning, match="cannot see wrong weights"):
        blind = sb.ksd_test(UNEVEN, MODES, rng=0)
    seeing = sb.ksd_test(UNEVEN, MODES, jumps="auto", rng=0)
    assert (blind.rejected, seeing.rejected) == (False, True)


def test_jumps_do_not_reject_the_truth() -> None:
    x = MODES.sample(300, rng=3)
    assert not sb.ksd_test(x, MODES, jumps="auto", rng=0).rejected


def test_the_same_seed_jumps_the_same_way_and_apart_from_the_draws() -> None:
    first, second = (sb.ksd_test(UNEVEN, MODES, jumps=ModeJumps([[-6.0], [6.0]]), rng=4) for _ in range(2))
    assert first.to_dict() == second.to_dict()
    assert first.ksd != sb.ksd_test(UNEVEN, MODES, jumps="auto", rng=5).ksd


def test_sets_that_jumps_can_leave_are_refused_at_once_and_later() -> None:
    with pytest.raises(ValueError, match="outside of it"):
        sb.ksd_test(UNEVEN, MODES, radius=0.1, jumps="auto")
    result = sb.robust_ksd_test(UNEVEN, MODES, 0.01, jumps="auto", rng=0)
    with pytest.raises(ValueError, match="outside of it"):
        result.at(radius=0.1)
    assert result.at(radius=sb.TotalVariation(0.01)).radius >= result.radius


# bounds that hold for contamination alone


def test_variance_bounds_are_for_contamination_alone() -> None:
    kernel, tilt = sb.InverseMultiquadric(1.0), sb.PolynomialTilt()
    tau = sb.robust_ksd_test(X, GAUSSIAN, kernel=kernel, tilt=tilt, tau="auto", rng=0).tau
    moments = ModelMoments.of(GAUSSIAN, kernel=kernel, tilt=tilt, tau=tau)
    options: dict[str, Any] = {"kernel": kernel, "tilt": tilt, "tau": tau}
    calibration = sb.DeviationBound("bernstein", moments)
    result = sb.robust_ksd_test(X, GAUSSIAN, calibration=calibration, **options)
    with pytest.raises(ValueError, match="does not hold over the set"):
        result.at(radius=0.1)
    with pytest.raises(ValueError, match="does not hold over the set"):
        sb.ksd_test(X, GAUSSIAN, radius=0.1, calibration=calibration, **options)


# three answers


def test_the_three_answers() -> None:
    clean = np.random.default_rng(1).normal(size=1500)
    spoilt = np.where(np.arange(1500) % 3 == 0, 2.0, clean)
    for x, share, verdict in ((clean, 0.2, "good enough"), (clean, 0.02, "undecided"), (spoilt, 0.1, "misfit")):
        result = sb.robust_ksd_test(x, GAUSSIAN, share, rng=0)
        assert result.verdict == verdict
        assert result.rejected == (verdict == "misfit")
    assert sb.robust_ksd_test(clean, GAUSSIAN, 0.0, rng=0).verdict != "good enough"


def test_the_interval_holds_the_one_sided_bounds_and_narrows_with_the_level() -> None:
    result = sb.robust_ksd_test(SPOILT, GAUSSIAN, rng=0)
    low, high = result.interval()
    assert low <= result.lower_bound <= result.ksd <= result.upper_bound <= high
    inner = result.interval(level=0.5)
    assert low < inner[0] < inner[1] < high
    assert result.at(level=0.1).interval() == (result.lower_bound, result.upper_bound)


@pytest.mark.parametrize("calibration", [sb.WeightedBootstrap(199), sb.BoundaryBootstrap(199), sb.Betting()], ids=repr)
def test_the_lower_bound_is_where_decisions_turn(calibration: Any) -> None:
    result = sb.robust_ksd_test(np.tile(SPOILT, 2), GAUSSIAN, calibration=calibration, rng=0)
    assert result.contamination_bound == pytest.approx(result.lower_bound / math.sqrt(result.tau))
    assert result.at(radius=result.lower_bound * (1.0 - 1e-9)).rejected
    assert not result.at(radius=result.lower_bound * (1.0 + 1e-6)).rejected


# explanations are reached from the result


def test_a_result_explains_itself() -> None:
    fixed: dict[str, Any] = {"kernel": sb.InverseMultiquadric(1.0), "tilt": sb.PolynomialTilt()}
    result = sb.robust_ksd_test(SPOILT, GAUSSIAN, 0.01, tau="auto", rng=0, **fixed)
    assert result.rejected
    assert result.fragility() == sb.explain.fragility(result)
    assert 0.0 < result.least_removal().share < 0.3
    assert result.credibility().size < 200
    assert 0.5 < result.efficiency < 1.0
