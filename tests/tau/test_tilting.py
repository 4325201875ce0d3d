"""Which tilt "auto" is: from the model and not from the data, and better than the plain one where that is poor."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import chi2

import steinball as sb
import steinball.tilts
from steinball.problem import pose
from steinball.tau.supremum import find_supremum
from steinball.tau.tilting import (
    base_tilt,
    check_edges,
    choose_tilt,
    edge_tilt,
    falls_along_rays,
    find_ends,
    growth_rate,
    ray_points,
)
from steinball.tilts import PolynomialTilt

pytestmark = pytest.mark.exact
Floats = NDArray[np.float64]


def efficiency_by_quadrature(d: int, lengthscale: float, scale: float) -> float:
    """E u/τ for N(0, I), tilt exponent ½, center 0: with v = 1/(1 + χ²/c²), u = (1 − v)(c + v/c)² + (d/ℓ²) v."""

    def u(v: Any) -> Any:
        return (1.0 - v) * (scale + v / scale) ** 2 + d / lengthscale**2 * v

    t = chi2(d).ppf((np.arange(2000) + 0.5) / 2000)
    return float(u(1.0 / (1.0 + t / scale**2)).mean() / u(np.linspace(0.0, 1.0, 10_001)).max())


def problem(model: Any, lengthscale: float, tilt: Any = "auto") -> Any:
    return pose(model.sample(20, 0), model, sb.InverseMultiquadric(lengthscale), tilt)


def efficiency(posed: Any) -> float:
    return float(posed.efficiency(find_supremum("auto", posed).value))


@pytest.mark.parametrize(("d", "lengthscale", "scale"), [(1, 1.0, 1.0), (3, 2.0, 0.5), (50, 1.0, 1.0), (50, 10.0, 3.0)])
def test_efficiency_is_the_mean_over_the_supremum(d: int, lengthscale: float, scale: float) -> None:
    """4,096 draws: a relative error of a few per cent at most (u lies between 0 and τ)."""
    found = efficiency(problem(sb.models.Gaussian(dimension=d), lengthscale, PolynomialTilt(scale=scale)))
    assert found == pytest.approx(efficiency_by_quadrature(d, lengthscale, scale), rel=0.04)


@pytest.mark.parametrize("lengthscale2", [1.0, 2.0, 4.0])
def test_on_the_line_a_gaussian_keeps_its_own_scale(lengthscale2: float) -> None:
    """Around the median distance nothing is to be gained, and the answers of old remain."""
    tilt = choose_tilt(np.zeros((2, 1)), sb.models.Gaussian(3.0, 4.0), sb.InverseMultiquadric(2.0 * lengthscale2**0.5))
    assert tilt == PolynomialTilt(0.5, (3.0,), 2.0)


@pytest.mark.parametrize(("d", "lengthscale"), [(10, 1.0), (50, 1.0), (50, 10.0), (20, 3.0)])
def test_in_high_dimension_the_scale_is_nearly_the_best_there_is(d: int, lengthscale: float) -> None:
    tilt = problem(sb.models.Gaussian(dimension=d), lengthscale).stein.tilt
    best = max(efficiency_by_quadrature(d, lengthscale, c) for c in np.geomspace(0.5, 50.0, 60))
    found, plain = (efficiency_by_quadrature(d, lengthscale, c) for c in (tilt.scale, 1.0))
    assert found >= 0.95 * best
    assert found > 1.1 * plain


def test_units_of_the_data_only_change_the_scale() -> None:
    small: Any
    large: Any
    small, large = (
        choose_tilt(np.zeros((2, 20)), sb.models.Gaussian(0.0, s * s, dimension=20), sb.InverseMultiquadric(s))
        for s in (1e-4, 1e4)
    )
    assert large.scale / small.scale == pytest.approx(1e8, rel=1e-12)


MODELS: dict[str, Any] = {
    "gaussian": sb.models.Gaussian([0.0, 1.0, 2.0], np.diag([1.0, 4.0, 9.0])),
    "student": sb.models.StudentT(5.0, dimension=8),
    "mixture": sb.models.GaussianMixture([0.5, 0.5], [-3.0, 3.0]),
    "rbm": sb.models.GaussianBernoulliRBM(np.random.default_rng(0).normal(size=(4, 3)), np.ones(4), np.ones(3)),
    "kernel family": sb.models.KernelExponentialFamily([1.0, -2.0, 1.0]),
}


@pytest.mark.parametrize("name", MODELS)
def test_the_tested_data_are_not_looked_at_where_the_model_knows_its_place(name: str) -> None:
    model, kernel = MODELS[name], sb.InverseMultiquadric(1.0)
    rng = np.random.default_rng(0)
    tilts = {choose_tilt(rng.normal(size=(30, model.dimension)) * s, model, kernel) for s in (0.01, 1.0, 1e6)}
    assert len(tilts) == 1


@pytest.mark.parametrize("name", MODELS)
def test_the_chosen_tilt_is_no_worse_than_the_plain_ones(name: str) -> None:
    model = MODELS[name]
    chosen = efficiency(problem(model, 0.5))
    standard = base_tilt(model.sample(1000, 1), model)
    assert chosen >= 0.85 * efficiency(problem(model, 0.5, standard))
    assert chosen >= 0.85 * efficiency(problem(model, 0.5, PolynomialTilt()))


@dataclasses.dataclass(frozen=True, eq=False)
class Located:
    """A model of a user, which knows its place and nothing more."""

    location: Any
    covariance: Any

    def score(self, x: Any) -> Any:
        return -(x - self.location) @ np.linalg.inv(self.covariance)


def test_a_model_that_only_knows_its_place_is_drawn_from_as_if_it_were_normal() -> None:
    model = Located(np.zeros(30), np.eye(30))
    tilt: Any = choose_tilt(np.ones((2, 30)) * 100.0, model, sb.InverseMultiquadric(1.0))
    assert tilt.center == (0.0,) * 30
    assert tilt.scale > 2.0


class Sampler:
    """A model of a user that can be sampled."""

    def score(self, x: Any) -> Any:
        return 5.0 - x

    def sample(self, n: int, rng: Any = None) -> Any:
        return 5.0 + np.random.default_rng(rng).normal(size=(n, 2))


def test_a_model_that_can_be_sampled_is_placed_by_its_draws() -> None:
    tilt: Any = choose_tilt(np.zeros((4, 2)), Sampler(), sb.InverseMultiquadric(2.0))
    np.testing.assert_allclose(tilt.center, 5.0, atol=0.2)


class Refuses(Sampler):
    """Whose sampler cannot be used."""

    def sample(self, n: int, rng: Any = None) -> Any:
        raise ValueError("too large")


class Unbounded(Sampler):
    """Whose draws are of no use."""

    def sample(self, n: int, rng: Any = None) -> Any:
        return np.full((n, 2), np.inf)


@pytest.mark.parametrize("model", [Refuses(), Unbounded(), lambda x: -x], ids=["refuses", "infinite", "function"])
def test_otherwise_the_data_place_it_robustly(model: Any) -> None:
    x = np.random.default_rng(1).normal(size=(40, 2))
    posed = pose(x, model, sb.InverseMultiquadric(1.0), "auto")
    assert posed.stein.tilt == base_tilt(x)
    assert posed.efficiency(2.0) == pytest.approx(float(posed.diagonal.mean()) / 2.0, rel=1e-12)


def test_a_score_that_fails_at_the_draws_leaves_the_plain_tilt() -> None:
    class Picky(Located):
        def score(self, x: Any) -> Any:
            return np.full_like(x, math.nan)

    tilt = choose_tilt(np.zeros((2, 2)), Picky(np.zeros(2), 4.0 * np.eye(2)), sb.InverseMultiquadric(1.0))
    assert tilt == PolynomialTilt(0.5, (0.0, 0.0), 2.0)


@pytest.mark.backend
def test_every_array_library_has_the_same_tilt(xp: Any) -> None:
    model, kernel = sb.models.StudentT(5.0, dimension=8), sb.InverseMultiquadric(1.0)
    x = np.random.default_rng(2).normal(size=(5, 8))
    assert choose_tilt(xp.asarray(x), model, kernel) == choose_tilt(x, model, kernel)


def test_the_narrow_model_of_the_theory_page() -> None:
    """N(0, 0.1²): the tilt at scale 1 wastes all but two per cent."""
    narrow = sb.models.Gaussian(0.0, 0.01)
    assert efficiency(problem(narrow, 0.1, PolynomialTilt())) == pytest.approx(0.02, abs=0.003)
    assert efficiency(problem(narrow, 0.1)) > 0.8


def test_the_base_tilt_follows_the_model_where_it_knows_its_place() -> None:
    x = np.random.default_rng(3).normal(size=(50, 2)) * 100.0
    covariance = np.array([[2.0, 0.6], [0.6, 1.0]])
    tilt = base_tilt(x, Located(np.array([1.0, -2.0]), covariance))
    assert tilt.center == (1.0, -2.0)
    np.testing.assert_allclose(tilt.precision, np.linalg.inv(covariance), rtol=1e-12)
    round_one = base_tilt(x, Located(np.zeros(2), 9.0 * np.eye(2)))
    assert round_one == PolynomialTilt(0.5, (0.0, 0.0), 3.0)


def test_the_base_tilt_of_data_is_median_and_deviation() -> None:
    """For normal data the weight at one standard deviation is near 1/√2 in every direction."""
    x = np.random.default_rng(4).normal(size=(4000, 2)) * [1e-3, 1e3] + [5.0, -7e5]
    tilt = base_tilt(x)
    np.testing.assert_allclose(tilt.center, np.median(x, axis=0), rtol=1e-15)
    probes = np.array([[5.0 + 1e-3, -7e5], [5.0, -7e5 - 1e3]])
    np.testing.assert_allclose(np.exp(tilt.log_weight(probes)), 0.5**0.5, rtol=0.06)


def test_the_base_tilt_is_not_stretched_by_outliers() -> None:
    rng = np.random.default_rng(5)
    x = rng.normal(size=(500, 2))
    clean = base_tilt(x)
    x[:50] = 1e9
    np.testing.assert_allclose(np.diag(base_tilt(x).precision), np.diag(clean.precision), rtol=0.5)


def test_the_base_tilt_is_not_stretched_where_most_values_tie() -> None:
    """Zero-inflated data have a median deviation of 0; a root mean square would take the outlier's scale."""
    x = np.zeros((100, 1))
    x[60:] = np.random.default_rng(6).normal(size=(40, 1))
    x[-1] = 1e9
    assert 0.3 < base_tilt(x).scale < 3.0


def test_a_constant_column_takes_the_scale_of_the_others() -> None:
    x = np.hstack([np.random.default_rng(7).normal(size=(200, 1)) * 4.0, np.full((200, 1), 3.0)])
    tilt = base_tilt(x)
    assert tilt.precision is None or tilt.precision[0, 0] == pytest.approx(tilt.precision[1, 1])
    assert base_tilt(np.ones((5, 2))) == PolynomialTilt(0.5, (1.0, 1.0), 1.0)


@pytest.mark.backend
def test_the_base_tilt_is_the_same_for_every_array_library(xp: Any) -> None:
    x = np.random.default_rng(8).normal(size=(20, 2))
    assert base_tilt(xp.asarray(x)) == base_tilt(x)


X = np.random.default_rng(0).normal(size=(80, 1))


@pytest.mark.parametrize("power", [0.0, 0.5, 1.0, 2.0, 3.0, 7.0])
@pytest.mark.parametrize("unit", [1e-6, 1.0, 1e6])
def test_a_power_is_seen_in_any_units(power: float, unit: float) -> None:
    model = sb.from_score(lambda x: -np.sign(x) * np.abs(x / unit) ** power / unit)
    assert growth_rate(model, unit * X) == pytest.approx(power, abs=1e-3)


def test_an_outlier_does_not_change_what_is_seen() -> None:
    model = sb.from_score(lambda x: -x - 4.0 * x**3)
    assert growth_rate(model, np.append(X, 1e8)[:, None]) == pytest.approx(3.0, abs=0.01)


@pytest.mark.parametrize("score", [lambda x: 1.0 - np.exp(x), lambda x: -np.sinh(x), lambda x: -(x**9)])
def test_faster_than_any_power_is_infinite(score: Any) -> None:
    assert growth_rate(sb.from_score(score), X) == math.inf


def test_a_declaration_is_believed_and_a_failing_score_tells_nothing() -> None:
    def fails(x: Any) -> Any:
        if np.abs(x).max() > 20.0:
            raise ArithmeticError
        return -x

    assert growth_rate(sb.from_score(lambda x: -(x**3), growth=2.0), X) == 2.0
    assert growth_rate(sb.models.Gaussian(), X) == 1.0
    assert growth_rate(sb.from_score(fails), X) is None


def test_rays_stay_inside_the_support() -> None:
    model = sb.from_score(lambda x: -x, support=[(0, None), (None, 1), (0, 1), (None, None)])
    x = np.random.default_rng(0).uniform(0.1, 0.9, size=(50, 4))
    points = ray_points(model, x)
    assert not sb.models.support.Support.of(model.support).outside(points.reshape(-1, 4)).any()
    assert np.abs(points).max() > 1e4


def test_rays_along_the_axes_turn_away_from_an_edge() -> None:
    model = sb.from_score(lambda x: -x, support=[(0, None), (None, 1)])
    points = ray_points(model, np.random.default_rng(0).uniform(0.1, 0.9, size=(50, 2)))
    way = (points[-1] - points[0]) / np.linalg.norm(points[-1] - points[0], axis=1, keepdims=True)
    np.testing.assert_allclose(way[-4:], [[1.0, 0.0], [0.0, -1.0], [1.0, 0.0], [0.0, -1.0]], atol=1e-12)


def test_the_density_tames_an_exponential_score() -> None:
    def log_density(x: Any) -> Any:
        return (x - np.exp(x))[:, 0]

    model = sb.from_score(lambda x: 1.0 - np.exp(x), log_density=log_density)
    assert falls_along_rays(model, X, 0.5)
    assert not falls_along_rays(sb.from_score(lambda x: 1.0 - np.exp(x)), X, 0.5)
    flat = sb.from_score(lambda x: 1.0 - np.exp(x), log_density=lambda x: -0.0 * x[:, 0])
    assert not falls_along_rays(flat, X, 0.5)


Score = Callable[[Any], Any]
INSIDE = np.random.default_rng(0).uniform(0.01, 0.99, size=(60, 1))


def gamma(shape: float) -> sb.models.Model:
    return sb.from_score(lambda x: (shape - 1.0) / x - 1.0, support=(0, None))


@pytest.mark.parametrize("shape", [0.3, 1.0, 1.5, 3.0])
def test_the_order_of_the_density_is_seen(shape: float) -> None:
    (end,) = find_ends(gamma(shape), INSIDE)
    assert end.order == pytest.approx(shape - 1.0, abs=1e-6)
    assert end.steepness == pytest.approx(0.0 if shape == 1.0 else 1.0, abs=1e-3)


@pytest.mark.parametrize(("shape", "sound"), [(0.3, False), (1.0, False), (1.5, False), (2.0, False), (2.2, True)])
def test_without_a_tilt_the_density_must_vanish_faster_than_r(shape: float, sound: bool) -> None:
    (end,) = find_ends(gamma(shape), INSIDE)
    assert end.sound(None) is sound
    assert end.sound(sb.PolynomialTilt()) is sound
    assert end.sound(sb.tilts.EdgeTilt(low=0.0))
    assert end.sound(sb.tilts.EdgeTilt(low=0.0) * sb.PolynomialTilt())


def test_an_unsound_test_is_refused_with_the_remedy() -> None:
    with pytest.raises(ValueError, match=r'edge at 0 in column 0.*like r\^0 .*`tilt="auto"`.*EdgeTilt\(low=0\)'):
        check_edges(None, gamma(1.0), INSIDE)
    uniform = sb.from_score(lambda x: 0.0 * x, support=(0, 1))
    with pytest.raises(ValueError, match=r"edge at 1 in column 0.*EdgeTilt\(high=1\)"):
        check_edges(sb.tilts.EdgeTilt(low=0.0), uniform, INSIDE)


TESTS: dict[str, Callable[..., Any]] = {
    "standard": lambda x, m: sb.ksd_test(x, m, rng=0),
    "polynomial": lambda x, m: sb.robust_ksd_test(x, m, 0.05, tilt=sb.PolynomialTilt(), rng=0),
    "bets": lambda x, m: sb.robust_ksd_test(
        x, m, 0.05, kernel=sb.InverseMultiquadric(1.0), tilt=None, tau=9.0, calibration=sb.Betting(), rng=0
    ),
    "aggregated": lambda x, m: sb.ksdagg_test(x, m, rng=0),
    "robust aggregated": lambda x, m: sb.robust_ksdagg_test(x, m, 0.05, tilt=None, rng=0),
    "distance": lambda x, m: sb.ksd(x, m),
    "stream": lambda x, m: sb.SequentialTest(
        m, kernel=sb.InverseMultiquadric(1.0), tilt=None, tau=9.0, contamination=0.05
    ).update(x),
    "stream after burn-in": lambda x, m: sb.SequentialTest(
        m, tilt=sb.PolynomialTilt(), tau=9.0, contamination=0.05, burn_in=20
    ).update(x),
}


@pytest.mark.parametrize("name", TESTS)
def test_every_test_refuses_it(name: str) -> None:
    with pytest.raises(ValueError, match="too much for Stein's identity"):
        TESTS[name](INSIDE, gamma(1.0))


@pytest.mark.parametrize(
    ("score", "power"),
    [
        (lambda x: -1.0 + 0.0 * x, 1.0),
        (lambda x: -0.5 / x - 1.0, 1.0),
        (lambda x: -(1.0 + np.log(x)) / x, 1.5),
        (lambda x: -4.0 / x + 1.0 / x**2, 2.0),
    ],
    ids=["exponential", "gamma", "log-normal", "inverse gamma"],
)
def test_a_steeper_score_takes_a_larger_power(score: Score, power: float) -> None:
    tilt = edge_tilt(sb.from_score(score, support=(0, None)), INSIDE)
    assert tilt is not None
    assert tilt.power == power


def test_the_scale_is_the_smaller_of_median_distance_and_interquartile_range() -> None:
    x = np.column_stack([np.linspace(10.0, 11.0, 101), np.linspace(0.1, 20.1, 101)])
    tilt = edge_tilt(sb.from_score(lambda x: 0.0 * x, support=[(0, None), (0, 100)]), x)
    assert tilt is not None
    assert tilt.scale == pytest.approx((0.5, 10.0))


def test_a_model_without_edges_has_no_ends() -> None:
    assert find_ends(sb.models.Gaussian(), INSIDE) == []
    assert edge_tilt(sb.models.Gaussian(), INSIDE) is None


def test_a_support_with_an_infinite_end_keeps_the_polynomial_factor() -> None:
    """The score 1/x − x grows toward infinity, where a weight for the edge alone bounds nothing."""
    x, kernel = np.abs(np.random.default_rng(0).normal(size=(80, 1))), sb.InverseMultiquadric(1.0)
    half_open = choose_tilt(x, sb.from_score(lambda x: 1.0 / x - x, support=(0, None)), kernel)
    assert "PolynomialTilt" in repr(half_open)
    closed = choose_tilt(x / x.max(), sb.from_score(lambda x: 1.0 / x - x, support=(0, 1.5)), kernel)
    assert type(closed).__name__ == "EdgeTilt"
