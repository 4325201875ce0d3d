"""Whole numbers against a density are remarked where their step can be seen."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import steinball as sb
from steinball.models import RoundedDataWarning

pytestmark = pytest.mark.exact

X = np.random.default_rng(0).normal(size=(100, 2))
MODEL = sb.models.Gaussian(dimension=2)


def test_rounded_data_are_remarked_with_the_radius_for_them() -> None:
    with pytest.warns(RoundedDataWarning, match=r"whole numbers.*Wasserstein\.rounding\(1\.0, dimension=2\)"):
        sb.ksd_test(np.round(2.0 * X), MODEL, rng=0)


def test_fine_steps_fractions_and_few_points_are_not() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for x in (np.round(50.0 * X), np.round(X, 1), np.round(2.0 * X)[:20]):
            sb.ksd_test(x, MODEL, rng=0)
