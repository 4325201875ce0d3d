"""Few rows, rounded rows, copied rows and slow memory, one small cell for each claim."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from experiments.evidence.small_fits import FAMILIES, GRID, LAWS, SERIES, SLOW, trial

pytestmark = pytest.mark.exact


def count(cell: dict[str, Any], repeats: int) -> dict[str, int]:
    """How many of some trials say yes, by what they say."""
    found: dict[str, int] = {}
    for seed in range(repeats):
        for row in trial(cell, np.random.default_rng([24, seed])):
            found[row["test"]] = found.get(row["test"], 0) + row["rejected"]
    return found


def test_the_grid_has_every_family_law_and_series() -> None:
    for kind, names in (("few rows", FAMILIES), ("rounded", LAWS), ("series", SERIES), ("chains", SLOW)):
        assert {cell["strategy"] for cell in GRID if cell["kind"] == kind} == set(names)


@pytest.mark.parametrize("family", FAMILIES)
def test_a_trial_fits_each_family_to_ten_rows(family: str) -> None:
    (row,) = trial({"kind": "few rows", "strategy": family, "n": 10}, np.random.default_rng(1))
    assert row["rejected"] in (0, 1)
    assert row["test"] == "rejected"


@pytest.mark.calibration
def test_ten_rows_of_a_normal_family_keep_the_level() -> None:
    """30 samples: at most five, where the projection rejects a quarter."""
    assert count({"kind": "few rows", "strategy": "normal", "n": 10}, 30)["rejected"] <= 5


@pytest.mark.calibration
def test_normal_rows_are_of_the_student_t_family() -> None:
    assert count({"kind": "normal in student-t", "strategy": "normal", "n": 100}, 30)["rejected"] <= 5


@pytest.mark.calibration
def test_rows_rounded_to_a_tenth_keep_the_level() -> None:
    assert count({"kind": "rounded", "strategy": "exponential", "n": 500, "rate": 0.1}, 30)["rejected"] <= 5


@pytest.mark.calibration
def test_copies_are_warned_of() -> None:
    for times in (2, 5):
        assert count({"kind": "copied", "strategy": "normal", "n": 500, "rate": times}, 5)["warned"] == 5


@pytest.mark.calibration
@pytest.mark.parametrize("kind", ["series", "chains"])
def test_long_memory_is_refused(kind: str) -> None:
    found = count({"kind": kind, "strategy": "ARFIMA(.4)", "n": 2000}, 6)
    assert found["refused"] >= 5
    assert found["rejected"] <= 1
