"""The robust two-sample tests dcMMD and MMD-Dev: against plain loops over every split, by simulation, and as results.

Simulations: 400 repeats with fixed seeds at level 0.05. A test of level exactly 0.05 rejects between 8 and 36 times
with probability 0.9991: rates ``LOW`` = 0.02 to ``HIGH`` = 0.09.
"""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Callable, Sequence
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import steinball as sb
from steinball.arrays import as_seed
from steinball.gof import mmd
from steinball.gof.mmd import MMDResult
from steinball.gram.weights import WeightStream, gather
from steinball.kernels import Gaussian, Kernel

LOW, HIGH = 8 / 400, 36 / 400
Test = Callable[..., MMDResult]
TESTS = pytest.mark.parametrize("test", [sb.dcmmd_test, sb.mmd_dev_test], ids=["dcMMD", "MMD-Dev"])


# A transcription in plain loops, from the paper's App. B


def gaussian(a: Sequence[float], b: Sequence[float], lengthscale: float) -> float:
    return math.exp(-sum((s - t) ** 2 for s, t in zip(a, b, strict=True)) / (2.0 * lengthscale**2))


def loop_mmd(x: Any, y: Any, k: Callable[[Any, Any], float]) -> float:
    """The root of mean k(x, x′) + mean k(y, y′) − 2 mean k(x, y), diagonals included."""
    within_x = sum(k(a, b) for a in x for b in x) / len(x) ** 2
    within_y = sum(k(a, b) for a in y for b in y) / len(y) ** 2
    between = sum(k(a, b) for a in x for b in y) / (len(x) * len(y))
    return math.sqrt(max(0.0, within_x + within_y - 2.0 * between))


def loop_splits(x: Any, y: Any, k: Callable[[Any, Any], float]) -> list[float]:
    """The MMD of every way to split the pooled sample into groups of these sizes; the observed one comes first."""
    pooled = [*x, *y]
    values = []
    for chosen in combinations(range(len(pooled)), len(x)):
        rest = [i for i in range(len(pooled)) if i not in chosen]
        values.append(loop_mmd([pooled[i] for i in chosen], [pooled[i] for i in rest], k))
    return values


def loop_dcmmd(observed: float, draws: Sequence[float], contamination: float, level: float, peak: float) -> bool:
    """D > q + 2 ε √(2K), q the quantile of the draws with D among them; equal up to rounding is equal."""
    values = sorted([*draws, observed])
    quantile = values[math.ceil((1.0 - level) * len(values) - 1e-9) - 1]
    return observed > (quantile + 2.0 * contamination * math.sqrt(2.0 * peak)) * (1.0 + 1e-10)


def small(seed: int, n: int = 4, m: int = 4, d: int = 2, shift: float = 1.0) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    return rng.normal(shift, size=(n, d)), rng.normal(size=(m, d))


def all_splits(n: int, m: int) -> NDArray[np.bool_]:
    chosen = list(combinations(range(n + m), n))
    rows = np.zeros((len(chosen), n + m), dtype=np.bool_)
    for row, indices in zip(rows, chosen, strict=True):
        row[list(indices)] = True
    return rows


@pytest.mark.exact
@pytest.mark.parametrize(("n", "m", "d"), [(4, 4, 2), (3, 5, 1), (5, 3, 3), (1, 6, 2)])
@pytest.mark.parametrize("tile", [2, 3, 256])
def test_every_split_has_the_discrepancy_of_plain_loops(
    n: int, m: int, d: int, tile: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mmd, "_TILE", tile)
    x, y = small(n, n, m, d)
    squares = mmd.split_squares(np.concatenate([x, y]), Gaussian(1.3), all_splits(n, m))
    expected = np.square(loop_splits(x.tolist(), y.tolist(), lambda a, b: gaussian(a, b, 1.3)))
    np.testing.assert_allclose(squares, expected, rtol=1e-12, atol=1e-15)


OTHER_KERNELS: list[Kernel] = [
    sb.InverseMultiquadric(0.7),
    sb.Matern(2.0, 1.5),
    2.5 * Gaussian(1.0) + sb.InverseMultiquadric(2.0, 1.5),
    Gaussian(1.0, metric=[[2.0, 0.5], [0.5, 1.0]]),
]


@pytest.mark.exact
@pytest.mark.parametrize("kernel", OTHER_KERNELS, ids=lambda k: type(k).__name__)
def test_the_discrepancy_is_that_of_plain_loops_for_every_kind_of_kernel(kernel: Kernel) -> None:
    x, y = small(3, 5, 4)

    def k(a: Any, b: Any) -> float:
        return float(kernel(np.array([a]), np.array([b]))[0, 0])

    for test in (sb.dcmmd_test, sb.mmd_dev_test):
        result = test(x, y, contamination=0.1, kernel=kernel)
        assert result.mmd == pytest.approx(loop_mmd(x, y, k), rel=1e-12)
        assert result.squared_mmd == pytest.approx(result.mmd**2, rel=1e-12)


@pytest.mark.exact
@pytest.mark.parametrize("shift", [0.0, 1.0, 3.0])
@pytest.mark.parametrize("seed", range(4))
def test_dcmmd_decides_as_its_definition(seed: int, shift: float) -> None:
    """At every tolerance and level, from the draws that the result shows; levels at which B + 1 divides exactly too."""
    x, y = small(seed, 6, 6, 1, shift)
    result = sb.dcmmd_test(x, y, contamination=0.0, kernel=Gaussian(1.0), n_resamples=199, rng=seed)
    observed = loop_mmd(x.tolist(), y.tolist(), lambda a, b: gaussian(a, b, 1.0))
    assert result.draws is not None
    decisions = set()
    for contamination in (0.0, 0.01, 0.05, 0.1, 0.2, 0.3):
        for level in (0.005, 0.01, 0.05, 0.1, 0.123, 0.5):
            asked = result.at(contamination=contamination, level=level)
            expected = loop_dcmmd(observed, result.draws.tolist(), contamination, level, peak=1.0)
            decisions.add(expected)
            assert asked.rejected == expected, (contamination, level)
            assert asked.rejected == (asked.pvalue <= level) == (asked.statistic > asked.threshold)
    assert decisions == {True, False} or (decisions == {False} and shift == 0.0)


@pytest.mark.exact
def test_random_splits_are_all_splits_alike() -> None:
    """20 splits of 3 + 3 points in 10 mirrored pairs: χ² with 9 degrees of freedom exceeds 33.7 once in 10,000."""
    x, y = small(0, 3, 3)
    result = sb.dcmmd_test(x, y, contamination=0.0, kernel=Gaussian(1.0), n_resamples=5000, rng=0)
    values = sorted(loop_splits(x.tolist(), y.tolist(), lambda a, b: gaussian(a, b, 1.0)))[::2]
    assert result.draws is not None
    nearest = np.argmin(np.abs(result.draws[:, None] - np.array(values)), axis=1)
    np.testing.assert_allclose(result.draws, np.array(values)[nearest], rtol=1e-10)
    counts = np.bincount(nearest, minlength=10)
    assert np.sum((counts - 500.0) ** 2 / 500.0) < 33.7


@pytest.mark.exact
@pytest.mark.parametrize(("n", "m"), [(5, 5), (4, 6)])
def test_the_pvalue_tends_to_that_of_all_permutations(n: int, m: int) -> None:
    """B = 4999, four standard errors and the 1/(B + 1) of the observed value."""
    for seed in range(4):
        x, y = small(seed, n, m, 1, 0.7)
        values = loop_splits(x.tolist(), y.tolist(), lambda a, b: gaussian(a, b, 1.0))
        exact = np.mean(np.array(values) >= values[0] * (1.0 - 1e-10))
        found = sb.dcmmd_test(x, y, contamination=0.0, kernel=Gaussian(1.0), n_resamples=4999, rng=seed).pvalue
        assert abs(found - exact) <= 4.0 * math.sqrt(exact * (1.0 - exact) / 4999) + 1 / 5000


@pytest.mark.exact
def test_the_observed_split_is_among_the_values() -> None:
    """So the smallest p-value is 1/(B + 1), and never 0."""
    x = np.arange(20.0)
    result = sb.dcmmd_test(x, x + 1000.0, contamination=0.0, kernel=Gaussian(5.0), n_resamples=99, rng=0)
    assert result.pvalue == 1 / 100
    assert result.at(level=0.01).rejected


# The numbers of the definitions


@pytest.mark.exact
@pytest.mark.parametrize("peak", [1.0, 4.0])
@pytest.mark.parametrize(("n", "m"), [(8, 8), (8, 12)])
def test_the_shift_of_dcmmd_is_two_epsilon_root_two_k(n: int, m: int, peak: float) -> None:
    x, y = small(0, n, m)
    result = sb.dcmmd_test(x, y, contamination=0.05, kernel=peak * Gaussian(1.0), rng=0)
    assert result.radius == pytest.approx(0.1 * math.sqrt(2.0 * peak), rel=1e-14)
    assert result.statistic == max(0.0, result.mmd - result.radius)


@pytest.mark.exact
def test_with_fewer_points_of_the_model_the_shift_of_dcmmd_grows() -> None:
    x, y = small(0, 12, 8)
    assert sb.dcmmd_test(x, y, contamination=0.05, rng=0).radius == pytest.approx(0.1 * math.sqrt(2.0) * 1.5, rel=1e-14)


@pytest.mark.exact
@pytest.mark.parametrize("peak", [1.0, 4.0])
def test_the_threshold_of_mmd_dev_is_the_papers(peak: float) -> None:
    x, y = small(0, 50, 50)
    result = sb.mmd_dev_test(x, y, contamination=0.05, kernel=peak * Gaussian(1.0), level=0.1)
    assert result.radius == pytest.approx(0.05 * math.sqrt(2.0 * peak), rel=1e-14)
    assert result.threshold == pytest.approx(math.sqrt(2.0 * peak / 50) * (1.0 + math.sqrt(-math.log(0.1))), rel=1e-14)


@pytest.mark.exact
def test_more_points_of_the_model_lower_the_threshold_of_mmd_dev_to_that_of_one_sample() -> None:
    x, y = small(0, 50, 200)
    threshold = sb.mmd_dev_test(x, y, contamination=0.0).threshold
    assert threshold == pytest.approx(math.sqrt(1 / 50 + 1 / 200) * (1.0 + math.sqrt(-math.log(0.05))), rel=1e-14)


@pytest.mark.exact
def test_the_pvalue_of_mmd_dev_inverts_its_threshold() -> None:
    x, y = small(1, 60, 60, shift=2.0)
    result = sb.mmd_dev_test(x, y, contamination=0.1)
    assert 0.0 < result.pvalue < 0.05
    at_edge = result.at(level=result.pvalue)
    assert at_edge.threshold == pytest.approx(result.statistic, rel=1e-12)
    assert result.at(level=result.pvalue * 1.001).rejected
    assert not result.at(level=result.pvalue * 0.999).rejected
    assert result.at(contamination=1.0).pvalue == 1.0


@pytest.mark.exact
@TESTS
def test_the_contamination_bound_is_where_the_decision_turns(test: Test) -> None:
    x, y = small(1, 80, 80, shift=2.0)
    result = test(x, y, contamination=0.0, rng=0)
    bound = result.contamination_bound
    assert 0.0 < bound < 1.0
    assert result.at(contamination=bound * 0.999).rejected
    assert not result.at(contamination=bound * 1.001).rejected
    assert test(y, y, contamination=0.0, rng=0).contamination_bound == 0.0


@pytest.mark.exact
def test_replaced_points_move_the_discrepancy_by_at_most_half_the_shift_of_dcmmd() -> None:
    """What the two halves of 2ε√(2K) are for; points far from everything come within 10 % of it."""
    rng = np.random.default_rng(0)
    y = np.zeros((40, 1))  # all alike, so that the bound can be reached
    shares = []
    for r in (1, 5, 20, 39):
        x = np.zeros((40, 1))
        before = sb.mmd_dev_test(x, y, contamination=r / 40, kernel=Gaussian(1.0))
        for place in (np.full((r, 1), 100.0), rng.normal(size=(r, 1)), rng.normal(scale=100.0, size=(r, 1))):
            x[:r] = place
            after = sb.mmd_dev_test(x, y, contamination=r / 40, kernel=Gaussian(1.0))
            shares.append((after.mmd - before.mmd) / after.radius)
            assert abs(after.mmd - before.mmd) <= after.radius * (1.0 + 1e-9)
    assert max(shares) > 0.999


# Invariances, randomness, inputs


@pytest.mark.exact
@TESTS
def test_order_origin_and_rotation_do_not_matter(test: Test) -> None:
    x, y = small(2, 30, 30, 2, 0.3)
    turn = np.array([[0.6, -0.8], [0.8, 0.6]])
    first = test(x, y, contamination=0.02, rng=1)
    for other in (
        test(x + 1e6, y + 1e6, contamination=0.02, rng=1),
        test(x @ turn, y @ turn, contamination=0.02, rng=1),
        test(5.0 * x, 5.0 * y, contamination=0.02, rng=1),  # the default length scale follows
    ):
        assert other.mmd == pytest.approx(first.mmd, rel=1e-8)
        assert other.pvalue == pytest.approx(first.pvalue, rel=1e-8)
    assert test(x[::-1], y, contamination=0.02, rng=1).mmd == pytest.approx(first.mmd, rel=1e-12)
    assert test(y, x, contamination=0.02, rng=1).mmd == pytest.approx(first.mmd, rel=1e-12)


@pytest.mark.exact
@TESTS
def test_scaling_the_kernel_changes_no_pvalue(test: Test) -> None:
    x, y = small(2, 40, 40, 1, 2.0)
    plain = test(x, y, contamination=0.1, kernel=Gaussian(1.0), rng=1)
    scaled = test(x, y, contamination=0.1, kernel=9.0 * Gaussian(1.0), rng=1)
    assert scaled.mmd == pytest.approx(3.0 * plain.mmd, rel=1e-12)
    assert scaled.pvalue == pytest.approx(plain.pvalue, rel=1e-9)


@pytest.mark.exact
def test_the_default_kernel_is_gaussian_at_the_median_distance_of_both_samples() -> None:
    x, y = small(0, 20, 30)
    kernel = sb.mmd_dev_test(x, y, contamination=0.0).kernel
    assert kernel == Gaussian(sb.kernels.median_distance(np.concatenate([x, y])))


@pytest.mark.exact
def test_a_seed_fixes_the_draws_and_another_changes_them() -> None:
    x, y = small(0, 20, 20)
    first, again, other = (sb.dcmmd_test(x, y, contamination=0.0, rng=seed).draws for seed in (3, 3, 4))
    assert np.array_equal(first, again)  # type: ignore[arg-type]
    assert not np.array_equal(first, other)  # type: ignore[arg-type]
    generator = np.random.default_rng(0)
    one, two = (sb.dcmmd_test(x, y, contamination=0.0, rng=generator).draws for _ in range(2))
    assert not np.array_equal(one, two)  # type: ignore[arg-type]


@pytest.mark.exact
def test_more_draws_keep_the_earlier_ones() -> None:
    x, y = small(0, 10, 10)
    few, many = (sb.dcmmd_test(x, y, contamination=0.0, n_resamples=b, rng=1).draws for b in (100, 300))
    assert few is not None
    assert many is not None
    np.testing.assert_allclose(few, many[:100], rtol=1e-12)


class Recorder:
    """A model that remembers what was drawn from it."""

    def __init__(self) -> None:
        self.drawn: list[Any] = []

    def sample(self, n: int, rng: Any) -> Any:
        self.drawn.append(np.random.default_rng(rng).normal(size=(n, 2)))
        return self.drawn[-1]


@pytest.mark.exact
@TESTS
def test_a_model_is_sampled_as_often_as_there_are_data(test: Test) -> None:
    x, _ = small(0, 25)
    model = Recorder()
    result = test(x, model, contamination=0.05, rng=7)
    assert [y.shape for y in model.drawn] == [(25, 2)]
    assert test(x, model.drawn[0], contamination=0.05, rng=7).to_dict() == result.to_dict()
    test(x, model, contamination=0.05, rng=7)
    test(x, model, contamination=0.05, rng=8)
    assert np.array_equal(model.drawn[0], model.drawn[1])
    assert not np.array_equal(model.drawn[0], model.drawn[2])


@pytest.mark.exact
def test_the_splits_are_the_same_whether_the_model_was_drawn_from_or_not() -> None:
    """Drawing and splitting have random numbers of their own."""
    x, _ = small(0, 25)
    model = Recorder()
    drawn = sb.dcmmd_test(x, model, contamination=0.0, rng=7).draws
    given = sb.dcmmd_test(x, model.drawn[0], contamination=0.0, rng=7).draws
    assert np.array_equal(drawn, given)  # type: ignore[arg-type]


@pytest.mark.exact
@TESTS
def test_frames_are_samples_although_they_have_a_method_of_that_name(test: Test) -> None:
    pd = pytest.importorskip("pandas")
    x, y = small(0, 20, 20)
    framed = test(pd.DataFrame(x), pd.DataFrame(y), contamination=0.05, rng=0)
    assert framed.to_dict() == test(x, y, contamination=0.05, rng=0).to_dict()


@pytest.mark.exact
@TESTS
def test_far_points_overflow_into_unlike_and_not_into_an_answer(test: Test) -> None:
    x, y = small(0, 20, 20)
    x[0] = 1e200
    assert math.isfinite(test(x, y, contamination=0.05, kernel=Gaussian(1.0), rng=0).mmd)
    with pytest.raises(FloatingPointError, match="overflows"):
        test(x, y, contamination=0.05, kernel=sb.Matern(1.0), rng=0)


@pytest.mark.exact
@TESTS
def test_what_cannot_be_used_is_refused_by_name(test: Test) -> None:
    x, y = small(0, 20, 20)
    with pytest.raises(TypeError, match=r"`y` must be a sample of the model.*got function"):
        test(x, lambda x: -x, contamination=0.1)
    with pytest.raises(TypeError, match=r"`y` must be a sample of the model.*got Gaussian"):
        test(x, sb.models.Gaussian, contamination=0.1)
    with pytest.raises(ValueError, match=r"`y` must have the 2 columns"):
        test(x, y[:, :1], contamination=0.1)
    with pytest.raises(ValueError, match=r"`y.sample\(n, rng\)` must have the 2 columns"):
        test(x, sb.models.Gaussian(), contamination=0.1)
    with pytest.raises(ValueError, match="`y` must be finite"):
        test(x, np.where(y == y[0], np.nan, y), contamination=0.1)
    with pytest.raises(ValueError, match="`contamination`"):
        test(x, y, contamination=1.5)
    with pytest.raises(TypeError, match="`kernel` must be a kernel"):
        test(x, y, contamination=0.1, kernel="gaussian")
    with pytest.raises(ValueError, match="`level`"):
        test(x, y, contamination=0.1, level=0.0)
    with pytest.raises(TypeError, match="contamination"):
        test(x, y)


@pytest.mark.exact
def test_a_level_that_the_draws_cannot_reach_is_refused() -> None:
    x, y = small(0, 20, 20)
    with pytest.raises(ValueError, match="Use at least 19"):
        sb.dcmmd_test(x, y, contamination=0.1, n_resamples=10)
    with pytest.raises(ValueError, match="cannot reach"):
        sb.dcmmd_test(x, y, contamination=0.1, n_resamples=99).at(level=0.001)


# The result


@pytest.mark.exact
@TESTS
def test_at_gives_what_the_test_itself_would_have_given(test: Test, monkeypatch: pytest.MonkeyPatch) -> None:
    x, y = small(0, 40, 40, shift=0.8)
    first = test(x, y, contamination=0.0, rng=0)
    expected = {(c, a): test(x, y, contamination=c, level=a, rng=0) for c in (0.0, 0.03, 0.2) for a in (0.01, 0.3)}
    monkeypatch.setattr(mmd, "split_squares", None)  # nothing is computed again
    for (contamination, level), result in expected.items():
        assert first.at(contamination=contamination, level=level).to_dict() == result.to_dict()
    assert first.at().to_dict() == first.to_dict()
    assert first.at(level=0.3).contamination == 0.0
    assert first.at(contamination=0.2).level == 0.05


@pytest.mark.exact
@TESTS
def test_the_result_can_be_written_down(test: Test) -> None:
    x, y = small(0, 40, 40, shift=0.8)
    result = test(x, y, contamination=0.05, rng=0)
    said = json.loads(json.dumps(result.to_dict(), allow_nan=False))
    assert said["schema"] == "steinball.mmd/2"
    assert said["pvalue"] == result.pvalue
    assert {"statistic", "threshold", "mmd", "radius", "contamination", "level", "n", "m", "rejected"} <= set(said)
    assert f"mmd={result.mmd:.4g}" in repr(result)
    assert all(len(line) <= 80 for line in result.summary(details=True).splitlines())
    assert ("NOT REJECTED" in result.summary(details=True)) == (not result.rejected)
    assert result.test in result.summary(details=True)
    with pytest.raises(dataclasses.FrozenInstanceError):
        result.pvalue = 0.0  # type: ignore[misc]


@pytest.mark.exact
def test_an_infinite_threshold_is_null_in_json() -> None:
    x, y = small(0, 10, 10)
    result = sb.dcmmd_test(x, y, contamination=0.0, n_resamples=19, level=0.05, rng=0)
    assert math.isfinite(result.threshold)
    low = dataclasses.replace(result, **result._evidence.decide(sb.Huber(0.0), 0.01))  # which 19 splits cannot reach
    assert math.isinf(low.threshold)
    assert low.to_dict()["threshold"] is None
    assert low.contamination_bound == 0.0


@pytest.mark.backend
@TESTS
def test_every_array_library_gives_the_same_numbers(xp: Any, test: Test) -> None:
    x, y = small(0, 30, 20, shift=0.6)
    expected = test(x, y, contamination=0.01, rng=0)
    found = test(xp.asarray(x), xp.asarray(y), contamination=0.01, rng=0)
    assert found.mmd == pytest.approx(expected.mmd, rel=1e-10)
    assert found.pvalue == pytest.approx(expected.pvalue, rel=1e-10)
    model = test(xp.asarray(x), sb.models.Gaussian(dimension=2), contamination=0.01, rng=0)
    assert model.mmd == pytest.approx(
        test(x, sb.models.Gaussian(dimension=2), contamination=0.01, rng=0).mmd, rel=1e-10
    )


@pytest.mark.backend
def test_single_precision_on_a_cpu_is_computed_in_double(xp: Any) -> None:
    x, y = (xp.astype(xp.asarray(part), xp.float32) for part in small(0, 30, 30, shift=0.6))
    result = sb.dcmmd_test(x, y, contamination=0.0, kernel=Gaussian(1.0), rng=0)
    double = sb.dcmmd_test(*small(0, 30, 30, shift=0.6), contamination=0.0, kernel=Gaussian(1.0), rng=0)
    assert result.mmd == pytest.approx(double.mmd, rel=1e-6)
    rounded = (xp.astype(part, xp.float64) for part in (x, y))
    assert result.mmd == sb.dcmmd_test(*rounded, contamination=0.0, kernel=Gaussian(1.0), rng=0).mmd


# Level and power


def rate(test: Test, n: int, share: float, place: float, **options: Any) -> float:
    """Of 400 samples of N(0, 1) with ⌊n · share⌋ points set to ``place``, how many are rejected."""
    count = 0
    for seed in range(400):
        rng = np.random.default_rng([seed, n])
        x = rng.normal(size=n)
        x[: int(n * share)] = place
        count += test(x, rng.normal(size=n), rng=seed, **options).rejected
    return count / 400


@pytest.mark.calibration
def test_dcmmd_without_tolerance_has_exactly_its_level() -> None:
    assert LOW <= rate(sb.dcmmd_test, 30, 0.0, 0.0, contamination=0.0, n_resamples=99) <= HIGH


@pytest.mark.calibration
def test_dcmmd_without_tolerance_has_its_level_with_samples_of_two_sizes() -> None:
    rejected = 0
    for seed in range(400):
        rng = np.random.default_rng(seed)
        x, y = rng.normal(size=12), rng.normal(size=40)
        rejected += sb.dcmmd_test(x, y, contamination=0.0, n_resamples=99, rng=seed).rejected
    assert LOW <= rejected / 400 <= HIGH


@pytest.mark.calibration
@TESTS
@pytest.mark.parametrize("place", [2.0, 10.0])
def test_contamination_within_the_tolerance_keeps_the_level(test: Test, place: float) -> None:
    assert rate(test, 40, 0.2, place, contamination=0.2, kernel=Gaussian(math.sqrt(0.5))) <= 0.05


@pytest.mark.calibration
def test_dcmmd_without_its_shift_rejects_that_contamination() -> None:
    """The tolerance is what kept the level: at 0 the same data are rejected more often than not."""
    assert rate(sb.dcmmd_test, 40, 0.2, 10.0, contamination=0.0, kernel=Gaussian(math.sqrt(0.5)), n_resamples=99) > 0.5


@pytest.mark.calibration
@pytest.mark.parametrize(("test", "share"), [(sb.dcmmd_test, 0.5), (sb.mmd_dev_test, 0.7)], ids=["dcMMD", "MMD-Dev"])
def test_contamination_far_beyond_the_tolerance_is_found(test: Test, share: float) -> None:
    assert rate(test, 60, share, 10.0, contamination=0.05, kernel=Gaussian(math.sqrt(0.5))) >= 0.99


@pytest.mark.paper
@pytest.mark.parametrize(("share", "least", "most"), [(0.15, 0, 2), (0.2, 18, 20)])
def test_dcmmd_turns_where_the_paper_says(share: float, least: int, most: int) -> None:
    """§5.1, z = 10, ε₀ = 0.05, n = m = 500, the published kernel: 0 at ε = 0.15 and 1 at 0.2; here over 20 repeats."""
    rejected = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        x = sb.datasets.contaminate(rng.normal(size=500), share, 10.0, rng)
        test = sb.dcmmd_test(x, sb.models.Gaussian(), contamination=0.05, kernel=Gaussian(math.sqrt(0.5)), rng=rng)
        rejected += test.rejected
    assert least <= rejected <= most


@pytest.mark.exact
def test_splits_have_a_seed_of_their_own_below_that_of_the_test() -> None:
    """0 is for draws of the model, 1 for splits: the seed contract, so that a seed gives the same splits everywhere."""
    x, y = (np.random.default_rng(seed).normal(size=(30, 1)) for seed in (0, 1))
    result = sb.dcmmd_test(x, y, contamination=0.0, kernel=Gaussian(1.0), n_resamples=19, rng=5)

    def shuffled(generator: np.random.Generator, rows: int, total: int) -> NDArray[np.int8]:
        return generator.permuted(np.tile((np.arange(total) < 30).astype(np.int8), (rows, 1)), axis=1)

    seed = as_seed(5)
    below = np.random.SeedSequence(seed.entropy, spawn_key=(*seed.spawn_key, 1))
    splits = gather(WeightStream(shuffled, 60, below, 0, 19), 60).astype(np.bool_)
    squares = mmd.split_squares(np.concatenate([x, y]), Gaussian(1.0), splits)
    assert result.draws is not None
    np.testing.assert_allclose(result.draws, np.sqrt(np.maximum(squares, 0.0)))
