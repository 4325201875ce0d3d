"""The best upper bound there is, by kind, and what is said where there is none."""

from __future__ import annotations

import dataclasses
import math
from typing import Any
from unittest import mock

import numpy as np
import pytest
from numpy.typing import NDArray

import steinball as sb
from steinball.kernels import Gaussian, InverseMultiquadric, Kernel
from steinball.models.knowledge import ScoreGrowth
from steinball.problem import Problem, pose
from steinball.stein import SteinKernel
from steinball.tau.certificate import Supremum, best_upper_bound, closed_form, largest_cubic
from steinball.tau.shells import Setting
from steinball.tau.supremum import find_supremum
from steinball.tilts import PolynomialTilt, Tilt

pytestmark = pytest.mark.exact

Floats = NDArray[np.float64]
KERNEL = sb.InverseMultiquadric(math.sqrt(2.0))
TILT = sb.PolynomialTilt()
V = (math.sqrt(5.5) - 1.0) / 3.0
PAPER = 1.0 + 1.5 * V - V**2 - V**3  # N(0, 1), length scale² = 2


def sample(n: int = 50, d: int = 1, seed: int = 0) -> Floats:
    return np.random.default_rng(seed).normal(size=(n, d))


def automatic(model: Any, x: Any = None, tilt: Any = TILT) -> Supremum:
    x = sample() if x is None else x
    return find_supremum("auto", pose(x, model, KERNEL, tilt))


def test_the_paper_s_gaussian_has_the_paper_s_supremum() -> None:
    found = automatic(sb.models.Gaussian())
    assert found.kind == "closed form"
    assert found.is_upper_bound
    assert found.value == pytest.approx(PAPER, rel=1e-14)


@pytest.mark.parametrize("d", [5, 50])
def test_a_bound_without_boxes_searches_nothing(d: int) -> None:
    """The score is not evaluated beyond the samples, but for one look at the center of a mixture."""
    models: list[Any] = [
        sb.models.Gaussian(0.5, dimension=d),
        sb.models.StudentT(5.0, 0.5, dimension=d),
        sb.models.GaussianMixture([0.5, 0.5], np.stack([np.zeros(d), np.full(d, 0.2)])),
    ]
    for model in models:
        problem = pose(sample(100, d), model, KERNEL, TILT)
        assert problem.reference is not None  # which every test asks for, once for each model
        with mock.patch.object(type(model), "score", autospec=True, side_effect=type(model).score) as score:
            find_supremum("auto", problem)
        assert sum(len(call.args[1]) for call in score.call_args_list) <= 7  # a look whether the model has changed


@pytest.mark.backend
def test_every_array_library_has_the_same_bound(xp: Any) -> None:
    x = sample(40, 2)
    for model in (
        sb.models.Gaussian([0.0, 1.0]),
        sb.models.StudentT(4.0, dimension=2),
        sb.models.GaussianMixture([0.5, 0.5], [[-1.0, 0.0], [1.0, 0.0]]),
    ):
        expected = find_supremum("auto", pose(x, model, KERNEL, TILT))
        found = find_supremum("auto", pose(xp.asarray(x), model, KERNEL, TILT))
        assert found.kind == expected.kind
        assert found.value == pytest.approx(expected.value, rel=1e-6)


@dataclasses.dataclass(frozen=True)
class Flat(Tilt):
    """A tilt of our own, whose shape the library does not know."""

    def log_weight(self, x: Any) -> Any:
        return -0.5 * np.log1p((x**2).sum(axis=1))

    def log_weight_gradient(self, x: Any) -> Any:
        return -x / (1.0 + (x**2).sum(axis=1))[:, None]


def test_a_tilt_of_unknown_shape_has_no_certificate() -> None:
    found = automatic(sb.models.Gaussian(), tilt=Flat())
    assert found.kind == "sample"
    assert "the shape of the tilt Flat is not known" in found.doubt


@dataclasses.dataclass(frozen=True)
class Logistic:
    """The logistic distribution, coordinate by coordinate: |s| ≤ √d."""

    dimension: int
    stated: Any = None

    def score(self, x: Any) -> Any:
        return -np.tanh(x / 2.0)

    def score_growth(self, center: Floats) -> Any:
        return (math.sqrt(self.dimension), 0.0) if self.stated is None else self.stated


class Measured(Logistic):
    """Which is asked in the metric of the tilt as well."""

    def score_growth(self, center: Floats, precision: Floats | None = None) -> Any:
        assert precision is not None
        return ScoreGrowth(math.sqrt(self.dimension), 0.0)


@pytest.mark.parametrize("kind", [Logistic, Measured])
def test_a_model_that_states_its_growth_is_certified(kind: Any) -> None:
    x, tilt = sample(50, 3), sb.PolynomialTilt(0.5, 0.2, precision=[1.0, 2.0, 5.0])
    problem = pose(x, kind(3), KERNEL, tilt)
    found = find_supremum("auto", problem)
    assert found.kind == "certified"
    assert find_supremum("optimized", problem).value <= found.value
    untilted = find_supremum("auto", pose(x, kind(3), KERNEL))
    assert untilted.value == pytest.approx(3.0 + 1.5, rel=1e-8)


def test_a_growth_without_the_metric_is_carried_over_to_it() -> None:
    """|x − a| ≤ ρ/√λ for the smallest eigenvalue λ of the tilt's precision: here (A, B) = (0, 1) becomes (0, 2)."""

    class Plain(sb.models.Gaussian):
        radial_score = None  # type: ignore[assignment]

        def score_growth(self, center: Floats) -> Any:  # type: ignore[override]
            return 0.0, 1.0

    tilt = sb.PolynomialTilt(precision=[4.0, 0.25])
    found = find_supremum("auto", pose(sample(50, 2), Plain(dimension=2), KERNEL, tilt))
    rho = np.linspace(0.0, 50.0, 200_001)
    weight = (1.0 + rho**2) ** -0.5
    majorant = (2.0 * rho * weight + 2.0 * rho * weight**3) ** 2 + weight**2
    boxes_may_sharpen = find_supremum("optimized", pose(sample(50, 2), Plain(dimension=2), KERNEL, tilt)).value
    assert boxes_may_sharpen <= found.value <= majorant.max() * (1.0 + 1e-4)


@pytest.mark.parametrize("stated", [(0.1, 0.0), (0.0, 0.01)])
def test_a_stated_growth_that_the_samples_contradict_is_refused(stated: Any) -> None:
    with pytest.raises(ValueError, match=r"`score_growth` of the model is not a bound: \|s\| = .* at sample"):
        automatic(Logistic(1, stated))


def test_units_do_not_matter() -> None:
    """u has the unit 1/scale²."""
    for scale in (1e-6, 1e6):
        for model in (sb.models.StudentT(4.0, 3.0 * scale, scale), sb.models.GaussianMixture([1.0], [0.0], scale**2)):
            tilt = sb.PolynomialTilt(0.5, 2.0 * scale, scale)
            problem = pose(scale * sample(), model, sb.InverseMultiquadric(scale), tilt)
            unit = sb.models.StudentT(4.0, 3.0) if "Student" in repr(model) else sb.models.GaussianMixture([1.0], [0.0])
            plain = pose(sample(), unit, sb.InverseMultiquadric(1.0), sb.PolynomialTilt(0.5, 2.0))
            expected = find_supremum("auto", plain).value
            assert find_supremum("auto", problem).value * scale**2 == pytest.approx(expected, rel=1e-6)


def test_the_bound_does_not_depend_on_the_samples_beyond_the_gap() -> None:
    """Samples set where the search begins, and when it may stop."""
    model = sb.models.GaussianMixture([0.5, 0.5], [-3.0, 3.0])
    bounds = [best_upper_bound(_posed(model, seed)).value for seed in range(5)]
    assert max(bounds) <= 1.03 * min(bounds)


def _posed(model: Any, seed: int) -> Problem:
    return pose(sample(30, seed=seed), model, KERNEL, TILT)


CORRELATED = np.array([[2.0, 0.6, 0.0], [0.6, 1.0, 0.3], [0.0, 0.3, 0.5]])


def setting_of(model: Any, kernel: Kernel, tilt: Tilt | None) -> Setting:
    setting = Setting.of(kernel, tilt, model, model.dimension)
    assert setting is not None
    return setting


def largest_on_lines(model: Any, kernel: Kernel, tilt: Tilt | None, directions: Floats, center: Floats) -> float:
    """The largest u(x, x) on rays from a center, on a fine grid of distances."""
    r = np.concatenate([np.linspace(0.0, 12.0, 24_001), np.geomspace(12.0, 1e7, 4001)])
    stein = SteinKernel(kernel, tilt)
    points = [center + r[:, None] * u for u in directions]
    return max(float(stein.diagonal(x, model.score(x)).max()) for x in points)


@pytest.mark.parametrize("seed", range(30))
def test_the_cubic_is_maximized(seed: int) -> None:
    value, slope, steepness, curvature = 10.0 ** np.random.default_rng(seed).uniform(-2.0, 2.0, size=4)
    v = np.linspace(0.0, 1.0, 200_001)
    values = value * (1.0 - v) * (slope + steepness * v) ** 2 + curvature * v
    found = largest_cubic(value, slope, steepness, curvature)
    assert found == pytest.approx(values.max(), rel=1e-8)
    assert found >= values.max() * (1.0 - 1e-14)


GAUSSIANS = {
    "line": (sb.models.Gaussian(2.0, 4.0), PolynomialTilt(0.5, 2.0, 3.0)),
    "unit": (sb.models.Gaussian(dimension=5), PolynomialTilt()),
    "wide tilt": (sb.models.Gaussian(dimension=5), PolynomialTilt(scale=4.0)),
    "correlated": (sb.models.Gaussian([0, 1, 2], CORRELATED), PolynomialTilt(0.5, (0, 1, 2), 1.5)),
    "whitened": (
        sb.models.Gaussian(0.0, CORRELATED),
        PolynomialTilt(precision=np.linalg.inv(CORRELATED) / 3.0),
    ),
}


@pytest.mark.parametrize("kernel", [InverseMultiquadric(0.7), 2.5 * Gaussian(1.5), InverseMultiquadric(3.0, 1.5)])
@pytest.mark.parametrize("name", GAUSSIANS)
def test_the_closed_form_of_a_gaussian_is_attained_along_its_narrowest_axis(name: str, kernel: Kernel) -> None:
    model, tilt = GAUSSIANS[name]
    narrow = np.linalg.eigh(model.covariance)[1][:, :1].T
    exact = closed_form(setting_of(model, kernel, tilt), model)
    assert exact is not None
    others = np.random.default_rng(0).normal(size=(20, model.dimension))
    others /= np.linalg.norm(others, axis=1, keepdims=True)
    along, anywhere = (largest_on_lines(model, kernel, tilt, d, model.location) for d in (narrow, others))
    assert exact == pytest.approx(along, rel=1e-6)
    assert anywhere <= exact * (1.0 + 1e-12)


def test_the_closed_form_with_a_metric_kernel() -> None:
    """Only tr C of the kernel's metric matters."""
    metric = np.diag([4.0, 1.0, 0.25])
    model, tilt = GAUSSIANS["correlated"]
    kernel = InverseMultiquadric(1.0, metric=metric)
    narrow = np.linalg.eigh(model.covariance)[1][:, :1].T
    exact = closed_form(setting_of(model, kernel, tilt), model)
    assert exact == pytest.approx(largest_on_lines(model, kernel, tilt, narrow, model.location), rel=1e-6)


def test_a_student_model_without_a_tilt_has_a_closed_form() -> None:
    model, kernel = sb.models.StudentT(3.0, 1.0, 2.0), InverseMultiquadric(1.0)
    exact = closed_form(setting_of(model, kernel, None), model)
    assert exact == pytest.approx((4.0 / (2.0 * 3.0**0.5 * 2.0)) ** 2 + 1.0, rel=1e-12)
    assert exact == pytest.approx(largest_on_lines(model, kernel, None, np.ones((1, 1)), np.ones(1)), rel=1e-6)


@pytest.mark.parametrize(
    ("model", "tilt"),
    [
        (sb.models.Gaussian(), None),
        (sb.models.Gaussian(), PolynomialTilt(0.7)),
        (sb.models.Gaussian(), PolynomialTilt(center=0.1)),
        (sb.models.Gaussian(0.0, CORRELATED), PolynomialTilt(precision=[1.0, 2.0, 3.0])),
        (sb.models.StudentT(3.0), PolynomialTilt()),
        (sb.models.GaussianMixture([1.0], [0.0]), PolynomialTilt()),
    ],
)
def test_no_closed_form_is_claimed_where_none_was_derived(model: Any, tilt: Any) -> None:
    assert closed_form(setting_of(model, InverseMultiquadric(1.0), tilt), model) is None


@pytest.mark.parametrize("kind", ["given", "closed form", "certified"])
def test_what_is_proved_is_an_upper_bound(kind: str) -> None:
    assert Supremum(1.0, kind).is_upper_bound


@pytest.mark.parametrize("kind", ["sample", "optimized", "localized", "estimated"])
def test_what_was_seen_or_estimated_is_none(kind: str) -> None:
    assert not Supremum(1.0, kind).is_upper_bound
