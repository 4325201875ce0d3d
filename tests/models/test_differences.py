"""Derivatives by finite differences, and how far they are to be trusted."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from steinball.models.differences import numerical_gradient


@pytest.mark.exact
def test_the_error_of_numerical_gradients_is_honest_when_the_function_is_not_accurate() -> None:
    """Single precision inside, five digits, or noise of 1e-7: digits that are not there are not claimed."""
    x = np.random.default_rng(3).normal(size=(500, 1))
    functions: dict[str, Callable[[Any], Any]] = {
        "single": lambda x: (-0.5 * x[:, 0].astype(np.float32) ** 2 + np.float32(3)).astype(np.float64),
        "digits": lambda x: np.round(-0.5 * x[:, 0] ** 2, 5),
        "noise": lambda x: -0.5 * x[:, 0] ** 2 + 1e-7 * np.sin(1e13 * x[:, 0]),
    }
    for name, function in functions.items():
        gradient, error = numerical_gradient(function, x)
        assert np.all(np.abs(gradient + x) <= 4.0 * error), name
        assert error.max() < 0.05, name
