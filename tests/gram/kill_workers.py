"""Kill workers of a Dask cluster at placed moments of a test, and count how the runs end.

    python -m tests.gram.kill_workers 60 --seed 0

Every run must end with the serial answer. The exit code says whether all of them did.
"""

from __future__ import annotations

import argparse
import asyncio
import importlib
import itertools
import os
import signal
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from typing import Any
from unittest import mock

import joblib
import numpy as np
from numpy.typing import NDArray

import steinball as sb
from steinball.calibration import WeightedBootstrap

Floats = NDArray[np.float64]

WORKERS = 3
PATIENCE = 60.0
"""Seconds after which a run counts as hung; an undisturbed one takes less than one."""

MOMENTS = ("before the data", "after the data", "during a task", "after a task")
VICTIMS = ("holder", "other", "all")
"""The worker that gets, has or computes what the moment is about; one of the others; all workers."""


@dataclass(frozen=True)
class Strike:
    """SIGKILL to ``victim`` when ``moment`` comes for the ``count``-th time, from 0.

    The data are a task, too. Around their submission the run goes on ``pause`` seconds later; a task has had ``pause``
    seconds before.
    """

    moment: str
    count: int
    victim: str
    pause: float = 0.0

    def __str__(self) -> str:
        return f"{self.victim} {self.moment} ({self.count}, {1000 * self.pause:.0f} ms)"


Placement = tuple[Strike, ...]


def placements(number: int, seed: int) -> list[Placement]:
    """Every moment with every victim at the first six counts, in random order; then random ones, of up to three.

    The data are submitted once.
    """
    rng = np.random.default_rng(seed)
    grid = [place for place in itertools.product(MOMENTS, range(6), VICTIMS) if "task" in place[0] or not place[1]]
    rng.shuffle(grid)
    single = [(Strike(moment, count, victim, _pause(moment, rng)),) for moment, count, victim in grid]
    return [*single, *(_random_placement(rng) for _ in range(number - len(grid)))][:number]


def _random_placement(rng: np.random.Generator) -> Placement:
    """Several strikes also meet data that are made for the second time."""
    moments = rng.choice(MOMENTS, size=rng.integers(1, 4))
    counts = [int(rng.integers(6)) if "task" in m else 0 for m in moments]
    victims = rng.choice(VICTIMS, size=len(moments))
    return tuple(Strike(str(m), k, str(v), _pause(m, rng)) for m, k, v in zip(moments, counts, victims, strict=True))


def _pause(moment: str, rng: np.random.Generator) -> float:
    """Short where something is under way; else nothing, or long enough for the cluster to notice."""
    if moment == "during a task":
        return float(rng.uniform(0.0, 0.02))
    return float(rng.choice([0.0, 0.05, 0.5]))


class Reaper:
    """Strikes when its moments come. Tasks are watched in the event loop that client and scheduler share."""

    def __init__(self, cluster: Any, placement: Placement) -> None:
        self.cluster, self.placement = cluster, placement
        self.seen: Counter[str] = Counter()
        self.killed: list[str] = []

    def due(self, moment: str) -> list[Strike]:
        count = self.seen[moment]
        self.seen[moment] += 1
        return [strike for strike in self.placement if (strike.moment, strike.count) == (moment, count)]

    def kill(self, victim: str, holder: str | None) -> None:
        processes = {nanny.worker_address: nanny.pid for nanny in self.cluster.workers.values() if nanny.pid}
        others = sorted(processes.keys() - {holder})
        wanted = {"holder": [holder], "other": others[:1], "all": [*processes]}[victim]
        for address in wanted:
            if address in processes:
                os.kill(processes[address], signal.SIGKILL)
                self.killed.append(address)

    @property
    def holder(self) -> str | None:
        """A worker with the data."""
        data = [task for key, task in self.cluster.scheduler.tasks.items() if str(key).startswith("data")]
        return next((worker.address for task in reversed(data) for worker in task.who_has or ()), None)

    def submit(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def watched(*arguments: Any, **options: Any) -> Any:
            self.reach("before the data")
            future = original(*arguments, **options)
            self.reach("after the data")
            return future

        return watched

    def reach(self, moment: str) -> None:
        for strike in self.due(moment):
            self.kill(strike.victim, self.holder)
            time.sleep(strike.pause)

    def transition(self, start: str, finish: str, worker: str | None) -> None:
        loop = asyncio.get_running_loop()
        if finish == "processing":
            for strike in self.due("during a task"):
                loop.call_later(strike.pause, self.kill, strike.victim, worker)
        elif (start, finish) == ("processing", "memory"):
            for strike in self.due("after a task"):
                self.kill(strike.victim, worker)


@contextmanager
def reaper(cluster: Any, placement: Placement) -> Iterator[Reaper]:
    """A reaper that waits for its moments."""
    distributed: Any = importlib.import_module("distributed")
    reaper = Reaper(cluster, placement)

    class Plugin(distributed.SchedulerPlugin):  # type: ignore[misc]
        name = "reaper"

        def transition(self, key: Any, start: str, finish: str, *args: Any, **options: Any) -> None:
            if "strip" in str(key):
                task = cluster.scheduler.tasks.get(key)
                processing = task and task.processing_on and task.processing_on.address
                reaper.transition(start, finish, options.get("worker") or processing)

    with ExitStack() as stack:
        submit = reaper.submit(distributed.Client.submit)
        stack.enter_context(mock.patch.object(distributed.Client, "submit", submit))
        cluster.scheduler.add_plugin(Plugin())
        stack.callback(cluster.scheduler.remove_plugin, name="reaper")
        yield reaper


@contextmanager
def local_cluster(workers: int = WORKERS) -> Iterator[Any]:
    """Worker processes, each watched over by a nanny that starts it again when it dies, however often that is."""
    distributed, dask = importlib.import_module("distributed"), importlib.import_module("dask")
    options = {"threads_per_worker": 1, "processes": True, "dashboard_address": ":0", "silence_logs": 60}
    # Otherwise nannies are given up after 15 s.
    with dask.config.set({"distributed.deploy.lost-worker-timeout": "1 hour"}):
        cluster = distributed.LocalCluster(n_workers=workers, **options)
        try:
            yield cluster
        finally:
            # Nannies of the lowest release may wait for ever for a worker that died; they end with this process.
            with suppress(TimeoutError):
                cluster.close(timeout=30)


def sample(n: int = 1500) -> Floats:
    return np.random.default_rng(n).normal(size=(n, 3))


def run_test(x: Floats, n_jobs: int | None = None) -> Any:
    return sb.ksd_test(
        x, sb.from_scores(-x), engine="blocked", rng=0, calibration=WeightedBootstrap(199), n_jobs=n_jobs
    )


def same(result: Any, serial: Any) -> bool:
    """The same answer to 1e-12."""
    return bool(
        result.pvalue == serial.pvalue
        and np.isclose(result.squared_ksd, serial.squared_ksd, rtol=1e-12, atol=0.0)
        and np.allclose(result.draws, serial.draws, rtol=1e-12, atol=0.0)
    )


def within(seconds: float, function: Callable[[], Any]) -> Any:
    """What the function returns or raises, or ``TimeoutError("hung")`` when it does neither in time."""
    ending: list[tuple[Any, BaseException | None]] = []

    def call() -> None:
        try:
            ending.append((function(), None))
        except BaseException as error:
            ending.append((None, error))

    thread = threading.Thread(target=call, daemon=True)
    thread.start()
    thread.join(seconds)
    if not ending:
        raise TimeoutError("hung")
    result, error = ending[0]
    if error is not None:
        raise error
    return result


def on_cluster(x: Floats) -> Any:
    with joblib.parallel_config(backend="dask"):
        return run_test(x)


def outcome(cluster: Any, placement: Placement, x: Floats, serial: Any) -> tuple[str, Reaper]:
    """How a run under these strikes ends: "right", "wrong", "hung", or the error."""
    distributed: Any = importlib.import_module("distributed")
    with distributed.Client(cluster) as client:
        client.wait_for_workers(len(cluster.worker_spec), timeout=PATIENCE)
        client.run(__import__, "steinball")
        with reaper(cluster, placement) as deaths:
            try:
                return "right" if same(within(PATIENCE, lambda: on_cluster(x)), serial) else "wrong", deaths
            except Exception as error:
                return "hung" if str(error) == "hung" else f"error: {type(error).__name__}: {error}", deaths


def main() -> int:
    parser = argparse.ArgumentParser(description="Kill workers of a Dask cluster at placed moments.")
    parser.add_argument("number", type=int, nargs="?", default=60, help="how many placements")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    x, counts, kills = sample(), Counter[str](), 0
    serial = run_test(x, n_jobs=1)
    left = placements(arguments.number, arguments.seed)
    while left:
        with local_cluster() as cluster:
            ending = "right"
            while left and ending != "hung":  # a run that hangs gets no second chance to disturb the next
                placement, start = left.pop(0), time.monotonic()
                ending, deaths = outcome(cluster, placement, x, serial)
                counts[ending.partition(":")[0]] += 1
                kills += len(deaths.killed)
                seconds = time.monotonic() - start
                where = "; ".join(map(str, placement))
                print(f"{ending:8} {seconds:5.1f} s, {len(deaths.killed)} killed: {where}", flush=True)
    names = ("right", "error", "hung", "wrong")
    print(f"{arguments.number} placements, {kills} workers killed:", *(f"{counts[name]} {name}" for name in names))
    return int(counts["right"] != arguments.number)


if __name__ == "__main__":
    sys.exit(main())
