from __future__ import annotations

import math
import pickle
from typing import Any

import numpy as np
import pytest

import steinball as sb

pytestmark = pytest.mark.exact


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
        x[: rng.binomial(n, np.median(shares))] = worst
        rejected += sb.robust_ksd_test(x, model, tolerated, rng=k, check_model=False).rejected
    assert 0.28 <= rejected / 120 <= 0.72


def test_a_radius_whose_square_is_no_float_is_answered() -> None:
    assert math.isinf(robust(clean(50), 0.05).at(radius=1e155).smallest_detectable().share)
