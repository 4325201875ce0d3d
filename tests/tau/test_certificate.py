"""The best upper bound there is, by kind, and what is said where there is none."""

from __future__ import annotations

import dataclasses
import math
from functools import cache
from typing import Any
from unittest import mock

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar

import steinball as sb
from steinball.kernels import Gaussian, InverseMultiquadric, Kernel
from steinball.models.knowledge import RadialScore, ScoreGrowth
from steinball.problem import Problem, pose
from steinball.stein import SteinKernel
from steinball.tau.certificate import (
    GAP,
    Majorant,
    Setting,
    Supremum,
    _bounds,
    _largest,
    best_upper_bound,
    bound_without_search,
    closed_form,
    largest_box,
    largest_cubic,
    largest_shell,
)
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


@pytest.mark.parametrize("stated", [(0.1, 0.0), (0.0, 0.01), [(100.0, 0.0), (0.1, 0.0)]])
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


@pytest.mark.parametrize("power", [0, 1, 2])
@pytest.mark.parametrize("exponent", [0.0, 0.5, 1.0, 1.5, 4.0])
def test_a_term_is_at_its_largest(power: int, exponent: float) -> None:
    for low, high in ((0.0, 0.3), (0.0, 5.0), (0.9, 1.1), (3.0, 40.0)):
        rho = np.linspace(low, high, 100_001)
        found = _largest(power, exponent, np.array([low]), np.array([high]))[0]
        assert found == pytest.approx((rho**power * (1.0 + rho**2) ** -exponent).max(), rel=1e-7)


def test_terms_at_infinity_are_their_limits() -> None:
    edge = np.array([np.inf])
    assert [_largest(k, 1.0, edge, edge)[0] for k in (0, 1, 2)] == [0.0, 0.0, 1.0]
    assert _largest(2, 0.9, np.array([1.0]), edge)[0] == np.inf
    assert _largest(0, 0.0, edge, edge)[0] == 1.0


SHELLED: dict[str, tuple[Any, PolynomialTilt]] = {
    "off center": (sb.models.Gaussian([1.0, 2.0]), PolynomialTilt(scale=1.5)),
    "steep": (sb.models.Gaussian(dimension=2), PolynomialTilt(1.3, 0.5, 2.0)),
    "correlated": (sb.models.Gaussian([1.0, 0.0], CORRELATED[:2, :2]), PolynomialTilt(0.6, precision=[1.0, 3.0])),
    "student": (sb.models.StudentT(4.0, dimension=2), PolynomialTilt(scale=2.0)),
    "student off center": (sb.models.StudentT(4.0, [1.0, 2.0], shape=CORRELATED[:2, :2]), PolynomialTilt()),
    "mixture": (sb.models.GaussianMixture([0.3, 0.7], [[-2.0, 0.0], [1.0, 1.0]], 0.5), PolynomialTilt(0.8)),
}

TIGHT = {"off center", "steep", "student"}


@pytest.mark.parametrize("name", SHELLED)
def test_no_point_of_a_shell_exceeds_its_bound(name: str) -> None:
    model, tilt = SHELLED[name]
    kernel = InverseMultiquadric(1.2)
    majorant = Majorant.of(setting_of(model, kernel, tilt), model)
    assert majorant is not None
    rng = np.random.default_rng(1)
    z = rng.normal(size=(20_000, 2))
    z *= (10.0 ** rng.uniform(-2.0, 3.0, 20_000) / np.linalg.norm(z, axis=1))[:, None]
    x = majorant.setting.center + z @ majorant.setting.unit_root.T
    values, rho = SteinKernel(kernel, tilt).diagonal(x, model.score(x)), majorant.setting.distance(x)
    np.testing.assert_allclose(rho, np.linalg.norm(z, axis=1), rtol=1e-10)
    assert (values <= majorant.bound_between(rho, rho) * (1.0 + 1e-10)).all()
    assert (values <= majorant.bound_between(0.9 * rho, 1.3 * rho) * (1.0 + 1e-10)).all()
    assert values.max() <= largest_shell(majorant)
    if name in TIGHT:
        assert largest_shell(majorant) == pytest.approx(values.max(), rel=5e-3)


@pytest.mark.parametrize("name", SHELLED)
def test_the_largest_shell_is_the_maximum_of_the_bound(name: str) -> None:
    model, tilt = SHELLED[name]
    majorant = Majorant.of(setting_of(model, InverseMultiquadric(1.2), tilt), model)
    assert majorant is not None
    rho = np.concatenate([np.linspace(0.0, 20.0, 40_001), np.geomspace(20.0, 1e6, 2001)])
    values = majorant.bound_between(rho, rho)
    best = float(values.max())
    assert best * (1.0 - 1e-12) <= largest_shell(majorant) <= best * (1.0 + 2e-5)
    beyond = float(values[rho >= 3.0].max())
    assert beyond * (1.0 - 1e-12) <= largest_shell(majorant, start=3.0) <= beyond * (1.0 + 2e-5)
    coarse = largest_shell(majorant, gap=0.05)
    assert best * (1.0 - 1e-12) <= coarse <= best * 1.05 * (1.0 + 1e-9)


def test_a_model_that_knows_its_score_by_shells_alone_has_the_closed_form() -> None:
    class Shells:
        radial_score = RadialScore(np.zeros(2), np.eye(2))

    kernel, tilt = InverseMultiquadric(1.2), PolynomialTilt()
    models = Shells(), sb.models.Gaussian([0.0, 0.0])
    found, expected = (bound_without_search(SteinKernel(kernel, tilt), model, 2) for model in models)
    assert found is not None
    assert found == expected


def test_a_bound_without_search_is_near_the_best_unless_it_may_be_loose_or_boxes_decide() -> None:
    kernel, tilt = InverseMultiquadric(1.2), PolynomialTilt(scale=1.5)
    gaussian, mixture = sb.models.Gaussian(np.ones(5)), sb.models.GaussianMixture([0.5, 0.5], [-1.0, 1.0])
    best = largest_shell(Majorant.of(setting_of(gaussian, kernel, tilt), gaussian))
    near, loose = (bound_without_search(SteinKernel(kernel, tilt), gaussian, 5, loose=word) for word in (False, True))
    assert near is not None
    assert loose is not None
    assert best * (1.0 - 1e-9) <= near <= 1.01 * best < loose <= 2.0 * best
    assert bound_without_search(SteinKernel(kernel, tilt), mixture, 1) is None
    assert bound_without_search(SteinKernel(kernel, tilt), mixture, 1, loose=True) is not None
    assert bound_without_search(SteinKernel(kernel), mixture, 1, loose=True) is None


def test_the_bound_of_the_literature_is_never_better() -> None:
    """h(0)(√(A² + B²C) + 2/(3√(3C)))² − Δh(0) for |s| ≤ A + B|x − a| and the tilt (1 + |x − a|²/C)^(−1/2)."""
    rng = np.random.default_rng(2)
    for a, b, c, kappa in 10.0 ** rng.uniform(-1.5, 1.5, size=(40, 4)):
        setting = Setting(1.0, kappa, 0.5, np.zeros(1), np.eye(1) / c)
        found = largest_shell(Majorant(setting, (ScoreGrowth(a, b * c**0.5),)))
        crude = (np.sqrt(a * a + b * b * c) + 2.0 / (3.0 * np.sqrt(3.0 * c))) ** 2 + kappa
        exact = minimize_scalar(
            lambda t, p=(a, b, c, kappa): -_radial(np.tan(t), *p), bounds=(0.0, np.pi / 2), method="bounded"
        )
        assert found <= crude * (1.0 + 1e-9)
        assert found >= -exact.fun * (1.0 - 1e-9)


def _radial(rho: float, a: float, b: float, c: float, kappa: float) -> float:
    """The majorant by hand: w(A + Br) + |w′|, r = ρ√C, w = (1 + ρ²)^(−1/2)."""
    weight = (1.0 + rho**2) ** -0.5
    return float((weight * (a + b * rho * c**0.5) + rho / c**0.5 * weight**3) ** 2 + kappa * weight**2)


def test_a_weight_too_weak_for_the_growth_gives_no_bound() -> None:
    model = sb.models.Gaussian()
    for tilt in (None, PolynomialTilt(0.3)):
        majorant = Majorant.of(setting_of(model, InverseMultiquadric(1.0), tilt), model)
        assert majorant is not None
        assert largest_shell(majorant) == np.inf


PROBLEMS: dict[str, tuple[Any, Tilt | None]] = {
    "line": (sb.models.GaussianMixture([0.5, 0.5], [-3.0, 3.0]), PolynomialTilt(scale=2.0)),
    "widths": (sb.models.GaussianMixture([0.2, 0.8], [-2.0, 2.0], [0.2, 2.0]), PolynomialTilt(0.7)),
    "kernel family": (sb.models.KernelExponentialFamily([1.0, -2.0, 0.0, 1.5]), PolynomialTilt()),
    "at infinity": (sb.models.GaussianMixture([0.5, 0.5], [-1.0, 1.0]), PolynomialTilt(scale=10.0)),
    "student": (sb.models.StudentT(2.0, 1.0), None),
    "plane": (sb.models.GaussianMixture([0.3, 0.7], [[-1.5, 0.5], [1.0, -1.0]]), PolynomialTilt(0.5, (0.3, -0.2), 1.5)),
    "rbm": (
        sb.models.GaussianBernoulliRBM([[2.0, -1.0], [0.5, 1.5]], [0.4, -0.3], [0.1, 1.0]),
        PolynomialTilt(0.5, 0.0, precision=[[1.0, 0.4], [0.4, 2.0]]),
    ),
}


def parts(name: str) -> tuple[Any, Majorant, Any]:
    model, tilt = PROBLEMS[name]
    kernel = InverseMultiquadric(1.3)
    setting = Setting.of(kernel, tilt, model, model.dimension)
    assert setting is not None
    majorant = Majorant.of(setting, model)
    assert majorant is not None
    stein = SteinKernel(kernel, tilt)
    return model, majorant, lambda x: stein.diagonal(x, model.score(x))


@cache
def on_a_grid(name: str) -> float:
    """The largest u(x, x) on a fine grid, and far out."""
    model, _, value = parts(name)
    step = 0.0005 if model.dimension == 1 else 0.03
    axis = np.arange(-12.0, 12.0, step)
    grid = np.stack(np.meshgrid(*[axis] * model.dimension), axis=-1).reshape(-1, model.dimension)
    angles = np.linspace(0.0, 2.0 * np.pi, 721)
    circle = np.stack([np.cos(angles), np.sin(angles)], axis=1)[:, : model.dimension]
    return max(float(value(grid).max()), *(float(value(r * circle).max()) for r in (15.0, 50.0, 1e4)))


@pytest.mark.parametrize("name", PROBLEMS)
def test_the_bound_lies_above_the_supremum_and_within_the_gap(name: str) -> None:
    model, majorant, value = parts(name)
    true = on_a_grid(name)
    found = largest_box(majorant, model, value, 0.0)
    assert true * (1.0 - 1e-9) <= found <= true * (1.0 + GAP + 0.003)


@pytest.mark.parametrize("budget", [1, 30, 300, 3000])
def test_a_small_budget_gives_a_larger_bound_never_a_wrong_one(budget: int) -> None:
    model, majorant, value = parts("plane")
    assert largest_box(majorant, model, value, 0.0, budget) >= on_a_grid("plane") * (1.0 - 1e-9)


def test_a_good_start_does_not_change_what_is_bounded() -> None:
    model, majorant, value = parts("line")
    true = on_a_grid("line")
    assert true * (1.0 - 1e-9) <= largest_box(majorant, model, value, true) <= true * (1.0 + GAP + 1e-6)


@pytest.mark.parametrize("name", PROBLEMS)
def test_no_point_of_a_box_exceeds_its_bound(name: str) -> None:
    model, majorant, value = parts(name)
    rng = np.random.default_rng(0)
    center = rng.normal(size=(300, model.dimension)) * 4.0
    half = 10.0 ** rng.uniform(-3.0, 0.7, size=center.shape)
    bound = _bounds(majorant, model, np.stack([center - half, center + half], axis=1))
    for _ in range(60):
        share = rng.uniform(-1.0, 1.0, size=center.shape)
        share = np.sign(share) if rng.random() < 0.3 else share
        assert (value(center + share * half) <= bound * (1.0 + 1e-10)).all()


def test_bounds_of_small_boxes_are_values() -> None:
    """First order: a box a tenth as wide has a tenth of the slack."""
    model, majorant, value = parts("rbm")
    x = np.random.default_rng(1).normal(size=(50, 2))
    slack = [(_bounds(majorant, model, np.stack([x - h, x + h], axis=1)) - value(x)).max() for h in (1e-3, 1e-4)]
    assert 0.0 < slack[1] < 0.15 * slack[0] < 0.15 * 0.1


def test_a_bound_that_is_nan_is_open_and_not_settled() -> None:
    """A model whose ``score_bounds`` answers NaN in places gets no bound below the truth."""

    class Odd(sb.models.Gaussian):
        def score_bounds(self, lower: Any, upper: Any) -> Any:
            low, high = super().score_bounds(lower, upper)
            return np.where(lower > 0.0, np.nan, low), high

    x = np.random.default_rng(0).normal(size=(50, 1))
    taus = [
        find_supremum("auto", pose(x, model, InverseMultiquadric(1.0), PolynomialTilt(0.6, center=1.0))).value
        for model in (sb.models.Gaussian(), Odd())
    ]
    assert taus[1] >= taus[0] * 0.98


def test_boxes_are_looked_at_where_shells_are_loose() -> None:
    """Two components six apart: shells alone leave a quarter open."""
    model = sb.models.GaussianMixture([0.5, 0.5], [-3.0, 3.0])
    problem = pose(model.sample(200, 1), model, InverseMultiquadric(2**0.5), PolynomialTilt())
    bound, attained = (find_supremum(tau, problem).value for tau in ("auto", "optimized"))
    assert attained <= bound < 1.03 * attained
