"""Which engine, by size and memory."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from steinball.arrays import MOST_COUNTED, Array, MemoryLimitError, check_resamples, dtype_name
from steinball.gram.base import Gram, GramSummary
from steinball.gram.blocked import CPU_TILE, BlockedGram
from steinball.gram.cost import (
    NOMINAL_RATE,
    Cost,
    CostPrediction,
    blocked_cost,
    cheaper_rank,
    choose_engine,
    dense_cost,
    flops_per_second,
    likely_rank,
    lowrank_cost,
    lowrank_memory,
    replicates_cost,
)
from steinball.gram.dense import DenseGram
from steinball.gram.device import is_accelerated
from steinball.gram.lowrank import LowRankGram
from steinball.gram.memory import SHARE_OF_FREE, as_bytes, free_memory, in_words
from steinball.gram.replicates import ReplicatedGram
from steinball.gram.request import Replicates, Request
from steinball.gram.workers import available_jobs, here, workers_configured
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
        return needed if needed <= _ALWAYS_THERE else int(SHARE_OF_FREE * free_memory(samples))


def check_jobs(n_jobs: Any) -> None:
    """Refuse what is no number of workers."""
    whole = isinstance(n_jobs, (int, np.integer)) and not isinstance(n_jobs, bool)
    if n_jobs is not None and not (whole and 0 < abs(n_jobs) <= MOST_COUNTED):
        raise ValueError(f"`n_jobs` must be None or a non-zero whole number, got {n_jobs!r}.")


def predict_cost(
    n: int,
    d: int,
    n_resamples: int = 999,
    *,
    replicates: int = 0,
    n_jobs: int | None = None,
    dtype: str = "float64",
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
    dtype : {"float64", "float32"}
        Of the samples. float32 is computed in float64 on a CPU: the same work and memory.

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
    if dtype not in ("float64", "float32"):
        raise ValueError(f'`dtype` must be "float64" or "float32", got {dtype!r}.')
    n, d, n_resamples = check_resamples(n, "n"), check_resamples(d, "d"), check_resamples(n_resamples)
    check_jobs(n_jobs)
    jobs, tile = available_jobs(n_jobs or -1), _cpu_tile(n)
    if replicates:
        return _predict_replicates(n, d, check_resamples(replicates, "replicates"), jobs)
    exact = dense_cost(n, d, n_resamples), blocked_cost(n, d, n_resamples, tile, jobs)
    low_rank = lowrank_cost(n, d, n_resamples, jobs)
    engine = choose_engine(n, d, n_resamples, tile, DENSE_UP_TO)
    return CostPrediction(n, d, n_resamples, engine, exact if low_rank is None else (*exact, low_rank))


def _predict_replicates(n: int, d: int, replicates: int, jobs: int) -> CostPrediction:
    """Of exact engines alone: what low rank saves of one pass is nothing beside so many."""
    engine = "dense" if n <= DENSE_UP_TO else "blocked"
    both = dense_cost(n, d, 0), blocked_cost(n, d, 0, _cpu_tile(n), jobs)
    seconds = replicates_cost(n, d, replicates, jobs, flops_per_second())
    memory = 8 * replicates * (n + 1)
    costs = tuple(Cost(cost.engine, cost.memory + memory, cost.seconds + seconds) for cost in both)
    return CostPrediction(n, d, replicates, engine, costs)


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
    engine = _engine(problem, request, n_resamples, settings, decides)
    if request.replicates is None:
        return engine
    samples = problem.samples
    jobs = available_jobs(settings.n_jobs) if isinstance(samples, np.ndarray) else 1
    _check_replicates(request.replicates, settings, samples)
    tile = REPLICATE_TILE if isinstance(samples, np.ndarray) else _tile(samples)
    return ReplicatedGram(engine, problem, tile, here(jobs), settings.progress)


def _check_replicates(wanted: Replicates, settings: Settings, samples: Array) -> None:
    """What is kept of the samples of the model must fit."""
    needed = 8 * (wanted.stop - wanted.start) * (wanted.n + 1)
    limit = settings.limit(samples, needed)
    if needed > limit:
        raise MemoryError(
            f"{wanted.stop - wanted.start} samples of the model of {wanted.n:,} points need {in_words(needed)}, but "
            f"`memory_limit` is {in_words(limit)}. Use fewer `n_resamples`, or raise `memory_limit`."
        )


def _engine(
    problem: Problem,
    request: Request,
    n_resamples: int,
    settings: Settings,
    decides: Callable[[GramSummary], bool],
) -> Gram:
    samples = problem.samples
    if request.replicates is not None and request.weights == ():
        n_resamples = 0  # samples of the model are no weights
    jobs = _jobs(samples, settings)
    memory = _memory(samples, request, n_resamples, jobs, settings.engine)
    limit = settings.limit(samples, max(memory.values()))
    engine = _automatic(samples, n_resamples, memory, limit) if settings.engine == "auto" else settings.engine
    _check_fits(engine, memory, limit, len(problem))
    if engine == "dense":
        return DenseGram(problem)
    n_jobs = None if settings.n_jobs is None and workers_configured() else jobs
    exact = BlockedGram(problem, _tile(samples), n_jobs, settings.progress)
    if engine == "blocked":
        return exact
    n, d = (int(size) for size in samples.shape)
    exact_pass = blocked_cost(n, d, n_resamples, CPU_TILE, 1, rate=NOMINAL_RATE)  # on one core of a fixed speed
    can_wait = memory["blocked"] <= limit and exact_pass.seconds <= _PATIENCE
    fallback = exact if settings.engine == "auto" and can_wait else None
    rank = _affordable_rank(samples, n_resamples, jobs, limit)
    return LowRankGram(problem, rank, here(jobs), settings.progress, decides, fallback)


def _memory(samples: Array, request: Request, n_resamples: int, jobs: int, wanted: str) -> dict[str, int]:
    """Bytes that each engine needs here; low rank, which is for few dimensions, at the smallest rank worth trying."""
    n, d = (int(size) for size in samples.shape)
    size = _itemsize(samples)
    memory = {
        "blocked": blocked_cost(n, d, n_resamples, _tile(samples), here(jobs), size, NOMINAL_RATE).memory,
        "dense": dense_cost(n, d, n_resamples, size, NOMINAL_RATE).memory,
    }
    if wanted == "lowrank" or (likely_rank(d) is not None and not request.needs):
        memory["lowrank"] = lowrank_memory(n, d, min(n, _LEAST_RANK), here(jobs), size)
    return memory


def _automatic(samples: Array, n_resamples: int, memory: dict[str, int], limit: int) -> str:
    """The fastest engine that fits; the fastest of all where none does."""
    n, d = (int(size) for size in samples.shape)
    fastest = choose_engine(n, d, n_resamples, CPU_TILE, DENSE_UP_TO)
    if n > DENSE_UP_TO and (not isinstance(samples, np.ndarray) or dtype_name(samples) != "float64"):
        fastest = "blocked"  # an accelerator is fastest at plain products; single precision is never certified
    fastest = fastest if fastest in memory else "blocked"
    return next((engine for engine in (fastest, *memory) if memory[engine] <= limit), fastest)


def _jobs(samples: Array, settings: Settings) -> int:
    if not isinstance(samples, np.ndarray):
        return 1
    if settings.n_jobs is None and samples.shape[0] < _SERIAL_BELOW and not workers_configured():
        return 1
    return available_jobs(settings.n_jobs)


def _affordable_rank(samples: Array, n_resamples: int, jobs: int, limit: int) -> int:
    """The largest rank whose factor fits, and costs no more than the exact pass would."""
    n, d = (int(size) for size in samples.shape)
    size = _itemsize(samples)
    fits = (limit - lowrank_memory(n, d, 0, here(jobs), size)) // (n * size)
    return max(1, min(n, fits, cheaper_rank(n, d, n_resamples)))


def _itemsize(samples: Array) -> int:
    return 4 if dtype_name(samples) == "float32" else 8


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
    smallest = min(memory, key=lambda other: memory[other])
    other = next((name for name in memory if memory[name] <= limit), smallest)
    needs = f'engine="{other}", which needs {in_words(memory[other])}'
    remedy = f"Use {needs}" if memory[other] <= limit else f"Use fewer `n_resamples`, or {needs}"
    raise MemoryLimitError(
        f"the {engine} engine needs {in_words(memory[engine])} for n = {n:,}, but `memory_limit` is {in_words(limit)}. "
        f"{remedy}, or raise `memory_limit`."
    )
