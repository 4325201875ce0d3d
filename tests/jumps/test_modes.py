"""Modes are found from the model alone, and give every point its cell."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from scipy import stats

import steinball as sb
from steinball.jumps import Jumps, ModeJumps, Modes, find_modes
from steinball.jumps.modes import is_multimodal
from steinball.models import Gaussian, GaussianMixture, StudentT

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


SEED = np.random.SeedSequence(5)


def test_whatever_has_a_move_is_one() -> None:
    assert isinstance(ModeJumps([-1.0, 1.0]), Jumps)
    assert not isinstance(GaussianMixture([1.0], [0.0]), Jumps)


def test_a_ksd_ball_is_not_closed() -> None:
    """Wrong weights of far modes have a KSD of about 0, and after a move they do not: to refuse it is no caution."""
    model, data = GaussianMixture([0.5, 0.5], [-8.0, 8.0]), GaussianMixture([0.9, 0.1], [-8.0, 8.0])
    x, kernel = data.sample(1500, rng=0), sb.kernels.InverseMultiquadric(1.0)
    before = sb.ksd(x, model, kernel=kernel, estimator="u")
    after = sb.ksd(ModeJumps.from_model(model).move(x, model, SEED), model, kernel=kernel, estimator="u")
    assert before < 0.05
    assert after > 0.15


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
