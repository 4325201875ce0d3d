"""The tests that the paper compares with."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest

import steinball as sb
from experiments.paper import experiment
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
