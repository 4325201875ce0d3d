"""The isotropic Gaussian: constants of kernels, and closed forms against a search."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy import stats

import steinball as sb
from steinball import radius as r
from steinball.problem import pose
from steinball.radius.contamination import chernoff_upper, largest_eigenvalue
from steinball.tau.certificate import Supremum
from steinball.tau.isotropic import (
    IsotropicCase,
    diameter,
    feature_slopes,
    kernel_constants,
    lipschitz_constant,
)
from tests.tau.posed import METRIC, TAU, TILT, X, distance, problem

pytestmark = pytest.mark.exact


@pytest.mark.parametrize("dimension", [1, 2, 7])
@pytest.mark.parametrize(("variance", "scale"), [(1.0, 1.0), (4.0, 2.0), (0.25, 3.0)])
def test_the_closed_form_of_the_lipschitz_constant_is_what_a_search_finds(
    dimension: int, variance: float, scale: float
) -> None:
    """Dense looks along a ray from the mean: everything depends on the distance from it alone."""
    model = sb.models.Gaussian(np.full(dimension, 0.5), variance, dimension=dimension)
    tilt, kernel = sb.PolynomialTilt(0.5, np.full(dimension, 0.5), scale), sb.InverseMultiquadric(0.9)
    here = pose(np.full((2, dimension), 0.5) + np.arange(2)[:, None], model, kernel, tilt)
    direction = np.eye(dimension)[0] if dimension == 1 else np.full(dimension, dimension**-0.5)
    rays = 0.5 + np.concatenate([[0.0], np.geomspace(1e-3, 1e4, 1500)])[:, None] * scale * direction
    found = lipschitz_constant(here)
    assert found.kind == "closed form"
    assert feature_slopes(here, rays).max() == pytest.approx(found.value, rel=2e-5)
    case = IsotropicCase.of(here)
    assert case is not None
    assert np.asarray(case.diagonal()(1 / (1 + ((rays - 0.5) ** 2).sum(axis=1) / scale**2))) == pytest.approx(
        here.at(rays).diagonal, rel=1e-9
    )


@pytest.mark.parametrize(
    ("kernel", "second"),
    [
        (sb.InverseMultiquadric(2.0), 0.75 / 16),
        (sb.InverseMultiquadric(0.01, exponent=1.5), 1.5 * 2.5 / 0.01**4),
        (sb.kernels.Gaussian(3.0), 1 / (4 * 81)),
        (sb.kernels.Matern(2.0, 2.5), (5 / 4) ** 2 / 12),
        (sb.kernels.Matern(2.0, 3.5), (7 / 4) ** 2 / 60),
        (sb.kernels.Matern(2.0, 1.5), math.inf),
    ],
)
def test_second_derivatives_of_kernels_at_zero(kernel: Any, second: float) -> None:
    value, first, found = kernel_constants(kernel)
    assert found == pytest.approx(4 * second, rel=2e-7)
    assert value == 1.0
    assert first == pytest.approx(-2 * float(kernel.profile(np.zeros(1))[1][0]))


@pytest.mark.parametrize(("dimension", "lengthscale"), [(1, 1.0), (2, 1.7), (10, 4.5), (10, 1.0)])
def test_the_diameter_is_above_every_pair_and_close_to_the_farthest(dimension: int, lengthscale: float) -> None:
    """Against a search over pairs in all coordinates, and 2√τ: certified, so never below a pair."""
    model, kernel = sb.models.Gaussian(dimension=dimension), sb.InverseMultiquadric(lengthscale)
    here = pose(np.eye(2, dimension), model, kernel, TILT)
    case, rng = IsotropicCase.of(here), np.random.default_rng(0)
    assert case is not None
    tau = Supremum(float(case.diagonal()(np.linspace(0, 1, 10_001)).max()) * (1 + 1e-7), "given")
    x, y = rng.normal(size=(2, 20_000, dimension)) * 10.0 ** rng.uniform(-1, 1, size=(2, 20_000, 1)) / dimension**0.5
    y[::2] = -x[::2] * 10.0 ** rng.uniform(-0.2, 0.2, size=(10_000, 1))
    found = diameter(here, tau)
    assert distance(here, x, y).max() <= found <= 2 * math.sqrt(tau.value)
    assert found <= 1.1 * distance(here, x, y).max()
    assert found < 0.96 * 2 * math.sqrt(tau.value)


@pytest.mark.parametrize(
    "case",
    [
        {"model": sb.models.Gaussian([0.1, 0.0])},
        {"model": sb.models.Gaussian(0.0, [1.0, 2.0])},
        {"model": sb.models.Gaussian(dimension=2), "tilt": sb.PolynomialTilt(0.6)},
        {"model": sb.models.Gaussian(dimension=2), "kernel": sb.InverseMultiquadric(1.2, metric=METRIC)},
        {"model": sb.models.StudentT(4.0, dimension=2)},
        {},
    ],
)
def test_other_cases_take_twice_the_root_of_tau(case: dict[str, Any]) -> None:
    assert diameter(problem(**case), TAU) == 3.0


def test_a_sample_maximum_below_the_diameter_is_not_hidden_by_it() -> None:
    """The radius is never above what the paper would use with the same τ, whatever its kind."""
    here = problem(sb.models.Gaussian(dimension=2))
    assert diameter(here, Supremum(0.01, "sample")) == pytest.approx(0.2)


CASES: dict[str, dict[str, Any]] = {
    "multiquadric": {},
    "gaussian kernel": {"kernel": sb.kernels.Gaussian(0.8)},
    "matern 5/2": {"kernel": sb.kernels.Matern(1.5, 2.5)},
    "metric": {"kernel": sb.InverseMultiquadric(1.2, metric=METRIC)},
    "sum": {"kernel": sb.InverseMultiquadric(1.2) + 2.0 * sb.kernels.Gaussian(1.0)},
    "precision tilt": {"tilt": sb.PolynomialTilt(0.7, center=[0.3, -0.2], precision=METRIC)},
    "mixture": {"model": sb.models.GaussianMixture([0.3, 0.7], [[-1.0, 0.0], [1.0, 0.5]])},
    "all at once": {  # s and ∇w point different ways: the Jacobian of w s + ∇w is not symmetric
        "model": sb.models.GaussianMixture([0.3, 0.7], [[-1.0, 0.0], [1.0, 2.5]]),
        "kernel": sb.InverseMultiquadric(1.2, metric=METRIC),
        "tilt": sb.PolynomialTilt(0.9, center=[2.0, -1.0], precision=[0.3, 2.0]),
    },
    "student": {"model": sb.models.StudentT(4.0, dimension=2), "tilt": None},
}


@pytest.mark.parametrize("name", CASES)
def test_the_slope_of_the_features_is_that_of_small_steps(name: str) -> None:
    """The largest of |φ(x + h v) − φ(x − h v)| / 2h over a circle of directions v, h = 2e-3."""
    here, x = problem(**CASES[name]), X[:8]
    h = 2e-3
    best = np.zeros(len(x))
    for angle in np.linspace(0.0, math.pi, 181):
        v = h * np.array([math.cos(angle), math.sin(angle)])
        best = np.maximum(best, distance(here, x + v, x - v) / (2 * h))
    assert feature_slopes(here, x) == pytest.approx(best, rel=3e-3 if name == "matern 5/2" else 3e-4)


@pytest.mark.parametrize("name", ["multiquadric", "metric", "mixture", "student"])
def test_no_pair_of_points_exceeds_the_lipschitz_constant(name: str) -> None:
    here, rng = problem(**CASES[name]), np.random.default_rng(1)
    found = lipschitz_constant(here)
    assert found.kind == "optimized"
    x = 3.0 * rng.normal(size=(4000, 2))
    y = x + rng.normal(size=(4000, 2)) * 10.0 ** rng.uniform(-2, 0.5, size=(4000, 1))
    ratios = distance(here, x, y) / np.linalg.norm(x - y, axis=1)
    assert 0.75 * found.value < ratios.max() <= found.value * (1 + 1e-6)


def test_a_score_that_is_not_finite_far_out_leaves_the_slopes_of_other_places() -> None:
    def score(x: Any) -> Any:
        return np.where(np.abs(x) > 20.0, np.nan, -x)

    x = np.linspace(-3.0, 3.0, 25)
    everywhere, near = (pose(x, model, sb.InverseMultiquadric(0.9), TILT) for model in (lambda x: -x, score))
    assert feature_slopes(near, np.array([[1.0], [30.0]]))[1] == 0.0
    assert lipschitz_constant(near).value == pytest.approx(lipschitz_constant(everywhere).value, rel=1e-6)


def test_a_lipschitz_constant_that_does_not_exist_is_refused() -> None:
    with pytest.raises(ValueError, match="not Lipschitz"):
        r.Wasserstein(0.1)(problem(kernel=sb.kernels.Matern(1.0, 1.5)), TAU)


KERNEL, POLYNOMIAL, BOUND = sb.InverseMultiquadric(1.0), sb.PolynomialTilt(), 1.6312


@pytest.mark.exact
@pytest.mark.parametrize("p", [0.01, 0.2, 0.7])
@pytest.mark.parametrize("n", [20, 200])
def test_the_upper_value_covers_a_binomial_share(p: float, n: int) -> None:
    """P(upper < p) summed over all counts, exactly: at most the risk, and not absurdly below it."""
    counts = np.arange(n + 1)
    miss = np.array([chernoff_upper(k / n, n, 0.05) < p for k in counts])
    assert stats.binom.pmf(counts[miss], n, p).sum() <= 0.05
    assert all(a <= b for a, b in zip(counts / n, [chernoff_upper(k / n, n, 0.05) for k in counts], strict=True))


@pytest.mark.exact
def test_ends_of_the_upper_value() -> None:
    assert chernoff_upper(1.0, 10, 0.1) == chernoff_upper(1.5, 10, 0.1) == 1.0
    assert chernoff_upper(0.3, 10, 0.0) == 1.0
    assert chernoff_upper(0.3, 10**9, 0.1) == pytest.approx(0.3, abs=1e-4)
    assert chernoff_upper(0.0, 50, 0.01) == pytest.approx(1 - 0.01 ** (1 / 50))


@pytest.mark.exact
@pytest.mark.parametrize("m", [2, 40, 150])
def test_the_largest_eigenvalue_is_the_best_mean_square(m: int) -> None:
    """Of f = Σ aᵢ φ(xᵢ) with |f| = 1: no a does better, and power iteration reaches it."""
    x = np.random.default_rng(m).normal(size=(m, 1))
    problem = pose(x, sb.models.Gaussian(), KERNEL, POLYNOMIAL)
    gram = problem.stein(x, -x, x, -x)
    found = largest_eigenvalue(gram)
    a = np.ones(m) + x[:, 0]
    for _ in range(3000):
        a = gram @ a
        a /= np.linalg.norm(a)
    assert np.mean((gram @ a) ** 2) / (a @ gram @ a) == pytest.approx(found, rel=1e-7)
