"""Sums over earlier points against the paper's formula: any tile, order, array library and number of threads."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from steinball.arrays import OutOfRangeError
from steinball.gram.blocked import BlockedGram
from steinball.gram.request import Request
from steinball.gram.tiles import PrefixNorms, PrefixSums
from steinball.gram.whole import DenseGram
from steinball.kernels import InverseMultiquadric
from steinball.problem import Problem, pose
from steinball.tilts import PolynomialTilt

pytestmark = pytest.mark.exact
Floats = NDArray[np.float64]
FourTerm = Callable[..., Floats]


def score(x: Any) -> Any:
    return -x - 0.3 * x**3


def problem_of(x: Any) -> Problem:
    return pose(x, score, InverseMultiquadric(1.3), PolynomialTilt())


def prefix_sums(problem: Problem, ranks: Any, tile: int = 256, n_jobs: int | None = 1) -> PrefixSums:
    found = BlockedGram(problem, tile, n_jobs).summarise(Request(orders=ranks)).prefix_sums
    assert found is not None
    return found


def some_ranks(n: int, orders: int = 3, seed: int = 0) -> NDArray[np.int64]:
    rng = np.random.default_rng(seed)
    return np.stack([np.arange(n), *(rng.permutation(n) for _ in range(orders - 1))])


def brute_force(u: Floats, ranks: NDArray[np.int64]) -> PrefixSums:
    """Point by point, in the order that the ranks say."""
    sums, diagonal = np.zeros(ranks.shape), np.zeros(ranks.shape)
    for k, rank in enumerate(ranks):
        order = np.empty(len(rank), dtype=int)
        order[rank] = np.arange(len(rank))  # order[t] is the point that comes t-th
        for t, point in enumerate(order):
            sums[k, t] = sum(u[earlier, point] for earlier in order[:t])
            diagonal[k, t] = u[point, point]
    return PrefixSums(sums, diagonal)


def agree(found: PrefixSums, wanted: PrefixSums, rtol: float = 1e-10) -> None:
    size = float(np.abs(wanted.diagonal).max()) * wanted.sums.shape[1]
    np.testing.assert_allclose(found.sums, wanted.sums, rtol=0, atol=rtol * size)
    np.testing.assert_allclose(found.diagonal, wanted.diagonal, rtol=rtol)


@pytest.mark.parametrize("d", [1, 2, 4])
@pytest.mark.parametrize("tile", [1, 7, 20, 41, 256])
def test_every_way_to_cut_into_tiles_gives_the_sums(d: int, tile: int, four_term: FourTerm) -> None:
    x = np.random.default_rng(d).normal(size=(41, d))
    ranks = some_ranks(41)
    found = prefix_sums(problem_of(x), ranks, tile)
    wanted = brute_force(four_term(x, score(x), 1.3, tilted=True), ranks)
    agree(found, wanted)
    whole = DenseGram(problem_of(x)).summarise(Request(orders=ranks)).prefix_sums
    assert whole is not None
    agree(whole, wanted)


@pytest.mark.backend
def test_every_array_library_gives_the_sums(xp: Any, four_term: FourTerm) -> None:
    n = 48 if "jax" in xp.__name__ else 45  # tiles of one shape, for JAX compiles every shape anew
    x = np.random.default_rng(1).normal(size=(n, 3))
    ranks = some_ranks(n, 2)
    found = prefix_sums(problem_of(xp.asarray(x)), ranks, 24)
    assert type(found.sums) is np.ndarray
    agree(found, brute_force(four_term(x, score(x), 1.3, tilted=True), ranks))


def test_single_precision_keeps_four_digits() -> None:
    x = np.random.default_rng(2).normal(size=(300, 3))
    ranks = some_ranks(300, 2)
    single = prefix_sums(problem_of(x.astype(np.float32)), ranks, 64)
    double = prefix_sums(problem_of(x), ranks, 64)
    assert single.sums.dtype == np.float64
    np.testing.assert_allclose(single.sums, double.sums, rtol=0, atol=1e-4 * float(np.abs(double.sums).max()))


def test_neither_threads_nor_their_number_change_a_bit() -> None:
    problem, ranks = problem_of(np.random.default_rng(3).normal(size=(150, 3))), some_ranks(150)
    serial = prefix_sums(problem, ranks, 32)
    for jobs in (2, 3, None):
        np.testing.assert_array_equal(prefix_sums(problem, ranks, 32, n_jobs=jobs).sums, serial.sums)


def test_squares_are_those_of_the_growing_sums(four_term: FourTerm) -> None:
    x = np.random.default_rng(4).normal(size=(30, 2))
    u = four_term(x, score(x), 1.3, tilted=True)
    ranks = some_ranks(30)
    squares = prefix_sums(problem_of(x), ranks).squares
    for k, rank in enumerate(ranks):
        order = np.argsort(rank)
        wanted = [u[np.ix_(order[: t + 1], order[: t + 1])].sum() for t in range(30)]
        np.testing.assert_allclose(squares[k], wanted, rtol=1e-9, atol=1e-9)


def test_the_whole_sum_does_not_depend_on_the_order() -> None:
    found = prefix_sums(problem_of(np.random.default_rng(5).normal(size=(80, 2))), some_ranks(80, 5), 16)
    np.testing.assert_allclose(found.sums.sum(axis=1), found.sums[0].sum(), rtol=1e-10)
    assert not np.allclose(found.sums[0], found.sums[1])


def test_ranks_that_are_no_permutations_are_refused() -> None:
    problem = problem_of(np.random.default_rng(6).normal(size=(4, 1)))
    for wrong in ([[0, 1, 2, 2]], [[1, 2, 3, 4]], [0, 1, 2, 3], [[0, 1, 2]]):
        with pytest.raises(ValueError, match="permutation"):
            prefix_sums(problem, np.array(wrong))


def test_overflow_is_an_error() -> None:
    x = np.array([[1e200], [2e200], [3e200]])
    with pytest.raises(FloatingPointError, match="overflow"):
        prefix_sums(pose(x, lambda x: -x, InverseMultiquadric(1.0)), np.arange(3)[None])


def test_parts_are_joined_in_order() -> None:
    parts = [PrefixNorms(np.full((k, 3), float(k)), np.full(k, k / 10)) for k in (1, 2)]
    joined = PrefixNorms.joined(parts)
    np.testing.assert_array_equal(joined.norms[:, 0], [1.0, 2.0, 2.0])
    np.testing.assert_array_equal(joined.uniforms, [0.1, 0.2, 0.2])


def test_what_overflows_is_named() -> None:
    with pytest.raises(OutOfRangeError, match="draws of the model overflow"):
        PrefixNorms(np.array([[0.0, np.inf]]), np.zeros(1))
