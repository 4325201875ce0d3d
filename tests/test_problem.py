"""What a test is posed with: kernel and tilt from the data or, where it must not look ahead, from the model."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import steinball as sb

pytestmark = pytest.mark.exact


GAUSSIAN = sb.models.Gaussian()


X = np.random.default_rng(0).normal(size=200)


def test_bets_take_kernel_and_tilt_from_the_model() -> None:
    first, second = (sb.robust_ksd_test(x, GAUSSIAN, calibration=sb.Betting()) for x in (X, 5.0 + 3.0 * X))
    assert first.kernel == second.kernel
    assert first.tilt == second.tilt
    assert sb.robust_ksd_test(5.0 + 3.0 * X, GAUSSIAN, rng=0).kernel != first.kernel


def test_without_a_sampler_the_user_must_give_them() -> None:
    options: dict[str, Any] = {"calibration": sb.Betting(), "tau": 5.0}
    with pytest.raises(ValueError, match="must not choose its kernel"):
        sb.robust_ksd_test(X, lambda x: -x, **options)
    with pytest.raises(ValueError, match="must not choose its tilt"):
        sb.robust_ksd_test(X, lambda x: -x, kernel=sb.InverseMultiquadric(1.0), **options)
    given: dict[str, Any] = {"kernel": sb.InverseMultiquadric(1.0), "tilt": sb.PolynomialTilt()}
    assert sb.robust_ksd_test(X, lambda x: -x, **given, **options).tau_kind == "given"
