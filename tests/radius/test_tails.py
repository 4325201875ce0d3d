"""Student tails: crossings and masses to machine precision, and which models they are for."""

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


def student(df: float) -> Callable[[Any], Any]:
    return lambda x: -(df + 1) * x / (df + x**2)


def run(x: Any, model: Any, **options: Any) -> sb.GofResult:
    return sb.ksd_test(x, model, calibration=FEW, rng=0, **options)


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
