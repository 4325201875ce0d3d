"""D, θ and q over a family against tests of single members, and the search for the closest one."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import steinball as sb
from steinball import fitting
from steinball.arrays import as_seed
from steinball.fitting import MedianMAD
from steinball.fitting.minimum_ksd import ScoreDistance
from steinball.fitting.tolerance import FirstOrder, MemberSearch, closest_member, far_and_near
from steinball.gram.weights import gather
from steinball.kernels import InverseMultiquadric
from steinball.models.support import Support
from steinball.problem import pose
from steinball.stein import SteinKernel
from steinball.tau.supremum import find_supremum
from steinball.tilts import EdgeTilt, PolynomialTilt, Tilt
from tests.fitting.conftest import case

pytestmark = pytest.mark.exact
CALIBRATION = sb.BoundaryBootstrap(99)


def stein_of(name: str) -> SteinKernel:
    edge: Tilt = EdgeTilt(low=0.0, scale=1.0) * PolynomialTilt(1.0, center=1.0, scale=3.0)
    return SteinKernel(InverseMultiquadric(2.0), edge if case(name)[0].support else PolynomialTilt(scale=4.0))


def search_of(name: str, share: float = 0.05) -> MemberSearch:
    family, x, _ = case(name)
    weights = gather(CALIBRATION.request(len(x), as_seed(0)).weights, len(x)).astype(float)
    stein = stein_of(name)
    return MemberSearch(family, ScoreDistance.of(x, stein, weights), stein, share)


@pytest.mark.parametrize("name", ["normal", "gamma", "weibull", "student-t"])
def test_the_excess_of_a_member_is_that_of_its_own_test(name: str) -> None:
    """With τ at the same points, D − θ − q to rounding; the sign is the decision."""
    family, x, _ = case(name)
    search, params = search_of(name), family.fit(x)
    stein, tau = search.stein, search._tau(params)
    result = sb.ksd_test(
        x, family.model(params), kernel=stein.kernel, tilt=stein.tilt, radius=sb.Huber(0.05), tau=tau,
        calibration=CALIBRATION, rng=0, check_model=False,
    )  # fmt: skip
    margin = result.ksd - result.radius - result.threshold
    assert math.isclose(search.excess(params), margin, rel_tol=1e-8, abs_tol=1e-10)


@pytest.mark.parametrize("name", ["normal", "gamma", "lognormal"])
def test_the_quadratics_of_an_exponential_family_are_the_forms(name: str) -> None:
    family, x, params = case(name)
    search = search_of(name)
    wanted, found = search.distance.forms(family.score(params, x)), search._all_forms(params)
    for ours, theirs in zip((matrices[:, 0, 0] for matrices in wanted), found, strict=True):
        np.testing.assert_allclose(theirs, ours, rtol=1e-8, atol=1e-8 * np.abs(ours).max())


@pytest.mark.parametrize("name", ["normal", "weibull"])
def test_no_member_around_the_closest_one_is_closer(name: str) -> None:
    family, x, _ = case(name)
    search = search_of(name)
    found = closest_member(family, x, stein_of(name), family.fit(x), 0.05, CALIBRATION, 0).params
    best, around = search.excess(found), np.random.default_rng(0).normal(0.0, 0.1, size=(200, len(found)))
    assert best <= min(search.excess(family.from_working(family.to_working(found) + step)) for step in around) + 1e-5
    assert best <= search.excess(family.fit(x))


def test_members_that_are_all_but_points_are_no_candidates() -> None:
    family, _, _ = case("student-t")
    search = search_of("student-t")
    assert search.excess(np.array([0.2, 0.5, 1e-20])) >= 1e6
    assert search.excess(family.fit(search.distance.x)) < 1.0


def test_what_is_outside_the_family_has_no_excess() -> None:
    assert search_of("normal").excess(np.array([0.0, np.nan])) >= 1e6


def test_where_no_member_is_a_candidate_the_fit_is_tested() -> None:
    x = np.repeat([[0.0], [1.0]], 200, axis=0)
    family, _, _ = case("normal")
    start = np.array([0.5, 0.5])
    found = closest_member(family, x, stein_of("normal"), start, 0.01, CALIBRATION, 0)
    np.testing.assert_array_equal(found.params, start)
    assert found.apart is not None
    assert found.apart > found.margin


@pytest.mark.parametrize("share", [0.0, 0.05, 0.3])
def test_the_margin_is_the_share_and_massart_s_bound(share: float) -> None:
    """150 rows, one column, β = .001: √(log(2000)/300) = .1592 beside the share, once."""
    assert search_of("normal", share).margin == pytest.approx(share + 0.159174, abs=1e-5)


def test_the_search_goes_as_far_as_it_must() -> None:
    """A third of the rows far out: the closest member lies many steps from fit and start, and is much closer."""
    family, x, _ = case("normal")
    x = np.where(np.arange(150)[:, None] % 3 == 0, x + 12.0, x)
    weights = gather(CALIBRATION.request(150, as_seed(0)).weights, 150).astype(float)
    search = MemberSearch(family, ScoreDistance.of(x, stein_of("normal"), weights), stein_of("normal"), 0.3)
    starts = (family.start(x), family.fit(x))
    found = closest_member(family, x, stein_of("normal"), family.fit(x), 0.3, CALIBRATION, 0).params
    assert search.excess(found) < min(search.excess(start) for start in starts) - 0.01


as_family: Any = fitting.as_family
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
