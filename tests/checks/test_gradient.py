"""A user's score is compared with the user's log density, cheaply."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import steinball as sb

X = np.random.default_rng(0).normal(size=(80, 2))


def test_few_points_are_looked_at_and_slow_densities_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = []

    def log_density(x: Any) -> Any:
        rows.append(len(x))
        return -0.5 * (x**2).sum(axis=1)

    sb.ksd_test(X, sb.from_score(lambda x: -x, log_density=log_density), rng=0)
    assert rows
    assert max(rows) <= 25
    monkeypatch.setattr("steinball.checks.gradient.PATIENCE", -1.0)
    rows.clear()
    sb.ksd_test(X, sb.from_score(lambda x: -3.0 * x, log_density=log_density), rng=0)
    assert len(rows) == 1


def test_it_can_be_turned_off_and_spares_many_dimensions() -> None:
    wrong = sb.from_score(lambda x: 2.0 * x, log_density=lambda x: -0.5 * (x**2).sum(axis=1))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sb.ksd_test(X, wrong, check_model=False, rng=0)
        sb.ksd_test(np.tile(X, 6), wrong, rng=0)
    with pytest.warns(sb.models.WrongScoreWarning):
        sb.ksd_test(X, wrong, rng=0)
