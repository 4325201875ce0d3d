"""The isotropic Gaussian: constants of kernels, and closed forms against a search."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import steinball as sb
from steinball import radius as r
from steinball.features.isotropic import IsotropicCase, kernel_constants
from steinball.features.lipschitz import feature_slopes
from steinball.problem import pose

pytestmark = pytest.mark.exact


@pytest.mark.parametrize("dimension", [1, 2, 7])
@pytest.mark.parametrize(("variance", "scale"), [(1.0, 1.0), (4.0, 2.0), (0.25, 3.0)])
def test_the_closed_form_of_the_lipschitz_constant_is_what_a_search_finds(
    dimension: int, variance: float, scale: float
) -> None:
    """Dense looks along a ray from the mean: everything depends on the distance from it alone."""
    model = sb.models.Gaussian(np.full(dimension, 0.5), variance, dimension=dimension)
    tilt, kernel = sb.PolynomialTilt(0.5, np.full(dimension, 0.5), scale), sb.InverseMultiquadric(0.9)
    here = pose(np.full((2, dimension), 0.5) + np.arange(2)[:, None], model, kernel, tilt)
    direction = np.eye(dimension)[0] if dimension == 1 else np.full(dimension, dimension**-0.5)
    rays = 0.5 + np.concatenate([[0.0], np.geomspace(1e-3, 1e4, 1500)])[:, None] * scale * direction
    found = r.lipschitz_constant(here)
    assert found.kind == "closed form"
    assert feature_slopes(here, rays).max() == pytest.approx(found.value, rel=2e-5)
    case = IsotropicCase.of(here)
    assert case is not None
    assert np.asarray(case.diagonal()(1 / (1 + ((rays - 0.5) ** 2).sum(axis=1) / scale**2))) == pytest.approx(
        here.at(rays).diagonal, rel=1e-9
    )


@pytest.mark.parametrize(
    ("kernel", "second"),
    [
        (sb.InverseMultiquadric(2.0), 0.75 / 16),
        (sb.InverseMultiquadric(0.01, exponent=1.5), 1.5 * 2.5 / 0.01**4),
        (sb.kernels.Gaussian(3.0), 1 / (4 * 81)),
        (sb.kernels.Matern(2.0, 2.5), (5 / 4) ** 2 / 12),
        (sb.kernels.Matern(2.0, 3.5), (7 / 4) ** 2 / 60),
        (sb.kernels.Matern(2.0, 1.5), math.inf),
    ],
)
def test_second_derivatives_of_kernels_at_zero(kernel: Any, second: float) -> None:
    value, first, found = kernel_constants(kernel)
    assert found == pytest.approx(4 * second, rel=2e-7)
    assert value == 1.0
    assert first == pytest.approx(-2 * float(kernel.profile(np.zeros(1))[1][0]))
