"""Bands around a density: their radius, and their mass by integration."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import stats

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
