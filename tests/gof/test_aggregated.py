"""KSDAgg: against plain loops in exact fractions, over all signs, by simulation, and as a result.

Simulations: 400 repeats with fixed seeds at level 0.05. A test of level exactly 0.05 rejects between 8 and 36 times
with probability 0.9991: rates ``LOW`` = 0.02 to ``HIGH`` = 0.09.
"""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import steinball as sb
from steinball.arrays import as_seed
from steinball.evidence.kernels import AggregationEvidence
from steinball.gof.aggregated import POWERS, kernels_around, paper_kernels
from steinball.gram.request import Request
from steinball.gram.whole import DenseGram
from steinball.kernels import Gaussian
from steinball.kernels.base import median_distance
from steinball.problem import Problem
from steinball.results.aggregated import AggregatedResult
from steinball.stein import SteinKernel

LOW, HIGH = 8 / 400, 36 / 400
FEW: dict[str, Any] = {"n_resamples": 199, "n_resamples_level": 199}
MODEL = sb.models.Gaussian()


# A transcription in plain loops, from the definition of the test


def loop_stein(x: float, y: float, squared: float) -> float:
    """The Stein kernel of (1 + (x − y)²/ℓ²)^(−1/2) and the standard Gaussian on the line, from its four terms."""
    t = 1.0 + (x - y) ** 2 / squared
    k, dx = t**-0.5, -(x - y) / squared * t**-1.5
    dxdy = t**-1.5 / squared - 3.0 * (x - y) ** 2 / squared**2 * t**-2.5
    return float(x * y * k + (-x) * (-dx) + (-y) * dx + dxdy)


def loop_statistic(matrix: Sequence[Sequence[float]], signs: Sequence[int]) -> float:
    """The U-statistic with signs; rounded, so that values equal in theory are equal."""
    n = len(signs)
    total = sum(signs[i] * signs[j] * matrix[i][j] for i in range(n) for j in range(n) if i != j)
    return round(total / (n * (n - 1)), 10)


def loop_quantile(values: Sequence[float], level: Fraction) -> float:
    """The ⌈(B + 1)(1 − level)⌉-th smallest of B + 1 values."""
    return sorted(values)[math.ceil(len(values) * (1 - level)) - 1]


def loop_ksdagg(
    x: Any, scales: Any, signs: Any, level_signs: Any, level: float, bisections: int
) -> tuple[bool, Fraction]:
    """The decision and û, with weights 1/k, in exact fractions of the level."""
    weight = Fraction(1, len(scales))
    observed, pooled, others = [], [], []
    for squared in scales:
        matrix = [[loop_stein(a, b, squared) for b in x] for a in x]
        observed.append(loop_statistic(matrix, [1] * len(x)))
        pooled.append([loop_statistic(matrix, row) for row in signs] + observed[-1:])
        others.append([loop_statistic(matrix, row) for row in level_signs])
    low, high = Fraction(0), 1 / weight
    for _ in range(bisections):
        u = (low + high) / 2
        quantiles = [loop_quantile(values, u * weight) for values in pooled]
        exceeding = sum(
            any(draw > q for draw, q in zip(draws, quantiles, strict=True)) for draws in zip(*others, strict=True)
        )
        low, high = (u, high) if exceeding / len(level_signs) <= level else (low, u)
    quantiles = [loop_quantile(values, low * weight) for values in pooled]
    return any(value > q for value, q in zip(observed, quantiles, strict=True)), low


SCALES = (0.2, 2.0, 20.0)
KERNELS = tuple(sb.InverseMultiquadric(math.sqrt(squared)) for squared in SCALES)


def signs_of(seed: int, n: int, count: int) -> list[list[int]]:
    """The signs that a test with this seed draws."""
    chunks = sb.WildBootstrap(count).request(n, as_seed(seed)).weights
    return [[int(sign) for sign in row] for chunk in chunks for row in chunk]


@pytest.mark.exact
def test_the_loops_know_the_stein_kernel() -> None:
    x = np.array([[-0.3], [0.8], [2.0]])
    expected = [[loop_stein(a, b, 2.0) for b in x[:, 0]] for a in x[:, 0]]
    np.testing.assert_allclose(SteinKernel(KERNELS[1])(x, -x, x, -x), expected, rtol=1e-13)


@pytest.mark.exact
@pytest.mark.parametrize("bisections", [1, 4, 50])
@pytest.mark.parametrize(("seed", "shift"), [(0, 0.0), (1, 0.7), (2, 1.0), (3, 1.5), (4, 0.8)])
def test_decision_and_correction_are_those_of_plain_loops(seed: int, shift: float, bisections: int) -> None:
    x = np.random.default_rng(seed).normal(shift, size=10)
    signs = signs_of(seed, 10, 139)
    result = sb.ksdagg_test(
        x, MODEL, kernels=KERNELS, n_resamples=79, n_resamples_level=60, n_bisections=bisections, rng=seed
    )
    for level in (0.02, 0.05, 0.1, 0.25, 0.5):
        rejected, correction = loop_ksdagg(x, SCALES, signs[:79], signs[79:], level, bisections)
        asked = result.at(level=level)
        assert asked.correction == pytest.approx(float(correction), abs=1e-12)
        assert asked.rejected == rejected, level
        assert asked.rejected == (asked.pvalue <= level) == (asked.statistic > asked.threshold)
        assert asked.rejected == any(np.array(asked.squared_ksds) > np.array(asked.thresholds))


@pytest.mark.exact
def test_the_loops_see_both_decisions() -> None:
    """Else the test above would say little."""
    decisions = set()
    for seed, shift in ((0, 0.0), (3, 1.5)):
        x = np.random.default_rng(seed).normal(shift, size=10)
        decisions.add(
            sb.ksdagg_test(x, MODEL, kernels=KERNELS, n_resamples=79, n_resamples_level=60, rng=seed).rejected
        )
    assert decisions == {True, False}


@pytest.mark.exact
def test_statistics_and_draws_are_those_of_plain_loops() -> None:
    x = np.random.default_rng(5).normal(0.5, size=9)
    signs = signs_of(5, 9, 50)
    result = sb.ksdagg_test(x, MODEL, kernels=KERNELS, n_resamples=30, n_resamples_level=20, level=0.1, rng=5)
    evidence = result._evidence
    for k, squared in enumerate(SCALES):
        matrix = [[loop_stein(a, b, squared) for b in x] for a in x]
        assert result.squared_ksds[k] == pytest.approx(loop_statistic(matrix, [1] * 9), abs=1e-10)
        drawn = [loop_statistic(matrix, row) for row in signs]
        np.testing.assert_allclose(evidence.draws[k], drawn[:30], atol=1e-10)
        np.testing.assert_allclose(evidence.level_draws[k], drawn[30:], atol=1e-10)


# All signs


def evidence_of_all_signs(x: NDArray[np.float64], kernels: Sequence[Any]) -> AggregationEvidence:
    """With every sign vector once in the draws for the quantiles and once in those for the correction."""
    points = x[:, None]
    signs = np.array(list(product((-1, 1), repeat=len(x))), dtype=np.int8)
    problems = [Problem.at_scores(SteinKernel(kernel), MODEL, points, -points) for kernel in kernels]
    summaries = [DenseGram(problem).summarise(Request((signs, signs))) for problem in problems]
    return AggregationEvidence.of(problems, summaries, len(signs), 50)


@pytest.mark.exact
@pytest.mark.parametrize("shift", [0.0, 0.8, 1.5])
def test_over_all_signs_the_pvalue_is_the_share_of_signs_that_are_as_extreme(shift: float) -> None:
    x = np.random.default_rng(1).normal(shift, size=6)
    evidence = evidence_of_all_signs(x, KERNELS)
    matrices = [[[loop_stein(a, b, squared) for b in x] for a in x] for squared in SCALES]
    rows = list(product((-1, 1), repeat=6))
    values = [[loop_statistic(matrix, row) for row in rows] for matrix in matrices]
    pooled = [[*column, column[-1]] for column in values]  # the last row of signs is all ones: the statistic itself

    def rank(k: int, value: float) -> int:
        return sum(other >= value for other in pooled[k])

    least = min(rank(k, values[k][-1]) for k in range(3))
    as_extreme = sum(min(rank(k, values[k][b]) for k in range(3)) <= least for b in range(64))
    assert evidence.pvalue() == as_extreme / 64


@pytest.mark.exact
@pytest.mark.parametrize("level", [0.01, 0.05, 0.2])
@pytest.mark.parametrize("seed", range(3))
def test_over_all_signs_the_correction_is_at_least_bonferronis(seed: int, level: float) -> None:
    """Each kernel rejects at most T of 2¹⁰ signs, all three at most 3T: û ≥ α less the step of the quantiles."""
    x = np.random.default_rng(seed).normal(size=10)
    result = evidence_of_all_signs(x, KERNELS).decide(sb.Huber(0.0), level)["correction"]
    assert result >= level - 3 / 1025
    assert result < 3.0 * level + 3 * 3 / 1025  # no kernel alone may reject more than α; ± mirrored signs


@pytest.mark.exact
@pytest.mark.parametrize("level", [0.05, 0.2])
def test_kernels_that_are_all_the_same_cost_nothing(level: float) -> None:
    """Then each is tested at the level itself, where Bonferroni would divide it by five."""
    x = np.random.default_rng(0).normal(0.3, size=60)
    options: dict[str, Any] = {"n_resamples": 1999, "n_resamples_level": 1999, "rng": 0, "level": level}
    five = sb.ksdagg_test(x, MODEL, kernels=[sb.InverseMultiquadric(1.0)] * 5, **options)
    one = sb.ksdagg_test(x, MODEL, kernels=[sb.InverseMultiquadric(1.0)], **options)
    assert five.correction == pytest.approx(5.0 * one.correction, rel=1e-12)
    assert one.correction == pytest.approx(level, abs=4.0 * math.sqrt(2.0 * level * (1.0 - level) / 1999))
    assert (five.rejected, five.pvalue) == (one.rejected, one.pvalue)


@pytest.mark.exact
@pytest.mark.parametrize("shift", [0.4, 0.8])
def test_the_pvalue_of_a_kernel_alone_is_that_of_the_ksd_test(shift: float) -> None:
    x = np.random.default_rng(3).normal(shift, size=40)
    result = sb.ksdagg_test(x, MODEL, kernels=KERNELS, n_resamples=299, n_resamples_level=99, rng=11)
    for kernel, pvalue, squared in zip(KERNELS, result.pvalues, result.squared_ksds, strict=True):
        alone = sb.ksd_test(x, MODEL, kernel=kernel, estimator="u", calibration=sb.WildBootstrap(299), rng=11)
        assert squared == pytest.approx(alone.squared_ksd, rel=1e-12)
        assert pvalue == alone.pvalue


# What follows from the draws


@pytest.mark.exact
@pytest.mark.parametrize("bisections", [1, 2, 3, 7, 50])
@pytest.mark.parametrize("shift", [0.0, 0.3, 0.6])
def test_the_pvalue_is_the_smallest_level_that_rejects(shift: float, bisections: int) -> None:
    x = np.random.default_rng(2).normal(shift, size=30)
    result = sb.ksdagg_test(x, MODEL, kernels=KERNELS, n_bisections=bisections, rng=0, **FEW)
    levels = sorted({*np.linspace(0.005, 0.5, 67).tolist(), *(k / 199 for k in range(1, 100, 3))})
    decisions = [result.at(level=level) for level in levels]
    rejected = [decision.rejected for decision in decisions]
    assert rejected == sorted(rejected)  # once rejected, rejected at every larger level
    assert rejected == [result.pvalue <= level for level in levels]
    assert rejected == [decision.statistic > 0.0 for decision in decisions]
    corrections = [decision.correction for decision in decisions]
    assert corrections == sorted(corrections)


@pytest.mark.exact
def test_no_pvalue_is_zero() -> None:
    """No draw of the correction comes near the statistic: the smallest p-value is 1/(B₂ + 1)."""
    points = np.zeros((5, 1))
    problem = Problem.at_scores(SteinKernel(KERNELS[0]), MODEL, points, points)
    draws, others = np.arange(99.0)[None] + 0.5, np.arange(49.0)[None]
    sums = DenseGram(problem).summarise(Request())
    evidence = AggregationEvidence((problem,), (sums,), np.array([1000.0]), draws, others, 50)
    assert evidence.pvalue() == 1 / 50
    assert evidence.decide(sb.Huber(0.0), 1 / 50)["pvalue"] == 1 / 50
    assert evidence.decide(sb.Huber(0.0), 1 / 50)["statistic"] > 0.0


@pytest.mark.exact
@pytest.mark.parametrize("value", [1000.0, -1000.0, 0.0])
def test_ties_count_against_a_rejection(value: float) -> None:
    """A value within rounding of another ranks no higher than it, whether it is above or below."""
    points = np.zeros((5, 1))
    problem = Problem.at_scores(SteinKernel(KERNELS[0]), MODEL, points, points)
    far = np.full(4, -5000.0)
    for tied in (value, value * (1.0 + 1e-12), value * (1.0 - 1e-12)):
        others = np.array([[tied, *far]])
        evidence = AggregationEvidence((problem,), (), np.array([value]), others, others, 50)
        assert evidence.ranks.tolist() == [2]  # itself and the draw
        assert evidence.level_ranks.tolist() == [2, 6, 6, 6, 6]
        assert evidence.pvalue() == 1 / 5


@pytest.mark.exact
def test_more_bisections_than_draws_change_no_decision() -> None:
    for seed in range(10):
        x = np.random.default_rng(seed).normal(0.35, size=30)
        results = [sb.ksdagg_test(x, MODEL, n_bisections=b, rng=seed, **FEW) for b in (8, 9, 20, 50)]
        assert len({(result.rejected, result.pvalue) for result in results}) == 1


@pytest.mark.exact
def test_too_few_draws_for_a_share_of_the_level_are_refused() -> None:
    """19 draws for five kernels reach .05 for one kernel, and .25 for all of them."""
    x = np.random.default_rng(2).normal(5.0, size=50)
    with pytest.raises(ValueError, match=r"`n_resamples=19` cannot reach `level=0.05` over 5 kernels.*at least 99"):
        sb.ksdagg_test(x, MODEL, n_resamples=19, rng=0)
    assert sb.ksdagg_test(x, MODEL, n_resamples=99, rng=0).rejected


@pytest.mark.exact
def test_too_few_draws_for_the_quantiles_reject_nothing() -> None:
    """19 draws for five kernels: the correction finds no level at which each may be tested."""
    x = np.random.default_rng(2).normal(3.0, size=50)
    result = sb.ksdagg_test(x, MODEL, n_resamples=19, n_resamples_level=1999, rng=0, level=0.3).at(level=0.05)
    assert not result.rejected
    assert result.correction < 5 / 20
    assert result.statistic == -math.inf
    assert set(result.thresholds) == {math.inf}
    assert result.to_dict()["statistic"] is None


@pytest.mark.exact
def test_the_kernel_named_is_the_most_extreme_one() -> None:
    x = np.random.default_rng(2).normal(0.4, size=60)
    result = sb.ksdagg_test(x, MODEL, rng=0, **FEW)
    chosen = int(np.argmin(result.pvalues))
    assert result.kernel == result.kernels[chosen]
    assert result.squared_ksd == result.squared_ksds[chosen]
    assert result.ksd == pytest.approx(math.sqrt(result.squared_ksd), rel=1e-15)
    assert result.radius == 0.0


# Collections


@pytest.mark.exact
def test_the_default_collection_is_the_papers() -> None:
    result = sb.ksdagg_test(np.arange(30.0) / 10.0 - 1.5, MODEL, rng=0, **FEW)
    assert result.kernels == paper_kernels()
    assert [k.lengthscale**2 for k in result.kernels] == pytest.approx([0.02, 0.2, 2.0, 20.0, 200.0])  # type: ignore[attr-defined]


@pytest.mark.exact
def test_the_median_collection_follows_the_scale_of_the_data() -> None:
    x, plain = np.random.default_rng(0).normal(0.3, 1.0, size=40), {**FEW, "standardize": False}
    small, large = (
        sb.ksdagg_test(scale * x, sb.models.Gaussian(0.0, scale**2), kernels="median", rng=0, level=0.1, **plain)
        for scale in (1.0, 1000.0)
    )
    assert len(small.kernels) == 11
    assert small.kernels == kernels_around(median_distance(x), POWERS)
    scales = [k.lengthscale / sb.kernels.median_distance(x) for k in small.kernels]  # type: ignore[attr-defined]
    assert scales == pytest.approx([1 / 32, 1 / 16, 1 / 8, 1 / 4, 1 / 2, 1, 2, 4, 8, 16, 32])
    assert large.pvalue == small.pvalue
    assert large.squared_ksds == pytest.approx(np.array(small.squared_ksds) * 1e-6, rel=1e-9)


@pytest.mark.exact
def test_a_tilt_is_that_of_the_ksd_test() -> None:
    x = np.random.default_rng(0).normal(0.3, 1.0, size=40)
    for tilt in (sb.PolynomialTilt(), "auto"):
        result = sb.ksdagg_test(x, MODEL, tilt=tilt, rng=0, **FEW)
        options: dict[str, Any] = {"estimator": "u", "calibration": sb.WildBootstrap(19)}
        middle = sb.ksd_test(x, MODEL, kernel=result.kernels[len(result.kernels) // 2], tilt=tilt, **options)
        assert repr(middle.tilt) == repr(result.tilt)
        for kernel, squared in zip(result.kernels, result.squared_ksds, strict=True):
            alone = sb.ksd_test(x, MODEL, kernel=kernel, tilt=result.tilt, **options)
            assert squared == pytest.approx(alone.squared_ksd, rel=1e-10)


@pytest.mark.exact
def test_scaling_a_kernel_changes_nothing() -> None:
    x = np.random.default_rng(0).normal(0.4, 1.0, size=40)
    plain = sb.ksdagg_test(x, MODEL, kernels=KERNELS, rng=0, **FEW)
    scaled = sb.ksdagg_test(x, MODEL, kernels=[1000.0 * KERNELS[0], KERNELS[1], 0.001 * KERNELS[2]], rng=0, **FEW)
    assert (plain.pvalue, plain.correction, plain.pvalues) == (scaled.pvalue, scaled.correction, scaled.pvalues)


# Inputs, engines, libraries


@pytest.mark.exact
def test_the_score_is_evaluated_once() -> None:
    calls = []

    def score(x: Any) -> Any:
        calls.append(len(x))
        return -x

    sb.ksdagg_test(np.random.default_rng(0).normal(size=40), score, rng=0, **FEW)
    assert calls == [40]


@pytest.mark.exact
def test_engines_agree() -> None:
    x = np.random.default_rng(0).normal(0.15, size=(300, 2))
    options: dict[str, Any] = {"rng": 0, **FEW}
    dense, blocked, chosen = (
        sb.ksdagg_test(x, lambda x: -x, engine=engine, **options) for engine in ("dense", "blocked", "auto")
    )
    assert (dense.engine, blocked.engine, chosen.engine) == ("dense", "blocked", "blocked")
    assert dense.squared_ksds == pytest.approx(blocked.squared_ksds, rel=1e-9, abs=1e-15)
    assert (dense.pvalue, dense.correction) == (blocked.pvalue, blocked.correction)
    assert sb.ksdagg_test(x[:50], lambda x: -x, **options).engine == "dense"


@pytest.mark.exact
def test_a_seed_fixes_everything() -> None:
    x = np.random.default_rng(0).normal(0.3, size=40)
    first, again, other = (sb.ksdagg_test(x, MODEL, rng=seed, **FEW) for seed in (1, 1, 2))
    assert first.to_dict() == again.to_dict()
    assert first.to_dict() != other.to_dict()


@pytest.mark.backend
def test_every_array_library_gives_the_same_numbers(xp: Any) -> None:
    x = np.random.default_rng(0).normal(0.3, size=(40, 2))
    expected = sb.ksdagg_test(x, lambda x: -x, rng=0, **FEW)
    found = sb.ksdagg_test(xp.asarray(x), lambda x: -x, rng=0, **FEW)
    assert found.squared_ksds == pytest.approx(expected.squared_ksds, rel=1e-9, abs=1e-14)
    assert (found.pvalue, found.correction) == (expected.pvalue, expected.correction)


@pytest.mark.exact
def test_what_cannot_be_used_is_refused_by_name() -> None:
    x = np.random.default_rng(0).normal(size=30)
    with pytest.raises(TypeError, match=r"`kernels` must be a sequence of kernels.*use `ksd_test`"):
        sb.ksdagg_test(x, MODEL, kernels=Gaussian(1.0))  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"`kernels` must be kernels .* got 1.0"):
        sb.ksdagg_test(x, MODEL, kernels=[Gaussian(1.0), 1.0])  # type: ignore[list-item]
    with pytest.raises(ValueError, match="at least one kernel"):
        sb.ksdagg_test(x, MODEL, kernels=[])
    with pytest.raises(ValueError, match="\"median\" or None, got 'mean'"):
        sb.ksdagg_test(x, MODEL, kernels="mean")
    with pytest.raises(ValueError, match="`engine` must be"):
        sb.ksdagg_test(x, MODEL, engine="lowrank")
    with pytest.raises(ValueError, match="`engine` must be"):
        sb.ksdagg_test(x, MODEL, engine="sparse")
    with pytest.raises(ValueError, match="Use at least 19"):
        sb.ksdagg_test(x, MODEL, n_resamples_level=10)
    with pytest.raises(ValueError, match="`n_resamples_level` must be at least 1"):
        sb.ksdagg_test(x, MODEL, n_resamples_level=0)
    with pytest.raises(TypeError, match="`n_bisections` must be a whole number"):
        sb.ksdagg_test(x, MODEL, n_bisections=2.5)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="cannot reach"):
        sb.ksdagg_test(x, MODEL, **FEW).at(level=0.001)


# The result


@pytest.mark.exact
def test_at_computes_nothing_again(monkeypatch: pytest.MonkeyPatch) -> None:
    x = np.random.default_rng(0).normal(0.3, size=40)
    first, expected = (sb.ksdagg_test(x, MODEL, level=level, rng=1, **FEW) for level in (0.05, 0.2))
    monkeypatch.setattr("steinball.gof.assess.make_gram", None)
    assert first.at(level=0.2).to_dict() == expected.to_dict()


@pytest.mark.exact
def test_the_result_can_be_written_down() -> None:
    x = np.random.default_rng(0).normal(0.5, size=60)
    result = sb.ksdagg_test(x, MODEL, tilt="auto", rng=1, **FEW)
    said = json.loads(json.dumps(result.to_dict(), allow_nan=False))
    assert said["schema"] == "steinball.ksdagg/2"
    assert (said["pvalue"], said["correction"]) == (result.pvalue, result.correction)
    assert len(said["kernels"]) == len(said["thresholds"]) == 5
    assert f"pvalue={result.pvalue:.4g}" in repr(result)
    assert all(len(line) <= 80 for line in result.summary(details=True).splitlines())
    assert ("NOT REJECTED" in result.summary(details=True)) == (not result.rejected)
    with pytest.raises(dataclasses.FrozenInstanceError):
        result.pvalue = 0.0  # type: ignore[misc]


# Level and power


def run(repeats: int, n: int, shift: float = 0.0, scale: float = 1.0, **options: Any) -> list[AggregatedResult]:
    """Tests of samples of N(shift, scale²)."""
    rngs = (np.random.default_rng([seed, n]) for seed in range(repeats))
    options = {**FEW, **options}
    return [sb.ksdagg_test(rng.normal(shift, scale, size=n), MODEL, rng=rng, **options) for rng in rngs]


def rate(results: list[AggregatedResult]) -> float:
    return sum(result.rejected for result in results) / len(results)


@pytest.mark.calibration
@pytest.mark.parametrize("tilt", [None, sb.PolynomialTilt()], ids=["standard", "tilted"])
def test_five_kernels_reject_the_model_itself_at_one_level(tilt: Any) -> None:
    """The correction is worth more than Bonferroni's û = 0.05 on average; without it the level is lost."""
    results = run(400, 100, tilt=tilt)
    assert LOW / 2 <= rate(results) <= HIGH  # the wild bootstrap is a little conservative
    assert 0.055 < np.mean([result.correction for result in results]) < 0.15
    assert sum(min(result.pvalues) <= 0.05 for result in results) / 400 > HIGH


@pytest.mark.calibration
@pytest.mark.parametrize(("shift", "scale"), [(1.0, 1.0), (0.0, 2.0)], ids=["shift", "scale"])
def test_other_distributions_are_found(shift: float, scale: float) -> None:
    """With 199 draws the noise of the correction alone would cost some of these."""
    assert rate(run(100, 80, shift, scale, n_resamples=999, n_resamples_level=999)) >= 0.95


@pytest.mark.calibration
def test_it_is_not_robust() -> None:
    """§5.1: a few outliers, which the robust test tolerates, are rejected."""
    rejected = 0
    for seed in range(50):
        rng = np.random.default_rng(seed)
        x = sb.datasets.contaminate(rng.normal(size=200), 0.04, 10.0, rng)
        rejected += sb.ksdagg_test(x, MODEL, rng=rng, **FEW).rejected
    assert rejected >= 48
