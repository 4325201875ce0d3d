"""τ: sample maximum, optimization, a given bound, regions; against closed forms and grids."""

from __future__ import annotations

import math
import time
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import steinball as sb
from steinball.features import Ball, Box, Supremum, find_supremum
from steinball.problem import pose

pytestmark = pytest.mark.exact


def closed_form(d: int, lengthscale2: float) -> tuple[float, float]:
    """sup u(x, x) and where, for N(0, I), inverse multiquadric (exponent ½), tilt exponent ½, center 0, scale 1.

    With v = 1/(1 + |x|²) and c = d/ℓ², u(x, x) = 1 + (1 + c)v − v² − v³, largest at v = min(1, (√(4 + 3c) − 1)/3).
    """
    c = d / lengthscale2
    v = min(1.0, (math.sqrt(4 + 3 * c) - 1) / 3)
    return 1 + (1 + c) * v - v**2 - v**3, math.sqrt(1 / v - 1)


def u_of(x: Any, exponent: float = 0.5, lengthscale2: float = 2.0) -> Any:
    """u(x, x) for N(0, 1): (w s + w′)² + w²/ℓ² with w = (1 + x²)^(−b), differentiated by hand."""
    w = (1 + x**2) ** -exponent
    slope = -2 * exponent * x * (1 + x**2) ** (-exponent - 1)
    return (-w * x + slope) ** 2 + w**2 / lengthscale2


def tau_of(tau: Any, x: Any, model: Any = None, *, lengthscale2: float = 2.0, exponent: float = 0.5) -> Supremum:
    kernel, tilt = sb.InverseMultiquadric(math.sqrt(lengthscale2)), sb.PolynomialTilt(exponent)
    return find_supremum(tau, pose(x, (lambda x: -x) if model is None else model, kernel, tilt))


def sample(n: int = 50, d: int = 1, seed: int = 0) -> NDArray[np.float64]:
    return np.random.default_rng(seed).normal(size=(n, d))


# Values of the paper


@pytest.mark.parametrize(("exponent", "value"), [(0.25, 3.296), (0.5, 1.139), (1.0, 0.135)])
def test_u_at_three_for_the_tilts_of_the_papers_figure(exponent: float, value: float) -> None:
    x = np.array([[3.0], [0.0]])
    tilt = sb.PolynomialTilt(exponent)
    problem = pose(x, lambda x: -x, sb.InverseMultiquadric(math.sqrt(2.0)), tilt)
    assert round(float(problem.diagonal[0]), 3) == value
    assert float(problem.diagonal[0]) == pytest.approx(float(u_of(3.0, exponent)), rel=1e-14)


def test_u_at_three_without_a_tilt() -> None:
    problem = pose(np.array([[3.0], [0.0]]), lambda x: -x, sb.InverseMultiquadric(math.sqrt(2.0)))
    assert problem.diagonal[0] == pytest.approx(9.5, rel=1e-15)


def test_the_supremum_of_the_paper() -> None:
    value, place = closed_form(1, 2.0)
    assert (round(value, 5), round(place, 3)) == (1.38138, 1.109)
    assert float(u_of(place)) == pytest.approx(value, rel=1e-14)
    found = tau_of("optimized", sample())
    assert found.value == pytest.approx(value, rel=1e-10)
    assert found.kind == "optimized"
    assert not found.is_upper_bound


# The sample maximum


def test_the_sample_maximum_is_the_largest_of_the_diagonal_and_grows_with_n() -> None:
    x = sample(1000)
    values = [tau_of("sample", x[:n]).value for n in (25, 50, 100, 500, 1000)]
    assert values == [pytest.approx(float(u_of(x[:n]).max()), rel=1e-14) for n in (25, 50, 100, 500, 1000)]
    assert values == sorted(values)
    assert values[-1] <= closed_form(1, 2.0)[0]
    assert tau_of("sample", x).kind == "sample"
    assert not tau_of("sample", x).is_upper_bound


def test_the_sample_maximum_is_the_maximum_of_the_whole_matrix() -> None:
    """Cauchy–Schwarz: |u(x, y)| ≤ √(u(x, x) u(y, y))."""
    x = sample(60, 3)
    problem = pose(x, lambda x: -x, sb.InverseMultiquadric(1.0), sb.PolynomialTilt())
    u = problem.stein(x, -x, x, -x)
    assert np.abs(u).max() == pytest.approx(find_supremum("sample", problem).value, rel=1e-12)


# Optimization


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


def test_twenty_dimensions_take_little_time() -> None:
    start = time.perf_counter()
    for tau in ("optimized", Ball(10.0), Box(-5.0, 5.0)):
        tau_of(tau, sample(500, 20), sb.models.Gaussian(dimension=20))
    assert time.perf_counter() - start < 5.0


# A given bound


def test_a_given_bound_is_used_and_called_an_upper_bound() -> None:
    found = tau_of(1.5, sample())
    assert (found.value, found.kind, found.is_upper_bound) == (1.5, "given", True)


def test_a_bound_below_the_sample_is_refused() -> None:
    with pytest.raises(ValueError, match=r"`tau=1.3` is not an upper bound: u\(x, x\) reaches 1.379"):
        tau_of(1.3, sample())
    exact = tau_of("sample", sample()).value
    assert tau_of(exact, sample()).value == exact


@pytest.mark.parametrize("tau", [0.0, -1.0, math.nan, math.inf])
def test_a_bound_must_be_positive_and_finite(tau: float) -> None:
    with pytest.raises(ValueError, match=r"`tau` must be a finite number in \(0, inf\)"):
        tau_of(tau, sample())


@pytest.mark.parametrize(("tau", "error"), [("largest", ValueError), (None, TypeError), ([1.0, 2.0], TypeError)])
def test_other_kinds_of_tau_are_refused(tau: Any, error: type[Exception]) -> None:
    with pytest.raises(error, match="`tau` must be"):
        tau_of(tau, sample())


# Regions


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
        tau_of(tau, x, -x)


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
    with pytest.raises(ValueError, match="`center` must be finite"):
        Ball(1.0, center)


@pytest.mark.parametrize(("lower", "upper"), [(1.0, 1.0), (2.0, 1.0), ([0.0, 3.0], [1.0, 2.0]), (math.nan, 1.0)])
def test_a_box_needs_its_lower_edge_below_the_upper(lower: Any, upper: Any) -> None:
    with pytest.raises(ValueError, match="`lower` must lie below `upper`"):
        Box(lower, upper)


def test_a_box_is_finite() -> None:
    with pytest.raises(ValueError, match="must be finite"):
        Box(0.0, math.inf)


# In a test


def test_a_result_carries_tau_and_its_kind() -> None:
    x = sample()
    options: dict[str, Any] = {"kernel": sb.InverseMultiquadric(math.sqrt(2.0)), "tilt": sb.PolynomialTilt(), "rng": 0}
    kinds: dict[Any, str] = {"sample": "sample", "optimized": "optimized", 1.4: "given", Ball(2.0): "localized"}
    for tau, kind in kinds.items():
        result = sb.robust_ksd_test(x, lambda x: -x, 0.1, tau=tau, **options)
        assert result.tau_kind == kind
        assert result.tau == tau_of(tau, x).value
        assert result.radius == pytest.approx(0.1 * math.sqrt(result.tau), rel=1e-15)
