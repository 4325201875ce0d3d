"""Kernels as source of Triton: the same numbers as the kernels themselves, whatever they are made of."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import steinball as sb
from steinball.arrays import Array
from steinball.gram.device import Traced, combine_source
from steinball.kernels.base import Kernel, Profile

pytestmark = pytest.mark.exact

# What Triton's functions are, in NumPy.
TRITON = SimpleNamespace(exp=np.exp, exp2=np.exp2, log2=np.log2, sqrt=np.sqrt)
METRIC = np.array([[2.0, 0.5], [0.5, 1.0]])
KERNELS = (
    sb.InverseMultiquadric(1.3),
    sb.InverseMultiquadric(1.3, exponent=0.3),
    sb.InverseMultiquadric(0.7, metric=METRIC),
    sb.kernels.Gaussian(0.8),
    sb.kernels.Gaussian(0.8, metric=METRIC),
    sb.Matern(1.0, 1.5),
    sb.Matern(1.0, 2.5),
    sb.Matern(1.0, 3.5, metric=METRIC),
    sb.kernels.Gaussian(1.0) + 0.5 * sb.Matern(2.0, 2.5),
    sb.kernels.Gaussian(1.0) * sb.InverseMultiquadric(2.0),
)


def pairs(seed: int = 0) -> tuple[np.ndarray[Any, Any], ...]:
    """r², inner, cross and stretch of fifty pairs, the first of which coincide."""
    rng = np.random.default_rng(seed)
    r2 = rng.exponential(size=50)
    r2[0] = 0.0
    return r2, rng.normal(size=50), rng.normal(size=50), rng.exponential(size=50)


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: type(kernel).__name__)
def test_the_source_of_a_kernel_computes_what_the_kernel_computes(kernel: Kernel) -> None:
    source = combine_source(kernel)
    assert source is not None
    found: dict[str, Any] = {"tl": TRITON}
    exec(source, found)
    r2, inner, cross, stretch = pairs()
    given = None if kernel.metric is None else stretch
    expected = kernel.combine(r2.copy(), inner.copy(), cross.copy(), given)
    np.testing.assert_allclose(found["combine"](r2, inner, cross, stretch), expected, rtol=1e-13, atol=1e-15)


@pytest.mark.parametrize("other", [2.0, Traced("b", [])], ids=["number", "variable"])
def test_operators_keep_the_order_of_their_sides(other: Any) -> None:
    lines: list[str] = []
    a = Traced("a", lines)
    for result in (a + other, a - other, a * other, a / other, -a, 2.0 - a, 2.0 / a, 2.0 + a, 2.0 * a, a**3.0):
        assert isinstance(result, Traced)
    values: dict[str, Any] = {"tl": TRITON, "a": 5.0, "b": 2.0}
    exec("\n".join(lines), values)
    found = [values[f"v{k}"] for k in range(10)]
    np.testing.assert_allclose(found, [7.0, 3.0, 10.0, 2.5, -5.0, -3.0, 0.4, 7.0, 10.0, 125.0], rtol=1e-14)


class Stepping(Kernel):
    """A kernel with a case distinction, which lines of source do not have."""

    metric = None

    def profile(self, r2: Array) -> Profile:
        return (r2, r2, r2) if r2[0] > 1.0 else (-r2, r2, r2)


def test_a_kernel_that_does_more_than_can_be_traced_has_no_source() -> None:
    assert combine_source(Stepping()) is None
