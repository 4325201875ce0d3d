"""A real cluster of worker processes: tiles run on them, data travel once, and a dead worker changes nothing."""

from __future__ import annotations

import importlib
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import joblib
import numpy as np
import pytest
from numpy.typing import NDArray
from threadpoolctl import threadpool_info

import steinball as sb
from steinball.calibration import WeightedBootstrap
from steinball.gram.workers import available_jobs, run_tasks

pytestmark = [
    pytest.mark.exact,
    # What a cluster says while it starts, loses a worker or stops is its own affair.
    pytest.mark.filterwarnings("default::ResourceWarning", "default::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("default::DeprecationWarning", "default::FutureWarning", "default::UserWarning"),
]
Floats = NDArray[np.float64]

WORKERS = 3


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """Three worker processes, each watched over by a nanny that starts it again when it dies."""
    distributed: Any = pytest.importorskip("distributed", reason="needs Dask: install the extra `cluster`")
    with distributed.LocalCluster(
        n_workers=WORKERS, threads_per_worker=1, processes=True, dashboard_address=":0", silence_logs=50
    ) as cluster:
        yield cluster


@pytest.fixture
def client(cluster: Any) -> Iterator[Any]:
    distributed: Any = importlib.import_module("distributed")
    with distributed.Client(cluster) as client:
        client.wait_for_workers(WORKERS, timeout=30)
        client.run(__import__, "steinball")  # so that no worker is late for its first task
        yield client


class Watch:
    """Listens to the scheduler: which worker finished which strip, who left; ``react`` is told of every step."""

    def __init__(self, cluster: Any, react: Callable[[Watch, str, str, str], None] | None = None) -> None:
        base: Any = importlib.import_module("distributed").SchedulerPlugin
        self.finished: list[str] = []
        self.data_made = 0
        self.gone: list[str] = []
        self.scheduler = cluster.scheduler
        watch = self

        class Plugin(base):  # type: ignore[misc]
            name = "watch"

            def transition(self, key: Any, start: str, finish: str, *args: Any, **options: Any) -> None:
                if "strip_task" not in str(key):
                    return
                made = start == "processing" and finish == "memory"
                if str(key).startswith("data"):
                    watch.data_made += made
                    return
                if made:
                    watch.finished.append(str(options["worker"]))
                if react is not None:
                    react(watch, str(key), start, finish)

            def remove_worker(self, scheduler: Any, worker: str, **options: Any) -> None:
                watch.gone.append(worker)

        self._plugin = Plugin()

    def __enter__(self) -> Watch:
        self.scheduler.add_plugin(self._plugin)
        return self

    def __exit__(self, *args: Any) -> None:
        self.scheduler.remove_plugin(name="watch")


def sample_of(n: int, d: int = 3) -> Floats:
    return np.random.default_rng(n).normal(size=(n, d))


def run(x: Floats, n_jobs: int | None = None) -> Any:
    """The model is a plain array of scores, so that nothing but arrays needs to travel."""
    return sb.ksd_test(
        x, sb.from_scores(-x), engine="blocked", rng=0, calibration=WeightedBootstrap(499), n_jobs=n_jobs
    )


def assert_same(result: Any, serial: Any) -> None:
    """To the last digit or two: where an array lies in a worker's memory decides how its products are added up."""
    assert result.pvalue == serial.pvalue
    assert result.squared_ksd == pytest.approx(serial.squared_ksd, rel=1e-12)
    np.testing.assert_allclose(result.draws, serial.draws, rtol=1e-12)
    np.testing.assert_allclose(result.contributions, serial.contributions, rtol=1e-10, atol=1e-14)


@pytest.mark.parametrize("n", [2500, 4000])
def test_tiles_run_on_several_worker_processes_and_the_answer_is_the_serial_one(
    cluster: Any, client: Any, n: int
) -> None:
    x = sample_of(n)
    processes = client.run(os.getpid)
    assert len({os.getpid(), *processes.values()}) == WORKERS + 1
    with Watch(cluster) as watch, joblib.parallel_config(backend="dask"):
        result = run(x)
    assert len(watch.finished) > 1
    assert len({processes[address] for address in watch.finished}) >= 2
    assert_same(result, run(x, n_jobs=1))


def test_data_travel_once(cluster: Any, client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Samples, scores and weights: once each, whatever the number of strips; other tasks carry none of them."""
    mapped, real = list[Any](), client.map

    def watched(*args: Any, **options: Any) -> Any:
        mapped.append((args, options))
        return real(*args, **options)

    monkeypatch.setattr(client, "map", watched)
    with Watch(cluster) as watch, joblib.parallel_config(backend="dask"), client.as_current():
        run(sample_of(3000))
    assert watch.data_made == 1
    (_, tasks), options = mapped[0]
    assert {type(task) for task in tasks} == {int}
    assert type(options["common"]).__name__ == "Future"


def _algebra_threads(task: int) -> tuple[int, list[int]]:
    return os.getpid(), [library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"]


def _by_value(function: Any) -> Any:
    """A function of this file as a cluster can take it: its workers cannot import the tests."""
    cloudpickle: Any = importlib.import_module("cloudpickle")
    cloudpickle.register_pickle_by_value(sys.modules[function.__module__])
    return function


def test_linear_algebra_on_a_worker_runs_on_one_thread(client: Any) -> None:
    with joblib.parallel_config(backend="dask"):
        places = list(run_tasks(_by_value(_algebra_threads), (), range(8), None))
    assert os.getpid() not in {process for process, _ in places}
    assert {count for _, counts in places for count in counts} == {1}


def _cell(seed: int) -> tuple[float, int, int]:
    x = np.random.default_rng(seed).normal(size=(300, 2))
    return sb.ksd_test(x, sb.from_scores(-x), engine="blocked", rng=seed).pvalue, os.getpid(), available_jobs(None)


def test_whole_tests_run_on_the_workers_without_cutting_themselves_up(cluster: Any, client: Any) -> None:
    """Cells of an experiment share the cluster among themselves; each is serial on its worker."""
    with Watch(cluster) as watch, joblib.parallel_config(backend="dask"):
        cells = joblib.Parallel()(joblib.delayed(_by_value(_cell))(seed) for seed in range(8))
    assert [pvalue for pvalue, _, _ in cells] == [_cell(seed)[0] for seed in range(8)]
    assert os.getpid() not in {process for _, process, _ in cells}
    assert {jobs for _, _, jobs in cells} == {1}
    assert watch.finished == []  # no strips


def test_a_worker_that_dies_in_the_middle_changes_nothing(cluster: Any, client: Any) -> None:
    """It is killed when it has finished three strips and holds others; they are done again elsewhere."""
    x, processes = sample_of(5000), client.run(os.getpid)
    killed: list[str] = []

    def kill(watch: Watch, key: str, start: str, finish: str) -> None:
        if not killed and len(watch.finished) >= 3:
            killed.append(watch.finished[-1])
            os.kill(processes[killed[0]], signal.SIGKILL)

    with Watch(cluster, kill) as watch, joblib.parallel_config(backend="dask"):
        result = run(x)
        finished, gone = list(watch.finished), list(watch.gone)
    assert gone[:1] == killed
    assert len(finished) > 3
    assert_same(result, run(x, n_jobs=1))
    client.wait_for_workers(WORKERS, timeout=30)


def test_data_that_die_with_their_only_holder_are_made_again(cluster: Any, client: Any) -> None:
    """The moment that the first strip is handed out, before any other worker can have fetched the data."""
    x, processes = sample_of(3001), client.run(os.getpid)
    once = threading.Lock()

    def kill(watch: Watch, key: str, start: str, finish: str) -> None:
        if finish != "processing" or not once.acquire(blocking=False):
            return
        holders = {worker.address for data in watch.scheduler.tasks[key].dependencies for worker in data.who_has}
        os.kill(processes[min(holders)], signal.SIGKILL)

    with Watch(cluster, kill) as watch, joblib.parallel_config(backend="dask"):
        result = run(x)
    assert len(watch.gone) == 1
    assert watch.data_made == 2
    assert_same(result, run(x, n_jobs=1))
    client.wait_for_workers(WORKERS, timeout=30)


def test_an_error_on_a_worker_reaches_the_user(client: Any) -> None:
    x = sample_of(1000)
    scores = -x
    scores[500] = 1e200
    with joblib.parallel_config(backend="dask"), pytest.raises(FloatingPointError, match="overflows"):
        sb.ksd_test(x, sb.from_scores(scores), engine="blocked", rng=0)


@pytest.mark.filterwarnings("ignore")
def test_ray_runs_tiles_too(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("RAY_USAGE_STATS_ENABLED", "0"), ("RAY_AUTH_MODE", "disabled")):
        monkeypatch.setenv(name, value)
    ray: Any = pytest.importorskip("ray", reason="needs Ray")
    register_ray: Any = importlib.import_module("ray.util.joblib").register_ray
    x = sample_of(1500)
    ray.init(num_cpus=WORKERS, include_dashboard=False, log_to_driver=False)
    try:
        register_ray()
        with joblib.parallel_config(backend="ray", n_jobs=-1):
            places = list(run_tasks(_by_value(_algebra_threads), (), range(6), None))
            result = run(x)
    finally:
        ray.shutdown()
    assert os.getpid() not in {process for process, _ in places}
    assert {count for _, counts in places for count in counts} == {1}
    assert_same(result, run(x, n_jobs=1))
