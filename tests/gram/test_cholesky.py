"""The partial Cholesky factor against full matrices: the rest is positive semi-definite, with the stated diagonal."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from steinball.arrays import to_host
from steinball.gram.cholesky import PivotedCholesky
from steinball.kernels import Gaussian, InverseMultiquadric, Kernel, Matern
from steinball.problem import Problem, pose
from steinball.tilts import PolynomialTilt

pytestmark = pytest.mark.exact
Floats = NDArray[np.float64]
FourTerm = Callable[..., Floats]


def problem_of(x: Any, kernel: Kernel | None = None, tilted: bool = True) -> Problem:
    return pose(x, lambda x: -x, kernel or InverseMultiquadric(1.3), PolynomialTilt() if tilted else None)


def matrix_of(problem: Problem) -> Floats:
    return to_host(problem.stein.block(problem.points, problem.points))


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
    factor = PivotedCholesky(problem_of(x, tilted=tilted))
    for tolerance in (0.3, 1e-2, 1e-4, 1e-7):
        before = factor.rank
        factor.grow(tolerance, 160)
        assert factor.residual_share <= tolerance
        assert factor.rank >= before
        check_factor(factor, u)


@pytest.mark.parametrize("kernel", [Gaussian(0.8), Matern(1.0, 1.5), Matern(1.2, 2.5), InverseMultiquadric(1.0, 1.5)])
def test_every_kernel_can_be_factored(kernel: Kernel) -> None:
    problem = problem_of(np.random.default_rng(0).normal(size=(120, 2)), kernel)
    factor = PivotedCholesky(problem)
    factor.grow(1e-3, 120)
    check_factor(factor, matrix_of(problem))


def test_the_rank_stops_where_it_is_told_to() -> None:
    problem = problem_of(np.random.default_rng(1).normal(size=(300, 3)))
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
    problem = problem_of(np.random.default_rng(2).normal(size=(500, 2)))
    at_once, in_steps = PivotedCholesky(problem), PivotedCholesky(problem)
    at_once.grow(1e-4, 500)
    for tolerance in (1e-1, 1e-2, 1e-3, 1e-4):
        in_steps.grow(tolerance, 500)
    np.testing.assert_array_equal(factor_of(at_once), factor_of(in_steps))


def test_threads_do_not_change_the_factor(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("steinball.gram.cholesky._ROWS_AT_ONCE", 50)
    problem = problem_of(np.random.default_rng(3).normal(size=(420, 2)))
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
    problem = problem_of(np.tile(distinct, (copies, 1)))
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
    problem = problem_of(np.random.default_rng(5).normal(size=(n, 3)))
    factor = PivotedCholesky(problem)
    factor.grow(0.0, n)
    low = factor_of(factor)
    assert factor.rank <= n
    np.testing.assert_allclose(low @ low.T, matrix_of(problem), rtol=0, atol=1e-10)


@pytest.mark.parametrize("lengthscale", [30.0, 300.0])
def test_nearly_rank_deficient_kernels_end_without_nonsense(lengthscale: float) -> None:
    """At a long length scale u(x, y) is close to s(x)ᵀs(y), of rank d: rounding is soon all that is left."""
    problem = problem_of(np.random.default_rng(6).normal(size=(200, 2)), Gaussian(lengthscale), tilted=False)
    factor = PivotedCholesky(problem)
    factor.grow(0.0, 200)
    u, low = matrix_of(problem), factor_of(factor)
    assert np.isfinite(low).all()
    np.testing.assert_allclose(low @ low.T, u, rtol=0, atol=1e-9 * np.trace(u))


def test_rows_of_the_factor_are_picked_by_index() -> None:
    factor = PivotedCholesky(problem_of(np.random.default_rng(7).normal(size=(200, 2))))
    factor.grow(1e-3, 200)
    index = np.array([5, 5, 199, 0])
    assert len(factor.panels) > 1
    np.testing.assert_array_equal(factor.rows_at(index), factor_of(factor)[index])


@pytest.mark.backend
def test_every_array_library_makes_the_same_factor(xp: Any) -> None:
    x = np.random.default_rng(8).normal(size=(150, 2))
    ours, theirs = PivotedCholesky(problem_of(x)), PivotedCholesky(problem_of(xp.asarray(x)))
    for factor in (ours, theirs):
        factor.grow(0.15, 150)  # a panel or two: JAX compiles every new shape
    assert type(theirs.panels[0]) is type(xp.asarray(x))
    np.testing.assert_allclose(factor_of(theirs), factor_of(ours), rtol=1e-8, atol=1e-8)
    check_factor(theirs, matrix_of(problem_of(x)))


def test_outliers_without_a_tilt_take_a_pivot_first() -> None:
    """Pivots are drawn in proportion to the diagonal, so a point that holds the whole trace is among the first."""
    x = np.random.default_rng(9).normal(size=(200, 1))
    x[17] = 1e6
    factor = PivotedCholesky(problem_of(x, tilted=False))
    factor.grow(1e-6, 200)
    assert factor.residual[17] == 0.0
    assert factor.residual_share < 1e-6
