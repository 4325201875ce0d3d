"""How fast a score grows is declared, or seen along rays that stay inside the support."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import steinball as sb
from steinball.features.rays import growth_rate, is_tamed, ray_points

pytestmark = pytest.mark.exact

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


def test_the_density_tames_an_exponential_score() -> None:
    def log_density(x: Any) -> Any:
        return (x - np.exp(x))[:, 0]

    model = sb.from_score(lambda x: 1.0 - np.exp(x), log_density=log_density)
    assert is_tamed(model, X, 0.5)
    assert not is_tamed(sb.from_score(lambda x: 1.0 - np.exp(x)), X, 0.5)
    flat = sb.from_score(lambda x: 1.0 - np.exp(x), log_density=lambda x: -0.0 * x[:, 0])
    assert not is_tamed(flat, X, 0.5)
