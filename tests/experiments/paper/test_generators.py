"""The paper's data: moments within four standard errors, the published seed, exact counts, determinism."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import stats

from experiments.paper.generators import mean_shift, mixture_pair, scaled_student_t, split_with_outliers
from steinball.datasets import load_galaxies
from steinball.gof.mode_weights import mode_weights_test
from steinball.jumps.modes import count_groups

pytestmark = pytest.mark.exact


# scaled t, mean shift


@pytest.mark.parametrize("df", [3.0, 5.0, 50.0])
def test_the_scaled_t_has_its_distribution(df: float) -> None:
    x = scaled_student_t(4000, df, rng=0)
    assert x.shape == (4000, 1)
    scale = math.sqrt((df - 2.0) / df)
    assert stats.kstest(x[:, 0], stats.t(df, scale=scale).cdf).pvalue > 1e-3
    assert np.array_equal(x, scaled_student_t(4000, df, rng=0))


def test_the_scaled_t_has_unit_variance() -> None:
    """df = 10: excess kurtosis 1, so the variance of 20,000 draws has standard error √(3 / 20,000)."""
    assert scaled_student_t(20_000, 10.0, rng=0).var() == pytest.approx(1.0, abs=4.0 * math.sqrt(3.0 / 20_000))


def test_the_mean_is_shifted_in_the_first_coordinate_alone() -> None:
    x = mean_shift(10_000, 4, 0.3, rng=0)
    assert x.shape == (10_000, 4)
    assert x.mean(axis=0) == pytest.approx([0.3, 0.0, 0.0, 0.0], abs=4.0 / 100.0)
    assert np.cov(x.T) == pytest.approx(np.eye(4), abs=4.0 * math.sqrt(2.0 / 10_000))
    np.testing.assert_allclose(x - mean_shift(10_000, 4, 0.0, rng=0), np.tile([0.3, 0, 0, 0], (10_000, 1)), atol=1e-12)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: scaled_student_t(10, 2.0), "`df`"),
        (lambda: scaled_student_t(0, 5.0), "`n` must be at least 1"),
        (lambda: mean_shift(10, 0, 1.0), "`dimension` must be at least 1"),
        (lambda: mean_shift(10, 2, math.nan), "`shift`"),
        (lambda: mixture_pair(0.0), "`separation`"),
    ],
)
def test_parameters_out_of_range_are_refused(call: Callable[[], Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()


# mixture


def test_the_mixture_is_that_of_the_published_seed() -> None:
    """Means, model weights, data weights, in this order; the first numbers of the legacy stream of 4321."""
    before = repr(np.random.get_state(legacy=False))  # noqa: NPY002
    model, data = mixture_pair(2.0)
    assert repr(np.random.get_state(legacy=False)) == before  # noqa: NPY002 - nothing global was touched
    uniforms = np.random.RandomState(4321).random_sample(20)
    np.testing.assert_allclose(model.means, 2.0 * (4.0 * uniforms[:10].reshape(5, 2) - 2.0), rtol=1e-14)
    np.testing.assert_allclose(model.weights, uniforms[10:15] / uniforms[10:15].sum(), rtol=1e-14)
    np.testing.assert_allclose(data.weights, uniforms[15:] / uniforms[15:].sum(), rtol=1e-14)
    assert np.array_equal(model.means, data.means)
    assert model.weights[:2] == pytest.approx([0.234386, 0.174352], abs=1e-3)


def test_separation_scales_the_means_and_nothing_else() -> None:
    near, far = mixture_pair(1.0), mixture_pair(20.0)
    np.testing.assert_allclose(far.model.means, 20.0 * near.model.means, rtol=1e-14)
    assert np.array_equal(far.data.weights, near.data.weights)
    assert np.array_equal(far.model.cov, np.tile(np.eye(2), (5, 1, 1)))


# split with outliers


@pytest.mark.parametrize(("share", "outliers"), [(0.0, 0), (0.05, 2), (0.1, 4), (0.2, 10)])
def test_each_half_of_the_galaxies_gets_the_papers_number_of_outliers(share: float, outliers: int) -> None:
    galaxies = load_galaxies()
    fit, test = split_with_outliers(galaxies, share, 30.0, rng=0)
    assert len(fit) == len(test) == 41 + outliers
    kept = np.concatenate([fit[:41], test[:41]])
    assert np.array_equal(np.sort(kept, axis=0), galaxies)  # every galaxy once
    added = np.concatenate([fit[41:], test[41:]])
    assert np.all(np.abs(added - 30.0) < 0.5)
    assert len(np.unique(added)) == 2 * outliers  # drawn apart


def test_outliers_have_their_mean_and_deviation() -> None:
    fit, _ = split_with_outliers(np.zeros((2000, 1)), 0.5, -3.0, rng=0, noise=2.0)
    added = fit[1000:]
    assert len(added) == 1000
    assert added.mean() == pytest.approx(-3.0, abs=4.0 * 2.0 / math.sqrt(1000))
    assert added.std() == pytest.approx(2.0, abs=4.0 * 2.0 / math.sqrt(2000))


def test_splits_are_random_and_fixed_by_the_seed() -> None:
    first, again, other = (split_with_outliers(load_galaxies(), 0.1, 5.0, rng=seed) for seed in (1, 1, 2))
    assert all(np.array_equal(a, b) for a, b in zip(first, again, strict=True))
    assert not np.array_equal(first[0][:41], other[0][:41])


def test_an_odd_sample_is_split_nearly_in_half() -> None:
    first, second = split_with_outliers(np.arange(7.0), 0.0, 0.0, rng=0)
    assert (first.shape, second.shape) == ((3, 1), (4, 1))


def test_a_share_of_one_cannot_be_added() -> None:
    with pytest.raises(ValueError, match="`share` must be below 1"):
        split_with_outliers(np.arange(10.0), 1.0, 0.0)


@pytest.mark.calibration
def test_the_paper_setting_is_decided_where_the_score_is_blind() -> None:
    for separation in (5.0, 20.0):
        model, data = mixture_pair(separation)
        assert mode_weights_test(data.sample(1000, rng=0), model, 0.05).rejected
        assert not mode_weights_test(model.sample(1000, rng=0), model, 0.0).rejected


def test_components_separate_where_the_paper_says_that_the_score_goes_blind() -> None:
    assert [count_groups(mixture_pair(gamma).model) for gamma in (1, 2, 3, 5)] == [1, 1, 3, 4]
