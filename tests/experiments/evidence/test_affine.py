"""Units and correlations of columns, at the smallest size."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from experiments.evidence.affine import KNOWN, MAPS, STRATEGIES, TOLERANCES, sample, trial


@pytest.mark.exact
def test_a_trial_has_a_row_for_each_way_and_tolerance() -> None:
    rows = trial({"kind": "1 : 10 : 100", "strategy": "model"}, np.random.default_rng(0))
    assert [(row["test"], row["tolerance"]) for row in rows] == [(k, t) for k in KNOWN for t in TOLERANCES]


@pytest.mark.exact
def test_the_same_noise_gives_the_same_answer_under_every_map() -> None:
    """By the covariance of the model the numbers are equal, not the rates alone."""
    for strategy in STRATEGIES:
        found = [trial({"kind": kind, "strategy": strategy}, np.random.default_rng(3)) for kind in MAPS]
        ksds = [{(r["test"], r["tolerance"]): r["ksd"] for r in rows} for rows in found]
        for key in ksds[0]:
            equal = [one[key] == pytest.approx(ksds[0][key], rel=1e-6) for one in ksds[1:]]
            if key[0] == "covariance":
                assert all(equal)
            elif key[0] == "data":
                assert all(equal[:2]), "units change nothing, whatever is estimated"
            elif key[0] == "as it is":
                assert not any(equal)


@pytest.mark.calibration
def test_a_shift_of_the_wide_column_is_found_in_standardized_coordinates_only() -> None:
    counts: dict[Any, int] = dict.fromkeys(KNOWN, 0)
    for seed in range(20):
        for row in trial({"kind": "1 : 1 : 10⁴", "strategy": "shifted"}, np.random.default_rng([5, seed])):
            counts[row["test"]] += row["rejected"] * (row["tolerance"] == 0.0)
    assert min(counts["covariance"], counts["draws"], counts["data"]) >= 11
    assert counts["as it is"] <= 5


@pytest.mark.exact
def test_samples_are_images_of_normal_ones() -> None:
    for kind, matrix in MAPS.items():
        x = sample({"kind": kind, "strategy": "model"}, np.random.default_rng(0))
        np.testing.assert_allclose(np.linalg.solve(matrix, x.T).T, np.random.default_rng(0).normal(size=x.shape))
