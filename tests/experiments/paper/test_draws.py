"""Rows from one Gram matrix: those that the library's own test gives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import steinball as sb
from experiments.paper.draws import drawn
from steinball.models import Gaussian
from steinball.tilts import PolynomialTilt

pytestmark = pytest.mark.exact


@pytest.mark.parametrize("d", [1, 3])
@pytest.mark.parametrize("tilt", [None, PolynomialTilt()], ids=["untilted", "tilted"])
def test_the_quick_rows_are_those_of_the_library(d: int, tilt: Any) -> None:
    x = np.random.default_rng(3).normal(0.12, 1.0, size=(300, d))
    x[np.random.default_rng(4).permutation(300)[:30]] = 4.0  # not stored together: that would look like a chain
    options: dict[str, Any] = {
        "tilt": tilt,
        "calibration": sb.WeightedBootstrap(500),
        "rng": np.random.default_rng(5),
        "standardize": False,
    }
    result = sb.ksd_test(x, Gaussian(dimension=d), **options)
    found = drawn(x, Gaussian(dimension=d), np.random.default_rng(5), tilt=tilt)
    assert found.ksd == pytest.approx(result.ksd, rel=1e-7)
    assert found.tau == pytest.approx(result.tau, rel=1e-12)
    assert found.standard("tilted-ksd", {})["pvalue"] == result.pvalue
    robust = found.robust({}, 0.05)
    assert robust["radius"] == pytest.approx(0.05 * result.tau**0.5)
    assert robust["pvalue"] == result.at(radius=robust["radius"]).pvalue
