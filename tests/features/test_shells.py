"""The bound over shells: against the true maximum where it is exact, and against brute force where it is not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar

import steinball as sb
from steinball.features.certificate import closed_form, largest_cubic
from steinball.features.shells import Majorant, Setting, _largest, largest_shell
from steinball.kernels import Gaussian, InverseMultiquadric, Kernel
from steinball.models.growth import ScoreGrowth
from steinball.stein import SteinKernel
from steinball.tilts import PolynomialTilt, Tilt

pytestmark = pytest.mark.exact
Floats = NDArray[np.float64]

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


# Closed forms


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


# Terms, shells and their maximum


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
    assert (values <= majorant.over(rho, rho) * (1.0 + 1e-10)).all()
    assert (values <= majorant.over(0.9 * rho, 1.3 * rho) * (1.0 + 1e-10)).all()
    assert values.max() <= largest_shell(majorant)
    if name in TIGHT:
        assert largest_shell(majorant) == pytest.approx(values.max(), rel=5e-3)


@pytest.mark.parametrize("name", SHELLED)
def test_the_largest_shell_is_the_maximum_of_the_bound(name: str) -> None:
    model, tilt = SHELLED[name]
    majorant = Majorant.of(setting_of(model, InverseMultiquadric(1.2), tilt), model)
    assert majorant is not None
    rho = np.concatenate([np.linspace(0.0, 20.0, 40_001), np.geomspace(20.0, 1e6, 2001)])
    values = majorant.over(rho, rho)
    best = float(values.max())
    assert best * (1.0 - 1e-12) <= largest_shell(majorant) <= best * (1.0 + 2e-5)
    beyond = float(values[rho >= 3.0].max())
    assert beyond * (1.0 - 1e-12) <= largest_shell(majorant, start=3.0) <= beyond * (1.0 + 2e-5)
    coarse = largest_shell(majorant, gap=0.05)
    assert best * (1.0 - 1e-12) <= coarse <= best * 1.05 * (1.0 + 1e-9)


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
