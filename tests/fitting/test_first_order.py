"""The first-order radius against the discrepancy of contaminated distributions."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from steinball import fitting
from steinball.fitting import MedianMAD
from steinball.fitting.first_order import FirstOrder, far_and_near
from steinball.kernels import InverseMultiquadric
from steinball.models.support import Support
from steinball.problem import pose
from steinball.stein import SteinKernel
from steinball.tau.supremum import find_supremum
from steinball.tilts import PolynomialTilt

as_family: Any = fitting.as_family
pytestmark = pytest.mark.exact
FAMILY, STEIN = as_family("normal", 1), SteinKernel(InverseMultiquadric(2.0), PolynomialTilt())


def quantiles(n: int) -> np.ndarray:
    from scipy.special import ndtri

    return np.asarray(ndtri((np.arange(n) + 0.5) / n))[:, None]


def ksd_of_fit(share: float, place: float) -> float:
    """D of a contaminated normal distribution from the normal one with its median and MAD, without sampling error."""
    n = 3000
    x = np.vstack([quantiles(n), np.full((round(n * share / (1.0 - share)), 1), place)])
    params = MedianMAD().params(FAMILY, x, STEIN)
    return math.sqrt(float(pose(x, FAMILY.model(params), STEIN.kernel, STEIN.tilt).stein(
        x, FAMILY.score(params, x), x, FAMILY.score(params, x)).mean()))  # fmt: skip


def test_the_radius_holds_to_first_order_wherever_contamination_lies() -> None:
    """At a share of 2 % the remainder is below a tenth of the radius, and the worst place comes within a tenth."""
    x = quantiles(1000)
    estimate = MedianMAD().estimate(FAMILY, x, STEIN)
    problem = pose(x, FAMILY.model(estimate.params), STEIN.kernel, STEIN.tilt)
    radius = FirstOrder(0.02, estimate, FAMILY)
    theta = radius(problem, find_supremum("sample", problem))
    found = [ksd_of_fit(0.02, place) for place in (0.0, 0.5, 1.0, 2.0, 4.0, 1e3)]
    assert max(found) < 1.1 * theta
    assert max(found) > 0.9 * theta
    assert repr(radius) == "FirstOrder(contamination=0.02)"


def test_the_influence_on_the_fit_makes_it_larger_than_that_of_a_known_model() -> None:
    """For median and MAD, as for no minimum-KSD fit, whose map is a projection."""
    x = quantiles(500)
    estimate = MedianMAD().estimate(FAMILY, x, STEIN)
    problem = pose(x, FAMILY.model(estimate.params), STEIN.kernel, STEIN.tilt)
    assert FirstOrder(1.0, estimate, FAMILY)(problem, find_supremum("sample", problem)) > math.sqrt(
        float(problem.diagonal_at(np.linspace(-50.0, 50.0, 2001)[:, None]).max())
    )


X = np.random.default_rng(0).normal(3.0, 2.0, size=(500, 2))


def test_probes_reach_from_the_center_to_far_out() -> None:
    for x in (X, X[:, :1], np.ones((5, 2))):
        lengths = np.linalg.norm(far_and_near(x, None) - np.median(x, axis=0), axis=1)
        assert lengths.min() == 0.0
        assert lengths.max() > 1e5


def test_probes_stay_inside_and_come_next_to_edges() -> None:
    x = np.abs(X)
    probes = far_and_near(x, Support.of((0, None)))
    assert (probes > 0.0).all()
    assert (probes.min(axis=0) < 1e-6).all()
