"""The evidence on the monitor: its feeds, its adversary, and one trial of each kind."""

from __future__ import annotations

import numpy as np
import pytest

from experiments.evidence import monitor
from experiments.evidence.monitor import CHANGES, GRID, trial
from steinball.sequential.monitor import Detector, ExactColumns

pytestmark = pytest.mark.exact


@pytest.mark.parametrize("kind", ["5 % at 8", "bursts"])
def test_five_percent_of_the_rows_are_bad(kind: str) -> None:
    rng = np.random.default_rng(0)
    x = CHANGES[kind](rng.standard_normal((40_000, 1)), rng)
    assert (x == 8.0).mean() == pytest.approx(0.05, abs=0.006)


def test_bursts_are_ten_rows_long() -> None:
    rng = np.random.default_rng(1)
    bad = np.flatnonzero(CHANGES["bursts"](rng.standard_normal((5000, 1)), rng)[:, 0] == 8.0)
    assert (np.diff(bad) == 1).mean() > 0.85


def test_the_adversary_finds_no_better_place_on_a_finer_grid() -> None:
    detector = Detector.start(0.05, 1e9, ExactColumns(lambda rows: rows), 1)
    detector.advance(np.random.default_rng(2).random((60, 1)) ** 2)
    coarse, fine = (monitor._worst(detector, np.linspace(0.0, 1.0, n)[:, None]) for n in (65, 2001))

    def evidence(u: np.ndarray) -> float:
        other = Detector.start(0.05, 1e9, ExactColumns(lambda rows: rows), 1)
        other.directions, other.wealth = detector.directions, detector.wealth
        return float(other.advance(u)[0][0])

    assert evidence(coarse) == pytest.approx(evidence(fine), rel=0.02)
    assert evidence(coarse) >= max(evidence(np.array([[u]])) for u in (0.0, 0.3, 0.6, 1.0))


def test_a_trial_counts_rows_to_the_first_alarm(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(monitor, "LONGEST", 1000)
    monkeypatch.setattr(monitor, "threshold", lambda: 0.5)
    cases = {"shift 1": ["monitor", "window"], "shift .5, by draws": ["monitor"], "adaptive": ["monitor"]}
    for kind, tests in cases.items():
        cell = next(cell for cell in GRID if cell["kind"] == kind)
        rows = trial(cell, np.random.default_rng(3))
        assert [row["test"] for row in rows] == tests
        assert all(0 < row["ksd"] <= 1000 for row in rows)
    assert all(row["rejected"] == (row["ksd"] <= 100) for row in rows)
