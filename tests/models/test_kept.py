"""What was found out about an object goes with it, and no more of it is kept than is used."""

from __future__ import annotations

import gc
from typing import Any

import numpy as np
import pytest

import steinball as sb
from steinball.models import kept
from steinball.models.kept import kept_with

pytestmark = pytest.mark.exact


class Owner:
    """Something about which something is found out."""


def test_more_findings_than_are_kept_push_out_what_was_not_asked_for_longest() -> None:
    model, made = Owner(), []

    def find(key: int) -> int:
        made.append(key)
        return key

    for key in range(3 * kept._MOST):
        assert kept_with(model, key, lambda key=key: find(key)) == key  # type: ignore[misc]
        assert kept_with(model, 0, lambda: find(0)) == 0
    assert made == list(range(3 * kept._MOST))
    kept_with(model, 1, lambda: find(1))
    assert made[-1] == 1


def test_what_is_kept_goes_with_its_owner() -> None:
    model = Owner()
    name = id(model)
    kept_with(model, "answer", lambda: 42)
    assert name in kept._KEPT
    del model
    gc.collect()
    assert name not in kept._KEPT


def test_what_cannot_be_referred_to_weakly_is_asked_every_time() -> None:
    calls: list[int] = []
    assert [kept_with((1, 2), "key", lambda: calls.append(1) or 7) for _ in range(2)] == [7, 7]  # type: ignore[func-returns-value]
    assert len(calls) == 2


def test_under_ever_other_tilts_no_more_is_kept_than_is_used() -> None:
    class Waiting:
        support = (0.0, None)

        def __init__(self) -> None:
            self.asked = 0

        def score(self, x: Any) -> Any:
            return -1.0 + 0.0 * x

        def sample(self, n: int, rng: Any) -> Any:
            self.asked += 1
            return rng.exponential(size=(n, 1))

    model, rng = Waiting(), np.random.default_rng(0)
    for _ in range(30):  # the scale of the edge is that of the rows
        sb.robust_ksd_test(rng.exponential(size=20), model, 0.05, calibration=sb.BoundaryBootstrap(99), rng=0)
    assert len(kept._KEPT[id(model)][1]) <= kept._MOST
    assert model.asked == 1
