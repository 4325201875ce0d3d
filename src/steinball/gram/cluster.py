"""Tasks on a Dask cluster, through its own futures: what dies with a worker is sent and done again.

Only a run on Dask imports this file. joblib's own way to Dask waits for ever when a worker dies around a scatter.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError, Future, wait
from contextlib import suppress
from typing import Any, TypeVar
from uuid import uuid4

from dask.sizeof import sizeof
from dask.utils import funcname
from distributed import KilledWorker

Result = TypeVar("Result")

NO_PROGRESS_LIMIT = 600.0
"""Seconds without a finished task or a change of the workers that end a run. Dask drops a silent worker after 300."""

LOSSES = 10
"""How often the data may be lost before one task finishes."""

_LARGE = 1000
"""Bytes from which an argument is scattered once, and does not travel with every task."""

_TICK = 0.5
_CLOSED = "the Dask client was closed while its cluster still had work to do."


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
        The cluster lost the data more than ``LOSSES`` times, and finished no task in between.
    distributed.KilledWorker
        Too many workers died while they had one and the same task.
    """
    run = _Run(client, function, common, options)
    left, under_way = deque(tasks), deque[Future[Result]]()
    run.start(run.watch())
    try:
        while left or under_way:
            while left and len(under_way) < run.room:
                under_way.append(run.start(run.do(left.popleft())))
            if wait([under_way[0]], _TICK).done:
                yield run.result(under_way.popleft())
                run.note_progress()  # the time that the caller took is not the cluster's
            else:
                run.check_progress(len(tasks) - len(left) - len(under_way), len(tasks))
    finally:
        client.loop.add_callback(run.end)


class _Run:
    """One function on many tasks. Coroutines run in the event loop of the client, the rest in the caller's thread."""

    def __init__(self, client: Any, function: Callable[..., Any], common: tuple[Any, ...], options: Any) -> None:
        self._client, self._function, self._common, self._options = client, function, common, options
        self._workers: dict[str, int] = {}
        self._arguments: asyncio.Future[list[Any]] | None = None
        self._submitted: set[Any] = set()
        self._scattered: set[Any] = set()
        self._losses, self._ended = 0, False
        self.note_progress()

    @property
    def room(self) -> int:
        """How many tasks may be under way or wait for their turn to be handed over: this bounds the memory."""
        return max(16, 2 * sum(self._workers.values()))

    def start(self, coroutine: Any) -> Future[Any]:
        return asyncio.run_coroutine_threadsafe(coroutine, self._client.loop.asyncio_loop)

    def result(self, future: Future[Any]) -> Any:
        """What a task ended with; where the client is closed, its loop cancels tasks and drops connections."""
        try:
            return future.result()
        except (CancelledError, OSError) as error:
            if self._closed:
                raise RuntimeError(_CLOSED) from error
            raise

    @property
    def _closed(self) -> bool:
        return self._client.status in ("closing", "closed")

    def note_progress(self) -> None:
        self._last_progress = time.monotonic()

    def check_progress(self, done: int, total: int) -> None:
        silence = time.monotonic() - self._last_progress
        if not self._closed and silence <= NO_PROGRESS_LIMIT:
            return
        raise TimeoutError(
            f"the Dask cluster finished no task, and no worker came or went, for {silence:.0f} s: {done} of {total} "
            f"tasks are done, it has {len(self._workers)} workers, and its client is {self._client.status}. Check that "
            "workers run, that they reach the scheduler and each other, and that they have memory for the data. If "
            "one task takes longer than that, raise `steinball.gram.cluster.NO_PROGRESS_LIMIT`."
        )

    async def watch(self) -> None:
        """Notice workers that come and go."""
        while not self._ended:
            with suppress(OSError):  # of a scheduler that cannot be reached at present
                workers = await self._client.nthreads()
                if workers.keys() != self._workers.keys():
                    self.note_progress()
                self._workers = workers
            await asyncio.sleep(_TICK)

    async def end(self) -> None:
        """Let the cluster forget tasks and data.

        Nothing is cancelled here: Dask fetches results for all users of a client in one request, and they would be
        cancelled with us. A task that is released ends by itself, and so does a transfer.
        """
        self._ended = True
        _release(self._submitted)
        if self._arguments is not None:
            await asyncio.wait([self._arguments])
        _release(self._scattered)

    async def do(self, task: Any) -> Any:
        """The result of a task, which is submitted again when the data, or the result, are lost with their worker."""
        suspect = False
        while not self._ended:
            arguments = self._arguments = self._arguments or asyncio.ensure_future(self._send())
            try:
                result = await self._call(self._function, *await arguments, task)
            except KilledWorker:
                if suspect:
                    raise
                suspect = True  # Dask also suspects tasks that only waited on the dead workers
            except (CancelledError, asyncio.CancelledError, _Lost) as error:
                if self._closed:
                    raise RuntimeError(_CLOSED) from error
                await self._lose(arguments, error)
            else:
                self._losses = 0
                self.note_progress()
                return result

    async def _call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        key = f"{funcname(function)}-{uuid4().hex}"
        # Not with Dask's own retries: they would repeat errors of the function, and not the loss of its data.
        future = self._client.submit(function, *arguments, key=key, **self._options)
        self._submitted.add(future)
        try:
            return await future
        finally:
            self._submitted.discard(future)
            future.release()

    async def _send(self) -> list[Any]:
        """The common arguments, the large ones as futures of data on the cluster."""
        return [await self._scatter(argument) if sizeof(argument) > _LARGE else argument for argument in self._common]

    async def _scatter(self, argument: Any) -> Any:
        try:
            if not await self._client.nthreads():
                await self._call(os.getpid)  # a task, so that a cluster that adapts to its load starts a worker
            # To one worker: the others fetch it from there, and Dask would drop copies that no task waits for.
            future = await self._client.scatter(argument, hash=False)
        except (OSError, KeyError, CancelledError, KilledWorker) as error:  # a KeyError: Dask knows the worker no more
            raise _Lost from error
        self._scattered.add(future)
        return future

    async def _lose(self, arguments: asyncio.Future[list[Any]], error: BaseException) -> None:
        """Forget data that are lost, unless another task was faster, and wait a little."""
        if self._arguments is arguments:
            self._arguments, self._losses = None, self._losses + 1
            _release(self._scattered)
        if self._losses > LOSSES:
            raise RuntimeError(
                f"the Dask cluster lost the data more than {LOSSES} times and finished no task in between. Check the "
                "logs of the workers: they may have too little memory for the data, or be stopped from outside."
            ) from error
        await asyncio.sleep(min(0.1 * 2**self._losses, 5.0))


def _release(futures: set[Any]) -> None:
    while futures:
        futures.pop().release()


class _Lost(Exception):
    """Data did not arrive on the cluster."""
