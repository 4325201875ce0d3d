"""What a radius is, how radii add, what they say of their sets and what they refuse."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import steinball as sb
from steinball import radius as r
from steinball.models import Gaussian, GaussianMixture
from steinball.problem import Problem, pose
from steinball.tau.certificate import Supremum

pytestmark = [pytest.mark.exact, pytest.mark.filterwarnings("ignore::steinball.cautions.RemovalWarning")]

X = np.random.default_rng(5).normal(size=(60, 2))
TAU = Supremum(2.25, "given")
TILT = sb.PolynomialTilt(0.5)
FEW = sb.WeightedBootstrap(19)


def problem(model: Any = None, kernel: Any = None, tilt: Any = TILT, x: Any = X) -> Problem:
    return pose(x, (lambda x: -x) if model is None else model, kernel or sb.InverseMultiquadric(1.3), tilt)


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
        (r.Huber(0.1) + r.ScoreError(0.2), 0.35),
        (r.Huber(0.1) + r.TotalVariation(0.1), 0.45),
        (r.Huber(0.1) + 0.1, 0.25),
        (0.1 + r.Huber(0.1), 0.25),
        (r.Huber(0.1) + r.Huber(0.1) + r.ScoreError(0.01), 0.31),
    ],
    ids=repr,
)
def test_radii_by_their_formulas(radius: r.Radius, value: float) -> None:
    assert radius(problem(), TAU) == pytest.approx(value, rel=1e-12)


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
    radii = (r.TotalVariation(0.1), r.ChiSquared(0.1), r.Wasserstein(0.1), r.ScoreError(0.1))
    assert [repr(one) for one in radii] == [
        "TotalVariation(distance=0.1)",
        "ChiSquared(value=0.1)",
        "Wasserstein(distance=0.1)",
        "ScoreError(delta=0.1)",
    ]
    assert (
        repr(r.LikeModel(sb.models.Gaussian(1.0)) + 0.1)
        == "LikeModel(Gaussian(mean=1, cov=1)) + FixedRadius(value=0.1)"
    )


@pytest.mark.parametrize(
    "radius", [r.StudentTails(5), r.ChiSquared(0.1), r.Alternative(X), r.LikeModel(sb.models.Gaussian())]
)
def test_sets_around_the_model_alone_do_not_add(radius: Any) -> None:
    with pytest.raises(TypeError, match="both sets around the model alone"):
        radius + r.ChiSquared(0.1)
    with pytest.raises(TypeError, match="both sets around the model alone"):
        (radius + r.ScoreError(0.1)) + (r.Huber(0.1) + r.ChiSquared(0.1))
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
    assert (r.Huber(0.1) + r.ScoreError(0.1)).kind(plain, sample) == "sample"
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
    "radius", [r.TotalVariation(0.1), r.Huber(0.1) + r.ScoreError(0.1), r.Huber(0.1) + 0.1], ids=repr
)
def test_an_unbounded_stein_kernel_is_warned_about(radius: Any) -> None:
    with pytest.warns(sb.cautions.UnboundedSteinKernelWarning):
        sb.ksd_test(X, lambda x: -x, radius=radius, calibration=FEW, rng=0)
    sb.ksd_test(X, lambda x: -x, radius=r.ScoreError(0.1), calibration=FEW, rng=0)


def test_what_needs_the_score_elsewhere_says_so() -> None:
    known = pose(X, sb.from_scores(-X), sb.InverseMultiquadric(1.0), TILT)
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


def run(radius: Any) -> sb.GofResult:
    return sb.ksd_test(X, lambda x: -x, radius=radius, calibration=FEW, rng=0)


@pytest.mark.parametrize("value", [0, 0.0, 0.25, np.float64(3.0)])
def test_a_number_is_the_radius_itself(value: float) -> None:
    for radius in (value, r.FixedRadius(value)):
        result = run(radius)
        assert result.radius == value
        assert result.statistic == max(0.0, result.ksd - value)
        assert result.contamination is None


@pytest.mark.parametrize("value", [-1e-9, -1, math.nan, math.inf])
def test_a_radius_that_is_negative_or_not_finite_is_refused(value: float) -> None:
    with pytest.raises(ValueError, match=r"`radius` must be a finite number in \[0, inf\)"):
        run(value)
    with pytest.raises(ValueError, match=r"`radius` must be a finite number in \[0, inf\)"):
        run(0.0).at(radius=value)


@pytest.mark.parametrize("value", ["0.1", None, r.Huber, [0.1, 0.2], lambda problem, tau: 0.1])
def test_a_radius_must_be_a_number_or_a_radius(value: Any) -> None:
    with pytest.raises(TypeError, match="`radius` must be a number"):
        run(value)


def test_a_class_is_no_radius_for_at_either() -> None:
    with pytest.raises(TypeError, match="`radius` must be a number"):
        run(0.0).at(radius=r.Huber)  # type: ignore[arg-type]


# What radii say of their sets

EVERY: dict[str, r.Radius] = {
    "Alternative": r.Alternative(X),
    "ChiSquared": r.ChiSquared(0.1),
    "DensityBand": r.DensityBand(0.1),
    "FixedRadius": r.FixedRadius(0.1),
    "Hellinger": r.Hellinger(0.1),
    "Huber": r.Huber(0.1),
    "KullbackLeibler": r.KullbackLeibler(0.1),
    "LikeModel": r.LikeModel(Gaussian(dimension=2), n_draws=5),
    "ScoreError": r.ScoreError(0.1),
    "StudentTails": r.StudentTails(5.0),
    "TotalVariation": r.TotalVariation(0.1),
    "Wasserstein": r.Wasserstein(0.1),
}
CLOSED = {"ChiSquared", "DensityBand", "Hellinger", "Huber", "KullbackLeibler", "StudentTails", "TotalVariation"}
ANCHORED = {"Alternative", "ChiSquared", "LikeModel", "StudentTails"}
FREE = {"Alternative", "FixedRadius", "LikeModel", "ScoreError"}


def test_every_radius_says_what_its_set_is_like() -> None:
    assert set(EVERY) == set(r.__all__) - {"Radius"}
    assert {name for name, one in EVERY.items() if one.closed_under_moves} == CLOSED
    assert {name for name, one in EVERY.items() if one.anchored} == ANCHORED
    assert {name for name, one in EVERY.items() if not one.needs_bounded} == FREE
    assert {name for name, one in EVERY.items() if one.kernel_specific} == {"FixedRadius"}
    assert (r.Huber(0.1) + 0.1).kernel_specific
    assert {name for name, one in EVERY.items() if not one.allows_removal} == {"Huber"}
    assert {name: one.contamination for name, one in EVERY.items() if one.contamination is not None} == {"Huber": 0.1}


def test_a_radius_of_zero_holds_the_model_alone() -> None:
    nothing = r.FixedRadius(0.0)
    assert nothing.closed_under_moves
    assert not nothing.kernel_specific
    assert not nothing.allows_removal
    assert not r.Huber(0.0).needs_bounded
    assert r.Huber(0.0).contamination == 0.0


def test_a_sum_says_what_its_parts_say() -> None:
    assert (r.Huber(0.1) + r.TotalVariation(0.1)).closed_under_moves
    assert (r.Huber(0.1) + r.TotalVariation(0.1)).allows_removal
    assert not (r.Huber(0.1) + r.Huber(0.1)).allows_removal
    assert not (r.Huber(0.1) + r.Wasserstein(0.1)).closed_under_moves
    assert not (r.Huber(0.1) + r.ScoreError(0.1)).kernel_specific
    assert (r.ScoreError(0.1) + 0.1).kernel_specific
    assert (r.Huber(0.1) + 0.0).closed_under_moves


@dataclass(frozen=True)
class Named(r.Huber):
    """A subclass, as a user might write one to keep a note beside the share."""

    note: str = ""


FAR = GaussianMixture([0.5, 0.5], [-6.0, 6.0])


@pytest.mark.parametrize(
    "radius", [Named(0.05, "wave 3"), r.Huber(0.05) + r.TotalVariation(0.01), r.Huber(0.05) + 0.0], ids=repr
)
def test_a_subclass_and_a_sum_of_closed_sets_are_welcome_with_jumps(radius: Any) -> None:
    """Both were refused by the name of their class."""
    result = sb.ksd_test(FAR.sample(60, 0), FAR, tilt="auto", radius=radius, jumps="auto", calibration=FEW, rng=0)
    assert result.radius == radius(result._evidence.problem, result._evidence.tau)


def test_a_set_that_moves_can_leave_is_refused_with_jumps() -> None:
    for radius in (0.1, r.Huber(0.05) + r.Wasserstein(0.1), r.Alternative(FAR.sample(9, 0))):
        with pytest.raises(ValueError, match="`jumps` can carry members of the set"):
            sb.ksd_test(FAR.sample(60, 0), FAR, radius=radius, jumps="auto", calibration=FEW, rng=0)


def test_a_number_hidden_in_a_sum_is_refused_over_several_kernels() -> None:
    """It was let through: 0.1 means another set under every kernel, alone or added to something."""
    with pytest.raises(ValueError, match="one number on the KSD scale means something else under every kernel"):
        sb.robust_ksdagg_test(X, Gaussian(dimension=2), radius=r.Huber(0.05) + 0.1)


@dataclass(frozen=True)
class Share(r.Radius):
    """A radius of a user: a share of √τ, whatever it is."""

    share: float

    def __call__(self, problem: Problem, tau: Supremum) -> float:
        return self.share * math.sqrt(tau.value)


def test_a_radius_of_ones_own_derives_from_the_base_and_is_treated_carefully() -> None:
    result = sb.ksd_test(X, Gaussian(dimension=2), tilt="auto", radius=Share(0.1), calibration=FEW, rng=0)
    assert result.radius == 0.1 * math.sqrt(result.tau)
    assert result.contamination is None
    assert result.at(radius=Share(0.1) + r.Huber(0.1)).radius == pytest.approx(2.0 * result.radius)
    with pytest.raises(ValueError, match="`jumps` can carry members of the set"):
        sb.ksd_test(FAR.sample(60, 0), FAR, radius=Share(0.1), jumps="auto", rng=0)
    with pytest.raises(TypeError, match="abstract"):
        r.Radius()  # type: ignore[abstract]


LINE = np.random.default_rng(11).normal(size=200)


def gaussian(x: Any) -> Any:
    return -x


def run_on(x: Any, model: Any, **options: Any) -> sb.GofResult:
    return sb.ksd_test(x, model, calibration=FEW, rng=0, **options)


def u_statistic(x: Any, lengthscale: float) -> float:
    """Mean over i ≠ j of the Stein kernel of w(x)(1 + |x − y|²/ℓ²)^(−½)w(y), N(0, I), w = (1 + |x|²)^(−½).

    Term by term from the definition, with the derivatives of the tilted kernel written out by the product rule.
    """
    n, d = x.shape
    total = 0.0
    for i in range(n):
        for j in range(n):
            if i == j:
                continue
            a, b = x[i], x[j]
            wa, wb = (1 + a @ a) ** -0.5, (1 + b @ b) ** -0.5
            ga, gb = -a * wa**3, -b * wb**3
            q = 1 + (a - b) @ (a - b) / lengthscale**2
            h, h1 = q**-0.5, -(a - b) / lengthscale**2 * q**-1.5  # h and its gradient in a; in b it is −h1
            mixed = d / lengthscale**2 * q**-1.5 - 3 * (a - b) @ (a - b) / lengthscale**4 * q**-2.5
            k = wa * h * wb
            k_a, k_b = (ga * h + wa * h1) * wb, wa * (h * gb - h1 * wb)
            k_ab = ga @ gb * h - ga @ h1 * wb + wa * h1 @ gb + wa * wb * mixed
            total += (a @ b) * k - a @ k_b - b @ k_a + k_ab
    return float(total / (n * (n - 1)))


def test_an_alternative_is_the_root_of_its_u_statistic() -> None:
    """Mean shift in two dimensions, against the double sum from the definition."""
    other = np.random.default_rng(3).normal(size=(25, 2)) + np.array([0.8, 0.0])
    x = LINE.reshape(-1, 2)
    result = run_on(x, gaussian, kernel=sb.InverseMultiquadric(1.4), tilt=TILT, radius=sb.Alternative(other))
    assert result.radius == pytest.approx(math.sqrt(u_statistic(other, 1.4)), rel=1e-10)


def test_an_alternative_inside_the_noise_has_radius_zero() -> None:
    other = np.linspace(-1.6, 1.6, 8)[:, None]  # spread too evenly: the U-statistic is negative
    assert u_statistic(other, 1.4) < 0.0
    options: dict[str, Any] = {"kernel": sb.InverseMultiquadric(1.4), "tilt": TILT}
    assert run_on(LINE, gaussian, radius=sb.Alternative(other), **options).radius == 0.0


def test_an_alternative_needs_the_score_elsewhere_and_the_same_columns() -> None:
    with pytest.raises(TypeError, match="`Alternative` needs the score at its own samples"):
        run_on(LINE, sb.from_scores(-LINE), radius=sb.Alternative(LINE + 1.0))
    with pytest.raises(ValueError, match="alternative have 2 columns, the samples tested 1"):
        run_on(LINE, gaussian, radius=sb.Alternative(LINE.reshape(-1, 2)))
    with pytest.raises(ValueError, match="`samples of the alternative` must be finite"):
        sb.Alternative(np.array([1.0, math.nan]))
