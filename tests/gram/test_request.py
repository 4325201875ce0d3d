"""A request is answered whole, in one pass: draws, sums over earlier points, products with directions."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from typing import Any

import joblib
import numpy as np
import pytest
from numpy.typing import NDArray

import steinball as sb
from steinball.arrays import Array, to_host
from steinball.gram.blocked import BlockedGram
from steinball.gram.choose import Settings, make_gram
from steinball.gram.lowrank import LowRankGram
from steinball.gram.request import Request
from steinball.gram.weights import ChainedWeights
from steinball.gram.whole import DenseGram
from steinball.kernels import InverseMultiquadric
from steinball.problem import Problem, pose
from steinball.tilts import PolynomialTilt

pytestmark = pytest.mark.exact
Floats = NDArray[np.float64]
FourTerm = Callable[..., Floats]

N, DRAWS, ORDERS, COLUMNS = 90, 20, 2, 3


def score(x: Any) -> Any:
    return -x - 0.3 * x**3


def problem_of(x: Any, tilted: bool = True) -> Problem:
    return pose(x, score, InverseMultiquadric(1.3), PolynomialTilt() if tilted else None)


def whole_request(n: int = N, seed: int = 0) -> Request:
    """Draws, orders and directions at once."""
    rng = np.random.default_rng(seed)
    weights = [rng.integers(-1, 4, size=(DRAWS, n)).astype(np.int8)]
    orders = np.stack([np.arange(n), *(rng.permutation(n) for _ in range(ORDERS - 1))])
    return Request(weights, orders, rng.normal(size=(n, COLUMNS)))


def samples(d: int, n: int = N) -> Floats:
    return np.random.default_rng(d).normal(size=(n, d))


def ask(gram: Any, request: Request) -> Any:
    """A summary whose optional answers are there."""
    return gram.summarise(request)


def engines(problem: Problem, tile: int = 32) -> list[Any]:
    return [DenseGram(problem), BlockedGram(problem, tile, n_jobs=1)]


@pytest.mark.parametrize("tilted", [False, True])
@pytest.mark.parametrize("d", [1, 3])
def test_one_pass_answers_everything_that_separate_passes_answer(d: int, tilted: bool, four_term: FourTerm) -> None:
    x, request = samples(d), whole_request()
    u = four_term(x, score(x), 1.3, tilted=tilted)
    for gram in engines(problem_of(x, tilted)):
        found = gram.summarise(request)
        np.testing.assert_allclose(found.direction_products, u @ np.asarray(request.directions), rtol=1e-9, atol=1e-10)
        draws = gram.summarise(Request(request.weights))
        np.testing.assert_array_equal(found.quadratic_forms, draws.quadratic_forms)
        np.testing.assert_array_equal(found.linear_forms, draws.linear_forms)
        np.testing.assert_array_equal(found.row_means, draws.row_means)
        orders = gram.summarise(Request(orders=request.orders))
        np.testing.assert_array_equal(found.prefix_sums.sums, orders.prefix_sums.sums)
        directions = gram.summarise(Request(directions=request.directions))
        np.testing.assert_array_equal(found.direction_products, directions.direction_products)
        assert draws.prefix_sums is draws.direction_products is orders.direction_products is None


@pytest.mark.backend
@pytest.mark.parametrize("engine", [0, 1], ids=["dense", "blocked"])
def test_every_array_library_answers_the_whole_request(xp: Any, engine: int) -> None:
    """96 points are three whole tiles, for JAX compiles every shape anew."""
    n, request = 96, whole_request(96)
    ours = ask(DenseGram(problem_of(samples(3, n))), request)
    problem = problem_of(xp.asarray(samples(3, n)))
    on_device = dataclasses.replace(request, directions=xp.asarray(request.directions))
    for asked in (request, on_device):
        theirs = engines(problem)[engine].summarise(asked)
        assert type(theirs.direction_products) is type(problem.samples)
        assert theirs.direction_products.dtype == problem.samples.dtype
        np.testing.assert_allclose(to_host(theirs.direction_products), ours.direction_products, rtol=1e-9, atol=1e-10)
        np.testing.assert_allclose(theirs.prefix_sums.sums, ours.prefix_sums.sums, rtol=0, atol=1e-10)
        np.testing.assert_allclose(theirs.quadratic_forms, ours.quadratic_forms, rtol=1e-10)
        assert type(theirs.prefix_sums.sums) is np.ndarray


@pytest.mark.backend
@pytest.mark.parametrize("d", [3, 40], ids=["fused", "wide"])
def test_compiled_tiles_answer_the_whole_request_also_where_the_last_strip_is_filled_up(d: int) -> None:
    jax = pytest.importorskip("jax", reason="jax is an extra")
    x, request = samples(d, 150), whole_request(150)
    problem = problem_of(jax.numpy.asarray(x))
    found, wanted = ask(BlockedGram(problem, 64), request), ask(DenseGram(problem_of(x)), request)
    assert found.details["compiled"]
    size = float(np.abs(wanted.prefix_sums.sums).max())
    np.testing.assert_allclose(found.prefix_sums.sums, wanted.prefix_sums.sums, rtol=0, atol=1e-11 * size)
    np.testing.assert_allclose(to_host(found.direction_products), wanted.direction_products, rtol=0, atol=1e-10 * size)


def test_a_direction_of_ones_gives_the_row_means() -> None:
    for gram in engines(problem_of(samples(2))):
        found = gram.summarise(Request(directions=np.ones((N, 1))))
        np.testing.assert_allclose(found.direction_products[:, 0] / N, found.row_means, rtol=1e-9, atol=1e-14)


# A draw for a fitted model: the weights become w − Sc, and nothing but U·S is new.


@pytest.mark.backend
@pytest.mark.parametrize("engine", [0, 1], ids=["dense", "blocked"])
@pytest.mark.parametrize("library", ["numpy", "torch", "jax.numpy"])
def test_draws_of_a_fitted_model_follow_from_products_with_directions(
    library: str, engine: int, four_term: FourTerm
) -> None:
    """n²D_b² = wᵀUw − 2cᵀ(US)ᵀw + cᵀ(SᵀUS)c for w̃ = w − Sc, against the full matrix."""
    n, request = 96, whole_request(96, seed=4)
    xp = pytest.importorskip(library, reason="an extra")
    x = samples(2, n)
    found = engines(problem_of(xp.asarray(x)))[engine].summarise(request)
    (w,), s = (chunk.astype(float) for chunk in request.weights), np.asarray(request.directions)
    influence = n * s @ np.linalg.inv(s.T @ s)  # of maximum likelihood
    c = w @ influence / n  # (B, p)
    us = to_host(found.direction_products)
    ours = found.quadratic_forms * n**2 - 2.0 * np.einsum("bp,np,bn->b", c, us, w)
    ours += np.einsum("bp,pq,bq->b", c, s.T @ us, c)
    moved = w - c @ s.T
    wanted = np.einsum("bi,ij,bj->b", moved, four_term(x, score(x), 1.3, tilted=True), moved)
    np.testing.assert_allclose(ours, wanted, rtol=1e-9)


# Once over the pairs, and the same everywhere.


@dataclasses.dataclass(frozen=True, eq=False)
class Counting(InverseMultiquadric):
    """A kernel that counts the pairs it is evaluated at."""

    def combine(self, r2: Array, inner: Array, cross: Array, stretch: Array | None = None) -> Array:
        PAIRS.append(math.prod(r2.shape))
        return super().combine(r2, inner, cross, stretch)


PAIRS: list[int] = []


@pytest.mark.parametrize("calibration", [sb.BoundaryBootstrap(99), sb.Betting(), sb.Betting(3)], ids=repr)
def test_u_is_evaluated_once_for_every_pair_of_the_upper_triangle(calibration: Any) -> None:
    """n (n + tile)/2 evaluations, at most, and 80 n for blocks with neighbors; bets walked the pairs a second time."""
    n, tile = 500, 128
    x = np.random.default_rng(0).normal(size=n)
    PAIRS.clear()
    sb.ksd_test(
        x, sb.models.Gaussian(), kernel=Counting(1.0), tilt=PolynomialTilt(), tau=2.0, calibration=calibration,
        engine="blocked", rng=0,
    )  # fmt: skip
    assert n * (n + 1) / 2 <= sum(PAIRS) <= n * (n + tile) / 2 + 80 * n


def test_bets_over_several_kernels_walk_the_pairs_once_for_each() -> None:
    n, tile = 300, 128
    x = np.random.default_rng(0).normal(size=n)
    PAIRS.clear()
    kernels = [Counting(lengthscale) for lengthscale in (0.5, 1.0, 2.0)]
    sb.robust_ksdagg_test(
        x, sb.models.Gaussian(), 0.05, kernels=kernels, tilt=PolynomialTilt(), tau=9.0, calibration=sb.Betting()
    )
    assert sum(PAIRS) <= 3 * n * (n + tile) / 2 + 80 * n


def test_neither_threads_nor_processes_change_a_bit() -> None:
    problem, request = problem_of(samples(3, 180)), whole_request(180)

    def answers(**options: Any) -> tuple[Any, ...]:
        found = ask(BlockedGram(problem, 50, **options), request)
        return found.prefix_sums.sums, found.direction_products, found.quadratic_forms

    serial = answers(n_jobs=1)
    found = [answers(n_jobs=jobs) for jobs in (2, None)]
    with joblib.parallel_config(backend="loky", n_jobs=2):
        found.append(answers())
    for other in found:
        for ours, theirs in zip(serial, other, strict=True):
            np.testing.assert_array_equal(ours, theirs)


def test_single_precision_keeps_four_digits() -> None:
    x, request = samples(3, 300), whole_request(300)
    single = ask(BlockedGram(problem_of(x.astype(np.float32)), 64), request).direction_products
    double = ask(BlockedGram(problem_of(x), 64), request).direction_products
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, double, rtol=0, atol=1e-4 * float(np.abs(double).max()))


# What cannot be answered.


def test_low_rank_refuses_orders_and_directions_by_name() -> None:
    gram, request = LowRankGram(problem_of(samples(1)), 20), whole_request()
    for asked, what in (
        (Request(orders=request.orders), "earlier points"),
        (Request(directions=request.directions), "d"),
    ):
        with pytest.raises(ValueError, match=rf'`engine="lowrank"` gives no .*{what}.*Use engine="auto"'):
            gram.summarise(asked)


def test_auto_never_picks_low_rank_for_what_it_cannot_answer() -> None:
    n = 50_000
    problem = pose(np.arange(float(n)), lambda x: -x, InverseMultiquadric(1.0))
    plain, orders = Request(), Request(orders=np.arange(n)[None])
    kinds = [type(make_gram(problem, request, 0, Settings(n_jobs=1))) for request in (plain, orders)]
    assert kinds == [LowRankGram, BlockedGram]
    with pytest.raises(MemoryError, match=r"blocked engine needs(?!.*lowrank)"):
        make_gram(problem, orders, 0, Settings(n_jobs=1, memory_limit="3 MB"))


@pytest.mark.parametrize(
    ("request_", "says"),
    [
        (Request(orders=np.array([[0, 1, 1]])), "`orders` must hold a permutation of 0, …, 2"),
        (Request(orders=np.array([0, 1, 2])), "`orders` must hold a permutation"),
        (Request(directions=np.ones((2, 1))), r"`directions` must have shape \(3, p\), got \(2, 1\)"),
        (Request(directions=np.ones(3)), r"`directions` must have shape \(3, p\), got \(3,\)"),
    ],
)
def test_arrays_that_do_not_fit_the_points_are_refused(request_: Request, says: str) -> None:
    for gram in engines(problem_of(np.array([0.0, 1.0, 2.0]))):
        with pytest.raises(ValueError, match=says):
            gram.summarise(request_)


def test_products_that_overflow_are_an_error() -> None:
    directions = np.full((N, 1), 1e308)
    for gram in engines(problem_of(samples(1))):
        with pytest.raises(FloatingPointError, match="overflows"):
            gram.summarise(Request(directions=directions))


def test_a_request_knows_what_another_asks_beyond_it() -> None:
    seed = np.random.SeedSequence(0)
    draws, bets = sb.WeightedBootstrap(9).request(5, seed), sb.Betting(2).request(5, seed)
    assert draws.missing(Request()) == bets.missing(Request()) == draws.missing(draws) == bets.missing(bets) == ""
    assert draws.missing(sb.BoundaryBootstrap(9).request(5, seed)) == ""
    assert draws.missing(sb.WildBootstrap(9).request(5, seed)) == "other draws"
    assert draws.missing(bets) == "sums over earlier points"
    assert bets.missing(sb.Betting(3).request(5, seed)) == "sums over earlier points"
    assert (
        draws.missing(Request([np.ones((1, 5), int)], directions=np.ones((5, 1))))
        == "other draws and products with directions"
    )
    lists = Request([np.ones((1, 5), int)])
    assert lists.missing(Request([np.ones((1, 5), int)])) == ""
    assert (
        lists.missing(Request([np.zeros((1, 5), int)]))
        == lists.missing(Request([np.ones((1, 5), int)] * 2))
        == "other draws"
    )
    assert draws.missing(Request(ChainedWeights((draws.weights,)))) == "other draws"
