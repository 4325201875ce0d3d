"""Draws of a model are asked for once, kept with it, and made anew where it has changed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import steinball as sb
from steinball.cautions import UnboundedSteinKernelWarning
from steinball.models import kept, reference
from steinball.models.kept import kept_with
from steinball.models.reference import Reference, known_of, sampler_failure

pytestmark = pytest.mark.exact


class Counted:
    """A model that counts its draws; its score may change."""

    def __init__(self) -> None:
        self.asked: list[int] = []
        self.slope = 1.0

    def score(self, x: Any) -> Any:
        return -self.slope * x

    def sample(self, n: int, rng: Any) -> Any:
        self.asked.append(n)
        return rng.normal(size=(n, 2))


def test_a_reference_is_made_once_and_has_its_scores() -> None:
    model = Counted()
    first, second = Reference.of(model), Reference.of(model)
    assert first is second
    assert first is not None
    assert model.asked == [reference.SIZE]
    np.testing.assert_array_equal(first.scores, -first.draws)


def test_a_model_whose_score_has_changed_is_asked_again_and_its_findings_are_forgotten() -> None:
    model = Counted()
    Reference.of(model)
    kept_with(model, "finding", lambda: "old")
    model.slope = 2.0
    found = Reference.of(model)
    assert found is not None
    np.testing.assert_array_equal(found.scores, -2.0 * found.draws)
    assert kept_with(model, "finding", lambda: "new") == "new"


def test_equal_models_that_are_two_objects_have_a_reference_each() -> None:
    one, other = sb.models.Gaussian([0.0, 0.0]), sb.models.Gaussian([0.0, 0.0])
    assert Reference.of(one) is not Reference.of(other)


def test_a_sampler_that_fails_leaves_its_reason() -> None:
    def broken(n: int, rng: Any) -> Any:
        raise RuntimeError("no draws today")

    model = sb.from_score(lambda x: -x, sample=broken)
    assert Reference.of(model) is None
    assert sampler_failure(model) == "RuntimeError: no draws today"
    assert sampler_failure(sb.from_score(lambda x: -x)) == ""


@pytest.mark.parametrize("score", [lambda x: np.where(x > 0.0, np.nan, -x), lambda x: 1 / 0])
def test_a_score_that_fails_at_its_own_draws_is_unknown_there(score: Any) -> None:
    found = Reference.of(sb.from_score(score, sample=lambda n, rng: rng.normal(size=(n, 1))))
    assert found is not None
    assert found.scores is None


class Placed:
    """A model that says where it lies and cannot be drawn from; it counts the rows that its score is asked for."""

    location: Any = np.zeros(2)
    covariance: Any = np.eye(2)

    def __init__(self) -> None:
        self.rows: list[int] = []
        self.slope = 1.0

    def score(self, x: Any) -> Any:
        self.rows.append(len(x))
        return -self.slope * x


class Growing(Placed):
    """One that states how its score grows, so that a bound is found for it."""

    def score_growth(self, center: Any) -> tuple[float, float]:
        return 4.0 * float(np.linalg.norm(center)), 4.0


class Drawn(Placed):
    location = covariance = None

    def sample(self, n: int, rng: Any) -> Any:
        return rng.normal(size=(n, 2))


def rows_of(seed: int) -> Any:
    return np.random.default_rng(seed).normal(size=(60, 2))


@pytest.mark.parametrize("kind", [Placed, Growing, Drawn])
@pytest.mark.parametrize("standardize", [True, False])
def test_of_other_rows_a_score_is_asked_for_little_more_than_these(kind: Any, standardize: bool) -> None:
    model = kind()
    kernel = None if standardize else sb.InverseMultiquadric(1.0)
    for seed in range(3):
        model.rows = []
        sb.robust_ksd_test(rows_of(seed), model, 0.05, kernel=kernel, rng=0)
        if seed:
            assert sum(model.rows) <= 60 + 12 * 3


@pytest.mark.parametrize("kind", [Placed, Growing, Drawn])
def test_what_was_found_out_about_other_rows_is_what_these_show(kind: Any) -> None:
    known, x = kind(), rows_of(7)
    for seed in range(3):
        sb.robust_ksd_test(rows_of(seed), known, 0.05, rng=0)
    late, fresh = (sb.robust_ksd_test(x, model, 0.05, rng=0) for model in (known, kind()))
    assert late.tau == fresh.tau
    assert late.tau_kind == fresh.tau_kind
    assert repr(late.tilt) == repr(fresh.tilt)
    assert late.pvalue == fresh.pvalue
    assert late.bounded == fresh.bounded


@pytest.mark.parametrize("kind", [Placed, Growing, Drawn])
def test_a_model_in_another_state_is_looked_at_anew(kind: Any) -> None:
    model, changed, x = kind(), kind(), rows_of(7)
    changed.slope = 2.0
    sb.robust_ksd_test(x, model, 0.05, check_model=False, rng=0)
    model.slope = 2.0
    found, expected = (sb.robust_ksd_test(x, m, 0.05, check_model=False, rng=0) for m in (model, changed))
    assert found.tau == expected.tau
    assert repr(found.tilt) == repr(expected.tilt)


def test_a_model_that_has_changed_far_out_alone_is_looked_at_anew() -> None:
    class Tailed(Placed):
        far = 1.0

        def score(self, x: Any) -> Any:
            return np.where(np.abs(x) > 6.0, -self.far * x, -x)

    model, changed = Tailed(), Tailed()
    sb.robust_ksd_test(rows_of(7), model, 0.05, rng=0)
    model.far = changed.far = 5.0
    found, expected = (sb.robust_ksd_test(rows_of(7), m, 0.05, rng=0).tau for m in (model, changed))
    assert found == expected


@pytest.mark.parametrize("standardize", [True, False])
def test_a_model_that_says_that_it_lies_elsewhere_is_looked_at_anew(standardize: bool) -> None:
    model, x = Placed(), rows_of(7)
    words: Any = {"kernel": None if standardize else sb.InverseMultiquadric(1.0), "rng": 0}
    first = sb.robust_ksd_test(x, model, 0.05, **words)
    model.location = np.array([0.0, 5.0])
    second, other = sb.robust_ksd_test(x, model, 0.05, **words), Placed()
    other.location = np.array([0.0, 5.0])
    assert first.tau < second.tau == sb.robust_ksd_test(x, other, 0.05, **words).tau


def test_of_a_model_that_has_no_score_far_out_nothing_is_kept() -> None:
    class Near(Growing):
        def score(self, x: Any) -> Any:
            return np.where(np.abs(x).max() > 8.0, np.nan, -self.slope * x)

        def score_growth(self, center: Any) -> tuple[float, float]:
            return self.slope * float(np.linalg.norm(center)), self.slope

    model, fresh, x = Near(), Near(), rows_of(7)
    first = sb.robust_ksd_test(x, model, 0.05, rng=0)
    model.slope = fresh.slope = 2.0
    found, expected = (sb.robust_ksd_test(x, m, 0.05, rng=0) for m in (model, fresh))
    assert first.tau_kind == "certified"
    assert first.tau < found.tau == expected.tau


def test_a_search_does_not_set_out_from_beyond_the_support() -> None:
    class Unplaced:
        location: Any = None
        covariance: Any = None
        support = (0.0, None)

        def score(self, x: Any) -> Any:
            return np.where(x > 0.0, -1.0, 1e3)

    class Waiting(Unplaced):
        location, covariance = (1.0,), ((1.0,),)

    x, models = np.random.default_rng(0).exponential(size=60), (Waiting(), Unplaced())
    placed, unplaced = (sb.robust_ksd_test(x, model, 0.05, standardize=False, rng=0) for model in models)
    assert placed.tau == pytest.approx(unplaced.tau, rel=0.1)


@pytest.mark.parametrize("kind", [Placed, Drawn])
@pytest.mark.parametrize("wide", [1.0, 100.0])
def test_a_score_that_fails_around_its_own_place_is_no_reason_to_stop(kind: Any, wide: float) -> None:
    class Here(kind):  # type: ignore[misc]
        covariance = None if kind is Drawn else wide * np.eye(2)

        def score(self, x: Any) -> Any:
            if np.abs(x).max() > 5.0 * wide**0.25:
                raise RuntimeError("not so far out")
            return -self.slope * x

    with pytest.warns(UnboundedSteinKernelWarning, match="not so far out"):
        result = sb.robust_ksd_test(np.clip(rows_of(7), -2.0, 2.0), Here(), 0.05, rng=0)
    assert result.bounded == "unknown"
    assert result.tau_kind == "sample"


def test_a_model_that_cannot_change_is_not_drawn_from_to_see_that() -> None:
    model, made = sb.models.Gaussian([0.0, 1.0]), []
    for _ in range(2):
        known_of(model, "finding", lambda: made.append(1))
    assert len(made) == 1
    assert list(kept._KEPT[id(model)][1]) == [("Gaussian", "always", "finding")]
