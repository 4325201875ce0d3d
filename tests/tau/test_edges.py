"""What a density does at its edges is seen by the score, and decides which tilt is sound there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import steinball as sb
from steinball.tau.edges import check_edges, edge_tilt, find_ends

pytestmark = pytest.mark.exact

Score = Callable[[Any], Any]
X = np.random.default_rng(0).uniform(0.01, 0.99, size=(60, 1))


def gamma(shape: float) -> sb.models.Model:
    return sb.from_score(lambda x: (shape - 1.0) / x - 1.0, support=(0, None))


@pytest.mark.parametrize("shape", [0.3, 1.0, 1.5, 3.0])
def test_the_order_of_the_density_is_seen(shape: float) -> None:
    (end,) = find_ends(gamma(shape), X)
    assert end.order == pytest.approx(shape - 1.0, abs=1e-6)
    assert end.steepness == pytest.approx(0.0 if shape == 1.0 else 1.0, abs=1e-3)


@pytest.mark.parametrize(("shape", "sound"), [(0.3, False), (1.0, False), (1.5, False), (2.0, False), (2.2, True)])
def test_without_a_tilt_the_density_must_vanish_faster_than_r(shape: float, sound: bool) -> None:
    (end,) = find_ends(gamma(shape), X)
    assert end.sound(None) is sound
    assert end.sound(sb.PolynomialTilt()) is sound
    assert end.sound(sb.tilts.EdgeTilt(low=0.0))
    assert end.sound(sb.tilts.EdgeTilt(low=0.0) * sb.PolynomialTilt())


def test_an_unsound_test_is_refused_with_the_remedy() -> None:
    with pytest.raises(ValueError, match=r'edge at 0 in column 0.*like r\^0 .*`tilt="auto"`.*EdgeTilt\(low=0\)'):
        check_edges(None, gamma(1.0), X)
    uniform = sb.from_score(lambda x: 0.0 * x, support=(0, 1))
    with pytest.raises(ValueError, match=r"edge at 1 in column 0.*EdgeTilt\(high=1\)"):
        check_edges(sb.tilts.EdgeTilt(low=0.0), uniform, X)


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
        TESTS[name](X, gamma(1.0))


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
    tilt = edge_tilt(sb.from_score(score, support=(0, None)), X)
    assert tilt is not None
    assert tilt.power == power


def test_the_scale_is_the_smaller_of_median_distance_and_interquartile_range() -> None:
    x = np.column_stack([np.linspace(10.0, 11.0, 101), np.linspace(0.1, 20.1, 101)])
    tilt = edge_tilt(sb.from_score(lambda x: 0.0 * x, support=[(0, None), (0, 100)]), x)
    assert tilt is not None
    assert tilt.scale == pytest.approx((0.5, 10.0))


def test_a_model_without_edges_has_no_ends() -> None:
    assert find_ends(sb.models.Gaussian(), X) == []
    assert edge_tilt(sb.models.Gaussian(), X) is None
