"""Kinds of τ: which of them hold for every x."""

from __future__ import annotations

import pytest

from steinball.features import Supremum

pytestmark = pytest.mark.exact


@pytest.mark.parametrize("kind", ["given", "closed form", "certified"])
def test_what_is_proved_is_an_upper_bound(kind: str) -> None:
    assert Supremum(1.0, kind).is_upper_bound


@pytest.mark.parametrize("kind", ["sample", "optimized", "localized", "estimated"])
def test_what_was_seen_or_estimated_is_none(kind: str) -> None:
    assert not Supremum(1.0, kind).is_upper_bound
