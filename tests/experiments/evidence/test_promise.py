"""The places where the level was lost: what a trial of them gives."""

from __future__ import annotations

import numpy as np
import pytest

from experiments.evidence.promise import AFTER, BEFORE, PLACES, TOLD, trial

pytestmark = pytest.mark.paper


@pytest.mark.parametrize("kind", ["A1 exponential, clean", "A4 bets, sorted rows"])
def test_what_was_rejected_before_is_not_rejected_now(kind: str) -> None:
    rows = {row["test"]: row["rejected"] for row in trial({"kind": kind}, np.random.default_rng(0))}
    assert rows == {BEFORE: 1, AFTER: 0}


def test_what_cannot_be_kept_is_told() -> None:
    rows = {row["test"]: row["rejected"] for row in trial({"kind": "A14 n = 3"}, np.random.default_rng(0))}
    assert rows[TOLD] == 1
    assert all(place.told or place.before is not None for place in PLACES.values())
