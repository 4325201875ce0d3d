"""Streams and tests of them that every file here shares."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from steinball.kernels import InverseMultiquadric
from steinball.sequential import SequentialTest
from steinball.tilts import PolynomialTilt

Floats = NDArray[np.float64]

KERNEL, TILT = InverseMultiquadric(math.sqrt(2.0)), PolynomialTilt()
TAU = 1.381380988112180  # of N(0, 1) with this kernel and tilt: closed form, attained at WORST
WORST = 1.109116128549130


def score(x: Any) -> Any:
    return -x


def stream(n: int, d: int = 1, share: float = 0.2, place: float = 3.0, seed: int = 0) -> Floats:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, d))
    x[rng.random(n) < share] = place
    return x


def a_test(model: Any = score, **options: Any) -> SequentialTest:
    given = {"kernel": KERNEL, "tilt": TILT, "tau": 3.0, "contamination": 0.05, "rng": 0}
    return SequentialTest(model, **{**given, **options})


def equal(a: SequentialTest, b: SequentialTest, rtol: float = 1e-9) -> None:
    """Two tests have seen and concluded the same."""
    assert a.n == b.n
    assert a.log_evalue == pytest.approx(b.log_evalue, rel=rtol, abs=rtol)
    assert a.pvalue == pytest.approx(b.pvalue, rel=rtol * 100)
    assert a.ksd == pytest.approx(b.ksd, rel=rtol)
    assert (a.rejected_at, a.contamination_bound) == (b.rejected_at, b.contamination_bound)
    for mine, theirs in zip(a.history, b.history, strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=rtol, atol=rtol)
