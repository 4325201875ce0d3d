"""Both empirical Bernstein bounds against explicit features, the step of the proof, and simulation."""

from __future__ import annotations

import math

import numpy as np
import pytest

from experiments.evidence.contaminations import infimum, lengthscale, supremum
from experiments.evidence.empirical_bernstein import (
    MartinezRamdasNull,
    WolferAlquierNull,
    bets,
    predicted_squares,
    sample_variance,
)

pytestmark = pytest.mark.exact


def features(n: int, rng: np.random.Generator) -> np.ndarray:
    """Vectors of the unit ball, mostly short, one in ten of length 1 in one direction."""
    short = 0.3 * rng.uniform(-1.0, 1.0, size=(n, 4))
    rare = rng.random((n, 1)) < 0.1
    return np.asarray(np.where(rare, np.array([1.0, 0.0, 0.0, 0.0]), short))


MEAN = np.array([0.1, 0.0, 0.0, 0.0])


def test_variance_and_squares_are_those_of_the_features() -> None:
    phi = features(40, np.random.default_rng(0))
    gram = phi @ phi.T
    assert sample_variance(gram) == pytest.approx(np.var(phi, axis=0, ddof=1).sum())
    means = np.array([phi[:t].mean(axis=0) if t else np.zeros(4) for t in range(40)])
    np.testing.assert_allclose(predicted_squares(gram), ((phi - means) ** 2).sum(axis=1), atol=1e-14)


def test_a_bet_knows_the_points_before_it_alone() -> None:
    squares = np.random.default_rng(0).uniform(0.0, 4.0, size=50)
    changed = np.concatenate([squares[:30], np.zeros(20)])
    np.testing.assert_array_equal(bets(squares, 1.0, 0.05)[:31], bets(changed, 1.0, 0.05)[:31])
    assert bets(squares, 1.0, 0.05).max() <= 0.5


def test_the_step_of_the_proof_holds_point_by_point() -> None:
    """cosh|S + λy| exp(−ψ(λ)|y|²) ≤ cosh|S| (1 + λ⟨T, y⟩) for |y| ≤ ½, T = tanh|S| S/|S|: see theory/deviation.md."""
    rng = np.random.default_rng(0)
    s = rng.normal(size=(20_000, 2)) * rng.exponential(2.0, size=(20_000, 1))
    y = rng.normal(size=(20_000, 2))
    y *= 0.5 * rng.random((20_000, 1)) ** 0.2 / np.linalg.norm(y, axis=1, keepdims=True)
    y[::4] = -0.5 * s[::4] / np.linalg.norm(s[::4], axis=1, keepdims=True)  # the worst direction
    bet = rng.random(20_000) * 0.99
    length = np.linalg.norm(s, axis=1)
    along = np.tanh(length) * (s * y).sum(axis=1) / length
    psi = -np.log1p(-bet) - bet
    left = np.cosh(np.linalg.norm(s + bet[:, None] * y, axis=1)) * np.exp(-psi * (y**2).sum(axis=1))
    assert np.all(left <= np.cosh(length) * (1.0 + bet * along) * (1.0 + 1e-12))


@pytest.mark.parametrize("level", [0.5, 0.05, 1e-6])
def test_p_values_invert_thresholds(level: float) -> None:
    phi = features(300, np.random.default_rng(1))
    found = (WolferAlquierNull(1.0, 1.0, 300, 0.2), MartinezRamdasNull.of(phi @ phi.T, 1.0, 0.05))
    for null in found:
        gamma = null.threshold(level, 0.3)
        assert null.pvalue(0.3 + gamma, 0.3) == pytest.approx(level)
        assert null.pvalue(0.2, 0.3) == 1.0


def test_the_mean_leaves_the_bound_no_more_often_than_it_may() -> None:
    """400 samples of 200 points, level .2: at most .2 and two standard errors, .24, leave it; both bounds are loose."""
    rng, outside = np.random.default_rng(2), np.zeros(2)
    for _ in range(400):
        phi = features(200, rng)
        gram = phi @ phi.T
        wolfer = WolferAlquierNull(1.0, 1.0, 200, sample_variance(gram))
        martinez = MartinezRamdasNull.of(gram, 1.0, 0.2)
        weights = bets(predicted_squares(gram), 1.0, 0.2)
        weighted = weights @ phi / weights.sum()
        assert martinez.ksd == pytest.approx(np.linalg.norm(weighted))
        found = (np.linalg.norm(phi.mean(axis=0) - MEAN), np.linalg.norm(weighted - MEAN))
        outside += [d > null.threshold(0.2, 0.0) for d, null in zip(found, (wolfer, martinez), strict=True)]
    assert np.all(outside / 400 <= 0.24)


def test_a_small_variance_pays_at_last() -> None:
    """The bound of Martinez-Taboada and Ramdas falls below the paper's, the more the smaller the variance is."""
    phi = features(2000, np.random.default_rng(3))
    paper = (1.0 + math.sqrt(-2.0 * math.log(0.05))) / math.sqrt(2000)
    assert MartinezRamdasNull.of(phi @ phi.T, 1.0, 0.05).threshold(0.05, 0.0) < 0.75 * paper


@pytest.mark.parametrize("d", [1, 2, 10])
def test_the_least_value_of_u_is_where_the_formula_says(d: int) -> None:
    v = 1.0 / (1.0 + np.concatenate([np.linspace(0.0, 50.0, 2001), [1e12]]))
    values = 1.0 + (1.0 + d / lengthscale(d) ** 2) * v - v**2 - v**3
    assert values.min() == pytest.approx(infimum(d))
    assert infimum(d) < supremum(d)[0]
