"""Bounded Stein functions: their mean under the model is 0, their supremum is bounded, and what the bets make of it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

import steinball as sb
from steinball.datasets.contamination import mixture_pair
from steinball.features.witness import Basis, Window, Witness, certified_supremum, cover, lipschitz_of
from steinball.gof.mode_weights import _deficits, _floors, mode_weights_test
from steinball.gof.sharp_huber import sharp_huber_test
from steinball.jumps import ModeJumps
from steinball.kernels import Gaussian as GaussianKernel
from steinball.kernels import InverseMultiquadric, Matern
from steinball.models import Gaussian, GaussianMixture
from steinball.results.bounded import BoundedMean, BoundedQuestion

pytestmark = pytest.mark.exact

Host = NDArray[np.float64]

LINE = GaussianMixture([0.3, 0.7], [-2.0, 2.0], [0.5, 1.5])
PLANE = GaussianMixture([0.4, 0.6], [[-1.5, 0.0], [1.5, 1.0]])
SPACE = Gaussian(dimension=3)


def box(d: int, side: float = 4.0) -> Window:
    return Window(np.full(d, -side), np.full(d, side), np.full(d, 1.0))


def some_witness(model: Any, d: int, kernel: Any = None, seed: int = 0) -> Witness:
    rng = np.random.default_rng(seed)
    basis = Basis(model, kernel or GaussianKernel(1.2), box(d), rng.uniform(-3.0, 3.0, size=(5, d)), np.zeros((1, d)))
    return Witness(basis, rng.normal(size=(5, d)))


@pytest.mark.parametrize("kernel", [GaussianKernel(0.8), InverseMultiquadric(1.0), InverseMultiquadric(2.0, 1.5)])
def test_the_mean_under_the_model_is_zero(kernel: Any) -> None:
    line = np.linspace(-4.0, 4.0, 20_001)[:, None]
    f = some_witness(LINE, 1, kernel)(line)
    p = np.exp(LINE.log_density(line))
    assert abs(np.trapezoid(f * p, line[:, 0])) < 1e-7 * np.abs(f).max()
    side = np.linspace(-4.0, 4.0, 401)
    plane = np.stack(np.meshgrid(side, side, indexing="ij"), axis=-1).reshape(-1, 2)
    f = some_witness(PLANE, 2, kernel)(plane)
    values = (f * np.exp(PLANE.log_density(plane))).reshape(401, 401)
    assert abs(np.trapezoid(np.trapezoid(values, side), side)) < 1e-6 * np.abs(f).max()


def test_the_function_is_the_divergence_of_its_field_against_the_density() -> None:
    witness = some_witness(LINE, 1, InverseMultiquadric(1.0))
    y, step = np.linspace(-4.5, 4.5, 200)[:, None], 1e-5

    def flux(y: Host) -> Host:
        chi, _ = witness.basis.window(y)
        return np.asarray(
            np.exp(LINE.log_density(y)) * chi * (witness.basis.kernel(y, witness.basis.centers) @ witness.charges)[:, 0]
        )

    numerical = (flux(y + step) - flux(y - step)) / (2.0 * step) / np.exp(LINE.log_density(y))
    assert np.allclose(witness(y), numerical, atol=1e-5)
    assert np.allclose(witness(y), witness.basis(y) @ witness.charges.ravel())
    assert np.all(witness(np.array([[-4.0], [4.1], [100.0]])) == 0.0)


@pytest.mark.parametrize(("model", "d"), [(LINE, 1), (PLANE, 2), (SPACE, 3)])
@pytest.mark.parametrize("kernel", [GaussianKernel(1.2), InverseMultiquadric(1.2)])
def test_no_slope_exceeds_its_bound(model: Any, d: int, kernel: Any) -> None:
    rng, witness, half = np.random.default_rng(1), some_witness(model, d, kernel), 0.3
    centers = rng.uniform(-4.0, 4.0, size=(300, d))
    _, v, s = witness.parts(centers)
    bounds = witness.slope_bound(centers, half, lipschitz_of(model)(centers, half * d**0.5), v, s)
    steepest = np.zeros(300)
    for _ in range(20):
        y = centers + rng.uniform(-half, half, size=(300, d))
        slope = np.stack([(witness(y + 1e-5 * e) - witness(y - 1e-5 * e)) / 2e-5 for e in np.eye(d)], axis=1)
        steepest = np.maximum(steepest, np.linalg.norm(slope, axis=1))
    assert np.all(steepest <= bounds)
    assert np.median(bounds / np.maximum(steepest, 1e-3)) < 60.0  # no bound at all would pass the line above


@pytest.mark.parametrize(("model", "d", "count"), [(LINE, 1, 20_001), (PLANE, 2, 400)])
def test_the_supremum_is_bounded_from_above_and_closely(model: Any, d: int, count: int) -> None:
    for seed in range(3):
        witness = some_witness(model, d, seed=seed)
        side = np.linspace(-4.0, 4.0, count)
        values = witness(np.stack(np.meshgrid(*[side] * d, indexing="ij"), axis=-1).reshape(-1, d))
        for sign in (1.0, -1.0):
            top, seen = certified_supremum(witness, lipschitz_of(model), sign=sign)
            assert float(np.max(sign * values)) <= top * (1.0 + 1e-9)
            assert seen <= top <= 1.021 * float(np.max(sign * values))


def test_a_bound_that_ran_out_of_budget_is_looser_and_still_a_bound() -> None:
    witness, slopes = some_witness(PLANE, 2), lipschitz_of(PLANE)
    tops = [certified_supremum(witness, slopes, budget=budget)[0] for budget in (300, 3_000, 300_000)]
    assert tops[0] > tops[1] > tops[2]
    rough = witness(np.random.default_rng(0).uniform(-4.0, 4.0, size=(100_000, 2))).max()
    assert rough <= tops[2]


def test_boxes_cover_the_window() -> None:
    lower, upper, half = np.array([0.0, -1.0]), np.array([1.0, 2.3]), 0.25
    centers = cover(lower, upper, half)
    points = np.random.default_rng(0).uniform(lower, upper, size=(2000, 2))
    assert np.abs(points[:, None] - centers).max(axis=2).min(axis=1).max() <= half


@pytest.mark.parametrize("model", [LINE, PLANE, GaussianMixture([0.2, 0.8], [-6.0, 6.0], [0.2, 3.0])])
def test_scores_of_mixtures_change_no_faster_than_said(model: GaussianMixture) -> None:
    rng, d = np.random.default_rng(2), model.dimension
    for radius in (0.05, 0.5, 3.0):
        centers = rng.uniform(-8.0, 8.0, size=(400, d))
        bounds = lipschitz_of(model)(centers, radius)
        for _ in range(10):
            step = rng.normal(size=(400, d))
            y = centers + radius * rng.random((400, 1)) * step / np.linalg.norm(step, axis=1, keepdims=True)
            jacobian = np.stack([(model.score(y + 1e-5 * e) - model.score(y - 1e-5 * e)) / 2e-5 for e in np.eye(d)], 2)
            assert np.all(np.linalg.norm(jacobian, ord=2, axis=(1, 2)) <= bounds * (1.0 + 1e-6) + 1e-6)
    assert np.all(lipschitz_of(Gaussian(cov=[0.5, 2.0]))(np.zeros((3, 2)), 1.0) == 2.0)


@pytest.mark.parametrize("contamination", [0.0, 0.1, 0.4])
def test_the_mean_of_the_evalue_is_one_at_the_edge(contamination: float) -> None:
    # Two values, 1 and low, with mean ε: the expectation is a binomial sum.
    n, low = 12, -1.5
    share = (contamination - low) / (1.0 - low)
    total = 0.0
    for k in range(n + 1):
        values = BoundedMean(np.repeat([1.0, low], [k, n - k]), low)
        total += stats.binom.pmf(k, n, share) * np.exp(values.log_evalue(contamination))
    assert abs(total - 1.0) < 1e-10


def test_the_conceded_share_is_where_the_pvalue_crosses_the_level() -> None:
    values = BoundedMean(np.random.default_rng(0).uniform(-0.4, 1.0, size=400), -0.4)
    for method in ("betting", "asymptotic"):
        question = BoundedQuestion(0.1, 0.05, method)
        bound = question.bound([values])
        assert 0.1 < bound < values.values.mean()
        assert question.pvalue([values], bound - 1e-6) <= 0.05 < question.pvalue([values], bound + 1e-6)
        pvalues = [question.pvalue([values], e) for e in np.linspace(0.0, 1.0, 30)]
        assert np.all(np.diff(pvalues) >= 0.0)


def contaminated(share: float, mean: float, deviation: float, rng: np.random.Generator, n: int = 600) -> Host:
    x = rng.normal(size=n)
    chosen = rng.random(n) < share
    x[chosen] = rng.normal(mean, deviation, size=int(chosen.sum()))
    return x[:, None]


@pytest.mark.calibration
@pytest.mark.parametrize(("mean", "deviation"), [(1.1, 0.01), (2.5, 0.3), (10.0, 0.1)])
def test_the_level_holds_at_the_edge_of_hubers_model(mean: float, deviation: float) -> None:
    rng = np.random.default_rng(3)
    samples = [contaminated(0.1, mean, deviation, rng, n=400) for _ in range(30)]
    rejected = {
        method: sum(sharp_huber_test(x, Gaussian(), 0.1, rng=k, method=method).rejected for k, x in enumerate(samples))
        for method in ("betting", "asymptotic")
    }
    # At most .05: 6 or more of 30 with probability below .004. The bets are far below.
    assert rejected["betting"] <= 2
    assert rejected["asymptotic"] <= 5


@pytest.mark.calibration
def test_spread_contamination_is_seen_more_sharply_than_by_the_radius() -> None:
    rng = np.random.default_rng(4)
    x = contaminated(0.3, 0.0, 3.0, rng, n=4000)
    result = sharp_huber_test(x, Gaussian(), 0.05, rng=0)
    ksd = sb.robust_ksd_test(x, Gaussian(), 0.05, rng=0)
    assert result.details["supremum"] <= 1.05
    # Per unit of contamination conceded: E f / sup f against D / √τ, of a true share of .3.
    assert result.share > 1.6 * ksd.ksd / ksd.tau**0.5
    assert result.rejected
    assert ksd.contamination_bound < result.contamination_bound < 0.3


@pytest.mark.calibration
def test_with_jumps_wrong_weights_come_back_at_a_tolerance() -> None:
    model, data = (GaussianMixture([w, 1.0 - w], [-6.0, 6.0]) for w in (0.5, 0.75))
    x = data.sample(800, rng=0)
    seen = sharp_huber_test(x, model, 0.1, rng=0, jumps="auto")
    blind = sharp_huber_test(x, model, 0.1, rng=0)
    assert seen.rejected
    assert not blind.rejected
    assert seen.contamination_bound <= 0.5  # wrong weights .75/.25 are a contamination of exactly one half


def test_the_test_in_the_plane_is_certified_too() -> None:
    rng = np.random.default_rng(5)
    x = rng.normal(size=(1200, 2))
    x[:400] = rng.normal([2.0, 0.0], 0.3, size=(400, 2))
    result = sharp_huber_test(x, Gaussian(dimension=2), 0.05, rng=0)
    assert result.rejected
    assert result.contamination_bound < 1 / 3
    assert result.details["largest seen"] <= result.details["supremum"] < 1.3


@pytest.mark.backend
def test_every_library_gives_the_same_answer(xp: Any) -> None:
    x = contaminated(0.3, 2.0, 0.3, np.random.default_rng(6), n=200)
    here, there = (sharp_huber_test(v, Gaussian(), 0.05, rng=0) for v in (x, xp.asarray(x)))
    assert np.isclose(here.pvalue, there.pvalue, rtol=1e-6)
    model = GaussianMixture([0.5, 0.5], [-6.0, 6.0])
    y = model.sample(100, rng=0)
    assert np.isclose(mode_weights_test(y, model).pvalue, mode_weights_test(xp.asarray(y), model).pvalue)


def test_functions_of_the_weights_have_mean_zero_and_stay_below_one() -> None:
    model = GaussianMixture([0.2, 0.5, 0.3], [-5.0, 0.0, 3.0], [0.5, 1.0, 2.0])  # modes that touch, of other widths
    grid = np.linspace(-25.0, 25.0, 200_001)[:, None]
    mass = np.exp(model.log_density(grid)) * (grid[1, 0] - grid[0, 0])
    for jumps in (ModeJumps.from_model(model), ModeJumps([-4.0, 1.0, 9.0], 2.0)):
        floors = _floors(jumps, model, grid)
        values = _deficits(*jumps.memberships(grid, model), floors)
        assert np.abs(mass @ values).max() < 2e-4
        assert values.max() <= 1.0
        assert np.all(values >= -1.0 / floors)


def test_for_modes_of_one_shape_the_deficit_is_the_missing_mass() -> None:
    model = GaussianMixture([0.3, 0.3, 0.4], [[-9.0, 0.0], [9.0, 0.0], [0.0, 12.0]])
    x = GaussianMixture([0.5, 0.1, 0.4], model.means).sample(500, rng=0)
    result = mode_weights_test(x, model, contamination=0.2)
    nearest = np.linalg.norm(x[:, None] - model.means, axis=2).argmin(axis=1)
    expected = 1.0 - np.bincount(nearest) / (500 * model.weights)
    order = np.lexsort(model.means.T[::-1])
    assert np.allclose(result.details["deficits"], expected[order], atol=1e-3)
    assert result.rejected
    assert 0.4 < result.contamination_bound < 2 / 3  # the truth: 1 − .1/.3


@pytest.mark.calibration
def test_weights_are_tested_at_their_level_up_to_the_edge() -> None:
    model = GaussianMixture([0.3, 0.7], np.outer([-2.5, 2.5], np.ones(10)))
    jumps, rng = ModeJumps.from_model(model), np.random.default_rng(7)
    counts = {"betting": 0, "asymptotic": 0}
    for _ in range(100):
        x = model.sample(300, rng)
        outliers = rng.random(300) < 0.1
        x[outliers] = 2.5  # all of the contamination sits in one mode: the edge
        for method in counts:
            counts[method] += mode_weights_test(x, model, 0.1, jumps=jumps, method=method).rejected
    # At most .05 each; 13 or more of 100 with probability below .002.
    assert counts["betting"] <= 5
    assert counts["asymptotic"] <= 12


@pytest.mark.calibration
def test_the_paper_setting_is_decided_where_the_score_is_blind() -> None:
    for separation in (5.0, 20.0):
        model, data = mixture_pair(separation)
        assert mode_weights_test(data.sample(1000, rng=0), model, 0.05).rejected
        assert not mode_weights_test(model.sample(1000, rng=0), model, 0.0).rejected


def test_results_speak() -> None:
    model = GaussianMixture([0.5, 0.5], [-6.0, 6.0])
    x = GaussianMixture([0.9, 0.1], [-6.0, 6.0]).sample(200, rng=0)
    result = mode_weights_test(x, model)
    assert result.rejected
    assert result.statistic >= result.threshold
    assert result.summary().startswith("Test of the weights of modes\n")
    assert "\n  REJECTED at level 0.05" in result.summary()
    assert max(map(len, result.summary().splitlines())) <= 80
    plain = result.to_dict()
    assert plain["schema"] == "steinball.sharp/2"
    assert plain["pvalue"] == result.pvalue
    fine = mode_weights_test(model.sample(200, rng=0), model, method="asymptotic")
    assert not fine.rejected
    assert fine.statistic < fine.threshold
    assert "NOT REJECTED" in fine.summary()
    assert "does not prove the model" in " ".join(fine.summary().split())


def test_what_cannot_be_done_is_said() -> None:
    x = np.random.default_rng(0).normal(size=(50, 4))
    with pytest.raises(ValueError, match=r"d ≤ 3; got d = 4\. Use `robust_ksd_test`"):
        sharp_huber_test(x, Gaussian(dimension=4))
    with pytest.raises(TypeError, match="away from the samples"):
        sharp_huber_test(x[:, :1], -x[:, :1])
    with pytest.raises(TypeError, match="give `score_lipschitz`"):
        sharp_huber_test(x[:, :1], lambda x: -x)
    assert sharp_huber_test(x[:, :1], lambda x: -x, score_lipschitz=1.0, rng=0).pvalue > 0.05
    with pytest.raises(TypeError, match="`kernel` must be Gaussian or InverseMultiquadric"):
        sharp_huber_test(x[:, :1], Gaussian(), kernel=Matern(1.0))
    with pytest.raises(ValueError, match='`method` must be "betting" or "asymptotic"'):
        sharp_huber_test(x[:, :1], Gaussian(), method="exact")
    with pytest.raises(ValueError, match="`support` must be"):
        sharp_huber_test(x[:, :1], Gaussian(), support=(1.0, 0.0))
    with pytest.raises(ValueError, match="compares modes, but the model has one"):
        mode_weights_test(x[:, :1], Gaussian())
    with pytest.raises(TypeError, match='`jumps` must be "auto" or ModeJumps'):
        mode_weights_test(x[:, :1], Gaussian(), jumps=None)  # type: ignore[arg-type]
