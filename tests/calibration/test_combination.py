"""What goes with what is checked in one place: by the tests, by ``at`` and by ``extend`` alike."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import steinball as sb
from steinball.cautions import UnboundedSteinKernelWarning

pytestmark = pytest.mark.exact

MODEL = sb.models.Gaussian()
X = np.random.default_rng(0).normal(0.3, size=120)
FIXED: dict[str, Any] = {"kernel": sb.InverseMultiquadric(1.0), "tilt": sb.PolynomialTilt(), "tau": 2.0, "rng": 0}


# Bets, and the engines that cannot serve them.


def test_bets_are_answered_where_low_rank_would_be_the_fastest_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    """As at n = 20,000 in one dimension: a certificate was asked for before the sums over earlier points were there."""
    monkeypatch.setattr("steinball.gram.choose.choose_engine", lambda *size: "lowrank")
    assert sb.ksd_test(X, MODEL, **FIXED).engine == "lowrank"
    result = sb.ksd_test(X, MODEL, calibration=sb.Betting(), **FIXED)
    assert (result.engine, result.grade) == ("blocked", "exact")
    assert result.pvalue == sb.ksd_test(X, MODEL, calibration=sb.Betting(), engine="blocked", **FIXED).pvalue


def test_bets_refuse_the_low_rank_engine_by_name() -> None:
    with pytest.raises(
        ValueError, match=r'Betting\(.*needs sums over earlier points, which `engine="lowrank"` does not'
    ):
        sb.ksd_test(X, MODEL, calibration=sb.Betting(), engine="lowrank", **FIXED)


# Another reading of the same answers.


def test_a_reading_that_needs_more_than_the_result_holds_is_refused_by_what_is_missing() -> None:
    draws = sb.robust_ksd_test(X, MODEL, 0.05, tau="auto", rng=0)
    with pytest.raises(ValueError, match=r"`calibration=Betting\(.*needs sums over earlier points.*run the test again"):
        draws.at(calibration=sb.Betting())
    bets = sb.ksd_test(X, MODEL, calibration=sb.Betting(), **FIXED)
    with pytest.raises(ValueError, match=r"`calibration=WeightedBootstrap\(.*needs other draws"):
        bets.at(calibration=sb.WeightedBootstrap(99))


def test_bets_may_be_sized_in_another_way_afterwards() -> None:
    mixture = sb.ksd_test(X, MODEL, calibration=sb.Betting(), **FIXED)
    newton = sb.Betting(strategy="newton")
    found = mixture.at(calibration=newton)
    assert found.pvalue == sb.ksd_test(X, MODEL, calibration=newton, **FIXED).pvalue != mixture.pvalue


def test_draws_are_found_again_after_a_reading_without_them() -> None:
    first = sb.ksd_test(X, MODEL, calibration=sb.WeightedBootstrap(99), **FIXED)
    back = first.at(calibration=sb.DeviationBound()).at(calibration=sb.BoundaryBootstrap(99))
    assert back.pvalue == first.at(calibration=sb.BoundaryBootstrap(99)).pvalue
    longer = first.extend(100)
    assert longer.at(calibration=sb.BoundaryBootstrap(199)).n_resamples == 199
    with pytest.raises(ValueError, match="other draws"):
        longer.at(calibration=sb.BoundaryBootstrap(99))


def test_a_reading_that_must_not_look_ahead_needs_a_kernel_that_did_not() -> None:
    for looked in (sb.ksd_test(X, MODEL, rng=0, standardize=False), sb.ksd_test(X, lambda x: -x, rng=0)):
        with pytest.raises(ValueError, match="must not look ahead"):
            looked.at(calibration=sb.DeviationBound())
    blind = sb.ksd_test(X, MODEL, calibration=sb.Betting(), **FIXED).at(calibration=sb.DeviationBound(proven=False))
    assert blind.at(calibration=sb.DeviationBound()).pvalue == blind.pvalue


class ForShares(sb.DeviationBound):
    """For a share of contamination alone."""

    def tolerates(self, radius: sb.radius.Radius) -> bool:
        return radius.contamination is not None


def test_a_reading_is_checked_as_a_test_is() -> None:
    u = sb.ksd_test(X, MODEL, estimator="u", **FIXED)
    with pytest.raises(ValueError, match="is for the V-statistic"):
        u.at(calibration=sb.BoundaryBootstrap(999))
    v = sb.ksd_test(X, MODEL, radius=0.1, **FIXED)
    with pytest.raises(ValueError, match="does not hold over the set"):
        v.at(calibration=ForShares())
    assert v.at(contamination=0.1, calibration=ForShares()).contamination == 0.1
    with pytest.raises(ValueError, match="does not hold over the set"):
        v.at(contamination=0.1, calibration=ForShares()).at(radius=0.1)


def test_a_level_that_the_draws_cannot_reach_is_refused_wherever_it_is_asked() -> None:
    bound = sb.ksd_test(X, MODEL, calibration=sb.WeightedBootstrap(99), **FIXED).at(calibration=sb.DeviationBound())
    tiny = bound.at(level=1e-6)
    assert tiny.level == 1e-6
    with pytest.raises(ValueError, match="cannot reach"):
        tiny.at(calibration=sb.WeightedBootstrap(99))


# A Stein kernel without bound.


@pytest.mark.parametrize("calibration", [sb.DeviationBound(), sb.Betting()], ids=["deviation", "betting"])
def test_an_unbounded_stein_kernel_is_warned_of_by_every_test_that_needs_a_bound(calibration: Any) -> None:
    options = {**FIXED, "tilt": None, "tau": 50.0}
    with pytest.warns(UnboundedSteinKernelWarning, match=f"`{type(calibration).__name__}` needs a bounded"):
        result = sb.ksd_test(X, MODEL, calibration=calibration, **options)
    with pytest.warns(UnboundedSteinKernelWarning, match="needs a bounded"):
        result.at(radius=0.2)
    assert result.at(level=0.01).level == 0.01, "which needs no new warning"


def test_a_reading_warns_as_the_test_would_have() -> None:
    result = sb.ksd_test(X, MODEL, radius=0.1, rng=0)
    with pytest.warns(UnboundedSteinKernelWarning, match="`DeviationBound` needs a bounded Stein kernel"):
        result.at(calibration=sb.DeviationBound(proven=False))


def test_one_warning_is_enough_and_none_where_nothing_is_tolerated_by_draws() -> None:
    with pytest.warns(UnboundedSteinKernelWarning) as seen:
        sb.ksd_test(X, MODEL, radius=sb.Huber(0.1), calibration=sb.DeviationBound(proven=False), rng=0)
    assert len(seen) == 1
    sb.ksd_test(X, MODEL, radius=sb.Huber(0.0), rng=0)
    with pytest.warns(UnboundedSteinKernelWarning, match="`DeviationBound`"):
        sb.ksd_test(X, MODEL, radius=sb.Huber(0.0), calibration=sb.DeviationBound(proven=False), rng=0)


# Several kernels.


def test_several_kernels_are_checked_before_any_pair_is_formed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("steinball.gof.assess.make_gram", None)
    with pytest.raises(ValueError, match="upper bound"):
        sb.robust_ksdagg_test(X, MODEL, 0.05, calibration=sb.Betting(), tau="sample")
    with pytest.raises(TypeError, match="several kernels"):
        sb.robust_ksdagg_test(X, MODEL, 0.05, calibration=sb.DeviationBound())
    with pytest.raises(ValueError, match="every kernel"):
        sb.robust_ksdagg_test(X, MODEL, radius=0.1)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="`kernels` must be kernels"):
        sb.robust_ksdagg_test(X, MODEL, 0.05, calibration=sb.Betting(), kernels="mean")


def test_bets_on_median_length_scales_take_them_from_the_model() -> None:
    first, second = (
        sb.robust_ksdagg_test(x, MODEL, 0.05, kernels="median", calibration=sb.Betting()) for x in (X, 5.0 + 3.0 * X)
    )
    assert len(first.kernels) == 11
    assert first.kernels == second.kernels
