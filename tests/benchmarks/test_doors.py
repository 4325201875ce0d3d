"""The measurements of comparisons and monitors say what they are and whether they suffice."""

from __future__ import annotations

import pytest

from benchmarks import doors

pytestmark = pytest.mark.exact


def test_comparisons_are_measured_in_seconds_and_passes() -> None:
    closed, drawn = doors.compared(n=50, d=1)
    assert closed["met"] == (closed["seconds"] <= doors.CLOSED)
    assert drawn["passes"] > 1.0
    assert "1,000 draws of each" in doors.line(drawn)
    assert "passes; ≤ 60 s" in doors.line(drawn)
    assert "closed form, n=50 d=1" in doors.line(closed)


def test_monitors_are_measured_in_rows_a_second() -> None:
    assert doors.watched(2, 1.0, batch=100, batches=2)["met"]
    missed = doors.watched(1, 1e12, batch=100, batches=1)
    assert not missed["met"]
    assert doors.line(missed).endswith("≥ 1,000,000,000,000 rows a second: MISSED")
