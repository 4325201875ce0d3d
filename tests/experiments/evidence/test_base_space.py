"""The comparison of base space with edge tilts, at the smallest size."""

from __future__ import annotations

import numpy as np
import pytest

from experiments.evidence.base_space import MODELS, SPACES, STRATEGIES, TOLERANCES, sample, trial

pytestmark = pytest.mark.exact


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_trial_has_a_row_for_each_space_and_tolerance(strategy: str) -> None:
    rows = trial({"kind": "expon", "strategy": strategy}, np.random.default_rng(0))
    assert [(row["test"], row["tolerance"]) for row in rows] == [(s, t) for s in SPACES for t in TOLERANCES]


@pytest.mark.parametrize("name", MODELS)
def test_all_data_lie_where_the_model_does(name: str) -> None:
    for strategy in STRATEGIES:
        x = sample({"kind": name, "strategy": strategy}, np.random.default_rng(0))
        low, high = MODELS[name][0].support()
        assert ((x >= low) & (x <= high)).all()
