"""The low-rank engine: bounds hold, certified decisions are the exact ones, and what is not certain says so."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import steinball as sb
import steinball.gram.choose
import steinball.gram.lowrank
from steinball.arrays import to_host
from steinball.calibration import DeviationBound, WeightedBootstrap, WildBootstrap
from steinball.evidence.ksd import Reading
from steinball.gram.base import GramSummary
from steinball.gram.blocked import BlockedGram
from steinball.gram.lowrank import FAILURE, LowRankGram, PivotedCholesky, Projections, draw_slack, sampled_residual
from steinball.gram.request import Request
from steinball.gram.whole import DenseGram
from steinball.kernels import Gaussian, InverseMultiquadric, Kernel, Matern
from steinball.problem import Problem, pose
from steinball.tau.certificate import Supremum
from steinball.tilts import PolynomialTilt

pytestmark = pytest.mark.exact
Floats = NDArray[np.float64]

LOOKS = 15
"""Five ranks at which one bound on the draws and two on the statistic are looked at: the failures share 10⁻⁶."""

BOOTSTRAPS = (WeightedBootstrap, WildBootstrap)


def sample_of(seed: int, n: int, d: int, outliers: float) -> Floats:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, d))
    x[: int(outliers * n)] = 4.0 + 0.1 * rng.normal(size=(int(outliers * n), d))
    return x


def problem_of(x: Any, tilted: bool = True) -> Problem:
    return pose(x, lambda x: -x, InverseMultiquadric(1.3), PolynomialTilt() if tilted else None)


def matrix_of(problem: Problem) -> Floats:
    return to_host(problem.stein.block(problem.points, problem.points))


def residual_of(factor: PivotedCholesky) -> Floats:
    """R = U − L Lᵀ in full."""
    low = np.concatenate([to_host(panel) for panel in factor.panels], axis=1)
    return np.asarray(matrix_of(factor.problem) - low @ low.T)


@pytest.fixture
def few_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fewer random pairs: the bounds are wider, and no less valid."""
    monkeypatch.setattr(steinball.gram.lowrank, "PAIRS", (2**11, 2**13))


def problems(count: int, n: int = 80) -> Iterator[tuple[int, Problem]]:
    """Null, 3 % and 15 % of outliers in d = 1, 2, 3, with and without a tilt, over and over."""
    for seed in range(count):
        d, outliers = 1 + seed % 3, (0.0, 0.03, 0.15)[seed // 3 % 3]
        yield seed, problem_of(sample_of(seed, n, d, outliers), tilted=seed % 2 == 0)


@pytest.mark.usefixtures("few_pairs")
@pytest.mark.parametrize("bootstrap", BOOTSTRAPS)
@pytest.mark.parametrize("most", [8, 24, 80])
def test_the_bounds_contain_the_exact_values(bootstrap: Any, most: int) -> None:
    for seed, problem in problems(36):
        request = bootstrap(99).request(len(problem), np.random.SeedSequence(seed))
        exact = DenseGram(problem).summarise(request)
        near = LowRankGram(problem, most).summarise(request)
        assert near.mean_bounds is not None
        assert near.form_bounds is not None
        slip = 1e-12 * float(to_host(exact.diagonal).mean())
        low, high = near.mean_bounds
        assert low - slip <= exact.mean <= high + slip
        assert low - slip <= near.mean <= high + slip
        lower, upper = near.form_bounds
        assert (lower - slip <= exact.quadratic_forms).all()
        assert (exact.quadratic_forms <= upper + slip).all()
        assert near.details["rank"] <= most
        np.testing.assert_allclose(near.diagonal_forms, exact.diagonal_forms, rtol=1e-12)
        np.testing.assert_array_equal(near.diagonal, exact.diagonal)
        assert (near.engine, near.grade) == ("lowrank", "approximate")


def test_the_estimates_are_close_and_contributions_too() -> None:
    """At tr R = 10⁻³ tr U draws are within a percent, and their 95 % quantile within 4·10⁻³."""
    for d in (1, 2, 3):
        problem = pose(sample_of(d, 1500, d, 0.02), lambda x: -x, tilt=PolynomialTilt())
        request = WeightedBootstrap(200).request(1500, np.random.SeedSequence(d))
        exact = DenseGram(problem).summarise(request)
        near = LowRankGram(problem, 1500, decides=lambda summary: True).summarise(request)
        assert near.details["residual_share"] <= 1e-3
        np.testing.assert_allclose(near.quadratic_forms, exact.quadratic_forms, rtol=0.03)
        assert np.mean(near.quadratic_forms / exact.quadratic_forms) == pytest.approx(1.0, abs=2e-3)
        assert np.quantile(near.quadratic_forms, 0.95) == pytest.approx(
            np.quantile(exact.quadratic_forms, 0.95), rel=4e-3
        )
        scale = math.sqrt(near.details["residual_share"] * float(np.square(to_host(exact.diagonal)).mean()))
        np.testing.assert_allclose(near.row_means, exact.row_means, rtol=0, atol=scale)


def _near_the_boundary(known: Reading, level: float) -> Iterator[float]:
    """Radii around the one where the exact decision turns."""
    verdict = known.decide(0.0, level)
    if math.isinf(verdict.threshold):
        return
    for push in (-0.5, -0.05, -0.01, -1e-3, -1e-6, 0.0, 1e-6, 1e-3, 0.01, 0.05, 0.5):
        radius = known.ksd - verdict.threshold * (1.0 + push)
        if radius >= 0.0:
            yield radius


@pytest.mark.usefixtures("few_pairs")
@pytest.mark.parametrize("estimator", ["v", "u"])
def test_certified_decisions_are_the_exact_ones_near_the_boundary(estimator: str) -> None:
    """240 problems at up to eleven radii and two levels each; enough of each kind must occur to mean anything."""
    count = {"certified": 0, "approximate": 0}
    decisions = set()
    for seed, problem in problems(240, n=60):
        bootstrap = BOOTSTRAPS[seed // 2 % 2](39)
        request = bootstrap.request(len(problem), np.random.SeedSequence(seed))
        exact = DenseGram(problem).summarise(request)
        near = LowRankGram(problem, (10, 20, 30, 60)[seed % 4]).summarise(request)
        tau = Supremum(float(np.max(exact.diagonal)), "sample")
        known, reading = (Reading(summary, bootstrap, tau, estimator) for summary in (exact, near))
        most, least = reading.ends
        assert least.ksd - 1e-9 <= known.ksd <= most.ksd + 1e-9
        for level in (0.05, 0.5):
            for radius in _near_the_boundary(known, level):
                grade = reading.grade(radius, level)
                count[grade] += 1
                if grade == "certified":
                    truth = known.decide(radius, level).rejected
                    decisions.add(truth)
                    assert reading.decide(radius, level).rejected == truth, (seed, radius)
    assert count["certified"] > 200
    assert count["approximate"] > 200
    assert decisions == {True, False}


def test_a_quantile_that_may_be_negative_is_not_certified() -> None:
    """Below 0 a U-statistic's quantile rejects nothing, so both ends can agree while the truth between them differs."""
    n = 4
    draws = np.array([-1.0, -1.0, 0.01])
    summary = GramSummary(
        np.ones(n), np.ones(n), 1.0, draws, [np.zeros((3, n), dtype=np.int8)], "lowrank", "approximate"
    )
    mean = (0.27 * n * (n - 1) + n) / n**2  # the U-statistic is 0.27
    slack = 0.75 * np.array([0.0, 0.0, 0.02])  # (n − 1)/n, so that unbiased draws have these ends
    middle = 0.75 * draws
    near = dataclasses.replace(
        summary,
        mean=mean,
        quadratic_forms=middle,
        mean_bounds=(mean, mean),
        form_bounds=(middle - slack, middle + slack),
        linear_bounds=(np.zeros(3), np.zeros(3)),
    )
    exact = dataclasses.replace(near, grade="exact")
    radius = math.sqrt(0.27) - 0.15  # Δ = 0.15: above √0.01 = 0.1, below √0.03 = 0.173
    reading = Reading(near, WeightedBootstrap(3), Supremum(1.0, "given"), "u")
    assert dataclasses.replace(reading, summary=exact).decide(radius, 0.25).rejected
    assert [end.decide(radius, 0.25).rejected for end in reading.ends] == [False, False]
    assert reading.grade(radius, 0.25) == "approximate"


@pytest.mark.parametrize("seed", range(5))
def test_the_slack_of_draws_is_bernsteins_inequality(seed: int) -> None:
    """P(|Σ ξ| ≥ t) ≤ 2 exp(−t² / 2(σ² + M t / 3)) for centered vectors of length ≤ M: at most δ/B at the bound's t."""
    rng = np.random.default_rng(seed)
    n, n_draws = 200, 10**seed
    for residual in (rng.random(n), rng.random(n) ** 8, np.eye(n)[0] * 5.0, np.full(n, 1e-9), np.ones(10**6)):
        t = residual.size * math.sqrt(draw_slack(residual, n_draws))
        variance, most = residual.sum(), 2.0 * math.sqrt(residual.max())
        chance = 2.0 * math.exp(-(t**2) / (2.0 * (variance + most * t / 3.0)))
        assert chance <= FAILURE / LOOKS / n_draws
        assert t <= 4.0 * (math.sqrt(2.0 * variance) + most) * math.log(2.0 * n_draws / FAILURE)
    assert draw_slack(np.zeros(n), n_draws) == 0.0


@pytest.mark.parametrize("bootstrap", BOOTSTRAPS)
@pytest.mark.parametrize("spread", ["even", "one point", "few directions"])
def test_no_draw_exceeds_its_slack(bootstrap: Any, spread: str) -> None:
    """wᵀRw/n² of a thousand draws; a direction that all points share makes them largest."""
    n, rng = 80, np.random.default_rng(0)
    root = {"even": np.eye(n), "one point": np.eye(n)[:, :1] * 9.0, "few directions": rng.normal(size=(n, 2))}[spread]
    rest = root @ root.T
    w = np.concatenate(list(bootstrap(1000).request(n, np.random.SeedSequence(1)).weights)).astype(float)
    forms = np.einsum("bi,ij,bj->b", w, rest, w, optimize=True) / n**2
    slack = draw_slack(np.diag(rest).copy(), 1000)
    assert forms.max() <= slack
    assert slack <= 2e4 * forms.mean()


def _law_of_pairs(rest: Floats) -> tuple[float, float, float]:
    """Mean and variance of the sampled values by enumeration of all pairs, and their largest size."""
    root = np.sqrt(np.maximum(np.diag(rest), 0.0))
    n, chance = len(root), np.outer(root, root) / root.sum() ** 2
    scale = (root.sum() / n) ** 2
    bound = np.outer(root, root)
    values = scale * np.divide(rest, bound, out=np.zeros_like(rest), where=bound > 0.0)
    np.fill_diagonal(values, 0.0)
    mean = float((chance * values).sum())
    return mean, float((chance * values**2).sum() - mean**2), scale


def test_the_sampled_residual_is_unbiased_and_its_margin_is_an_empirical_bernstein_bound() -> None:
    """Against enumeration: the truth is inside, and z-scores have mean square 1, up to four standard errors."""
    pairs, squares = 2**12, []
    for seed, problem in problems(250, n=50):
        factor = PivotedCholesky(problem)
        factor.grow(0.0, 6 + seed % 20)
        rest = residual_of(factor)
        truth = float(rest.mean())
        estimate, low, high = sampled_residual(factor, pairs + seed)  # the seed of the pairs is their number
        mean, variance, scale = _law_of_pairs(rest)
        assert truth == pytest.approx(mean + np.trace(rest) / 50**2, rel=1e-6, abs=1e-15)
        assert low <= truth * (1 + 1e-12) <= high * (1 + 1e-9)
        assert low <= estimate <= high
        assert low >= 0.0
        assert high <= np.trace(rest) / 50 * (1 + 1e-9)
        log = math.log(4.0 * LOOKS / FAILURE)
        margin = math.sqrt(2.0 * variance * log / pairs) + 14.0 * scale * log / (3.0 * pairs)
        if high < 0.999 * np.trace(rest) / 50 and low > 0.0:
            assert high - low >= 1.8 * margin
            squares.append((estimate - truth) ** 2 / (variance / pairs))
    assert len(squares) > 20
    assert np.mean(squares) == pytest.approx(1.0, abs=4.0 * math.sqrt(2.0 / len(squares)))


def test_nothing_left_is_nothing_to_sample() -> None:
    factor = PivotedCholesky(problem_of(np.tile(np.array([[0.5], [1.0]]), (20, 1))))
    factor.grow(0.0, 40)
    factor.residual[:] = 0.0
    assert sampled_residual(factor, 2**10) == (0.0, 0.0, 0.0)


def test_duplicated_points_are_decided_exactly() -> None:
    x = np.repeat(np.random.default_rng(0).normal(size=(10, 2)), 20, axis=0)
    exact = sb.ksd_test(x, lambda x: -x, kernel=InverseMultiquadric(1.0), engine="dense", rng=0)
    near = sb.ksd_test(x, lambda x: -x, kernel=InverseMultiquadric(1.0), engine="lowrank", rng=0)
    assert near.grade == "certified"
    assert near.details["rank"] <= 20
    assert near.rejected == exact.rejected
    assert near.ksd == pytest.approx(exact.ksd, rel=1e-6)


@pytest.mark.usefixtures("few_pairs")
def test_a_bound_in_place_of_draws_is_certified_too() -> None:
    for mean, rejected in ((0.0, False), (1.5, True)):
        x = np.random.default_rng(1).normal(loc=mean, size=(400, 1))
        result = sb.ksd_test(
            x, lambda x: -x, tilt=PolynomialTilt(), calibration=DeviationBound(proven=False), engine="lowrank"
        )
        assert (result.grade, result.rejected, result.engine) == ("certified", rejected, "lowrank")
        low, high = result.details["ksd_bounds"]
        exact = sb.ksd_test(
            x, lambda x: -x, tilt=PolynomialTilt(), calibration=DeviationBound(proven=False), engine="dense"
        )
        assert low <= exact.ksd <= high


@pytest.mark.usefixtures("few_pairs")
def test_single_precision_is_never_certified() -> None:
    """On a GPU, where it stays what it is."""
    request = WeightedBootstrap(99).request(300, np.random.SeedSequence(0))
    for mean in (0.0, 3.0):
        x = np.random.default_rng(2).normal(loc=mean, size=(300, 1)).astype(np.float32)
        summary = LowRankGram(problem_of(x), 300).summarise(request)
        assert summary.grade == "approximate"
        assert summary.ends() is None
        assert summary.details["residual_share"] > 1e-5  # it does not chase digits that it does not have


@pytest.fixture
def borderline() -> Floats:
    return sample_of(3, 400, 1, 0.15)


def at_the_boundary(x: Floats) -> float:
    """The radius at which the exact decision turns."""
    exact = sb.ksd_test(x, lambda x: -x, tilt=PolynomialTilt(), engine="dense", rng=0)
    assert exact.ksd > exact.threshold
    return exact.ksd - exact.threshold


@pytest.mark.usefixtures("few_pairs")
def test_a_decision_on_the_boundary_is_not_certified(borderline: Floats) -> None:
    radius = at_the_boundary(borderline)
    result = sb.ksd_test(
        borderline, lambda x: -x, tilt=PolynomialTilt(), radius=radius, engine="lowrank", rng=0, n_jobs=1
    )
    assert (result.engine, result.grade) == ("lowrank", "approximate")
    low, high = result.details["pvalue_bounds"]
    assert low <= 0.05 < high


@pytest.mark.usefixtures("few_pairs")
def test_bounds_of_an_approximate_result_hold_at_both_ends(borderline: Floats) -> None:
    result = sb.ksd_test(borderline, lambda x: -x, tilt=PolynomialTilt(), engine="lowrank", rng=0, n_jobs=1)
    ends = result._evidence.reading.ends
    lower, shares = [end.lower_bound(0.05) for end in ends], [end.share_bound(0.05) for end in ends]
    assert lower[0] != lower[1]
    assert shares[0] != shares[1]
    assert (result.lower_bound, result.contamination_bound) == (min(lower), min(shares))
    half = result.at(level=0.025)
    assert result.interval(0.05) == (half.lower_bound, half.upper_bound)


@pytest.mark.usefixtures("few_pairs")
def test_what_low_rank_leaves_open_the_exact_engine_decides(
    borderline: Floats, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(steinball.gram.choose, "choose_engine", lambda *args, **kwargs: "lowrank")
    options: dict[str, Any] = {"tilt": PolynomialTilt(), "rng": 0}
    radius = at_the_boundary(borderline)
    undecided = sb.ksd_test(borderline, lambda x: -x, radius=radius, **options)
    assert (undecided.engine, undecided.grade) == ("blocked", "exact")
    exact = sb.ksd_test(borderline, lambda x: -x, radius=radius, engine="dense", **options)
    assert undecided.pvalue == exact.pvalue
    decided = sb.ksd_test(borderline, lambda x: -x, radius=0.0, **options)
    assert (decided.engine, decided.grade) == ("lowrank", "certified")


@pytest.mark.usefixtures("few_pairs")
def test_another_radius_or_level_is_graded_anew(borderline: Floats) -> None:
    result = sb.ksd_test(borderline, lambda x: -x, tilt=PolynomialTilt(), engine="lowrank", rng=0)
    exact = sb.ksd_test(borderline, lambda x: -x, tilt=PolynomialTilt(), engine="dense", rng=0)
    assert result.grade == "certified"
    on_the_edge = result.at(radius=at_the_boundary(borderline))
    assert on_the_edge.grade == "approximate"
    assert on_the_edge.at(radius=0.0).grade == "certified"
    grades = set()
    around = on_the_edge.radius * (1.0 + np.linspace(-0.02, 0.02, 21))
    for radius in [*np.linspace(0.0, 1.2 * exact.ksd, 40), *around]:
        for level in (0.01, 0.05, 0.3):
            there = result.at(radius=float(radius), level=level)
            grades.add(there.grade)
            assert there.grade != "exact"
            if there.grade == "certified":
                assert there.rejected == exact.at(radius=float(radius), level=level).rejected
    assert grades == {"certified", "approximate"}


@pytest.mark.usefixtures("few_pairs")
@pytest.mark.parametrize("more", [10, 64, 500])
def test_more_draws_keep_the_bounds_of_the_earlier_ones_and_are_graded_together(borderline: Floats, more: int) -> None:
    options: dict[str, Any] = {"tilt": PolynomialTilt(), "rng": 0, "calibration": WeightedBootstrap(199)}
    longer = {**options, "calibration": WeightedBootstrap(199 + more)}
    result = sb.ksd_test(borderline, lambda x: -x, engine="lowrank", **options).extend(more)
    exact = sb.ksd_test(borderline, lambda x: -x, engine="dense", **longer)
    assert result.n_resamples == 199 + more
    bounds = result._evidence.summary.form_bounds
    assert bounds is not None
    forms = exact._evidence.summary.quadratic_forms
    assert (bounds[0] <= forms * (1 + 1e-12)).all()
    assert (forms <= bounds[1]).all()
    assert result.grade in ("certified", "approximate")
    if result.grade == "certified":
        assert result.rejected == exact.rejected


@pytest.mark.usefixtures("few_pairs")
def test_exact_draws_joined_with_approximate_ones_are_not_called_exact(
    borderline: Floats, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On the boundary the exact engine decides; ten more draws alone are decided at once by low rank."""
    monkeypatch.setattr(steinball.gram.choose, "choose_engine", lambda *args, **kwargs: "lowrank")
    first = sb.ksd_test(borderline, lambda x: -x, tilt=PolynomialTilt(), radius=at_the_boundary(borderline), rng=0)
    assert first.grade == "exact"
    joined = first.extend(10)
    assert joined._evidence.summary.form_bounds is not None
    assert joined.grade != "exact"
    assert joined.ksd == first.ksd


def test_approximate_draws_joined_with_exact_ones_keep_their_bounds() -> None:
    problem = problem_of(sample_of(4, 200, 1, 0.0))
    first = WeightedBootstrap(99).request(200, np.random.SeedSequence(0))
    more = WeightedBootstrap(150).request(200, np.random.SeedSequence(0), 99)
    near = LowRankGram(problem, 200, decides=lambda s: True).summarise(first)
    exact = DenseGram(problem).summarise(more)
    joined = near.join(exact)
    assert joined.form_bounds is not None
    np.testing.assert_array_equal(joined.form_bounds[0][99:], exact.quadratic_forms)
    np.testing.assert_array_equal(joined.form_bounds[1][99:], exact.quadratic_forms)
    assert joined.mean_bounds == near.mean_bounds
    assert joined.grade == "approximate"
    both = exact.join(exact)
    assert (both.grade, both.form_bounds) == ("exact", None)


@pytest.mark.backend
@pytest.mark.usefixtures("few_pairs")
def test_every_array_library_gives_the_same_summary(xp: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(steinball.gram.lowrank, "TOLERANCES", (0.05,))  # one panel: JAX compiles every new shape
    x = sample_of(5, 300, 1, 0.05)
    request = WeightedBootstrap(70).request(300, np.random.SeedSequence(0))
    done: Callable[[GramSummary], bool] = lambda summary: True  # noqa: E731
    ours = LowRankGram(problem_of(x), 300, decides=done).summarise(request)
    theirs = LowRankGram(problem_of(xp.asarray(x)), 300, decides=done).summarise(request)
    assert type(theirs.row_means) is type(xp.asarray(x))
    np.testing.assert_allclose(theirs.quadratic_forms, ours.quadratic_forms, rtol=1e-9)
    np.testing.assert_allclose(to_host(theirs.row_means), ours.row_means, rtol=1e-7, atol=1e-9)
    assert theirs.mean == pytest.approx(ours.mean, rel=1e-7)
    assert theirs.details["rank"] == ours.details["rank"]


@pytest.mark.backend
def test_libraries_that_compute_later_read_the_weights_unchanged(xp: Any) -> None:
    """Large arrays reach JAX without a copy, and its products run later: nothing may overwrite what it still reads."""
    rng, n = np.random.default_rng(6), 2**16
    panel = rng.normal(size=(n, 64))
    factor = PivotedCholesky(problem_of(xp.asarray(rng.normal(size=(n, 1)))))
    factor.panels.append(xp.asarray(panel))
    weights = [rng.integers(-1, 4, size=(64, n)).astype(np.int8) for _ in range(3)]
    projections = Projections(factor, weights)
    projections.update()
    w = np.concatenate(weights).astype(float)
    np.testing.assert_allclose(projections.squares, np.square(w @ panel).sum(axis=1), rtol=1e-10)


def test_overflow_is_an_error_that_names_the_remedy() -> None:
    x = np.random.default_rng(7).normal(size=(100, 1))
    x[60] = 1e200
    with pytest.raises(FloatingPointError, match=r"overflows at 1 of 100 points \(first: row 60\).*use a tilt"):
        LowRankGram(problem_of(x, tilted=False), 100).summarise(Request())


def test_a_point_whose_square_overflows_in_the_factor_does_not_spoil_it() -> None:
    x = np.random.default_rng(8).normal(size=(100, 1))
    x[60] = 1e120
    results = [
        sb.ksd_test(x, lambda x: -x, kernel=InverseMultiquadric(1.0), engine=engine, rng=0)
        for engine in ("dense", "lowrank")
    ]
    assert results[0].ksd == pytest.approx(results[1].ksd, rel=1e-10)
    assert results[0].rejected == results[1].rejected


@pytest.mark.usefixtures("few_pairs")
def test_the_fallback_is_asked_only_where_needed() -> None:
    problem = problem_of(sample_of(9, 100, 1, 0.0))

    class Refuses:
        def summarise(self, request: Request) -> GramSummary:
            raise AssertionError("asked although the decision was decided")

    request = WeightedBootstrap(19).request(100, np.random.SeedSequence(0))
    decided = LowRankGram(problem, 100, decides=lambda s: True, fallback=Refuses()).summarise(request)
    assert decided.engine == "lowrank"
    open_ = LowRankGram(problem, 100, fallback=BlockedGram(problem, 32, 1)).summarise(request)
    assert (open_.engine, open_.grade) == ("blocked", "exact")


def test_the_rank_is_raised_until_the_decision_is_settled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(steinball.gram.lowrank, "PAIRS", (2**10,))
    problem = problem_of(sample_of(10, 400, 1, 0.0))
    request = WeightedBootstrap(19).request(400, np.random.SeedSequence(0))
    shares: list[float] = []

    def decided(summary: GramSummary) -> bool:
        share = summary.details["residual_share"]
        if not shares or shares[-1] != share:
            shares.append(share)
        return bool(share < 1e-5)

    summary = LowRankGram(problem, 400, decides=decided).summarise(request)
    assert 1 <= sum(share > 1e-5 for share in shares) == len(shares) - 1
    assert summary.details["residual_share"] == shares[-1] < 1e-5


@pytest.mark.parametrize("estimator", ["v", "u"])
@pytest.mark.parametrize("d", [1, 8])
def test_contributions_sum_to_the_statistic(estimator: str, d: int) -> None:
    x = np.random.default_rng(0).normal(0.05, size=(1500, d))
    options: dict[str, Any] = {"calibration": sb.WeightedBootstrap(19), "estimator": estimator, "rng": 0}
    found = sb.ksd_test(x, sb.models.Gaussian(dimension=d), engine="lowrank", **options)
    assert found.engine == "lowrank"
    assert float(found.contributions.sum()) == pytest.approx(found.squared_ksd, rel=1e-9, abs=1e-15)


FourTerm = Callable[..., Floats]


def problem_of_cholesky(x: Any, kernel: Kernel | None = None, tilted: bool = True) -> Problem:
    return pose(x, lambda x: -x, kernel or InverseMultiquadric(1.3), PolynomialTilt() if tilted else None)


def factor_of(factor: PivotedCholesky) -> Floats:
    """L, shape (n, rank)."""
    return np.concatenate([to_host(panel) for panel in factor.panels], axis=1)


def check_factor(factor: PivotedCholesky, u: Floats) -> None:
    """R = U − L Lᵀ has no negative eigenvalue and the diagonal that the factor says."""
    low = factor_of(factor)
    rest = u - low @ low.T
    assert np.isfinite(low).all()
    assert low.shape[1] == factor.rank
    size = np.trace(u)
    assert np.linalg.eigvalsh(rest).min() >= -1e-12 * size
    np.testing.assert_allclose(factor.residual, np.diag(rest), rtol=0, atol=1e-12 * size / len(u) * 10)
    assert factor.residual.min() >= 0.0
    assert factor.residual_share == pytest.approx(np.trace(rest) / size, rel=1e-6, abs=1e-12)


@pytest.mark.parametrize("tilted", [False, True])
@pytest.mark.parametrize("d", [1, 2, 3, 10])
def test_what_is_left_is_positive_semi_definite_with_the_stated_diagonal(
    d: int, tilted: bool, four_term: FourTerm
) -> None:
    x = np.random.default_rng(d).normal(size=(160, d))
    x[:10] = 6.0
    u = four_term(x, -x, 1.3, tilted=tilted)
    factor = PivotedCholesky(problem_of_cholesky(x, tilted=tilted))
    for tolerance in (0.3, 1e-2, 1e-4, 1e-7):
        before = factor.rank
        factor.grow(tolerance, 160)
        assert factor.residual_share <= tolerance
        assert factor.rank >= before
        check_factor(factor, u)


@pytest.mark.parametrize("kernel", [Gaussian(0.8), Matern(1.0, 1.5), Matern(1.2, 2.5), InverseMultiquadric(1.0, 1.5)])
def test_every_kernel_can_be_factored(kernel: Kernel) -> None:
    problem = problem_of_cholesky(np.random.default_rng(0).normal(size=(120, 2)), kernel)
    factor = PivotedCholesky(problem)
    factor.grow(1e-3, 120)
    check_factor(factor, matrix_of(problem))


def test_the_rank_stops_where_it_is_told_to() -> None:
    problem = problem_of_cholesky(np.random.default_rng(1).normal(size=(300, 3)))
    for most in (1, 16, 64, 65, 100):
        factor = PivotedCholesky(problem)
        factor.grow(1e-12, most)
        assert 0 < factor.rank <= most
        check_factor(factor, matrix_of(problem))


def test_smooth_problems_have_low_rank() -> None:
    """The ranks of the feasibility probe, within a factor of two: 23 and 108 at 10⁻³ in d = 1 and 2."""
    for d, most in ((1, 46), (2, 216)):
        factor = PivotedCholesky(pose(np.random.default_rng(d).normal(size=(3000, d)), lambda x: -x, tilt="auto"))
        factor.grow(1e-3, 3000)
        assert factor.rank <= most


def test_a_factor_grown_in_steps_is_the_one_grown_at_once() -> None:
    """Up to which candidates are drawn together: the same panels as long as steps end with whole panels."""
    problem = problem_of_cholesky(np.random.default_rng(2).normal(size=(500, 2)))
    at_once, in_steps = PivotedCholesky(problem), PivotedCholesky(problem)
    at_once.grow(1e-4, 500)
    for tolerance in (1e-1, 1e-2, 1e-3, 1e-4):
        in_steps.grow(tolerance, 500)
    np.testing.assert_array_equal(factor_of(at_once), factor_of(in_steps))


def test_threads_do_not_change_the_factor(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("steinball.gram.lowrank._ROWS_AT_ONCE", 50)
    problem = problem_of_cholesky(np.random.default_rng(3).normal(size=(420, 2)))
    factors = [PivotedCholesky(problem, n_jobs) for n_jobs in (1, 2, 3)]
    for factor in factors:
        factor.grow(1e-3, 420)
        check_factor(factor, matrix_of(problem))
    for factor in factors[1:]:
        np.testing.assert_allclose(factor_of(factor), factor_of(factors[0]), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("copies", [2, 10, 100])
@pytest.mark.parametrize("tolerance", [1e-7, 0.0])
def test_duplicated_points_exhaust_the_rank(copies: int, tolerance: float) -> None:
    """The true rank is the number of distinct points; asking for more must end, and add nothing but rounding."""
    distinct = np.random.default_rng(4).normal(size=(5, 2))
    problem = problem_of_cholesky(np.tile(distinct, (copies, 1)))
    factor = PivotedCholesky(problem)
    factor.grow(tolerance, 5 * copies)
    u = matrix_of(problem)
    low = factor_of(factor)
    assert np.isfinite(low).all()
    np.testing.assert_allclose(low @ low.T, u, rtol=0, atol=1e-9 * np.trace(u))
    if tolerance:
        assert factor.rank == 5


@pytest.mark.parametrize("n", [2, 3, 50])
def test_small_problems_are_factored_completely(n: int) -> None:
    problem = problem_of_cholesky(np.random.default_rng(5).normal(size=(n, 3)))
    factor = PivotedCholesky(problem)
    factor.grow(0.0, n)
    low = factor_of(factor)
    assert factor.rank <= n
    np.testing.assert_allclose(low @ low.T, matrix_of(problem), rtol=0, atol=1e-10)


@pytest.mark.parametrize("lengthscale", [30.0, 300.0])
def test_nearly_rank_deficient_kernels_end_without_nonsense(lengthscale: float) -> None:
    """At a long length scale u(x, y) is close to s(x)ᵀs(y), of rank d: rounding is soon all that is left."""
    problem = problem_of_cholesky(np.random.default_rng(6).normal(size=(200, 2)), Gaussian(lengthscale), tilted=False)
    factor = PivotedCholesky(problem)
    factor.grow(0.0, 200)
    u, low = matrix_of(problem), factor_of(factor)
    assert np.isfinite(low).all()
    np.testing.assert_allclose(low @ low.T, u, rtol=0, atol=1e-9 * np.trace(u))


def test_rows_of_the_factor_are_picked_by_index() -> None:
    factor = PivotedCholesky(problem_of_cholesky(np.random.default_rng(7).normal(size=(200, 2))))
    factor.grow(1e-3, 200)
    index = np.array([5, 5, 199, 0])
    assert len(factor.panels) > 1
    np.testing.assert_array_equal(factor.rows_at(index), factor_of(factor)[index])


@pytest.mark.backend
def test_every_array_library_makes_the_same_factor(xp: Any) -> None:
    x = np.random.default_rng(8).normal(size=(150, 2))
    ours, theirs = PivotedCholesky(problem_of_cholesky(x)), PivotedCholesky(problem_of_cholesky(xp.asarray(x)))
    for factor in (ours, theirs):
        factor.grow(0.15, 150)  # a panel or two: JAX compiles every new shape
    assert type(theirs.panels[0]) is type(xp.asarray(x))
    np.testing.assert_allclose(factor_of(theirs), factor_of(ours), rtol=1e-8, atol=1e-8)
    check_factor(theirs, matrix_of(problem_of_cholesky(x)))


def test_outliers_without_a_tilt_take_a_pivot_first() -> None:
    """Pivots are drawn in proportion to the diagonal, so a point that holds the whole trace is among the first."""
    x = np.random.default_rng(9).normal(size=(200, 1))
    x[17] = 1e6
    factor = PivotedCholesky(problem_of_cholesky(x, tilted=False))
    factor.grow(1e-6, 200)
    assert factor.residual[17] == 0.0
    assert factor.residual_share < 1e-6
