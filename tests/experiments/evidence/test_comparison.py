"""The evidence on comparison: its samples, and one trial of each kind."""

from __future__ import annotations

import numpy as np
import pytest

from experiments.evidence.comparison import GRID, METHODS, PAIRS, centers, sample, trial

pytestmark = pytest.mark.exact


def test_five_percent_of_the_rows_lie_where_the_name_says() -> None:
    rng = np.random.default_rng(0)
    x = sample(PAIRS["closer, 5 % at 8"], 20_000, 2, rng)
    assert (x == 8.0).all(axis=1).mean() == pytest.approx(0.05, abs=0.006)
    assert not (sample(PAIRS["closer"], 2000, 1, rng) == 8.0).any()


def test_models_differ_in_one_column_or_in_all() -> None:
    first, second = centers(PAIRS["tie, 5 % at 8"], 3)
    np.testing.assert_array_equal(second, [0.5, 0.0, 0.0])
    np.testing.assert_array_equal(first, -second)
    assert (centers(PAIRS["every column, 5 % at 8"], 3)[1] == 0.45).all()


@pytest.mark.parametrize("strategy", ["closed", "draws"])
def test_a_trial_says_of_each_method_who_is_closer(strategy: str) -> None:
    cell = {**next(cell for cell in GRID if cell["strategy"] == strategy), "n": 60}
    rows = trial(cell, np.random.default_rng(1))
    methods = METHODS if strategy == "closed" else ["kernel"]
    assert [row["test"] for row in rows] == [f"{method} {name}" for method in methods for name in "ab"]
    for method in methods:
        assert sum(row["rejected"] for row in rows if row["test"].startswith(method)) <= 1


@pytest.mark.calibration
def test_the_ksd_ranks_wrongly_where_the_kernel_score_does_not() -> None:
    """N(.5, 1) and N(0, 3²) for data of N(0, 1), 10 samples: .98 and 1 in 200."""
    cell = {"kind": "shift or scale", "dimension": 1, "n": 500, "strategy": "closed"}
    found = [{row["test"]: row["rejected"] for row in trial(cell, np.random.default_rng(seed))} for seed in range(10)]
    assert sum(row["tilted b"] for row in found) >= 7
    assert sum(row["kernel a"] for row in found) == 10
