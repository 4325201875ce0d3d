"""The exact test: against its definition, its monotone answers, its level where others fail, and its refusals."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

import steinball as sb
from steinball.arrays import MemoryLimitError, as_seed
from steinball.calibration import MonteCarlo
from steinball.calibration.monte_carlo import MonteCarloNull, RemovalNull
from steinball.gram.tiles import PrefixNorms
from steinball.gram.whole import CHUNK, DenseGram, ReplicatedGram
from steinball.problem import pose
from steinball.tau import Supremum

Floats = NDArray[np.float64]
MODEL = sb.models.Gaussian()
KERNEL, TILT = sb.InverseMultiquadric(0.95), sb.PolynomialTilt()


def contaminated(n: int, share: float, seed: int = 0, place: float = 0.87) -> Floats:
    rng = np.random.default_rng(seed)
    return np.where(rng.random(n) < share, place, rng.normal(size=n))


def norms_by_definition(x: Floats) -> Floats:
    """|Σ_{i ≤ m} φ(xᵢ)| from the whole matrix, for every m."""
    problem = pose(x, MODEL, KERNEL, TILT)
    u = problem.stein.block(problem.points, problem.points)
    return np.sqrt([max(0.0, float(u[:m, :m].sum())) for m in range(len(x) + 1)])


def norms_of(result: sb.GofResult) -> Floats:
    sampled = result._evidence.summary.prefix_norms
    assert sampled is not None
    return sampled.norms


def pvalue_by_definition(norms: Floats, uniforms: Floats, tau: float, ksd: float, share: float) -> float:
    n = norms.shape[1] - 1
    bad = stats.binom.ppf(uniforms, n, share).astype(int) if share else np.zeros(len(uniforms), dtype=int)
    reached = [(k * math.sqrt(tau) + row[n - k]) / n for k, row in zip(bad, norms, strict=True)]
    return float(1 + sum(t >= ksd for t in reached)) / (len(norms) + 1)


@pytest.mark.exact
def test_the_pvalue_is_the_one_of_the_definition_at_every_share() -> None:
    x = contaminated(30, 0.3)
    result = sb.robust_ksd_test(x, MODEL, 0.05, kernel=KERNEL, tilt=TILT, calibration=MonteCarlo(49), rng=3)
    sampled = result._evidence.summary.prefix_norms
    assert sampled is not None
    below = np.random.SeedSequence(as_seed(3).entropy, spawn_key=(3,))
    draws = []
    for k in range(-(-49 // CHUNK)):
        rng = np.random.Generator(np.random.PCG64(np.random.SeedSequence(below.entropy, spawn_key=(3, k))))
        rng.random(CHUNK)
        draws += list(np.asarray(MODEL.sample(CHUNK * 30, rng)).reshape(CHUNK, 30))
    np.testing.assert_allclose(sampled.norms, [norms_by_definition(y) for y in draws[:49]], rtol=1e-9, atol=1e-9)
    for share in (0.0, 0.01, 0.05, 0.1, 0.3):
        p = pvalue_by_definition(sampled.norms, sampled.uniforms, result.tau, result.ksd, share)
        moved = result.at(contamination=share)
        assert moved.pvalue == (p if moved.ksd > moved.radius else 1.0)
        assert moved.rejected == (moved.pvalue <= moved.level) == (moved.statistic > moved.threshold)


@pytest.mark.exact
def test_pvalues_never_fall_in_the_share_and_both_bounds_are_where_they_turn() -> None:
    result = sb.robust_ksd_test(contaminated(60, 0.4), MODEL, 0.0, calibration=MonteCarlo(99), rng=0)
    shares = np.linspace(0.0, 1.0, 101)
    pvalues = [result.at(contamination=share).pvalue for share in shares]
    assert (np.diff(pvalues) >= 0.0).all()
    bound = result.contamination_bound
    assert 0.05 < bound < 0.4
    assert result.at(contamination=bound * (1 - 1e-9)).rejected
    assert not result.at(contamination=bound + 1e-6).rejected
    null = result._evidence.null
    assert isinstance(null, MonteCarloNull)
    norms, root, k = null.sampled.norms, math.sqrt(null.tau), result.details["contaminated_points"]

    def pvalue_of(bad: int) -> float:
        return float(1 + np.sum(norms[:, 60 - bad] >= 60 * result.ksd - bad * root)) / 100

    kept = [bad for bad in range(61) if pvalue_of(bad) > 0.05]
    assert kept == list(range(k, 61)), "those that are not rejected are all from k on"


@pytest.mark.exact
def test_total_variation_is_the_best_split_in_halves() -> None:
    rng = np.random.default_rng(0)
    norms = np.concatenate([np.zeros((79, 1)), np.cumsum(rng.random((79, 40)), axis=1)], axis=1)
    null = RemovalNull(PrefixNorms(norms, rng.random(79)), tau=4.0, ksd=0.9, span=3.0)
    for t in (0.0, 0.02, 0.1, 0.3):
        halves = [
            max(float(stats.binom.sf(k, 40, t)), float(1 + np.sum(norms[:, -1] >= 36.0 - 3.0 * k)) / 80)
            for k in range(41)
        ]
        expected = 1.0 if 3.0 * t >= 0.9 else min(1.0, 2.0 * min(halves))
        assert null.pvalue(0.9, 3.0 * t) == pytest.approx(expected, rel=1e-9)
        for level in (0.05, 0.3):
            assert (null.pvalue(0.9, 3.0 * t) <= level) == (max(0.0, 0.9 - 3.0 * t) > null.threshold(level, 3.0 * t))
    share = null.share_bound(0.9, 0.2, 4.0)
    assert null.pvalue(0.9, 3.0 * share) <= 0.2 < null.pvalue(0.9, 3.0 * (share + 1e-9))


@pytest.mark.exact
def test_sets_within_a_total_variation_use_it_and_share_turns_back() -> None:
    x = contaminated(80, 0.5)
    result = sb.ksd_test(x, MODEL, tilt="auto", tau="auto", calibration=MonteCarlo(99), rng=0)
    variation = result.at(radius=sb.TotalVariation(0.04))
    same = (sb.DensityBand(0.08), sb.Hellinger(0.0282984489), sb.KullbackLeibler(0.0032))
    for radius in same:
        assert result.at(radius=radius).pvalue == pytest.approx(variation.pvalue, rel=1e-6)
    assert result.at(contamination=0.04).pvalue <= variation.pvalue, "contamination is a smaller set"
    assert variation.contamination_bound <= result.contamination_bound
    assert variation.at(radius=0.0).pvalue == result.pvalue


@pytest.mark.exact
def test_it_is_read_again_extended_and_put_in_words() -> None:
    result = sb.robust_ksd_test(contaminated(50, 0.4), MODEL, 0.05, calibration=MonteCarlo(40), rng=1)
    whole = sb.robust_ksd_test(contaminated(50, 0.4), MODEL, 0.05, calibration=MonteCarlo(99), rng=1)
    longer = result.extend(59)
    assert (longer.pvalue, longer.n_resamples) == (whole.pvalue, 99)
    np.testing.assert_array_equal(norms_of(longer), norms_of(whole))
    assert "monte carlo, 99 draws" in whole.summary()
    assert json.loads(json.dumps(whole.to_dict()))["details"]["contaminated_points"] == whole.contaminated_points
    assert whole.draws is None
    assert whole.at(calibration=sb.DeviationBound()).pvalue >= whole.pvalue
    assert whole.lower_bound == whole.at(calibration=sb.DeviationBound()).lower_bound, (
        "of the KSD only a bound is known"
    )
    assert whole.fragility() is not None
    assert whole.verdict == "misfit"


@pytest.mark.exact
@pytest.mark.parametrize("options", [{"n_jobs": 2}, {"engine": "dense"}, {"engine": "blocked"}, {"progress": False}])
def test_workers_and_engines_do_not_move_it(options: dict[str, Any]) -> None:
    x = contaminated(40, 0.3)
    one = sb.robust_ksd_test(x, MODEL, 0.05, calibration=MonteCarlo(40), rng=1, n_jobs=1)
    other = sb.robust_ksd_test(x, MODEL, 0.05, calibration=MonteCarlo(40), rng=1, **options)
    assert one.pvalue == other.pvalue
    np.testing.assert_allclose(norms_of(one), norms_of(other), rtol=1e-12)


@pytest.mark.backend
@pytest.mark.parametrize("library", ["torch", "jax.numpy"])
def test_other_array_libraries_give_the_same_answer(library: str) -> None:
    xp = pytest.importorskip(library)
    x = contaminated(30, 0.3).astype(np.float32)
    plain = sb.robust_ksd_test(x, MODEL, 0.05, calibration=MonteCarlo(19), rng=1)
    other = sb.robust_ksd_test(xp.asarray(x), MODEL, 0.05, calibration=MonteCarlo(19), rng=1)
    assert other.pvalue == pytest.approx(plain.pvalue, abs=0.051)
    assert other.contamination_bound == pytest.approx(plain.contamination_bound, abs=5e-3)


@pytest.mark.exact
def test_what_is_missing_is_named() -> None:
    x = contaminated(30, 0.1)
    with pytest.raises(TypeError, match=r"no `sample\(n, rng\)`"):
        sb.robust_ksd_test(x, lambda x: -x, 0.05, calibration=MonteCarlo(99))
    with pytest.raises(TypeError, match="draws whole samples"):
        sb.robust_ksd_test(x, sb.from_scores(-x), 0.05, tau=2.0, kernel=KERNEL, tilt=TILT, calibration=MonteCarlo(99))
    with pytest.raises(ValueError, match="needs an upper bound"):
        sb.robust_ksd_test(x, MODEL, 0.05, tau="sample", calibration=MonteCarlo(99))
    with pytest.raises(ValueError, match="does not hold over the set"):
        sb.ksd_test(x, MODEL, tilt="auto", tau="auto", radius=0.1, calibration=MonteCarlo(99))
    with pytest.raises(ValueError, match="V-statistic"):
        sb.robust_ksd_test(x, MODEL, 0.05, estimator="u", calibration=MonteCarlo(99))
    with pytest.raises(ValueError, match="samples of the model"):
        sb.robust_ksd_test(x, MODEL, 0.05, engine="lowrank", calibration=MonteCarlo(99))
    with pytest.raises(ValueError, match="needs samples of the model"):
        sb.robust_ksd_test(x, MODEL, 0.05, rng=0).at(calibration=MonteCarlo(99))
    with pytest.raises(ValueError, match="19 reach a level"):
        sb.robust_ksd_test(np.zeros(60_000) + np.arange(60_000) / 1e5, MODEL, 0.05, calibration=MonteCarlo(999))
    with pytest.raises(MemoryLimitError, match="memory_limit"):
        sb.robust_ksd_test(x, MODEL, 0.05, memory_limit=9_000_0, calibration=MonteCarlo(9999), engine="dense")


@pytest.mark.exact
def test_a_sampler_of_the_wrong_shape_is_named() -> None:
    class Odd:
        def score(self, x: Floats) -> Floats:
            return -x

        def sample(self, n: int, rng: np.random.Generator) -> Floats:
            return rng.normal(size=(n, 1 if n < 512 else 2))

    with pytest.raises(ValueError, match="must return 640 rows of 1 columns"):
        sb.robust_ksd_test(
            contaminated(40, 0.1),
            Odd(),
            0.05,
            kernel=KERNEL,
            tilt=TILT,
            tau=2.0,
            check_model=False,
            calibration=MonteCarlo(19),
        )


@pytest.mark.exact
def test_points_outside_the_support_count_as_contaminated() -> None:
    rng = np.random.default_rng(0)
    x = np.concatenate([rng.exponential(size=40), -np.ones(30)])

    class Exponential:
        support = (0.0, None)

        def score(self, x: Floats) -> Floats:
            return np.full_like(x, -1.0)

        def sample(self, n: int, rng: np.random.Generator) -> Floats:
            return rng.exponential(size=(n, 1))

    result = sb.robust_ksd_test(
        x, Exponential(), 0.1, tau=20.0, outside="contaminated", calibration=MonteCarlo(99), rng=0
    )
    assert result.rejected
    assert norms_of(result).shape == (99, 71)
    assert 0 < result.contaminated_points <= 30


@pytest.mark.calibration
def test_the_level_holds_where_the_bootstrap_loses_it() -> None:
    """A plateau with steep walls at n = 30, ε₀ = 0, 400 samples: ≤ .05 + 3 s.e. = .083; the bootstrap more than .15.

    As in the evidence, each repeat takes 99 samples of a pool of 4,000.
    """
    width, n, repeats = 1e-3, 30, 400

    def score(x: Floats) -> Floats:
        return np.asarray(-(np.tanh((x + 1.0) / (2 * width)) + np.tanh((x - 1.0) / (2 * width))) / (2 * width))

    class Plateau:
        def score(self, x: Floats) -> Floats:
            return score(x)

        def sample(self, n: int, rng: np.random.Generator) -> Floats:
            return (rng.uniform(-1.0, 1.0, n) + width * rng.logistic(size=n))[:, None]

    model, rng = Plateau(), np.random.default_rng(5)
    problem = pose(model.sample(2, rng), model, sb.InverseMultiquadric(0.6), TILT)
    request = MonteCarlo(4000).request(n, np.random.SeedSequence(1))
    pool = ReplicatedGram(DenseGram(problem), problem, 64).summarise(request).prefix_norms
    assert pool is not None
    exact = bootstrap = 0
    for _ in range(repeats):
        there = pose(model.sample(n, rng), model, sb.InverseMultiquadric(0.6), TILT)
        weights = sb.WeightedBootstrap(99).request(n, np.random.SeedSequence(int(rng.integers(2**60))))
        summary = DenseGram(there).summarise(weights)
        ksd, chosen = math.sqrt(summary.mean), rng.choice(4000, 99, replace=False)
        null = MonteCarloNull(PrefixNorms(pool.norms[chosen], pool.uniforms[chosen]), 1.1 * width**-2, ksd)
        exact += null.pvalue(ksd, 0.0) <= 0.05
        bootstrap += sb.calibration.BootstrapNull.from_summary(summary, "v").pvalue(ksd, 0.0) <= 0.05
    assert exact / repeats <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / repeats)
    assert bootstrap / repeats >= 0.15


def test_what_is_meant_for_sets_that_allow_removal_is_told_from_what_is_meant_for_contamination() -> None:
    """Evidence keeps its null distribution as long as the calibration for another set equals its own."""
    problem = pose(np.arange(5.0), sb.models.Gaussian(), sb.InverseMultiquadric(1.0), "auto")
    tau = Supremum(2.0, "given")
    removal = sb.MonteCarlo(19).for_set(sb.TotalVariation(0.1), problem, tau)
    assert removal != sb.MonteCarlo(19)
    assert removal.for_set(sb.Huber(0.1), problem, tau) == sb.MonteCarlo(19)
