"""Tasks on a Dask cluster, through its own futures: Dask repeats what dies with a worker, once its data are sent again.

Only a run on Dask imports this file. joblib's own way to Dask waits for ever when a worker dies around a scatter.
"""

from __future__ import annotations

import asyncio
import math
import os
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import suppress
from typing import Any, NamedTuple, TypeVar
from uuid import uuid4

import dask
from dask.sizeof import sizeof
from dask.utils import funcname, parse_timedelta
from distributed import KilledWorker

Result = TypeVar("Result")

NO_PROGRESS_LIMIT = 600.0
"""Seconds without a finished task or a change of the workers that end a run. Dask drops a silent worker after 300."""

LOSSES = 10
"""How often the data may be lost before one task finishes."""

_LARGE = 1000
"""Bytes from which an argument is scattered once, and does not travel with every task."""

_TICK = 0.5
_PAUSE = 0.01
_CANCELLED = (CancelledError, asyncio.CancelledError)


def run_on_dask(
    client: Any, function: Callable[..., Result], common: tuple[Any, ...], tasks: Sequence[Any], **options: Any
) -> Iterator[Result]:
    """``function(*common, task)`` for every task, in order, on the cluster of a ``distributed.Client``.

    Parameters
    ----------
    client : distributed.Client
    function, common, tasks
        As in :func:`steinball.gram.workers.run_tasks`. Large arguments in ``common`` are scattered, once.
    **options
        For ``client.submit``.

    Raises
    ------
    TimeoutError
        No task finished, and no worker came or went, for ``NO_PROGRESS_LIMIT`` seconds.
    RuntimeError
        The cluster has no workers any more, and none of them has a nanny that starts it again, or not within the time
        of Dask's setting ``distributed.deploy.lost-worker-timeout`` (15 s by default). Or the cluster lost the data
        more than ``LOSSES`` times, and finished no task in between.
    distributed.KilledWorker
        Too many workers died while they had one and the same task.
    """
    run = _Run(client, function, common, options, len(tasks))
    left, under_way = deque(tasks), deque[_Call]()
    try:
        while left or under_way:
            while left and len(under_way) < run.room:
                under_way.append(run.call(left.popleft()))
            first = under_way[0]
            try:
                result = run.result(first.future)
            except _CANCELLED as error:
                run.lose(first.data, error)
                for k in [k for k, call in enumerate(under_way) if call is first or call.future.cancelled()]:
                    under_way[k] = run.call(under_way[k].task)
            else:
                under_way.popleft()
                yield result
                run.note_progress(done=1)  # the time that the caller took is not the cluster's
    finally:
        for call in under_way:  # not cancelled: Dask fetches results for all users of a client in one request
            call.future.release()
        run.forget()


class _Call(NamedTuple):
    """A task that was handed over, and the data that it was handed over with."""

    task: Any
    future: Any
    data: list[Any] | None


class _Run:
    """One function on many tasks: its data on the cluster, and whether the cluster makes progress."""

    def __init__(
        self, client: Any, function: Callable[..., Any], common: tuple[Any, ...], options: Any, total: int
    ) -> None:
        self._client, self._function, self._common, self._options = client, function, common, options
        self._total, self._done, self._losses = total, 0, 0
        self._data: list[Any] | None = None
        self._scattered: list[Any] = []
        self._workers: dict[str, int] = {}
        self._until_replaced = math.inf  # as long as there has been no worker, one may be on its way
        self.note_progress()

    @property
    def room(self) -> int:
        """How many tasks may be under way or wait for their turn to be handed over: this bounds the memory."""
        return max(16, 2 * sum(self._workers.values()))

    def call(self, task: Any) -> _Call:
        """Hand a task over, with data that are on the cluster."""
        while self._data is None:
            self._look()
            if not self._workers:  # a task, so that a cluster that adapts to its load starts a worker
                with suppress(KilledWorker, *_CANCELLED):
                    self.result(self._submit(os.getpid))
            try:
                self._data = [self._sent(argument) for argument in self._common]
            except (OSError, KeyError, *_CANCELLED) as error:  # a KeyError: Dask knows the worker no more
                self.lose(None, error)
        return _Call(task, self._submit(self._function, *self._data, task), self._data)

    def _submit(self, function: Callable[..., Any], *arguments: Any) -> Any:
        # Not with Dask's own retries: they would repeat errors of the function, and not the loss of its data.
        key = f"{funcname(function)}-{uuid4().hex}"
        future = self._client.submit(function, *arguments, key=key, **self._options)
        future.add_done_callback(lambda _: self.note_progress())
        return future

    def _sent(self, argument: Any) -> Any:
        """A common argument; a large one as a future of data on the cluster."""
        if sizeof(argument) <= _LARGE:
            return argument
        # To one worker: the others fetch it from there, and Dask would drop copies that no task waits for.
        options = {"hash": False, "callback_timeout": NO_PROGRESS_LIMIT}
        self._scattered.append(self._client.sync(self._client.scatter, argument, **options))
        return self._scattered[-1]

    def result(self, future: Any) -> Any:
        """What a task ended with; the time that it takes is watched."""
        looked = time.monotonic()
        while not future.done():
            time.sleep(_PAUSE)
            if time.monotonic() - looked > _TICK:
                self._look()
                looked = time.monotonic()
        try:
            return future.result(timeout=NO_PROGRESS_LIMIT)
        finally:
            future.release()

    def note_progress(self, done: int = 0) -> None:
        self._last_progress, self._done = time.monotonic(), self._done + done
        self._losses = 0 if done else self._losses

    def _look(self) -> None:
        """Notice workers that come and go, and that nothing has happened for too long."""
        if self._client.status in ("closing", "closed"):
            raise RuntimeError("the Dask client was closed while its cluster still had work to do.")
        with suppress(OSError):  # of a scheduler that cannot be reached at present
            workers = self._client.nthreads()
            if workers.keys() != self._workers.keys():
                self.note_progress()
                self._until_replaced = self._time_to_restart() if workers else self._until_replaced
            self._workers = workers
        silence = time.monotonic() - self._last_progress
        if not self._workers and silence >= self._until_replaced:
            raise RuntimeError(
                f"the Dask cluster has no workers left: {self._done} of {self._total} tasks are done. Start workers "
                "with memory for the data, and run this again; with a nanny (`dask worker --nanny`) those that die are "
                "started again."
            )
        if silence > NO_PROGRESS_LIMIT:
            raise TimeoutError(
                f"the Dask cluster finished no task, and no worker came or went, for {silence:.0f} s: {self._done} of "
                f"{self._total} tasks are done, it has {len(self._workers)} workers, and its client is "
                f"{self._client.status}. Check that workers run, that they reach the scheduler and each other, and "
                "that they have memory for the data. If one task takes longer than that, raise "
                "`steinball.gram.cluster.NO_PROGRESS_LIMIT`."
            )

    def _time_to_restart(self) -> float:
        """Seconds within which a nanny starts its worker again; 0 where the workers have none."""
        workers = self._client.scheduler_info()["workers"].values()
        limit = dask.config.get("distributed.deploy.lost-worker-timeout")
        return float(parse_timedelta(limit)) if any(worker["nanny"] for worker in workers) else 0.0

    def lose(self, data: list[Any] | None, error: BaseException) -> None:
        """Forget data that are lost, unless other ones have been sent since, and wait a little."""
        self._look()
        if data is not self._data:
            return
        self.forget()
        self._losses += 1
        if self._losses > LOSSES:
            raise RuntimeError(
                f"the Dask cluster lost the data more than {LOSSES} times and finished no task in between. Check the "
                "logs of the workers: they may have too little memory for the data, or be stopped from outside."
            ) from error
        time.sleep(min(0.1 * 2**self._losses, 5.0))

    def forget(self) -> None:
        """Let the cluster forget the data."""
        for future in self._scattered:
            future.release()
        self._data, self._scattered = None, []
