"""The boundary bootstrap against explicit vectors, against the paper's p-values, and at the edge of the ball."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

import steinball as sb
from steinball.calibration.base import BootstrapNull
from steinball.calibration.boundary import BoundaryNull
from steinball.evidence.ksd import Reading
from steinball.gram.base import GramSummary
from steinball.gram.weights import gather
from steinball.gram.whole import DenseGram
from steinball.problem import pose
from steinball.stein import SteinKernel
from steinball.tau.certificate import Supremum

Floats = NDArray[np.float64]
LEVEL = 0.05


def summary_of(features: Floats, weights: NDArray[Any]) -> GramSummary:
    """The summary for points whose features are given as vectors: no kernel, no engine."""
    gram, n = features @ features.T, len(features)
    forms = np.einsum("bi,ij,bj->b", weights, gram, weights) / n**2
    linear = weights @ gram.mean(axis=1) / n
    return GramSummary(
        np.diag(gram), gram.mean(axis=1), float(gram.mean()), forms, [weights], "dense", "exact", linear_forms=linear
    )


def counted_by_hand(features: Floats, weights: NDArray[Any], radius: float) -> float:
    """p(θ) from the definition: a draw counts if |θ' g/|g| + δ| ≥ |g| at some radius θ' ≤ θ."""
    n = len(features)
    mean = features.mean(axis=0)
    length = float(np.linalg.norm(mean))
    if length <= radius:
        return 1.0
    centers = np.linspace(0.0, radius, 201)[:, None] * mean / length
    draws = weights @ features / n
    reached = np.linalg.norm(centers[None] + draws[:, None], axis=2).max(axis=1)
    return (1 + int((reached >= length * (1 - 1e-12)).sum())) / (len(weights) + 1)


@pytest.mark.exact
@pytest.mark.parametrize("scheme", ["weighted", "wild"])
@pytest.mark.parametrize("seed", range(4))
def test_the_pvalue_is_the_share_of_shifted_draws_that_reach_as_far(seed: int, scheme: str) -> None:
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(21, 4)) + rng.normal(size=4) * 0.4
    calibration = sb.BoundaryBootstrap(199, scheme)
    weights = gather(calibration.request(21, np.random.SeedSequence(seed)).weights, 21)
    null = calibration.null(summary_of(features, weights), Supremum(1.0, "given"), "v")
    ksd = float(np.linalg.norm(features.mean(axis=0)))
    for radius in np.linspace(0.0, 1.2 * ksd, 13):
        assert null.pvalue(ksd, radius) == counted_by_hand(features, weights, radius)


def nulls(seed: int, n: int, dimension: int, shift: float) -> tuple[float, BoundaryNull, BootstrapNull]:
    """D and both nulls, from the same draws."""
    rng = np.random.default_rng(seed)
    features = rng.standard_t(2.0, size=(n, dimension)) + shift * rng.normal(size=dimension)
    calibration = sb.BoundaryBootstrap(99)
    weights = gather(calibration.request(n, np.random.SeedSequence(seed)).weights, n)
    summary = summary_of(features, weights)
    tau = Supremum(1.0, "given")
    return math.sqrt(summary.mean), calibration.null(summary, tau, "v"), BootstrapNull.from_summary(summary, "v")


CASES = (st.integers(0, 10**6), st.integers(2, 30), st.integers(1, 5), st.floats(0.0, 2.0))


@pytest.mark.exact
@given(*CASES, st.floats(0.0, 1.5))
def test_it_rejects_whenever_the_papers_test_does(
    seed: int, n: int, dimension: int, shift: float, share: float
) -> None:
    ksd, boundary, paper = nulls(seed, n, dimension, shift)
    assert boundary.pvalue(ksd, share * ksd) <= paper.pvalue(ksd, share * ksd)
    for level in (0.01, 0.05, 0.3):
        assert boundary.lower_bound(ksd, level) >= paper.lower_bound(ksd, level)
        assert boundary.threshold(level, share * ksd) <= paper.threshold(level, share * ksd) * (1 + 1e-12)


@pytest.mark.exact
@given(*CASES)
def test_at_radius_zero_it_is_the_standard_test(seed: int, n: int, dimension: int, shift: float) -> None:
    ksd, boundary, paper = nulls(seed, n, dimension, shift)
    assert boundary.pvalue(ksd, 0.0) == paper.pvalue(ksd, 0.0)
    assert boundary.threshold(0.05, 0.0) == pytest.approx(paper.threshold(0.05, 0.0), rel=1e-12)


@pytest.mark.exact
@given(*CASES)
def test_threshold_pvalue_and_lower_bound_tell_one_story(seed: int, n: int, dimension: int, shift: float) -> None:
    ksd, null, _ = nulls(seed, n, dimension, shift)
    radii = np.unique(np.concatenate([np.linspace(0.0, 1.2 * ksd, 40), null.reaches]))
    middles = (radii[1:] + radii[:-1]) / 2.0
    pvalues = [null.pvalue(ksd, radius) for radius in middles]
    assert pvalues == sorted(pvalues)
    for level in (0.01, 0.05, 0.25):
        rejected = [p <= level for p in pvalues]
        assert rejected == [max(0.0, ksd - r) > null.threshold(level, r) for r in middles]
        assert rejected == [bool(r < null.lower_bound(ksd, level)) for r in middles]


@pytest.mark.exact
def test_data_without_misfit_are_never_rejected() -> None:
    null = BoundaryNull(0.0, np.zeros(19), np.zeros(19))
    assert null.pvalue(0.0, 0.0) == 1.0
    assert null.lower_bound(0.0, 0.05) == 0.0


@pytest.mark.exact
@pytest.mark.parametrize("n", [2, 5, 20])
def test_wild_signs_sum_to_zero_and_every_point_gets_both(n: int) -> None:
    weights = gather(sb.BoundaryBootstrap(400, "wild").request(n, np.random.SeedSequence(0)).weights, n)
    assert (weights.sum(axis=1) == 0).all()
    assert set(np.unique(weights)) <= {-1, 0, 1}
    assert (np.abs(weights).sum(axis=1) == n - n % 2).all()
    assert (np.abs(weights.mean(axis=0)) < 4.5 / 20.0).all()  # 4.5 standard errors of 400 signs


@pytest.mark.exact
def test_only_v_statistics_have_a_boundary() -> None:
    with pytest.raises(ValueError, match="V-statistic"):
        sb.ksd_test(np.arange(5.0), lambda x: -x, calibration=sb.BoundaryBootstrap(99), estimator="u")
    with pytest.raises(ValueError, match="scheme"):
        sb.BoundaryBootstrap(99, "rademacher")


def sample(n: int, d: int, seed: int = 0) -> Floats:
    x = np.random.default_rng(seed).normal(size=(n, d))
    x[: n // 10, 0] = 5.0
    return x


@pytest.mark.exact
@pytest.mark.parametrize("scheme", ["weighted", "wild"])
def test_every_engine_gives_the_same_linear_forms(scheme: str) -> None:
    x, model, calibration = sample(700, 2), sb.models.Gaussian([0.0, 0.0]), sb.BoundaryBootstrap(150, scheme)
    results = {
        engine: sb.robust_ksd_test(x, model, 0.05, calibration=calibration, engine=engine, rng=1)
        for engine in ("dense", "blocked", "lowrank")
    }
    dense, blocked, lowrank = (results[name]._evidence.summary for name in results)
    np.testing.assert_allclose(blocked.linear_forms, dense.linear_forms, atol=1e-14)
    assert lowrank.linear_bounds is not None
    below, above = lowrank.linear_bounds
    assert ((below <= dense.linear_forms) & (dense.linear_forms <= above)).all()
    assert float((above - below).max()) < float(np.abs(dense.linear_forms).max())
    assert results["lowrank"].rejected == results["dense"].rejected


@pytest.mark.exact
def test_between_the_ends_of_a_low_rank_summary_lie_all_pvalues() -> None:
    """The exact D, draws and projections lie within the bounds, and p between those of the two ends."""
    calibration, tau = sb.BoundaryBootstrap(150), Supremum(1.4, "given")
    for seed in range(6):
        x = sample(300, 1 + seed % 2, seed)
        options: dict[str, Any] = {"calibration": calibration, "rng": seed, "tilt": sb.PolynomialTilt()}
        results = [sb.ksd_test(x, lambda x: -x, engine=engine, **options) for engine in ("dense", "lowrank")]
        exact, near = (result._evidence.summary for result in results)
        for radius in np.linspace(0.0, math.sqrt(exact.mean), 15):
            (low, high), answer = (Reading(near, calibration, tau, "v").ends, Reading(exact, calibration, tau, "v"))
            pvalues = [found.decide(float(radius), LEVEL).pvalue for found in (low, answer, high)]
            assert pvalues == sorted(pvalues)


@pytest.mark.backend
@pytest.mark.parametrize("engine", ["dense", "blocked"])
def test_it_gives_the_same_pvalues_in_every_library(xp: Any, engine: str) -> None:
    x = sample(300, 3)
    results = [
        sb.robust_ksd_test(points, lambda x: -x, 0.05, calibration=sb.BoundaryBootstrap(99), engine=engine, rng=3)
        for points in (x, xp.asarray(x))
    ]
    assert results[0].pvalue == results[1].pvalue
    assert results[0].lower_bound == pytest.approx(results[1].lower_bound, rel=1e-9)


@pytest.mark.exact
def test_one_result_answers_for_the_calibrations_that_share_its_draws() -> None:
    x = sample(200, 1)
    result = sb.robust_ksd_test(x, sb.models.Gaussian(), 0.05, calibration=sb.BoundaryBootstrap(199), rng=5)
    paper = sb.robust_ksd_test(x, sb.models.Gaussian(), 0.05, calibration=sb.WeightedBootstrap(199), rng=5)
    moved = result.at(calibration=sb.WeightedBootstrap(199))
    assert (moved.pvalue, moved.threshold) == (paper.pvalue, paper.threshold)
    assert paper.at(calibration=sb.BoundaryBootstrap(199)).to_dict() == result.to_dict()
    assert result.at(calibration=sb.DeviationBound(proven=False)).n_resamples == 0
    for other in (sb.WildBootstrap(199), sb.WeightedBootstrap(99), sb.BoundaryBootstrap(199, "wild")):
        with pytest.raises(ValueError, match="other draws"):
            result.at(calibration=other)


@pytest.mark.exact
def test_more_draws_extend_the_earlier_ones() -> None:
    x = sample(150, 1)
    whole = sb.robust_ksd_test(x, sb.models.Gaussian(), 0.05, calibration=sb.BoundaryBootstrap(300), rng=0)
    parts = sb.robust_ksd_test(x, sb.models.Gaussian(), 0.05, calibration=sb.BoundaryBootstrap(100), rng=0).extend(200)
    assert whole.to_dict() == parts.to_dict()


# At the edge of the ball: θ = ε D(R, P), so that (1 − ε) P + ε R lies exactly on it.

EDGE_REPEATS = 400
# A test of level .05 rejects at most 34 of 400 with probability .999: the rate .085.
EDGE_HIGH = 34 / 400


def edge_nulls(place: float, share: float, n: int) -> list[tuple[float, float, BoundaryNull, BootstrapNull]]:
    """D, θ and both nulls for samples on the edge: contamination at one point, so that D(R, P)² = u(z, z)."""
    kernel, tilt = sb.InverseMultiquadric(math.sqrt(2.0)), sb.PolynomialTilt()
    z = np.array([[place]])
    theta = share * math.sqrt(float(SteinKernel(kernel, tilt).diagonal(z, -z)[0]))
    found = []
    for seed in range(EDGE_REPEATS):
        rng = np.random.default_rng([seed, n])
        x = np.where(rng.random(n) < share, place, rng.normal(size=n))
        calibration = sb.BoundaryBootstrap(199)
        result = sb.ksd_test(x, lambda x: -x, kernel=kernel, tilt=tilt, calibration=calibration, rng=seed, n_jobs=1)
        summary = result._evidence.summary
        boundary = calibration.null(summary, Supremum(1.0, "given"), "v")
        found.append((result.ksd, theta, boundary, BootstrapNull.from_summary(summary, "v")))
    return found


@pytest.mark.calibration
@pytest.mark.parametrize(("place", "share"), [(1.109, 0.1), (10.0, 0.1), (10.0, 0.2)])
def test_at_the_edge_of_the_ball_the_level_is_used_up_but_not_exceeded(place: float, share: float) -> None:
    """The paper's test rejects hardly ever there; one with the sign of the projections turned far too often."""
    cases = edge_nulls(place, share, 150)
    rate = np.mean([null.pvalue(ksd, theta) <= LEVEL for ksd, theta, null, _ in cases])
    paper = np.mean([null.pvalue(ksd, theta) <= LEVEL for ksd, theta, _, null in cases])
    no_projection = [BoundaryNull(null.ksd, 0.0 * null.draws, null.projections) for _, _, null, _ in cases]
    mutant = np.mean([null.pvalue(c[0], c[1]) <= LEVEL for c, null in zip(cases, no_projection, strict=True)])
    assert 0.015 <= rate <= EDGE_HIGH
    assert paper <= 0.03
    assert mutant > EDGE_HIGH


def test_scaled_weights_have_a_mean_square_of_one_and_wake_the_test_in_fifty_dimensions() -> None:
    """Under N(0, I) at d = 50, n = 50, radius 0, 300 samples: multinomial weights reject ≤ .02, scaled ones .02 to .10
    (.05 ± 4 s.e. = .05)."""
    rng, n, d = np.random.default_rng(0), 50, 50
    model, kernel = sb.models.Gaussian(dimension=d), sb.InverseMultiquadric(9.93)
    plain, scaled = sb.BoundaryBootstrap(99), sb.BoundaryBootstrap(99, "scaled")
    tau, rejected = Supremum(2.0, "given"), np.zeros(2)
    for _ in range(300):
        problem = pose(rng.normal(size=(n, d)), model, kernel, sb.PolynomialTilt())
        request = plain.request(n, np.random.SeedSequence(int(rng.integers(2**60))))
        summary = DenseGram(problem).summarise(request)
        ksd = math.sqrt(summary.mean)
        rejected += [c.null(summary, tau, "v").pvalue(ksd, 0.0) <= 0.05 for c in (plain, scaled)]
    assert rejected[0] / 300 <= 0.02
    assert 0.02 <= rejected[1] / 300 <= 0.10
    weights = np.concatenate(list(request.weights)).astype(float)
    weights /= np.sqrt(np.square(weights).mean(axis=1, keepdims=True))
    u = problem.stein.block(problem.points, problem.points)
    expected = np.sqrt(np.einsum("bi,ij,bj->b", weights, u, weights)) / n
    np.testing.assert_allclose(scaled.null(summary, tau, "v").draws, expected, rtol=1e-10)
