"""What models say of themselves, and what is made of what they fail to say."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import steinball as sb
from steinball.jumps import Modes
from steinball.models import Gaussian, GaussianBernoulliRBM, GaussianMixture, KernelExponentialFamily, StudentT
from steinball.models.base import ScoreFunction
from steinball.models.growth import RadialScore, ScoreGrowth
from steinball.models.knowledge import Knowledge
from steinball.models.registry import ScoreArray

pytestmark = pytest.mark.exact
Floats = NDArray[np.float64]
OURS: list[Any] = [
    Gaussian([1.0, 2.0], [1.0, 4.0]),
    StudentT(3.0, dimension=2),
    GaussianMixture([0.5, 0.5], [[-1.0, 0.0], [1.0, 0.0]]),
    GaussianBernoulliRBM.random(2, 3, 0),
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
