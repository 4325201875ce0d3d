"""τ for what the user asked: the sample maximum, a given bound, the best upper bound there is."""

from __future__ import annotations

import dataclasses
import math
import re
import warnings
from collections.abc import Callable
from typing import Any
from unittest import mock

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats
from scipy.special import expit

import steinball as sb
from steinball.cautions import UnboundedSteinKernelWarning, UncertifiedSupremumWarning
from steinball.kernels import InverseMultiquadric
from steinball.models.knowledge import RadialScore
from steinball.problem import Problem, pose
from steinball.tau import Ball
from steinball.tau.certificate import Supremum
from steinball.tau.search import Cloud
from steinball.tau.supremum import _far_out, find_supremum, grows, uncertified
from steinball.tilts import PolynomialTilt
from tests.tau.posed import closed_form, sample, tau_of, u_of

pytestmark = pytest.mark.exact
Floats = NDArray[np.float64]
KERNEL = sb.InverseMultiquadric(math.sqrt(2.0))
TILT = sb.PolynomialTilt()
V = (math.sqrt(5.5) - 1.0) / 3.0
PAPER = 1.0 + 1.5 * V - V**2 - V**3  # N(0, 1), length scale² = 2


def automatic(model: Any, x: Any = None, tilt: Any = TILT) -> Supremum:
    x = sample() if x is None else x
    return find_supremum("auto", pose(x, model, KERNEL, tilt))


@pytest.mark.parametrize(("exponent", "value"), [(0.25, 3.296), (0.5, 1.139), (1.0, 0.135)])
def test_u_at_three_for_the_tilts_of_the_papers_figure(exponent: float, value: float) -> None:
    x = np.array([[3.0], [0.0]])
    tilt = sb.PolynomialTilt(exponent)
    problem = pose(x, lambda x: -x, sb.InverseMultiquadric(math.sqrt(2.0)), tilt)
    assert round(float(problem.diagonal[0]), 3) == value
    assert float(problem.diagonal[0]) == pytest.approx(float(u_of(3.0, exponent)), rel=1e-14)


def test_what_rises_beyond_the_samples_and_stays_there_does_not_grow() -> None:
    flat, steep = (sb.from_score(score) for score in (lambda x: -100.0 * np.tanh(x / 1000.0), lambda x: -x))
    assert [grows(pose(sample(), model, KERNEL)) for model in (flat, steep)] == [False, True]


def test_what_grows_toward_an_edge_grows_unless_a_tilt_vanishes_there() -> None:
    x = np.random.default_rng(0).gamma(4.0, size=(50, 1))
    model = sb.from_score(lambda x: 3.0 / x - 1.0, support=(0, None))
    assert [grows(pose(x, model, KERNEL, tilt)) for tilt in (None, "auto")] == [True, False]


def test_u_at_three_without_a_tilt() -> None:
    problem = pose(np.array([[3.0], [0.0]]), lambda x: -x, sb.InverseMultiquadric(math.sqrt(2.0)))
    assert problem.diagonal[0] == pytest.approx(9.5, rel=1e-15)


def test_the_sample_maximum_is_the_largest_of_the_diagonal_and_grows_with_n() -> None:
    x = sample(1000)
    values = [tau_of("sample", x[:n]).value for n in (25, 50, 100, 500, 1000)]
    assert values == [pytest.approx(float(u_of(x[:n]).max()), rel=1e-14) for n in (25, 50, 100, 500, 1000)]
    assert values == sorted(values)
    assert values[-1] <= closed_form(1, 2.0)[0]
    assert tau_of("sample", x).kind == "sample"
    assert not tau_of("sample", x).is_upper_bound


def test_the_sample_maximum_is_the_maximum_of_the_whole_matrix() -> None:
    """Cauchy–Schwarz: |u(x, y)| ≤ √(u(x, x) u(y, y))."""
    x = sample(60, 3)
    problem = pose(x, lambda x: -x, sb.InverseMultiquadric(1.0), sb.PolynomialTilt())
    u = problem.stein(x, -x, x, -x)
    assert np.abs(u).max() == pytest.approx(find_supremum("sample", problem).value, rel=1e-12)


def test_a_given_bound_is_used_and_called_an_upper_bound() -> None:
    found = tau_of(1.5, sample())
    assert (found.value, found.kind, found.is_upper_bound) == (1.5, "given", True)


def test_a_bound_below_the_sample_is_refused() -> None:
    with pytest.raises(ValueError, match=r"`tau=1.3` is not an upper bound: u\(x, x\) reaches 1.379"):
        tau_of(1.3, sample())
    exact = tau_of("sample", sample()).value
    assert tau_of(exact, sample()).value == exact


@pytest.mark.parametrize("tau", [0.0, -1.0, math.nan, math.inf])
def test_a_bound_must_be_positive_and_finite(tau: float) -> None:
    with pytest.raises(ValueError, match=r"`tau` must be a finite number in \(0, inf\)"):
        tau_of(tau, sample())


@pytest.mark.parametrize(("tau", "error"), [("largest", ValueError), (None, TypeError), ([1.0, 2.0], TypeError)])
def test_other_kinds_of_tau_are_refused(tau: Any, error: type[Exception]) -> None:
    with pytest.raises(error, match="`tau` must be"):
        tau_of(tau, sample())


def test_a_result_carries_tau_and_its_kind() -> None:
    x = sample()
    options: dict[str, Any] = {"kernel": sb.InverseMultiquadric(math.sqrt(2.0)), "tilt": sb.PolynomialTilt(), "rng": 0}
    kinds: dict[Any, str] = {"sample": "sample", "optimized": "optimized", 1.4: "given", Ball(2.0): "localized"}
    for tau, kind in kinds.items():
        result = sb.robust_ksd_test(x, lambda x: -x, 0.1, tau=tau, **options)
        assert result.tau_kind == kind
        assert result.tau == tau_of(tau, x).value
        assert result.radius == pytest.approx(0.1 * math.sqrt(result.tau), rel=1e-15)


def test_single_precision_data_are_not_refused_for_rounding() -> None:
    at_the_maximum = np.array([[1.109], [-1.109], [0.0]], dtype=np.float32)
    assert automatic(sb.models.Gaussian(), at_the_maximum).value == pytest.approx(PAPER, rel=1e-4)


@pytest.mark.parametrize(
    ("model", "tilt", "reason"),
    [
        (lambda x: -x, TILT, "nothing is known of how the model's score grows"),
        (sb.from_scores(-sample()), TILT, "nothing is known of how the model's score grows"),
        (sb.models.Gaussian(), None, "without a tilt u\\(x, x\\) grows with the score"),
        (sb.models.Gaussian(), sb.PolynomialTilt(0.3), "the tilt's exponent 0.3 is too small"),
    ],
    ids=["function", "array", "no tilt", "weak tilt"],
)
def test_without_a_bound_the_sample_maximum_is_used_with_a_warning(model: Any, tilt: Any, reason: str) -> None:
    problem = pose(sample(), model, KERNEL, tilt)
    found, plain = (find_supremum(tau, problem) for tau in ("auto", "sample"))
    assert (found.value, found.kind) == (plain.value, plain.kind)
    assert not found.is_upper_bound
    (remark,) = uncertified(found)
    assert re.search(reason, remark.cause)
    text = f"{remark.cause} {remark.remedy}"
    assert all(remedy in text for remedy in ("`tau=3.2`", "`score_growth(center)`", 'tau="sample"', "these points"))
    assert not list(uncertified(plain))


def test_a_test_that_asks_for_a_bound_warns_where_there_is_none() -> None:
    with pytest.warns(UncertifiedSupremumWarning, match="nothing is known of how") as caught:
        sb.robust_ksd_test(sample(), lambda x: -x, 0.05, tau="auto", rng=0)
    assert caught[0].filename == __file__


def test_no_warning_where_there_is_a_bound() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert automatic(sb.models.StudentT(3.0), tilt=None).kind == "closed form"
        assert automatic(sb.models.KernelExponentialFamily([1.0])).kind == "certified"


def test_a_bound_below_the_sample_is_a_bug_and_says_so() -> None:
    class Wrong(sb.models.Gaussian):
        @property
        def radial_score(self) -> RadialScore:
            return dataclasses.replace(super().radial_score, rate=0.5)

    with pytest.raises(RuntimeError, match=r"closed form bound .* lies below .*`radial_score` is wrong"):
        automatic(Wrong())


@pytest.mark.parametrize("calibration", [sb.WeightedBootstrap(99), sb.DeviationBound()])
def test_a_result_names_the_kind_of_its_bound(calibration: Any) -> None:
    x = sample(80)
    result = sb.robust_ksd_test(x, sb.models.Gaussian(), 0.1, kernel=KERNEL, tau="auto", calibration=calibration, rng=0)
    assert result.tau_kind == "closed form"
    assert result.tau == pytest.approx(PAPER, rel=1e-12)
    assert result.radius == pytest.approx(0.1 * math.sqrt(PAPER), rel=1e-12)


# What robust tests use by default.


class Steep:
    """Uniform on (−1, 1) plus .001 of logistic noise: all of the score lies where few points do."""

    width = 0.001

    def score(self, x: Any) -> Any:
        return (expit((-1.0 - x) / self.width) - expit((x - 1.0) / self.width)) / self.width

    def sample(self, n: int, rng: Any = None) -> Any:
        generator = np.random.default_rng(rng)
        return generator.uniform(-1.0, 1.0, (n, 1)) + self.width * generator.logistic(size=(n, 1))


def test_the_best_value_is_an_upper_bound_where_a_tight_one_exists() -> None:
    for model, kind in ((sb.models.Gaussian(), "closed form"), (sb.models.StudentT(3.0), "closed form")):
        problem = pose(model.sample(100, rng=0), model, None, "auto")
        assert find_supremum("best", problem) == find_supremum("auto", problem)
        assert sb.robust_ksd_test(problem.samples, model, 0.05, rng=0).tau_kind == kind


@pytest.mark.parametrize("model", [Steep(), Steep().score], ids=["with a sampler", "score only"])
def test_otherwise_it_is_the_largest_value_found_and_called_so(model: Any) -> None:
    middle = np.linspace(-0.9, 0.9, 50)
    problem = pose(middle, model, InverseMultiquadric(1.0), PolynomialTilt())
    found = find_supremum("best", problem)
    assert found.kind == "largest found"
    assert not found.is_upper_bound
    peak = problem.diagonal_at(np.linspace(0.99, 1.5, 100_001)[:, None]).max()
    assert found.value == pytest.approx(peak, rel=0.01)
    assert found.value > 1e4 * find_supremum("sample", problem).value
    words = sb.robust_ksd_test(middle, model, 0.05, check_model=False, rng=0).summary(details=True)
    assert "not proven to be the supremum" in " ".join(words.split())


def test_a_loose_upper_bound_is_not_used() -> None:
    loose = sb.models.Gaussian()
    model = type("Loose", (), {"score": loose.score, "score_growth": lambda self, center: (0.0, 3.0)})()
    problem = pose(loose.sample(100, rng=0), model, InverseMultiquadric(1.0), PolynomialTilt())
    assert find_supremum("auto", problem).value > 5.0 * find_supremum("best", problem).value
    assert find_supremum("best", problem).kind == "largest found"
    assert find_supremum("best", problem).value == pytest.approx(closed_form_of_the_gaussian(problem), rel=1e-4)


def closed_form_of_the_gaussian(problem: Problem) -> float:
    return find_supremum("auto", Problem.at_scores(problem.stein, sb.models.Gaussian(), problem.samples)).value


def test_where_nothing_more_is_known_the_sample_speaks() -> None:
    x = np.random.default_rng(0).normal(size=(50, 1))
    scores = pose(x, sb.from_scores(-x), None, PolynomialTilt())
    assert find_supremum("best", scores) == find_supremum("sample", scores)
    growing = pose(x, lambda x: -x, None, None)
    assert find_supremum("best", growing) == find_supremum("sample", growing), "u(x, x) has no largest value"

    def only_nearby(y: Any) -> Any:
        if np.abs(y).max() > 10.0:
            raise ValueError("this score is not defined so far out")
        return -y

    nearby = pose(x, only_nearby, None, PolynomialTilt())
    assert find_supremum("best", nearby).value == find_supremum("sample", nearby).value


def test_a_bare_score_is_asked_few_times(monkeypatch: pytest.MonkeyPatch) -> None:
    """At the samples, along the rays for the tilt, far out for the growth, along the rays of the search, and in steps;
    where the samples lie is found out once."""
    asked: list[int] = []

    def score(y: Any) -> Any:
        asked.append(len(y))
        return -y

    of = mock.Mock(wraps=Cloud.of)
    monkeypatch.setattr(Cloud, "of", of)
    x = np.random.default_rng(0).normal(size=(50, 2))
    sb.robust_ksd_test(x, score, 0.05, check_model=False, rng=0)
    assert of.call_count == 1
    steps = [points for points in asked if points == 8 * 7]
    assert len(asked) - len(steps) <= 4
    assert 2 <= len(steps) <= 6


def test_a_score_that_fails_beyond_the_rays_is_still_known_along_them() -> None:
    x = np.random.default_rng(0).normal(size=(50, 1))

    def limited(y: Any) -> Any:
        if np.abs(y).max() > 2e6:
            raise ValueError("not defined so far out")
        return -y

    parts, whole = _far_out(pose(x, limited, None, None)), _far_out(pose(x, lambda y: -y, None, None))
    np.testing.assert_array_equal(parts[0], whole[0])
    assert np.isnan(np.asarray(parts[1])).all()
    assert np.isfinite(np.asarray(whole[1])).all()
    assert grows(pose(x, lambda y: -y, None, None))


@pytest.mark.parametrize(
    "radius", [sb.TotalVariation(0.05), sb.radius.Hellinger(0.05), sb.Huber(0.1) + sb.TotalVariation(0.1)]
)
def test_sets_that_allow_removal_ask_for_an_upper_bound(radius: Any) -> None:
    x, model = np.random.default_rng(0).normal(size=50), sb.models.Gaussian()
    with pytest.warns(sb.cautions.RemovalWarning, match='may be too small.*Use tau="auto"'):
        sb.ksd_test(x, model, tilt="auto", radius=radius, rng=0)
    sb.ksd_test(x, model, tilt="auto", radius=radius, tau="auto", rng=0)
    sb.ksd_test(x, model, tilt="auto", radius=sb.Huber(0.1) + 0.1, rng=0)


@pytest.mark.calibration
def test_a_steep_place_that_the_sample_misses_does_not_cost_the_level() -> None:
    model = Steep()
    samples = [model.sample(300, rng=[9, k]) for k in range(40)]
    by_default, by_sample = (
        sum(
            sb.robust_ksd_test(x, model, 0.05, tau=tau, check_model=False, rng=k).rejected
            for k, x in enumerate(samples)
        )
        for tau in (None, "sample")
    )
    assert by_default == 0
    assert by_sample > 4, "29 % of 400 samples, level .05"


X = np.random.default_rng(11).normal(size=200)
FEW = sb.WeightedBootstrap(19)


def gaussian(x: Any) -> Any:
    return -x


def student(df: float) -> Callable[[Any], Any]:
    return lambda x: -(df + 1) * x / (df + x**2)


def run(x: Any, model: Any, **options: Any) -> sb.GofResult:
    return sb.ksd_test(x, model, calibration=FEW, rng=0, **options)


BALLS: list[Any] = [sb.Huber(0.05), sb.DensityBand(0.1), sb.StudentTails(10)]


@pytest.mark.parametrize("radius", BALLS, ids=repr)
@pytest.mark.parametrize("as_array", [False, True])
def test_a_growing_score_without_a_tilt_is_warned_about(radius: Any, as_array: bool) -> None:
    with pytest.warns(
        UnboundedSteinKernelWarning, match=r"needs a bounded Stein kernel.*PolynomialTilt\(\).*radius=0.1"
    ):
        run(X, sb.from_scores(-X) if as_array else gaussian, radius=radius)


@pytest.mark.parametrize("outlier", [10.0, 1e4, 1e8, 1e20])
@pytest.mark.parametrize("as_array", [False, True])
def test_an_outlier_does_not_hide_that_the_score_grows(outlier: float, as_array: bool) -> None:
    x = np.append(X, outlier)
    with pytest.warns(UnboundedSteinKernelWarning):
        run(x, sb.from_scores(-x) if as_array else gaussian, radius=sb.Huber(0.05))


@pytest.mark.parametrize("d", [2, 5, 20])
@pytest.mark.parametrize("as_array", [False, True])
def test_a_growing_score_is_seen_in_several_dimensions(d: int, as_array: bool) -> None:
    x = np.random.default_rng(d).normal(size=(300, d))
    with pytest.warns(UnboundedSteinKernelWarning):
        run(x, sb.from_scores(-x) if as_array else gaussian, radius=sb.Huber(0.05))


@pytest.mark.parametrize("exponent", [0.1, 0.25, 0.4])
def test_a_tilt_of_too_small_an_exponent_is_warned_about(exponent: float) -> None:
    with pytest.warns(UnboundedSteinKernelWarning, match="tilt of larger exponent"):
        run(X, gaussian, tilt=sb.PolynomialTilt(exponent), radius=sb.Huber(0.05))


def test_a_cubic_score_needs_a_stronger_tilt_than_a_gaussian() -> None:
    with pytest.warns(UnboundedSteinKernelWarning, match="tilt of larger exponent"):
        run(X, lambda x: -(x**3), tilt=TILT, radius=sb.Huber(0.05))
    run(X, lambda x: -(x**3), tilt=sb.PolynomialTilt(1.5), radius=sb.Huber(0.05))


@pytest.mark.parametrize("df", [1.0, 2.5, 3.0, 5.0])
@pytest.mark.parametrize("as_array", [False, True])
def test_a_bounded_score_is_not_warned_about(df: float, as_array: bool) -> None:
    """Student t scores grow near the center and fall further out: only the outermost samples tell."""
    for seed in range(5):
        x = stats.t(df).rvs(size=300, random_state=seed)
        run(x, sb.from_scores(student(df)(x)) if as_array else student(df), radius=sb.Huber(0.05))


@pytest.mark.filterwarnings("ignore::steinball.cautions.RemovalWarning")
@pytest.mark.parametrize("shift", [0.0, 1e6])
@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize("radius", BALLS, ids=repr)
def test_a_sufficient_tilt_is_not_warned_about_in_any_units(radius: Any, scale: float, shift: float) -> None:
    run(shift + scale * X, sb.models.Gaussian(shift, scale**2), tilt="auto", radius=radius)


@pytest.mark.parametrize("radius", [0.1, sb.FixedRadius(0.1), sb.Alternative(X + 1.0), sb.Huber(0.0)], ids=repr)
def test_radii_that_need_no_bound_are_not_warned_about(radius: Any) -> None:
    run(X, gaussian, radius=radius)


def test_a_score_that_fails_far_out_is_no_reason_to_stop() -> None:
    """Whether a score grows that is not defined so far away is unknown; two finite decades show something."""

    def score(x: Any) -> Any:
        if np.abs(x).max() > 1e3:
            raise ArithmeticError("outside the domain")
        return -x

    with pytest.warns(UnboundedSteinKernelWarning, match=r"is unknown.*ArithmeticError: outside the domain"):
        run(X, score, radius=sb.Huber(0.05))
    run(X, lambda x: -np.sinh(x) / np.cosh(x), radius=sb.Huber(0.05))  # inf/inf beyond 710


def interpolated(x: Any) -> Any:
    """A score that somebody knows on a grid, and nowhere else."""
    if np.abs(x).max() > 100.0:
        raise ValueError("A value in x_new is above the interpolation range.")
    return -x - 4.0 * x**3


@pytest.mark.parametrize("score", [interpolated, lambda x: np.where(np.abs(x) > 20.0, np.nan, -x)])
def test_a_score_that_is_not_defined_far_out_is_unknown_and_not_bounded(score: Any) -> None:
    x = np.random.default_rng(0).normal(size=300) * 0.5
    with pytest.warns(UnboundedSteinKernelWarning, match=r"is unknown: the score of the model is not defined far"):
        result = sb.robust_ksd_test(x, score, 0.3, rng=0)
    assert (result.bounded, result.tau_kind) == ("unknown", "sample")
    assert result.verdict == "undecided"
    with pytest.warns(UnboundedSteinKernelWarning, match="is unknown"):
        assert sb.robust_ksdagg_test(x, score, 0.3, rng=0).bounded == "unknown"
    declared = sb.from_score(score, growth=3.0)
    tilt: Any = result.tilt
    assert tilt.exponent >= (1.5 if score is interpolated else 0.5), "as fast as it grows where it is defined"
    assert sb.robust_ksd_test(x, declared, 0.3, rng=0).bounded == "proved"


@pytest.mark.parametrize("correlation", [0.0, 0.5])
def test_without_a_tilt_a_linear_score_is_unbounded_and_that_of_student_t_is_not(correlation: float) -> None:
    x, shape = np.random.default_rng(0).normal(size=(60, 2)), np.array([[1.0, correlation], [correlation, 1.0]])
    normal, student = sb.models.Gaussian([0.0, 0.0], shape), sb.models.StudentT(4.0, [0.0, 0.0], shape=shape)
    found = [sb.ksd_test(x, model, tilt=None, rng=0).bounded for model in (normal, student)]
    assert found == ["unbounded", "proved"]
    assert sb.ksd_test(x, normal, tilt="auto", rng=0).bounded == "proved"
