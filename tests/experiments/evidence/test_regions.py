"""The evidence for regions: every cell of the grid has rows, and the data are what their names say."""

from __future__ import annotations

import numpy as np
import pytest

from experiments.evidence import regions
from experiments.evidence.regions import EXPERIMENT, LEVEL_CELLS, POWER_CELLS, POWERS, TESTS, trial
from experiments.evidence.regions_settings import ALTERNATIVES, GOOD_ENOUGH, SHARES, sample, source_of
from experiments.framework.table import COLUMNS
from steinball.regions.source import find_grid

pytestmark = pytest.mark.exact


def small(cell: object) -> bool:
    assert isinstance(cell, dict)
    return bool(cell["dimension"] <= 3 and cell["n"] <= 500)


def test_the_grid_crosses_all_that_is_claimed() -> None:
    crossed = {(c["kind"], c["dimension"], c["n"], c["contamination"]) for c in LEVEL_CELLS}
    for kind in ("far", "near", "cluster", "wide", "taken", "moved"):
        for d in (1, 5):
            for n in (20, 200, 2000):
                assert {(kind, d, n, 0.05), (kind, d, n, 0.2)} <= crossed
    assert {c["dimension"] for c in LEVEL_CELLS} == {1, 3, 5, 20, 100}
    assert len(POWER_CELLS) == len(POWERS)
    assert len(GOOD_ENOUGH) == 8


@pytest.mark.parametrize("strategy", regions._TRIALS)
def test_small_cells_of_every_strategy_have_rows_in_the_words_of_the_table(strategy: str) -> None:
    cells = [cell for cell in EXPERIMENT.grid if cell["strategy"] == strategy]
    chosen = [cell for cell in cells if small(cell)][:2] or [
        {**cells[0], "dimension": 4, "n": 60} | ({"kind": "clean"} if strategy == "learned" else {})
    ]
    for cell in chosen:
        rows = trial(cell, np.random.default_rng(0))
        assert rows
        for row in rows:
            assert set(row) <= set(COLUMNS)
            assert row["rejected"] in (0, 1)


def test_a_level_cell_has_a_row_for_every_test_and_a_changed_one_for_tolerance() -> None:
    cell = {"kind": "far", "dimension": 1, "n": 20, "contamination": 0.05, "tolerance": 0.05, "strategy": "level"}
    assert [row["test"] for row in trial(cell, np.random.default_rng(0))] == list(TESTS)
    changed = trial({**cell, "kind": "moved"}, np.random.default_rng(0))
    assert [row["test"] for row in changed] == ["tolerance"]


@pytest.mark.parametrize("kind", ALTERNATIVES)
def test_data_have_the_columns_of_their_model(kind: str) -> None:
    d = {"thr": 3}.get(kind[:3], 20 if "pair" in kind or "factor" in kind else 1)
    x = sample({"kind": kind, "dimension": d, "n": 40}, np.random.default_rng(1))
    assert x.shape == (40, d)
    assert source_of(kind.partition(",")[0], d).columns == d


def test_rows_moved_from_a_tail_are_as_many_as_are_tolerated() -> None:
    cell = {"kind": "moved", "dimension": 2, "n": 200, "contamination": 0.05}
    assert np.sum(sample(cell, np.random.default_rng(2))[:, 0] == 0.0) == 10


def test_rounded_rows_lie_on_their_grid() -> None:
    x = sample({"kind": "grid 0.1", "dimension": 3, "n": 500, "contamination": 0.05}, np.random.default_rng(3))
    grid = find_grid(x)
    assert grid is not None
    assert grid.step == pytest.approx([0.1] * 3)
    assert source_of("grid 0.1", 3).grid is not None


def test_the_shares_of_categories_sum_to_one() -> None:
    assert sum(SHARES) == pytest.approx(1.0)
