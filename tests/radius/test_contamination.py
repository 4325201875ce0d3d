"""Shares of the data: contamination, and total variation."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy import stats

import steinball as sb
from steinball import radius as r
from steinball.problem import Problem, pose
from steinball.stein import SteinKernel
from steinball.tau.certificate import Supremum
from steinball.tau.isotropic import IsotropicCase, diameter

pytestmark = [pytest.mark.exact, pytest.mark.filterwarnings("ignore::steinball.cautions.RemovalWarning")]

X = np.random.default_rng(11).normal(size=200)
TILT = sb.PolynomialTilt(0.5)
FEW = sb.WeightedBootstrap(19)


def gaussian(x: Any) -> Any:
    return -x


def run(x: Any, model: Any, **options: Any) -> sb.GofResult:
    return sb.ksd_test(x, model, calibration=FEW, rng=0, **options)


@pytest.mark.parametrize("share", [0.0, 0.05, 1.0])
def test_huber_is_the_share_times_the_root_of_tau(share: float) -> None:
    result = run(X, gaussian, tilt=TILT, radius=sb.Huber(share), tau=2.5)
    assert result.radius == pytest.approx(share * math.sqrt(2.5), rel=1e-15)
    assert result.contamination == share


@pytest.mark.parametrize("share", [-0.01, 1.01, math.nan, math.inf])
def test_a_share_outside_the_unit_interval_is_refused(share: float) -> None:
    for call in (
        lambda: sb.Huber(share),
        lambda: sb.robust_ksd_test(X, gaussian, share),
        lambda: run(X, gaussian, tilt=TILT).at(contamination=share),
    ):
        with pytest.raises(ValueError, match=r"`contamination` must be a finite number in \[0, 1\]"):
            call()


def test_the_huber_ball_is_tight_where_u_is_largest() -> None:
    """D((1 − ε)P + ε δ_z, P) = ε √u(z, z), here with P by Gauss–Hermite quadrature and z where u is largest."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(120)
    weights = weights / weights.sum()
    z, share = 1.1091161285491298, 0.3
    points = np.append(nodes, z)[:, None]
    mass = np.append((1 - share) * weights, share)
    u = SteinKernel(sb.InverseMultiquadric(math.sqrt(2.0)), TILT)(points, -points, points, -points)
    theta = run(X, gaussian, tilt=TILT, kernel=sb.InverseMultiquadric(math.sqrt(2.0)), tau="optimized").at(
        contamination=share
    )
    assert math.sqrt(mass @ u @ mass) == pytest.approx(theta.radius, rel=1e-8)


PLANE = np.random.default_rng(5).normal(size=(60, 2))
TAU = Supremum(2.25, "given")


def problem(model: Any = None, kernel: Any = None, tilt: Any = TILT, x: Any = PLANE) -> Problem:
    return pose(x, (lambda x: -x) if model is None else model, kernel or sb.InverseMultiquadric(1.3), tilt)


def test_a_large_divergence_is_bounded_by_bretagnolle_and_huber() -> None:
    """Between the nats where Pinsker stops being the better one (1.59) and where √τ does (0.29) there is nothing."""
    assert r.KullbackLeibler(0.25)(problem(), TAU) == pytest.approx(3 * math.sqrt(0.125))
    case = problem(sb.models.Gaussian(dimension=2), sb.InverseMultiquadric(0.3), TILT)
    tau = Supremum(float(IsotropicCase.of(case).diagonal()(1.0)), "closed form")  # type: ignore[union-attr]
    delta = diameter(case, tau)
    assert r.KullbackLeibler(3.0)(case, tau) == pytest.approx(min(delta * math.sqrt(1 - math.exp(-3)), tau.value**0.5))


def test_the_operator_norm_is_an_upper_confidence_value_from_draws_of_the_model() -> None:
    """Against quadrature: the largest eigenvalue of √p U √p on a fine grid. 40 sets of 200 draws, at confidence .9."""
    model, kernel = sb.models.Gaussian(), sb.InverseMultiquadric(1.3)
    x = np.linspace(-7, 7, 281)[:, None]
    p = stats.norm.pdf(x[:, 0])
    root = np.sqrt(p / p.sum())
    exact = np.linalg.eigvalsh(root[:, None] * pose(x, model, kernel, TILT).stein(x, -x, x, -x) * root)[-1]
    here, tau = problem(model, kernel, x=PLANE[:, :1]), Supremum(1.45, "given")
    found = [
        r.ChiSquared(0.1, draws=model.sample(200, seed), confidence=0.9).operator_norm(here, tau) for seed in range(40)
    ]
    assert len(set(found)) == 40
    assert np.mean(np.array(found) < exact) <= 0.1  # the bound has room: expected far below .1
    assert np.mean(found) < 1.3 * exact
    assert exact < r.ChiSquared(0.1).operator_norm(here, tau) < 1.12 * exact
    assert r.ChiSquared(0.1)(here, tau) == r.ChiSquared(0.1)(here, tau)


def test_the_data_do_not_enter_the_operator_norm() -> None:
    model = sb.models.Gaussian()
    first, second = (problem(model, x=x) for x in (PLANE[:, :1], 100.0 + PLANE[:, :1]))
    assert r.ChiSquared(0.1)(first, TAU) == pytest.approx(r.ChiSquared(0.1)(second, TAU), rel=1e-9)


def test_the_score_error_grows_with_the_kernel() -> None:
    assert r.ScoreError(0.2)(problem(kernel=4.0 * sb.InverseMultiquadric(1.0)), TAU) == pytest.approx(0.4)


def test_rounding_is_half_a_cell_diagonal() -> None:
    assert r.Wasserstein.rounding(0.5, 4).distance == 0.5
    rng = np.random.default_rng(0)
    x = rng.normal(size=(500, 4))
    assert np.linalg.norm(np.round(x / 0.5) * 0.5 - x, axis=1).max() <= 0.5
