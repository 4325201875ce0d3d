"""The benchmark of fitted families runs, and tells its ratio."""

from __future__ import annotations

import pytest

from benchmarks import fitted

pytestmark = pytest.mark.exact


def test_a_small_run_gives_both_times_and_their_ratio() -> None:
    row = fitted.measure(n=200, repeats=1)
    assert row["p"] == 14
    assert row["ratio"] == row["projected"] / row["plain"]
