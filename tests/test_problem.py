"""What is tested is checked once: samples, model, level, and the score at the samples."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import steinball as sb
from steinball.arrays import as_samples, check_level
from steinball.models.base import as_model, model_at
from steinball.problem import Problem, pose
from steinball.rows import Rows

pytestmark = pytest.mark.exact

X = np.random.default_rng(0).normal(size=(80, 2))


class Scored:
    """A score that remembers where it was asked, and nothing else."""

    def __init__(self) -> None:
        self.asked: list[Any] = []

    def score(self, x: Any) -> Any:
        self.asked.append(x)
        return -x

    def at(self, x: Any) -> int:
        """How often it was asked at these points."""
        return sum(y.shape == x.shape and bool((y == x).all()) for y in self.asked)


def calls_of(run: Callable[[], Any], *functions: Callable[..., Any]) -> list[int]:
    """How often functions are called, by whatever name they were imported."""
    codes, count = [function.__code__ for function in functions], Counter[Any]()

    def note(frame: Any, event: str, argument: Any) -> None:
        if event == "call":
            count[frame.f_code] += 1

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        run()
    finally:
        sys.setprofile(before)
    return [count[code] for code in codes]


TESTS: dict[str, Callable[..., Any]] = {
    "robust": lambda x, model: sb.robust_ksd_test(x, model, 0.05, rng=0),
    "standard": lambda x, model: sb.ksd_test(x, model, rng=0),
    "robust aggregated": lambda x, model: sb.robust_ksdagg_test(x, model, 0.05, rng=0),
    "aggregated": lambda x, model: sb.ksdagg_test(x, model, n_resamples=99, n_resamples_level=99, rng=0),
}


@pytest.mark.parametrize("test", TESTS)
def test_samples_model_and_level_are_checked_once_and_the_score_is_evaluated_once(test: str) -> None:
    model = Scored()
    counts = calls_of(lambda: TESTS[test](X, model), as_samples, model_at, check_level)
    assert counts == [1, 1, 1]
    assert model.at(X) == 1


def test_another_reading_checks_its_level_once_and_asks_the_model_nothing() -> None:
    model = Scored()
    result = sb.robust_ksd_test(X, model, 0.05, rng=0)
    asked = len(model.asked)
    counts = calls_of(lambda: result.at(level=0.1, contamination=0.1), as_samples, as_model, check_level)
    assert counts == [0, 0, 1]
    assert len(model.asked) == asked


def test_the_problem_is_the_same_whatever_form_the_samples_come_in() -> None:
    for x in (X[:, 0], X[:, :1], X[:, 0].tolist()):
        problem = pose(x, lambda x: -x)
        assert problem.samples.shape == (80, 1)
        assert problem.stein == pose(X[:, :1], lambda x: -x).stein


def test_several_kernels_share_scores_and_the_tilt_of_the_one_in_the_middle() -> None:
    kernels = [sb.InverseMultiquadric(lengthscale) for lengthscale in (0.1, 1.0, 10.0)]
    model = sb.models.Gaussian(dimension=2)
    problems = Problem.of_all(Rows.of(X, model), kernels, "auto")
    assert [problem.stein.kernel for problem in problems] == kernels
    assert {id(problem.scores) for problem in problems} == {id(problems[0].scores)}
    assert {problem.stein.tilt for problem in problems} == {pose(X, model, kernels[1], "auto").stein.tilt}


GAUSSIAN = sb.models.Gaussian()
LINE = np.random.default_rng(0).normal(size=200)


def test_bets_take_kernel_and_tilt_from_the_model() -> None:
    first, second = (sb.robust_ksd_test(x, GAUSSIAN, 0.05, calibration=sb.Betting()) for x in (LINE, 5.0 + 3.0 * LINE))
    assert first.kernel == second.kernel
    assert first.tilt == second.tilt
    assert sb.robust_ksd_test(5.0 + 3.0 * LINE, GAUSSIAN, 0.05, rng=0, standardize=False).kernel != first.kernel


def test_without_a_sampler_the_user_must_give_them() -> None:
    options: dict[str, Any] = {"calibration": sb.Betting(), "tau": 5.0}
    with pytest.raises(ValueError, match="must not choose its kernel"):
        sb.robust_ksd_test(LINE, lambda x: -x, 0.05, **options)
    with pytest.raises(ValueError, match="must not choose its tilt"):
        sb.robust_ksd_test(LINE, lambda x: -x, 0.05, kernel=sb.InverseMultiquadric(1.0), **options)
    given: dict[str, Any] = {"kernel": sb.InverseMultiquadric(1.0), "tilt": sb.PolynomialTilt()}
    assert sb.robust_ksd_test(LINE, lambda x: -x, 0.05, **given, **options).tau_kind == "given"


def test_units_and_correlations_change_no_number() -> None:
    rng, turn = np.random.default_rng(1), np.array([[1.0, 0.0], [900.0, 1000.0]])
    z = rng.normal([0.0, 0.3], size=(120, 2))
    for run in (sb.ksd_test, lambda x, model, **options: sb.robust_ksd_test(x, model, 0.03, **options)):
        plain = run(z, sb.models.Gaussian(dimension=2), rng=0)
        moved = run(5.0 + z @ turn.T, sb.models.Gaussian([5.0, 5.0], turn @ turn.T), rng=0)
        assert moved.pvalue == plain.pvalue
        assert (moved.ksd, moved.tau, moved.radius) == pytest.approx((plain.ksd, plain.tau, plain.radius), rel=1e-8)
        np.testing.assert_allclose(moved.contributions, plain.contributions, rtol=1e-6, atol=1e-12)
