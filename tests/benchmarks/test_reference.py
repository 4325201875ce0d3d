"""What the timings are compared with is right, and is timed fairly."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import steinball as sb
from benchmarks.reference import four_terms, plain_test, product_seconds, shortest
from steinball.kernels import InverseMultiquadric
from steinball.stein import SteinKernel

pytestmark = pytest.mark.exact


@pytest.mark.parametrize("d", [1, 3])
def test_the_plain_formula_is_the_stein_kernel(d: int) -> None:
    x = np.random.default_rng(d).normal(size=(20, d))
    scores = np.random.default_rng(d + 1).normal(size=(20, d))
    ours = SteinKernel(InverseMultiquadric(1.3), sb.PolynomialTilt())(x, scores, x, scores)
    np.testing.assert_allclose(four_terms(x, scores, 1.3), ours, rtol=1e-11, atol=1e-12)


def test_the_plain_test_is_the_robust_test() -> None:
    """Same D and θ; its quantile is from other draws, so within 10 %."""
    x = np.random.default_rng(0).normal(size=(150, 2))
    x[:15] = 10.0
    ksd, theta, quantile = plain_test(x, 0.05, 999)
    result = sb.robust_ksd_test(x, sb.models.Gaussian([0.0, 0.0]), 0.05, tilt=sb.PolynomialTilt(), tau="sample", rng=0)
    assert (ksd, theta) == pytest.approx((result.ksd, result.radius), rel=1e-10)
    assert result.draws is not None
    assert quantile == pytest.approx(np.quantile(result.draws, 0.95), rel=0.1)


def test_the_shortest_of_some_runs_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    times = iter([0.0, 3.0, 10.0, 11.0])
    monkeypatch.setattr("benchmarks.reference.time.perf_counter", lambda: next(times))
    assert shortest(lambda: "answer", 2) == (1.0, "answer")


@pytest.mark.parametrize(("n", "times"), [(300, 1.0), (8_000, 1.0), (20_000, 2.5), (100_000, 25.0)])
def test_a_large_matrix_product_is_scaled_up_from_some_of_its_columns(
    n: int, times: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of 100,000 columns 4,000 are multiplied: what they take counts 25 times. Nothing is multiplied here."""

    class Zeros:
        def standard_normal(self, shape: tuple[int, int]) -> Any:
            return np.broadcast_to(0.0, shape)

    monkeypatch.setattr(np.random, "default_rng", lambda seed: Zeros())
    monkeypatch.setattr("benchmarks.reference.shortest", lambda function, repeats: (2.0, None))
    assert product_seconds(n, 500, 1) == 2.0 * times
