"""Efron's bootstrap: the distribution of the weights, their reproducibility, and the draws they give."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from itertools import product
from math import factorial
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats
from scipy.signal import lfilter

import steinball as sb
from steinball.arrays import as_seed
from steinball.calibration.weighted import MarkovSigns
from steinball.cautions import DependentRowsWarning
from steinball.checks.dependence import autocorrelation_time
from steinball.checks.memory import LEAST_EFFECTIVE
from steinball.problem import Problem, pose
from steinball.rows import Rows
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


Floats = NDArray[np.float64]
CHAIN_SEED = np.random.SeedSequence(5)
MODEL = sb.models.Gaussian()


def chain(n: int, d: int, rho: float, rng: np.random.Generator) -> Floats:
    noise = rng.normal(size=(n, d))
    noise[1:] *= np.sqrt(1.0 - rho**2)
    return np.asarray(lfilter([1.0], [1.0, -rho], noise, axis=0))


def signs(calibration: Any, n: int) -> NDArray[np.integer]:
    return np.concatenate(list(calibration.request(n, CHAIN_SEED).weights))


@pytest.mark.exact
def test_signs_are_alike_as_long_as_the_length_says() -> None:
    """E wᵢwᵢ₊ₖ = (1 − 1/L)ᵏ, to five standard errors."""
    w = signs(sb.WildBootstrap(4000, dependence=4), 50).astype(float)
    assert set(np.unique(w)) == {-1.0, 1.0}
    assert np.abs(w.mean(axis=0)).max() < 5 / np.sqrt(4000)
    for k in (1, 2, 5, 10):
        assert np.mean(w[:, :-k] * w[:, k:]) == pytest.approx(0.75**k, abs=0.05)


@pytest.mark.exact
def test_a_length_of_one_is_independence() -> None:
    w = signs(sb.WildBootstrap(4000, dependence=1), 20).astype(float)
    assert abs(np.mean(w[:, :-1] * w[:, 1:])) < 0.02


@pytest.mark.exact
@pytest.mark.parametrize("chains", [2, (20, 20)])
def test_signs_start_anew_with_every_chain(chains: Any) -> None:
    w = signs(sb.WildBootstrap(4000, dependence=15, chains=chains), 40).astype(float)
    assert abs(np.mean(w[:, 19] * w[:, 20])) < 5 / np.sqrt(4000)
    assert np.mean(w[:, 18] * w[:, 19]) == pytest.approx(1 - 1 / 15, abs=0.05)


@pytest.mark.exact
def test_auto_is_settled_from_the_rows_before_any_draw() -> None:
    x = chain(1000, 1, 0.7, np.random.default_rng(0))
    problem = Problem.of(Rows.of(x, MODEL, standardize=True), None, None)
    time = autocorrelation_time(problem)
    wild, boundary = sb.WildBootstrap(99, dependence="auto"), sb.BoundaryBootstrap(99, "wild", "auto")
    for calibration, stretch in ((wild, 1.0), (boundary, 1.5)):
        found: Any = calibration.for_rows(problem)
        assert found.dependence == pytest.approx(stretch * time * (1000 / time) ** (1 / 3))
        auto, given = (sb.ksd_test(x, MODEL, calibration=c, rng=0) for c in (calibration, found))
        assert auto.pvalue == given.pvalue
        with pytest.raises(ValueError, match="is not yet found"):
            calibration.request(1000, CHAIN_SEED)
    assert sb.WeightedBootstrap(99).for_rows(problem) == sb.WeightedBootstrap(99)


@pytest.mark.exact
def test_too_short_a_chain_is_refused_with_what_to_do() -> None:
    x = chain(200, 1, 0.995, np.random.default_rng(1))
    with pytest.raises(ValueError, match=f"at least {LEAST_EFFECTIVE} times the autocorrelation time.*n = 200. Run"):
        sb.ksd_test(x, MODEL, calibration=sb.WildBootstrap(99, dependence="auto"))


@pytest.mark.exact
@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: sb.WildBootstrap(99, dependence=0.5), "`dependence` must be a finite number in"),
        (lambda: sb.WildBootstrap(99, dependence="long"), '`dependence` must be None, "auto" or a number'),
        (lambda: sb.WildBootstrap(99, chains=2), 'Give `dependence="auto"`'),
        (lambda: sb.BoundaryBootstrap(99, dependence=5), 'scheme="wild", dependence='),
        (lambda: sb.WildBootstrap(99, dependence=30).request(60, CHAIN_SEED), "below half of the n = 60 rows"),
        (lambda: sb.WildBootstrap(99, dependence=3, chains=7).request(60, CHAIN_SEED), "chains=7.*n = 60"),
    ],
)
def test_what_cannot_be_is_refused(make: Any, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        make()


@pytest.mark.exact
def test_low_rank_refuses_dependent_weights_by_name() -> None:
    x = chain(300, 1, 0.5, np.random.default_rng(2))
    for calibration in (sb.WildBootstrap(99, dependence=9), sb.BoundaryBootstrap(99, "wild", 9)):
        with pytest.raises(ValueError, match=r'dependent weights, which `engine="lowrank"` does not give'):
            sb.ksd_test(x, MODEL, calibration=calibration, engine="lowrank")


@pytest.mark.exact
def test_the_boundary_draws_are_those_of_centered_signs() -> None:
    """From the full matrix: (w − w̄)/√(1 − 2L/n), in length and along the mean embedding."""
    x, n, length = chain(80, 1, 0.5, np.random.default_rng(3)), 80, 6.0
    kernel = sb.InverseMultiquadric(1.0)
    u = SteinKernel(kernel)(x, -x, x, -x)
    calibration = sb.BoundaryBootstrap(50, "wild", length)
    result = sb.ksd_test(x, MODEL, kernel=kernel, radius=0.1, calibration=calibration, rng=0)
    w = np.concatenate(list(calibration.request(n, result._evidence.seed).weights)).astype(float)
    v = (w - w.mean(axis=1, keepdims=True)) / np.sqrt(1 - 2 * length / n)
    null: Any = result._evidence.null
    np.testing.assert_allclose(null.draws, np.sqrt(np.einsum("bi,ij,bj->b", v, u, v)) / n, rtol=1e-9)
    np.testing.assert_allclose(null.projections, (v @ u.mean(axis=1)) / (n * result.ksd), rtol=1e-7, atol=1e-12)
    wild = result.at(calibration=sb.WildBootstrap(50, dependence=length))
    assert wild.draws is not None
    np.testing.assert_allclose(wild.draws, np.sqrt(np.einsum("bi,ij,bj->b", w, u, w)) / n, rtol=1e-9)


@pytest.mark.exact
def test_draws_are_extended_and_engines_and_kernels_agree() -> None:
    x = chain(400, 2, 0.5, np.random.default_rng(4))
    model = sb.models.Gaussian(np.zeros(2))
    calibration = sb.BoundaryBootstrap(99, "wild", "auto", chains=2)
    dense, blocked = (
        sb.robust_ksd_test(x, model, 0.01, calibration=calibration, engine=e, rng=0) for e in ("dense", "blocked")
    )
    more = dense.extend(50).draws
    assert dense.draws is not None
    assert blocked.draws is not None
    assert more is not None
    np.testing.assert_allclose(dense.draws, blocked.draws, rtol=1e-9)
    assert np.array_equal(more[:99], dense.draws)
    assert 0.0 < sb.robust_ksdagg_test(x, model, 0.01, calibration=calibration, rng=0).pvalue <= 1.0


@pytest.mark.exact
def test_points_outside_the_support_leave_chains_a_length_of_their_own_only() -> None:
    x = np.abs(chain(400, 1, 0.5, np.random.default_rng(6)))
    x[[10, 50]] = -1.0
    model = sb.from_score(lambda x: -x, support=(0, None))

    def run(dependence: Any, chains: Any) -> float:
        calibration = sb.BoundaryBootstrap(99, "wild", dependence, chains)
        options: dict[str, Any] = {"outside": "contaminated", "calibration": calibration, "rng": 0}
        return sb.robust_ksd_test(x, model, 0.05, **options).pvalue

    assert all(0.0 < run(*settings) <= 1.0 for settings in (("auto", 1), (9, 2), (9, [100, 300])))
    for chains in (2, [100, 300]):
        with pytest.raises(ValueError, match=r"2 points lie outside the support.*a number of rows"):
            run("auto", chains)


@pytest.mark.exact
def test_signs_are_a_function_that_can_be_compared() -> None:
    assert MarkovSigns(3.0, (2, 4)) == MarkovSigns(3.0, (2, 4))
    assert sb.WildBootstrap(9, dependence=3, chains=[2, 4]) == sb.WildBootstrap(9, 3.0, (2, 4))


@pytest.mark.exact
def test_the_autocorrelation_time_gives_back_what_centering_takes() -> None:
    """From the whole double-centered matrix: Sokal's window, and a division by 1 − 2K/n, which is .83 here."""
    x = chain(300, 1, 0.7, np.random.default_rng(8))
    problem = pose(x, MODEL, sb.InverseMultiquadric(1.0))
    u = np.asarray(problem.stein(x, -x, x, -x))
    means = u.mean(axis=0)
    g = u - means - means[:, None] + means.mean()
    total, time, lag = 1.0, 1.0, 0
    while lag < max(16, 5.0 * time):
        lag += 1
        total += 2.0 * np.diagonal(g, lag).mean() / (np.trace(u) / 300 - means.mean())
        time = total / (1.0 - 2.0 * lag / 300)
    assert autocorrelation_time(problem) == pytest.approx(time, rel=1e-6)
    assert time > 1.1 * total


def rejections(calibration: Any, d: int, rho: float, repeats: int, **options: Any) -> tuple[float, float]:
    """How often a true model is rejected at n = 500, and how often the chain is called too short."""
    rng, model = np.random.default_rng([17, d]), sb.models.Gaussian(np.zeros(d))
    rejected = refused = 0
    for seed in range(repeats):
        x = chain(500, d, rho, rng)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DependentRowsWarning)
                rejected += sb.ksd_test(x, model, calibration=calibration, rng=seed, **options).rejected
        except ValueError:
            refused += 1
    return rejected / repeats, refused / repeats


@pytest.mark.calibration
@pytest.mark.parametrize(("rho", "d"), [(0.5, 1), (0.5, 5), (0.9, 1), (0.9, 5)])
def test_the_level_is_kept_on_chains(rho: float, d: int) -> None:
    """80 repeats at level .05: .06 to .10 in larger simulations, where independent signs reject .2 to 1."""
    rejected, refused = rejections(sb.WildBootstrap(199, dependence="auto"), d, rho, 80)
    assert rejected <= 0.15
    assert refused <= (0.03 if rho == 0.5 else 0.25)


@pytest.mark.calibration
def test_the_level_is_kept_on_the_edge_of_the_ball() -> None:
    """5 % of outliers where they show most, 5 % tolerated, AR(.9): .08 in larger simulations."""
    rng, rejected = np.random.default_rng(23), 0
    for seed in range(60):
        x = chain(500, 1, 0.9, rng)
        x[rng.random(500) < 0.05] = 1.1
        try:
            calibration = sb.BoundaryBootstrap(199, "wild", "auto")
            rejected += sb.robust_ksd_test(x, MODEL, 0.05, calibration=calibration, rng=seed).rejected
        except ValueError:
            continue
    assert rejected <= 0.17 * 60


@pytest.mark.calibration
def test_independent_signs_lose_the_level_on_the_same_chains() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert rejections(sb.WildBootstrap(199), 5, 0.9, 20)[0] > 0.8


SEED_WILD = np.random.SeedSequence(99)


def drawn_signs(n: int, n_resamples: int, start: int = 0) -> NDArray[np.integer]:
    return np.concatenate(list(sb.WildBootstrap(n_resamples).request(n, SEED_WILD, start).weights))


def test_weights_are_plus_or_minus_one() -> None:
    weights = drawn_signs(40, 130)
    assert weights.shape == (130, 40)
    assert set(np.unique(weights).tolist()) == {-1, 1}


def test_all_patterns_of_signs_are_equally_likely() -> None:
    """Chi-square over the 16 patterns of four signs, 20,000 draws, level 1e-4: fair and independent at once."""
    signs = drawn_signs(4, 20_000)
    observed = [(signs == pattern).all(axis=1).sum() for pattern in product((-1, 1), repeat=4)]
    assert sum(observed) == 20_000
    assert stats.chisquare(observed).pvalue > 1e-4


def test_signs_of_successive_draws_are_uncorrelated() -> None:
    column = drawn_signs(10, 20_000)[:, 0].astype(float)
    for lag in (1, 64):
        assert abs(np.mean(column[:-lag] * column[lag:])) < 5 / np.sqrt(20_000)


@pytest.mark.parametrize("start", [0, 1, 63, 64, 65, 150])
def test_any_range_of_draws_is_the_same_whoever_asks_for_signs(start: int) -> None:
    assert np.array_equal(drawn_signs(25, 200, start), drawn_signs(25, 1000)[start:200])


def test_draws_take_exactly_the_values_of_the_enumerated_signs() -> None:
    """Four points: up to a common sign eight patterns, so the draws take the eight values of n⁻² wᵀUw and no other."""
    x = np.array([[-1.0], [0.2], [0.9], [2.5]])
    kernel = sb.InverseMultiquadric(1.0)
    u = SteinKernel(kernel)(x, -x, x, -x)
    result = sb.ksd_test(x, sb.from_scores(-x), kernel=kernel, calibration=sb.WildBootstrap(2000), rng=0)
    assert result.draws is not None
    values = [np.sqrt(max(0.0, np.array(w) @ u @ np.array(w))) / 4 for w in product((-1, 1), repeat=4)]
    nearest = np.abs(result.draws[:, None] - np.array(values)).argmin(axis=1)
    assert np.allclose(result.draws, np.array(values)[nearest], rtol=1e-12)
    assert len(np.unique(np.round(result.draws, 9))) == 8


@pytest.mark.parametrize("n", [2, 3, 5])
def test_draws_that_repeat_the_statistic_count_as_ties(n: int) -> None:
    """All signs equal give D itself, up to the order of summation: with few points that is frequent, and must count."""
    rng = np.random.default_rng(n)
    for _ in range(20):
        x = rng.normal(loc=3.0, size=(n, 3))
        result = sb.ksd_test(x, sb.from_scores(-x), calibration=sb.WildBootstrap(500), rng=rng)
        assert result.draws is not None
        equal = np.isclose(result.draws, result.ksd, rtol=1e-9, atol=0.0)
        assert equal.mean() > 0.5 * 2.0 ** (1 - n)
        assert result.pvalue == (1 + np.sum(equal | (result.draws > result.ksd))) / 501
