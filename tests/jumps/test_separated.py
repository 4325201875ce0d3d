"""Models whose modes lie far apart are known at once."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from steinball.jumps import Modes, is_multimodal
from steinball.models import Gaussian, GaussianMixture

pytestmark = pytest.mark.exact


def test_models_with_far_modes_are_known_at_once() -> None:
    assert is_multimodal(GaussianMixture([0.5, 0.5], [-6.0, 6.0]))
    assert not is_multimodal(GaussianMixture([0.5, 0.5], [-2.0, 2.0]))
    assert not is_multimodal(GaussianMixture([1.0, 0.0], [-6.0, 6.0]))  # a component of weight 0 is not there
    assert not is_multimodal(GaussianMixture(np.full(9, 1 / 9), 3.0 * np.arange(9)))  # a chain without gaps
    assert is_multimodal(GaussianMixture([0.5, 0.5], [-6.0, 6.0], [16.0, 16.0])) is False
    for variance in (0.25, 4.0):
        for apart, far in ((4.99, False), (5.01, True)):
            scale = variance**0.5
            assert is_multimodal(GaussianMixture([0.5, 0.5], [0.0, apart * scale], variance)) is far
    assert is_multimodal(Gaussian()) is None
    assert is_multimodal(type("Known", (), {"modes": Modes([-6.0, 6.0])})())


def test_nothing_is_searched_and_too_many_components_are_not_compared() -> None:
    class Silent(GaussianMixture):
        def score(self, x: Any) -> Any:
            raise AssertionError("the score was evaluated")

        def sample(self, n: int, rng: Any = None) -> Any:
            raise AssertionError("the model was sampled")

    assert is_multimodal(Silent([0.5, 0.5], [-6.0, 6.0]))
    assert is_multimodal(Silent(np.full(129, 1 / 129), 10.0 * np.arange(129))) is None
