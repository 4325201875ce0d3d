"""Generators of data that are not quite the model's: exact counts, moments within four standard errors, determinism."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from steinball.datasets import contaminate
from steinball.models import Gaussian

pytestmark = pytest.mark.exact


# contaminate


@pytest.mark.parametrize("n", [1, 7, 100, 500])
@pytest.mark.parametrize("share", [0.0, 0.01, 0.05, 0.075, 0.29, 0.5, 0.57, 1.0])
def test_exactly_the_whole_part_of_n_epsilon_rows_are_replaced(n: int, share: float) -> None:
    x = np.random.default_rng(0).normal(size=(n, 2))
    changed = contaminate(x, share, 99.0, rng=0)
    replaced = (changed == 99.0).all(axis=1)
    assert replaced.sum() == round(n * share * 1000) // 1000  # in whole thousandths: 100 · 0.29 is 29
    assert np.array_equal(changed[~replaced], x[~replaced])


def test_the_papers_cells_have_the_counts_of_its_scripts() -> None:
    for n in (25, 50, 100, 500, 1000, 2000):
        for share in (0.0, 0.01, 0.025, 0.05, 0.075, 0.1, 0.125, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5):
            assert np.sum(contaminate(np.zeros(n), share, 1.0, rng=0)) == int(n * share)


def test_the_sample_given_is_not_changed() -> None:
    x = np.zeros((50, 1))
    contaminate(x, 0.5, 1.0, rng=0)
    assert not x.any()


def test_a_binomial_number_of_rows_has_its_mean_and_variance() -> None:
    """500 repeats of Binomial(40, 0.3): mean 12, variance 8.4, each within four standard errors."""
    counts = [np.sum(contaminate(np.zeros(40), 0.3, 1.0, rng=seed, count="binomial")) for seed in range(500)]
    assert np.mean(counts) == pytest.approx(12.0, abs=4.0 * math.sqrt(8.4 / 500))
    assert np.var(counts) == pytest.approx(8.4, abs=4.0 * 8.4 * math.sqrt(2.0 / 500))


def test_every_row_is_replaced_equally_often() -> None:
    """1000 repeats, 3 of 10 rows: each row 300 times, standard deviation 14.5; four of them allowed."""
    counts = sum(contaminate(np.zeros(10), 0.3, 1.0, rng=seed)[:, 0] for seed in range(1000))
    assert np.all(np.abs(counts - 300.0) < 4.0 * math.sqrt(1000 * 0.3 * 0.7))


def test_a_point_may_be_a_vector() -> None:
    changed = contaminate(np.zeros((10, 3)), 0.5, [1.0, 2.0, 3.0], rng=0)
    assert np.sum(np.all(changed == [1.0, 2.0, 3.0], axis=1)) == 5


@pytest.mark.parametrize("pool", [np.array([5.0, 6.0, 7.0]), np.array([[5.0], [6.0], [7.0]])], ids=["(k,)", "(k, 1)"])
def test_rows_are_drawn_from_an_array_with_replacement(pool: Any) -> None:
    changed = contaminate(np.zeros(900), 1.0, pool, rng=0)
    values, counts = np.unique(changed, return_counts=True)
    assert values.tolist() == [5.0, 6.0, 7.0]
    assert np.all(np.abs(counts - 300) < 4.0 * math.sqrt(900 * 2 / 9))


def test_rows_of_several_columns_stay_together() -> None:
    pool = np.array([[1.0, 10.0], [2.0, 20.0]])
    changed = contaminate(np.zeros((50, 2)), 1.0, pool, rng=0)
    assert {tuple(row) for row in changed.tolist()} == {(1.0, 10.0), (2.0, 20.0)}


def test_a_function_and_a_model_are_asked_for_as_many_rows_as_are_replaced() -> None:
    asked = []

    def draw(m: int, rng: np.random.Generator) -> Any:
        asked.append(m)
        return rng.normal(10.0, 0.1, size=m)

    changed = contaminate(np.zeros(200), 0.1, draw, rng=0)
    assert asked == [20]
    assert np.sum(np.abs(changed - 10.0) < 1.0) == 20
    by_model = contaminate(np.zeros((200, 2)), 0.1, Gaussian([5.0, -5.0], 0.01), rng=0)
    far = by_model[np.abs(by_model).sum(axis=1) > 1.0]
    assert far.shape == (20, 2)
    assert far.mean(axis=0) == pytest.approx([5.0, -5.0], abs=4 * 0.1 / math.sqrt(20))


def test_a_seed_fixes_the_contamination() -> None:
    x = np.arange(100.0)
    first, again, other = (contaminate(x, 0.2, Gaussian(), rng=seed) for seed in (1, 1, 2))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


def test_one_generator_gives_another_sample_every_time() -> None:
    rng = np.random.default_rng(0)
    first, second = (contaminate(np.arange(100.0), 0.2, Gaussian(), rng) for _ in range(2))
    assert not np.array_equal(first, second)


def test_frames_and_single_precision_come_back_as_arrays_of_their_own_kind() -> None:
    pd = pytest.importorskip("pandas")
    assert contaminate(pd.DataFrame({"a": [0.0] * 10}), 0.5, 1.0, rng=0).sum() == 5.0
    assert contaminate(np.zeros(10), 0.5, pd.DataFrame({"a": [1.0, 1.0]}), rng=0).sum() == 5.0
    assert contaminate(np.zeros(10, dtype=np.float32), 0.5, 1.0, rng=0).dtype == np.float32


@pytest.mark.backend
def test_samples_stay_in_their_library(xp: Any) -> None:
    changed = contaminate(xp.asarray([[0.0], [0.0], [0.0], [0.0]], dtype=xp.float64), 0.5, 1.0, rng=0)
    assert type(changed) is type(xp.asarray([0.0]))
    assert float(xp.sum(changed)) == 2.0


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ((1.5, 1.0), ValueError, "`share`"),
        ((0.1, "outlier"), TypeError, "`contamination` must be a point"),
        ((0.1, None), TypeError, "`contamination` must be a point"),
        ((0.1, Gaussian), TypeError, "`contamination` must be a point"),
        ((0.1, [1.0, 2.0, 3.0]), ValueError, r"a point of 2 finite numbers or rows of them, \(k, 2\), got \(3,\)"),
        ((0.1, math.inf), ValueError, "2 finite numbers"),
        ((0.1, lambda m, rng: np.zeros((m + 1, 2))), ValueError, "must return 1 rows of 2 numbers"),
        ((0.1, lambda m, rng: np.full((m, 2), np.nan)), ValueError, "2 finite numbers"),
        ((0.1, Gaussian()), ValueError, r"2 finite numbers.*got \(1, 1\)"),
    ],
)
def test_what_is_no_contamination_is_refused(arguments: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        contaminate(np.zeros((10, 2)), *arguments)


def test_another_way_to_count_is_refused() -> None:
    with pytest.raises(ValueError, match='"exact" or "binomial", got \'poisson\''):
        contaminate(np.zeros(10), 0.1, 1.0, count="poisson")
