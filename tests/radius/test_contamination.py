"""Shares of the data: contamination, and total variation."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import steinball as sb
from steinball.stein import SteinKernel

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
