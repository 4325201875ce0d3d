"""What is tested is checked once: samples, model, level, and the score at the samples."""

from __future__ import annotations

import pickle
import sys
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import steinball as sb
from steinball.arrays import SMALL_JAX, as_samples, check_level
from steinball.models.base import as_model, model_at
from steinball.problem import Rows, pose

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


def test_a_subject_that_must_not_look_ahead_looks_at_the_model() -> None:
    model = sb.models.Gaussian(3.0, 4.0)
    first, second = (Rows.of(x, model, predictable=True).pose(None, "auto") for x in (X[:, :1], 50.0 * X[:, :1]))
    assert first.stein == second.stein
    looked = Rows.of(50.0 * X[:, :1], model).pose(None, "auto")
    assert looked.stein.kernel != second.stein.kernel


def test_one_without_a_sampler_says_what_to_give() -> None:
    blind = Rows.of(X, lambda x: -x, predictable=True)
    with pytest.raises(ValueError, match=r"must not choose its kernel.*`kernel=InverseMultiquadric"):
        blind.pose(None, None)
    with pytest.raises(ValueError, match=r"must not choose its tilt.*`tilt=PolynomialTilt"):
        blind.pose(sb.InverseMultiquadric(1.0), "auto")
    assert blind.pose(sb.InverseMultiquadric(1.0), None).stein.tilt is None


def test_several_kernels_share_scores_and_the_tilt_of_the_one_in_the_middle() -> None:
    kernels = [sb.InverseMultiquadric(lengthscale) for lengthscale in (0.1, 1.0, 10.0)]
    model = sb.models.Gaussian(dimension=2)
    problems = Rows.of(X, model).pose_all(kernels, "auto")
    assert [problem.stein.kernel for problem in problems] == kernels
    assert {id(problem.scores) for problem in problems} == {id(problems[0].scores)}
    assert {problem.stein.tilt for problem in problems} == {pose(X, model, kernels[1], "auto").stein.tilt}


class Narrows:
    """Jumps that lose a column."""

    def move(self, samples: Any, model: Any, seed: Any, /) -> Any:
        return samples[:, :1]


def test_what_jumps_return_is_checked() -> None:
    with pytest.raises(ValueError, match=r"`jumps.move\(samples, model, seed\)` must have the 2 columns"):
        sb.ksd_test(X, lambda x: -x, jumps=Narrows())


def test_wrong_kernels_and_tilts_are_refused_wherever_the_defaults_come_from() -> None:
    for predictable in (False, True):
        subject = Rows.of(X, sb.models.Gaussian(dimension=2), predictable=predictable)
        with pytest.raises(TypeError, match="`kernel` must be a kernel"):
            subject.pose(1.0, None)  # type: ignore[arg-type]
        with pytest.raises(ValueError, match='`tilt` must be a tilt, None or "auto"'):
            subject.pose(None, "automatic")
        with pytest.raises(TypeError, match="`tilt` must be a tilt"):
            subject.pose(None, 0.5)  # type: ignore[arg-type]


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


def test_few_samples_of_jax_are_computed_in_numpy_and_the_model_still_sees_jax() -> None:
    jnp = pytest.importorskip("jax.numpy")
    seen = []

    def score(x: Any) -> Any:
        seen.append(type(x))
        return -x.at[:].get()  # which NumPy arrays do not have

    x = jnp.asarray(X)
    problem = Rows.of(x, score).pose(None, "auto")
    assert isinstance(problem.samples, np.ndarray)
    assert set(seen) == {type(x)}
    assert isinstance(Rows.of(x, sb.from_scores(-x)).pose(None, None).scores, np.ndarray)
    many = jnp.zeros((SMALL_JAX + 1, 1))
    assert type(Rows.of(many, score).samples) is type(many)
    pickle.loads(pickle.dumps(sb.ksd_test(x, sb.models.Gaussian(dimension=2), rng=0)))


def test_a_tilt_whose_width_at_an_edge_comes_from_the_samples_is_not_fixed_in_advance() -> None:
    x = np.abs(LINE)
    edged = sb.from_score(lambda x: -x, support=(0, None), sample=lambda n, rng: np.abs(rng.normal(size=(n, 1))))
    rows = Rows.of(x, edged, standardize=True)
    assert "EdgeTilt" in repr(rows.choose(None, "auto").tilt)
    assert not rows.fixes(None, "auto")
    assert rows.fixes(None, None)
    assert Rows.of(x, edged, standardize=True, predictable=True).fixes(None, "auto")
    with pytest.raises(ValueError, match="come from its data"):
        sb.robust_ksd_test(x, edged, 0.05, tau=50.0, kernel=sb.InverseMultiquadric(1.0), rng=0).fragility()


def test_what_is_fixed_in_advance_by_default() -> None:
    full = sb.models.Gaussian(3.0, 4.0)
    drawn = sb.from_score(full.score, sample=full.sample)
    told = {"full": full, "drawn": drawn, "bare": sb.from_score(full.score)}
    found = {name: Rows.of(LINE, model, standardize=True).fixes(None, "auto") for name, model in told.items()}
    assert found == {"full": True, "drawn": True, "bare": False}
    assert not Rows.of(LINE, told["bare"], standardize=True).fixes(None, None), "the data say where they are tested"
    assert Rows.of(LINE, told["bare"], standardize=True, predictable=True).moves == (), "they must not be looked at"
    assert not Rows.of(LINE, full).fixes(None, "auto"), "in the coordinates of the data the length scale is theirs"


def test_units_and_correlations_change_no_number() -> None:
    rng, turn = np.random.default_rng(1), np.array([[1.0, 0.0], [900.0, 1000.0]])
    z = rng.normal([0.0, 0.3], size=(120, 2))
    for run in (sb.ksd_test, lambda x, model, **options: sb.robust_ksd_test(x, model, 0.03, **options)):
        plain = run(z, sb.models.Gaussian(dimension=2), rng=0)
        moved = run(5.0 + z @ turn.T, sb.models.Gaussian([5.0, 5.0], turn @ turn.T), rng=0)
        assert moved.pvalue == plain.pvalue
        assert (moved.ksd, moved.tau, moved.radius) == pytest.approx((plain.ksd, plain.tau, plain.radius), rel=1e-8)
        np.testing.assert_allclose(moved.contributions, plain.contributions, rtol=1e-6, atol=1e-12)


def test_what_is_asked_for_in_coordinates_of_the_data_keeps_these() -> None:
    x, model = 3.0 + 2.0 * LINE, sb.models.Gaussian(3.0, 4.0)
    asked: list[dict[str, Any]] = [
        {"kernel": sb.InverseMultiquadric(2.0)}, {"tilt": sb.PolynomialTilt()}, {"tilt": "auto", "tau": 9.0},
        {"tilt": "auto", "radius": 0.1}, {"tilt": "auto", "radius": sb.Wasserstein(0.1)}, {"standardize": False},
    ]  # fmt: skip
    for options in asked:
        assert "tested in" not in sb.ksd_test(x, model, rng=0, **options).details, options
    for options in ({}, {"tilt": "auto"}, {"tilt": "auto", "radius": sb.Huber(0.1)}):
        assert sb.ksd_test(x, model, rng=0, **options).details["tested in"] == "standardized coordinates"


def test_distances_of_the_data_are_converted_where_a_result_is_read_again() -> None:
    x, model, unit = 2.0 * LINE, sb.models.Gaussian(0.0, 4.0), sb.models.Gaussian()
    moved, plain = (sb.robust_ksd_test(y, m, 0.05, rng=0) for y, m in ((x, model), (LINE, unit)))
    assert moved.at(radius=sb.Wasserstein(0.2)).radius == pytest.approx(plain.at(radius=sb.Wasserstein(0.1)).radius)
    other = np.random.default_rng(3).normal(0.5, size=80)
    for first, second in (
        (sb.Huber(0.05) + sb.ScoreError(0.01), sb.Huber(0.05) + sb.ScoreError(0.02)),
        (sb.radius.Alternative(2.0 * other), sb.radius.Alternative(other)),
    ):
        assert moved.at(radius=first).radius == pytest.approx(plain.at(radius=second).radius, rel=1e-9)
