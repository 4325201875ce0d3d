"""Independent tasks on threads, processes or a cluster, as joblib is configured.

joblib is loaded where work is spread: a small test on one thread does not wait for it.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import AbstractContextManager, suppress
from functools import cache, partial
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from threadpoolctl import ThreadpoolController

Result = TypeVar("Result")
Item = TypeVar("Item")

NO_PROGRESS_LIMIT = 600.0
"""Seconds without a finished task or a change of the workers that end a run on Dask. Dask drops a silent worker after
300."""

_TICK = 2.0  # seconds between two looks at a Dask cluster


def run_tasks(
    function: Callable[..., Result], common: tuple[Any, ...], tasks: Sequence[Any], n_jobs: int | None
) -> Iterator[Result]:
    """``function(*common, task)`` for every task, in order, as they finish.

    With ``n_jobs=None`` the backend and number of workers that ``joblib.parallel_config`` names are used, which may be
    a cluster; without such a configuration, threads on all cores. Linear algebra inside a thread runs on that thread.
    """
    configured = n_jobs is None and workers_configured()
    jobs = None if configured else min(available_jobs(n_jobs), len(tasks))
    if len(tasks) <= 1 or jobs == 1:
        yield from (function(*common, task) for task in tasks)
        return
    import joblib
    from joblib.parallel import BACKENDS, get_active_backend

    backend, _ = get_active_backend(prefer="threads")
    with single_threaded_algebra():
        if isinstance(backend, BACKENDS.get("dask", ())):  # joblib registers it when it is first named
            yield from run_on_dask(backend.client, function, common, tasks, **backend.submit_kwargs)
            return
        return_as = "generator" if backend.supports_return_generator else "list"  # Ray's hands over all at the end
        parallel = joblib.Parallel(n_jobs=jobs, prefer="threads", return_as=return_as)
        yield from parallel(joblib.delayed(function)(*common, task) for task in tasks)


def run_on_dask(
    client: Any, function: Callable[..., Result], common: tuple[Any, ...], tasks: Sequence[Any], **options: Any
) -> Generator[Result, None, None]:
    """What :func:`run_tasks` gives, on the cluster of a ``distributed.Client``, which repeats what dies with a worker.

    The data in ``common`` are the result of a task of their own, so that Dask makes them again where they die with the
    only worker that held them; joblib's own way to Dask waits for ever then. ``options`` are those of ``client.map``.

    Raises
    ------
    TimeoutError
        No task finished, and no worker came or went, for ``NO_PROGRESS_LIMIT`` seconds; once the last worker is gone,
        for the time of Dask's setting ``distributed.deploy.lost-worker-timeout`` (15 s by default).
    distributed.KilledWorker
        Too many workers died while they had one and the same task.
    """
    name = function.__name__
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Dask would rather read large arrays from files
        data = client.submit(partial(tuple, common), key=f"data of {name}-{time.monotonic_ns()}", **options)
    futures = deque(client.map(partial(_call, function), tasks, common=data, key=name, pure=False, **options))
    try:
        yield from _in_order(client, futures)
    finally:
        for future in (data, *futures):  # not cancelled: Dask fetches results for all users of a client in one request
            future.release()


def _call(function: Callable[..., Result], task: Any, common: tuple[Any, ...]) -> Result:
    return function(*common, task)


def _in_order(client: Any, futures: deque[Any]) -> Iterator[Any]:
    """The results of futures of Dask in their order, or an error where nothing happens on the cluster any more."""
    total, seen, since, had_workers = len(futures), None, 0.0, False
    while futures:
        try:
            result = futures[0].result(timeout=_TICK)
        except TimeoutError:
            if futures[0].status == "error":  # of the function itself
                raise
        else:
            futures.popleft()
            yield result
            seen, had_workers = None, True  # the time that the caller took is not the cluster's
            continue
        workers, done = client.nthreads(), total - sum(not future.done() for future in futures)
        if (workers, done) != seen:
            seen, since, had_workers = (workers, done), time.monotonic(), had_workers or bool(workers)
        limit = NO_PROGRESS_LIMIT if workers or not had_workers else _time_to_restart()
        if time.monotonic() - since > limit:
            raise TimeoutError(
                f"the Dask cluster finished no task, and no worker came or went, for {limit:.3g} s: {done} of {total} "
                f"tasks are done, and it has {len(workers)} workers. Check that workers run, that they reach the "
                "scheduler and each other, and that they have memory for the data; with a nanny (`dask worker "
                "--nanny`) those that die are started again. If one task takes longer than that, raise "
                "`steinball.gram.workers.NO_PROGRESS_LIMIT`."
            )


def _time_to_restart() -> float:
    """Seconds within which Dask expects that a worker which died is started again."""
    from dask import config
    from dask.utils import parse_timedelta

    return float(parse_timedelta(config.get("distributed.deploy.lost-worker-timeout")))


def share_threads(function: Callable[[Item], Result], items: Sequence[Item], n_jobs: int | None) -> Iterator[Result]:
    """``function(item)`` for every item, in order, on threads of this process: what it reads and writes is shared."""
    jobs = 1 if n_jobs == 1 else min(threads_here(available_jobs(n_jobs)), len(items))
    if jobs <= 1:
        yield from map(function, items)
        return
    import joblib

    parallel = joblib.Parallel(n_jobs=jobs, require="sharedmem", return_as="generator")
    with single_threaded_algebra():
        yield from parallel(joblib.delayed(function)(item) for item in items)


def threads_here(jobs: int) -> int:
    """How many of so many workers can be threads that share memory: of a cluster, those of this machine."""
    if jobs == 1:
        return 1
    import joblib

    return min(jobs, int(joblib.cpu_count()))


def available_jobs(n_jobs: int | None) -> int:
    """How many workers ``n_jobs`` means: ``None`` is what joblib is configured for, or else all cores.

    Inside a worker of joblib ``None`` means one: the others are busy with tasks of their own.
    """
    if n_jobs == 1:
        return 1
    import joblib
    from joblib.parallel import get_active_backend

    if n_jobs is None:
        backend, n_jobs = get_active_backend()
        if _inside_dask() or (n_jobs is None and backend.nesting_level):
            return 1
    return int(joblib.effective_n_jobs(-1 if n_jobs is None else n_jobs))


def workers_configured() -> bool:
    """Whether ``joblib.parallel_config`` names more than one worker, or a cluster (whose default is all of them)."""
    if "joblib" not in sys.modules:  # nobody can have configured it
        return False
    from joblib.parallel import get_active_backend

    backend, n_jobs = get_active_backend()
    return bool((backend.default_n_jobs if n_jobs is None else n_jobs) != 1) and not _inside_dask()


def _inside_dask() -> bool:
    """Whether this is a task of a Dask worker, where joblib offers the whole cluster once more."""
    distributed = sys.modules.get("distributed")
    with suppress(ValueError):
        return distributed is not None and bool(distributed.get_worker())
    return False


@cache
def _controller() -> ThreadpoolController:
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


def single_threaded_algebra() -> AbstractContextManager[Any]:
    """Linear algebra on the calling thread alone, while other threads do the same."""
    return _controller().limit(limits=1, user_api="blas")  # type: ignore[no-any-return]
