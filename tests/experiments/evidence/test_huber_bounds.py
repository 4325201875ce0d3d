"""Bounds by the variance that Huber's model allows: their formulas, their inverses, and the moments from draws."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import steinball as sb
from experiments.evidence.huber_bounds import HuberNull, ModelMoments
from steinball.problem import pose

MOMENTS = ModelMoments(trace=1.1, norm=0.5, failure=1e-3)
KERNEL, POLYNOMIAL, BOUND = sb.InverseMultiquadric(1.0), sb.PolynomialTilt(), 1.6312


def by_hand(kind: str, tau: float, n: int, level: float, radius: float) -> float:
    """The bounds as they stand in docs/theory/deviation.md, written out once more."""
    root, share = math.sqrt(tau), min(1.0, radius / math.sqrt(tau))
    level -= MOMENTS.failure
    trace, norm = ((1 - share) * m + share * tau for m in (MOMENTS.trace, MOMENTS.norm))
    if kind == "bernstein":  # n γ² = 2 log(2/α) (σ² + b γ/3)
        c = 2 * math.log(2 / level) / n
        b = c * (root + radius) / 3
        return (b + math.sqrt(b**2 + 4 * c * trace)) / 2
    mean, x = math.sqrt(trace / n), math.log(1 / level) / n
    return mean + math.sqrt(2 * x * (norm + 2 * (root + radius) * mean)) + (root + radius) * x / 3


@pytest.mark.exact
@pytest.mark.parametrize("kind", ["bernstein", "bousquet"])
@given(tau=st.floats(1.2, 50.0), n=st.integers(2, 10**6), level=st.floats(2e-3, 0.9), share=st.floats(0.0, 0.99))
def test_every_bound_is_its_formula_and_its_pvalue_inverts_it(
    kind: str, tau: float, n: int, level: float, share: float
) -> None:
    null, radius = HuberNull(tau, n, (kind,), MOMENTS), share * math.sqrt(tau)
    threshold = null.threshold(level, radius)
    assert threshold == pytest.approx(by_hand(kind, tau, n, level, radius), rel=1e-9)
    assert null.pvalue(radius + threshold, radius) == pytest.approx(level, rel=1e-5)


@pytest.mark.exact
def test_a_level_below_the_risk_of_the_moments_is_not_reached_by_them() -> None:
    null = HuberNull(1.4, 10**6, ("bernstein", "bousquet"), MOMENTS)
    assert null.threshold(5e-4, 0.0) == math.inf
    assert null.pvalue(1.0, 0.0) == MOMENTS.failure


@pytest.mark.exact
def test_moments_lie_above_those_of_quadrature_and_close_to_them() -> None:
    x = np.linspace(-8, 8, 401)[:, None]
    p = stats.norm.pdf(x[:, 0])
    root = np.sqrt(p / p.sum())
    gram = pose(x, sb.models.Gaussian(), KERNEL, POLYNOMIAL).stein(x, -x, x, -x)
    trace, norm = root**2 @ np.diag(gram), np.linalg.eigvalsh(root[:, None] * gram * root)[-1]
    found = ModelMoments.of(sb.models.Gaussian(), kernel=KERNEL, tilt=POLYNOMIAL, tau=BOUND)
    assert trace < found.trace < 1.05 * trace
    assert norm < found.norm < 1.12 * norm
    assert found.failure == pytest.approx(0.001)


@pytest.mark.exact
@pytest.mark.parametrize("given", [{"trace": -1.0, "norm": 0.1}, {"trace": 1.0, "norm": math.inf}])
def test_moments_are_numbers(given: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="must be a finite number"):
        ModelMoments(**given)
    with pytest.raises(TypeError, match=r"`model` must have `sample\(n, rng\)`, and function has not"):
        ModelMoments.of(lambda x: -x, kernel=KERNEL, tilt=POLYNOMIAL, tau=BOUND)
