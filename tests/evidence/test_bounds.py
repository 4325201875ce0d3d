"""Upper bounds of the misfit, the three-way verdict and the credibility size: closed forms, spectra, simulation."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import ndtri

import steinball as sb
from steinball.calibration import BoundaryBootstrap
from steinball.calibration.base import BootstrapNull
from steinball.calibration.boundary import BoundaryNull
from steinball.calibration.deviation import DeviationNull, hoeffding
from steinball.evidence.base import three_way_verdict
from steinball.evidence.bounds import (
    Credibility,
    credibility,
    credibility_size,
    direction_error,
    normal_excess,
    upper_bound,
    upper_bound_direction,
)
from steinball.problem import pose
from steinball.stein import SteinKernel

pytestmark = pytest.mark.exact

Vector = NDArray[np.float64]
KERNEL, TILT = sb.InverseMultiquadric(1.0), sb.PolynomialTilt()
STEIN = SteinKernel(KERNEL, TILT)
Z = float(ndtri(0.95))


def gram(x: Vector) -> Vector:
    x = x[:, None] if x.ndim == 1 else x
    return np.asarray(STEIN(x, -x, x, -x))


def draws_of(matrix: Vector, rng: np.random.Generator, count: int) -> Vector:
    """Draws of the weighted bootstrap, written down anew."""
    n = len(matrix)
    weights = rng.multinomial(n, np.full(n, 1 / n), size=count) - 1.0
    return np.asarray(np.sqrt(np.maximum(np.einsum("bi,bi->b", weights @ matrix, weights), 0.0)) / n)


def spectrum(matrix: Vector) -> Vector:
    """Eigenvalues of the covariance of the features."""
    center = np.eye(len(matrix)) - 1.0 / len(matrix)
    return np.linalg.eigvalsh(center @ matrix @ center)[::-1] / len(matrix)


@pytest.mark.parametrize("values", [(1.0,), (1.0, 1.0, 1.0), (2.0, 0.5, 0.1)])
def test_the_error_of_the_widest_direction_is_read_off_the_draws(values: tuple[float, ...]) -> None:
    """Draws with a known spectrum, n = 100: s = (Σ λ²)^¼ / √n."""
    z = np.random.default_rng(0).normal(size=(200_000, len(values)))
    draws = np.sqrt((np.array(values) * z**2).sum(axis=1) / 100)
    assert direction_error(draws) == pytest.approx(sum(v * v for v in values) ** 0.25 / 10, rel=0.01)


def test_bootstrap_draws_know_the_spectrum_of_the_gram_matrix() -> None:
    rng = np.random.default_rng(1)
    matrix = gram(rng.normal(0.3, 1.0, size=150))
    found, values = direction_error(draws_of(matrix, rng, 4000)), spectrum(matrix)
    assert found == pytest.approx((values**2).sum() ** 0.25 / math.sqrt(150), rel=0.04)
    assert found > math.sqrt(values[0] / 150) * 0.99


def test_negative_draws_stand_for_negative_squares() -> None:
    squares = np.random.default_rng(0).normal(size=1000)
    draws = np.sign(squares) * np.sqrt(np.abs(squares))
    assert direction_error(draws) == pytest.approx((squares.var() / 2) ** 0.25)


def test_of_draws_between_two_ends_the_error_is_that_of_the_middles_and_half_the_widest() -> None:
    rng = np.random.default_rng(3)
    low, most = np.sort(np.abs(rng.normal(size=(2, 500))), axis=0)
    middle, width = (low**2 + most**2) / 2.0, most**2 - low**2
    found = direction_error(low, most)
    assert found == pytest.approx(((middle.std() + width.max() / 2.0) ** 2 / 2.0) ** 0.25, rel=1e-12)
    for share in rng.random((50, 500)):
        assert direction_error(np.sqrt(low**2 + share * width)) <= found


def test_one_direction_suffices_for_an_upper_bound() -> None:
    """D ≤ Dₙ + (E f − mean f) for f = μ/|μ|, sample by sample: the inequality that the bound rests on.

    The law is two points, so that f and D are known: f(x) = Σ_k p_k u(z_k, x) / D.
    """
    places, shares, rng = np.array([0.5, 2.0]), np.array([0.3, 0.7]), np.random.default_rng(2)
    between = gram(places)
    distance = math.sqrt(shares @ between @ shares)
    for _ in range(200):
        counts = rng.multinomial(20, shares) / 20
        ksd = math.sqrt(counts @ between @ counts)
        mean = float(counts @ between @ shares) / distance
        assert mean <= ksd + 1e-12
        assert distance <= ksd + (distance - mean) + 1e-12


def test_the_bound_in_use_is_the_smaller_one() -> None:
    draws = np.sort(np.abs(np.random.default_rng(4).normal(size=999)))
    null = BootstrapNull(draws)
    assert upper_bound(null, 1.0, 0.05) == pytest.approx(1.0 + Z * direction_error(draws))
    assert upper_bound(null, 1.0, 0.05) < null.upper_bound(1.0, 0.05) == 1.0 + null.threshold(0.05, 0.0)
    bound = DeviationNull(tau=1.0, n=100)
    assert upper_bound(bound, 0.2, 0.05) == bound.upper_bound(0.2, 0.05)


def test_an_interval_has_bounds_at_half_the_level_each() -> None:
    x = np.random.default_rng(0).normal(0.3, size=150)
    result = sb.robust_ksd_test(x, sb.models.Gaussian(), 0.05, rng=0)
    half = result.at(level=0.05)
    assert result.interval(0.1) == (half.lower_bound, half.upper_bound)


def test_the_upper_bound_of_a_u_statistic_lies_above_the_v_statistic() -> None:
    """√max(0, D²_U) is 0 for data of the model, and what is added to it too little."""
    for seed in range(5):
        x = np.random.default_rng(seed).normal(size=100)
        u, v = (sb.ksd_test(x, sb.models.Gaussian(), estimator=e, tilt="auto", rng=0) for e in ("u", "v"))
        assert u.upper_bound > v.ksd > u.ksd
        assert u.upper_bound == pytest.approx(upper_bound(u._evidence.null, v.ksd, 0.05))
        assert u.interval()[1] >= u.upper_bound


@pytest.mark.calibration
@pytest.mark.parametrize("estimator", ["u", "v"])
def test_on_the_exact_edge_good_enough_is_rare(estimator: str) -> None:
    """A share ε at the worst place: D(Q, P) = ε√τ. The U-statistic's own root called .12–.18 of samples good enough."""
    kernel, tilt, model, share, n = sb.InverseMultiquadric(1.0), sb.PolynomialTilt(), sb.models.Gaussian(), 0.1, 200
    grid = np.linspace(0.0, 4.0, 801)[:, None]
    problem = pose(grid, model, kernel, tilt)
    worst, wrong = float(grid[np.argmax(problem.diagonal), 0]), 0
    options: dict[str, Any] = {"kernel": kernel, "tilt": tilt, "tau": "auto", "estimator": estimator}
    for seed in range(100):
        rng = np.random.default_rng([17, seed])
        x = np.where(rng.random(n) < share, worst, rng.normal(size=n))
        result = sb.ksd_test(
            x, model, radius=sb.Huber(share), calibration=sb.WeightedBootstrap(199), rng=rng, **options
        )
        wrong += result.upper_bound <= result.radius
    assert wrong <= 11  # of 100 at .05: more have probability .004


def test_the_verdict_has_three_values() -> None:
    assert three_way_verdict(True, 0.5, 0.1) == "misfit"
    assert three_way_verdict(False, 0.1, 0.1) == "good enough"
    assert three_way_verdict(False, 0.1001, 0.1) == "undecided"
    assert three_way_verdict(False, 0.0, 0.0) == "undecided"  # no data certify a radius of 0


EDGE = {"near": (0.6, 0.1), "far": (4.0, 0.25), "clear": (1.1, 0.4)}


@pytest.mark.calibration
@pytest.mark.parametrize("where", EDGE)
def test_at_the_edge_the_bound_in_use_keeps_its_level(where: str) -> None:
    """Null reversed: Q = (1 − ε) N(0, 1) + ε δ_z has D = ε √u(z, z) exactly. 300 repeats at n = 100: at most
    .05 + 2 standard errors = .075 (the asymptotic bound: .10). The unbiased D² with its own standard error, a rule that
    looks right, breaks it where D√n is about 1: the simulation can tell a wrong bound from a right one."""
    place, share = EDGE[where]
    n, rng, missed = 100, np.random.default_rng(6), np.zeros(3)
    theta = share * math.sqrt(gram(np.array([place]))[0, 0])
    for _ in range(300):
        matrix = gram(np.where(rng.random(n) < share, place, rng.normal(size=n)))
        rows, ksd = matrix.mean(axis=1), math.sqrt(matrix.mean())
        unbiased = (n * n * ksd**2 - np.trace(matrix)) / (n * (n - 1))
        naive = math.sqrt(max(0.0, unbiased + 2.0 * Z * rows.std() / math.sqrt(n)))
        along = ksd + Z * rows.std() / (ksd * math.sqrt(n))
        direction = upper_bound_direction(ksd, draws_of(matrix, rng, 99), 0.05)
        missed += np.array([direction, along, naive]) <= theta
    rates = missed / 300
    assert rates[0] <= 0.075
    assert rates[1] <= 0.10
    if where == "near":
        assert rates[2] > 0.10


def test_without_a_radius_the_credibility_size_has_a_closed_form() -> None:
    null = BootstrapNull(np.linspace(0.01, 0.2, 999))
    q, n = null.threshold(0.05, 0.0), 300
    assert credibility_size(null, 0.09, 1.5, n, 0.05) == pytest.approx((n * q * q - 1.5) / 0.09, rel=1e-8)


@pytest.mark.parametrize("radius", [0.05, 0.2])
def test_with_a_radius_it_solves_its_equation(radius: float) -> None:
    null, n = DeviationNull(tau=1.0, n=100, bounds=("pinelis",)), 100  # whose threshold rises with the radius
    size = credibility_size(null, 0.09, 0.4, n, 0.05, radius)
    critical = radius + null.threshold(0.05, radius) * math.sqrt(n / size)
    assert 0.09 + 0.4 / size == pytest.approx(critical**2, rel=1e-8)


def test_the_boundary_bootstraps_threshold_is_scaled_with_its_radius() -> None:
    """At N points its draws are |θĝ + δ √(n/N)|: compared with a null whose draws were shrunk by hand."""
    x = np.random.default_rng(7).normal(0.7, 1.0, size=200)
    options: dict[str, Any] = {"kernel": KERNEL, "tilt": TILT, "rng": 0, "calibration": BoundaryBootstrap(499)}
    result = sb.ksd_test(x, sb.models.Gaussian(), radius=0.15, **options)
    null = result._evidence.null
    size = credibility_size(null, 0.09, 0.3, 200, 0.05, 0.15)
    shrink = math.sqrt(200 / size)
    assert isinstance(null, BoundaryNull)
    along, lengths = shrink * null.projections, shrink * null.draws
    reached = np.maximum(lengths, np.sqrt(0.15**2 + 0.3 * along + lengths**2))
    critical = np.sort(reached)[499 - 25]
    assert 0.09 + 0.3 / size == pytest.approx(critical**2, rel=1e-6)


def test_where_the_misfit_is_within_the_radius_no_size_is_enough() -> None:
    null = BootstrapNull(np.linspace(0.01, 0.2, 999))
    assert credibility_size(null, 0.01, 0.5, 100, 0.05, radius=0.1) == math.inf
    assert credibility_size(null, -0.01, 0.5, 100, 0.05) == math.inf


def test_a_larger_misfit_takes_fewer_points() -> None:
    null = BootstrapNull(np.linspace(0.01, 0.2, 999))
    sizes = [credibility_size(null, d * d, 0.2, 200, 0.05, 0.05) for d in (0.06, 0.1, 0.2, 0.4)]
    assert sizes == sorted(sizes, reverse=True)


def credible(x: Vector, radius: float, calibration: Any) -> Credibility:
    options: dict[str, Any] = {"kernel": KERNEL, "tilt": TILT, "rng": 0, "calibration": calibration}
    result = sb.ksd_test(x, sb.models.Gaussian(), radius=radius, **options)
    evidence = result._evidence
    interval = result.interval(0.05)
    return credibility(evidence.null, evidence.summary, interval, 0.05, radius)


def test_the_range_of_a_credibility_size_comes_from_the_interval() -> None:
    found = credible(np.random.default_rng(8).normal(0.5, 1.0, size=400), 0.0, sb.WeightedBootstrap(199))
    assert found.low < found.size < found.high < math.inf
    assert found.n == 400
    assert f"{found.n}" in found.summary()
    clean = credible(np.random.default_rng(9).normal(size=400), 0.1, sb.WeightedBootstrap(199))
    assert clean.size == clean.high == math.inf
    assert "within the tolerance; no sample size would reliably detect it" in " ".join(str(clean).split())


@pytest.mark.calibration
@pytest.mark.parametrize(
    ("radius", "calibration"), [(0.0, sb.WeightedBootstrap(199)), (0.1, BoundaryBootstrap(199))], ids=repr
)
def test_at_the_credibility_size_every_second_sample_is_rejected(radius: float, calibration: Any) -> None:
    """N(0.5, 1) against N(0, 1): the median of seven estimates from 800 points each, 200 fresh samples of that size.
    Band for a share of ½ (± .11, three standard errors) and an estimate that is itself off by a tenth: [.37, .63]."""
    rng = np.random.default_rng(10)
    size = round(np.median([credible(rng.normal(0.5, 1.0, size=800), radius, calibration).size for _ in range(7)]))
    assert 10 < size < 200
    options: dict[str, Any] = {"kernel": KERNEL, "tilt": TILT, "rng": rng, "calibration": calibration}
    runs = [sb.ksd_test(rng.normal(0.5, 1.0, size=size), lambda x: -x, radius=radius, **options) for _ in range(200)]
    assert 0.37 <= np.mean([r.rejected for r in runs]) <= 0.63


# What must not be said.


def test_where_what_matters_is_rare_the_upper_bound_is_hoeffdings() -> None:
    model = sb.models.GaussianMixture([0.5, 0.5], [-20.0, 20.0])
    with pytest.warns(sb.cautions.SeparatedModesWarning):
        result = sb.robust_ksd_test(model.sample(100, rng=0), model, 0.05, rng=0)
    assert result.upper_bound == pytest.approx(hoeffding(result.ksd, result.tau, 100, 0.05))
    assert result.interval()[1] == pytest.approx(hoeffding(result.ksd, result.tau, 100, 0.025))
    assert "Hoeffding's inequality" in result.summary(details=True)
    usual = sb.robust_ksd_test(np.random.default_rng(0).normal(size=100), sb.models.Gaussian(), 0.05, rng=0)
    assert usual.upper_bound < hoeffding(usual.ksd, usual.tau, 100, 0.05)
    assert "Hoeffding" not in usual.summary(details=True)


@pytest.mark.calibration
def test_hoeffdings_bound_covers_mass_between_the_modes_that_the_sample_misses() -> None:
    model, share, n = sb.models.GaussianMixture([0.5, 0.5], [-20.0, 20.0]), 0.01, 100
    kernel, tilt = sb.InverseMultiquadric(4.0), sb.PolynomialTilt(scale=20.0)
    problem = pose(model.sample(2, rng=0), model, kernel, tilt)
    truth, missed = share * math.sqrt(float(problem.diagonal_at(np.array([[0.5]]))[0])), 0
    for k in range(40):
        generator = np.random.default_rng([3, k])
        x = model.sample(n, rng=generator)
        x[generator.random(n) < share] = 0.5
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", sb.SteinballWarning)
            missed += sb.ksd_test(x, model, kernel=kernel, tilt=tilt, tau="auto", rng=k).upper_bound < truth
    assert missed == 0, "the draws' own bound misses about a third of the time"


def test_good_enough_is_withheld_where_the_score_cannot_see_the_weights() -> None:
    model = sb.models.GaussianMixture([0.5, 0.5], [-6.0, 6.0])
    x = sb.models.GaussianMixture([0.95, 0.05], [-6.0, 6.0]).sample(500, rng=0)
    with pytest.warns(sb.cautions.SeparatedModesWarning):
        result = sb.robust_ksd_test(x, model, 0.1, rng=0, standardize=False)
    assert result.upper_bound <= result.radius
    assert result.verdict == "undecided"
    assert "does not know the weights of its separated modes" in " ".join(result.summary(details=True).split())
    assert result.at(contamination=0.2).verdict == "undecided"


def test_good_enough_is_worded_as_a_distance() -> None:
    x = np.random.default_rng(0).normal(size=2000)
    result = sb.robust_ksd_test(x, sb.models.Gaussian(), 0.1, rng=0)
    assert result.verdict == "close in KSD"
    words = " ".join(result.summary(details=True).split())
    assert "no further from the model than 10 % of contamination could put it; more of it may be contaminated" in words
    assert "no further from the model than is tolerated" in " ".join(
        result.at(radius=0.2).summary(details=True).split()
    )


def test_the_upper_bound_along_a_direction_has_the_standard_error_of_the_draws() -> None:
    """Where D_b = σ|Z|, D_b² has standard deviation √2 σ²: the bound is D + 1.645 σ, and not D."""
    draws = 0.3 * np.abs(np.random.default_rng(0).normal(size=200_000))
    for bound in (upper_bound_direction(2.0, draws, 0.05), upper_bound_direction(2.0, draws, 0.05, draws)):
        assert bound == pytest.approx(2.0 + 1.6449 * 0.3, rel=2e-3)


@pytest.mark.exact
def test_what_a_normal_number_exceeds_is_its_quantile() -> None:
    levels = [1e-12, 1e-3, 0.05, 0.3, 0.5, 0.8, 0.999]
    np.testing.assert_allclose([normal_excess(level) for level in levels], -ndtri(levels), rtol=1e-12, atol=1e-12)
    assert normal_excess(1e-20) == math.inf
