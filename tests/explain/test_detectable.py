from __future__ import annotations

import math
import pickle
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import steinball as sb
from steinball.arrays import as_seed
from steinball.calibration import BoundaryBootstrap, Calibration, DeviationBound
from steinball.calibration.boundary import BoundaryNull, largest_turn
from steinball.evidence.ksd import Reading
from steinball.explain import Fragility
from steinball.explain.detectable import _largest_sums
from steinball.gram.dense import DenseGram
from steinball.problem import pose
from steinball.tau.certificate import Supremum

pytestmark = pytest.mark.exact


def clean(n: int = 200, d: int = 1, seed: int = 0) -> Any:
    return np.random.default_rng(seed).normal(size=(n, d))


def robust(x: Any, contamination: float = 0.05, **options: Any) -> Any:
    return sb.robust_ksd_test(x, sb.models.Gaussian(np.zeros(x.shape[1])), contamination, rng=0, **options)


def test_at_tolerance_zero_it_is_the_formula() -> None:
    result = robust(clean(), 0.0)
    model, found = sb.models.Gaussian(), result.smallest_detectable([1.5])
    place = np.array([[1.5]])
    draws = model.sample(512, rng=np.random.default_rng(0))
    stein = result._evidence.problem.stein
    length2 = stein(place, -place, place, -place)[0, 0]
    f = stein(place, -place, draws, -draws)[0] / math.sqrt(length2)
    scatter = (stein.diagonal(draws, -draws).mean() - np.mean(f**2)) / 200
    assert found.share == pytest.approx(math.sqrt((result.threshold**2 - scatter) / length2))
    assert (found.kind, found.level, found.share) == ("points", 0.05, found.low)


def test_the_worst_place_shows_most() -> None:
    result = robust(clean())
    worst = result.smallest_detectable()
    assert worst.low <= worst.share <= worst.high
    for place in ([0.0], [3.0], [100.0], [1.0, 2.0, -3.0]):
        assert result.smallest_detectable(place).high >= worst.high - 1e-9
    assert worst.high == pytest.approx((result.radius + result.threshold) / math.sqrt(result.tau))


def test_more_points_see_less_contamination_and_more_tolerance_more() -> None:
    shares = [robust(clean(n)).smallest_detectable().share for n in (50, 200, 800)]
    assert shares == sorted(shares, reverse=True)
    tolerated = [robust(clean(), share).smallest_detectable().share for share in (0.0, 0.05, 0.2)]
    assert tolerated == sorted(tolerated)


@pytest.mark.parametrize(
    "options", [{"estimator": "u"}, {"calibration": sb.DeviationBound()}, {"engine": "lowrank"}], ids=str
)
def test_other_estimators_bounds_and_engines_answer(options: Any) -> None:
    assert 0.0 < robust(clean(400), **options).smallest_detectable().share < 1.0


def test_several_kernels_see_at_least_what_one_of_them_does() -> None:
    x, kernel = clean(), sb.InverseMultiquadric(1.0)
    several = sb.robust_ksdagg_test(x, sb.models.Gaussian(), 0.05, kernels=[kernel], rng=0).smallest_detectable()
    assert several.share == pytest.approx(robust(x, kernel=kernel).smallest_detectable().share, rel=0.15)


def test_what_has_no_answer_says_why() -> None:
    x = clean(60)
    with pytest.raises(ValueError, match="u\\(x, x\\) has no bound here"):
        sb.ksd_test(x, sb.models.Gaussian(), rng=0).smallest_detectable()
    with pytest.raises(TypeError, match="does not decide by D alone"):
        robust(x, calibration=sb.Betting()).smallest_detectable()
    with pytest.raises(ValueError, match='`kind` must be "worst" or an array'):
        robust(x).smallest_detectable("best")
    with pytest.raises(ValueError, match="`kind` must have 1 columns"):
        robust(x).smallest_detectable([[0.0, 1.0]])
    with pytest.raises(TypeError, match="`kind` at points needs the score there"):
        sb.ksd_test(x, sb.from_scores(-x), tilt=sb.PolynomialTilt(), rng=0).smallest_detectable([1.0])


def test_what_no_share_can_show_is_infinite() -> None:
    result = robust(clean(10), 0.9)
    found = result.smallest_detectable()
    assert math.isinf(found.share)
    assert "any share of contamination would be missed" in str(found)
    assert (
        "any share of contamination would be missed" in result.summary().replace("\n", " ")
        or result.verdict == "close in KSD"
    )


def test_a_score_that_fails_at_its_own_draws_is_no_error() -> None:
    class Narrow:
        def score(self, x: Any) -> Any:
            if np.abs(x).max() > 4.0:
                raise ValueError("too far")
            return -x

        def sample(self, n: int, rng: Any) -> Any:
            return np.full((n, 1), 9.0)

    x = np.clip(clean(50), -2.0, 2.0)
    result = sb.ksd_test(x, Narrow(), tilt=sb.PolynomialTilt(), radius=0.1, check_model=False, rng=0)
    assert result.smallest_detectable().share > 0.0
    kept = pickle.loads(pickle.dumps(sb.robust_ksd_test(x, lambda x: -x, 0.05, rng=0)))
    assert kept.smallest_detectable().share > 0.0


@pytest.mark.calibration
@pytest.mark.parametrize(("d", "n"), [(1, 100), (10, 100)], ids=["d=1", "d=10"])
@pytest.mark.parametrize("tolerated", [0.0, 0.05], ids=["nothing tolerated", "tolerated"])
def test_it_is_detected_in_about_half_of_all_samples(d: int, n: int, tolerated: float) -> None:
    """At the share that it names, in the worst place, 120 samples are rejected .28 to .72 of the time.

    An error of a tenth of the share moves the power by .07 to .1; around that three standard errors of .046.
    """
    model, rng = sb.models.Gaussian(np.zeros(d)), np.random.default_rng(d)
    first = sb.robust_ksd_test(rng.normal(size=(n, d)), model, tolerated, rng=0)
    radii = np.linspace(0.0, 10.0, 1001)[:, None] * np.eye(d)[0]
    worst = radii[first._evidence.problem.diagonal_at(radii).argmax()]
    shares = [
        sb.robust_ksd_test(rng.normal(size=(n, d)), model, tolerated, rng=k).smallest_detectable().share
        for k in range(10)
    ]
    rejected = 0
    for k in range(120):
        x = rng.normal(size=(n, d))
        x[rng.permutation(n)[: rng.binomial(n, np.median(shares))]] = worst
        rejected += sb.robust_ksd_test(x, model, tolerated, rng=k, check_model=False).rejected
    assert 0.28 <= rejected / 120 <= 0.72


def test_a_radius_whose_square_is_no_float_is_answered() -> None:
    assert math.isinf(robust(clean(50), 0.05).at(radius=1e155).smallest_detectable().share)


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
    largest_sums = _largest_sums([rows[:7], rows[7:]])
    for k in range(32):
        wanted = np.sort(np.abs(rows), axis=1)[:, 31 - k :].sum(axis=1)
        np.testing.assert_array_equal(largest_sums(k), wanted)


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
    m, largest = found.margin, np.abs(weights).max()
    assert found.changes >= math.ceil(m * 120 / ((1.0 + largest) * found.diameter)) - 1


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
    assert found.changes == math.ceil(found.margin * 100 / found.diameter) - 1
    assert found.diameter == pytest.approx(2.0)


CANDIDATES = np.array([-8.0, -2.5, -1.1, -0.4, 0.0, 0.4, 1.1, 2.5, 8.0])


def gap(x: Vector, calibration: Calibration, radius: float) -> float:
    """D − θ − q as :func:`run` finds it, without what a test says of its rows: for the many attacks that are tried."""
    problem = pose(x, sb.models.Gaussian(), CURVED["kernel"], CURVED["tilt"])
    summary = DenseGram(problem).summarise(calibration.request(len(x), as_seed(7)))
    found = Reading(calibration, Supremum(CURVED["tau"], "given"), "v").decide(summary, radius, 0.1)
    return found.ksd - radius - found.threshold


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


def test_a_smaller_diameter_promises_more() -> None:
    result = run(np.random.default_rng(6).normal(1.0, 1.0, size=200), sb.WeightedBootstrap(199), 0.0, CURVED)
    counts = [result.fragility(diameter=size).changes for size in (4.0, 2.0, 1.0)]
    assert counts[0] < counts[1] < counts[2]
    assert result.fragility(diameter=1e-9).changes == 200


def test_what_can_never_be_rejected_survives_everything() -> None:
    x = np.random.default_rng(0).normal(size=30)
    found = run(x, DeviationBound(), 5.0, CURVED).fragility()
    assert (found.changes, found.rejected, found.n) == (30, False, 30)
    assert found.diameter == pytest.approx(2.0 * math.sqrt(1.7))


def test_the_summary_tells_the_number_and_its_condition() -> None:
    result = run(np.random.default_rng(6).normal(1.5, 0.5, size=200), sb.WeightedBootstrap(199), 0.0, CURVED)
    found = result.fragility()
    assert found.share == found.changes / 200
    text = " ".join(str(found).split())
    assert f"The decision survives replacing any {found.changes} of the 200 points" in text
    assert "as long as kernel, tilt and τ stay the same" in text
    assert "might change the decision" in Fragility(0, False, 0.0, 1.0, 10, "WeightedBootstrap").summary()


def test_errors_say_what_to_do() -> None:
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
    with pytest.raises(ValueError, match="`diameter`"):
        sb.ksd_test(x, sb.models.Gaussian(), rng=0, **CURVED).fragility(diameter=-1.0)


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
    raw = _largest_sums(result._evidence.summary.weights)
    assert not np.allclose(raw(5), sums[:, 4])
