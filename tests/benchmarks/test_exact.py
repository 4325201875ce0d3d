"""The benchmark of the exact test measures what it says."""

from __future__ import annotations

import pytest

from benchmarks.exact import line, measure

pytestmark = pytest.mark.exact


def test_a_row_holds_the_times_and_a_line_says_whether_the_target_is_met() -> None:
    row = measure(20, 1, samples=19, jobs=1)
    assert row["seconds"] > 0.0
    assert row["predicted"] > 0.0
    assert row["memory"] >= 8 * 19 * 21
    assert line({**row, "n": 500, "d": 1, "seconds": 2.0}).endswith("≤ 5 s: met")
    assert line({**row, "n": 500, "d": 1, "seconds": 9.0}).endswith("MISSED")
