"""Rows and their model: where they are compared, and which kernel and tilt they get."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

import steinball as sb
from steinball.arrays import SMALL_JAX
from steinball.problem import Problem
from steinball.rows import Rows

pytestmark = pytest.mark.exact

X = np.random.default_rng(0).normal(size=(80, 2))
LINE = np.random.default_rng(0).normal(size=200)


def test_a_subject_that_must_not_look_ahead_looks_at_the_model() -> None:
    model = sb.models.Gaussian(3.0, 4.0)
    first, second = (Problem.of(Rows.of(x, model, predictable=True), None, "auto") for x in (X[:, :1], 50.0 * X[:, :1]))
    assert first.stein == second.stein
    looked = Problem.of(Rows.of(50.0 * X[:, :1], model), None, "auto")
    assert looked.stein.kernel != second.stein.kernel


def test_one_without_a_sampler_says_what_to_give() -> None:
    blind = Rows.of(X, lambda x: -x, predictable=True)
    with pytest.raises(ValueError, match=r"must not choose its kernel.*`kernel=InverseMultiquadric"):
        Problem.of(blind, None, None)
    with pytest.raises(ValueError, match=r"must not choose its tilt.*`tilt=PolynomialTilt"):
        Problem.of(blind, sb.InverseMultiquadric(1.0), "auto")
    assert Problem.of(blind, sb.InverseMultiquadric(1.0), None).stein.tilt is None


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
            Problem.of(subject, 1.0, None)  # type: ignore[arg-type]
        with pytest.raises(ValueError, match='`tilt` must be a tilt, None or "auto"'):
            Problem.of(subject, None, "automatic")
        with pytest.raises(TypeError, match="`tilt` must be a tilt"):
            Problem.of(subject, None, 0.5)  # type: ignore[arg-type]


def test_few_samples_of_jax_are_computed_in_numpy_and_the_model_still_sees_jax() -> None:
    jnp = pytest.importorskip("jax.numpy")
    seen = []

    def score(x: Any) -> Any:
        seen.append(type(x))
        return -x.at[:].get()  # which NumPy arrays do not have

    x = jnp.asarray(X)
    problem = Problem.of(Rows.of(x, score), None, "auto")
    assert isinstance(problem.samples, np.ndarray)
    assert set(seen) == {type(x)}
    assert isinstance(Problem.of(Rows.of(x, sb.from_scores(-x)), None, None).scores, np.ndarray)
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
