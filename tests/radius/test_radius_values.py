"""What each radius is worth, what it refuses, how radii add, and how their constants come about."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy import stats

import steinball as sb
from steinball import radius as r
from steinball.features import Supremum
from steinball.features.isotropic import IsotropicCase, kernel_constants
from steinball.features.lipschitz import feature_slopes
from steinball.problem import pose
from steinball.stein import SteinProblem

pytestmark = pytest.mark.exact

X = np.random.default_rng(5).normal(size=(60, 2))
TAU = Supremum(2.25, "given")
TILT = sb.PolynomialTilt(0.5)


def problem(model: Any = None, kernel: Any = None, tilt: Any = TILT, x: Any = X) -> SteinProblem:
    return pose(x, (lambda x: -x) if model is None else model, kernel or sb.InverseMultiquadric(1.3), tilt)


# Values: with an unknown score Δ = 2√τ = 3


@pytest.mark.parametrize(
    ("radius", "value"),
    [
        (r.TotalVariation(0.1), 0.3),
        (r.TotalVariation(0.9), 1.5),
        (r.DensityBand(0.1), 0.15),
        (r.Hellinger(0.1), 3 * 0.1 * math.sqrt(1.99)),
        (r.Hellinger(1.0), 1.5),
        (r.KullbackLeibler(0.02), 0.3),
        (r.KullbackLeibler(50.0), 1.5),
        (r.Wasserstein(0.1, lipschitz=2.0), 0.2),
        (r.Wasserstein(10.0, lipschitz=2.0), 1.5),
        (r.ScoreError(0.2), 0.2),
        (r.ScoreError(0.2, base=r.Huber(0.1)), 0.35),
        (r.Huber(0.1) + r.TotalVariation(0.1), 0.45),
        (r.Huber(0.1) + 0.1, 0.25),
        (0.1 + r.Huber(0.1), 0.25),
        (r.Huber(0.1) + r.Huber(0.1) + r.ScoreError(0.01), 0.31),
    ],
    ids=repr,
)
def test_radii_by_their_formulas(radius: r.Radius, value: float) -> None:
    assert radius(problem(), TAU) == pytest.approx(value, rel=1e-12)


def test_a_large_divergence_is_bounded_by_bretagnolle_and_huber() -> None:
    """Between the nats where Pinsker stops being the better one (1.59) and where √τ does (0.29) there is nothing."""
    assert r.KullbackLeibler(0.25)(problem(), TAU) == pytest.approx(3 * math.sqrt(0.125))
    case = problem(sb.models.Gaussian(dimension=2), sb.InverseMultiquadric(0.3), TILT)
    tau = Supremum(float(IsotropicCase.of(case).diagonal()(1.0)), "closed form")  # type: ignore[union-attr]
    delta = r.diameter(case, tau)
    assert r.KullbackLeibler(3.0)(case, tau) == pytest.approx(min(delta * math.sqrt(1 - math.exp(-3)), tau.value**0.5))


def test_the_score_error_grows_with_the_kernel() -> None:
    assert r.ScoreError(0.2)(problem(kernel=4.0 * sb.InverseMultiquadric(1.0)), TAU) == pytest.approx(0.4)


@pytest.mark.parametrize(
    ("make", "values", "name"),
    [
        (r.TotalVariation, (-0.1, 1.1, math.nan), "distance"),
        (r.Hellinger, (-0.1, 1.1, math.nan), "distance"),
        (r.KullbackLeibler, (-0.1, math.inf), "nats"),
        (r.ChiSquared, (-0.1, math.inf), "value"),
        (r.Wasserstein, (-0.1, math.nan), "distance"),
        (r.ScoreError, (-0.1, math.inf), "delta"),
        (r.Wasserstein.rounding, (-1.0,), "spacing"),
    ],
)
def test_sizes_outside_their_range_are_refused(make: Any, values: tuple[float, ...], name: str) -> None:
    for value in values:
        with pytest.raises(ValueError, match=f"`{name}` must be a finite number"):
            make(value)
    with pytest.raises(TypeError, match=f"`{name}` must be a number"):
        make("0.1")


def test_reprs_read_like_the_calls_that_make_them() -> None:
    radii = (r.TotalVariation(0.1), r.ChiSquared(0.1), r.Wasserstein(0.1), r.ScoreError(0.1, base=r.Huber(0.2)))
    assert [repr(one) for one in radii] == [
        "TotalVariation(distance=0.1)",
        "ChiSquared(value=0.1)",
        "Wasserstein(distance=0.1)",
        "ScoreError(delta=0.1, base=Huber(contamination=0.2))",
    ]
    assert (
        repr(r.LikeModel(sb.models.Gaussian(1.0)) + 0.1)
        == "LikeModel(Gaussian(mean=1, cov=1)) + FixedRadius(value=0.1)"
    )


def test_rounding_is_half_a_cell_diagonal() -> None:
    assert r.Wasserstein.rounding(0.5, 4).distance == 0.5
    rng = np.random.default_rng(0)
    x = rng.normal(size=(500, 4))
    assert np.linalg.norm(np.round(x / 0.5) * 0.5 - x, axis=1).max() <= 0.5


@pytest.mark.parametrize(
    "radius", [r.StudentTails(5), r.ChiSquared(0.1), r.Alternative(X), r.LikeModel(sb.models.Gaussian())]
)
def test_sets_around_the_model_alone_do_not_add(radius: Any) -> None:
    with pytest.raises(TypeError, match="both sets around the model alone"):
        radius + r.ChiSquared(0.1)
    with pytest.raises(TypeError, match="both sets around the model alone"):
        r.ScoreError(0.1, base=radius) + (r.Huber(0.1) + r.ChiSquared(0.1))
    assert (radius + r.Huber(0.1)).anchored
    assert not (r.Huber(0.1) + r.Wasserstein(0.1)).anchored


def test_a_number_that_is_none_does_not_add() -> None:
    with pytest.raises(TypeError, match="`radius` must be a number"):
        r.Huber(0.1) + "0.1"


def test_kinds_say_how_a_radius_was_obtained() -> None:
    plain, sample = problem(), Supremum(1.0, "sample")
    gaussian = problem(sb.models.Gaussian(dimension=2))
    assert r.Huber(0.1).kind(plain, sample) == "sample"
    assert r.Huber(0.1).kind(plain, TAU) == r.FixedRadius(0.1).kind(plain, sample) == "given"
    assert r.Wasserstein(0.1).kind(plain, TAU) == "optimized"
    assert r.Wasserstein(0.1).kind(gaussian, TAU) == "closed form"
    assert r.Wasserstein(0.1, lipschitz=3.0).kind(plain, sample) == "given"
    assert (r.FixedRadius(0.1) + r.Huber(0.1)).kind(plain, sample) == "sample"
    assert (r.Huber(0.1) + r.Wasserstein(0.1)).kind(plain, TAU) == "optimized"
    assert r.ScoreError(0.1, base=r.Huber(0.1)).kind(plain, sample) == "sample"
    assert (r.LikeModel(sb.models.Gaussian()) + r.Huber(0.1)).kind(plain, TAU) == "estimated"


def test_radii_work_in_a_test_and_at_another_tolerance() -> None:
    result = sb.ksd_test(
        X, sb.models.Gaussian(dimension=2), tilt="auto", radius=r.Huber(0.05) + r.ScoreError(0.01), rng=0
    )
    assert result.radius == pytest.approx(0.05 * math.sqrt(result.tau) + 0.01)
    assert result.contamination is None
    for radius in (
        r.TotalVariation(0.1),
        r.Hellinger(0.1),
        r.ChiSquared(0.1),
        r.Wasserstein(0.1),
        r.KullbackLeibler(0.1),
    ):
        assert 0.0 < result.at(radius=radius).radius <= math.sqrt(result.tau)


@pytest.mark.parametrize(
    "radius", [r.TotalVariation(0.1), r.ScoreError(0.1, base=r.Huber(0.1)), r.Huber(0.1) + 0.1], ids=repr
)
def test_an_unbounded_stein_kernel_is_warned_about(radius: Any) -> None:
    with pytest.warns(sb.features.UnboundedSteinKernelWarning):
        sb.ksd_test(X, lambda x: -x, radius=radius, calibration=sb.WeightedBootstrap(19), rng=0)
    sb.ksd_test(X, lambda x: -x, radius=r.ScoreError(0.1), calibration=sb.WeightedBootstrap(19), rng=0)


def test_what_needs_the_score_elsewhere_says_so() -> None:
    known = pose(X, -X, sb.InverseMultiquadric(1.0), TILT)
    for radius, name in (
        (r.ChiSquared(0.1, draws=X), "ChiSquared"),
        (r.LikeModel(sb.models.Gaussian(dimension=2)), "LikeModel"),
    ):
        with pytest.raises(TypeError, match=f"`{name}` needs the score"):
            radius(known, TAU)
    with pytest.raises(TypeError, match="Wasserstein\\(distance, lipschitz="):
        r.Wasserstein(0.1)(known, TAU)
    with pytest.raises(TypeError, match="`model` must have `sample"):
        r.ChiSquared(0.1)(problem(), TAU)
    with pytest.raises(TypeError, match="`model` must have `sample"):
        r.LikeModel(lambda x: -x)


# ‖C_P‖


def test_the_operator_norm_is_an_upper_confidence_value_from_draws_of_the_model() -> None:
    """Against quadrature: the largest eigenvalue of √p U √p on a fine grid. 40 sets of 200 draws, at confidence .9."""
    model, kernel = sb.models.Gaussian(), sb.InverseMultiquadric(1.3)
    x = np.linspace(-7, 7, 281)[:, None]
    p = stats.norm.pdf(x[:, 0])
    root = np.sqrt(p / p.sum())
    exact = np.linalg.eigvalsh(root[:, None] * pose(x, model, kernel, TILT).stein(x, -x, x, -x) * root)[-1]
    here, tau = problem(model, kernel, x=X[:, :1]), Supremum(1.45, "given")
    found = [
        r.ChiSquared(0.1, draws=model.sample(200, seed), confidence=0.9).operator_norm(here, tau) for seed in range(40)
    ]
    assert np.mean(np.array(found) < exact) <= 0.1  # the bound has room: expected far below .1
    assert np.mean(found) < 1.3 * exact
    assert exact < r.ChiSquared(0.1).operator_norm(here, tau) < 1.12 * exact
    assert r.ChiSquared(0.1)(here, tau) == r.ChiSquared(0.1)(here, tau)


def test_the_data_do_not_enter_the_operator_norm() -> None:
    model = sb.models.Gaussian()
    first, second = (problem(model, x=x) for x in (X[:, :1], 100.0 + X[:, :1]))
    assert r.ChiSquared(0.1)(first, TAU) == pytest.approx(r.ChiSquared(0.1)(second, TAU), rel=1e-9)


# Slopes of the features


def distance(here: SteinProblem, x: Any, y: Any) -> Any:
    """|φ(x) − φ(y)| row by row."""
    both = here.at(np.vstack([x, y])).points
    n = len(x)
    first, second = both.rows(0, n), both.rows(n, 2 * n)
    pairs = here.stein.pairs
    return np.sqrt(np.maximum(pairs(first, first) + pairs(second, second) - 2 * pairs(first, second), 0.0))


METRIC = np.array([[2.0, 0.5], [0.5, 1.0]])
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
    found = r.lipschitz_constant(here)
    assert found.kind == "optimized"
    x = 3.0 * rng.normal(size=(4000, 2))
    y = x + rng.normal(size=(4000, 2)) * 10.0 ** rng.uniform(-2, 0.5, size=(4000, 1))
    ratios = distance(here, x, y) / np.linalg.norm(x - y, axis=1)
    assert 0.75 * found.value < ratios.max() <= found.value * (1 + 1e-6)


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
    found = r.lipschitz_constant(here)
    assert found.kind == "closed form"
    assert feature_slopes(here, rays).max() == pytest.approx(found.value, rel=2e-5)
    case = IsotropicCase.of(here)
    assert case is not None
    assert np.asarray(case.diagonal()(1 / (1 + ((rays - 0.5) ** 2).sum(axis=1) / scale**2))) == pytest.approx(
        here.at(rays).diagonal, rel=1e-9
    )


def test_a_lipschitz_constant_that_does_not_exist_is_refused() -> None:
    with pytest.raises(ValueError, match="not Lipschitz"):
        r.Wasserstein(0.1)(problem(kernel=sb.kernels.Matern(1.0, 1.5)), TAU)


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


# The diameter


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
    found = r.diameter(here, tau)
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
    assert r.diameter(problem(**case), TAU) == 3.0


def test_a_sample_maximum_below_the_diameter_is_not_hidden_by_it() -> None:
    """The radius is never above what the paper would use with the same τ, whatever its kind."""
    here = problem(sb.models.Gaussian(dimension=2))
    assert r.diameter(here, Supremum(0.01, "sample")) == pytest.approx(0.2)
