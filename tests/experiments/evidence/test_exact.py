"""The settings of the exact test's evidence: bounds that are bounds, cells as many as are claimed, and a trial."""

from __future__ import annotations

import numpy as np
import pytest

from experiments.evidence import dimensions, exact
from experiments.evidence.exact_settings import GRID, LEVEL_CELLS, LINES, sample, setting_of

pytestmark = pytest.mark.exact


def test_there_are_forty_cells_over_all_that_is_claimed() -> None:
    assert len(LEVEL_CELLS) >= 40
    assert {cell["n"] for cell in LEVEL_CELLS} >= {10, 1000}
    assert {cell["dimension"] for cell in LEVEL_CELLS} == {1, 10, 50}
    assert {cell["kind"].split()[0] for cell in LEVEL_CELLS} == {"gaussian", *LINES}


@pytest.mark.parametrize("name", LINES)
def test_tau_bounds_u_at_draws_and_next_to_the_worst_place(name: str) -> None:
    setting, rng = setting_of(name, 1), np.random.default_rng(0)
    near = setting.worst + 1e-4 * rng.standard_normal((500, 1))
    draws = np.asarray(setting.model.sample(2000, rng))
    values = setting.problem(np.concatenate([np.abs(near), draws])).diagonal
    assert values.max() <= setting.tau
    assert values.max() >= 0.97 * setting.tau


def test_scores_and_samplers_of_the_lines_fit_each_other() -> None:
    """E φ(X) = 0: the mean over draws of one Stein function stays within 4.5 standard errors."""
    for name in LINES:
        setting, rng = setting_of(name, 1), np.random.default_rng(1)
        first, second = (setting.problem(np.asarray(setting.model.sample(m, rng))) for m in (50, 4000))
        center = np.zeros(1)
        rows, columns = (p.stein.prepare(p.samples, p.scores, center) for p in (first, second))
        values = first.stein.block(rows, columns).mean(axis=0)
        assert abs(values.mean()) <= 4.5 * values.std() / np.sqrt(len(values))


def test_a_trial_has_a_row_for_every_test_and_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exact, "pool_size", lambda n: 250)
    exact.pool_of.cache_clear()
    cell = {**GRID[21], "variant": "published"}
    rows = exact.trial(cell, np.random.default_rng(0))
    exact.pool_of.cache_clear()
    assert {row["test"] for row in rows} == {*exact.TESTS, *exact.SHARES}
    x, bad = sample(cell, setting_of("gaussian", 1), np.random.default_rng(0))
    assert (np.diff(x[:, 0]) >= 0.0).all(), "clusters stand in sorted rows"
    assert 0 <= bad <= len(x)
    schemes = [row["bootstrap"] for row in dimensions.trial({**dimensions.GRID[0]}, np.random.default_rng(0))]
    assert schemes == list(dimensions.SCHEMES)
