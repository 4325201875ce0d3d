"""Tasks through Dask's own futures: workers die at placed moments, and a run ends with the answer or with an error.

Every run has a watchdog, so that one that hangs is a failure. ``make kill-workers N=…`` tries many more moments.
"""

from __future__ import annotations

import importlib
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import joblib
import numpy as np
import pytest

from steinball.gram import workers
from steinball.gram.workers import available_jobs, run_on_dask, run_tasks, workers_configured
from tests.gram.kill_workers import (
    MOMENTS,
    VICTIMS,
    Placement,
    Strike,
    local_cluster,
    outcome,
    placements,
    run_test,
    sample,
    within,
)

distributed: Any = pytest.importorskip("distributed", reason="needs Dask: install the extra `cluster`")

pytestmark = [
    pytest.mark.exact,
    # What a cluster says while it starts, loses a worker or stops is its own affair.
    pytest.mark.filterwarnings("default::ResourceWarning", "default::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("default::DeprecationWarning", "default::FutureWarning", "default::UserWarning"),
]


@pytest.fixture(scope="module")
def processes() -> Iterator[Any]:
    with local_cluster(2) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def serial() -> Any:
    return run_test(sample(), n_jobs=1)


AROUND_THE_DATA: list[Placement] = [
    (Strike("before the data", 0, "all"),),
    (Strike("after the data", 0, "all", 0.05),),
    (Strike("during a task", 0, "holder", 0.001),),
    (Strike("after a task", 0, "holder"), Strike("after a task", 3, "all")),
    (Strike("during a task", 2, "holder", 0.005),),
    (Strike("after a task", 1, "holder"),),
]


@pytest.mark.parametrize("placement", AROUND_THE_DATA, ids=lambda strikes: "; ".join(map(str, strikes)))
def test_a_worker_that_dies_around_the_data_changes_nothing(processes: Any, serial: Any, placement: Placement) -> None:
    ending, deaths = outcome(processes, placement, sample(), serial)
    assert ending == "right"
    assert len(deaths.killed) >= len(placement)


def test_the_long_series_has_every_moment_and_victim_and_is_seeded() -> None:
    series = placements(100, seed=3)
    assert len(series) == 100
    assert series == placements(100, seed=3) != placements(100, seed=4)
    assert {(strike.moment, strike.victim) for (strike, *_) in series} == {(m, v) for m in MOMENTS for v in VICTIMS}


def test_a_task_that_kills_its_workers_is_an_error(processes: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is tried a second time, since Dask also suspects tasks that only stood in the line of a dead worker."""
    monkeypatch.setattr(processes.scheduler, "allowed_failures", 0)
    with distributed.Client(processes) as client:
        tasks = run_on_dask(client, signal.raise_signal, (), [signal.SIGKILL])
        with pytest.raises(distributed.KilledWorker):
            within(60.0, lambda: list(tasks))


def test_a_run_that_ends_early_does_not_disturb_another_one_of_the_same_client(processes: Any) -> None:
    """Dask fetches the results of both in one request."""
    with distributed.Client(processes) as client, ThreadPoolExecutor(1) as pool:
        sizes = [200_000] * 40
        other = pool.submit(within, 60.0, lambda: [len(result) for result in run_on_dask(client, np.ones, (), sizes)])
        while not other.done():
            ends_early = run_on_dask(client, np.ones, (), sizes)
            assert len(within(60.0, ends_early.__next__)) == 200_000
            ends_early.close()
        assert other.result() == sizes


def test_a_cluster_that_loses_all_its_workers_for_good_is_an_error() -> None:
    """Their nannies would start them again: a little time is left to them."""
    dask: Any = importlib.import_module("dask")
    with local_cluster(1) as cluster, distributed.Client(cluster) as client:
        results = run_on_dask(client, np.add, (np.ones(1000),), range(50))
        np.testing.assert_array_equal(within(60.0, lambda: next(results)), np.ones(1000))
        for nanny in cluster.workers.values():
            nanny.close_gracefully()  # it does not start another
            os.kill(nanny.pid, signal.SIGKILL)
        ends_soon = dask.config.set({"distributed.deploy.lost-worker-timeout": "1.5s"})
        with ends_soon, pytest.raises(TimeoutError, match=r"\d+ of 50 tasks are done, and it has 0 workers"):
            within(60.0, lambda: list(results))


# From here on the workers are threads of this process, and functions of this file see what the tests see.


@pytest.fixture
def threads() -> Iterator[Any]:
    CALLS.clear()
    GO_ON.clear()
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=False, dashboard_address=":0", silence_logs=60
    ) as cluster:
        yield cluster


@pytest.fixture
def client(threads: Any) -> Iterator[Any]:
    with distributed.Client(threads) as client:
        yield client


CALLS: list[int] = []
GO_ON = threading.Event()


def record(task: int) -> int:
    CALLS.append(task)
    return task


def wait_for_go(task: int) -> int:
    if task >= 20:
        assert GO_ON.wait(30.0)
    return record(task)


def last_of(*arguments: Any) -> Any:
    time.sleep(0.05)
    return arguments[-1]


def first_is_slow(task: int) -> int:
    time.sleep(0.4 if task else 4.0)
    return task


def take_a_while(task: int) -> int:
    time.sleep(0.7)
    return task


def fail_at_three(task: int) -> int:
    if record(task) == 3:
        raise ArithmeticError("task 3")
    return task


def place(task: int) -> tuple[str, int, bool]:
    return distributed.get_worker().address, available_jobs(None), workers_configured()


def nested(task: int) -> list[int]:
    with joblib.parallel_config(backend="dask"):
        return list(run_tasks(thread_of, (), range(4), None))


def thread_of(task: int) -> int:
    return threading.get_ident()


def eventually(condition: Callable[[], bool]) -> bool:
    for _ in range(300):
        if condition():
            return True
        time.sleep(0.05)
    return False


def test_results_come_in_order_and_as_they_finish(client: Any) -> None:
    """The first is there while the last still waits for it: a progress bar moves."""
    results = []
    for result in run_on_dask(client, wait_for_go, (), range(25)):
        results.append(result)
        GO_ON.set()
    assert results == list(range(25))


def test_a_task_that_never_ends_is_an_error(client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "NO_PROGRESS_LIMIT", 1.0)
    with pytest.raises(TimeoutError, match="20 of 30 tasks are done, and it has 2 workers"):
        within(30.0, lambda: list(run_on_dask(client, wait_for_go, (), range(30))))
    GO_ON.set()


@pytest.mark.parametrize("data", [(), (np.ones(1000),)], ids=["tasks", "data"])
def test_the_death_of_the_only_worker_is_an_error_soon(data: tuple[Any, ...]) -> None:
    """Ten minutes in silence are the limit for tasks that are slow."""
    CALLS.clear()
    with (
        distributed.LocalCluster(1, threads_per_worker=1, processes=False, dashboard_address=":0") as cluster,
        distributed.Client(cluster) as client,
    ):
        results = run_on_dask(client, last_of, data, range(30))
        assert next(results) == 0
        cluster.scale(0)
        ends_soon = importlib.import_module("dask").config.set({"distributed.deploy.lost-worker-timeout": "1s"})
        with ends_soon, pytest.raises(TimeoutError, match=r"\d+ of 30 tasks are done, and it has 0 workers"):
            within(20.0, lambda: list(results))


def test_a_worker_that_is_still_to_come_is_waited_for() -> None:
    with (
        distributed.LocalCluster(0, threads_per_worker=1, processes=False, dashboard_address=":0") as cluster,
        distributed.Client(cluster) as client,
    ):
        timer = threading.Timer(1.5, cluster.scale, (1,))
        timer.start()
        assert within(30.0, lambda: list(run_on_dask(client, last_of, (np.ones(1000),), range(5)))) == list(range(5))
        timer.join()


def test_a_cluster_that_adapts_to_its_load_starts_a_worker_for_the_data() -> None:
    with (
        distributed.LocalCluster(0, threads_per_worker=1, processes=False, dashboard_address=":0") as cluster,
        distributed.Client(cluster) as client,
    ):
        cluster.adapt(minimum=0, maximum=1, interval="100ms")
        time.sleep(1.0)  # the first worker, which comes without a reason, goes again
        assert eventually(lambda: not client.nthreads())
        assert within(20.0, lambda: list(run_on_dask(client, last_of, (np.ones(1000),), range(5)))) == list(range(5))


def test_any_task_that_finishes_is_progress(client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first takes longer than the limit, while the other worker finishes one after the other."""
    monkeypatch.setattr(workers, "NO_PROGRESS_LIMIT", 2.0)
    assert within(30.0, lambda: list(run_on_dask(client, first_is_slow, (), range(12)))) == list(range(12))


def test_the_time_that_the_caller_takes_does_not_count(client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second task starts when the caller comes back, and is looked at before it ends."""
    monkeypatch.setattr(workers, "NO_PROGRESS_LIMIT", 1.5)
    results = run_on_dask(client, take_a_while, (), range(2))
    assert next(results) == 0
    time.sleep(1.6)
    assert next(results) == 1


def test_a_client_that_is_closed_ends_the_run(threads: Any) -> None:
    client = distributed.Client(threads)
    results = run_on_dask(client, wait_for_go, (), range(30))
    assert next(results) == 0
    client.close()
    GO_ON.set()
    with pytest.raises(Exception, match=r"closed|cancelled"):
        within(30.0, lambda: list(results))


def test_an_error_of_the_function_is_raised_and_not_tried_again(client: Any) -> None:
    with pytest.raises(ArithmeticError, match="task 3"):
        within(30.0, lambda: list(run_on_dask(client, fail_at_three, (), range(6))))
    assert CALLS.count(3) == 1


@pytest.mark.parametrize("ending", ["whole", "early", "error"])
def test_nothing_stays_on_the_cluster(threads: Any, client: Any, ending: str) -> None:
    results = run_on_dask(client, last_of, (np.ones(1000),), range(40))
    if ending == "whole":
        list(results)
    elif ending == "early":
        next(results)
        results.close()
    else:
        results = run_on_dask(client, max, (np.ones(1000),), range(40))  # the truth of an array is ambiguous
        with pytest.raises(ValueError, match="ambiguous"):
            next(results)
    del results
    assert eventually(lambda: not threads.scheduler.tasks)


def test_joblibs_options_for_submitting_are_kept(client: Any) -> None:
    address = max(client.nthreads())
    with joblib.parallel_config(backend="dask", workers=[address]):
        assert {where for where, _, _ in run_tasks(place, (), range(8), None)} == {address}


def test_a_task_sees_no_cluster_and_runs_its_own_tasks_one_after_the_other(client: Any) -> None:
    with joblib.parallel_config(backend="dask"):
        assert {seen[1:] for seen in run_tasks(place, (), range(8), None)} == {(1, False)}
        assert [len(set(threads)) for threads in run_tasks(nested, (), range(3), None)] == [1, 1, 1]
