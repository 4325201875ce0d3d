"""Comparisons of models: what the interval is about, whom it favors, and how often it errs."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from steinball.arrays import LEAST_LEVEL
from steinball.comparison import (
    Comparison,
    DrawnEmbedding,
    Extremes,
    KernelCoordinates,
    compare_embeddings,
    extremes_of,
    holm,
)
from tests.comparison.models import Floats, normal, plain

pytestmark = pytest.mark.exact


def rows(n: int = 300, share: float = 0.0, place: float = 8.0, seed: int = 0) -> Floats:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 1))
    x[rng.random(n) < share] = place
    return x


def compared(x: Floats, contamination: float = 0.05, means: tuple[float, ...] = (0.0, 0.6)) -> list[Comparison]:
    at = plain()
    return compare_embeddings(x, {f"m{k}": normal(at, mean) for k, mean in enumerate(means)}, contamination)


def test_the_mean_preference_is_a_difference_of_squared_distances() -> None:
    """MMD²(rows, b) − MMD²(rows, a), each by the norms and inner products of embeddings."""
    x, at = rows(40), plain()
    a, b, data = normal(at), normal(at, 0.6), DrawnEmbedding(at, x)
    squares = [data.norm + model.norm - 2.0 * data.expect(model) for model in (a, b)]
    assert compared(x)[0].mean == pytest.approx(squares[1] - squares[0], rel=1e-10)


def test_the_interval_is_the_one_of_the_page() -> None:
    x, at = rows(200, 0.05), plain()
    a, b = normal(at), normal(at, 0.6)
    found = compared(x, 0.1)[0]
    g = a.score(x) - b.score(x)
    np.testing.assert_allclose(found.values, g)
    ends, error = extremes_of(a, b), g.std(ddof=1) / math.sqrt(200)
    low = (g.mean() - 1.959964 * error - 0.1 * ends.highest) / 0.9
    high = (g.mean() + 1.959964 * error - 0.1 * ends.lowest) / 0.9
    assert found.interval == pytest.approx((low, high), rel=1e-6)
    assert found.error == pytest.approx(error)


def test_exchanging_two_models_exchanges_the_answer() -> None:
    x = rows(300, 0.05)
    one, other = compared(x)[0], compared(x, means=(0.6, 0.0))[0]
    np.testing.assert_array_equal(one.values, -other.values)
    assert one.interval == pytest.approx((-other.interval[1], -other.interval[0]), rel=1e-12)
    assert (one.closer, other.closer) == ("m0", "m1")
    assert one.pvalue == pytest.approx(other.pvalue, rel=1e-10)


def test_a_p_value_is_never_zero() -> None:
    found = Comparison("a", "b", np.ones(5), 1e-3, Extremes(-1.0, 1.0, "norm"), 0.0)
    assert found.pvalues == (LEAST_LEVEL, 1.0)


def test_preferences_of_three_models_add_up() -> None:
    ab, ac, bc = compared(rows(), means=(0.0, 0.5, 1.5))
    np.testing.assert_allclose(ab.values + bc.values, ac.values, atol=1e-14)
    assert ac.mean == pytest.approx(ab.mean + bc.mean)


def test_units_change_nothing_but_rounding() -> None:
    rng = np.random.default_rng(1)
    draws = [rng.normal(size=(400, 2)), rng.normal(0.8, 1.0, size=(400, 2))]
    x, units = rng.normal(size=(200, 2)), np.array([1000.0, 0.01])

    def interval(scale: Floats) -> tuple[float, float]:
        at = KernelCoordinates.from_draws([scale * part for part in draws])
        models = {name: DrawnEmbedding(at, scale * part) for name, part in zip("ab", draws, strict=True)}
        return compare_embeddings(scale * x, models, 0.05)[0].interval

    assert interval(units) == pytest.approx(interval(np.ones(2)), rel=1e-8)


def test_the_errors_of_draws_are_in_the_standard_error() -> None:
    rng, at, x = np.random.default_rng(2), plain(), rows(2000)
    few, many = (DrawnEmbedding(at, rng.normal(0.6, 1.0, size=(m, 1))) for m in (50, 5000))
    wide, narrow = (compare_embeddings(x, {"a": normal(at), "b": b}, 0.0)[0] for b in (few, many))
    plain_error = narrow.values.std(ddof=1) / math.sqrt(len(x))
    assert narrow.error > plain_error
    own = wide.error**2 - wide.values.var(ddof=1) / len(x)
    assert own == pytest.approx(few.score_and_error(x)[1])
    assert wide.error > 3.0 * plain_error


def test_rows_that_are_all_alike_show_no_difference() -> None:
    found = compared(np.full((50, 1), 0.3))[0]
    assert (found.closer, found.pvalue) == (None, 1.0)
    assert compared(rows(), means=(0.2, 0.2))[0].closer is None


# Several pairs


@given(st.lists(st.floats(0.0, 1.0), min_size=1, max_size=12), st.sampled_from([0.01, 0.05, 0.2]))
def test_holm_is_the_procedure_step_by_step(pvalues: list[float], level: float) -> None:
    adjusted, steps = holm(np.array(pvalues), level)
    rejected, left = set(), len(pvalues)
    order = sorted(range(len(pvalues)), key=lambda i: pvalues[i])
    for i in order:
        if not pvalues[i] * left <= level:
            break
        rejected.add(i)
        left -= 1
    assert {i for i in range(len(pvalues)) if adjusted[i] <= level} == rejected
    for i, p in enumerate(pvalues):
        if not math.isclose(p, steps[i], rel_tol=1e-9):
            assert (p < steps[i]) == (i in rejected)


def test_holm_stops_at_the_first_failure() -> None:
    """.03 · 2 > .05, so .04 · 1 is not looked at; adjusted p-values do not fall again."""
    adjusted, steps = holm(np.array([0.04, 0.03]), 0.05)
    np.testing.assert_allclose(adjusted, [0.06, 0.06])
    np.testing.assert_allclose(steps, [0.025, 0.025])


def test_with_several_models_zero_lies_outside_exactly_where_one_is_closer() -> None:
    found = compared(rows(500, 0.03), means=(0.0, 0.1, 0.55, 0.62, -2.0))
    assert {pair.closer is None for pair in found} == {True, False}
    for pair in found:
        low, high = pair.interval
        assert (low > 0.0, high < 0.0) == (pair.closer == pair.first, pair.closer == pair.second)
        assert pair.tail <= 0.025


def test_holm_counts_both_directions_of_every_pair() -> None:
    """One pair: the two-sided p-value. Of three pairs the clearest has six claims to pay for."""
    x = rows(150)
    alone = compared(x)[0]
    assert alone.pvalue == pytest.approx(2.0 * min(alone.pvalues))
    three = compared(x, means=(0.0, 0.6, 0.61))
    clearest = min(three, key=lambda pair: min(pair.pvalues))
    assert clearest.pvalue == pytest.approx(6.0 * min(clearest.pvalues))


# How often it errs


def winners(repeats: int, share: float, place: float, means: tuple[float, float], drawn: bool = False) -> list[float]:
    """Shares of samples, n = 200 and ε = .05, in which the first and the second model are called closer."""
    found = []
    for seed in range(repeats):
        rng = np.random.default_rng([seed, 9])
        x, at = rows(200, share, place, seed), plain()
        draws = [rng.normal(mean, 1.0, size=(1000, 1)) for mean in means]
        models = {
            name: DrawnEmbedding(at, part) if drawn else normal(at, mean)
            for name, part, mean in zip("ab", draws, means, strict=True)
        }
        found.append(compare_embeddings(x, models, 0.05 if share else 0.0)[0].closer)
    return [found.count(name) / repeats for name in "ab"]


@pytest.mark.calibration
@pytest.mark.parametrize("place", [1.2, 2.5, 8.0])
def test_ties_stay_ties_wherever_the_outliers_are(place: float) -> None:
    """80 samples, each direction at level .025: that exceeds .075 with probability .004."""
    first, second = winners(80, 0.05, place, (-0.5, 0.5))
    assert first <= 0.075
    assert second <= 0.075


@pytest.mark.calibration
def test_outliers_at_the_worst_place_use_up_the_level_and_no_more() -> None:
    """All outliers where g is smallest: with a tolerance the tie stays a tie, without one the second model wins."""
    grid = np.linspace(-3.0, 3.0, 601)[:, None]
    g = normal(plain(), -0.5).score(grid) - normal(plain(), 0.5).score(grid)
    worst = float(grid[g.argmin(), 0])
    assert winners(100, 0.05, worst, (-0.5, 0.5))[1] <= 0.07
    x = rows(2000, 0.05, worst)
    at = plain()
    careless = compare_embeddings(x, {"a": normal(at, -0.5), "b": normal(at, 0.5)}, 0.0)[0]
    assert careless.closer == "b"


@pytest.mark.calibration
def test_equal_models_that_are_drawn_stay_equal() -> None:
    assert max(winners(30, 0.0, 0.0, (0.0, 0.0), drawn=True)) <= 0.1


@pytest.mark.calibration
def test_the_closer_model_wins_in_spite_of_outliers() -> None:
    first, second = winners(60, 0.05, 8.0, (0.0, 1.0))
    assert first >= 0.9
    assert second == 0.0
