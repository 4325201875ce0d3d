"""`check_score` recognizes the mistakes that people make."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import stats

import steinball as sb
from steinball.models import (
    Gaussian,
    GaussianMixture,
    StudentT,
    check_score,
    from_log_density,
)
from steinball.models.score_check import ScoreCheck, find_endings

pytestmark = pytest.mark.exact

MODEL = Gaussian([1.0, -2.0, 0.5], [[2.0, 0.3, -0.4], [0.3, 1.0, 0.1], [-0.4, 0.1, 0.5]])
X = np.random.default_rng(0).normal(size=(12, 3))
SHIFT = np.array([0.25, 0.0, -3.0])


def check(score: Callable[[Any], Any], **options: Any) -> ScoreCheck:
    return check_score(score, X, log_density=MODEL.log_density, **options)


@pytest.mark.parametrize(
    "model",
    [
        MODEL,
        StudentT(3.0, [1.0, 2.0]),
        GaussianMixture([0.3, 0.7], [[0.0, 1.0], [3.0, -1.0]], np.stack([np.eye(2)] * 2)),
    ],
    ids=lambda model: type(model).__name__,
)
def test_right_scores_pass_at_samples_of_the_model(model: Any) -> None:
    found = check_score(model)
    assert found.ok
    assert found
    assert found.worst_error < 1e-8
    assert found.message.startswith("The score is the gradient of the log density")


def test_right_scores_pass_as_a_function_and_as_an_array() -> None:
    assert check(MODEL.score)
    assert check_score(MODEL.score(X), X, log_density=MODEL.log_density)


MISTAKES: dict[str, tuple[Callable[[Any], Any], str]] = {
    "sign": (lambda x: -MODEL.score(x), "sign is flipped"),
    "twice": (lambda x: 2.0 * MODEL.score(x), "twice the gradient"),
    "half": (lambda x: 0.5 * MODEL.score(x), "half the gradient"),
    "factor": (lambda x: -3.7 * MODEL.score(x), r"is -3\.7 times the gradient"),
    "zero": (lambda x: 0.0 * x, "0 times the gradient"),
    "offset": (lambda x: MODEL.score(x) + SHIFT, r"off by a constant vector \[ 0\.25 -?0\. +-3\. *\]"),
    "swapped": (lambda x: MODEL.score(x)[:, [1, 2, 0]], r"another order: they hold \[1, 2, 0\]"),
    "reversed": (lambda x: MODEL.score(x)[:, ::-1], r"another order: they hold \[2, 1, 0\]"),
    "coordinate": (
        lambda x: MODEL.score(x) * [1.0, 1.0, 1.01],
        r"wrong in 12 of 36 entries; most at row \d+, coordinate 2",
    ),
    "row": (
        lambda x: MODEL.score(x) + 2.0 * (np.arange(12)[:, None] == 4),
        r"wrong in 3 of 36 entries; most at row 4",
    ),
    "other": (lambda x: MODEL.score(x) + np.sin(9.0 * x), "wrong in 3[0-9] of 36 entries; most at row"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_each_mistake_is_found_and_named(name: str) -> None:
    score, says = MISTAKES[name]
    found = check(score)
    assert not found.ok
    assert not found
    assert found.worst_error > 1e-3
    assert re.search(says, found.message)


def test_the_worst_entry_is_located() -> None:
    wrong = MODEL.score(X)
    wrong[3, 1] += 0.1
    wrong[7, 2] += 5.0
    found = check_score(wrong, X, log_density=MODEL.log_density)
    assert "most at row 7, coordinate 2: " in found.message
    gradient = MODEL.score(X)[:, 2]
    expected = 5.0 / max(abs(gradient[7]), float(np.median(np.abs(gradient))))
    assert found.worst_error == pytest.approx(expected, rel=1e-6)


def test_the_tolerance_separates_right_from_wrong() -> None:
    """An error of 1e-6 relative is within the default, and beyond a stricter tolerance."""
    assert check(lambda x: MODEL.score(x) * (1.0 + 1e-6))
    assert not check(lambda x: MODEL.score(x) * (1.0 + 1e-6), rtol=1e-7)
    assert not check(lambda x: MODEL.score(x) * (1.0 + 1e-3))


def test_the_order_of_many_coordinates_is_found() -> None:
    d = 30
    order = np.random.default_rng(1).permutation(d)
    model = Gaussian(np.arange(d, dtype=float), np.diag(1.0 + np.arange(d)))
    x = np.random.default_rng(2).normal(size=(5, d))
    found = check_score(lambda x: model.score(x)[:, order], x, log_density=model.log_density)
    assert found.message == "The coordinates of the score are in another order."


def test_an_unusable_score_is_a_result_and_not_an_exception() -> None:
    shape = check(lambda x: MODEL.score(x).T)
    assert "must have the shape of `samples`" in shape.message
    assert "must be finite, but 12 of 12" in check(lambda x: np.nan * x).message
    array = check_score(MODEL.score(X)[:5], X, log_density=MODEL.log_density)
    for found in (shape, array):
        assert not found
        assert found.worst_error == np.inf


def test_a_log_density_that_is_not_finite_is_named() -> None:
    x = np.array([[1.0], [-1.0], [2.0]])
    found = check_score(lambda x: 1.0 / x, x, log_density=lambda x: np.log(np.where(x > 0, x, np.nan))[:, 0])
    assert not found
    assert found.message == "The log density has no finite derivative in 1 rows (first: row 1)."


def test_a_missing_or_unusable_log_density_is_an_error() -> None:
    with pytest.raises(TypeError, match=r"`model` has no `log_density`.*pass `log_density=`"):
        check_score(lambda x: -x, X)
    with pytest.raises(TypeError, match="`x` must be given: `model` has no `sample"):
        check_score(from_log_density(MODEL.log_density, backend="numerical"))
    with pytest.raises(ValueError, match="one number for each of the 12 rows"):
        check_score(MODEL.score, X, log_density=lambda x: MODEL.log_density(x).sum())
    with pytest.raises(ValueError, match="must treat each row by itself"):
        check_score(MODEL.score, X, log_density=lambda x: MODEL.log_density(x) - MODEL.log_density(x).mean())


def test_the_repr_says_it_in_words() -> None:
    assert repr(check(MISTAKES["sign"][0])) == (
        "ScoreCheck(ok=False, worst_error=2)\n"
        "  The sign is flipped: the score is minus the gradient of the log density."
    )


@pytest.mark.backend
def test_points_of_any_library_are_checked_in_that_library(xp: Any) -> None:
    x = xp.asarray(X)
    assert check_score(MODEL, x)
    assert "twice" in check_score(lambda x: 2.0 * MODEL.score(x), x, log_density=MODEL.log_density).message


@pytest.mark.backend
def test_single_precision_does_not_raise_false_alarms(xp: Any) -> None:
    x = xp.asarray(X, dtype=xp.float32)
    assert check_score(MODEL, x)
    assert "sign" in check_score(lambda x: -MODEL.score(x), x, log_density=MODEL.log_density).message


@pytest.mark.backend
@pytest.mark.parametrize("backend", ["jax", "torch"])
def test_automatic_and_numerical_differentiation_agree(backend: str) -> None:
    pytest.importorskip(backend)
    model = from_log_density(lambda x: -(x[:, 0] ** 4) - (x[:, 1] - x[:, 2]) ** 2, backend=backend)
    assert check_score(model, X).worst_error < 1e-8


RNG = np.random.default_rng(0)


@pytest.mark.parametrize(
    ("distribution", "edge", "words"),
    [
        (stats.expon(), 0.0, "does not vanish there: Stein's identity fails"),
        (stats.uniform(1.0, 2.0), 1.0, "does not vanish there"),
        (stats.gamma(1.5), 0.0, r"like r^0.5 in the distance r: E u(x, x) is infinite"),
    ],
    ids=["exponential", "uniform", "gamma"],
)
def test_an_edge_that_nobody_declared_is_named(distribution: Any, edge: float, words: str) -> None:
    x = distribution.rvs((40, 1), random_state=0)
    model: Any = sb.as_model(distribution)
    found = sb.check_score(model.score, x, log_density=model.log_density)
    assert not found.ok
    assert words in found.message
    declared = sb.from_score(model.score, support=model.support.ends, log_density=model.log_density)
    assert sb.check_score(declared, x).ok
    assert find_endings(model._log_density, x)[0].edge == pytest.approx(edge, abs=1e-6)


def test_densities_that_vanish_at_their_edge_or_have_none_are_left_alone() -> None:
    for distribution in (stats.lognorm(1.0), stats.gamma(4.0), stats.t(3.0), stats.norm()):

        def log_density(z: Any, of: Any = distribution) -> Any:
            return of.logpdf(z)[:, 0]

        assert find_endings(log_density, distribution.rvs((40, 1), random_state=0)) == []


def test_it_runs_by_itself_and_warns_every_time() -> None:
    x = RNG.normal(size=60)
    wrong = sb.from_score(lambda z: -2.0 * z, log_density=lambda z: -0.5 * z[:, 0] ** 2)
    for _ in range(2):
        with pytest.warns(sb.cautions.WrongScoreWarning, match="a factor 1/2 is missing"):
            sb.ksd_test(x, wrong, rng=0)
    half = sb.from_log_density(lambda z: np.where(z[:, 0] > 0, -z[:, 0], -np.inf), backend="numerical")
    with pytest.warns(sb.cautions.WrongScoreWarning, match=r"ends at .* and does not vanish there.*support="):
        sb.ksd_test(np.abs(x) + 0.01, half, rng=0)


def test_right_models_are_not_warned_of() -> None:
    x = RNG.normal(size=60)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sb.ksd_test(x, sb.from_score(lambda z: -z, log_density=lambda z: -0.5 * z[:, 0] ** 2), rng=0)
        sb.ksd_test(x, sb.from_log_density(lambda z: -0.5 * z[:, 0] ** 2, backend="numerical"), rng=0)
        broken = sb.from_score(lambda z: -z, log_density=lambda z: 1 / 0)
        sb.ksd_test(x, broken, rng=0)
        sb.ksd_test(x, sb.from_score(lambda z: -2.0 * z, log_density=lambda z: -(z[:, 0] ** 2)), rng=0, level=0.01)
