"""Orders that stop: the running mean of their wealth, against its definition and over all sequences and orders."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from numpy.typing import NDArray

import steinball as sb
from steinball.calibration.betting import Betting, BettingNull, log_wealth, payoffs

pytestmark = pytest.mark.exact
Floats = NDArray[np.float64]

FEATURES = np.array([[1.0, 0.2], [-0.6, 0.9], [-0.5, -1.0]])
CHANCES = np.array([0.5, 0.3, 0.2])
THETA, TAU = float(np.linalg.norm(CHANCES @ FEATURES)), float((FEATURES**2).sum(axis=1).max())


def payoffs_of(points: Floats) -> Floats:
    u = points @ points.T
    return payoffs(np.triu(u, 1).sum(axis=0), np.diag(u))


def null_of(rows: list[Floats], stop: float | None, reference: float = THETA) -> BettingNull:
    return BettingNull(np.stack(rows), TAU, 0.5, reference=reference, stop=stop)


def test_the_pvalue_is_the_reciprocal_of_the_largest_running_mean() -> None:
    rng = np.random.default_rng(0)
    rows = [payoffs_of(FEATURES[rng.integers(0, 3, 12)]) for _ in range(5)]
    wealth = np.exp([log_wealth(row, 0.3, TAU) for row in rows])
    against = np.exp([log_wealth(row, 0.1, TAU) for row in rows])
    stopped = [w[next((t for t in range(12) if a[t] >= 1 / 0.4), 11)] for w, a in zip(wealth, against, strict=True)]
    means = [float(np.mean(stopped[: k + 1])) for k in range(5)]
    assert null_of(rows, 0.4, reference=0.1).pvalue(0.5, 0.3) == pytest.approx(min(1.0, 1.0 / max(means)), rel=1e-12)


def test_no_more_than_the_level_is_rejected_over_all_sequences_and_orders() -> None:
    """Four points of three kinds on the edge of the ball, and every pair of two orders: exact probabilities."""
    orders = [list(order) for order in itertools.permutations(range(4))]
    for level in (0.5, 0.7, 0.9):
        rejected = 0.0
        for kinds in itertools.product(range(3), repeat=4):
            points = FEATURES[list(kinds)]
            each = np.exp([null_of([payoffs_of(points[o])], 0.8 * level)._log_evidence(THETA) for o in orders])
            running = np.maximum(each[:, None], (each[:, None] + each[None, :]) / 2.0)
            rejected += float(np.prod(CHANCES[list(kinds)])) * float(np.mean(running >= 1.0 / level))
        assert 0.0 < rejected <= level


def test_it_rejects_whenever_the_first_order_does_and_never_falls_in_the_radius() -> None:
    rng, agreed = np.random.default_rng(1), 0
    for _ in range(60):
        rows = [payoffs_of(FEATURES[rng.choice(3, 60, p=[0.8, 0.1, 0.1])]) for _ in range(4)]
        several, first = null_of(rows, 0.05), null_of(rows[:1], None)
        if first.pvalue(0.5, THETA) <= 0.05:
            agreed += 1
            assert several.pvalue(0.5, THETA) <= 0.05
        pvalues = [several.pvalue(0.5, radius) for radius in np.linspace(0.0, math.sqrt(TAU), 40)]
        assert (np.diff(pvalues) >= 0.0).all()
        bound = several.lower_bound(0.5, 0.05)
        assert bound == 0.0 or several.pvalue(0.5, bound) <= 0.05 < several.pvalue(0.5, bound + 1e-6)
    assert agreed > 10


def test_it_is_a_calibration_like_any_other() -> None:
    x = np.where(np.arange(200) % 4 == 0, 1.0, np.random.default_rng(0).normal(size=200))
    with pytest.warns(sb.cautions.DependentRowsWarning):
        result = sb.robust_ksd_test(x, sb.models.Gaussian(), 0.05, calibration=Betting(10, stop=0.025), rng=0)
    assert result.rejected
    assert result.contamination_bound > 0.05
    assert not result.at(contamination=0.5).rejected
    with pytest.raises(ValueError, match="stop=None"):
        sb.robust_ksdagg_test(x, sb.models.Gaussian(), 0.05, calibration=Betting(stop=0.05))
    with pytest.raises(ValueError, match="`stop` must be"):
        Betting(10, stop=0.0)
