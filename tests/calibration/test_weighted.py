"""Efron's bootstrap: the distribution of the weights, their reproducibility, and the draws they give."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from math import factorial
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

import steinball as sb
from steinball.arrays import as_seed
from steinball.stein import SteinKernel

pytestmark = pytest.mark.exact

SEED = np.random.SeedSequence(20250101)
SMALLEST_PVALUE = 1e-4
"""Goodness-of-fit tests of the weights run at this level, on fixed seeds."""


def rows(n: int, n_resamples: int, start: int = 0, seed: np.random.SeedSequence = SEED) -> NDArray[np.integer]:
    return np.concatenate(list(sb.WeightedBootstrap(n_resamples).request(n, seed, start).weights))


@pytest.mark.parametrize(("n", "n_resamples"), [(2, 5), (7, 64), (50, 130), (500, 199)])
def test_weights_are_counts_minus_one_that_sum_to_zero(n: int, n_resamples: int) -> None:
    weights = rows(n, n_resamples)
    assert weights.shape == (n_resamples, n)
    assert weights.dtype.kind == "i"
    assert weights.min() == -1
    assert not weights.sum(axis=1, dtype=np.int64).any()


def test_large_samples_are_drawn_in_parts_that_are_still_whole_counts() -> None:
    """n large enough that one chunk of 64 draws is made in several parts."""
    weights = rows(40_000, 66)
    assert weights.shape == (66, 40_000)
    assert not weights.sum(axis=1, dtype=np.int64).any()
    assert len({row.tobytes() for row in weights}) == 66


def test_all_counts_of_three_points_have_their_multinomial_probabilities() -> None:
    """Chi-square over the ten outcomes of Multinomial(3; 1/3, 1/3, 1/3), 20,000 draws, level 1e-4."""
    counts = rows(3, 20_000) + 1
    outcomes = [w for w in product(range(4), repeat=3) if sum(w) == 3]
    probabilities = [6 / np.prod([factorial(k) for k in w]) / 27 for w in outcomes]
    observed = [(counts == w).all(axis=1).sum() for w in outcomes]
    assert sum(observed) == 20_000
    assert stats.chisquare(observed, 20_000 * np.array(probabilities)).pvalue > SMALLEST_PVALUE


@pytest.mark.parametrize("column", [0, 19])
def test_each_count_is_binomial(column: int) -> None:
    """Chi-square against Binomial(20, 1/20) over 0, 1, 2, 3, 4 and more, 20,000 draws, level 1e-4."""
    counts = rows(20, 20_000)[:, column] + 1
    observed = np.bincount(np.minimum(counts, 4), minlength=5)
    expected = stats.binom.pmf(np.arange(4), 20, 1 / 20)
    expected = 20_000 * np.append(expected, 1 - expected.sum())
    assert stats.chisquare(observed, expected).pvalue > SMALLEST_PVALUE


def test_the_covariance_is_that_of_the_multinomial() -> None:
    """Var W = 1 − 1/n and Cov = −1/n, each within 5 standard errors of 40,000 draws."""
    n, total = 8, 40_000
    weights = rows(n, total).astype(float)
    products = weights[:, :, None] * weights[:, None, :]
    error = products.std(axis=0) / np.sqrt(total)
    assert (np.abs(products.mean(axis=0) - (np.eye(n) - 1 / n)) < 5 * error).all()
    assert (np.abs(weights.mean(axis=0)) < 5 * np.sqrt(1 / total)).all()


def test_draws_are_independent_of_each_other_and_across_chunks() -> None:
    """Correlation of a count with the same count one draw and one chunk (64 draws) later: below 5 standard errors."""
    column = rows(30, 20_000)[:, 0].astype(float)
    for lag in (1, 64):
        assert abs(np.corrcoef(column[:-lag], column[lag:])[0, 1]) < 5 / np.sqrt(20_000)


def test_fewer_draws_are_the_first_of_more() -> None:
    assert np.array_equal(rows(25, 100), rows(25, 1000)[:100])


@pytest.mark.parametrize("start", [0, 1, 63, 64, 65, 150, 199])
def test_any_range_of_draws_is_the_same_whoever_asks_for_it(start: int) -> None:
    assert np.array_equal(rows(25, 200, start), rows(25, 200)[start:])


def test_a_range_that_is_empty_has_no_chunks() -> None:
    assert list(sb.WeightedBootstrap(64).request(5, SEED, 64).weights) == []


def test_different_seeds_and_sizes_give_different_weights() -> None:
    assert not np.array_equal(rows(25, 64), rows(25, 64, seed=np.random.SeedSequence(1)))


def test_draws_are_the_double_sum_of_the_paper() -> None:
    """Eq. "bootstrap sample": D_W² = n⁻² Σᵢⱼ (Wᵢ − 1)(Wⱼ − 1) u(xᵢ, xⱼ), summed term by term."""
    x = np.random.default_rng(0).normal(size=(9, 2))
    kernel, tilt = sb.InverseMultiquadric(1.3), sb.PolynomialTilt(0.5)
    u = SteinKernel(kernel, tilt)(x, -x, x, -x)
    options: dict[str, Any] = {"kernel": kernel, "tilt": tilt, "calibration": sb.WeightedBootstrap(70), "rng": 5}
    biased, unbiased = (sb.ksd_test(x, sb.from_scores(-x), estimator=kind, **options) for kind in "vu")
    assert biased.draws is not None
    assert unbiased.draws is not None
    for b, w in enumerate(rows(9, 70, seed=as_seed(5))):
        terms = [[int(w[i]) * int(w[j]) * u[i, j] for j in range(9)] for i in range(9)]
        assert biased.draws[b] == pytest.approx(np.sqrt(np.sum(terms) / 81), rel=1e-12)
        off_diagonal = (np.sum(terms) - np.trace(terms)) / 72
        assert np.sign(unbiased.draws[b]) * unbiased.draws[b] ** 2 == pytest.approx(off_diagonal, rel=1e-9, abs=1e-14)


# Randomness (SPEC 7), for both bootstraps

X = np.random.default_rng(8).normal(size=(30, 1))
BOOTSTRAPS = [sb.WeightedBootstrap(99), sb.WildBootstrap(99)]


def draws(rng: Any, calibration: Any) -> NDArray[np.float64]:
    found = sb.ksd_test(X, sb.from_scores(-X), calibration=calibration, rng=rng).draws
    assert found is not None
    return found


@pytest.mark.parametrize("calibration", BOOTSTRAPS)
def test_an_int_a_seed_sequence_and_a_fresh_generator_agree(calibration: Any) -> None:
    kinds: list[Callable[[], Any]] = [
        lambda: 42,
        lambda: np.int64(42),
        lambda: np.random.SeedSequence(42),
        lambda: np.random.default_rng(42),
        lambda: np.random.PCG64(42),
    ]
    first, *others = [draws(make(), calibration) for make in kinds]
    for other in others:
        assert np.array_equal(first, other)


@pytest.mark.parametrize("calibration", BOOTSTRAPS)
def test_a_seed_sequence_is_not_used_up_and_a_generator_is_advanced(calibration: Any) -> None:
    sequence, generator = np.random.SeedSequence(1), np.random.default_rng(1)
    assert np.array_equal(draws(sequence, calibration), draws(sequence, calibration))
    before = generator.bit_generator.state
    assert not np.array_equal(draws(generator, calibration), draws(generator, calibration))
    assert generator.bit_generator.state != before


@pytest.mark.parametrize("calibration", BOOTSTRAPS)
def test_none_is_fresh_every_time_and_nothing_global_is_read_or_set(calibration: Any) -> None:
    np.random.seed(0)  # noqa: NPY002 - the legacy global state is what must not matter
    before = np.random.get_state(legacy=False)  # noqa: NPY002
    first = draws(None, calibration)
    np.random.seed(0)  # noqa: NPY002
    assert not np.array_equal(first, draws(None, calibration))
    after = np.random.get_state(legacy=False)  # noqa: NPY002
    assert np.array_equal(before["state"]["key"], after["state"]["key"])
    assert before["state"]["pos"] == after["state"]["pos"]


@pytest.mark.parametrize("rng", [np.random.RandomState(0), -1, "seed", 1.5, np.random])
def test_other_kinds_of_rng_are_refused(rng: Any) -> None:
    with pytest.raises(TypeError, match="`rng` must be None, a"):
        sb.ksd_test(X, sb.from_scores(-X), rng=rng)
