"""Modes are found from the model alone, and give every point its cell."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from scipy import stats

import steinball as sb
from steinball.jumps import Modes, find_modes
from steinball.models import GaussianMixture, StudentT

pytestmark = pytest.mark.exact


@dataclass(frozen=True)
class Bare:
    """A model with a score and nothing else."""

    score: Callable[[Any], Any]


def test_modes_of_a_mixture_are_the_maxima_of_its_density() -> None:
    model = GaussianMixture([0.2, 0.2, 0.3, 0.3], [[0.0, 0.0], [0.8, 0.0], [9.0, 0.0], [0.0, 9.0]])
    modes = find_modes(model)
    assert len(modes) == 3  # the first two components make one hill
    assert np.abs(model.score(modes.locations)).max() < 1e-4
    far = modes.locations[np.argmax(modes.locations[:, 0])]
    assert np.allclose(far, [9.0, 0.0], atol=1e-6)
    assert np.allclose(modes.covariances[modes.cells(far[None])[0]], np.eye(2), atol=1e-4)


def test_modes_are_found_from_draws_or_from_given_starts() -> None:
    def log_density(x: Any) -> Any:
        return -((x[:, 0] ** 2 - 16.0) ** 2) / 64.0 - x[:, 1] ** 2 / 2.0

    model = sb.from_log_density(log_density, backend="numerical")
    modes = find_modes(model, starts=np.random.default_rng(0).normal(scale=4.0, size=(12, 2)))
    assert np.allclose(np.sort(modes.locations[:, 0]), [-4.0, 4.0], atol=1e-4)
    assert np.allclose(modes.covariances, np.diag([0.5, 1.0]), atol=1e-3)  # −∂² log p = 8·16/64 = 2 and 1
    assert np.allclose(find_modes(StudentT(3.0)).locations, 0.0, atol=1e-4)
    with pytest.raises(TypeError, match=r"has no `sample\(n, rng\)`\. Pass `starts`"):
        find_modes(model)
    with pytest.raises(TypeError, match=r"climbs `model\.log_density`, which this model does not have"):
        find_modes(Bare(lambda x: -x), starts=[0.0, 1.0])


def test_the_climb_starts_where_a_model_says_that_its_mass_is() -> None:
    """From declared modes, without a sampler; components of weight 0 are no starts."""

    class Declared:
        modes = Modes([-3.0, 5.0])
        log_density = staticmethod(GaussianMixture([0.5, 0.5], [-4.0, 4.0]).log_density)
        score = staticmethod(GaussianMixture([0.5, 0.5], [-4.0, 4.0]).score)

    assert np.allclose(find_modes(Declared()).locations, [[-4.0], [4.0]], atol=1e-4)
    assert len(find_modes(GaussianMixture([1.0, 0.0], [-4.0, 4.0]))) == 1


def test_a_wide_mode_reaches_farther_and_its_bulk_is_its_own() -> None:
    modes = Modes([0.0, 10.0], np.array([1.0, 16.0]).reshape(2, 1, 1))
    x = np.linspace(-20.0, 40.0, 601)[:, None]
    heights = [stats.norm.logpdf(x[:, 0], 0.0, 1.0), stats.norm.logpdf(x[:, 0], 10.0, 4.0)]
    assert np.array_equal(modes.cells(x), np.argmax(heights, axis=0))
    z = modes.coordinates(x, modes.cells(x))
    assert np.allclose(modes.places(z, modes.cells(x)), x)
