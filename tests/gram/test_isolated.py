"""Isolated points: every answer is that of the whole matrix, written out."""

from __future__ import annotations

import numpy as np
import pytest

import steinball as sb
from steinball.gram.blocked import BlockedGram
from steinball.gram.lowrank import LowRankGram
from steinball.gram.request import Request
from steinball.gram.whole import DenseGram, IsolatedGram
from steinball.problem import Problem, pose

pytestmark = pytest.mark.exact

RNG = np.random.default_rng(0)
ISOLATED, TAU, N = np.array([0, 7, 30]), 1.7, 40
ROWS = np.setdiff1d(np.arange(N), ISOLATED)


def problem() -> Problem:
    x = np.random.default_rng(1).normal(size=(N - 3, 2))
    return pose(x, sb.models.Gaussian(dimension=2), sb.InverseMultiquadric(1.0), sb.PolynomialTilt())


def whole() -> np.ndarray:
    inner = problem()
    matrix = np.zeros((N, N))
    matrix[np.ix_(ROWS, ROWS)] = inner.stein.block(inner.points, inner.points)
    matrix[np.ix_(ISOLATED, ISOLATED)] = TAU
    return matrix


@pytest.mark.parametrize("engine", [DenseGram, lambda p: BlockedGram(p, 16)], ids=["dense", "blocked"])
def test_every_answer_is_that_of_the_whole_matrix(engine: object) -> None:
    weights, matrix = RNG.integers(-2, 3, size=(5, N)), whole()
    orders = np.array([RNG.permutation(N) for _ in range(2)])
    directions = RNG.normal(size=(N, 3))
    request = Request((weights,), orders, directions)
    found = IsolatedGram(engine(problem()), N, ISOLATED, TAU).summarise(request)  # type: ignore[operator]
    np.testing.assert_allclose(found.diagonal, np.diag(matrix), rtol=1e-10)
    np.testing.assert_allclose(found.row_means, matrix.mean(axis=1), rtol=1e-8, atol=1e-12)
    assert found.mean == pytest.approx(matrix.mean(), rel=1e-9)
    np.testing.assert_allclose(found.quadratic_forms, np.einsum("bi,ij,bj->b", weights, matrix, weights) / N**2)
    np.testing.assert_allclose(found.linear_forms, weights @ matrix.sum(axis=1) / N**2, atol=1e-12)
    assert found.direction_products is not None
    np.testing.assert_allclose(found.direction_products, matrix @ directions, rtol=1e-8, atol=1e-9)
    for k, order in enumerate(np.argsort(orders, axis=1)):
        sums = [matrix[order[:t], order[t]].sum() for t in range(N)]
        assert found.prefix_sums is not None
        np.testing.assert_allclose(found.prefix_sums.sums[k], sums, atol=1e-9)
        np.testing.assert_allclose(found.prefix_sums.diagonal[k], np.diag(matrix)[order])
    assert len(found) == N


def test_bounds_of_low_rank_hold_the_exact_answers() -> None:
    request = sb.WeightedBootstrap(50).request(N, np.random.SeedSequence(0))
    exact = IsolatedGram(DenseGram(problem()), N, ISOLATED, TAU).summarise(request)
    found = IsolatedGram(LowRankGram(problem(), 8), N, ISOLATED, TAU).summarise(request)
    for value, bounds in (
        (exact.mean, found.mean_bounds),
        (exact.quadratic_forms, found.form_bounds),
        (exact.linear_forms, found.linear_bounds),
    ):
        assert bounds is not None
        assert np.all(bounds[0] <= value)
        assert np.all(value <= bounds[1])
