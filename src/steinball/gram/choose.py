"""Which engine, by size and memory."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from steinball.arrays import MOST_COUNTED, Array, MemoryLimitError, check_resamples, dtype_name
from steinball.gram.base import Gram, GramSummary
from steinball.gram.blocked import CPU_TILE, BlockedGram
from steinball.gram.cost import Cost, CostPrediction, Size, as_bytes, free_memory, in_words
from steinball.gram.device import is_accelerated
from steinball.gram.lowrank import LowRankGram
from steinball.gram.request import Request
from steinball.gram.whole import DenseGram, ReplicatedGram
from steinball.gram.workers import available_jobs, threads_here, workers_configured
from steinball.progress import check_show

if TYPE_CHECKING:
    from steinball.problem import Problem


ENGINES = ("auto", "dense", "blocked", "lowrank")
HOST_TILE = 1024  # for array libraries that run on the host by their own threads
DEVICE_TILE = 8192
REPLICATE_TILE = 128  # all arrays of a tile stay in the cache of a core
DENSE_UP_TO = 200
_SERIAL_BELOW = 3000  # starting threads takes longer than this few points
_PATIENCE = 300.0  # seconds of one core that an exact pass may take when a low-rank one leaves the decision open
_LEAST_RANK = 16
_ALWAYS_THERE = 2**25
_SHARE_OF_FREE = 0.5  # of the memory that is free, what is used unless a limit is given


@dataclass(frozen=True)
class Settings:
    """How a user wants the work done; what :func:`steinball.ksd_test` calls ``engine``, ``memory_limit``, …"""

    engine: str = "auto"
    memory_limit: int | str | None = None
    n_jobs: int | None = None
    progress: bool | str = "auto"

    def __post_init__(self) -> None:
        if self.engine not in ENGINES:
            raise ValueError(f"`engine` must be one of {', '.join(map(repr, ENGINES))}, got {self.engine!r}.")
        if self.memory_limit is not None:
            as_bytes(self.memory_limit)
        check_jobs(self.n_jobs)
        check_show(self.progress)

    def limit(self, samples: Array, needed: int) -> int:
        """Bytes that may be used; where so few are ``needed`` that every machine has them, nobody is asked."""
        if self.memory_limit is not None:
            return as_bytes(self.memory_limit)
        return needed if needed <= _ALWAYS_THERE else int(_SHARE_OF_FREE * free_memory(samples))


def check_jobs(n_jobs: Any) -> None:
    """Refuse what is no number of workers."""
    whole = isinstance(n_jobs, (int, np.integer)) and not isinstance(n_jobs, bool)
    if n_jobs is not None and not (whole and 0 < abs(n_jobs) <= MOST_COUNTED):
        raise ValueError(f"`n_jobs` must be None or a non-zero whole number, got {n_jobs!r}.")


def predict_cost(
    n: int, d: int, n_resamples: int = 999, *, replicates: int = 0, n_jobs: int | None = None
) -> CostPrediction:
    """Memory and time of a test with NumPy arrays on this machine, without running it.

    Parameters
    ----------
    n, d : int
        Number of observations and of coordinates.
    n_resamples : int
        Number of bootstrap draws.
    replicates : int
        For :class:`MonteCarlo`, its ``n_resamples``: samples of n points of the model, in place of bootstrap draws.
    n_jobs : int, optional
        Number of cores; all by default.

    Returns
    -------
    CostPrediction
        With ``engine`` (what ``engine="auto"`` takes), its ``memory`` in bytes and ``seconds``, and ``costs`` of every
        engine. Time is a model fed with the measured speed of a matrix product, good to a factor of about two.

    Examples
    --------
    >>> predict_cost(500, 10, 999).engine
    'blocked'
    >>> predict_cost(1000, 1, replicates=999).seconds > predict_cost(1000, 1, 999).seconds
    True
    """
    n, d, n_resamples = check_resamples(n, "n"), check_resamples(d, "d"), check_resamples(n_resamples)
    check_jobs(n_jobs)
    jobs = available_jobs(n_jobs or -1)
    if replicates:
        return _predict_replicates(n, d, check_resamples(replicates, "replicates"), jobs)
    size = Size(n, d, n_resamples).measured
    costs = size.dense(), size.blocked(_cpu_tile(n), jobs), size.lowrank(jobs)
    return CostPrediction(n, d, n_resamples, choose_engine(n, d, n_resamples), tuple(filter(None, costs)))


def choose_engine(n: int, d: int, n_resamples: int) -> str:
    """The engine that ``"auto"`` means: exact unless low rank is clearly faster on one core of a fixed speed.

    Neither this machine nor the number of workers has a say: the same data and seed give the same answer everywhere.
    """
    if n <= DENSE_UP_TO:
        return "dense"
    size = Size(n, d, n_resamples)
    low_rank, exact = size.lowrank(), size.blocked(CPU_TILE)
    return "lowrank" if low_rank is not None and 3.0 * low_rank.seconds + 1.0 < exact.seconds else "blocked"


def _predict_replicates(n: int, d: int, replicates: int, jobs: int) -> CostPrediction:
    """The costs of the exact engines: what low rank saves of one pass is nothing beside so many samples."""
    size, memory = Size(n, d, 0).measured, 8 * replicates * (n + 1)
    seconds = size.replicates(replicates, jobs)
    both = size.dense(), size.blocked(_cpu_tile(n), jobs)
    costs = tuple(Cost(cost.engine, cost.memory + memory, cost.seconds + seconds) for cost in both)
    return CostPrediction(n, d, replicates, "dense" if n <= DENSE_UP_TO else "blocked", costs)


def make_gram(
    problem: Problem,
    request: Request,
    n_resamples: int,
    settings: Settings,
    decides: Callable[[GramSummary], bool] = lambda summary: True,
) -> Gram:
    """The engine for a request with so many draws, chosen by the size of the problem and the memory allowed.

    ``decides`` tells a low-rank engine that a summary already decides the test for certain. Where the request can be
    answered by exact engines alone, ``"auto"`` means one of them.
    """
    engine, samples = _engine(problem, request, n_resamples, settings, decides), problem.samples
    if (wanted := request.replicates) is None:
        return engine
    count = wanted.stop - wanted.start
    needed = 8 * count * (wanted.n + 1)  # what is kept of the samples of the model
    if needed > (limit := settings.limit(samples, needed)):
        raise MemoryLimitError(
            f"{count} samples of the model of {wanted.n:,} points need {in_words(needed)}, but `memory_limit` is "
            f"{in_words(limit)}. Use fewer `n_resamples`, or raise `memory_limit`."
        )
    on_host = isinstance(samples, np.ndarray)
    jobs, tile = (available_jobs(settings.n_jobs), REPLICATE_TILE) if on_host else (1, _tile(samples))
    return ReplicatedGram(engine, problem, tile, threads_here(jobs), settings.progress)


def _engine(
    problem: Problem, request: Request, n_resamples: int, settings: Settings, decides: Callable[[GramSummary], bool]
) -> Gram:
    samples, weighted = problem.samples, request.replicates is None or request.weights != ()
    draws = n_resamples if weighted else 0  # samples of the model are no weights
    n, d = (int(length) for length in samples.shape)
    size = Size(n, d, draws, 4 if dtype_name(samples) == "float32" else 8)
    jobs, tile = _jobs(samples, settings), _tile(samples)
    threads = threads_here(jobs)
    memory = {"blocked": size.blocked(tile, threads).memory, "dense": size.dense().memory}
    if settings.engine == "lowrank" or (size.likely_rank is not None and not request.needs):
        memory["lowrank"] = size.lowrank_memory(min(size.n, _LEAST_RANK), threads)
    limit = settings.limit(samples, max(memory.values()))
    engine = _automatic(samples, size, memory, limit) if settings.engine == "auto" else settings.engine
    _check_fits(engine, memory, limit, size.n)
    if engine == "dense":
        return DenseGram(problem)
    n_jobs = None if settings.n_jobs is None and workers_configured() else jobs
    exact = BlockedGram(problem, tile, n_jobs, settings.progress)
    if engine == "blocked":
        return exact
    can_wait = memory["blocked"] <= limit and size.blocked(CPU_TILE).seconds <= _PATIENCE
    fallback = exact if settings.engine == "auto" and can_wait else None
    fits = (limit - size.lowrank_memory(0, threads)) // (size.n * size.itemsize)
    rank = max(1, min(size.n, fits, size.cheaper_rank))  # whose factor fits, and costs no more than the exact pass
    return LowRankGram(problem, rank, threads, settings.progress, decides, fallback)


def _automatic(samples: Array, size: Size, memory: dict[str, int], limit: int) -> str:
    """The fastest engine that fits; the fastest of all where none does."""
    fastest = choose_engine(size.n, size.d, size.n_resamples)
    if size.n > DENSE_UP_TO and (not isinstance(samples, np.ndarray) or dtype_name(samples) != "float64"):
        fastest = "blocked"  # an accelerator is fastest at plain products; single precision is never certified
    fastest = fastest if fastest in memory else "blocked"
    return next((engine for engine in (fastest, *memory) if memory[engine] <= limit), fastest)


def _jobs(samples: Array, settings: Settings) -> int:
    if not isinstance(samples, np.ndarray):
        return 1
    if settings.n_jobs is None and samples.shape[0] < _SERIAL_BELOW and not workers_configured():
        return 1
    return available_jobs(settings.n_jobs)


def _tile(samples: Array) -> int:
    if isinstance(samples, np.ndarray):
        return _cpu_tile(int(samples.shape[0]))
    return DEVICE_TILE if is_accelerated(samples) else HOST_TILE


def _cpu_tile(n: int) -> int:
    """Small tiles waste less of the triangle of a small matrix and stay in a core's cache; large ones convert fewer
    weights to floating point."""
    if n < 3 * CPU_TILE:
        return CPU_TILE // 2
    return CPU_TILE if n < _SERIAL_BELOW else 2 * CPU_TILE


def _check_fits(engine: str, memory: dict[str, int], limit: int, n: int) -> None:
    if memory[engine] <= limit:
        return
    other = next((name for name in memory if memory[name] <= limit), min(memory, key=memory.__getitem__))
    fewer = "" if memory[other] <= limit else "fewer `n_resamples`, or "
    raise MemoryLimitError(
        f"the {engine} engine needs {in_words(memory[engine])} for n = {n:,}, but `memory_limit` is {in_words(limit)}. "
        f'Use {fewer}engine="{other}", which needs {in_words(memory[other])}, or raise `memory_limit`.'
    )
