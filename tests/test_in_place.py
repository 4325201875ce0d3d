"""Foreign code may write into what it is given: the data of the user stay as they are, and so does the answer."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import steinball as sb
from steinball.models import check_score, from_log_density, from_score

pytestmark = pytest.mark.exact

Function = Any


def in_place(x: Any) -> Any:
    x *= -1.0
    return x


def plain(x: Any) -> Any:
    return -x


def in_place_density(x: Any) -> Any:
    x *= x
    return -0.5 * x.sum(axis=1)


def data(n: int = 60) -> np.ndarray[Any, np.dtype[np.float64]]:
    return np.random.default_rng(0).normal(size=(n, 1))


TESTS = {
    "ksd_test": lambda x, f: sb.ksd_test(x, f, rng=0).pvalue,
    "robust_ksd_test": lambda x, f: sb.robust_ksd_test(x, f, 0.05, rng=0).pvalue,
    "robust_ksdagg_test": lambda x, f: sb.robust_ksdagg_test(x, f, 0.05, rng=0).pvalue,
    "ksdagg_test": lambda x, f: sb.ksdagg_test(x, f, rng=0).pvalue,
    "ksd": lambda x, f: sb.ksd(x, f),
    "optimized": lambda x, f: sb.ksd_test(x, f, tilt="auto", tau="optimized", rng=0).tau,
    "an edge": lambda x, f: sb.robust_ksd_test(np.abs(x), from_score(f, (0, None)), 0.05, rng=0).pvalue,
    "sequential": lambda x, f: (
        sb.SequentialTest(f, kernel=sb.InverseMultiquadric(1.0), tau=20.0, tilt=None, contamination=0.05)
        .update(x)
        .evalue
    ),
}


@pytest.mark.parametrize("name", list(TESTS))
def test_a_score_that_works_in_place_changes_neither_data_nor_answer(name: str) -> None:
    x, kept = data(), data()
    assert TESTS[name](x, in_place) == TESTS[name](x, plain)
    np.testing.assert_array_equal(x, kept)


def test_a_torch_score_that_works_in_place_changes_neither_data_nor_answer() -> None:
    torch = pytest.importorskip("torch")
    x = torch.from_numpy(data())
    assert sb.ksd_test(x, lambda y: y.mul_(-1.0), rng=0).pvalue == sb.ksd_test(x, plain, rng=0).pvalue
    np.testing.assert_array_equal(x.numpy(), data())


def test_the_check_of_a_score_leaves_its_points_alone() -> None:
    x = data(9)
    assert check_score(in_place, x, log_density=in_place_density).ok
    np.testing.assert_array_equal(x, data(9))


@pytest.mark.parametrize("backend", ["numerical"])
def test_a_log_density_that_works_in_place_has_its_own_score(backend: str) -> None:
    x, model = data(9), from_log_density(in_place_density, backend=backend)
    np.testing.assert_allclose(model.score(x), -x, atol=1e-8)
    np.testing.assert_allclose(model.log_density(x), -0.5 * x[:, 0] ** 2)
    np.testing.assert_array_equal(x, data(9))


def test_a_model_that_answers_in_one_buffer_keeps_the_scores_of_the_samples() -> None:
    buffer = np.empty((4096, 1))

    def score(x: Any) -> Any:
        return np.negative(x, out=buffer[: len(x)])

    x = data()
    assert sb.robust_ksd_test(x, score, 0.05, rng=0).ksd == sb.robust_ksd_test(x, plain, 0.05, rng=0).ksd


def test_a_stream_may_use_the_buffer_of_its_batches_again() -> None:
    def run(reused: bool) -> float:
        test = sb.SequentialTest(sb.models.Gaussian(), contamination=0.05, burn_in=30)
        buffer = np.empty((20, 1))
        for part in np.split(data(), 3):
            buffer[:] = part
            test.update(buffer if reused else part.copy())
        return test.evalue

    assert run(True) == run(False)


def test_jumps_that_work_in_place_leave_the_data_alone() -> None:
    class Mirror:
        def move(self, samples: Any, model: Any, seed: Any, /) -> Any:
            samples *= -1.0
            return samples

    x = data()
    sb.robust_ksd_test(x, sb.models.Gaussian(), 0.05, jumps=Mirror(), rng=0)
    np.testing.assert_array_equal(x, data())
