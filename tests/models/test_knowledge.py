"""What models say of themselves, and what is made of what they fail to say."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import linprog

import steinball as sb
from steinball.jumps import Modes
from steinball.models import Gaussian, GaussianBernoulliRBM, GaussianMixture, KernelExponentialFamily, StudentT
from steinball.models.base import ScoreFunction
from steinball.models.boltzmann import _steepest_chords
from steinball.models.knowledge import Knowledge, RadialScore, ScoreGrowth, linear_bounds, unit_root
from steinball.models.mixture import _largest_mean, _largest_pull
from steinball.models.registry import ScoreArray

pytestmark = pytest.mark.exact
Floats = NDArray[np.float64]
OURS: list[Any] = [
    Gaussian([1.0, 2.0], [1.0, 4.0]),
    StudentT(3.0, dimension=2),
    GaussianMixture([0.5, 0.5], [[-1.0, 0.0], [1.0, 0.0]]),
    GaussianBernoulliRBM(np.random.default_rng(0).normal(size=(2, 3)), np.ones(2), np.ones(3)),
    KernelExponentialFamily([1.0, -0.5]),
]


class Having:
    """A model of a user with the given attributes and a score."""

    def __init__(self, **attributes: Any) -> None:
        vars(self).update(attributes)

    def score(self, x: Any) -> Any:
        return -x


@pytest.mark.parametrize("model", OURS, ids=repr)
def test_our_own_models_say_all_that_their_kind_can(model: Any) -> None:
    known, d = Knowledge(model), model.dimension
    assert known.has_score
    assert known.evaluable
    assert known.dimension == d
    assert known.log_density is not None
    assert known.score_bounds is not None
    assert known.score_growth(np.zeros(d), np.eye(d))
    draws = known.draws(7)
    assert draws is not None
    assert draws.shape == (7, d)
    assert (known.place is None) == isinstance(model, (GaussianBernoulliRBM, KernelExponentialFamily))
    assert (known.radial_score is None) == (not isinstance(model, (Gaussian, StudentT)))


def test_the_place_of_a_model_is_its_location_and_covariance() -> None:
    place = Knowledge(OURS[0]).place
    assert place is not None
    np.testing.assert_array_equal(place[0], [1.0, 2.0])
    np.testing.assert_array_equal(place[1], np.diag([1.0, 4.0]))
    number = Knowledge(Having(location=2.0, covariance=3.0)).place
    assert number is not None
    assert (number[0].tolist(), number[1].tolist()) == ([2.0], [[3.0]])


class Raises(Having):
    """Whose covariance does not exist."""

    @property
    def covariance(self) -> Floats:
        raise ZeroDivisionError("no second moments")


@pytest.mark.parametrize(
    "model",
    [
        Having(),
        Having(location=np.zeros(2), covariance=None),
        Having(location=np.zeros(2), covariance=np.full((2, 2), np.inf)),
        Having(location=np.zeros(2), covariance=np.ones((2, 3))),
        Having(location="left", covariance=np.eye(2)),
        Having(location=lambda: 0.0, covariance=np.eye(2)),
        Raises(location=np.zeros(2)),
        Gaussian,
        lambda x: -x,
    ],
    ids=["neither", "None", "infinite", "not square", "text", "method", "raises", "a class", "function"],
)
def test_what_a_model_lacks_or_fails_to_say_is_unknown(model: Any) -> None:
    """One policy for all: before, some of these were errors of NumPy far from here, and some were believed."""
    assert Knowledge(model).place is None


def test_a_location_is_known_without_a_covariance() -> None:
    location = Knowledge(Having(location=[1.0, 2.0])).location
    assert location is not None
    assert location.tolist() == [1.0, 2.0]


def draw(shape: tuple[int, ...], fill: float = 1.0) -> Any:
    return lambda n, rng: np.full((n, *shape), fill)


def test_draws_are_rows_and_the_same_every_time() -> None:
    first, second = (Knowledge(OURS[0]).draws(5) for _ in range(2))
    np.testing.assert_array_equal(first, second)
    np.testing.assert_array_equal(first, OURS[0].sample(5, 0))
    flat = Knowledge(Having(sample=draw(()))).draws(3)
    assert flat is not None
    assert flat.shape == (3, 1)


def refuse(n: int, rng: Any) -> Any:
    raise ValueError("too many states")


@pytest.mark.parametrize(
    ("sample", "error", "text"),
    [
        (None, TypeError, r"`model` must have `sample\(n, rng\)`, and Having has not"),
        (3.0, TypeError, r"`model` must have `sample\(n, rng\)`"),
        (refuse, ValueError, "too many states"),
        (draw((2,), math.inf), ValueError, "must return a finite array"),
        (draw((2, 2)), ValueError, r"must return a finite array \(n, d\), got shape \(4, 2, 2\)"),
    ],
    ids=["none", "a number", "refuses", "infinite", "three axes"],
)
def test_a_sampler_that_fails_is_as_good_as_none_unless_draws_are_needed(
    sample: Any, error: type[Exception], text: str
) -> None:
    known = Knowledge(Having(sample=sample))
    assert known.draws(4) is None
    with pytest.raises(error, match=text):
        known.needed_draws(4)


def test_what_needs_draws_names_no_argument_that_is_not_there() -> None:
    with pytest.raises(TypeError, match="Give it that method") as caught:
        sb.radius.LikeModel(lambda x: -x)
    assert "`draws`" not in str(caught.value)


@pytest.mark.backend
def test_draws_of_any_library_come_to_the_host(xp: Any) -> None:
    drawn = Knowledge(Having(sample=lambda n, rng: xp.asarray(rng.normal(size=(n, 2))))).draws(4)
    assert isinstance(drawn, np.ndarray)
    np.testing.assert_array_equal(drawn, np.random.default_rng(0).normal(size=(4, 2)))


def test_the_dimension_is_a_whole_number_or_unknown() -> None:
    assert [Knowledge(Having(dimension=d)).dimension for d in (3, None, "3")] == [3, None, None]


def test_scores_are_known_elsewhere_unless_a_model_says_otherwise() -> None:
    x = np.zeros((2, 1))
    assert Knowledge(ScoreFunction(lambda x: -x)).evaluable
    assert not Knowledge(ScoreArray(x, -x)).evaluable
    assert not Knowledge(Having(evaluable=False)).evaluable


def test_a_model_is_evaluated_in_numpy_where_it_takes_that() -> None:
    template = np.ones(3, dtype=np.float32)
    for model in (*OURS, sb.from_log_density(lambda x: -x[:, 0], backend="numerical")):
        assert Knowledge(model).evaluated_in(template).dtype == np.float64
    for model in (Having(), ScoreFunction(lambda x: -x)):
        assert Knowledge(model).evaluated_in(template) is template
    assert Knowledge(Having()).evaluated_in(None).dtype == np.float64


def test_clusters_are_the_components_that_have_a_weight_or_declared_modes() -> None:
    clusters = Knowledge(GaussianMixture([0.5, 0.0, 0.5], [-1.0, 0.0, 1.0], [1.0, 2.0, 3.0])).clusters
    assert clusters is not None
    assert clusters.locations.tolist() == [[-1.0], [1.0]]
    assert clusters.covariances.tolist() == [[[1.0]], [[3.0]]]
    declared = Knowledge(Having(modes=Modes([-2.0, 2.0]))).clusters
    assert declared is not None
    assert declared.locations.tolist() == [[-2.0], [2.0]]
    assert Knowledge(Having(modes=[-2.0, 2.0])).clusters is None
    assert Knowledge(Gaussian()).clusters is None


def test_a_growth_is_stretched_to_the_metric_that_a_method_does_not_take() -> None:
    plain = Having(score_growth=lambda center: (1.0, 2.0))
    (found,) = Knowledge(plain).score_growth(np.zeros(2), np.diag([4.0, 0.25]))
    assert found == ScoreGrowth(1.0, 4.0, 4.0)  # |x − a| is at most 2ρ
    measured = Having(score_growth=lambda center, precision: [(1.0, 2.0), ScoreGrowth(3.0, 1.0, 0.5)])
    both = Knowledge(measured).score_growth(np.zeros(2), np.diag([4.0, 0.25]))
    assert both == (ScoreGrowth(1.0, 2.0, 2.0), ScoreGrowth(3.0, 1.0, 0.5))
    assert Knowledge(Having()).score_growth(np.zeros(2), np.eye(2)) == ()


@pytest.mark.parametrize(
    ("stated", "error"),
    [(3.0, TypeError), ((1.0,), TypeError), ((1.0, -1.0), ValueError), ((math.inf, 0.0), ValueError)],
)
def test_a_growth_must_be_two_numbers(stated: Any, error: type[Exception]) -> None:
    """A certificate that is none is an error: to drop it in silence would drop a promise."""
    with pytest.raises(error, match="`score_growth` of the model must return"):
        Knowledge(Having(score_growth=lambda center: stated)).score_growth(np.zeros(1), np.eye(1))


def test_only_a_radial_score_is_one() -> None:
    radial = RadialScore(np.zeros(1), np.eye(1))
    assert Knowledge(Having(radial_score=radial)).radial_score is radial
    assert Knowledge(Having(radial_score="round")).radial_score is None


@pytest.mark.parametrize(
    ("methods", "name"), [((), None), (("pdf", "logpdf"), "logpdf"), (("prob",), "prob"), (("log_prob",), "log_prob")]
)
def test_densities_are_found_under_the_names_of_other_libraries(methods: tuple[str, ...], name: str | None) -> None:
    assert Knowledge(Having(**dict.fromkeys(methods, abs))).density_method == name


def test_the_parts_of_normal_models_are_those_of_a_mixture() -> None:
    parts = Knowledge(OURS[0]).normal_parts
    assert parts is not None
    assert [part.shape for part in parts] == [(1,), (1, 2), (1, 2, 2)]
    weightless = Knowledge(GaussianMixture([0.0, 1.0], [-1.0, 1.0])).normal_parts
    assert weightless is not None
    assert weightless[1].tolist() == [[1.0]]
    assert [Knowledge(model).normal_parts for model in (OURS[1], Having(normal_parts="two"))] == [None, None]


def test_draws_are_given_only_as_a_matrix() -> None:
    given = Knowledge(sb.from_draws([1.0, 2.0])).second_sample
    assert given is not None
    assert given.tolist() == [[1.0], [2.0]]
    for draws in (None, lambda n: n, np.zeros(3), "draws"):
        assert Knowledge(Having(draws=draws)).second_sample is None


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
    "large rbm": GaussianBernoulliRBM(np.random.default_rng(0).normal(size=(3, 14)), np.ones(3), np.ones(14)),
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
