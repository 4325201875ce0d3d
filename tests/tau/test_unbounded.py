"""Whether u(x, x) grows without bound is seen, and only then warned of."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import stats

import steinball as sb
from steinball.cautions import UnboundedSteinKernelWarning

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


BALLS: list[Any] = [sb.Huber(0.05), sb.DensityBand(0.1), sb.StudentTails(10)]


@pytest.mark.parametrize("radius", BALLS, ids=repr)
@pytest.mark.parametrize("as_array", [False, True])
def test_a_growing_score_without_a_tilt_is_warned_about(radius: Any, as_array: bool) -> None:
    with pytest.warns(
        UnboundedSteinKernelWarning, match=r"needs a bounded Stein kernel.*PolynomialTilt\(\).*radius=0.1"
    ):
        run(X, sb.from_scores(-X) if as_array else gaussian, radius=radius)


@pytest.mark.parametrize("outlier", [10.0, 1e4, 1e8, 1e20])
@pytest.mark.parametrize("as_array", [False, True])
def test_an_outlier_does_not_hide_that_the_score_grows(outlier: float, as_array: bool) -> None:
    x = np.append(X, outlier)
    with pytest.warns(UnboundedSteinKernelWarning):
        run(x, sb.from_scores(-x) if as_array else gaussian, radius=sb.Huber(0.05))


@pytest.mark.parametrize("d", [2, 5, 20])
@pytest.mark.parametrize("as_array", [False, True])
def test_a_growing_score_is_seen_in_several_dimensions(d: int, as_array: bool) -> None:
    x = np.random.default_rng(d).normal(size=(300, d))
    with pytest.warns(UnboundedSteinKernelWarning):
        run(x, sb.from_scores(-x) if as_array else gaussian, radius=sb.Huber(0.05))


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
        run(x, sb.from_scores(student(df)(x)) if as_array else student(df), radius=sb.Huber(0.05))


@pytest.mark.parametrize("shift", [0.0, 1e6])
@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize("radius", BALLS, ids=repr)
def test_a_sufficient_tilt_is_not_warned_about_in_any_units(radius: Any, scale: float, shift: float) -> None:
    run(shift + scale * X, sb.models.Gaussian(shift, scale**2), tilt="auto", radius=radius)


@pytest.mark.parametrize("radius", [0.1, sb.FixedRadius(0.1), sb.Alternative(X + 1.0), sb.Huber(0.0)], ids=repr)
def test_radii_that_need_no_bound_are_not_warned_about(radius: Any) -> None:
    run(X, gaussian, radius=radius)


def test_a_score_that_fails_far_out_is_no_reason_to_stop() -> None:
    """Whether a score grows that is not defined so far away is unknown; two finite decades show something."""

    def score(x: Any) -> Any:
        if np.abs(x).max() > 1e3:
            raise ArithmeticError("outside the domain")
        return -x

    with pytest.warns(UnboundedSteinKernelWarning, match=r"is unknown.*ArithmeticError: outside the domain"):
        run(X, score, radius=sb.Huber(0.05))
    run(X, lambda x: -np.sinh(x) / np.cosh(x), radius=sb.Huber(0.05))  # inf/inf beyond 710


def interpolated(x: Any) -> Any:
    """A score that somebody knows on a grid, and nowhere else."""
    if np.abs(x).max() > 100.0:
        raise ValueError("A value in x_new is above the interpolation range.")
    return -x - 4.0 * x**3


@pytest.mark.parametrize("score", [interpolated, lambda x: np.where(np.abs(x) > 20.0, np.nan, -x)])
def test_a_score_that_is_not_defined_far_out_is_unknown_and_not_bounded(score: Any) -> None:
    x = np.random.default_rng(0).normal(size=300) * 0.5
    with pytest.warns(UnboundedSteinKernelWarning, match=r"is unknown: the score of the model is not defined far"):
        result = sb.robust_ksd_test(x, score, 0.3, rng=0)
    assert (result.bounded, result.tau_kind) == ("unknown", "sample")
    assert result.verdict == "undecided"
    with pytest.warns(UnboundedSteinKernelWarning, match="is unknown"):
        assert sb.robust_ksdagg_test(x, score, 0.3, rng=0).bounded == "unknown"
    declared = sb.from_score(score, growth=3.0)
    tilt: Any = result.tilt
    assert tilt.exponent >= (1.5 if score is interpolated else 0.5), "as fast as it grows where it is defined"
    assert sb.robust_ksd_test(x, declared, 0.3, rng=0).bounded == "proved"
