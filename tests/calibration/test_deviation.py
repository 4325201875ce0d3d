"""The finite-sample bound: its formula, its inverse, and its validity at small n."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import steinball as sb
from steinball.calibration import DeviationNull
from steinball.supremum import UnboundedSteinKernelWarning

# N(0, 1), lengthscale² = 2, tilt exponent ½: the supremum is 1 + (1 + c)v − v² − v³ at v = (√(4 + 3c) − 1)/3, c = ½.
_V = (math.sqrt(5.5) - 1) / 3
TAU = 1 + 1.5 * _V - _V**2 - _V**3
WORST = math.sqrt(1 / _V - 1)
KERNEL, TILT = sb.InverseMultiquadric(math.sqrt(2.0)), sb.PolynomialTilt(0.5)


def gamma_n(tau: float, n: int, level: float) -> float:
    """Paper App. D: γₙ = √(τ/n) + √(−2 τ log(α) / n)."""
    return math.sqrt(tau / n) + math.sqrt(-2 * tau * math.log(level) / n)


@pytest.mark.exact
@given(
    tau=st.floats(1e-12, 1e12), n=st.integers(2, 10**7), level=st.floats(1e-12, 0.999999), radius=st.floats(0.0, 10.0)
)
def test_the_pvalue_inverts_the_bound(tau: float, n: int, level: float, radius: float) -> None:
    null = DeviationNull(tau, n)
    threshold = null.threshold(level, radius)
    assert threshold == pytest.approx(gamma_n(tau, n, level), rel=1e-12)
    assert null.pvalue(threshold, 0.0) == pytest.approx(level, rel=1e-6)
    assert null.pvalue(threshold * 1.001, 0.0) < level
    assert null.pvalue(threshold * 0.999, 0.0) > level


@pytest.mark.exact
def test_the_pvalue_is_one_up_to_the_mean_part_of_the_bound() -> None:
    null = DeviationNull(4.0, 100)
    assert null.pvalue(0.2, 0.0) == 1.0
    assert null.pvalue(0.1, 0.3) == 1.0
    assert null.pvalue(0.4, 0.0) == pytest.approx(math.exp(-0.5))
    assert null.pvalue(0.7, 0.3) == pytest.approx(math.exp(-0.5))


def bounded_test(x: Any, **options: Any) -> sb.GofResult:
    return sb.ksd_test(x, lambda x: -x, kernel=KERNEL, tilt=TILT, calibration=sb.DeviationBound(), **options)


@pytest.mark.exact
def test_a_test_by_the_bound_makes_no_draws_and_is_not_random() -> None:
    x = np.random.default_rng(0).normal(size=50)
    first, second = (bounded_test(x, tau=TAU, rng=seed, level=1e-9) for seed in (0, 1))
    assert first.draws is None
    assert first.n_resamples == 0
    assert (first.pvalue, first.threshold) == (second.pvalue, second.threshold)
    assert first.threshold == pytest.approx(gamma_n(TAU, 50, 1e-9), rel=1e-12)
    assert list(sb.DeviationBound().weights(50, np.random.SeedSequence(0))) == []


@pytest.mark.exact
def test_there_is_nothing_to_extend() -> None:
    with pytest.raises(TypeError, match="no bootstrap draws"):
        bounded_test(np.arange(5.0), tau=TAU).extend(100)


@pytest.mark.exact
def test_the_bound_is_for_v_statistics() -> None:
    with pytest.raises(ValueError, match='estimator="v"'):
        bounded_test(np.arange(5.0), estimator="u")


@pytest.mark.exact
def test_every_level_and_radius_follow_from_one_result() -> None:
    x = np.random.default_rng(0).normal(loc=1.0, size=200)
    result = bounded_test(x, tau=TAU)
    for level in (0.5, 0.05, 1e-3, 1e-12):
        for share in (0.0, 0.1, 0.9):
            later = result.at(level=level).at(contamination=share)
            excess = result.ksd - share * math.sqrt(TAU)
            assert later.rejected == (excess > gamma_n(TAU, 200, level)) == (later.pvalue <= level)
    assert result.at(level=0.5).contamination_bound > result.contamination_bound > 0.0


@pytest.mark.exact
def test_an_unbounded_stein_kernel_is_warned_about() -> None:
    x = np.random.default_rng(0).normal(size=50)
    with pytest.warns(UnboundedSteinKernelWarning, match="`DeviationBound` needs a bounded Stein kernel"):
        sb.ksd_test(x, lambda x: -x, calibration=sb.DeviationBound())
    sb.ksd_test(x, lambda x: -4.0 * x / (3.0 + x**2), calibration=sb.DeviationBound())


@pytest.mark.calibration
@pytest.mark.parametrize("n", [2, 20, 100])
def test_the_level_holds_at_every_sample_size_with_a_certified_tau(n: int) -> None:
    """Contamination ε = ε₀ = 0.5 where u(x, x) is largest, 400 repeats: the tight case of the ball.

    The bound is proved, so a count may exceed 400 · level only by chance: the 99.9 % point of Binomial(400, level).
    Without the shift θ nearly everything would be rejected at n = 100.
    """
    rng = np.random.default_rng(n)
    counts, unshifted = dict.fromkeys((0.05, 0.5, 0.9), 0), 0
    for _ in range(400):
        x = np.where(rng.random(n) < 0.5, WORST, rng.normal(size=n))
        result = bounded_test(x, tau=TAU, radius=sb.Huber(0.5))
        for level in counts:
            counts[level] += result.at(level=level).rejected
        unshifted += result.at(radius=0.0, level=0.5).rejected
    assert all(count <= stats.binom.ppf(0.999, 400, level) for level, count in counts.items())
    assert n < 100 or unshifted > 390


@pytest.mark.calibration
def test_the_bound_rejects_far_beyond_the_ball() -> None:
    """All of 100 samples with 90 % of contamination against a tolerance of 5 %."""
    rng = np.random.default_rng(1)
    for _ in range(100):
        x = np.where(rng.random(100) < 0.9, WORST, rng.normal(size=100))
        assert bounded_test(x, tau=TAU, radius=sb.Huber(0.05)).rejected
