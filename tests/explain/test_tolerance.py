from __future__ import annotations

import json
import math
import pickle
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


DIFFERENCES: dict[str, Callable[[Any], Any]] = {
    "regions": lambda x: sb.check(x, MODEL, tolerance=0.05, rng=0),
    "scores": lambda x: sb.ksd_test(x, MODEL, radius=sb.TotalVariation(0.05), tilt="auto", tau="auto", rng=0),
}


@pytest.mark.parametrize("test", DIFFERENCES.values(), ids=list(DIFFERENCES))
def test_where_a_difference_of_shares_is_tolerated_the_curve_is_of_such_differences(test: Callable[[Any], Any]) -> None:
    result = test(spoilt(400) + 0.5)
    curve = result.tolerance_curve()
    others = [result.at(tolerance=share) for share in curve.contamination[::20].tolist()]
    assert curve.pvalues[::20].tolist() == [other.pvalue for other in others]
    assert curve.verdicts[::20] == tuple(other.verdict for other in others)
    assert str(curve).startswith("Tolerated difference of shares at level 0.05")
    assert 0.05 < curve.conceded < 1.0
    assert result.at(tolerance=curve.conceded - 1e-4).rejected
    assert not result.at(tolerance=curve.conceded + 1e-4).rejected
    assert set(curve.to_dict()) == {"schema", "tolerance", "pvalues", "verdicts", "level", "conceded"}


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


def clean(n: int = 200, d: int = 1, seed: int = 0) -> Any:
    return np.random.default_rng(seed).normal(size=(n, d))


def robust(x: Any, contamination: float = 0.05, **options: Any) -> Any:
    return sb.robust_ksd_test(x, sb.models.Gaussian(np.zeros(x.shape[1])), contamination, rng=0, **options)


def test_at_tolerance_zero_it_is_the_formula() -> None:
    result = robust(clean(), 0.0)
    model, found = sb.models.Gaussian(), result.smallest_detectable([1.5])
    place = np.array([[1.5]])
    draws = model.sample(512, rng=np.random.default_rng(0))
    stein = result._evidence.problem.stein
    length2 = stein(place, -place, place, -place)[0, 0]
    f = stein(place, -place, draws, -draws)[0] / math.sqrt(length2)
    scatter = (stein.diagonal(draws, -draws).mean() - np.mean(f**2)) / 200
    assert found.share == pytest.approx(math.sqrt((result.threshold**2 - scatter) / length2))
    assert (found.kind, found.level, found.share) == ("points", 0.05, found.low)


def test_the_worst_place_is_where_the_diagonal_is_largest() -> None:
    result = robust(clean(), 0.0)
    draws = sb.models.Gaussian().sample(512, rng=np.random.default_rng(0))
    stein = result._evidence.problem.stein
    diagonal = stein.diagonal(draws, -draws)
    place = draws[[int(diagonal.argmax())]]
    f = stein(place, -place, draws, -draws)[0] / math.sqrt(result.tau)
    scatter = (diagonal.mean() - np.mean(f**2)) / 200
    wanted = math.sqrt((result.threshold**2 - scatter) / result.tau)
    assert result.smallest_detectable().share == pytest.approx(wanted)


def test_the_worst_place_shows_most() -> None:
    result = robust(clean())
    worst = result.smallest_detectable()
    assert worst.low <= worst.share <= worst.high
    for place in ([0.0], [3.0], [100.0], [1.0, 2.0, -3.0]):
        assert result.smallest_detectable(place).high >= worst.high - 1e-9
    assert worst.high == pytest.approx((result.radius + result.threshold) / math.sqrt(result.tau))


def test_more_points_see_less_contamination_and_more_tolerance_more() -> None:
    shares = [robust(clean(n)).smallest_detectable().share for n in (50, 200, 800)]
    assert shares == sorted(shares, reverse=True)
    tolerated = [robust(clean(), share).smallest_detectable().share for share in (0.0, 0.05, 0.2)]
    assert tolerated == sorted(tolerated)


@pytest.mark.parametrize(
    "options", [{"estimator": "u"}, {"calibration": sb.DeviationBound()}, {"engine": "lowrank"}], ids=str
)
def test_other_estimators_bounds_and_engines_answer(options: Any) -> None:
    assert 0.0 < robust(clean(400), **options).smallest_detectable().share < 1.0


def test_several_kernels_see_at_least_what_one_of_them_does() -> None:
    x, kernel = clean(), sb.InverseMultiquadric(1.0)
    several = sb.robust_ksdagg_test(x, sb.models.Gaussian(), 0.05, kernels=[kernel], rng=0).smallest_detectable()
    assert several.share == pytest.approx(robust(x, kernel=kernel).smallest_detectable().share, rel=0.15)


def test_what_has_no_answer_says_why() -> None:
    x = clean(60)
    with pytest.raises(ValueError, match="u\\(x, x\\) has no bound here"):
        sb.ksd_test(x, sb.models.Gaussian(), rng=0).smallest_detectable()
    with pytest.raises(TypeError, match="does not decide by D alone"):
        robust(x, calibration=sb.Betting()).smallest_detectable()
    with pytest.raises(ValueError, match='`kind` must be "worst" or an array'):
        robust(x).smallest_detectable("best")
    with pytest.raises(ValueError, match="`kind` must have 1 columns"):
        robust(x).smallest_detectable([[0.0, 1.0]])
    with pytest.raises(TypeError, match="`kind` at points needs the score there"):
        sb.ksd_test(x, sb.from_scores(-x), tilt=sb.PolynomialTilt(), rng=0).smallest_detectable([1.0])


def test_what_no_share_can_show_is_infinite() -> None:
    result = robust(clean(10), 0.9)
    found = result.smallest_detectable()
    assert math.isinf(found.share)
    assert "any share of contamination would be missed" in str(found)
    assert (
        "any share of contamination would be missed" in result.summary().replace("\n", " ")
        or result.verdict == "close in KSD"
    )


def test_a_score_that_fails_at_its_own_draws_is_no_error() -> None:
    class Narrow:
        def score(self, x: Any) -> Any:
            if np.abs(x).max() > 4.0:
                raise ValueError("too far")
            return -x

        def sample(self, n: int, rng: Any) -> Any:
            return np.full((n, 1), 9.0)

    x = np.clip(clean(50), -2.0, 2.0)
    result = sb.ksd_test(x, Narrow(), tilt=sb.PolynomialTilt(), radius=0.1, check_model=False, rng=0)
    assert result.smallest_detectable().share > 0.0
    kept = pickle.loads(pickle.dumps(sb.robust_ksd_test(x, lambda x: -x, 0.05, rng=0)))
    assert kept.smallest_detectable().share > 0.0


@pytest.mark.calibration
@pytest.mark.parametrize(("d", "n"), [(1, 100), (10, 100)], ids=["d=1", "d=10"])
@pytest.mark.parametrize("tolerated", [0.0, 0.05], ids=["nothing tolerated", "tolerated"])
def test_it_is_detected_in_about_half_of_all_samples(d: int, n: int, tolerated: float) -> None:
    """At the share that it names, in the worst place, 120 samples are rejected .28 to .72 of the time.

    An error of a tenth of the share moves the power by .07 to .1; around that three standard errors of .046.
    """
    model, rng = sb.models.Gaussian(np.zeros(d)), np.random.default_rng(d)
    first = sb.robust_ksd_test(rng.normal(size=(n, d)), model, tolerated, rng=0)
    radii = np.linspace(0.0, 10.0, 1001)[:, None] * np.eye(d)[0]
    worst = radii[first._evidence.problem.diagonal_at(radii).argmax()]
    shares = [
        sb.robust_ksd_test(rng.normal(size=(n, d)), model, tolerated, rng=k).smallest_detectable().share
        for k in range(10)
    ]
    rejected = 0
    for k in range(120):
        x = rng.normal(size=(n, d))
        x[rng.permutation(n)[: rng.binomial(n, np.median(shares))]] = worst
        rejected += sb.robust_ksd_test(x, model, tolerated, rng=k, check_model=False).rejected
    assert 0.28 <= rejected / 120 <= 0.72


def test_a_radius_whose_square_is_no_float_is_answered() -> None:
    assert math.isinf(robust(clean(50), 0.05).at(radius=1e155).smallest_detectable().share)


@pytest.mark.parametrize("metric", [False, True], ids=["no metric", "metric"])
@pytest.mark.parametrize("d", [1, 10])
def test_given_points_and_typical_ones_are_seen_from_one_center(d: int, metric: bool) -> None:
    x, places = np.random.default_rng(0).normal(size=(200, d)), np.full((3, d), 2.0) + np.arange(3)[:, None]
    kernel = sb.InverseMultiquadric(2.0, metric=np.diag(np.linspace(1.0, 2.0, d)) if metric else None)
    result = sb.robust_ksd_test(x, sb.models.Gaussian(np.zeros(d)), 0.05, kernel=kernel, rng=0)
    sums, found = result._sums()[0], result.smallest_detectable(places)
    reference = sums.problem.reference
    assert reference is not None
    m = 512  # draws of the model that are looked at
    everything = sums.problem.at(np.vstack([np.asarray(reference.draws)[:m], places]))
    gram = np.asarray(everything.stein.block(everything.points, everything.points))
    square = gram[m:, m:].mean()
    values = gram[:m, m:].mean(axis=1) / np.sqrt(square)
    scatter = (np.diag(gram)[:m].mean() - np.square(values).mean()) / len(x)
    assert found.high == pytest.approx(min(np.inf, sums.critical / np.sqrt(square)), rel=1e-6)
    assert found.low == pytest.approx(np.sqrt((sums.critical**2 - scatter) / square), rel=1e-6)
