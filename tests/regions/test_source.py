"""What regions know of a model: quantiles, draws and their checks, standardized rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from steinball.regions.source import Grid, Source, from_probabilities, from_sampler, from_second_sample

pytestmark = pytest.mark.exact

Floats = NDArray[np.float64]
RNG = np.random.default_rng(0)


@pytest.mark.parametrize("law", [stats.norm(3.0, 1e-4), stats.cauchy(), stats.expon(5.0), stats.uniform(), stats.t(2)])
def test_quantiles_are_found_without_an_inverse(law: Any) -> None:
    levels = np.array([1e-6, 0.01, 0.5, 0.9, 1.0 - 1e-6])
    assert Source(cdf=law.cdf).quantiles(levels) == pytest.approx(law.ppf(levels), rel=1e-9, abs=1e-12)


def test_a_distribution_function_can_be_drawn_from() -> None:
    x = Source(cdf=stats.norm().cdf).draw(4000, np.random.default_rng(1))
    assert x.shape == (4000, 1)
    assert stats.kstest(x[:, 0], "norm").pvalue > 0.01


@pytest.mark.parametrize(
    ("sample", "words"),
    [
        (lambda n, rng: rng.normal(size=(n, 3)), r"must return shape \(10, 2\), got \(10, 3\)"),
        (lambda n, rng: rng.normal(size=(n - 1, 2)), r"must return shape \(10, 2\), got \(9, 2\)"),
        (lambda n, rng: np.full((n, 2), np.nan), "must be finite"),
        (lambda n, rng: np.ones((n, 2)), "the same row 10 times"),
        (lambda n, rng: [["a", "b"]] * n, "real numbers"),
    ],
)
def test_a_sampler_that_misbehaves_is_named(sample: Callable[[int, Any], Any], words: str) -> None:
    with pytest.raises((ValueError, TypeError), match=words) as caught:
        Source(2, sample).draw(10, RNG)
    assert "`sample(10, rng)`" in str(caught.value)


def test_a_sampler_that_raises_is_not_silenced() -> None:
    def broken(n: int, rng: np.random.Generator) -> Floats:
        raise RuntimeError("no connection")

    with pytest.raises(RuntimeError, match="no connection"):
        from_sampler(broken, 2)


def test_one_column_may_be_drawn_flat() -> None:
    assert Source(1, lambda n, rng: rng.normal(size=n)).draw(7, RNG).shape == (7, 1)


@pytest.mark.parametrize("by_draws", [False, True])
def test_standardized_coordinates_are_uncorrelated_whatever_the_units(by_draws: bool) -> None:
    root = np.array([[1.0, 0.0, 0.0], [3.0, 1e-3, 0.0], [1e4, 0.0, 1e4]])
    mean = np.array([5.0, -1.0, 1e6])

    def sample(n: int, rng: np.random.Generator) -> Floats:
        return np.asarray(mean + rng.normal(size=(n, 3)) @ root.T)

    given = {} if by_draws else {"mean": mean, "covariance": root @ root.T}
    source = from_sampler(sample, 3, **given)
    z = source.rows(source.draw(20_000, np.random.default_rng(2))).z
    assert source.correlated
    assert np.cov(z) == pytest.approx(np.eye(3), abs=0.08)
    assert z.mean(axis=1) == pytest.approx(np.zeros(3), abs=0.08)


def test_a_coordinate_depends_on_its_own_column_and_those_before() -> None:
    source = from_sampler(lambda n, rng: rng.normal(size=(n, 2)), 2, [0, 0], [[1.0, 0.6], [0.6, 1.0]])
    x = RNG.normal(size=(5, 2))
    z, moved = source.rows(x).z, source.rows(x + np.array([0.0, 1.0])).z
    assert z[0] == pytest.approx(x[:, 0])
    assert moved[0] == pytest.approx(z[0])
    assert z[1] == pytest.approx((x[:, 1] - 0.6 * x[:, 0]) / 0.8)


def test_chance_correlations_of_independent_columns_do_not_mix_them() -> None:
    assert not from_sampler(lambda n, rng: rng.normal(size=(n, 30)), 30).correlated


def test_tails_without_a_variance_are_standardized() -> None:
    source = from_sampler(lambda n, rng: rng.standard_cauchy(size=(n, 2)), 2)
    z = source.rows(source.draw(5000, np.random.default_rng(3))).z
    assert 0.2 < np.median(np.abs(z)) < 2.0


def test_a_column_that_never_varies_is_named() -> None:
    with pytest.raises(ValueError, match="column 1 is constant"):
        from_sampler(lambda n, rng: np.stack([rng.normal(size=n), np.ones(n)], axis=1), 2)


def test_columns_that_repeat_each_other_are_taken_one_by_one() -> None:
    source = from_sampler(lambda n, rng: np.repeat(rng.normal(size=(n, 1)), 2, axis=1), 2)
    assert not source.correlated


def test_equal_rows_have_equal_coordinates() -> None:
    source = from_sampler(lambda n, rng: rng.normal(size=(n, 3)), 3, np.full(3, 0.1), np.diag([2.0, 3.0, 7.0]))
    row = RNG.normal(size=3)
    z = source.rows(np.tile(row, (101, 1))).z
    assert (z == z[:, :1]).all()


def test_rows_in_base_space_stay_what_they_are() -> None:
    x = RNG.normal(size=(4, 2))
    assert Source(2).rows(x).z.tolist() == x.T.tolist()


def test_rows_are_rounded_with_the_grid() -> None:
    source = Source(1, grid=Grid(np.array([0.5]), np.zeros(1)))
    assert source.rows(np.array([[0.6], [0.8]])).x.tolist() == [[0.5], [1.0]]


def test_rows_that_the_model_cannot_give_lie_nowhere() -> None:
    x = from_probabilities([0.5, 0.0, 0.5]).rows(np.array([[0.0], [0.5], [7.0], [-1.0], [1.0], [2.0]])).x
    assert np.isnan(x[:, 0]).tolist() == [False, True, True, True, True, False]
    counts = Source(cdf=stats.poisson(3).cdf, discrete=True).rows(np.array([[-2.0], [0.0], [9.0]])).x
    assert np.isnan(counts[:, 0]).tolist() == [True, False, False]


def test_categories_have_their_probabilities() -> None:
    source = from_probabilities([2.0, 3.0, 5.0])
    assert source.cdf(np.array([-3.0, 0.0, 1.0, 2.0, 9.0])) == pytest.approx([0.0, 0.2, 0.5, 1.0, 1.0])
    assert source.quantiles(np.array([0.1, 0.2, 0.21, 0.5, 0.9])).tolist() == [0, 0, 1, 1, 2]


def test_rows_that_standardize_a_second_sample_are_set_aside() -> None:
    draws = np.random.default_rng(4).normal(size=(500, 2))
    source = from_second_sample(draws)
    assert source.draws is not None
    assert source.draws.shape == (400, 2)
    kept = {tuple(row) for row in source.draws}
    aside = np.array([row for row in draws if tuple(row) not in kept])
    assert len(aside) == 100
    assert source.location == pytest.approx(aside.mean(axis=0), abs=0.02)
    line = from_second_sample(draws[:, :1])
    assert line.draws is not None
    assert len(line.draws) == 500
