"""Rows that share one pass are what the tests say one by one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import steinball as sb
from experiments.paper import experiment

pytestmark = pytest.mark.paper


def test_the_shared_passes_agree_with_the_public_tests() -> None:
    """What an experiment derives from one Gram matrix is what the library says when asked test by test."""
    cell = {**experiment("deviation").cell(6, "published"), "n": 80}
    rows = {(r["test"], r.get("tolerance")): r for r in experiment("deviation").trial(cell, np.random.default_rng(3))}
    x = sb.datasets.contaminate(sb.models.Gaussian().sample(80, rng := np.random.default_rng(3)), 0.15, 10, rng)
    options: dict[str, Any] = {"tilt": sb.PolynomialTilt(), "tau": "sample"}
    for tolerance in (0.05, 0.1, 0.2):
        bound = sb.ksd_test(
            x,
            sb.models.Gaussian(),
            radius=sb.Huber(tolerance),
            calibration=sb.DeviationBound("mcdiarmid", proven=False),
            **options,
        )
        assert rows["r-ksd-dev", tolerance]["pvalue"] == pytest.approx(bound.pvalue)
        assert rows["r-ksd", tolerance]["radius"] == pytest.approx(bound.radius)
        assert rows["r-ksd", tolerance]["ksd"] == pytest.approx(bound.ksd)
    y = np.random.default_rng(0).normal(size=80)
    pair = sb.mmd_dev_test(x, y, contamination=0.1)
    assert rows["mmd-dev", 0.1]["radius"] == pytest.approx(pair.radius)
