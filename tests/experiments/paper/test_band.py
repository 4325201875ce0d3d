"""Draws whose density differs from the model's by a stated mass in a band."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from scipy import stats
from scipy.integrate import quad

import steinball as sb
from experiments.paper.band import density_band
from experiments.paper.generators import mixture_pair
from steinball.models import Gaussian

pytestmark = pytest.mark.exact


BANDS = [
    (Gaussian(), 0.2, (-1.0, 0.0), (2.0, 3.0)),
    (Gaussian(1.0, 4.0), 0.5, (1.0, math.inf), (-8.0, -7.0)),
    (sb.models.StudentT(3.0), 0.1, (-math.inf, -1.0), (-1.0, 0.5)),
    (Gaussian(1000.0, 0.01), 0.3, (999.0, 1000.0), (1001.0, 1002.0)),
]


BAND_NAMES = ["normal", "wide", "t", "far"]


@pytest.mark.parametrize(("model", "mass", "source", "target"), BANDS, ids=BAND_NAMES)
def test_the_density_differs_from_the_models_by_exactly_the_mass(
    model: Any, mass: float, source: Any, target: Any
) -> None:
    q = density_band(model, mass, source, target)

    def p(x: float) -> float:
        return math.exp(float(model.log_density(np.array([[x]]))[0]))

    def density(x: float) -> float:
        return float(q.density(np.array([x]))[0])

    center = float(model.location[0])
    edges = sorted({-math.inf, math.inf, *source, *target, center, center - 1.0, center + 1.0})
    pieces = list(pairwise(edges))
    total = sum(quad(density, *piece)[0] for piece in pieces)
    apart = sum(quad(lambda x: abs(density(x) - p(x)), *piece)[0] for piece in pieces)
    assert total == pytest.approx(1.0, abs=1e-7)
    assert apart == pytest.approx(mass, abs=1e-7)
    assert min(density(x) for x in np.linspace(center - 5.0, center + 5.0, 201)) >= 0.0


@pytest.mark.parametrize(("model", "mass", "source", "target"), BANDS, ids=BAND_NAMES)
def test_the_draws_have_that_density(model: Any, mass: float, source: Any, target: Any) -> None:
    """The share of 20,000 draws in S and in T, within four standard errors; outside both the model is untouched."""
    q = density_band(model, mass, source, target)
    x, p = q.sample(20_000, rng=0)[:, 0], model.sample(20_000, rng=1)[:, 0]
    for (low, high), moved in ((source, -mass / 2.0), (target, mass / 2.0)):
        before, after = np.mean((low <= p) & (p < high)), np.mean((low <= x) & (x < high))
        assert after - before == pytest.approx(moved, abs=4.0 * math.sqrt(2.0 * 0.25 / 20_000))
    inside = x[(target[0] <= x) & (x < target[1])]
    if target[0] > 500.0:  # next to no mass of the model there: all that is there arrived, uniformly
        assert stats.kstest(inside, stats.uniform(target[0], target[1] - target[0]).cdf).pvalue > 1e-3
    assert np.array_equal(x, q.sample(20_000, rng=0)[:, 0])


def test_the_band_is_the_one_that_the_radius_tolerates() -> None:
    q = density_band(Gaussian(), 0.2, (-1.0, 0.0), (2.0, 3.0))
    band = sb.DensityBand.between(stats.norm.pdf, lambda x: float(q.density(x)[0]), points=(-1.0, 0.0, 2.0, 3.0))
    assert band.mass == pytest.approx(0.2, abs=1e-8)


def test_a_missing_constant_of_the_log_density_does_not_matter() -> None:
    class Unnormalized:
        location, covariance = np.zeros(1), np.eye(1)

        def log_density(self, x: Any) -> Any:
            return -0.5 * np.sum(x * x, axis=1) + 5.0

        def sample(self, n: int, rng: Any) -> Any:
            return np.random.default_rng(rng).normal(size=(n, 1))

    ours, theirs = (density_band(m, 0.2, (-1.0, 0.0), (2.0, 3.0)) for m in (Gaussian(), Unnormalized()))
    assert theirs.moved == pytest.approx(ours.moved, rel=1e-9)
    assert theirs.density([-0.5, 2.5]) == pytest.approx(ours.density([-0.5, 2.5]), rel=1e-9)


def test_a_narrow_model_far_from_the_ends_of_the_intervals_is_not_overlooked() -> None:
    q = density_band(Gaussian(1000.0, 0.01), 0.2, (-math.inf, 5000.0), (6000.0, 6001.0))
    assert q.moved == pytest.approx(0.1, rel=1e-8)


def test_no_mass_is_the_model_itself() -> None:
    q = density_band(Gaussian(), 0.0, (-1.0, 0.0), (2.0, 3.0))
    x = q.sample(1000, rng=3)
    assert np.array_equal(x, Gaussian().sample(1000, np.random.default_rng(3)))
    np.testing.assert_allclose(q.density(x), stats.norm.pdf(x[:, 0]), rtol=1e-9)


@pytest.mark.parametrize(
    ("model", "mass", "source", "target", "message"),
    [
        (Gaussian(), 0.8, (-1.0, 0.0), (2.0, 3.0), "which holds 0.3413. Use at most 0.6827"),
        (Gaussian(), 0.1, (-1.0, 1.0), (0.0, 3.0), "must not overlap"),
        (Gaussian(), 0.1, (-1.0, 1.0), (2.0, math.inf), "`target` must be a finite interval"),
        (Gaussian(), 0.1, (1.0, -1.0), (2.0, 3.0), "`source` must be an interval"),
        (Gaussian(), 2.5, (-1.0, 1.0), (2.0, 3.0), "`mass`"),
        (mixture_pair(1.0).model, 0.1, (0.0, 1.0), (2.0, 3.0), "one dimension, got 2"),
    ],
)
def test_a_band_that_cannot_be_is_refused(model: Any, mass: float, source: Any, target: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        density_band(model, mass, source, target)
