"""Radii: what they are worth, against closed forms, quadrature and brute force; and what they refuse."""

from __future__ import annotations

import inspect
import math
import warnings
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from scipy import stats
from scipy.integrate import quad

import steinball as sb
from steinball.features import UnboundedSteinKernelWarning

pytestmark = pytest.mark.exact

X = np.random.default_rng(11).normal(size=200)
TILT = sb.PolynomialTilt(0.5)
FEW = sb.WeightedBootstrap(19)


def gaussian(x: Any) -> Any:
    return -x


def student(df: float) -> Callable[[Any], Any]:
    return lambda x: -(df + 1) * x / (df + x**2)


def run(x: Any, model: Any, **options: Any) -> sb.GofResult:
    return sb.ksd_test(x, model, calibration=FEW, rng=0, **options)


# A number


@pytest.mark.parametrize("value", [0, 0.0, 0.25, np.float64(3.0)])
def test_a_number_is_the_radius_itself(value: float) -> None:
    for radius in (value, sb.FixedRadius(value)):
        result = run(X, gaussian, radius=radius)
        assert result.radius == value
        assert result.statistic == max(0.0, result.ksd - value)
        assert result.contamination is None


@pytest.mark.parametrize("value", [-1e-9, -1, math.nan, math.inf])
def test_a_radius_that_is_negative_or_not_finite_is_refused(value: float) -> None:
    with pytest.raises(ValueError, match=r"`radius` must be a finite number in \[0, inf\)"):
        run(X, gaussian, radius=value)
    with pytest.raises(ValueError, match=r"`radius` must be a finite number in \[0, inf\)"):
        run(X, gaussian).at(radius=value)


@pytest.mark.parametrize("value", ["0.1", None, sb.Huber, [0.1, 0.2]])
def test_a_radius_must_be_a_number_or_a_radius(value: Any) -> None:
    with pytest.raises(TypeError, match="`radius` must be a number"):
        run(X, gaussian, radius=value)


def test_a_class_is_no_radius_for_at_either() -> None:
    with pytest.raises(TypeError, match="`radius` must be a number"):
        run(X, gaussian).at(radius=sb.Huber)  # type: ignore[arg-type]


# Huber


@pytest.mark.parametrize("share", [0.0, 0.05, 1.0])
def test_huber_is_the_share_times_the_root_of_tau(share: float) -> None:
    result = run(X, gaussian, tilt=TILT, radius=sb.Huber(share), tau=2.5)
    assert result.radius == pytest.approx(share * math.sqrt(2.5), rel=1e-15)
    assert result.contamination == share


@pytest.mark.parametrize("share", [-0.01, 1.01, math.nan, math.inf])
def test_a_share_outside_the_unit_interval_is_refused(share: float) -> None:
    for call in (
        lambda: sb.Huber(share),
        lambda: sb.robust_ksd_test(X, gaussian, share),
        lambda: run(X, gaussian, tilt=TILT).at(contamination=share),
    ):
        with pytest.raises(ValueError, match=r"`contamination` must be a finite number in \[0, 1\]"):
            call()


def test_the_huber_ball_is_tight_where_u_is_largest() -> None:
    """D((1 − ε)P + ε δ_z, P) = ε √u(z, z), here with P by Gauss–Hermite quadrature and z where u is largest."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(120)
    weights = weights / weights.sum()
    z, share = 1.1091161285491298, 0.3
    points = np.append(nodes, z)[:, None]
    mass = np.append((1 - share) * weights, share)
    u = sb.SteinKernel(sb.InverseMultiquadric(math.sqrt(2.0)), TILT)(points, -points, points, -points)
    theta = run(X, gaussian, tilt=TILT, kernel=sb.InverseMultiquadric(math.sqrt(2.0)), tau="optimized").at(
        contamination=share
    )
    assert math.sqrt(mass @ u @ mass) == pytest.approx(theta.radius, rel=1e-8)


# Density bands


@pytest.mark.parametrize("mass", [0.0, 0.3, 2.0])
def test_the_papers_density_band_is_its_mass_times_the_root_of_tau(mass: float) -> None:
    radius = sb.DensityBand(mass, sharp=False)
    assert run(X, gaussian, tilt=TILT, radius=radius, tau=2.5).radius == mass * math.sqrt(2.5)


@pytest.mark.parametrize("mass", [0.0, 0.3, 0.9, 2.0])
def test_a_sharp_density_band_is_half_its_mass_times_the_diameter(mass: float) -> None:
    """Without a known diameter that is the paper's, but for √τ, beyond which there is nothing."""
    radius = sb.DensityBand(mass)
    assert run(X, gaussian, tilt=TILT, radius=radius, tau=2.5).radius == pytest.approx(min(1, mass) * math.sqrt(2.5))
    result = run(X, sb.models.Gaussian(), tilt=TILT, radius=radius, tau=2.5)
    delta = result.at(radius=sb.radius.TotalVariation(0.1)).radius / 0.1
    assert result.radius == pytest.approx(min(mass / 2 * delta, math.sqrt(2.5)))
    assert delta < 2 * math.sqrt(2.5) * 0.9


@pytest.mark.parametrize("mass", [-0.1, 2.1, math.nan])
def test_two_densities_cannot_differ_by_more_than_two(mass: float) -> None:
    with pytest.raises(ValueError, match=r"`mass` must be a finite number in \[0, 2\]"):
        sb.DensityBand(mass)


@pytest.mark.parametrize("shift", [0.1, 0.5, 1.0, 3.0, 10.0])
@pytest.mark.parametrize("scale", [1.0, 0.01, 100.0])
def test_the_band_between_two_normals_is_twice_their_total_variation(shift: float, scale: float) -> None:
    first, second = stats.norm(0.0, scale), stats.norm(shift * scale, scale)
    closed_form = 2.0 * (2.0 * stats.norm.cdf(shift / 2.0) - 1.0)
    points = tuple(scale * s for s in (0.0, shift / 2.0, shift))
    mass = sb.DensityBand.between(first.pdf, second.pdf, points=points).mass
    assert mass == pytest.approx(closed_form, rel=1e-9)


def test_the_band_between_a_density_and_itself_is_empty() -> None:
    assert sb.DensityBand.between(stats.norm.pdf, stats.norm.pdf).mass == 0.0


@pytest.mark.parametrize(
    ("first", "second", "what"),
    [
        (stats.norm(1e4).pdf, stats.norm(1e4 + 1).pdf, "`first` integrates to 0"),
        (stats.norm(0, 1e-3).pdf, stats.norm(5, 1e-3).pdf, "`second` integrates to 0"),
        (lambda x: 1 / abs(x) if x else 0.0, stats.norm.pdf, "`first` integrates to"),
        (stats.norm.pdf, lambda x: math.nan, "`second` integrates to nan"),
        (stats.norm.pdf, lambda x: 3 * stats.norm.pdf(x), "`second` integrates to 3"),
        (lambda x: (1 + math.sin(1e5 * x)) * stats.norm.pdf(x), stats.norm.pdf, "could not be integrated"),
    ],
)
def test_a_band_that_cannot_be_integrated_is_an_error_and_never_a_wrong_mass(
    first: Callable[[float], float], second: Callable[[float], float], what: str
) -> None:
    """An integrator on the whole line misses narrow peaks without noticing: the radius would silently be 0."""
    with pytest.raises(ValueError, match=rf"{what}.*`points`.*DensityBand\(mass\)"):
        sb.DensityBand.between(first, second)


# Student tails: (ν, a₁, a₂, δ₀) from bisection and hypergeometric functions in 60 digits

STUDENT = [
    (2.000001, 0.010735410585677337, 6.172528377314105, 1.9742483382988731),
    (2.01, 0.2111062734110036, 4.171098073160577, 1.4755391750499347),
    (2.5, 0.5663882975511683, 2.971074251351417, 0.5393123996387201),
    (3.0, 0.6276952184557748, 2.7810674351850477, 0.3706723632530345),
    (5.0, 0.6937603937359222, 2.5519616732952737, 0.17448047283441173),
    (10.0, 0.7223082776773695, 2.432625115946517, 0.07711276901497059),
    (20.0, 0.7329794142697577, 2.3815466263036766, 0.03664312106494044),
    (29.9, 0.7361213789863873, 2.3655514412419256, 0.024130013459374954),
    (200.0, 0.7411303619745805, 2.338976220154846, 0.0035160538235791392),
    (1e5, 0.7419621307885187, 2.334423311400291, 7.001561537498996e-06),
    (1e9, 0.7419637841373771, 2.334414219248277, 7.001500758153047e-10),
]


@pytest.mark.parametrize(("df", "low", "high", "mass"), STUDENT)
def test_crossings_and_mass_of_student_tails_to_machine_precision(
    df: float, low: float, high: float, mass: float
) -> None:
    tails = sb.StudentTails(df)
    assert tails.crossings == pytest.approx((low, high), rel=1e-15, abs=0.0)
    assert tails.mass == pytest.approx(mass, rel=1e-12, abs=1e-15)


@pytest.mark.parametrize(("df", "mass"), [(5, 0.17448), (10, 0.07711), (20, 0.03664)])
def test_masses_of_the_papers_experiment(df: int, mass: float) -> None:
    assert round(sb.StudentTails(df).mass, 5) == mass


@pytest.mark.parametrize("df", [2.01, 3.0, 7.7, 20.0, 200.0])
def test_the_mass_of_student_tails_is_the_integral_of_the_difference(df: float) -> None:
    """Quadrature of |q − p| between the kinks, where the integrand is smooth, to 1e-10."""
    tails, scale = sb.StudentTails(df), math.sqrt((df - 2) / df)
    edges = (0.0, scale, *tails.crossings, 30.0, math.inf)

    def gap(x: float) -> float:
        return abs(float(stats.t.pdf(x, df, scale=scale)) - float(stats.norm.pdf(x)))

    parts = [quad(gap, *ends, epsabs=1e-13, epsrel=1e-11, limit=200)[0] for ends in pairwise(edges)]
    assert tails.mass == pytest.approx(2.0 * math.fsum(parts), abs=1e-10)


def test_the_densities_cross_where_it_says_and_the_tails_are_heavier() -> None:
    tails, scale = sb.StudentTails(4.0), math.sqrt(0.5)
    low, high = tails.crossings

    def sign(x: float) -> float:
        return float(np.sign(stats.t.pdf(x, 4.0, scale=scale) - stats.norm.pdf(x)))

    assert [sign(x) for x in (0.0, low - 1e-6, low + 1e-6, high - 1e-6, high + 1e-6, 20.0)] == [1, 1, -1, -1, 1, 1]


@pytest.mark.parametrize("df", [2.0, 1.0, -3.0, math.nan, math.inf])
def test_student_tails_need_a_variance(df: float) -> None:
    with pytest.raises(ValueError, match=r"`df` must be a finite number in \(2, inf\)"):
        sb.StudentTails(df)


@pytest.mark.parametrize(("mean", "deviation"), [(0.0, 1.0), (5.0, 3.0), (1e6, 1.0), (0.0, 1e-6), (-2e6, 1e6)])
def test_student_tails_serve_every_gaussian_on_the_line(mean: float, deviation: float) -> None:
    model = sb.models.Gaussian(mean, deviation**2)
    result = run(mean + deviation * X, model, tilt="auto", radius=sb.StudentTails(5, sharp=False))
    assert result.radius == pytest.approx(0.17448047283441173 * math.sqrt(result.tau), rel=1e-12)
    standard = run(X, sb.models.Gaussian(), tilt="auto", radius=sb.StudentTails(5, sharp=False))
    assert result.radius * deviation == pytest.approx(standard.radius, rel=1e-6)
    sharper, sharp = (r.at(radius=sb.StudentTails(5)).radius for r in (result, standard))
    assert sharper * deviation == pytest.approx(sharp, rel=2e-3)
    assert sharp < 0.96 * standard.radius


def test_student_tails_accept_outliers_duplicates_and_single_precision() -> None:
    model = sb.models.Gaussian(100.0)
    for x in (np.append(X + 100.0, 1e20), np.repeat([99.0, 100.0, 101.0], [1, 8, 1]), (X + 100.0).astype(np.float32)):
        kernel = sb.InverseMultiquadric(1.0)
        result = run(x, model, kernel=kernel, tilt="auto", radius=sb.StudentTails(5, sharp=False))
        assert result.radius == pytest.approx(0.17448047 * math.sqrt(result.tau), rel=1e-6)


@pytest.mark.parametrize("outlier", [0.0, 1e3, 1e9])
@pytest.mark.parametrize("score", [student(5.0), lambda x: -x + 2 * np.tanh(2 * x), lambda x: x, lambda x: 0 * x])
def test_student_tails_refuse_a_model_that_is_not_gaussian(score: Callable[[Any], Any], outlier: float) -> None:
    """Also where one far outlier makes the departure from a straight line small beside the range of the scores."""
    with pytest.raises(ValueError, match=r"`StudentTails`.*not those of a Gaussian"):
        run(np.append(X, outlier), score, tilt=TILT, radius=sb.StudentTails(5))


def test_student_tails_refuse_more_than_one_dimension() -> None:
    with pytest.raises(ValueError, match="`StudentTails` is for one-dimensional data, got d = 2"):
        run(X.reshape(-1, 2), gaussian, tilt=TILT, radius=sb.StudentTails(5))


# The KSD of an alternative


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
    x = X.reshape(-1, 2)
    result = run(x, gaussian, kernel=sb.InverseMultiquadric(1.4), tilt=TILT, radius=sb.Alternative(other))
    assert result.radius == pytest.approx(math.sqrt(u_statistic(other, 1.4)), rel=1e-10)


def test_an_alternative_inside_the_noise_has_radius_zero() -> None:
    other = np.linspace(-1.6, 1.6, 8)[:, None]  # spread too evenly: the U-statistic is negative
    assert u_statistic(other, 1.4) < 0.0
    options: dict[str, Any] = {"kernel": sb.InverseMultiquadric(1.4), "tilt": TILT}
    assert run(X, gaussian, radius=sb.Alternative(other), **options).radius == 0.0


def test_an_alternative_needs_the_score_elsewhere_and_the_same_columns() -> None:
    with pytest.raises(TypeError, match="`Alternative` needs the score at its own samples"):
        run(X, -X, radius=sb.Alternative(X + 1.0))
    with pytest.raises(ValueError, match="alternative have 2 columns, the samples tested 1"):
        run(X, gaussian, radius=sb.Alternative(X.reshape(-1, 2)))
    with pytest.raises(ValueError, match="`samples of the alternative` must be finite"):
        sb.Alternative(np.array([1.0, math.nan]))


# What needs a bounded Stein kernel says so

BALLS: list[Any] = [sb.Huber(0.05), sb.DensityBand(0.1), sb.StudentTails(10)]


@pytest.mark.parametrize("radius", BALLS, ids=repr)
@pytest.mark.parametrize("as_array", [False, True])
def test_a_growing_score_without_a_tilt_is_warned_about(radius: Any, as_array: bool) -> None:
    with pytest.warns(
        UnboundedSteinKernelWarning, match=r"needs a bounded Stein kernel.*PolynomialTilt\(\).*radius=0.1"
    ):
        run(X, -X if as_array else gaussian, radius=radius)


@pytest.mark.parametrize("outlier", [10.0, 1e4, 1e8, 1e20])
@pytest.mark.parametrize("as_array", [False, True])
def test_an_outlier_does_not_hide_that_the_score_grows(outlier: float, as_array: bool) -> None:
    x = np.append(X, outlier)
    with pytest.warns(UnboundedSteinKernelWarning):
        run(x, -x if as_array else gaussian, radius=sb.Huber(0.05))


@pytest.mark.parametrize("d", [2, 5, 20])
@pytest.mark.parametrize("as_array", [False, True])
def test_a_growing_score_is_seen_in_several_dimensions(d: int, as_array: bool) -> None:
    x = np.random.default_rng(d).normal(size=(300, d))
    with pytest.warns(UnboundedSteinKernelWarning):
        run(x, -x if as_array else gaussian, radius=sb.Huber(0.05))


@pytest.mark.parametrize("exponent", [0.1, 0.25, 0.4])
def test_a_tilt_of_too_small_an_exponent_is_warned_about(exponent: float) -> None:
    with pytest.warns(UnboundedSteinKernelWarning, match="tilt of larger exponent"):
        run(X, gaussian, tilt=sb.PolynomialTilt(exponent), radius=sb.Huber(0.05))


def test_a_cubic_score_needs_a_stronger_tilt_than_a_gaussian() -> None:
    with pytest.warns(UnboundedSteinKernelWarning, match="tilt of larger exponent"):
        run(X, lambda x: -(x**3), tilt=TILT, radius=sb.Huber(0.05))
    run(X, lambda x: -(x**3), tilt=sb.PolynomialTilt(1.5), radius=sb.Huber(0.05))


@pytest.mark.parametrize("df", [1.0, 2.5, 3.0, 5.0])
@pytest.mark.parametrize("as_array", [False, True])
def test_a_bounded_score_is_not_warned_about(df: float, as_array: bool) -> None:
    """Student t scores grow near the center and fall further out: only the outermost samples tell."""
    for seed in range(5):
        x = stats.t(df).rvs(size=300, random_state=seed)
        run(x, student(df)(x) if as_array else student(df), radius=sb.Huber(0.05))


@pytest.mark.parametrize("shift", [0.0, 1e6])
@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize("radius", BALLS, ids=repr)
def test_a_sufficient_tilt_is_not_warned_about_in_any_units(radius: Any, scale: float, shift: float) -> None:
    run(shift + scale * X, sb.models.Gaussian(shift, scale**2), tilt="auto", radius=radius)


@pytest.mark.parametrize("radius", [0.1, sb.FixedRadius(0.1), sb.Alternative(X + 1.0), sb.Huber(0.0)], ids=repr)
def test_radii_that_need_no_bound_are_not_warned_about(radius: Any) -> None:
    run(X, gaussian, radius=radius)


def test_a_score_that_fails_far_out_is_no_reason_to_warn_or_to_stop() -> None:
    """Nothing is known about the growth of a score that is not defined so far away."""

    def score(x: Any) -> Any:
        if np.abs(x).max() > 1e3:
            raise ArithmeticError("outside the domain")
        return -x

    run(X, score, radius=sb.Huber(0.05))
    run(X, lambda x: -np.sinh(x) / np.cosh(x), radius=sb.Huber(0.05))  # inf/inf beyond 710


def test_the_warning_points_at_the_users_line() -> None:
    result = run(X, gaussian)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        here = inspect.currentframe()
        assert here is not None
        line = here.f_lineno
        sb.ksd_test(X, gaussian, radius=sb.Huber(0.1))
        sb.robust_ksd_test(X, gaussian, tilt=None)
        result.at(contamination=0.1)
        sb.ksd_test(X, gaussian, calibration=sb.DeviationBound())
    assert [(w.filename, w.lineno - line) for w in caught] == [(__file__, k) for k in range(1, 5)]
