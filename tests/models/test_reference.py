"""Draws of a model are asked for once, kept with it, and made anew where it has changed."""

from __future__ import annotations

import gc
from typing import Any

import numpy as np
import pytest

import steinball as sb
from steinball.models import reference
from steinball.models.reference import Reference, kept_with, sampler_failure

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


def test_what_is_kept_goes_with_its_owner() -> None:
    model = Counted()
    name = id(model)
    Reference.of(model)
    assert name in reference._KEPT
    del model
    gc.collect()
    assert name not in reference._KEPT


def test_equal_models_that_are_two_objects_have_a_reference_each() -> None:
    one, other = sb.models.Gaussian([0.0, 0.0]), sb.models.Gaussian([0.0, 0.0])
    assert Reference.of(one) is not Reference.of(other)


def test_what_cannot_be_referred_to_weakly_is_asked_every_time() -> None:
    calls: list[int] = []
    assert [kept_with((1, 2), "key", lambda: calls.append(1) or 7) for _ in range(2)] == [7, 7]  # type: ignore[func-returns-value]
    assert len(calls) == 2


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
