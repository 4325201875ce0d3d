"""Families under a tolerance, at the smallest size."""

from __future__ import annotations

import numpy as np
import pytest

from experiments.evidence.families import FAMILIES, sample, trial


@pytest.mark.exact
def test_bad_rows_lie_where_the_cell_says() -> None:
    cell = {"kind": "level", "strategy": "gamma", "n": 4000, "contamination": 0.05, "outlier": 1_000_000}
    x = sample(cell, np.random.default_rng(0))
    assert np.mean(x == 1_000_000) == pytest.approx(0.05, abs=0.02)
    assert np.median(x) == pytest.approx(1.68, abs=0.1)


@pytest.mark.calibration
def test_right_families_with_bad_rows_pass_and_uniform_data_do_not() -> None:
    for family in FAMILIES:
        cell = {"kind": "level", "strategy": family, "n": 100, "contamination": 0.05, "outlier": 8}
        rows = trial(cell, np.random.default_rng(1))
        assert [(row["test"], row["rejected"]) for row in rows] == [("regions", 0), ("good enough", 0)]
    assert trial({"kind": "power", "strategy": "uniform", "n": 500}, np.random.default_rng(1))[0]["rejected"] == 1
