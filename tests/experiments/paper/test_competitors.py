"""The tests that the paper compares with."""

from __future__ import annotations

import copy
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import steinball as sb
from experiments.framework.table import read_results
from experiments.paper import experiment
from experiments.paper.competitors import mmd_kernel
from steinball.arrays import as_seed

pytestmark = pytest.mark.paper


def test_ksdagg_and_single_bandwidths_of_one_pass_are_the_public_tests() -> None:
    """The same draws for both, so p-values agree exactly."""
    found = experiment("bandwidth-robust")
    rows = found.trial({**found.cell(1, "published"), "n": 60}, np.random.default_rng(5))
    x = sb.datasets.contaminate(sb.models.Gaussian().sample(60, rng := np.random.default_rng(5)), 0.025, 10, rng)
    for row in [row for row in rows if row["test"] == "r-ksd"][:5]:
        options: dict[str, Any] = {"tilt": sb.PolynomialTilt(), "radius": sb.Huber(0.05), "rng": copy.deepcopy(rng)}
        kernel = sb.InverseMultiquadric((2.0 * row["bandwidth"]) ** 0.5)
        single = sb.ksd_test(x, sb.models.Gaussian(), kernel=kernel, calibration=sb.WeightedBootstrap(500), **options)
        assert (row["pvalue"], row["ksd"]) == pytest.approx((single.pvalue, single.ksd))
        assert row["radius"] == pytest.approx(single.radius)
    as_seed(rng)  # the weighted draws come first
    public = sb.ksdagg_test(x, sb.models.Gaussian(), tilt=sb.PolynomialTilt(), rng=rng)
    [aggregated] = [row for row in rows if row["test"] == "ksdagg"]
    assert 0.01 < public.pvalue < 0.99
    assert aggregated["pvalue"] == pytest.approx(public.pvalue)


def test_the_published_mmd_kernel_is_the_squared_exponential_of_the_published_curves() -> None:
    """exp(−|x − y|²/d), written out; the text's is left to the median heuristic."""
    x, y = np.array([[0.3, -1.0, 2.0]]), np.array([[1.0, 0.5, 0.0]])
    kernel = mmd_kernel({"variant": "published", "dimension": 3})
    assert kernel is not None
    squared = np.sum((x - y) ** 2)
    assert kernel.profile(np.array([squared]))[0][0] == pytest.approx(math.exp(-squared / 3.0))
    assert mmd_kernel({"variant": "text", "dimension": 3}) is None


@pytest.mark.parametrize("name", ["outliers", "deviation"])
def test_the_variants_differ_in_the_rows_of_the_mmd_tests_alone(name: str) -> None:
    found = experiment(name)
    first, second = (
        found.trial({**found.cell(2, variant), "n": 60}, np.random.default_rng(3)) for variant in ("published", "text")
    )
    ignored = ("seconds", "variant")
    for ours, text in zip(first, second, strict=True):
        differing = {column for column in ours if column not in ignored and ours[column] != text[column]}
        assert bool(differing) == ("mmd" in ours["test"])
        assert (ours["bandwidth"], text["bandwidth"]) == (
            (pytest.approx(0.5), "median") if differing else ("median", "median")
        )


@pytest.mark.parametrize("name", ["outliers", "deviation"])
def test_the_committed_rows_of_the_mmd_tests_have_the_published_kernel(name: str) -> None:
    rates = read_results(Path(__file__).parents[3] / "docs" / "paper" / "tables" / f"{name}.csv").rates
    for test in ("dcmmd", "mmd-dev"):
        assert rates.select(test=test).values("bandwidth") == ["0.5"]
