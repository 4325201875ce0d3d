"""What models say of their scores: growth with the distance and bounds over boxes, against an adversary."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import linprog

from steinball.models import Gaussian, GaussianBernoulliRBM, GaussianMixture, KernelExponentialFamily, StudentT
from steinball.models.boltzmann import _steepest_chords
from steinball.models.growth import RadialScore, ScoreGrowth, linear_bounds, unit_root
from steinball.models.mixture import _largest_mean, _largest_pull

pytestmark = pytest.mark.exact
Floats = NDArray[np.float64]


def covariance(d: int, seed: int = 0, spread: float = 10.0) -> Floats:
    axes = np.linalg.qr(np.random.default_rng(seed).normal(size=(d, d)))[0]
    return np.asarray((axes * np.geomspace(1.0, spread, d)) @ axes.T)


MODELS: dict[str, Any] = {
    "gaussian": Gaussian([1.0, -2.0], [[2.0, 0.6], [0.6, 1.0]]),
    "gaussian on the line": Gaussian(2.0, 0.25),
    "student": StudentT(3.0, [1.0, 0.0], shape=covariance(2)),
    "student on the line": StudentT(1.5, 1.0, 2.0),
    "one covariance": GaussianMixture([0.3, 0.0, 0.7], [[-2.0, 0.5], [9.0, 9.0], [1.0, -1.0]], covariance(2, 1)),
    "one variance": GaussianMixture([0.2, 0.8], [[-3.0, 0.0], [1.0, 0.0]], 0.5),
    "three widths": GaussianMixture([0.2, 0.3, 0.4, 0.1], [-4.0, 0.0, 2.0, 5.0], [0.2, 1.0, 3.0, 3.0]),
    "one is widest": GaussianMixture([0.9, 0.1], [[0.0, 0.0], [2.0, 1.0]], [np.eye(2), covariance(2, 2) + np.eye(2)]),
    "none is widest": GaussianMixture([0.5, 0.5], [[0.0, 0.0], [2.0, 1.0]], [np.diag([1, 4.0]), np.diag([4.0, 1])]),
    "rbm": GaussianBernoulliRBM([[2.0, -1.0, 0.3], [0.5, 1.5, -2.0]], [0.4, -0.3], [0.1, 2.0, -5.0]),
    "large rbm": GaussianBernoulliRBM.random(3, 14, 0),
    "kernel family": KernelExponentialFamily(np.random.default_rng(0).normal(size=8)),
    "kernel family, narrow": KernelExponentialFamily([1.0, -2.0, 0.0, 0.0, 1.0], 0.5),
    "kernel family, one function": KernelExponentialFamily([1.0], 0.3),
}
EACH_MODEL = pytest.mark.parametrize("name", MODELS)


def growths(model: Any, center: Floats, precision: Floats | None) -> list[ScoreGrowth]:
    said = model.score_growth(center, precision)
    return said if isinstance(said, list) else [said]


def most_violated(model: Any, growth: ScoreGrowth, center: Floats, root: Floats, rng: np.random.Generator) -> float:
    """The largest |s(x)|/bound that a crowd of climbers finds: near, between and far away, each step for the better."""

    def ratio(z: Floats) -> Floats:
        score = np.linalg.norm(model.score(center + z @ root.T), axis=1)
        return np.asarray(score / np.maximum(growth.at(np.linalg.norm(z, axis=1)), 1e-300))

    z = rng.normal(size=(400, len(center))) * np.geomspace(1e-3, 1e4, 400)[:, None]
    best = ratio(z)
    for step in np.geomspace(1.0, 1e-4, 60):
        moved = z + step * rng.normal(size=z.shape) * np.linalg.norm(z, axis=1, keepdims=True)
        value = ratio(moved)
        better = value > best
        z[better], best[better] = moved[better], value[better]
    return float(best.max())


@EACH_MODEL
@pytest.mark.parametrize("metric", ["round", "stretched"])
def test_no_point_violates_the_growth_that_a_model_states(name: str, metric: str) -> None:
    model, rng = MODELS[name], np.random.default_rng(1)
    d = model.dimension
    precision = None if metric == "round" else covariance(d, 3, 50.0) + np.eye(d)
    for center in (np.zeros(d), rng.normal(size=d) * 3.0):
        for growth in growths(model, center, precision):
            assert most_violated(model, growth, center, unit_root(precision, d), rng) <= 1.0 + 1e-9


def test_the_growth_of_a_gaussian_is_attained() -> None:
    """Isotropic: away from the mean the bound is the value; in general each of the three terms is attained."""
    center = np.array([3.0, 4.0])
    growth = Gaussian(0.0, 2.0, dimension=2).score_growth(center)
    assert growth == pytest.approx((2.5, 0.5, 1.25), rel=1e-12)
    model, away = Gaussian([0.0, 0.0], [[2.0, 0.6], [0.6, 1.0]]), np.array([1.0, 1.0])
    stated = model.score_growth(away)
    rng = np.random.default_rng(0)
    directions = rng.normal(size=(4000, 2))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    at_center, along = model.score(away[None])[0], directions @ -model.score(np.eye(2)).T
    assert stated.offset == pytest.approx(np.linalg.norm(at_center), rel=1e-12)
    assert stated.slope == pytest.approx(np.linalg.norm(along, axis=1).max(), rel=1e-5)
    assert stated.cross == pytest.approx(np.abs(along @ at_center).max(), rel=1e-5)


def test_the_bound_of_a_student_score_is_attained() -> None:
    model = MODELS["student"]
    steepest = np.linalg.eigh(model.covariance)[1][:, 0]
    x = model.location + np.linspace(0.0, 10.0, 20_001)[:, None] * steepest
    largest = np.linalg.norm(model.score(x), axis=1).max()
    assert model.score_growth(np.zeros(2)).offset == pytest.approx(largest, rel=1e-7)
    assert model.score_growth(np.zeros(2)).slope == 0.0


def test_growth_far_out_is_that_of_the_widest_component() -> None:
    """Without it the narrow component's 1/0.2 would count at infinity, where the score falls like x/3."""
    slopes = [growth.slope for growth in growths(MODELS["three widths"], np.zeros(1), None)]
    assert slopes[0] == pytest.approx(5.0)
    assert min(slopes) == pytest.approx(1.0 / 3.0)
    assert len(growths(MODELS["none is widest"], np.zeros(2), None)) == 1
    assert len(growths(MODELS["one is widest"], np.zeros(2), None)) == 2


@pytest.mark.parametrize("alpha", [-30.0, -2.0, 0.0, 1.0, 10.0, 400.0])
def test_the_largest_pull_is_the_maximum_of_its_function(alpha: float) -> None:
    t = np.linspace(0.0, 40.0, 400_001)
    with np.errstate(over="ignore"):
        values = t / (1.0 + np.exp(t * t / 2.0 - alpha))
    assert _largest_pull(alpha) == pytest.approx(values.max(), rel=1e-6, abs=1e-15)
    assert _largest_pull(alpha) >= values.max() * (1.0 - 1e-12)


@pytest.mark.parametrize("order", [1, 2])
def test_derivatives_of_a_kernel_family_have_the_stated_coefficients(order: int) -> None:
    """Σ ζₗφₗ against the score without its base, and against a difference of it."""
    model = MODELS["kernel family"]
    x, h = np.linspace(-5.0, 5.0, 41)[:, None], 1e-5
    zeta = model._derivative(order)
    larger = KernelExponentialFamily(np.ones(zeta.size))
    found = (larger._functions(x)[:, : zeta.size] @ zeta)[:, None]

    def slope(y: Floats) -> Floats:
        return np.asarray(model.score(y) - model.base_score(y))

    expected = slope(x) if order == 1 else (slope(x + h) - slope(x - h)) / (2.0 * h)
    np.testing.assert_allclose(found, expected, atol=1e-8)
    assert np.abs(found).max() <= np.linalg.norm(zeta)


def test_chords_of_tanh_are_bounded_and_not_by_much() -> None:
    fields = np.array([0.0, 0.3, 1.0, 4.0, 12.0, 300.0])
    delta = np.geomspace(1e-4, 1e4, 200_001)[:, None]
    true = ((np.tanh(fields) - np.tanh(fields - delta)) / delta).max(axis=0)
    bound = _steepest_chords(fields)
    assert (bound >= true).all()
    assert (bound <= 1.25 * true + 1e-12).all()


def boxes(d: int, rng: np.random.Generator, n: int = 60) -> tuple[Floats, Floats]:
    center, half = rng.normal(size=(n, d)) * 4.0, 10.0 ** rng.uniform(-3.0, 1.0, size=(n, d))
    return center - half, center + half


@EACH_MODEL
def test_scores_lie_in_their_boxes(name: str) -> None:
    """Random points and corners of random boxes, thin and thick."""
    model, rng = MODELS[name], np.random.default_rng(2)
    lower, upper = boxes(model.dimension, rng)
    low, high = model.score_bounds(lower, upper)
    assert (low <= high).all()
    for _ in range(150):
        share = rng.random(lower.shape)
        share = share.round() if rng.random() < 0.3 else share
        score = model.score(lower + share * (upper - lower))
        room = 1e-9 * (1.0 + np.abs(score))
        assert (low - room <= score).all()
        assert (score <= high + room).all()


@EACH_MODEL
def test_boxes_of_scores_shrink_to_the_score(name: str) -> None:
    """So that a search over boxes ends: halving the box halves the slack."""
    model, rng = MODELS[name], np.random.default_rng(3)
    x = rng.normal(size=(20, model.dimension)) * 2.0
    widths = []
    for half in (1e-4, 1e-5):
        low, high = model.score_bounds(x - half, x + half)
        np.testing.assert_allclose((low + high) / 2.0, model.score(x), atol=30 * half)
        widths.append((high - low).max())
    assert widths[1] == pytest.approx(widths[0] / 10.0, rel=0.05)


def test_linear_bounds_are_attained_at_corners() -> None:
    rng = np.random.default_rng(4)
    matrix = rng.normal(size=(2, 3))
    lower, upper = boxes(3, rng, 5)
    corners = np.array(np.meshgrid(*[[0.0, 1.0]] * 3)).reshape(3, -1).T
    images = (lower[:, None] + corners * (upper - lower)[:, None]) @ matrix.T
    low, high = linear_bounds(matrix, lower, upper)
    np.testing.assert_allclose(low, images.min(axis=1), rtol=1e-12)
    np.testing.assert_allclose(high, images.max(axis=1), rtol=1e-12)


def test_the_largest_weighted_mean_against_linear_programming() -> None:
    rng = np.random.default_rng(5)
    for _ in range(20):
        values, least = rng.normal(size=4), rng.random(4) * 0.25
        most = np.minimum(1.0, least + rng.random(4))
        if most.sum() < 1.0:
            continue
        best = linprog(-values, A_eq=np.ones((1, 4)), b_eq=[1.0], bounds=list(zip(least, most, strict=True)))
        found = _largest_mean(values[None, :, None], least[None], most[None])
        assert float(found[0, 0]) == pytest.approx(-best.fun, rel=1e-9)


def test_a_unit_root_takes_the_unit_ball_onto_the_ellipsoid() -> None:
    precision = covariance(3, 6)
    z = np.random.default_rng(7).normal(size=(5, 3))
    x = z @ unit_root(precision, 3).T
    np.testing.assert_allclose(np.sum(x @ precision * x, axis=1), np.sum(z * z, axis=1), rtol=1e-12)
    np.testing.assert_array_equal(unit_root(None, 2), np.eye(2))


@EACH_MODEL
def test_a_radial_score_is_the_score(name: str) -> None:
    model = MODELS[name]
    radial = getattr(model, "radial_score", None)
    if radial is None:
        assert not isinstance(model, (Gaussian, StudentT))
        return
    x = np.random.default_rng(8).normal(size=(50, model.dimension)) * 3.0
    y = x - radial.center
    t = np.sum(y @ radial.precision * y, axis=1)
    expected = -radial.rate * (y @ radial.precision) / (1.0 + radial.decay * t)[:, None]
    np.testing.assert_allclose(model.score(x), expected, rtol=1e-10)
    assert (np.linalg.norm(model.score(x), axis=1) <= radial.most(np.sqrt(t), np.sqrt(t)) * (1 + 1e-12)).all()


def test_a_radial_score_knows_its_largest_value_between_two_distances() -> None:
    radial = RadialScore(np.zeros(1), np.eye(1), 2.0, 0.25)
    for low, high in ((0.0, 1.0), (1.0, 5.0), (3.0, 9.0)):
        root = np.linspace(low, high, 10_001)
        assert float(radial.most(low, high)) == pytest.approx((2.0 * root / (1.0 + root**2 / 4.0)).max(), rel=1e-7)
    assert float(radial.most(np.inf, np.inf)) == 0.0
    assert np.isinf(RadialScore(np.zeros(1), np.eye(1)).most(0.0, np.inf))


def test_the_cross_term_is_never_worth_more_than_the_product() -> None:
    assert ScoreGrowth(2.0, 3.0).middle == 6.0
    assert ScoreGrowth(2.0, 3.0, 1.0).middle == 1.0
    assert ScoreGrowth(2.0, 3.0, 9.0).middle == 6.0
