"""Tasks on threads and processes: order, failures, how many, and one thread of linear algebra in each."""

from __future__ import annotations

import os
import re
import threading
import time
import warnings
from collections.abc import Iterator
from typing import Any

import joblib
import numpy as np
import pytest
from joblib.parallel import ThreadingBackend
from threadpoolctl import threadpool_info, threadpool_limits

import steinball as sb
from steinball.gram.lowrank import PivotedCholesky
from steinball.gram.workers import available_jobs, run_tasks, share_threads, single_threaded_algebra, workers_configured
from steinball.problem import pose

pytestmark = pytest.mark.exact


def blas_threads() -> list[int]:
    return [library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"]


def add(a: int, b: int, task: int) -> int:
    time.sleep(0.002 * (task % 3))  # tasks finish out of order
    return a + b + task


def where(task: int) -> tuple[int, int, list[int]]:
    """Process, thread and BLAS threads of a task that takes long enough for two workers to be needed."""
    time.sleep(0.05)
    np.ones((50, 50)) @ np.ones((50, 50))
    return os.getpid(), threading.get_ident(), blas_threads()


def version_of(library: dict[str, Any]) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", library["version"] or "")[:3])


@pytest.fixture
def many_blas_threads() -> Iterator[None]:
    """Linear algebra as a user finds it: on several threads."""
    if any(lib["internal_api"] == "openblas" and version_of(lib) < (0, 3, 29) for lib in threadpool_info()):
        pytest.skip("OpenBLAS before 0.3.29 crashes when it is given more threads than there are cores")
    with threadpool_limits(limits=3, user_api="blas"):
        if set(blas_threads()) != {3}:
            pytest.skip("this build of the linear algebra library cannot be given three threads")
        yield


@pytest.mark.parametrize("n_jobs", [1, 2, 3, -1, None])
@pytest.mark.parametrize("count", [0, 1, 2, 25])
def test_results_come_in_the_order_of_the_tasks(n_jobs: int | None, count: int) -> None:
    assert list(run_tasks(add, (10, 20), range(count), n_jobs)) == [30 + k for k in range(count)]
    assert list(share_threads(lambda k: add(10, 20, k), range(count), n_jobs)) == [30 + k for k in range(count)]


class AllAtOnce(ThreadingBackend):  # type: ignore[misc]
    """A backend that hands over all results at the end, as Ray's does."""

    supports_return_generator = False


joblib.register_parallel_backend("all-at-once", AllAtOnce)


@pytest.mark.parametrize("backend", ["threading", "loky", "sequential", "all-at-once"])
def test_every_backend_of_joblib_can_be_configured(backend: str) -> None:
    with joblib.parallel_config(backend=backend, n_jobs=2):
        assert list(run_tasks(add, (10, 20), range(7), None)) == [30 + k for k in range(7)]


def test_results_come_as_they_finish() -> None:
    """The first is there while the last still waits for it."""
    first_was_seen = threading.Event()

    def task(k: int) -> bool:
        return True if k < 4 else first_was_seen.wait(timeout=10.0)

    for seen in run_tasks(task, (), range(5), 2):
        assert seen
        first_was_seen.set()


def test_serial_work_stays_in_the_calling_thread() -> None:
    ((process, thread, _),) = set(map(_hashable, run_tasks(where, (), range(2), 1)))
    assert (process, thread) == (os.getpid(), threading.get_ident())


def _hashable(place: tuple[int, int, list[int]]) -> tuple[int, int, tuple[int, ...]]:
    return place[0], place[1], tuple(place[2])


@pytest.mark.usefixtures("many_blas_threads")
@pytest.mark.parametrize("n_jobs", [2, 3])
def test_threads_do_not_multiply_with_those_of_linear_algebra(n_jobs: int) -> None:
    places = list(run_tasks(where, (), range(6), n_jobs))
    assert len({thread for _, thread, _ in places}) >= 2
    assert {count for _, _, counts in places for count in counts} == {1}
    assert set(blas_threads()) == {3}  # as before


@pytest.mark.usefixtures("many_blas_threads")
def test_processes_do_not_multiply_with_the_threads_of_linear_algebra() -> None:
    cores = int(joblib.cpu_count())
    with joblib.parallel_config(backend="loky", n_jobs=2):
        places = list(run_tasks(where, (), range(6), None))
    assert len({process for process, _, _ in places} - {os.getpid()}) == 2
    assert all(2 * count <= max(2, cores) for _, _, counts in places for count in counts)


@pytest.mark.usefixtures("many_blas_threads")
def test_linear_algebra_gets_its_threads_back_after_failures_and_early_ends() -> None:
    def fails(k: int) -> int:
        if k == 3:
            raise ArithmeticError("task 3")
        return k

    with pytest.raises(ArithmeticError, match="task 3"):
        list(run_tasks(fails, (), range(6), 2))
    assert set(blas_threads()) == {3}
    results = run_tasks(add, (0, 0), range(50), 2)
    assert next(results) == 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # joblib says that it worked in vain
        results.close()  # type: ignore[attr-defined]
    assert set(blas_threads()) == {3}


@pytest.mark.usefixtures("many_blas_threads")
def test_panels_of_the_factor_do_not_oversubscribe(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("steinball.gram.lowrank._ROWS_AT_ONCE", 100)
    problem = pose(np.random.default_rng(0).normal(size=(400, 1)), lambda x: -x)
    seen: set[int] = set()
    original = type(problem.stein).block

    def watched(self: Any, rows: Any, columns: Any) -> Any:
        if threading.current_thread() is not threading.main_thread():
            seen.update(blas_threads())
        return original(self, rows, columns)

    monkeypatch.setattr(type(problem.stein), "block", watched)
    PivotedCholesky(problem, n_jobs=2).grow(1e-2, 400)
    assert seen == {1}


def test_a_failing_task_is_not_tried_again() -> None:
    calls: list[int] = []

    def fails(k: int) -> int:
        calls.append(k)
        raise ValueError(f"task {k}")

    with pytest.raises(ValueError, match="task"):
        list(run_tasks(fails, (), range(2), 2))
    assert len(calls) == len(set(calls))


def test_the_number_of_workers_is_the_users_then_joblibs_then_all_cores() -> None:
    cores = int(joblib.cpu_count())
    assert available_jobs(None) == available_jobs(-1) == cores
    assert available_jobs(3) == 3
    assert not workers_configured()
    with joblib.parallel_config(n_jobs=1):
        assert available_jobs(None) == 1
        assert not workers_configured()
    with joblib.parallel_config(backend="loky", n_jobs=5):
        assert available_jobs(None) == 5
        assert available_jobs(2) == 2
        assert workers_configured()


def _jobs_inside(_: int) -> int:
    return available_jobs(None)


@pytest.mark.parametrize("backend", ["threading", "loky"])
def test_inside_a_worker_there_is_one(backend: str) -> None:
    """A test within a parallel loop of the user's must not start threads of its own."""
    assert set(joblib.Parallel(n_jobs=2, backend=backend)(joblib.delayed(_jobs_inside)(k) for k in range(4))) == {1}


def _pvalue(x: Any) -> float:
    return sb.ksd_test(x, lambda x: -x, rng=0, engine="blocked").pvalue


@pytest.mark.parametrize("backend", ["threading", "loky"])
def test_a_test_inside_a_worker_gives_the_same_answer(backend: str) -> None:
    x = np.random.default_rng(0).normal(size=(400, 2))
    pvalues = joblib.Parallel(n_jobs=2, backend=backend)(joblib.delayed(_pvalue)(x) for _ in range(3))
    assert set(pvalues) == {_pvalue(x)}


@pytest.mark.usefixtures("many_blas_threads")
def test_one_thread_of_linear_algebra_within_and_the_old_number_after() -> None:
    with single_threaded_algebra():
        assert set(blas_threads()) == {1}
    assert set(blas_threads()) == {3}
