"""The least data to remove: against other optimizers, against duality, against planted outliers."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import linprog, minimize

import steinball as sb
from steinball.explain import removal
from steinball.explain.removal import _dual_bound, keep_most, least_removal
from steinball.problem import Problem, pose
from steinball.progress import Progress
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
        options={"ftol": 1e-14, "maxiter": 1000},
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
    lower = result.least_removal(float(np.sqrt(np.mean(result.draws**2))))
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


def test_many_points_are_guided_by_a_factor_and_certified_exactly(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = problem_of(outliers(5, 300, 0.2, d=2))
    whole = least_removal(problem, 0.1)
    monkeypatch.setattr(removal, "DENSE_UP_TO", 50)
    factored = least_removal(problem, 0.1)
    assert factored.share == pytest.approx(whole.share, abs=1e-4)
    assert factored.gap < 1e-3
    kept = (1.0 - factored.weights) / 300
    assert math.sqrt(kept @ gram(problem) @ kept) <= 0.1 * (1.0 + 1e-9)


def test_a_crude_factor_is_found_out_by_its_gap(monkeypatch: pytest.MonkeyPatch) -> None:
    """With a factor of one panel the search is led astray; the exact product says by how much."""
    problem = problem_of(outliers(5, 300, 0.2, d=10))
    best = least_removal(problem, 0.15)
    monkeypatch.setattr(removal, "DENSE_UP_TO", 50)
    monkeypatch.setattr(removal, "_FACTOR_ENTRIES", 300 * 3)
    found = least_removal(problem, 0.15)
    assert found.share - found.gap <= best.share + 1e-6 <= found.share + 2e-6
    assert found.gap > 1e-3


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
    with pytest.raises(ValueError, match="`threshold` must be a finite number"):
        sb.ksd_test(outliers(0, 30, 0.2), sb.models.Gaussian(), rng=0).least_removal(0.0)
    unbiased = sb.ksd_test(outliers(0, 30, 0.2), sb.models.Gaussian(), estimator="u", rng=0)
    with pytest.raises(ValueError, match="V-statistics"):
        unbiased.least_removal()
    monkeypatch.setattr(removal, "LARGEST", 20)
    with pytest.raises(ValueError, match="random subsample"):
        least_removal(problem, 0.1)


def test_it_shows_its_progress_where_that_is_wanted(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    problem = problem_of(outliers(2, 200, 0.2))
    quiet = least_removal(problem, 0.1, progress=False)
    assert capfd.readouterr() == ("", "")
    monkeypatch.setattr(removal, "DENSE_UP_TO", 100)  # a factor, and an exact product at the end
    parts: list[tuple[str, float, float]] = []
    leave = Progress.__exit__

    def note(self: Progress, *error: Any) -> None:
        parts.append((self._title, self._total, self._done))
        leave(self, *error)

    monkeypatch.setattr(Progress, "__exit__", note)
    shown = least_removal(problem, 0.1, progress=True)
    assert [title for title, _, _ in parts] == ["Stein kernel", "low rank: factor", "least removal", "Stein kernel"]
    assert all(0.9 * total <= done <= 1.01 * total for title, total, done in parts if title != "low rank: factor")
    assert capfd.readouterr().out == ""
    assert shown.share == pytest.approx(quiet.share, abs=1e-5)
    with pytest.raises(ValueError, match="`progress` must be"):
        least_removal(problem, 0.1, progress="yes")


KERNEL_KEPT_MASS, TILT_KEPT_MASS = sb.InverseMultiquadric(1.0), sb.PolynomialTilt()


def problem_of_kept_mass(x: Any) -> Problem:
    d = 1 if np.ndim(x) == 1 else x.shape[1]
    return pose(x, sb.models.Gaussian(np.zeros(d), np.eye(d)), KERNEL_KEPT_MASS, TILT_KEPT_MASS)


def gram_kept_mass(problem: Problem) -> NDArray[np.float64]:
    return np.asarray(problem.stein.block(problem.points, problem.points))


def outliers_kept_mass(seed: int, n: int, share: float, d: int = 1) -> NDArray[np.float64]:
    """N(0, I) with the first rows around 3 in every coordinate."""
    rng = np.random.default_rng(seed)
    x, m = rng.normal(size=(n, d)), round(n * share)
    x[:m] = 3.0 + 0.3 * rng.normal(size=(m, d))
    return x


def test_no_shares_beat_the_dual_bound() -> None:
    rng = np.random.default_rng(0)
    matrix = gram_kept_mass(problem_of_kept_mass(outliers_kept_mass(3, 15, 0.3)))
    rho = 0.5 * math.sqrt(matrix.mean())
    best = keep_most(lambda v: matrix @ v, 15, rho, 1e-9)
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
