"""Samples of the model: prefix norms of the whole matrix, any range the same whoever asks, one model call at a time."""

from __future__ import annotations

import math
import threading

import numpy as np
import pytest
from numpy.typing import NDArray

import steinball as sb
from steinball.gram.request import Replicates, Request
from steinball.gram.whole import CHUNK, DenseGram, ReplicatedGram, prefix_norms
from steinball.problem import pose

pytestmark = pytest.mark.exact
Floats = NDArray[np.float64]

KERNEL, TILT = sb.InverseMultiquadric(0.95), sb.PolynomialTilt()
X = np.random.default_rng(0).normal(size=12)
SEED = np.random.SeedSequence(7)


@pytest.mark.parametrize("tilt", [None, TILT], ids=["plain", "tilted"])
@pytest.mark.parametrize("tile", [1, 7, 64])
@pytest.mark.parametrize("d", [1, 4])
def test_prefix_norms_are_those_of_the_whole_matrix(tile: int, d: int, tilt: sb.PolynomialTilt | None) -> None:
    x = np.random.default_rng(d).normal(size=(23, d))
    problem = pose(x, sb.models.Gaussian(dimension=d), KERNEL, tilt)
    u = problem.stein.block(problem.points, problem.points)
    truth = [math.sqrt(u[:m, :m].sum()) for m in range(24)]
    found = prefix_norms(problem.stein, problem.points, problem.diagonal, tile)
    np.testing.assert_allclose(found, truth, rtol=1e-10, atol=1e-10)


def norms(start: int, stop: int, jobs: int = 1, model: object = None) -> Floats:
    problem = pose(X, model or sb.models.Gaussian(), KERNEL, TILT)
    request = Request(replicates=Replicates(12, SEED, start, stop))
    found = ReplicatedGram(DenseGram(problem), problem, 8, jobs).summarise(request).prefix_norms
    assert found is not None
    return np.column_stack([found.norms, found.uniforms])


def test_any_range_is_the_same_whoever_asks() -> None:
    whole = norms(0, 3 * CHUNK + 5)
    for start, stop in ((0, 1), (3, CHUNK), (CHUNK - 1, CHUNK + 1), (5, 3 * CHUNK + 5)):
        np.testing.assert_array_equal(norms(start, stop), whole[start:stop])
    np.testing.assert_allclose(norms(0, 3 * CHUNK + 5, jobs=3), whole, rtol=1e-12)


def test_without_a_wish_for_samples_nothing_is_drawn() -> None:
    problem = pose(X, lambda x: -x, KERNEL, TILT)
    assert ReplicatedGram(DenseGram(problem), problem, 8).summarise(Request()).prefix_norms is None


def test_the_model_is_asked_by_one_thread_at_a_time() -> None:
    class Alone:
        busy = threading.Lock()

        def score(self, x: Floats) -> Floats:
            return -x

        def sample(self, n: int, rng: np.random.Generator) -> Floats:
            assert self.busy.acquire(blocking=False), "two threads at once"
            drawn = rng.normal(size=(n, 1))
            self.busy.release()
            return drawn

    np.testing.assert_allclose(norms(0, 80, jobs=4, model=Alone()), norms(0, 80, model=Alone()), rtol=1e-12)


def test_requests_tell_samples_apart() -> None:
    asked = Request(replicates=Replicates(12, SEED, 0, 9))
    assert asked.needs == "samples of the model"
    assert asked.missing(Request(replicates=Replicates(12, np.random.SeedSequence(7), 0, 9))) == ""
    assert asked.missing(Request(replicates=Replicates(12, SEED, 0, 10))) == "samples of the model"
    assert asked.missing(Request()) == ""
    assert len({Replicates(12, SEED, 0, 9), Replicates(12, np.random.SeedSequence(7), 0, 9)}) == 1
