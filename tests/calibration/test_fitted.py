"""Calibrations for fitted models are for those alone."""

from __future__ import annotations

import numpy as np
import pytest

import steinball as sb

pytestmark = pytest.mark.exact


@pytest.mark.parametrize("calibration", [sb.ProjectedBootstrap(99), sb.RefitBootstrap(99)], ids=["projected", "refit"])
def test_a_known_model_is_not_tested_by_them(calibration: sb.calibration.Calibration) -> None:
    with pytest.raises(TypeError, match="is for models that were fitted on the tested data"):
        sb.ksd_test(np.arange(5.0), sb.models.Gaussian(), calibration=calibration, rng=0)
    result = sb.ksd_test(np.arange(5.0), sb.models.Gaussian(), rng=0)
    with pytest.raises(TypeError, match=r"use|Use `sb.fit_test"):
        result.at(calibration=calibration)
    assert "99" in repr(calibration)
