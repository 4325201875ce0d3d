from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

import steinball as sb
from steinball.explain import influence
from steinball.explain.influence import coordinate_shares, far_points, leave_one_out, line_integrals
from steinball.problem import pose
from steinball.tilts import EdgeTilt

pytestmark = pytest.mark.exact

FIXED: dict[str, Any] = {"kernel": sb.InverseMultiquadric(1.0), "rng": 0}


@pytest.mark.parametrize("estimator", ["v", "u"])
def test_d_without_a_point_is_that_of_the_other_points(estimator: str) -> None:
    x = np.random.default_rng(1).normal(0.5, size=(40, 2))
    result = sb.ksd_test(x, lambda x: -x, estimator=estimator, **FIXED)
    found = leave_one_out(result._sums()[0])
    for i in (0, 7, 39):
        without = sb.ksd_test(np.delete(x, i, axis=0), lambda x: -x, estimator=estimator, **FIXED).ksd
        assert found.ksd[i] == pytest.approx(without, rel=1e-9, abs=1e-12)
    np.testing.assert_allclose(found.change, found.ksd - result.ksd)


def test_the_point_that_makes_the_decision_is_found() -> None:
    x = np.random.default_rng(0).normal(size=100)
    x[17] = 60.0  # to an untilted test one point is enough
    result = sb.ksd_test(x, lambda x: -x, **FIXED)
    sums = result._sums()[0]
    between = 0.5 * (result.ksd + leave_one_out(sums).ksd[17])
    assert leave_one_out(dataclasses.replace(sums, critical=between)).flips.tolist() == [17]
    assert leave_one_out(dataclasses.replace(sums, critical=np.inf)).flips.size == 0
    assert leave_one_out(dataclasses.replace(sums, critical=np.nan)).flips.size == 0


def test_two_points_are_enough() -> None:
    for estimator in ("v", "u"):
        result = sb.ksd_test(
            [0.0, 1.0], lambda x: -x, estimator=estimator, calibration=sb.WeightedBootstrap(99), **FIXED
        )
        assert np.isfinite(leave_one_out(result._sums()[0]).ksd).all()


def test_a_test_that_bets_says_nothing_of_single_points() -> None:
    x = np.random.default_rng(0).normal(3.0, size=60)
    result = sb.robust_ksd_test(x, sb.models.Gaussian(), 0.05, calibration=sb.Betting(), rng=0)
    assert result.rejected
    assert result.explain().influence.flips.size == 0


@pytest.mark.parametrize("d", [1, 3, 50])
@pytest.mark.parametrize("seed", range(5))
def test_ordinary_points_are_not_far(d: int, seed: int) -> None:
    assert far_points(np.random.default_rng(seed).normal(size=(300, d))).size == 0


@pytest.mark.parametrize("d", [1, 3, 50])
def test_lone_points_are_listed_and_the_farthest_is_first(d: int) -> None:
    x = np.random.default_rng(0).normal(size=(300, d))
    x[4], x[9] = 20.0, -1e6
    assert far_points(x).tolist() == [9, 4]


def test_among_few_points_a_point_is_not_its_own_neighbor() -> None:
    x = np.random.default_rng(0).normal(size=(40, 1))
    x[7] = 30.0
    assert far_points(x).tolist() == [7]


def test_a_group_is_not_far() -> None:
    x = np.random.default_rng(0).normal(size=(300, 2))
    x[:15] = 30.0
    assert far_points(x).size == 0


def test_coordinates_are_measured_by_their_own_spread() -> None:
    x = np.random.default_rng(0).normal(size=(300, 2)) * [1e6, 1e-3]
    x[5, 1] = 0.1
    assert far_points(x).tolist() == [5]


def test_constant_columns_and_few_points_are_no_error() -> None:
    assert far_points(np.zeros((5, 2))).size == 0
    assert far_points(np.array([[0.0], [1.0]])).size == 0
    assert far_points(np.array([[0.0], [0.0], [0.0], [5.0]])).tolist() in ([], [3])


def test_a_lone_far_point_does_not_lead_a_tilted_test_and_is_listed_apart() -> None:
    x = np.random.default_rng(0).normal(size=400)
    x[7], x[100:160] = 1e4, 2.5
    found = sb.robust_ksd_test(x, sb.models.Gaussian(), 0.02, rng=0).explain()
    assert 7 not in found.points
    assert found.far.tolist() == [7]
    assert "Far from all others: 1 point (row 7)" in str(found)
    assert found.shares(found.far)[0] < 0.01


def test_a_lone_far_point_that_causes_a_rejection_leads() -> None:
    x = np.random.default_rng(0).normal(size=400)
    x[7] = 1e3
    found = sb.ksd_test(x, sb.models.Gaussian(), rng=0).explain()
    assert found.points[0] == 7
    assert found.far.tolist() == [7]


def test_of_very_many_points_the_outermost_are_looked_at() -> None:
    x = np.random.default_rng(0).normal(size=(200_000, 1))
    x[77] = 40.0
    assert far_points(x)[0] == 77


X = np.random.default_rng(3).normal(size=(60, 3)) * [1.0, 2.0, 0.5] + [5.0, 0.3, 0.0]
METRIC = np.array([[2.0, 0.3, 0.0], [0.3, 1.0, 0.1], [0.0, 0.1, 0.5]])
KERNELS = {
    "inverse multiquadric": sb.InverseMultiquadric(1.3),
    "gaussian": sb.kernels.Gaussian(0.9),
    "matern": sb.Matern(1.5),
    "metric": sb.InverseMultiquadric(1.0, metric=METRIC),
}
TILTS = {"no tilt": None, "tilt": sb.PolynomialTilt(0.5, center=1.0), "one each": EdgeTilt(low=-30.0, scale=2.0)}


def by_differences(problem: Any) -> Any:
    """The parts of D² by central differences of the vector-valued features: an oracle that knows no formula of u.

    u_j(x, y) = w(x) w(y) [s_j s_j' k + s_j ∂'_j k + s_j' ∂_j k + ∂_j ∂'_j k] for k = e_j(x) h e_j(y), s the score.
    """
    x, s, h = problem.host_samples, np.asarray(problem.scores), 1e-4
    n, d = x.shape
    tilt = problem.stein.tilt

    def weight(y: Any, j: int) -> Any:
        if tilt is None:
            return np.ones(len(y))
        each = tilt.coordinate_weights(y)
        return np.exp(tilt.log_weight(y)) * (1.0 if each is None else each[:, j])

    def kernel(y: Any, z: Any, j: int) -> Any:
        return weight(y, j)[:, None] * problem.stein.kernel(y, z) * weight(z, j)[None, :]

    parts = []
    for j in range(d):
        step = h * np.eye(d)[j]
        k = kernel(x, x, j)
        left = (kernel(x + step, x, j) - kernel(x - step, x, j)) / (2 * h)
        right = (kernel(x, x + step, j) - kernel(x, x - step, j)) / (2 * h)
        both = (
            kernel(x + step, x + step, j) - kernel(x + step, x - step, j)
            - kernel(x - step, x + step, j) + kernel(x - step, x - step, j)
        ) / (4 * h * h)  # fmt: skip
        parts.append(np.sum(s[:, None, j] * s[None, :, j] * k + s[:, None, j] * right + s[None, :, j] * left + both))
    return np.array(parts) / n**2


@pytest.mark.parametrize("tilt", TILTS.values(), ids=list(TILTS))
@pytest.mark.parametrize("kernel", KERNELS.values(), ids=list(KERNELS))
def test_the_parts_are_those_of_the_coordinates(kernel: Any, tilt: Any) -> None:
    problem = pose(X, sb.models.Gaussian([5.0, 0.0, 0.0]), kernel, tilt)
    expected = by_differences(problem)
    np.testing.assert_allclose(coordinate_shares(problem), expected / expected.sum(), rtol=2e-4, atol=1e-6)
    block = problem.stein.block(problem.points, problem.points)
    np.testing.assert_allclose(expected.sum(), block.mean(), rtol=2e-4)


def test_shares_sum_to_one_and_none_is_negative() -> None:
    shares = coordinate_shares(pose(X, lambda x: -x))
    assert shares.min() >= 0.0
    assert shares.sum() == pytest.approx(1.0)


@pytest.mark.parametrize("wrong", [0, 4, 9])
@pytest.mark.parametrize("what", ["mean", "spread"])
def test_a_planted_wrong_coordinate_is_named(wrong: int, what: str) -> None:
    x = np.random.default_rng(wrong).normal(size=(300, 10))
    x[:, wrong] = x[:, wrong] + 1.0 if what == "mean" else 2.5 * x[:, wrong]
    result = sb.robust_ksd_test(x, sb.models.Gaussian(np.zeros(10)), 0.02, rng=0)
    assert result.rejected
    shares = result.explain().coordinates
    assert shares.argmax() == wrong
    assert shares[wrong] > 3.0 * np.delete(shares, wrong).max()


def test_a_planted_wrong_coordinate_is_named_among_five_hundred() -> None:
    x = np.random.default_rng(0).normal(size=(100, 500))
    x[:, 123] += 3.0
    assert coordinate_shares(pose(x, sb.models.Gaussian(np.zeros(500)), tilt="auto")).argmax() == 123


def test_an_offset_costs_no_digits() -> None:
    near = coordinate_shares(pose(X, lambda x: -x, sb.InverseMultiquadric(1.0)))
    far = coordinate_shares(pose(X + 2.0**20, lambda x: -(x - 2.0**20), sb.InverseMultiquadric(1.0)))
    np.testing.assert_allclose(far, near, rtol=1e-7)


def test_many_points_are_represented_by_some(monkeypatch: pytest.MonkeyPatch) -> None:
    x = np.random.default_rng(0).normal([0.0, 1.0], size=(900, 2))
    problem = pose(x, lambda x: -x, sb.InverseMultiquadric(1.0))
    whole = coordinate_shares(problem)
    monkeypatch.setattr(influence, "MOST_POINTS", 300)
    np.testing.assert_allclose(coordinate_shares(problem), whole, atol=0.03)


def test_a_distance_of_zero_is_shared_evenly() -> None:
    problem = pose(np.zeros((4, 2)), sb.from_scores(np.zeros((4, 2))), sb.InverseMultiquadric(1e12))
    assert coordinate_shares(problem).sum() == pytest.approx(1.0)


Floats = NDArray[np.float64]


def explained(x: Floats, score: Any, **words: Any) -> Any:
    return sb.robust_ksd_test(x, score, 0.02, rng=0, **words).explain()


@pytest.mark.parametrize("far", [0.5, 3.0, 40.0, 1e6])
@pytest.mark.parametrize(
    ("score", "log_density"),
    [
        (lambda x: -x, stats.norm().logpdf),
        (lambda x: -2.0 * x / (1.0 + x**2), stats.cauchy().logpdf),
        (lambda x: -np.tanh(x / 2.0), stats.logistic().logpdf),
    ],
    ids=["normal", "Cauchy", "logistic"],
)
def test_the_integral_is_the_difference_of_log_densities(score: Any, log_density: Any, far: float) -> None:
    found = line_integrals(score, np.array([0.2]), np.array([[far], [-far]]), 1.0)
    expected = log_density(np.array([far, -far])) - log_density(0.2)
    assert np.abs(found - expected) == pytest.approx(0.0, abs=1.0 + 0.01 * np.abs(expected).max())


def test_separated_modes_are_integrated_or_left_out() -> None:
    modes = sb.models.GaussianMixture([0.5, 0.5], [-30.0, 30.0])
    x = np.linspace(-45.0, 45.0, 91)[:, None]
    found = line_integrals(modes.score, np.array([-28.0]), x, 30.0)
    expected = np.asarray(modes.log_density(x) - modes.log_density(np.array([[-28.0]])))
    ranked = np.isfinite(found)
    assert ranked.mean() > 0.5
    assert np.abs(found - expected)[ranked].max() <= 2.0


@pytest.mark.parametrize("d", [1, 10])
def test_rows_far_out_are_named_though_they_are_a_group(d: int) -> None:
    x = np.random.default_rng(0).normal(size=(500, d))
    x[::25] = 10.0 + 0.01 * x[::25]
    found = explained(x, lambda x: -x)
    assert sorted(found.improbable.tolist()) == list(range(0, 500, 25))
    assert "Where the model has next to nothing: 20 points (row " in str(found)
    assert found.to_dict()["improbable"] == found.improbable.tolist()


@pytest.mark.parametrize("d", [1, 10])
def test_clean_rows_are_not_named(d: int) -> None:
    named = 0
    for seed in range(40):
        x = np.random.default_rng(seed).normal(size=(100, d))
        result = sb.ksd_test(x, lambda x: -x, calibration=sb.WeightedBootstrap(99), rng=0)
        named += len(result.explain().improbable) > 0
    assert named <= 1


def test_heavy_tails_are_not_named() -> None:
    x = np.random.default_rng(1).standard_cauchy(size=(1000, 1))
    assert explained(x, lambda x: -2.0 * x / (1.0 + x**2)).improbable.size == 0


def test_a_field_that_is_no_gradient_names_nobody() -> None:
    x = np.random.default_rng(0).normal(size=(200, 2))
    x[:5] = [9.0, -9.0]
    assert len(explained(x, lambda x: -x).improbable) == 5
    turned = np.array([[0.0, 6.0], [-6.0, 0.0]])
    assert len(explained(x, lambda x: -x + x @ turned).improbable) == 0


def test_scores_at_the_rows_alone_and_scores_that_fail_name_nobody() -> None:
    x = np.random.default_rng(0).normal(size=(100, 1))
    x[0] = 20.0
    assert explained(x, sb.from_scores(-x)).improbable.size == 0

    def between(rows: Floats) -> Floats:
        if len(rows) != 100:
            raise RuntimeError("only these rows")
        return -rows

    assert sb.ksd_test(x, between, tilt=None, rng=0).explain().improbable.size == 0


def test_other_libraries_and_excluded_rows() -> None:
    x = np.random.default_rng(0).exponential(size=200)
    x[:20], x[50] = -1.0, 80.0
    model = sb.from_score(lambda x: -np.ones_like(x), support=(0, None))
    found = sb.robust_ksd_test(x, model, 0.05, outside="contaminated", rng=0).explain()
    assert found.improbable.tolist() == [50]
    torch = pytest.importorskip("torch")
    y = np.random.default_rng(0).normal(size=(100, 2))
    y[3] = 20.0
    assert explained(torch.asarray(y), lambda x: -x).improbable.tolist() == [3]
