"""The minimum-KSD fit against the library's own statistic, and its influence function against refits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize

from steinball import fitting
from steinball.discrepancy import ksd
from steinball.fitting import minimum_ksd
from steinball.fitting.minimum_ksd import ScoreDistance, minimize_ksd, solve_positive
from steinball.kernels import InverseMultiquadric
from steinball.models.family import NormalFamily
from steinball.stein import SteinKernel
from steinball.tilts import EdgeTilt, PolynomialTilt, Tilt
from tests.fitting.conftest import DATA, case, rescaled

as_family: Any = fitting.as_family
pytestmark = pytest.mark.exact


def stein_of(name: str) -> SteinKernel:
    edge: Tilt = EdgeTilt(low=0.0, scale=1.0) * PolynomialTilt(center=1.0, scale=3.0)
    return SteinKernel(InverseMultiquadric(2.0), edge if case(name)[0].support else PolynomialTilt(scale=4.0))


@pytest.mark.parametrize("name", DATA)
def test_the_objective_is_the_squared_ksd_up_to_a_constant(name: str) -> None:
    family, x, params = case(name)
    stein, fit = stein_of(name), family.fit(x)
    distance = ScoreDistance.of(x, stein)
    ours = [distance.objective(family.score(at, x)) for at in (params, fit)]
    theirs = [ksd(x, family.model(at), kernel=stein.kernel, tilt=stein.tilt) ** 2 for at in (params, fit)]
    np.testing.assert_allclose(ours[1] - ours[0], theirs[1] - theirs[0], rtol=1e-9, atol=1e-14)


@pytest.mark.parametrize("name", ["normal", "gamma", "lognormal", "weibull", "student-t"])
def test_the_fit_has_the_least_ksd(name: str) -> None:
    family, x, _ = case(name)
    stein = stein_of(name)

    def squared(working: np.ndarray) -> float:
        return ksd(x, family.model(family.from_working(working)), kernel=stein.kernel, tilt=stein.tilt) ** 2

    fit = minimize_ksd(family, x, stein).params
    found = minimize(squared, family.to_working(fit), method="Nelder-Mead", options={"maxfev": 60})
    assert squared(family.to_working(fit)) <= found.fun * (1.0 + 1e-7)


@pytest.mark.parametrize("name", ["normal", "gamma", "lognormal", "weibull"])
def test_the_influence_is_what_one_more_point_does(name: str) -> None:
    family, x, _ = case(name)
    stein = stein_of(name)
    fit, point = minimize_ksd(family, x, stein), np.array([[1.3]])
    many = np.vstack([np.repeat(x, 20, axis=0), point])  # a share of 1/3001
    moved = len(many) * (minimize_ksd(family, many, stein).params - fit.params)
    np.testing.assert_allclose(fit.influence(point)[0], moved, rtol=0.02, atol=0.01)


def test_an_offset_of_the_data_moves_the_mean_alone() -> None:
    family, x, _ = case("normal")
    near = minimize_ksd(family, x, stein_of("normal")).params
    tilt = PolynomialTilt(center=1e5, scale=4.0)
    far = minimize_ksd(family, x + 1e5, SteinKernel(InverseMultiquadric(2.0), tilt)).params
    np.testing.assert_allclose(far - [1e5, 0.0], near, atol=1e-6)


def test_metrics_and_blocks_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    x = np.random.default_rng(3).normal(size=(40, 2))
    metric = np.array([[1.0, 0.3], [0.3, 0.5]])
    stein = SteinKernel(InverseMultiquadric(2.0, metric=metric), PolynomialTilt())
    family = as_family("normal", 2)
    whole = minimize_ksd(family, x, stein)

    def squared(params: np.ndarray) -> float:
        return ksd(x, family.model(params), kernel=stein.kernel, tilt=stein.tilt) ** 2

    for k in range(5):
        step = 1e-3 * np.eye(5)[k]
        assert min(squared(whole.params + step), squared(whole.params - step)) > squared(whole.params)
    monkeypatch.setattr(minimum_ksd, "_PAIRS_AT_ONCE", 300)
    monkeypatch.setattr(minimum_ksd, "_KEPT", 300)
    again = minimize_ksd(family, x, stein)
    np.testing.assert_allclose(again.params, whole.params, rtol=1e-9)
    np.testing.assert_allclose(again.influence(x), whole.influence(x), rtol=1e-6, atol=1e-9)


def test_a_singular_system_is_refused() -> None:
    for matrix in (np.ones((2, 2)), np.zeros((2, 2))):
        with pytest.raises(ValueError, match="the minimum is not unique"):
            solve_positive(matrix, np.ones(2), 0.0)


def test_a_minimum_outside_the_family_is_refused() -> None:
    class Nowhere(NormalFamily):
        def from_natural(self, natural: np.ndarray) -> np.ndarray:
            return np.full(2, np.nan)

    with pytest.raises(ValueError, match="least outside the family"):
        minimize_ksd(Nowhere(1), DATA["normal"], stein_of("normal"))


@pytest.mark.parametrize("unit", [1e-9, 1e3, 1e9])
@pytest.mark.parametrize("name", ["normal", "gamma", "lognormal", "weibull", "student-t"])
def test_a_change_of_the_unit_changes_fit_and_influence_by_that(name: str, unit: float) -> None:
    """Fits stayed at their start in tiny units, and standard errors were NaN for a standard deviation of 1,000."""
    family, x, _ = case(name)
    edge = family.support is not None
    fits = []
    for c in (1.0, unit):
        tilt: Tilt = (
            PolynomialTilt(scale=4.0 * c) * EdgeTilt(low=0.0, scale=c) if edge else PolynomialTilt(scale=4.0 * c)
        )
        fits.append(minimize_ksd(family, c * x, SteinKernel(InverseMultiquadric(2.0 * c), tilt)))
    plain, scaled = fits
    np.testing.assert_allclose(scaled.params, rescaled(name, plain.params, unit), rtol=1e-6)
    wanted = rescaled(name, plain.influence(x[:9]), unit) - rescaled(name, 0.0 * plain.params, unit)
    np.testing.assert_allclose(scaled.influence(unit * x[:9]), wanted, rtol=1e-4, atol=1e-6 * np.abs(wanted).max())


def test_an_offset_of_the_data_moves_the_location_of_a_search_alone() -> None:
    family, x, _ = case("student-t")
    fits = [
        minimize_ksd(family, x + by, SteinKernel(InverseMultiquadric(2.0), PolynomialTilt(center=by, scale=4.0))).params
        for by in (0.0, 1e6)
    ]
    np.testing.assert_allclose(fits[1] - [0.0, 1e6, 0.0], fits[0], rtol=1e-4)
