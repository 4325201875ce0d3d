"""`tau="auto"`: the best upper bound there is, by kind; twenty-four models; what is said where there is none."""

from __future__ import annotations

import dataclasses
import math
import time
import warnings
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import steinball as sb
from experiments.evidence.certified_supremum import CASES, FACTOR, SHARE, trial
from steinball.features import Supremum, UncertifiedSupremumWarning, find_supremum
from steinball.features.certificate import best_upper_bound
from steinball.models.growth import RadialScore, ScoreGrowth
from steinball.problem import pose
from steinball.stein import SteinProblem

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


def test_on_twenty_four_models_the_bound_is_never_below_a_search_and_mostly_close() -> None:
    ratios = {}
    for k, kind in enumerate(CASES):
        rows = {row["test"]: row for row in trial({"kind": kind}, np.random.default_rng(k))}
        ratios[kind] = rows["certified"]["tau"] / rows["multistart"]["tau"]
        assert rows["certified"]["rejected"] == 0
        assert rows["certified"]["strategy"] in ("closed form", "certified")
    assert len(ratios) >= 20
    assert min(ratios.values()) >= 1.0 - 1e-9
    assert np.mean(np.array(list(ratios.values())) <= FACTOR) >= SHARE
    low = [ratio for kind, ratio in ratios.items() if CASES[kind].model.dimension == 1]
    assert max(low) <= 1.03


@pytest.mark.parametrize("d", [1, 5, 50])
def test_a_bound_without_boxes_takes_little_time(d: int) -> None:
    models = [
        sb.models.Gaussian(0.5, dimension=d),
        sb.models.StudentT(5.0, 0.5, dimension=d),
        sb.models.GaussianMixture([0.5, 0.5], np.stack([np.zeros(d), np.full(d, 0.2)])),
    ]
    for model in models:
        problem = pose(sample(100, d), model, KERNEL, TILT)
        find_supremum("auto", problem)
        fastest = math.inf
        for _ in range(5):
            start = time.perf_counter()
            find_supremum("auto", problem)
            fastest = min(fastest, time.perf_counter() - start)
        assert fastest < (0.05 if d != 1 or not isinstance(model, sb.models.GaussianMixture) else 0.5)


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


def test_single_precision_data_are_not_refused_for_rounding() -> None:
    at_the_maximum = np.array([[1.109], [-1.109], [0.0]], dtype=np.float32)
    assert automatic(sb.models.Gaussian(), at_the_maximum).value == pytest.approx(PAPER, rel=1e-4)


# Where nothing is known


@pytest.mark.parametrize(
    ("model", "tilt", "reason"),
    [
        (lambda x: -x, TILT, "nothing is known of how the model's score grows"),
        (-sample(), TILT, "nothing is known of how the model's score grows"),
        (sb.models.Gaussian(), None, "without a tilt u\\(x, x\\) grows with the score"),
        (sb.models.Gaussian(), sb.PolynomialTilt(0.3), "the tilt's exponent 0.3 is too small"),
    ],
    ids=["function", "array", "no tilt", "weak tilt"],
)
def test_without_a_bound_the_sample_maximum_is_used_with_a_warning(model: Any, tilt: Any, reason: str) -> None:
    problem = pose(sample(), model, KERNEL, tilt)
    with pytest.warns(UncertifiedSupremumWarning, match=reason) as caught:
        found = find_supremum("auto", problem)
    assert found == find_supremum("sample", problem)
    assert not found.is_upper_bound
    text = str(caught[0].message)
    assert all(remedy in text for remedy in ("`tau=3.2`", "`score_growth(center)`", 'tau="sample"', "these points"))
    assert caught[0].filename == __file__


@dataclasses.dataclass(frozen=True)
class Flat:
    """A tilt of our own, whose shape the library does not know."""

    def log_weight(self, x: Any) -> Any:
        return -0.5 * np.log1p((x**2).sum(axis=1))

    def log_weight_gradient(self, x: Any) -> Any:
        return -x / (1.0 + (x**2).sum(axis=1))[:, None]


def test_a_tilt_of_unknown_shape_has_no_certificate() -> None:
    with pytest.warns(UncertifiedSupremumWarning, match="the shape of the tilt Flat is not known"):
        assert automatic(sb.models.Gaussian(), tilt=Flat()).kind == "sample"


def test_no_warning_where_there_is_a_bound() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert automatic(sb.models.StudentT(3.0), tilt=None).kind == "closed form"
        assert automatic(sb.models.KernelExponentialFamily([1.0])).kind == "certified"


# Models of a user


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


@pytest.mark.parametrize(
    ("stated", "error"),
    [(3.0, TypeError), ((1.0,), TypeError), ((1.0, -1.0), ValueError), ((math.inf, 0.0), ValueError)],
)
def test_a_growth_must_be_two_numbers(stated: Any, error: type[Exception]) -> None:
    with pytest.raises(error, match="`score_growth` of the model must return"):
        automatic(Logistic(1, stated))


def test_a_bound_below_the_sample_is_a_bug_and_says_so() -> None:
    class Wrong(sb.models.Gaussian):
        @property
        def radial_score(self) -> RadialScore:
            return dataclasses.replace(super().radial_score, rate=0.5)

    with pytest.raises(RuntimeError, match=r"closed form bound .* lies below .*`radial_score` is wrong"):
        automatic(Wrong())


# In a test


@pytest.mark.parametrize("calibration", [sb.WeightedBootstrap(99), sb.DeviationBound()])
def test_a_result_names_the_kind_of_its_bound(calibration: Any) -> None:
    x = sample(80)
    result = sb.robust_ksd_test(x, sb.models.Gaussian(), 0.1, kernel=KERNEL, tau="auto", calibration=calibration, rng=0)
    assert result.tau_kind == "closed form"
    assert result.tau == pytest.approx(PAPER, rel=1e-12)
    assert result.radius == pytest.approx(0.1 * math.sqrt(PAPER), rel=1e-12)


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


def _posed(model: Any, seed: int) -> SteinProblem:
    return pose(sample(30, seed=seed), model, KERNEL, TILT)
