"""The median heuristic."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.distance import pdist

from steinball.kernels.base import EXACT_UP_TO, _exact_median, _median_on_a_line, median_distance

pytestmark = pytest.mark.exact


def brute_force(x: Any, metric: Any = None) -> float:
    c = np.eye(x.shape[1]) if metric is None else np.asarray(metric)
    return float(np.sqrt(np.median([(a - b) @ c @ (a - b) for a, b in combinations(x, 2)])))


@given(n=st.integers(2, 12), d=st.integers(1, 4), seed=st.integers(0, 99))
def test_it_is_the_root_of_the_median_squared_distance(n: int, d: int, seed: int) -> None:
    x = np.random.default_rng(seed).normal(size=(n, d))
    assert median_distance(x) == pytest.approx(brute_force(x), rel=1e-12)


def test_with_an_even_number_of_pairs_squares_are_averaged() -> None:
    """Distances 1, 2, 3, 3, 5, 6: the middle squares are 9 and 9; then of 0, 1, 5: 1, 4, 5 has the middle 4."""
    x = np.array([[0.0], [1.0], [3.0], [6.0]])
    assert median_distance(x) == 3.0
    x = np.array([[0.0], [1.0], [3.0], [7.0]])  # squares 1, 4, 9, 16, 36, 49
    assert median_distance(x) == pytest.approx(12.5**0.5, rel=1e-15)


def test_two_points_give_their_distance() -> None:
    assert median_distance(np.array([[0.0, 0.0], [3.0, 4.0]])) == 5.0


def test_a_metric_measures_the_distances() -> None:
    x, c = np.random.default_rng(1).normal(size=(9, 2)), np.array([[2.0, -0.5], [-0.5, 0.3]])
    assert median_distance(x, c) == pytest.approx(brute_force(x, c), rel=1e-12)
    assert median_distance(x, 4.0 * np.eye(2)) == pytest.approx(2.0 * median_distance(x), rel=1e-12)


def test_it_moves_with_the_units_and_not_with_the_origin_or_the_order() -> None:
    x = np.random.default_rng(2).normal(size=(50, 3))
    here = median_distance(x)
    rotation, _ = np.linalg.qr(np.random.default_rng(3).normal(size=(3, 3)))
    assert median_distance(x + 1e6) == pytest.approx(here, rel=1e-9)
    assert median_distance(x[::-1]) == pytest.approx(here, rel=1e-15)
    assert median_distance(x @ rotation) == pytest.approx(here, rel=1e-12)
    for c in (1e-6, 1e6):
        assert median_distance(c * x) == pytest.approx(c * here, rel=1e-12)


def test_an_outlier_does_not_stretch_it() -> None:
    x = np.random.default_rng(4).normal(size=(400, 2))
    before = median_distance(x)
    x[:4] = 1e200
    assert median_distance(x) == pytest.approx(before, rel=0.05)


def test_large_samples_are_thinned_by_a_seed_of_its_own() -> None:
    """The median of |X − Y| for normal X, Y is 0.6745·√2; 2,000 points give it with a relative deviation of 1.5 %."""
    x = np.random.default_rng(5).normal(size=(20_000, 1))
    value = median_distance(x)
    assert value == pytest.approx(0.674489750196 * 2**0.5, rel=0.03)
    assert value == median_distance(x)
    assert value != median_distance(x[::-1])  # other points are in the subsample
    assert median_distance(x[::-1]) == pytest.approx(value, rel=0.06)  # two such deviations


def test_up_to_the_limit_all_pairs_are_used() -> None:
    x = np.random.default_rng(6).normal(size=(EXACT_UP_TO, 1))
    assert median_distance(x) == median_distance(x[::-1])
    squares = (x - x.T)[np.triu_indices(EXACT_UP_TO, 1)] ** 2
    assert median_distance(x) == pytest.approx(np.median(squares) ** 0.5, rel=1e-12)
    longer = np.append(x, [[0.0]], axis=0)
    assert median_distance(longer) != median_distance(longer[::-1])


@pytest.mark.parametrize("shape", ["sorted", "two clusters", "ties", "almost all tie", "heavy tails", "one far away"])
@pytest.mark.parametrize("n", [129, 300, 1001])
def test_the_median_of_many_pairs_is_exact_however_they_are_ordered(shape: str, n: int) -> None:
    """Past some thousand pairs only those near the middle are sorted; np.median of all of them is the truth."""
    rng = np.random.default_rng(n)
    x = {
        "sorted": np.sort(rng.normal(size=n)),
        "two clusters": np.where(np.arange(n) < n // 2, 0.0, 10.0) + 1e-3 * rng.normal(size=n),
        "ties": rng.integers(0, 5, size=n).astype(float),
        "almost all tie": np.where(np.arange(n) < 0.6 * n, 0.0, rng.normal(size=n)),
        "heavy tails": rng.standard_cauchy(size=n) ** 3,
        "one far away": np.append(rng.normal(size=n - 1), 1e200),
    }[shape][:, None]
    with np.errstate(over="ignore"):
        squares = ((x - x.T) ** 2)[np.triu_indices(n, 1)]
    assert median_distance(x) == pytest.approx(np.median(squares) ** 0.5, rel=1e-12)


@pytest.mark.parametrize("n", [256, 500, 1001])
@pytest.mark.parametrize("scale", [1e-160, 1.0, 1e150])
def test_on_a_line_the_median_of_some_pairs_is_that_of_all_to_the_last_digit(n: int, scale: float) -> None:
    rng = np.random.default_rng(n)
    shapes = [rng.normal(size=n), rng.standard_cauchy(n), np.round(rng.normal(size=n), 1), 1e6 + rng.random(n)]
    shapes += [rng.choice([0.0, 1.0, 3.0], size=n, p=[0.62, 0.3, 0.08]), rng.integers(0, 3, size=n) / 3.0]
    shapes += [np.where(np.arange(n) % 5, rng.normal(size=n), 10.0), np.where(rng.random(n) < 0.7, 0.0, 1.0)]
    for x in shapes:
        with np.errstate(over="ignore", under="ignore"):
            assert _median_on_a_line(scale * x) in (_exact_median(pdist((scale * x)[:, None], "sqeuclidean")), None)
    assert _median_on_a_line(scale * shapes[0]) is not None
    assert _median_on_a_line(shapes[6]) is not None


def test_where_a_few_points_do_not_bracket_the_median_all_pairs_are_looked_at() -> None:
    x = np.repeat([0.92, 1.68, 7.58], [38, 589, 149]) + 1e-6 * np.random.default_rng(0).random(776)  # found by search
    assert _median_on_a_line(x) is None
    expected = float(np.median(pdist(x[:, None], "sqeuclidean"))) ** 0.5
    assert median_distance(x[:, None]) == pytest.approx(expected, rel=1e-12)


def test_no_global_randomness_is_read_or_set() -> None:
    x = np.random.default_rng(7).normal(size=(EXACT_UP_TO + 1, 1))
    before = np.random.get_state()[1].copy()  # type: ignore[index]  # noqa: NPY002
    median_distance(x)
    np.testing.assert_array_equal(before, np.random.get_state()[1])  # type: ignore[index]  # noqa: NPY002


def test_coinciding_points_are_an_error_that_says_what_to_do() -> None:
    x = np.array([[1.0], [1.0], [1.0], [1.0], [2.0]])  # 6 of 10 pairs coincide
    with pytest.raises(ValueError, match=r"the median distance is 0: 60% of all pairs .* Pass a kernel"):
        median_distance(x)
    with pytest.raises(ValueError, match="100% of all pairs"):
        median_distance(np.ones((4, 3)))


def test_distances_too_large_to_square_are_an_error() -> None:
    with pytest.raises(ValueError, match="the median distance overflows; rescale"):
        median_distance(np.array([[0.0], [1e200], [-1e200]]))


def test_samples_are_checked_like_everywhere() -> None:
    assert median_distance([0, 1, 3]) == 2.0
    with pytest.raises(ValueError, match="`samples` must be finite"):
        median_distance([0.0, np.nan, 1.0])
    with pytest.raises(ValueError, match="`samples` must have at least 2 rows, got 1"):
        median_distance([[1.0, 2.0]])


@pytest.mark.backend
def test_every_array_library_gives_the_same_length(xp: Any) -> None:
    x = np.random.default_rng(8).normal(size=(20, 3))
    assert median_distance(xp.asarray(x)) == pytest.approx(median_distance(x), rel=1e-15)
