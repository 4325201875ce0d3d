"""Lower bounds of τ by search, everywhere and inside regions, against closed forms and grids."""

from __future__ import annotations

import math
from typing import Any
from unittest import mock

import numpy as np
import pytest

import steinball as sb
from steinball.models import Gaussian
from steinball.problem import pose
from steinball.tau import Ball, Box, search
from steinball.tau.search import Surface, climb
from steinball.tau.supremum import find_supremum
from tests.tau.posed import closed_form, sample, tau_of, u_of

pytestmark = pytest.mark.exact


def test_the_supremum_of_the_paper() -> None:
    value, place = closed_form(1, 2.0)
    assert (round(value, 5), round(place, 3)) == (1.38138, 1.109)
    assert float(u_of(place)) == pytest.approx(value, rel=1e-14)
    found = tau_of("optimized", sample())
    assert found.value == pytest.approx(value, rel=1e-10)
    assert found.kind == "optimized"
    assert not found.is_upper_bound


@pytest.mark.parametrize("n", [2, 5, 50])
@pytest.mark.parametrize(("d", "lengthscale2"), [(1, 2.0), (1, 0.05), (2, 8.0), (5, 20.0), (20, 80.0), (20, 1.0)])
def test_optimization_reaches_the_closed_form(n: int, d: int, lengthscale2: float) -> None:
    """Also from two points in twenty dimensions, and where the maximum is at the center (small length scales)."""
    found = tau_of("optimized", sample(n, d), lengthscale2=lengthscale2)
    assert found.value == pytest.approx(closed_form(d, lengthscale2)[0], rel=1e-8)


@pytest.mark.parametrize(("shift", "scale"), [(0.0, 1e-6), (0.0, 1e3), (0.0, 1e6), (1e6, 1e-3), (1e6, 1e6)])
@pytest.mark.parametrize("tau", ["optimized", "ball", "box"])
def test_the_search_does_not_depend_on_the_units_of_the_data(tau: str, scale: float, shift: float) -> None:
    """u has the unit 1/scale²: τ·scale² is the same number, from five points, inside and outside of regions."""
    x = shift + scale * sample(5)
    kernel, tilt = sb.InverseMultiquadric(scale * math.sqrt(2.0)), sb.PolynomialTilt(0.5, shift, scale)
    problem = pose(x, sb.models.Gaussian(shift, scale**2), kernel, tilt)
    regions = {"ball": Ball(20 * scale, shift), "box": Box(shift - 20 * scale, shift + 20 * scale)}
    value = find_supremum(regions.get(tau, tau), problem).value
    assert value * scale**2 == pytest.approx(closed_form(1, 2.0)[0], rel=1e-6)


def test_optimization_works_in_single_precision() -> None:
    found = tau_of("optimized", sample(5).astype(np.float32), sb.models.Gaussian())
    assert found.value == pytest.approx(closed_form(1, 2.0)[0], rel=1e-5)


def test_a_supremum_attained_only_at_infinity_is_found() -> None:
    """Tilt of scale 10: u rises towards 100 and never reaches it."""
    problem = pose(sample(), lambda x: -x, sb.InverseMultiquadric(math.sqrt(2.0)), sb.PolynomialTilt(scale=10.0))
    assert find_supremum("sample", problem).value < 20.0
    assert find_supremum("optimized", problem).value == pytest.approx(100.0, rel=1e-8)


def test_optimization_is_never_below_the_sample() -> None:
    """A score so rough that no search helps."""
    x = sample(30)
    wild = tau_of("optimized", x, lambda x: -x + 5.0 * np.sin(1e6 * x))
    assert wild.value >= tau_of("sample", x, lambda x: -x + 5.0 * np.sin(1e6 * x)).value


def test_optimization_survives_a_score_that_overflows_on_the_way() -> None:
    def score(x: Any) -> Any:
        with np.errstate(all="ignore"):
            return -np.sinh(x)

    value = tau_of("optimized", sample(), score).value
    assert math.isfinite(value)
    assert value > tau_of("sample", sample(), score).value


@pytest.mark.parametrize("tau", ["optimized", Ball(10.0), Box(-5.0, 5.0)], ids=repr)
def test_in_twenty_dimensions_the_score_is_not_evaluated_too_often(tau: Any) -> None:
    """Eight or sixteen climbs of a few dozen steps, each of 2·20 + 1 points."""
    with mock.patch.object(Gaussian, "score", autospec=True, side_effect=Gaussian.score) as score:
        tau_of(tau, sample(500, 20), Gaussian(dimension=20))
    assert sum(len(call.args[1]) for call in score.call_args_list) < 20_000


@pytest.mark.parametrize(
    ("region", "low", "high"),
    [
        (Ball(3.0), -3.0, 3.0),
        (Ball(0.5), -0.5, 0.5),
        (Ball(1.0, 4.0), 3.0, 5.0),
        (Ball(1.0, [-4.0]), -5.0, -3.0),
        (Ball(1e5), -10.0, 10.0),
        (Box(-3.0, 3.0), -3.0, 3.0),
        (Box(0.2, 0.9), 0.2, 0.9),
        (Box([2.0], [50.0]), 2.0, 50.0),
        (Box(30.0, 40.0), 30.0, 40.0),
    ],
    ids=repr,
)
def test_a_region_on_the_line_against_a_fine_grid(region: Any, low: float, high: float) -> None:
    """Maximum inside, on the edge, in a region without samples, and in one much larger than the data."""
    found = tau_of(region, sample())
    assert found.kind == "localized"
    assert not found.is_upper_bound
    assert found.value == pytest.approx(float(u_of(np.linspace(low, high, 200_001)).max()), rel=1e-8)


def plane_problem() -> Any:
    """Two unequal modes and a tilt off center: nothing is symmetric."""
    weights, means = np.array([0.3, 0.7]), np.array([[-1.5, 0.5], [1.0, -1.0]])

    def score(x: Any) -> Any:
        offset = means[None] - x[:, None, :]
        log = np.log(weights) - 0.5 * (offset**2).sum(axis=2)
        share = np.exp(log - log.max(axis=1, keepdims=True))
        share /= share.sum(axis=1, keepdims=True)
        return (share[:, :, None] * offset).sum(axis=1)

    x = sample(80, 2, seed=4)
    return pose(x, score, sb.InverseMultiquadric(1.3), sb.PolynomialTilt(0.5, (0.3, -0.2), 1.5))


@pytest.mark.parametrize(
    "region",
    [
        Ball(6.0),
        Ball(1.0),
        Ball(0.7, (2.0, 1.0)),
        Box(-6.0, 6.0),
        Box((0.0, -0.5), (0.5, 3.0)),
        Box((-1.0, 2.0), (4.0, 2.5)),
    ],
    ids=repr,
)
def test_a_region_of_the_plane_against_a_fine_grid(region: Any) -> None:
    problem = plane_problem()
    axis = np.linspace(-6.5, 6.5, 1301)
    grid = np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2)
    on_grid = float(problem.diagonal_at(grid[region.contains(grid)]).max())
    found = find_supremum(region, problem).value
    assert on_grid <= found * (1 + 1e-9)
    assert found == pytest.approx(on_grid, rel=5e-3)  # the grid is the coarse one: its edge is off by 0.01


def test_regions_stay_inside_themselves() -> None:
    """Where u is largest on the edge, the answer belongs to the edge and not to a point just outside."""
    for edge in (0.1, 0.5, 1.0):
        exact = pytest.approx(float(u_of(edge)), rel=1e-9)
        assert tau_of(Ball(edge), sample()).value == exact
        assert tau_of(Box(-edge, edge), sample()).value == exact


def test_tau_of_a_region_may_be_below_the_sample() -> None:
    """Outliers are promised to lie in the region, so observations outside of it do not count."""
    x = sample()
    assert tau_of(Ball(0.1), x).value < tau_of("sample", x).value


@pytest.mark.parametrize("tau", ["optimized", Ball(3.0), Box(-1.0, 1.0)], ids=repr)
def test_scores_known_only_at_the_samples_cannot_be_maximized(tau: Any) -> None:
    x = sample()
    with pytest.raises(TypeError, match=r'needs the score away from the samples.*tau="sample"'):
        tau_of(tau, x, sb.from_scores(-x))


@pytest.mark.parametrize("region", [Ball(1.0, [0.0, 0.0]), Box([0.0, 0.0], 1.0), Box(0.0, [1.0, 1.0])], ids=repr)
def test_a_region_must_have_the_dimension_of_the_samples(region: Any) -> None:
    with pytest.raises(ValueError, match="has 2 coordinates, the samples have 1 columns"):
        tau_of(region, sample())


@pytest.mark.parametrize("radius", [0.0, -1.0, math.nan, math.inf])
def test_a_ball_needs_a_positive_radius(radius: float) -> None:
    with pytest.raises(ValueError, match="`radius` must be a finite number"):
        Ball(radius)


@pytest.mark.parametrize("center", [math.nan, [0.0, math.inf]])
def test_a_ball_needs_a_finite_center(center: Any) -> None:
    with pytest.raises(ValueError, match="`center` must be a finite number"):
        Ball(1.0, center)


@pytest.mark.parametrize(("lower", "upper"), [(1.0, 1.0), (2.0, 1.0), ([0.0, 3.0], [1.0, 2.0])])
def test_a_box_needs_its_lower_edge_below_the_upper(lower: Any, upper: Any) -> None:
    with pytest.raises(ValueError, match="`lower` must lie below `upper`"):
        Box(lower, upper)


def test_a_box_is_finite() -> None:
    with pytest.raises(ValueError, match="must be finite"):
        Box(0.0, math.inf)
    with pytest.raises(ValueError, match="must be finite"):
        Box(math.nan, 1.0)


def test_a_climb_has_the_gradient_in_units_of_its_scale() -> None:
    begun = climb(
        lambda x: -np.sum((x - 1.0) ** 2, axis=1), np.zeros(2), 3.0, 1e-4, method="BFGS", options={"maxiter": 0}
    )
    assert begun.jac == pytest.approx([-6.0, -6.0])


def _three() -> Any:
    return sb.models.GaussianMixture([0.5, 0.3, 0.2], [[-4.0, 0.0], [0.0, 2.0], [4.0, 0.0]], [np.eye(2)] * 3)


@pytest.mark.exact
def test_ascents_side_by_side_come_as_high_as_one_after_the_other() -> None:
    model = _three()
    problem = pose(model.sample(100, np.random.default_rng(0)), model, sb.InverseMultiquadric(2.0), "auto")
    surface, starts = Surface(problem), problem.host_samples[:8]
    one_by_one = np.array([surface.climb(start, method="L-BFGS-B") for start in starts])
    highest = float(problem.diagonal_at(one_by_one).max())
    assert highest > 1.001 * float(problem.diagonal_at(starts).max())
    assert surface.highest(starts, 60) == pytest.approx(highest, rel=1e-7)


@pytest.mark.exact
def test_the_search_is_made_once_for_all_rows_of_a_model_that_can_be_drawn_from() -> None:
    model, rng = _three(), np.random.default_rng(0)
    with mock.patch("steinball.tau.search._along_rays", wraps=search._along_rays) as searched:
        found = [sb.robust_ksd_test(model.sample(60, rng), model, 0.05, rng=0).tau for _ in range(3)]
    assert searched.call_count == 1
    assert found[0] == found[1] == found[2]


def test_the_search_climbs_from_samples_that_no_ray_meets() -> None:
    """u has a narrow peak beside one sample in the bulk."""
    place = np.array([0.53, -0.41])

    def score(x: Any) -> Any:
        return -x + 30.0 * np.exp(-np.sum((x - place) ** 2, axis=1) / 0.0005)[:, None]

    x = np.vstack([np.random.default_rng(3).normal(size=(40, 2)), place + 0.012])
    problem = pose(x, score, sb.InverseMultiquadric(1.0), sb.PolynomialTilt())
    grid = place + np.stack(np.meshgrid(*2 * [np.linspace(-0.03, 0.03, 201)]), axis=-1).reshape(-1, 2)
    highest = problem.diagonal_at(grid).max()
    assert float(problem.diagonal.max()) < 0.8 * highest
    assert search.largest_known(problem) == pytest.approx(highest, rel=1e-3)
