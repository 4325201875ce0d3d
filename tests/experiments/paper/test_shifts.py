"""The radius of a mean shift by quadrature, and how far an error of it moves a rate."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.special import gammaincinv

from experiments.framework.table import Results, as_record, rates_of
from experiments.paper import shifts
from experiments.paper.generators import mean_shift
from experiments.paper.shifts import reference_radius, sensitivity
from steinball.gram.request import Request
from steinball.gram.whole import DenseGram
from steinball.kernels.radial import InverseMultiquadric
from steinball.models import Gaussian
from steinball.problem import pose
from steinball.tilts import PolynomialTilt

pytestmark = pytest.mark.exact

RADII = [(0.3, 1), (0.3, 10), (0.2, 50), (0.6, 50), (0.3, 100)]
NAMES = [f"shift {shift} in d {dimension}" for shift, dimension in RADII]


def unbiased(shift: float, dimension: int, n: int, seed: int, kernel: InverseMultiquadric | None) -> float:
    """The library's U-statistic of D²."""
    x = mean_shift(n, dimension, shift, seed)
    problem = pose(x, Gaussian(dimension=dimension), kernel, PolynomialTilt())
    return float(DenseGram(problem).summarise(Request()).unbiased_mean)


def population_kernel(dimension: int) -> InverseMultiquadric:
    return InverseMultiquadric(math.sqrt(4.0 * float(gammaincinv(dimension / 2.0, 0.5))))


@pytest.mark.parametrize(("shift", "dimension"), RADII, ids=NAMES)
def test_more_nodes_change_nothing(shift: float, dimension: int) -> None:
    finer = shift * math.sqrt(shifts._mean_kernel(shift, dimension, 3 * shifts._NODES))
    assert reference_radius(shift, dimension) == pytest.approx(finer, rel=1e-6)


@pytest.mark.parametrize(("shift", "dimension"), RADII, ids=NAMES)
def test_the_radius_is_the_mean_kernel_over_independent_pairs(shift: float, dimension: int) -> None:
    """D² = μ² E[w(X) h(X − Y) w(Y)] by plain Monte Carlo: 50,000 pairs, within four standard errors, below 1 %."""
    x, y = (mean_shift(50_000, dimension, shift, seed) for seed in (1, 2))
    weights = np.prod([(1.0 + np.sum(part**2, axis=1)) ** -0.5 for part in (x, y)], axis=0)
    square = population_kernel(dimension).lengthscale ** 2
    values = weights * (1.0 + np.sum((x - y) ** 2, axis=1) / square) ** -0.5
    error = values.std() / math.sqrt(len(values)) / values.mean()
    assert error < 0.0025
    assert (reference_radius(shift, dimension) / shift) ** 2 == pytest.approx(values.mean(), rel=4.0 * error)


@pytest.mark.parametrize(("shift", "dimension"), [(2.0, 1), (2.0, 10)], ids=["d 1", "d 10"])
def test_the_radius_is_what_the_librarys_u_statistic_estimates(shift: float, dimension: int) -> None:
    """A large shift, so that the U-statistic is known to about 1 %: 20 samples of 1,000, four standard errors."""
    kernel = population_kernel(dimension)
    squares = np.array([unbiased(shift, dimension, 1000, seed, kernel) for seed in range(20)])
    error = squares.std() / math.sqrt(19)
    assert error < 0.01 * squares.mean()
    assert reference_radius(shift, dimension) ** 2 == pytest.approx(squares.mean(), abs=4.0 * error)


@pytest.mark.parametrize(("shift", "dimension"), RADII[:3], ids=NAMES[:3])
def test_the_median_distance_of_the_sample_moves_the_radius_by_less_than_one_percent(
    shift: float, dimension: int
) -> None:
    """The same 20 samples with either length scale: the mean of their difference, within four standard errors."""
    kernel = population_kernel(dimension)
    pairs = [[unbiased(shift, dimension, 500, seed, k) for k in (None, kernel)] for seed in range(20)]
    moved = np.diff(np.array(pairs), axis=1)[:, 0] / (2.0 * reference_radius(shift, dimension) ** 2)
    assert abs(moved.mean()) + 4.0 * moved.std() / math.sqrt(19) < 0.01


def test_no_shift_has_no_radius_and_more_shift_has_more() -> None:
    radii = [reference_radius(shift, 50) for shift in (0.0, 0.1, 0.2, 0.6, 1.0, 2.0)]
    assert radii[0] == 0.0
    assert np.all(np.diff(radii) > 0.0)


def test_the_table_says_how_far_an_error_of_the_radius_moves_the_steepest_rate() -> None:
    """D is N(m, 1) and θ = 10: a rate of one half falls by φ(0)·.1 = .040 when θ rises by 1 %."""
    draws = np.random.default_rng(0).standard_normal(400)
    draws = (draws - draws.mean()) / draws.std()
    shared = {
        "test": "r-ksd",
        "variant": "published",
        "radius": 10.0,
        "seconds": 0.0,
        "reference_shift": 1,
        "dimension": 5,
    }
    rows = [
        as_record({**shared, "shift": shift, "repeat": k, "rejected": int(ksd > 10.0), "ksd": ksd})
        for shift in (5.0, 10.0, 15.0)
        for k, ksd in enumerate(draws + shift)
    ]
    last = sensitivity(Results(rates_of(rows))).splitlines()[-1]
    assert last.startswith("| μ = 1 | 5 | 10.00000 | μ = 10 | 0.")
    assert last.endswith("| ± 0.199 | ± 0.040 | ± 0.004 |")
