"""The least data to remove: against other optimizers, against duality, against planted outliers."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import linprog, minimize

import steinball as sb
from steinball.arrays import as_seed
from steinball.calibration import BoundaryBootstrap, Calibration, DeviationBound
from steinball.calibration.boundary import BoundaryNull, largest_turn
from steinball.evidence.ksd import Reading
from steinball.explain import Fragility, removal
from steinball.explain.removal import _dual_bound, _largest_sums, keep_most, least_removal
from steinball.gram.whole import DenseGram
from steinball.problem import Problem, pose
from steinball.tau.certificate import Supremum
from steinball.text import percent

pytestmark = pytest.mark.exact

KERNEL, TILT = sb.InverseMultiquadric(1.0), sb.PolynomialTilt()


def problem_of(x: Any) -> Problem:
    d = 1 if np.ndim(x) == 1 else x.shape[1]
    return pose(x, sb.models.Gaussian(np.zeros(d), np.eye(d)), KERNEL, TILT)


def gram(problem: Problem) -> NDArray[np.float64]:
    return np.asarray(problem.stein.block(problem.points, problem.points))


def outliers(seed: int, n: int, share: float, d: int = 1) -> NDArray[np.float64]:
    """N(0, I) with the first rows around 3 in every coordinate."""
    rng = np.random.default_rng(seed)
    x, m = rng.normal(size=(n, d)), round(n * share)
    x[:m] = 3.0 + 0.3 * rng.normal(size=(m, d))
    return x


def by_slsqp(matrix: NDArray[np.float64], rho: float) -> float:
    """The least Σ aᵢ, written down as in the statement of the problem."""
    n = len(matrix)
    constraint = {
        "type": "ineq",
        "fun": lambda a: rho**2 - (1 / n - a) @ matrix @ (1 / n - a),
        "jac": lambda a: 2.0 * matrix @ (1 / n - a),
    }
    start = np.full(n, 0.9 / n)
    found = minimize(
        lambda a: (a.sum(), np.ones(n)),
        start,
        jac=True,
        method="SLSQP",
        bounds=[(0.0, 1.0 / n)] * n,
        constraints=constraint,
        options={"ftol": 1e-10, "maxiter": 1000},  # less is below its rounding, and reported as a failure
    )
    assert found.success
    return float(found.fun)


def by_cuts(matrix: NDArray[np.float64], rho: float, rounds: int = 150) -> float:
    """A lower bound by linear programs: ⟨f, Σ(1/n − aᵢ)φ(xᵢ)⟩ ≤ ρ for one unit f after the other."""
    n = len(matrix)
    rows: list[NDArray[np.float64]] = []
    kept = np.full(n, 1 / n)
    for _ in range(rounds):
        norm = math.sqrt(kept @ matrix @ kept)
        if norm <= rho * (1 + 1e-9):
            break
        rows.append(matrix @ kept / norm)
        found = linprog(-np.ones(n), A_ub=np.array(rows), b_ub=np.full(len(rows), rho), bounds=(0.0, 1 / n))
        kept = found.x
    return 1.0 - float(kept.sum())


@pytest.mark.parametrize("seed", range(6))
def test_small_problems_come_out_as_with_another_optimizer(seed: int) -> None:
    problem = problem_of(outliers(seed, 12 + 3 * seed, 0.3, d=1 + seed % 3))
    matrix = gram(problem)
    rho = (0.2 + 0.1 * seed) * math.sqrt(matrix.mean())
    found = least_removal(problem, rho)
    assert found.share == pytest.approx(by_slsqp(matrix, rho), abs=2e-5)
    assert found.gap < 0.01


@pytest.mark.parametrize("factor", [0.3, 0.6, 0.9])
def test_cutting_planes_find_no_less(factor: float) -> None:
    problem = problem_of(outliers(1, 80, 0.25))
    matrix = gram(problem)
    rho = factor * math.sqrt(matrix.mean())
    found = least_removal(problem, rho)
    lower = by_cuts(matrix, rho)
    assert lower - 1e-6 <= found.share <= lower + 5e-4
    assert found.share - found.gap <= lower + 5e-4


def test_the_answer_keeps_the_constraint_and_the_box() -> None:
    for seed in range(5):
        problem = problem_of(outliers(seed, 60, 0.2, d=2))
        matrix = gram(problem)
        rho = 0.5 * math.sqrt(matrix.mean())
        found = least_removal(problem, rho)
        kept = (1.0 - found.weights) / 60
        assert found.weights.min() >= 0.0
        assert found.weights.max() <= 1.0
        assert math.sqrt(kept @ matrix @ kept) <= rho * (1.0 + 1e-9)
        assert math.sqrt(kept @ matrix @ kept) >= rho * (1.0 - 1e-4)  # removing less would be possible otherwise
        assert found.share == pytest.approx(found.weights.mean())


def test_equal_points_have_a_closed_form() -> None:
    """All at one place: D = √u, and keeping a share k leaves k√u, so 1 − ρ/√u must go."""
    problem = problem_of(np.full(20, 1.5))
    size = math.sqrt(float(problem.diagonal[0]))
    assert least_removal(problem, 0.3 * size).share == pytest.approx(0.7, abs=1e-6)


@pytest.mark.parametrize(("d", "seed"), [(1, 0), (2, 1), (5, 2)])
def test_planted_outliers_are_named(d: int, seed: int) -> None:
    """A fifth of the points around 3: at the threshold of the test at least nine tenths of what goes was planted; at
    the level of the draws' own mean, also most of what was planted goes."""
    n, m = 300, 60
    x, model = outliers(seed, n, m / n, d), sb.models.Gaussian(np.zeros(d), np.eye(d))
    result = sb.ksd_test(x, model, kernel=KERNEL, tilt=sb.PolynomialTilt(0.5, 0.0, math.sqrt(d)), radius=0.01, rng=0)
    assert result.rejected
    found = result.least_removal()
    assert found.threshold == pytest.approx(0.01 + result.threshold)
    assert found.ksd == pytest.approx(result.ksd)
    assert found.weights[:m].sum() >= 0.9 * found.weights.sum()
    assert 0.05 < found.share < m / n
    assert result.draws is not None
    lower = least_removal(result._evidence.problem, float(np.sqrt(np.mean(result.draws**2))))
    assert lower.weights[:m].mean() >= 0.6
    assert lower.weights[m:].mean() <= 0.05


def test_points_are_ranked_by_how_much_of_them_goes() -> None:
    found = least_removal(problem_of(outliers(2, 100, 0.2)), 0.1)
    ranked = found.weights[found.ranked]
    assert np.all(np.diff(ranked) <= 1e-6)
    assert ranked.min() > 1e-3
    assert np.delete(found.weights, found.ranked).max() <= 1e-3


def test_a_smaller_threshold_needs_more() -> None:
    problem = problem_of(outliers(4, 80, 0.2))
    shares = [least_removal(problem, rho).share for rho in (0.02, 0.05, 0.1, 0.2, 10.0)]
    assert shares == sorted(shares, reverse=True)
    assert shares[-1] == 0.0


def test_nothing_is_removed_where_nothing_was_rejected() -> None:
    x = np.random.default_rng(0).normal(size=100)
    result = sb.ksd_test(x, sb.models.Gaussian(), kernel=KERNEL, tilt=TILT, rng=0)
    assert not result.rejected
    found = result.least_removal()
    assert (found.share, found.gap, found.ranked.size) == (0.0, 0.0, 0)
    assert "No points need to be removed" in found.summary()


def test_every_array_library_gives_the_same(xp: Any) -> None:
    x = outliers(6, 60, 0.2)
    wanted = least_removal(problem_of(x), 0.1)
    found = least_removal(pose(xp.asarray(x), lambda y: -y, KERNEL, TILT), 0.1)
    np.testing.assert_allclose(found.weights, wanted.weights, atol=1e-6)


def test_the_summary_says_how_much_and_what() -> None:
    found = least_removal(problem_of(outliers(2, 100, 0.2)), 0.1)
    text = " ".join(str(found).split())
    assert f"Removing {percent(found.share)} of the 100 points" in text
    assert str(found.ranked[0]) in text
    assert "not a confidence statement" in text
    assert "not scaled up" in text


def test_shown_at_a_prompt_it_is_one_short_line() -> None:
    """The weights of all points, most of them 0, are not for reading."""
    found = least_removal(problem_of(outliers(2, 500, 0.2)), 0.1)
    assert found.weights.size == 500
    assert repr(found).startswith(f"Removal(share={found.share!r}, ksd=")
    assert len(repr(found)) < 160
    assert str(found) == found.summary()


def test_errors_say_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = problem_of(outliers(0, 30, 0.2))
    unbiased = sb.ksd_test(outliers(0, 30, 0.2), sb.models.Gaussian(), estimator="u", rng=0)
    with pytest.raises(ValueError, match="V-statistics"):
        unbiased.least_removal()
    monkeypatch.setattr(removal, "LARGEST", 20)
    with pytest.raises(ValueError, match="random subsample"):
        least_removal(problem, 0.1)


def test_no_shares_beat_the_dual_bound() -> None:
    rng = np.random.default_rng(0)
    matrix = gram(problem_of(outliers(3, 15, 0.3)))
    rho = 0.5 * math.sqrt(matrix.mean())
    best = keep_most(matrix, rho, 1e-9)
    for _ in range(300):
        guess = rng.random(15) ** rng.choice([0.1, 1.0, 4.0])
        bound = _dual_bound(matrix @ guess / 15, math.sqrt(guess @ matrix @ guess) / 15, rho)
        assert best.kept.mean() <= bound + 1e-9
    assert best.gap < 1e-4


def test_the_dual_bound_is_the_least_over_its_scale() -> None:
    rng = np.random.default_rng(1)
    for _ in range(200):
        values, norm, rho = rng.normal(0.3, 1.0, size=9), rng.random(), rng.random()
        scales = [0.0, *(1.0 / values[values > 0.0]), *rng.exponential(3.0, size=50)]
        wanted = min(rho * norm * t + np.maximum(1.0 - t * values, 0.0).mean() for t in scales)
        assert _dual_bound(values, norm, rho) == pytest.approx(wanted, abs=1e-12)


Vector = NDArray[np.float64]

# Under a kernel this wide u(x, y) = s(x) s(y) to eight digits, which is x y on [−1, 1]: the features are
# the numbers themselves.
LINEAR: dict[str, Any] = {"kernel": sb.kernels.Gaussian(1e5), "tau": 1.0 + 1e-8}
CURVED: dict[str, Any] = {"kernel": sb.InverseMultiquadric(1.0), "tilt": sb.PolynomialTilt(), "tau": 1.7}
CALIBRATIONS = (
    sb.WeightedBootstrap(199),
    sb.WildBootstrap(199),
    BoundaryBootstrap(199),
    BoundaryBootstrap(199, "wild"),
    DeviationBound(),
)


def run(x: Vector, calibration: Calibration, radius: float, world: dict[str, Any]) -> sb.GofResult:
    options: dict[str, Any] = {"calibration": calibration, "radius": radius, "rng": 7, "engine": "dense", "level": 0.1}
    model = sb.models.Gaussian() if world is CURVED else lambda y: -np.clip(y, -1.0, 1.0)
    return sb.ksd_test(x, model, **options, **world)


def weights_of(result: sb.GofResult) -> Vector:
    return np.concatenate([np.asarray(chunk, dtype=float) for chunk in result._evidence.summary.weights])


def test_the_sum_of_the_largest_weights_is_counted_right() -> None:
    rng = np.random.default_rng(0)
    rows = rng.integers(-3, 7, size=(20, 31))
    evidence: Any = SimpleNamespace(
        summary=SimpleNamespace(weights=[rows[:7], rows[7:]]), calibration=SimpleNamespace(applied=lambda w: None)
    )
    for k in range(32):
        wanted = np.sort(np.abs(rows), axis=1)[:, 31 - k :].sum(axis=1)
        np.testing.assert_array_equal(_largest_sums(evidence, k), wanted)


@pytest.mark.parametrize("calibration", CALIBRATIONS[:2], ids=repr)
@pytest.mark.parametrize("mean", [0.0, 0.3, 0.8, 1.5])
def test_the_count_is_that_of_the_definition(calibration: Calibration, mean: float) -> None:
    """The largest K such that draws and statistic, each moved as far as K changes can move them, decide alike."""
    x = np.random.default_rng(1).normal(mean, 1.0, size=120)
    result = run(x, calibration, 0.05, CURVED)
    found, weights = result.fragility(), weights_of(result)
    assert result.draws is not None
    sizes, count = np.sort(np.abs(weights), axis=1)[:, ::-1], int(0.1 * 200)
    step = 2.0 * math.sqrt(1.7) / 120

    def same(k: int) -> bool:
        moved = step * sizes[:, :k].sum(axis=1)
        if result.rejected:
            excess = result.ksd - k * step - 0.05
            return bool(excess > 0.0 and 1 + np.sum(result.draws + moved >= excess) <= count)
        excess = result.ksd + k * step - 0.05
        return bool(excess <= 0.0 or 1 + np.sum(result.draws - moved >= excess) > count)

    wanted = 0
    while wanted < 120 and same(wanted + 1):
        wanted += 1
    assert found.changes == wanted
    margin, largest = abs(result.ksd - result.radius - result.threshold), np.abs(weights).max()
    assert found.changes >= math.ceil(margin / ((1.0 + largest) * step)) - 1


@pytest.mark.parametrize("scheme", ["weighted", "wild"])
@pytest.mark.parametrize(("mean", "radius"), [(0.0, 0.05), (0.1, 0.4), (0.8, 0.2), (1.5, 0.3), (2.5, 0.7)])
def test_the_boundary_bootstraps_count_is_that_of_the_definition(scheme: str, mean: float, radius: float) -> None:
    """The same with draws max(|δ|, |θĝ + δ|): δ moves as before, and θĝ by θ times the chord of the largest turn."""
    x = np.random.default_rng(1).normal(mean, 1.0, size=120)
    result = run(x, BoundaryBootstrap(199, scheme), radius, CURVED)
    null, step = result._evidence.null, 2.0 * math.sqrt(1.7) / 120
    assert isinstance(null, BoundaryNull)
    draws = [
        max(b, math.sqrt(radius**2 + 2 * radius * a + b**2)) for a, b in zip(null.projections, null.draws, strict=True)
    ]
    sizes = np.sort(np.abs(weights_of(result)), axis=1)[:, ::-1]

    def same(k: int) -> bool:
        sine = min(1.0, k * step / result.ksd)
        chord = 2.0 if sine == 1.0 else math.sqrt(2.0 - 2.0 * math.sqrt(1.0 - sine**2))
        moved = step * sizes[:, :k].sum(axis=1) + radius * chord
        if result.rejected:
            low = result.ksd - k * step
            return bool(low > radius and 1 + np.sum(draws + moved >= low) <= 20)
        high = result.ksd + k * step
        return bool(high <= radius or 1 + np.sum(draws - moved >= high) > 20)

    wanted = 0
    while wanted < 120 and same(wanted + 1):
        wanted += 1
    assert same(0)
    assert result.fragility().changes == wanted


def test_with_a_deviation_bound_the_count_is_sharp() -> None:
    """Points ±1 under linear features: turning one over moves D by exactly Δ/n, so one more change does flip it."""
    flipped = 0
    for ones in (90, 95, 100):
        for radius in (0.1, 0.3, 0.75):
            x = np.ones(100)
            x[ones:] = -1.0
            result = run(x, DeviationBound(), radius, LINEAR)
            k = result.fragility().changes
            turn = np.flatnonzero(x > 0.0) if result.rejected else np.flatnonzero(x < 0.0)
            for changes in (k, k + 1):
                y = x.copy()
                y[turn[:changes]] *= -1.0
                moved = run(y, DeviationBound(), radius, LINEAR)
                assert (moved.rejected == result.rejected) == (changes == k) or changes > turn.size
                flipped += moved.rejected != result.rejected
    assert flipped >= 6


def test_the_deviation_bound_has_the_closed_form() -> None:
    x = np.ones(100)
    result = run(x, DeviationBound(), 0.1, LINEAR)
    found = result.fragility()
    assert result.rejected
    margin = abs(result.ksd - result.radius - result.threshold)
    assert found.changes == math.ceil(margin * 100 / 2.0) - 1  # two points are at most 2 apart


CANDIDATES = np.array([-8.0, -2.5, -1.1, -0.4, 0.0, 0.4, 1.1, 2.5, 8.0])


def gap(x: Vector, calibration: Calibration, radius: float) -> float:
    """D − θ − q as :func:`run` finds it, without what a test says of its rows: for the many attacks that are tried."""
    problem = pose(x, sb.models.Gaussian(), CURVED["kernel"], CURVED["tilt"])
    summary = DenseGram(problem).summarise(calibration.request(len(x), as_seed(7)))
    found = Reading(summary, calibration, Supremum(CURVED["tau"], "given"), "v")
    return found.ksd - radius - found.decide(radius, 0.1).threshold


def attacked(x: Vector, calibration: Calibration, radius: float, changes: int, reject: bool) -> bool:
    """Greedily replace ``changes`` points, each by the candidate that brings D − θ − q closest to the other side; tell
    whether the decision is still ``reject`` after every one of them."""
    x, touched = x.copy(), set[int]()
    for _ in range(changes):
        best: tuple[float, int, float] | None = None
        order = [i for i in np.argsort(x)[:: max(1, len(x) // 12)] if i not in touched]
        for i in order:
            for y in CANDIDATES:
                trial = x.copy()
                trial[i] = y
                left = gap(trial, calibration, radius) * (1.0 if reject else -1.0)
                if best is None or left < best[0]:
                    best = (left, int(i), float(y))
        assert best is not None
        x[best[1]] = best[2]
        touched.add(best[1])
        result = run(x, calibration, radius, CURVED)
        assert abs(best[0]) == pytest.approx(abs(result.ksd - radius - result.threshold), rel=1e-9)
        if result.rejected != reject:
            return False
    return True


@pytest.mark.parametrize("calibration", CALIBRATIONS, ids=repr)
@pytest.mark.parametrize(("mean", "radius"), [(2.0, 0.02), (0.1, 0.6)])
def test_a_decision_survives_as_many_changes_as_promised(calibration: Calibration, mean: float, radius: float) -> None:
    x = np.random.default_rng(3).normal(mean, 0.7, size=40)
    result = run(x, calibration, radius, CURVED)
    assert result.rejected == (mean > 1.0)
    found = result.fragility()
    assert found.changes >= 1
    assert attacked(x, calibration, radius, min(found.changes, 3), result.rejected)


@pytest.mark.parametrize("calibration", CALIBRATIONS, ids=repr)
def test_random_attacks_of_the_promised_size_change_nothing(calibration: Calibration) -> None:
    """Many points at once, all to the place that hurts most: for and against a rejection, up to the promise."""
    rng = np.random.default_rng(4)
    seen = set()
    for mean, radius in ((1.6, 0.05), (1.6, 0.3), (0.2, 0.5), (0.0, 0.9)):
        x = rng.normal(mean, 0.5, size=150)
        result = run(x, calibration, radius, CURVED)
        k = result.fragility().changes
        seen.add((result.rejected, k > 0))
        for y in CANDIDATES:
            for chosen in (np.argsort(x)[:k], np.argsort(-x)[:k], rng.permutation(150)[:k]):
                moved = x.copy()
                moved[chosen] = y
                assert run(moved, calibration, radius, CURVED).rejected == result.rejected
    assert {(True, True), (False, True)} <= seen


def test_enough_changes_do_flip_it() -> None:
    x = np.random.default_rng(3).normal(2.0, 0.7, size=60)
    result = run(x, sb.WeightedBootstrap(199), 0.02, CURVED)
    assert result.rejected
    clean = x.copy()
    clean[:45] = np.random.default_rng(0).normal(size=45)
    assert not run(clean, sb.WeightedBootstrap(199), 0.02, CURVED).rejected
    assert result.fragility().changes < 45


def test_a_turned_direction_is_bounded_by_the_chord() -> None:
    rng = np.random.default_rng(5)
    for _ in range(500):
        g, e = rng.normal(size=3), rng.normal(size=3) * rng.choice([0.1, 0.5, 2.0])
        before, after = g / np.linalg.norm(g), (g + e) / np.linalg.norm(g + e)
        assert (
            np.linalg.norm(before - after) <= largest_turn(float(np.linalg.norm(e)), float(np.linalg.norm(g))) + 1e-12
        )
    worst = np.array([1.0, 0.0]) + 0.6 * np.array([-0.6, 0.8])  # perpendicular to where it ends
    assert np.linalg.norm(worst / np.linalg.norm(worst) - [1.0, 0.0]) == pytest.approx(largest_turn(0.6, 1.0))


@pytest.mark.parametrize("scheme", ["weighted", "wild"])
def test_at_radius_zero_the_boundary_bootstrap_is_as_fragile_as_the_papers(scheme: str) -> None:
    """Without a radius no direction matters, and their draws are the same."""
    x = np.random.default_rng(6).normal(1.0, 1.0, size=100)
    boundary = run(x, BoundaryBootstrap(199, scheme), 0.0, CURVED).fragility()
    assert boundary.changes >= 1
    if scheme == "weighted":
        assert boundary.changes == run(x, sb.WeightedBootstrap(199), 0.0, CURVED).fragility().changes


def test_what_can_never_be_rejected_survives_everything() -> None:
    x = np.random.default_rng(0).normal(size=30)
    found = run(x, DeviationBound(), 5.0, CURVED).fragility()
    assert (found.changes, found.rejected, found.n) == (30, False, 30)


def test_the_summary_tells_the_number_and_its_condition() -> None:
    result = run(np.random.default_rng(6).normal(1.5, 0.5, size=200), sb.WeightedBootstrap(199), 0.0, CURVED)
    found = result.fragility()
    assert found.share == found.changes / 200
    text = " ".join(str(found).split())
    assert f"The decision survives replacing any {found.changes} of the 200 points" in text
    assert "as long as kernel, tilt and τ stay the same" in text
    assert "might change the decision" in Fragility(0, False, 10).summary()


def test_errors_of_fragility_say_what_to_do() -> None:
    x = np.random.default_rng(0).normal(size=40)
    plain = sb.ksd_test(x, sb.models.Gaussian(), tilt="auto", rng=0)
    with pytest.raises(ValueError, match=r'kind "sample".*tau="auto"'):
        plain.fragility()
    with pytest.raises(ValueError, match="V-statistics"):
        sb.ksd_test(x, sb.models.Gaussian(), estimator="u", rng=0, **CURVED).fragility()
    with pytest.raises(ValueError, match='engine="blocked"'):
        sb.ksd_test(x, sb.models.Gaussian(), engine="lowrank", rng=0, **CURVED).fragility()
    with pytest.raises(TypeError, match="knows how bootstraps and deviation bounds move, not Betting"):
        sb.ksd_test(x, sb.models.Gaussian(), calibration=sb.Betting(), rng=0, **CURVED).fragility()


class Cauchy:
    """Knows how its score is bounded, and not where it lies."""

    def score(self, x: Any) -> Any:
        return -2.0 * x / (1.0 + x**2)

    def score_growth(self, center: Any) -> tuple[float, float]:
        return 1.0, 0.0


def test_a_kernel_or_tilt_from_the_data_is_refused() -> None:
    x, model = np.random.default_rng(0).normal(0.8, size=100), sb.models.Gaussian()
    chosen = sb.robust_ksd_test(x, model, 0.05, rng=0, standardize=False)
    with pytest.raises(ValueError, match=r"come from its data.*kernel=InverseMultiquadric"):
        chosen.fragility()
    fixed = sb.robust_ksd_test(x, model, 0.05, kernel=chosen.kernel, rng=0)
    assert fixed.fragility().rejected, "the model knows its place, so that the tilt owes nothing to the data"
    assert sb.robust_ksd_test(x, model, 0.05, rng=0).fragility().rejected, "the length scale is fixed in advance"
    with pytest.raises(ValueError, match="come from its data"):
        sb.robust_ksd_test(x, lambda x: -x, 0.05, kernel=chosen.kernel, tau=9.0, rng=0).fragility()
    with pytest.raises(ValueError, match="come from its data"):  # they say where they are tested
        sb.ksd_test(x, Cauchy(), radius=sb.Huber(0.05), tau="auto", rng=0).fragility()


@pytest.mark.parametrize(
    "calibration", [BoundaryBootstrap(99, "wild", 8.0), BoundaryBootstrap(99, "scaled")], ids=["dependent", "scaled"]
)
def test_weights_that_draws_change_are_counted_as_they_are_used(calibration: BoundaryBootstrap) -> None:
    """Signs for dependent rows are centered and stretched, others scaled: raw weights gave 22 where 16 was true.

    The draws move by no more than T(K)Δ/n with the weights of the definition, and by more than with those drawn.
    """
    rng = np.random.default_rng(3)
    x = np.clip(rng.normal(0.35, 0.4, size=120), -1.0, 1.0)
    result: Any = run(x, calibration, 0.02, LINEAR)
    w: Any = weights_of(result)
    if calibration.dependence is None:
        used = w / np.sqrt(np.mean(w**2, axis=1, keepdims=True))
    else:
        used = (w - w.mean(axis=1, keepdims=True)) / np.sqrt(1.0 - 16.0 / 120.0)
    np.testing.assert_allclose(result._evidence.null.draws, np.abs(used @ x) / 120, rtol=1e-5)  # features are x
    applied: Any = calibration.applied(w)
    np.testing.assert_allclose(applied, used, rtol=1e-12)
    found, sums = result.fragility(), -np.cumsum(np.sort(-np.abs(used), axis=1), axis=1)

    def survives(k: int) -> bool:
        step = 2.0 * np.sqrt(result.tau) / 120
        moved = step * (sums[:, k - 1] if k else np.zeros(99))
        low, high = result._evidence.null.critical_range(result.level, result.radius, k * step, moved)
        rejected = result.ksd - k * step > high
        return bool(rejected if result.rejected else result.ksd + k * step <= max(result.radius, low))

    assert found.changes == max(k for k in range(121) if survives(k))
    np.testing.assert_allclose(_largest_sums(result._evidence, 5), sums[:, 4])
    assert not np.allclose(np.sort(np.abs(w), axis=1)[:, -5:].sum(axis=1), sums[:, 4])
