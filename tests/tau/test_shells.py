"""The bound over shells: above every point of a shell, and closely."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

import steinball as sb
from steinball.kernels import InverseMultiquadric, Kernel
from steinball.models.knowledge import ScoreGrowth
from steinball.problem import pose
from steinball.stein import SteinKernel
from steinball.tau.shells import GAP, Majorant, Setting, _bounded, _largest, largest_box, largest_shell
from steinball.tau.supremum import find_supremum
from steinball.tilts import PolynomialTilt, Tilt

pytestmark = pytest.mark.exact

CORRELATED = np.array([[2.0, 0.6, 0.0], [0.6, 1.0, 0.3], [0.0, 0.3, 0.5]])


def setting_of(model: Any, kernel: Kernel, tilt: Tilt | None) -> Setting:
    setting = Setting.of(kernel, tilt, model, model.dimension)
    assert setting is not None
    return setting


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
    boxes = _bounded(majorant, model, center - half, center + half)
    for _ in range(60):
        share = rng.uniform(-1.0, 1.0, size=center.shape)
        share = np.sign(share) if rng.random() < 0.3 else share
        assert (value(center + share * half) <= boxes.bound * (1.0 + 1e-10)).all()


def test_bounds_of_small_boxes_are_values() -> None:
    """First order: a box a tenth as wide has a tenth of the slack."""
    model, majorant, value = parts("rbm")
    x = np.random.default_rng(1).normal(size=(50, 2))
    slack = [(_bounded(majorant, model, x - h, x + h).bound - value(x)).max() for h in (1e-3, 1e-4)]
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
