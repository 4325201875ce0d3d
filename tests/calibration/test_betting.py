"""Betting: payoffs and wealth against definitions, exact expectations over all sequences, and mutants that cheat."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray

import steinball as sb
from steinball.calibration.base import Calibration
from steinball.calibration.betting import BETS, Betting, BettingNull, average_evidence, log_wealth, newton_bets, payoffs
from steinball.calibration.combination import check_combination, radius_of
from steinball.gram.tiles import PrefixSums
from steinball.gram.whole import DenseGram
from steinball.kernels import InverseMultiquadric
from steinball.problem import pose
from steinball.tau.certificate import Supremum
from steinball.tilts import PolynomialTilt

pytestmark = pytest.mark.exact
Floats = NDArray[np.float64]

TAU = 1.381380988112180  # N(0, 1), IMQ with ℓ² = 2, tilt at scale 1: closed form, attained at WORST
WORST = 1.109116128549130


@dataclass(frozen=True)
class Toy:
    """A distribution on a few feature vectors: everything is a finite sum."""

    features: Floats
    chances: Floats

    @property
    def theta(self) -> float:
        """|μ|, so that Q is on the edge of the ball."""
        return float(np.linalg.norm(self.chances @ self.features))

    @property
    def tau(self) -> float:
        return float((self.features**2).sum(axis=1).max())

    def expectation(self, n: int, value: Callable[[Floats], Any]) -> Any:
        """E of a function of the n feature vectors, over all sequences."""
        sequences = [list(points) for points in itertools.product(range(len(self.chances)), repeat=n)]
        return sum(np.prod(self.chances[points]) * value(self.features[points]) for points in sequences)


TOYS = [
    Toy(np.array([[1.0, 0.2], [-0.6, 0.9], [-0.5, -1.0]]), np.array([0.5, 0.3, 0.2])),
    Toy(np.array([[1.0, 0.0], [-1.0, 0.1], [0.0, 1.0]]), np.array([0.4, 0.3, 0.3])),
    Toy(np.array([[2.0, 0.0, 1.0], [-1.0, 0.5, 0.0], [0.1, -0.4, -0.7]]), np.array([0.2, 0.5, 0.3])),
]


def orders_of(n_orders: int, n: int, seed: int, order: str = "random") -> NDArray[np.integer]:
    """Those that a calibration asks for."""
    orders = Betting(n_orders=n_orders, order=order).request(n, np.random.SeedSequence(seed)).orders
    assert orders is not None
    return orders


def toy_sums(v: Floats) -> PrefixSums:
    """Prefix sums of feature vectors, row by row."""
    gram = v @ v.T
    return PrefixSums(np.triu(gram, 1).sum(axis=0)[None], np.diag(gram)[None])


def toy_payoffs(v: Floats) -> Floats:
    sums = toy_sums(v)
    return np.asarray(payoffs(sums.sums, sums.diagonal)[0])


# The definitions.


def final_wealth(null: BettingNull, radius: float) -> float:
    """The wealth at the end, averaged over the orders."""
    with np.errstate(over="ignore"):
        return float(np.exp(average_evidence(null.log_wealth(radius)[:, -1])))


def wealth_of(payoffs: Floats, radius: float, tau: float, strategy: str) -> Floats:
    """log W after each point, with Newton's bets for this radius."""
    paths = BettingNull(payoffs[None], tau, 0.0, strategy, reference=radius).log_wealth(radius)
    return np.asarray(paths[0])


def test_points_that_cancel_show_no_direction() -> None:
    """Of 1, −.9999 and 1 the first two leave 1e-4, which is not distinguished from rounding."""
    found = payoffs(np.array([0.0, -0.9999, 1e-4]), np.array([1.0, 0.9999**2, 1.0]))
    np.testing.assert_allclose(found, [math.nan, -0.9999, math.nan])


def test_payoffs_are_products_with_the_direction_of_the_past() -> None:
    v = np.random.default_rng(0).normal(size=(40, 5))
    found = toy_payoffs(v)
    assert math.isnan(found[0])
    for t in range(1, 40):
        past = v[:t].sum(axis=0)
        assert found[t] == pytest.approx(v[t] @ past / np.linalg.norm(past), rel=1e-9)


def test_nothing_is_bet_where_the_past_cancels() -> None:
    v = np.array([[1.0, 2.0], [-1.0, -2.0], [3.0, 1.0], [1.0, 1.0]])
    found = toy_payoffs(v)
    np.testing.assert_array_equal(np.isnan(found), [True, False, True, False])
    path = log_wealth(found, 0.3, 10.0)
    assert path[0] == pytest.approx(0.0, abs=1e-14)
    assert path[2] == path[1]


def test_payoffs_stay_within_what_cauchy_and_schwarz_allow() -> None:
    sums = np.array([0.0, 1.0 + 1e-9, -2.0])
    assert np.nanmax(np.abs(payoffs(sums, np.ones(3)))) <= 1.0


def by_hand(gains: Floats, bets: Any) -> list[float]:
    wealth, path = 1.0, []
    for gain, bet in zip(gains, bets, strict=True):
        wealth *= 1.0 + bet * gain
        path.append(wealth)
    return path


def test_the_mixture_is_the_mean_of_products_over_fixed_bets() -> None:
    f = np.random.default_rng(1).uniform(-1.2, 1.2, size=30)
    theta, tau = 0.1, 1.44
    gains = (f - theta) / (1.2 + theta)
    shares = BETS / BETS.sum()
    wanted = sum(share * np.array(by_hand(gains, [bet] * 30)) for share, bet in zip(shares, BETS, strict=True))
    np.testing.assert_allclose(np.exp(log_wealth(f, theta, tau)), wanted, rtol=1e-12)
    assert 0.0 < BETS.min() < 0.02 < 0.9 < BETS.max() < 1.0


def test_newton_steps_as_its_recursion_says() -> None:
    gains = np.random.default_rng(2).uniform(-0.9, 0.9, size=25)
    bet, curvature, wanted = 0.0, 1.0, []
    for z in gains:
        wanted.append(bet)
        slope = z / (1.0 + bet * z)
        curvature += slope**2
        bet = min(0.5, max(0.0, bet + 2.0 / (2.0 - math.log(3.0)) * slope / curvature))
    np.testing.assert_allclose(newton_bets(gains), wanted, rtol=1e-12)
    f = gains * 1.1 + 0.1
    path = wealth_of(f, 0.1, 1.0, "newton")
    np.testing.assert_allclose(np.exp(path), by_hand(gains, wanted), rtol=1e-10)


@pytest.mark.parametrize("strategy", ["mixture", "newton"])
def test_bets_do_not_look_ahead(strategy: str) -> None:
    """Changing a payoff changes no wealth before it, and changes the wealth at it linearly: no bet on itself."""
    f = np.random.default_rng(3).uniform(-1.0, 1.0, size=20)
    base = np.exp(wealth_of(f, 0.05, 1.0, strategy))
    for t in (1, 7, 19):
        paths = []
        for value in (-0.9, 0.0, 0.9):
            moved = f.copy()
            moved[t] = value
            paths.append(np.exp(wealth_of(moved, 0.05, 1.0, strategy)))
        for path in paths:
            np.testing.assert_array_equal(path[:t], base[:t])
        assert paths[0][t] + paths[2][t] == pytest.approx(2.0 * paths[1][t], rel=1e-12)


def test_a_long_path_neither_overflows_nor_vanishes() -> None:
    for value, sign in ((1.0, 1.0), (-1.0, -1.0)):
        path = log_wealth(np.full(100_000, value), 0.0, 1.0)
        assert np.isfinite(path).all()
        assert sign * path[-1] > 900.0
    null = BettingNull(np.ones((1, 100_000)), 1.0, 1.0)
    assert null.pvalue(1.0, 0.0) == 0.0
    assert final_wealth(null, 0.0) == math.inf


# Exact expectations: every sequence of a few points, Q on the edge of the ball.


@pytest.mark.parametrize("toy", TOYS)
@pytest.mark.parametrize("strategy", ["mixture", "newton"])
def test_no_bettor_gains_on_the_edge_of_the_ball(toy: Toy, strategy: str) -> None:
    def final(v: Floats) -> float:
        return math.exp(float(wealth_of(toy_payoffs(v), toy.theta, toy.tau, strategy)[-1]))

    expected = [toy.expectation(n, final) for n in (2, 4, 6)]
    assert max(expected) <= 1.0 + 1e-12
    assert expected == sorted(expected, reverse=True)  # a supermartingale
    assert min(expected) > 0.5


@pytest.mark.parametrize("toy", TOYS)
def test_the_chance_that_the_wealth_ever_reaches_a_bar_is_at_most_its_reciprocal(toy: Toy) -> None:
    bars = np.array([1.2, 1.5, 2.0])

    def reached(v: Floats) -> Floats:
        null = BettingNull(toy_payoffs(v)[None], toy.tau, 0.0)
        return np.asarray(null.pvalue(0.0, toy.theta) <= 1.0 / bars, dtype=float)

    chances = toy.expectation(6, reached)
    assert (chances <= 1.0 / bars).all()
    assert chances[0] > 0.1


def looking_ahead(v: Floats) -> Floats:
    """The mutant that takes g_t for g_{t−1}: each point helps to choose the direction that it is bet on."""
    return np.array([v[t] @ past / np.linalg.norm(past) for t, past in enumerate(np.cumsum(v, axis=0))])


def test_a_direction_that_has_seen_the_point_gains_without_end() -> None:
    toy = TOYS[0]

    def final(v: Floats) -> float:
        return math.exp(float(log_wealth(looking_ahead(v), toy.theta, toy.tau)[-1]))

    assert toy.expectation(6, final) > 1.5


def test_a_bet_that_has_seen_the_payoff_gains_without_end() -> None:
    toy = TOYS[0]

    def final(v: Floats) -> float:
        gains = (toy_payoffs(v)[1:] - toy.theta) / (math.sqrt(toy.tau) + toy.theta)
        return float(np.prod(1.0 + np.where(gains > 0.0, 0.5, 0.0) * gains))

    assert toy.expectation(6, final) > 1.5


def test_the_average_over_orders_of_the_final_wealth_is_an_e_value() -> None:
    toy = TOYS[2]
    ranks = orders_of(4, 5, 3)

    def evalue(v: Floats) -> float:
        rows = np.stack([toy_payoffs(v[np.argsort(rank)]) for rank in ranks])
        null = BettingNull(rows, toy.tau, 0.0)
        assert null.pvalue(0.0, toy.theta) == pytest.approx(min(1.0, 1.0 / final_wealth(null, toy.theta)))
        return final_wealth(null, toy.theta)

    assert 0.7 < toy.expectation(5, evalue) <= 1.0 + 1e-12


def test_the_average_over_kernels_is_an_e_value_however_they_depend() -> None:
    """Two kernels on the same points, each at its own radius."""
    first, second = TOYS[0], replace(TOYS[2], chances=TOYS[0].chances)

    def final(points: Floats) -> float:
        paths = []
        for toy in (first, second):
            v = toy.features[points.astype(int)[:, 0]]
            paths.append(log_wealth(toy_payoffs(v), toy.theta, toy.tau))
        return math.exp(float(average_evidence(np.stack(paths))[-1]))

    indices = Toy(np.arange(3.0)[:, None], first.chances)
    assert indices.expectation(6, final) <= 1.0 + 1e-12


def test_average_evidence_is_the_mean_of_e_values() -> None:
    values = np.random.default_rng(4).exponential(size=(3, 5))
    np.testing.assert_allclose(np.exp(average_evidence(np.log(values))), values.mean(axis=0))
    np.testing.assert_allclose(np.exp(average_evidence(np.log(values.T))), values.mean(axis=1))
    assert average_evidence(np.array([2000.0, 0.0])) == pytest.approx(2000.0 - math.log(2.0))


# Every radius from the same payoffs.

some_payoffs = arrays(np.float64, st.tuples(st.integers(1, 3), st.integers(2, 25)), elements=st.floats(-1.0, 1.0))


@given(some_payoffs, st.sampled_from(["mixture", "newton"]))
def test_the_pvalue_does_not_fall_as_the_radius_grows(f: Floats, strategy: str) -> None:
    null = BettingNull(f, 1.0, 0.3, strategy, reference=0.1)
    found = [null.pvalue(0.3, radius) for radius in np.linspace(0.0, 1.5, 40)]
    assert all(b >= a * (1.0 - 1e-12) for a, b in itertools.pairwise(found))
    assert found[-1] == 1.0
    assert null.pvalue(0.3, 1.0) == 1.0


@given(some_payoffs, st.floats(0.05, 0.9), st.floats(0.0, 0.9))
def test_pvalue_threshold_and_bound_decide_alike(f: Floats, level: float, radius: float) -> None:
    null = BettingNull(f, 1.0, 0.3)
    bound = null.lower_bound(0.3, level)
    for theta in (radius, bound, float(np.nextafter(bound, 2.0)), bound + 1e-9, max(0.0, bound - 1e-9), 0.0):
        rejected = null.pvalue(0.3, theta) <= level
        assert rejected == (max(0.0, 0.3 - theta) > null.threshold(level, theta))
    if 0.01 < bound < 0.2:
        assert null.threshold(level, bound / 2.0) == null.threshold(level, bound + 0.1) == 0.3 - bound
    if bound > 0.0:
        assert null.pvalue(0.3, bound) <= level
        assert null.pvalue(0.3, bound + 1e-9) > level
    elif null.pvalue(0.3, 0.0) > level:
        assert null.threshold(level, 0.0) == pytest.approx(0.3)


def test_the_lower_bound_is_the_end_of_the_rejected_radii() -> None:
    f = np.random.default_rng(5).uniform(-0.2, 1.0, size=(1, 200))
    for strategy in ("mixture", "newton"):
        null = BettingNull(f, 1.0, 0.4, strategy, reference=0.05)
        grid = np.linspace(0.0, 1.0, 801)
        rejected = np.array([null.pvalue(0.4, theta) <= 0.05 for theta in grid])
        assert null.lower_bound(0.4, 0.05) == pytest.approx(grid[rejected].max(), abs=1.3e-3)
    assert null.lower_bound(0.4, 0.01) < null.lower_bound(0.4, 0.05) < null.lower_bound(0.4, 0.2)


def test_wealth_once_won_counts_even_where_the_sample_came_back() -> None:
    """p = 1/max W in one order: the threshold goes below 0 rather than contradict it."""
    f = np.concatenate([np.ones(40), -np.ones(40)])[None]
    null = BettingNull(f, 1.0, 0.0)
    assert null.pvalue(0.0, 0.05) < 1e-5
    assert null.threshold(0.05, 0.05) < 0.0
    twice = BettingNull(np.concatenate([f, f]), 1.0, 0.0)  # two orders: only what is left at the end
    assert twice.pvalue(0.0, 0.05) == 1.0


def test_the_upper_bound_is_mcdiarmids() -> None:
    null = BettingNull(np.zeros((1, 400)), 4.0, 0.3)
    assert null.upper_bound(0.3, 0.05) == pytest.approx(
        0.3 + math.sqrt(4.0 / 400) * (1.0 + math.sqrt(2 * math.log(20.0)))
    )


# As a calibration.


def summary_of(x: Floats, orders: Any = None, seed: int = 0) -> Any:
    problem = pose(x, sb.models.Gaussian(), InverseMultiquadric(math.sqrt(2.0)), PolynomialTilt())
    return DenseGram(problem).summarise(
        Betting(n_orders=orders or 1).request(len(problem), np.random.SeedSequence(seed))
    )


def given_tau(value: float = TAU) -> Supremum:
    return Supremum(value, "given")


def test_it_is_a_calibration_without_draws() -> None:
    betting = Betting()
    assert isinstance(betting, Calibration)
    assert betting.n_resamples == 0
    assert tuple(betting.request(5, np.random.SeedSequence(0)).weights) == ()
    assert Betting.predictable is True
    arrival = Betting(order="arrival")
    np.testing.assert_array_equal(arrival.request(4, np.random.SeedSequence(0)).orders, [[0, 1, 2, 3]])
    assert (betting.independent_rows, arrival.independent_rows) == (True, False)


@pytest.mark.parametrize("order", ["random", "arrival"])
def test_orders_follow_the_seed_and_begin_with_that_of_arrival_only_where_asked(order: str) -> None:
    first, again, other = (orders_of(3, 50, seed, order) for seed in (1, 1, 2))
    np.testing.assert_array_equal(first, again)
    assert np.array_equal(first[0], np.arange(50)) == (order == "arrival")
    np.testing.assert_array_equal(np.sort(first, axis=1), np.tile(np.arange(50), (3, 1)))
    assert not np.array_equal(first[1], first[2])
    assert not np.array_equal(first[1], other[1])
    assert np.array_equal(first[0], other[0]) == (order == "arrival")
    more = orders_of(5, 50, 1, order)
    np.testing.assert_array_equal(more[:3], first)


def test_an_unknown_order_is_refused() -> None:
    with pytest.raises(ValueError, match='`order` must be "random" or "arrival"'):
        Betting(order="file")


@pytest.mark.parametrize("kind", ["sample", "optimized", "localized"])
def test_a_tau_that_is_no_upper_bound_is_refused(kind: str) -> None:
    problem = pose(np.array([0.1, 0.2]), sb.models.Gaussian(), InverseMultiquadric(1.0), PolynomialTilt())
    with pytest.raises(ValueError, match=f'upper bound.*"{kind}"'):
        radius_of(sb.Huber(0.05), Betting(), problem, Supremum(2.0, kind))


def test_wrong_arguments_are_refused() -> None:
    summary = summary_of(np.array([0.1, 0.2]))
    with pytest.raises(ValueError, match="estimator"):
        check_combination(Betting(), "u", sb.Huber(0.05))
    with pytest.raises(ValueError, match="earlier points"):
        Betting().null(replace(summary, prefix_sums=None), given_tau(), "v")
    with pytest.raises(ValueError, match="strategy"):
        Betting(strategy="martingale")
    with pytest.raises(ValueError, match="n_orders"):
        Betting(n_orders=0)
    with pytest.raises(ValueError, match="reference"):
        Betting(reference=1.5)


@pytest.mark.parametrize("orders", [1, 3])
def test_a_null_follows_from_the_full_matrix(orders: int) -> None:
    x = np.random.default_rng(6).normal(0.5, 1.0, size=(60, 1))
    null = Betting(n_orders=orders).null(summary_of(x, orders), given_tau(), "v")
    stein = sb.stein.SteinKernel(InverseMultiquadric(math.sqrt(2.0)), PolynomialTilt())
    u = stein(x, -x, x, -x)
    assert null.ksd == pytest.approx(math.sqrt(u.mean()))
    for k, rank in enumerate(orders_of(orders, 60, 0)):
        order = np.argsort(rank)
        for t in (1, 30, 59):
            past = order[:t]
            wanted = u[past, order[t]].sum() / math.sqrt(u[np.ix_(past, past)].sum())
            assert null.payoffs[k, t] == pytest.approx(wanted, rel=1e-8)


def test_newton_tunes_its_bets_for_the_reference_and_holds_elsewhere() -> None:
    summary = summary_of(np.random.default_rng(8).normal(0.6, 1.0, size=150))
    null = Betting(strategy="newton", reference=0.1).null(summary, given_tau(), "v")
    assert null.reference == pytest.approx(0.1 * math.sqrt(TAU))
    gains = (np.nan_to_num(null.payoffs, nan=null.reference) - null.reference) / (math.sqrt(TAU) + null.reference)
    own = by_hand(gains[0], newton_bets(gains)[0].tolist())
    np.testing.assert_allclose(np.exp(null.log_wealth(null.reference)[0]), own)


# Level and power by simulation.


def contaminated(n: int, share: float, place: float, rng: np.random.Generator) -> Floats:
    x = rng.normal(size=(n, 1))
    x[rng.random(n) < share] = place
    return x


def rejection_rate(n: int, share: float, place: float, repeats: int, cheat: bool = False, **options: Any) -> float:
    rng = np.random.default_rng(9)
    count = 0
    for _ in range(repeats):
        summary = summary_of(contaminated(n, share, place, rng), options.get("n_orders"))
        if cheat:
            sums = summary.prefix_sums
            ahead = (sums.sums + sums.diagonal) / np.sqrt(np.maximum(sums.squares, 1e-300))
            null = BettingNull(ahead, TAU, 0.0)
        else:
            null = Betting(**options).null(summary, given_tau(), "v")
        count += null.pvalue(null.ksd, 0.05 * math.sqrt(TAU)) <= 0.05
    return count / repeats


@pytest.mark.calibration
@pytest.mark.parametrize("place", [WORST, 10.0])
@pytest.mark.parametrize("strategy", ["mixture", "newton"])
def test_the_level_holds_on_the_edge_with_the_largest_wealth_picked(place: float, strategy: str) -> None:
    """200 repeats: a rate of .05 exceeds .095 with probability .003."""
    assert rejection_rate(60, 0.05, place, 200, strategy=strategy) <= 0.095


@pytest.mark.calibration
def test_a_direction_that_has_seen_its_point_breaks_the_level() -> None:
    assert rejection_rate(60, 0.05, WORST, 60, cheat=True) > 0.4


@pytest.mark.calibration
def test_it_has_power_where_the_deviation_bound_has_none() -> None:
    """ε = .2 at the worst place, n = 300, tolerance .05: about .78 in larger simulations."""
    assert rejection_rate(300, 0.2, WORST, 60) > 0.55
    gamma = math.sqrt(TAU / 300) * (1.0 + math.sqrt(2.0 * math.log(20.0)))
    assert 0.2 * math.sqrt(TAU) - 0.05 * math.sqrt(TAU) < gamma  # D is below the bound's threshold on average


@pytest.mark.calibration
def test_confidence_bounds_hold_the_distance_of_the_distribution() -> None:
    """D(Q, P) = ε√τ for outliers at the worst place; 100 repeats, neither bound fails more than 11 times (p < .01)."""
    rng, distance = np.random.default_rng(10), 0.2 * math.sqrt(TAU)
    nulls = [Betting().null(summary_of(contaminated(200, 0.2, WORST, rng)), given_tau(), "v") for _ in range(100)]
    low = np.array([null.lower_bound(null.ksd, 0.05) for null in nulls])
    high = np.array([null.upper_bound(null.ksd, 0.05) for null in nulls])
    assert np.sum(low > distance) <= 11
    assert np.sum(high < distance) <= 11
    assert np.median(low) > 0.02


@pytest.mark.calibration
def test_a_sorted_file_is_no_stream() -> None:
    """Clean rows in increasing order, 100 repeats: in one random order p ≤ .05 in at most .05 of them, and more than 12
    times with probability .002; in the order of the file always."""
    rng = np.random.default_rng(12)
    problems = [
        pose(np.sort(rng.normal(size=200)), sb.models.Gaussian(), InverseMultiquadric(math.sqrt(2.0)), PolynomialTilt())
        for _ in range(100)
    ]

    def rejected(order: str) -> int:
        count, betting = 0, Betting(order=order)
        for seed, problem in enumerate(problems):
            summary = DenseGram(problem).summarise(betting.request(200, np.random.SeedSequence(seed)))
            null = betting.null(summary, given_tau(), "v")
            count += null.pvalue(null.ksd, 0.0) <= 0.05
        return count

    assert rejected("arrival") == 100
    assert rejected("random") <= 12
