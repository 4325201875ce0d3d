"""Bands around a density: their radius, and their mass by integration."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from scipy import stats
from scipy.integrate import quad

import steinball as sb

pytestmark = [pytest.mark.exact, pytest.mark.filterwarnings("ignore::steinball.cautions.RemovalWarning")]

X = np.random.default_rng(11).normal(size=200)
TILT = sb.PolynomialTilt(0.5)
FEW = sb.WeightedBootstrap(19)


def gaussian(x: Any) -> Any:
    return -x


def run(x: Any, model: Any, **options: Any) -> sb.GofResult:
    return sb.ksd_test(x, model, calibration=FEW, rng=0, **options)


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


def student(df: float) -> Callable[[Any], Any]:
    return lambda x: -(df + 1) * x / (df + x**2)


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
    # Four times a sum of two differences near 1, each value within one or (SciPy 1.15) two units of 1.1e-16.
    assert tails.mass == pytest.approx(mass, rel=1e-12, abs=2e-15)


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
    for x in (
        np.append(X + 100.0, 1e20),
        np.repeat([99.0, 100.0, 101.0], [1, 8, 1]),
        (X + 100.0).astype(np.float32),
    ):
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
