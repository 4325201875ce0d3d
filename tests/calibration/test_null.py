"""The p-value rule, tied to the paper's quantile rule by a literal transcription of the latter."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

import steinball as sb
from steinball.calibration.base import BootstrapNull, agreeing

pytestmark = pytest.mark.exact


def paper_quantile(observed: int, draws: list[int], percent: int) -> int:
    """q²: inf{u : 1 − α ≤ (1{D² ≤ u} + Σ_b 1{D_b² ≤ u}) / (B + 1)} (paper, eq. "boot quantile"), α = percent/100.

    The right side is a step function that jumps at the values themselves, so the infimum is one of them. Whole
    numbers throughout: nothing is rounded, and ties are ties.
    """
    values = np.array([observed, *draws])
    reached = (u for u in np.unique(values) if (100 - percent) * len(values) <= 100 * np.sum(values <= u))
    return int(next(reached))


def paper_rejects(ksd: int, draws: list[int], percent: int, radius: int) -> bool:
    """Algorithm 1: reject when Δ_θ = max(0, D − θ) > q, where q² is the quantile above, with D² in it."""
    return max(0, ksd - radius) ** 2 > paper_quantile(ksd**2, [draw**2 for draw in draws], percent)


def null_of(draws: list[int]) -> BootstrapNull:
    return BootstrapNull(np.array(draws, dtype=float))


@pytest.mark.parametrize("n_resamples", [1, 3, 19, 39, 99])
def test_the_pvalue_decides_as_the_papers_quantile_rule_does(n_resamples: int) -> None:
    """Random draws full of ties, every level k/100, several radii: the decisions are the same, one by one."""
    rng = np.random.default_rng(n_resamples)
    decisions = set()
    for _ in range(4):
        draws = rng.integers(0, 12, size=n_resamples).tolist()
        for ksd, radius, k in product((0, 3, 8, 11, 12, 15), (0, 2, 5), range(1, 100)):
            null, level = null_of(draws), k / 100
            wanted = paper_rejects(ksd, draws, k, radius)
            assert (null.pvalue(ksd, radius) <= level) == wanted, (draws, ksd, radius, k)
            assert (max(0.0, ksd - radius) > null.threshold(level, radius)) == wanted, (draws, ksd, radius, k)
            decisions.add(wanted)
    assert decisions == {True, False}


def test_the_observed_value_is_among_the_draws() -> None:
    """With B = 18 nothing can be rejected at 0.05, with B = 19 just so: by the paper's rule and by the p-value."""
    draws = list(range(1, 20))
    assert paper_rejects(20, draws, 5, 0)
    assert not paper_rejects(20, draws[:-1], 5, 0)  # B = 18: the smallest p-value is 1/19 > 0.05
    assert null_of(draws).pvalue(20, 0) == 0.05
    assert null_of(draws[:-1]).pvalue(20, 0) == pytest.approx(1 / 19)


@pytest.mark.parametrize(("total", "denominator"), [(100, 100), (20, 20), (1000, 1000), (50, 100), (400, 100)])
def test_every_level_takes_exactly_its_share_of_the_draws(total: int, denominator: int) -> None:
    """0.29 · 100 is 28.999999999999996 in floating point; the threshold must still be the 71st of 99 draws."""
    null = BootstrapNull(np.arange(1.0, total))
    for k in range(1, denominator):
        count = k * total // denominator
        level = k / denominator
        if count == 0:
            assert math.isinf(null.threshold(level, 0.0))
            continue
        threshold = null.threshold(level, 0.0)
        assert threshold == pytest.approx(total - count, rel=1e-9)
        assert null.pvalue(threshold * (1 + 1e-12), 0.0) <= level < null.pvalue(threshold, 0.0)


def test_a_pvalue_is_never_zero_and_one_inside_the_ball() -> None:
    null = null_of([1, 2, 3])
    assert null.pvalue(1e300, 0.0) == 0.25
    assert null.pvalue(2.0, 2.0) == 1.0
    assert null.pvalue(1.0, 2.0) == 1.0
    assert null.pvalue(0.0, 0.0) == 1.0


@pytest.mark.parametrize("gap", [0.0, 9e-11, -9e-11])
def test_values_within_the_tolerance_are_ties_and_count(gap: float) -> None:
    null = BootstrapNull(np.array([1.0, 2.0, 2.0, 3.0]))
    assert null.pvalue(2.0 * (1.0 + gap), 0.0) == 4 / 5
    assert null.pvalue(2.0 * (1.0 + 2e-10), 0.0) == 2 / 5


def test_the_pvalue_shifts_with_the_radius() -> None:
    null = null_of(list(range(1, 20)))
    assert [null.pvalue(20.0, radius) for radius in (0.0, 1.0, 2.0, 19.0, 20.0)] == [0.05, 0.1, 0.15, 1.0, 1.0]
    assert null.threshold(0.1, 0.0) == null.threshold(0.1, 7.0)


finite = st.floats(0.0, 1e6, allow_nan=False)


@given(
    draws=st.lists(finite, min_size=1, max_size=60),
    ksd=finite,
    radius=finite,
    level=st.floats(1e-3, 0.999),
)
def test_pvalue_at_most_level_is_statistic_above_threshold(
    draws: list[float], ksd: float, radius: float, level: float
) -> None:
    """For V-statistics the two are one decision, whatever the numbers."""
    null = BootstrapNull(np.array(draws))
    assert (null.pvalue(ksd, radius) <= level) == (max(0.0, ksd - radius) > null.threshold(level, radius))


@given(seed=st.integers(0, 2**31), level=st.floats(0.02, 0.5), radius=st.floats(0.0, 1.5))
def test_a_result_rejects_exactly_when_pvalue_and_threshold_say_so(seed: int, level: float, radius: float) -> None:
    rng = np.random.default_rng(seed)
    x = rng.normal(loc=rng.normal(), size=(6, 1))
    result = sb.ksd_test(
        x, sb.from_scores(-x), calibration=sb.WeightedBootstrap(59), level=level, radius=radius, rng=rng
    )
    assert result.rejected == (result.pvalue <= result.level) == (result.statistic > result.threshold)


# U-statistics (paper App. C)


def u_rule(squared: float, draws: NDArray[np.float64], level: float, radius: float) -> tuple[float, bool, float]:
    """The rule for U-statistics on the squared scale: p-value, decision, threshold."""
    total = len(draws) + 1
    root = math.sqrt(max(0.0, squared))
    pvalue = 1.0
    if squared > radius**2:
        pvalue = (1 + int(np.sum(draws >= (root - radius) ** 2))) / total
    k = total - max(c for c in range(total) if c / total <= level)
    quantile = math.inf if k == total else float(np.sort(draws)[k - 1])
    threshold = math.sqrt(quantile) if quantile >= 0.0 else math.inf
    return pvalue, pvalue <= level and quantile >= 0.0, threshold


def signed_root(squares: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.sign(squares) * np.sqrt(np.abs(squares))


@pytest.mark.parametrize("shift", [-2.0, -0.5, 0.0, 0.5])
def test_u_statistics_follow_the_rule_on_the_squared_scale(shift: float) -> None:
    rng = np.random.default_rng(7)
    infinite = 0
    for _ in range(40):
        draws = rng.normal(loc=shift, size=39)
        null = BootstrapNull(signed_root(draws))
        for squared, radius, k in product((-0.3, 0.0, 0.04, 1.0, 9.0), (0.0, 0.2, 1.0), range(3, 100, 8)):
            level = k / 100
            ksd = math.sqrt(max(0.0, squared))
            pvalue, rejected, threshold = u_rule(squared, draws, level, radius)
            assert null.pvalue(ksd, radius) == pvalue
            assert null.threshold(level, radius) == pytest.approx(threshold, rel=1e-9)
            assert (pvalue <= level and max(0.0, ksd - radius) > null.threshold(level, radius)) == rejected
            infinite += math.isinf(threshold)
    assert infinite > 0


def test_a_negative_quantile_never_rejects_at_any_level_asked_later() -> None:
    """App. C: the root of a negative quantile does not exist; then nothing is rejected, also by ``at``."""
    x = np.linspace(-1.5, 1.6, 20)[:, None]
    result = sb.ksd_test(x, sb.from_scores(-x), estimator="u", calibration=sb.WeightedBootstrap(199), rng=3)
    assert result.draws is not None
    squares = np.sign(result.draws) * result.draws**2
    seen = set()
    for k in range(1, 51):
        level = k / 100
        pvalue, rejected, threshold = u_rule(result.squared_ksd, squares, level, 0.0)
        later = result.at(level=level)
        assert (later.pvalue, later.rejected) == (pvalue, rejected)
        assert later.threshold == pytest.approx(threshold, rel=1e-9)
        seen.add(math.isinf(threshold))
    assert seen == {True, False}


def test_a_small_pvalue_alone_does_not_reject_a_u_statistic() -> None:
    """All draws negative: p is 1/(B + 1), yet the quantile has no root."""
    x = np.array([[2.0], [2.5]])
    result = sb.ksd_test(x, sb.from_scores(-x), estimator="u", calibration=sb.WeightedBootstrap(99), rng=0, level=0.4)
    assert result.draws is not None
    assert (result.draws <= 0.0).all()
    assert result.pvalue == 0.01
    quantile_is_negative = np.sort(result.draws)[99 - 40] < 0.0
    assert math.isinf(result.threshold) == quantile_is_negative
    assert result.rejected == (not quantile_is_negative)


# Levels that a bootstrap cannot reach


@pytest.mark.parametrize(("n_resamples", "level"), [(18, 0.05), (10, 0.05), (98, 0.01), (1, 0.49)])
def test_an_unreachable_level_is_an_error_that_says_how_many_draws_are_needed(n_resamples: int, level: float) -> None:
    x = np.linspace(-1.0, 1.0, 10)
    least = math.ceil(1 / level - 1e-9) - 1
    message = rf"`n_resamples={n_resamples}` cannot reach `level={level:g}`.*at least {least}"
    with pytest.raises(ValueError, match=message):
        sb.ksd_test(x, sb.from_scores(-x), calibration=sb.WeightedBootstrap(n_resamples), level=level)
    with pytest.raises(ValueError, match="cannot reach"):
        sb.ksd_test(x, sb.from_scores(-x), calibration=sb.WeightedBootstrap(n_resamples), level=0.5).at(level=level)
    assert (
        sb.ksd_test(x, sb.from_scores(-x), calibration=sb.WeightedBootstrap(least), level=level, rng=0).n_resamples
        == least
    )


@pytest.mark.parametrize("level", [0.0, 1.0, -0.1, 1.5, math.nan, math.inf])
def test_levels_outside_of_zero_to_a_half_are_refused(level: float) -> None:
    x = np.linspace(-1.0, 1.0, 10)
    with pytest.raises(ValueError, match="`level`"):
        sb.ksd_test(x, sb.from_scores(-x), level=level)


@pytest.mark.parametrize("count", [0, -1])
def test_a_bootstrap_needs_a_positive_number_of_draws(count: int) -> None:
    for calibration in (sb.WeightedBootstrap, sb.WildBootstrap):
        with pytest.raises(ValueError, match="`n_resamples` must be at least 1"):
            calibration(count)


@pytest.mark.parametrize("count", [1.5, "99", True, None])
def test_a_bootstrap_needs_a_whole_number_of_draws(count: object) -> None:
    for calibration in (sb.WeightedBootstrap, sb.WildBootstrap):
        with pytest.raises(TypeError, match="`n_resamples` must be a whole number"):
            calibration(count)  # type: ignore[arg-type]


def test_a_threshold_agrees_with_the_decision_of_the_pvalue() -> None:
    assert agreeing(1.0, 2.0, rejected=True) == 1.0
    assert agreeing(2.0, 2.0, rejected=True) < 2.0
    assert agreeing(1.0, 2.0, rejected=False) == 2.0
    assert agreeing(3.0, 2.0, rejected=False) == 3.0
