"""Leave-one-out weights against ArviZ's numbers and a posterior in closed form."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from scipy.special import logsumexp

from steinball.arrays import Floats
from steinball.predictive.loo import RELIABLE_K, LeaveOneOut, loo_weights
from steinball.predictive.null import Null
from steinball.predictive.pit import EdgeIntervals, Pit
from steinball.predictive.table import EDGES, Features, tabulate
from tests.predictive.laws import from_cdf_values, from_draws

pytestmark = pytest.mark.exact


def loo_pit(y: Floats, draws: Floats, log_likelihood: Floats) -> tuple[Pit, Floats]:
    """Rows under their predictive laws without themselves, and the tail shapes of the weights."""
    law = LeaveOneOut(draws, log_likelihood)
    return law.pit(y), law.weights[1]


def log_likelihoods() -> Floats:
    grid = (np.arange(400) * 0.618034) % 1.0 * 4.0 - 2.0
    return np.stack([-0.5 * (grid + 0.3 * i) ** 2 * (1 + i) for i in range(3)])


def test_weights_and_tail_shapes_are_those_of_arviz() -> None:
    """``arviz.psislw`` of ArviZ 0.23.4 on the same numbers."""
    weights, shapes = loo_weights(log_likelihoods())
    np.testing.assert_allclose(shapes, [-0.57235312, -0.01925665, 0.56498012], atol=1e-7)
    np.testing.assert_allclose((weights**2).sum(axis=1), [0.00373202, 0.01436244, 0.03714516], atol=1e-7)


def test_weights_add_up_to_one_and_follow_the_raw_ones() -> None:
    values = log_likelihoods()
    weights = loo_weights(values)[0]
    np.testing.assert_allclose(weights.sum(axis=1), 1.0)
    raw = np.exp(-values - logsumexp(-values, axis=1, keepdims=True))
    assert np.corrcoef(weights[0], raw[0])[0, 1] > 0.999
    assert (np.diff(weights[1][np.argsort(raw[1])][-60:]) >= -1e-12).all()


def test_equal_weights_stay_equal_and_a_huge_one_is_reported() -> None:
    values = np.zeros((2, 100))
    values[1] = -np.arange(100.0)
    weights, shapes = loo_weights(values)
    np.testing.assert_allclose(weights[0], 0.01)
    assert shapes[0] == 0.0
    assert shapes[1] > RELIABLE_K
    assert np.isfinite(weights).all()


def posterior(y: Floats, size: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Predictive draws and log-likelihoods of N(θ, 1) with a flat prior: θ | y is N(mean, 1/n)."""
    theta = rng.normal(y.mean(), 1.0 / np.sqrt(y.size), size=size)
    return theta + rng.normal(size=(y.size, size)), stats.norm(theta, 1.0).logpdf(y[:, None])


def test_the_pit_is_that_of_the_predictive_law_without_the_row() -> None:
    rng = np.random.default_rng(0)
    y = rng.normal(size=12)
    pit, shapes = loo_pit(y, *posterior(y, 40_000, rng))
    others = (y.sum() - y) / 11
    exact = stats.norm(others, np.sqrt(1.0 + 1.0 / 11)).cdf(y)
    np.testing.assert_allclose(pit.low[0], exact, atol=0.015)
    np.testing.assert_array_equal(pit.low, pit.high)
    in_sample = stats.norm(y.mean(), np.sqrt(1.0 + 1.0 / 12)).cdf(y)
    assert np.abs(pit.low[0] - exact).max() < 0.5 * np.abs(in_sample - exact).max()
    assert (shapes < RELIABLE_K).all()
    assert pit.fresh.points


def test_counts_have_intervals_and_fresh_rows_of_the_weighted_draws() -> None:
    rng = np.random.default_rng(1)
    draws = rng.poisson(2.0, size=(6, 3000)).astype(float)
    y = np.array([0.0, 1.0, 2.0, 3.0, 4.0, 9.0])
    values = rng.normal(scale=0.2, size=(6, 3000))
    pit, _ = loo_pit(y, draws, values)
    weights = loo_weights(values)[0]
    np.testing.assert_allclose(pit.high[0], [weights[i, draws[i] <= y[i]].sum() for i in range(6)], atol=1e-9)
    np.testing.assert_allclose(pit.low[0], [weights[i, draws[i] < y[i]].sum() for i in range(6)], atol=1e-9)
    assert isinstance(pit.fresh, EdgeIntervals)
    assert not pit.fresh.points
    for i in range(6):
        steps = np.array([weights[i, draws[i] <= k].sum() for k in range(-1, 12)])
        for e in range(1, 18):
            k = int(np.searchsorted(steps, EDGES[e]))
            assert (pit.fresh.low[e, i], pit.fresh.high[e, i]) == pytest.approx((steps[k - 1], steps[k]), abs=1e-9)


def test_shapes_that_do_not_belong_together_are_refused() -> None:
    draws = np.zeros((3, 50))
    with pytest.raises(ValueError, match=r"`log_likelihood` must have the shape \(3, 50\) of `draws`"):
        loo_pit(np.zeros(3), draws, np.zeros((3, 40)))
    with pytest.raises(ValueError, match="`log_likelihood` must have shape"):
        loo_weights(np.zeros((3, 10)))
    with pytest.raises(ValueError, match="pass its transpose"):
        loo_pit(np.zeros(50), draws, draws)


@pytest.mark.calibration
def test_leave_one_out_keeps_the_level_where_draws_in_sample_do_not() -> None:
    """Sixty coefficients from 300 rows: draws in sample have seen their own row, and lie too close to it."""
    rng, n, p, size = np.random.default_rng(7), 300, 60, 400
    null = Null(from_cdf_values(np.full(n, 0.5)), Features.of({"x": np.arange(n)}), n_resamples=499, rng=0)
    found = []
    for _ in range(40):
        design = rng.normal(size=(n, p))
        y = design.sum(axis=1) + rng.normal(size=n)
        root = np.linalg.inv(np.linalg.cholesky(design.T @ design))
        center = design @ ((root.T @ root @ design.T @ y)[:, None] + root.T @ rng.normal(size=(p, size)))
        draws, features = center + rng.normal(size=(n, size)), Features.of({"x": design[:, 0]})
        pits = from_draws(y, draws, rng), loo_pit(y, draws, -0.5 * (y[:, None] - center) ** 2)[0]
        found.append([null.pvalue(tabulate(pit.low, pit.high, features)) <= 0.05 for pit in pits])
    in_sample, left_out = np.sum(found, axis=0)
    assert left_out <= 6  # more have probability .003 at the level
    assert in_sample >= 15
