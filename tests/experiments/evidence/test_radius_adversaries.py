"""Every radius against an optimizer that looks for the farthest member of its set, and the optimizer against others."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats
from scipy.optimize import linprog, minimize

import steinball as sb
from experiments.evidence.adversaries import RESPONSES, Grid, farthest
from experiments.evidence.radius_adversaries import EXPERIMENT, RADII, SUPREMUM, grid
from steinball.problem import pose
from steinball.radius import Huber, KullbackLeibler, LikeModel, ScoreError, StudentTails, TotalVariation, Wasserstein
from steinball.tau.certificate import Supremum

pytestmark = pytest.mark.exact

TAU = Supremum(SUPREMUM, "closed form")
KINDS = list(RESPONSES)
TIGHT = {
    "huber": 0.99, "total variation": 0.96, "density band": 0.6, "hellinger": 0.7, "kullback-leibler": 0.7,
    "chi-squared": 0.95, "wasserstein": 0.85,
}  # fmt: skip


def small_grid(m: int = 15) -> Grid:
    kernel = sb.InverseMultiquadric(1.0)
    return Grid.of(sb.models.Gaussian(), kernel, sb.PolynomialTilt(), reach=2.5, per_axis=m, dimension=1)


# The optimizer's steps, against a linear program and a general solver


@pytest.mark.parametrize("kind", ["huber", "total variation", "wasserstein"])
@pytest.mark.parametrize("seed", range(3))
def test_a_step_inside_a_polytope_is_the_linear_programs(kind: str, seed: int) -> None:
    """Plans π ≥ 0 from p to q: Σ π f(target), with Σ_j π_ij = p_i and a budget of mass moved or of way."""
    here, size, rng = small_grid(), 0.2, np.random.default_rng(seed)
    f, m = rng.normal(size=15), 15
    way = here.distances.ravel() if kind == "wasserstein" else (~np.eye(m, dtype=bool)).ravel().astype(float)
    rows = np.kron(np.eye(m), np.ones(m))
    if kind == "huber":  # every point keeps its share
        bounds = [(0.8 * p if i == j else 0.0, None) for i, p in enumerate(here.mass) for j in range(m)]
        found = linprog(-np.tile(f, m), A_eq=rows, b_eq=here.mass, bounds=bounds)
    else:
        found = linprog(-np.tile(f, m), A_ub=way[None], b_ub=[size], A_eq=rows, b_eq=here.mass, bounds=(0.0, None))
    mass = RESPONSES[kind](here, f, size)
    assert mass.sum() == pytest.approx(1.0)
    assert mass.min() >= -1e-12
    assert mass @ f == pytest.approx(-found.fun, abs=1e-6)


def test_a_step_inside_a_band_is_the_linear_programs() -> None:
    here, size, f = small_grid(), 0.3, np.random.default_rng(0).normal(size=15)
    half = size * (0.8 * here.mass + 0.2 / 15)
    assert half.sum() == pytest.approx(size)
    bounds = list(zip(np.maximum(here.mass - half, 0.0), here.mass + half, strict=True))
    found = linprog(-f, A_eq=np.ones((1, 15)), b_eq=[1.0], bounds=bounds)
    assert RESPONSES["density band"](here, f, size) @ f == pytest.approx(-found.fun, abs=1e-9)


def divergence(kind: str, q: NDArray[np.float64], p: NDArray[np.float64]) -> float:
    if kind == "hellinger":
        return math.sqrt(max(0.0, 1.0 - float(np.sqrt(q * p).sum())))
    if kind == "kullback-leibler":
        return float((q * np.log(np.maximum(q, 1e-300) / p)).sum())
    return float(((q - p) ** 2 / p).sum())


@pytest.mark.parametrize("kind", ["hellinger", "kullback-leibler", "chi-squared"])
@pytest.mark.parametrize("size", [0.05, 0.4])
def test_a_step_inside_a_divergence_ball_is_that_of_a_general_solver(kind: str, size: float) -> None:
    here, f = small_grid(9), np.random.default_rng(1).normal(size=9)
    limit = {"type": "ineq", "fun": lambda q: size - divergence(kind, np.abs(q), here.mass)}
    total = {"type": "eq", "fun": lambda q: q.sum() - 1.0}
    found = minimize(
        lambda q: -q @ f, here.mass, method="SLSQP", bounds=[(1e-12, 1.0)] * 9, constraints=[limit, total],
        options={"ftol": 1e-12, "maxiter": 500},
    )  # fmt: skip
    mass = RESPONSES[kind](here, f, size)
    assert divergence(kind, mass, here.mass) <= size * (1 + 1e-9)
    assert mass @ f >= -found.fun - 1e-5


# Radii


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("size", [0.02, 0.1, 0.5])
def test_no_member_of_a_set_leaves_its_ball_and_some_come_close(kind: str, size: float) -> None:
    """On 321 points; D of the model's own masses is 3e-9, which is all that the grid can add."""
    here, theta = grid(1), RADII[kind](size)(grid(1).problem, TAU)
    found = farthest(here, RESPONSES[kind], size, np.random.default_rng(0), starts=5)
    assert found <= theta * (1 + 1e-9) + here.slack
    if size == 0.02:
        assert found >= TIGHT[kind] * theta


@pytest.mark.parametrize("kind", KINDS)
def test_half_of_a_radius_would_be_found_out(kind: str) -> None:
    here, theta = grid(1), RADII[kind](0.05)(grid(1).problem, TAU)
    assert farthest(here, RESPONSES[kind], 0.05, np.random.default_rng(0), starts=3) > 0.5 * theta


@pytest.mark.parametrize("kind", ["total variation", "hellinger", "chi-squared", "wasserstein"])
def test_no_member_leaves_its_ball_in_the_plane(kind: str) -> None:
    here, theta = grid(2), RADII[kind](0.05)(grid(2).problem, TAU)
    found = farthest(here, RESPONSES[kind], 0.05, np.random.default_rng(0), starts=3)
    assert 0.5 * theta < found <= theta * (1 + 1e-9) + here.slack


def test_the_farthest_member_of_a_chi_squared_ball_is_the_first_eigenfunction() -> None:
    """Before positivity binds, max D² = λ₁ χ² with λ₁ of √p U √p: an oracle for optimizer and radius alike."""
    here = grid(1)
    root = np.sqrt(here.mass)
    largest = np.linalg.eigvalsh(root[:, None] * here.gram * root)[-1]
    found = farthest(here, RESPONSES["chi-squared"], 0.01, np.random.default_rng(0))
    assert found == pytest.approx(math.sqrt(0.01 * largest), rel=1e-6)
    theta = RADII["chi-squared"](0.01)(here.problem, TAU)
    assert found < theta < 1.08 * found  # the Monte Carlo margin


def test_moving_a_little_mass_uses_the_whole_diameter() -> None:
    """The farthest pair of features on the grid, times t: what small total variations reach."""
    here = grid(1)
    diagonal = np.diag(here.gram)
    pairs = np.sqrt(np.max(diagonal[:, None] + diagonal[None, :] - 2.0 * here.gram))
    theta = TotalVariation(1e-3)(here.problem, TAU)
    assert 1e-3 * pairs <= theta <= 1e-3 * pairs * 1.011
    assert farthest(here, RESPONSES["total variation"], 1e-3, np.random.default_rng(0)) <= 1e-3 * pairs * (1 + 1e-9)


def test_a_kullback_leibler_ball_holds_in_the_other_direction_too() -> None:
    """Mixtures with the model have small KL(P‖Q), whatever the other part: here a point mass."""
    here, best = grid(1), 0.0
    for share in np.linspace(0.05, 0.9, 18):
        q = RESPONSES["huber"](here, np.diag(here.gram), share)
        nats = float((here.mass * np.log(here.mass / q)).sum())
        best = max(best, here.ksd(q) / KullbackLeibler(nats)(here.problem, TAU))
    assert 0.5 < best <= 1.0


# Sums, tails, scores, models


def test_contamination_of_moved_data_stays_within_the_sum() -> None:
    """Q = (1 − ε) Q′ + ε R with Q′ within W₁ of the model: steps of both at once."""
    here, share, way = grid(1), 0.1, 0.05

    def both(grid: Grid, f: NDArray[np.float64], size: float) -> NDArray[np.float64]:
        mass = (1.0 - share) * RESPONSES["wasserstein"](grid, f, way)
        mass[np.argmax(f)] += share
        return mass

    theta = (Huber(share) + Wasserstein(way))(here.problem, TAU)
    found = farthest(here, both, 0.0, np.random.default_rng(0), starts=5)
    assert 0.8 * theta < found <= theta
    assert found > max(Huber(share)(here.problem, TAU), Wasserstein(way)(here.problem, TAU))


def test_every_tail_within_a_student_radius() -> None:
    """All ν ≥ ν₀, on the grid; the farthest is ν₀ itself."""
    here = Grid.of(
        sb.models.Gaussian(), sb.InverseMultiquadric(math.sqrt(2.0)), sb.PolynomialTilt(), reach=40.0, per_axis=1601,
        dimension=1,
    )  # fmt: skip
    x, theta, reached = here.problem.host_samples[:, 0], StudentTails(5)(here.problem, TAU), []
    for df in (5, 6, 8, 12, 30):
        q = stats.t.pdf(x, df, scale=math.sqrt((df - 2) / df))
        reached.append(here.ksd(q / q.sum()))
    assert reached == sorted(reached, reverse=True)
    assert 0.05 * theta < reached[0] < theta < StudentTails(5, sharp=False)(here.problem, TAU)


@pytest.mark.parametrize("delta", [0.02, 0.3])
def test_an_error_of_the_score_moves_the_model_no_farther_than_its_radius(delta: float) -> None:
    """μ̂_P = E_P[w e h(X, ·)] for errors e with E_P|w e| ≤ δ: at one point it is √h(0) δ, spread out it is less."""
    here = grid(1)
    x, kernel = here.problem.host_samples, 3.0 * sb.InverseMultiquadric(1.0)
    problem = pose(x, sb.models.Gaussian(), kernel, sb.PolynomialTilt())
    theta, gram, rng = ScoreError(delta)(problem, TAU), kernel(x, x), np.random.default_rng(0)
    errors = [np.eye(len(x))[100] / here.mass[100], *rng.normal(size=(20, len(x)))]
    reached = []
    for error in errors:
        weighted = here.mass * error
        weighted *= delta / np.abs(weighted).sum()
        reached.append(math.sqrt(weighted @ gram @ weighted))
    assert max(reached) == pytest.approx(theta)


def test_an_approximate_score_and_contamination_stay_within_the_sum() -> None:
    """The test uses ŝ = −1.1 x, the exact model is N(0, 1): δ by the grid, τ with ŝ, contamination anywhere."""
    points = grid(1).problem.host_samples
    kernel, tilt = sb.InverseMultiquadric(math.sqrt(2.0)), sb.PolynomialTilt()
    problem = pose(points, lambda x: -1.1 * x, kernel, tilt)
    here = Grid(problem, grid(1).mass)
    weight = np.exp(tilt.log_weight(points))
    delta = float(here.mass @ (weight * np.abs(0.1 * points[:, 0])))
    tau = Supremum(float(np.max(np.diag(here.gram))) * 1.0001, "given")
    theta = (Huber(0.1) + ScoreError(delta))(problem, tau)
    found = farthest(here, RESPONSES["huber"], 0.1, np.random.default_rng(0))
    assert Huber(0.1)(problem, tau) * 0.99 < found < theta
    assert here.slack <= ScoreError(delta)(problem, tau)


def test_a_model_is_within_the_radius_of_being_like_it() -> None:
    """Against the KSD of N(0.3, 1) from N(0, 1) on the grid, within three standard errors of 5000 draws (√.8/5000)."""
    here = grid(1)
    q = stats.norm.pdf(here.problem.host_samples[:, 0], 0.3)
    exact = here.ksd(q / q.sum())
    limit, estimate = (LikeModel(sb.models.Gaussian(0.3), confidence=c)(here.problem, TAU) for c in (0.95, None))
    assert abs(estimate - exact) < 3 * 0.0127
    assert limit - estimate == pytest.approx(1.645 * 0.0115, rel=0.15)
    assert exact < limit


def test_the_experiment_holds_at_one_search(tmp_path: Any) -> None:
    """Two cells of the evidence, as they are run."""
    for index in (0, 4):
        rows = EXPERIMENT.trial(EXPERIMENT.cell(index, "published"), np.random.default_rng(0))
        assert [(row["test"], row["rejected"]) for row in rows] == [("radius", 0), ("half", 1)]
