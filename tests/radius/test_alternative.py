"""Like something else: the KSD of a sample or of a model."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import steinball as sb

pytestmark = pytest.mark.exact

X = np.random.default_rng(11).normal(size=200)
TILT = sb.PolynomialTilt(0.5)
FEW = sb.WeightedBootstrap(19)


def gaussian(x: Any) -> Any:
    return -x


def run(x: Any, model: Any, **options: Any) -> sb.GofResult:
    return sb.ksd_test(x, model, calibration=FEW, rng=0, **options)


def u_statistic(x: Any, lengthscale: float) -> float:
    """Mean over i ≠ j of the Stein kernel of w(x)(1 + |x − y|²/ℓ²)^(−½)w(y), N(0, I), w = (1 + |x|²)^(−½).

    Term by term from the definition, with the derivatives of the tilted kernel written out by the product rule.
    """
    n, d = x.shape
    total = 0.0
    for i in range(n):
        for j in range(n):
            if i == j:
                continue
            a, b = x[i], x[j]
            wa, wb = (1 + a @ a) ** -0.5, (1 + b @ b) ** -0.5
            ga, gb = -a * wa**3, -b * wb**3
            q = 1 + (a - b) @ (a - b) / lengthscale**2
            h, h1 = q**-0.5, -(a - b) / lengthscale**2 * q**-1.5  # h and its gradient in a; in b it is −h1
            mixed = d / lengthscale**2 * q**-1.5 - 3 * (a - b) @ (a - b) / lengthscale**4 * q**-2.5
            k = wa * h * wb
            k_a, k_b = (ga * h + wa * h1) * wb, wa * (h * gb - h1 * wb)
            k_ab = ga @ gb * h - ga @ h1 * wb + wa * h1 @ gb + wa * wb * mixed
            total += (a @ b) * k - a @ k_b - b @ k_a + k_ab
    return float(total / (n * (n - 1)))


def test_an_alternative_is_the_root_of_its_u_statistic() -> None:
    """Mean shift in two dimensions, against the double sum from the definition."""
    other = np.random.default_rng(3).normal(size=(25, 2)) + np.array([0.8, 0.0])
    x = X.reshape(-1, 2)
    result = run(x, gaussian, kernel=sb.InverseMultiquadric(1.4), tilt=TILT, radius=sb.Alternative(other))
    assert result.radius == pytest.approx(math.sqrt(u_statistic(other, 1.4)), rel=1e-10)


def test_an_alternative_inside_the_noise_has_radius_zero() -> None:
    other = np.linspace(-1.6, 1.6, 8)[:, None]  # spread too evenly: the U-statistic is negative
    assert u_statistic(other, 1.4) < 0.0
    options: dict[str, Any] = {"kernel": sb.InverseMultiquadric(1.4), "tilt": TILT}
    assert run(X, gaussian, radius=sb.Alternative(other), **options).radius == 0.0


def test_an_alternative_needs_the_score_elsewhere_and_the_same_columns() -> None:
    with pytest.raises(TypeError, match="`Alternative` needs the score at its own samples"):
        run(X, sb.from_scores(-X), radius=sb.Alternative(X + 1.0))
    with pytest.raises(ValueError, match="alternative have 2 columns, the samples tested 1"):
        run(X, gaussian, radius=sb.Alternative(X.reshape(-1, 2)))
    with pytest.raises(ValueError, match="`samples of the alternative` must be finite"):
        sb.Alternative(np.array([1.0, math.nan]))
