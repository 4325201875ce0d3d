"""Which engine, by size and memory."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import joblib
import numpy as np

from steinball.arrays import Array, dtype_name
from steinball.gram.base import Gram, GramSummary
from steinball.gram.blocked import CPU_TILE, BlockedGram
from steinball.gram.compiled import is_accelerated
from steinball.gram.cost import (
    Cost,
    CostPrediction,
    blocked_cost,
    choose_engine,
    dense_cost,
    lowrank_memory,
    predict_costs,
)
from steinball.gram.dense import DenseGram
from steinball.gram.lowrank import LowRankGram
from steinball.gram.memory import SHARE_OF_FREE, as_bytes, free_memory, in_words
from steinball.gram.workers import available_jobs, workers_configured
from steinball.stein import SteinProblem

ENGINES = ("auto", "dense", "blocked", "lowrank")
HOST_TILE = 1024  # for array libraries that run on the host by their own threads
DEVICE_TILE = 8192
DENSE_UP_TO = 200
_SERIAL_BELOW = 3000  # starting threads takes longer than this few points
_PATIENCE = 120.0  # seconds that an exact pass may take when a low-rank one leaves the decision open
_LEAST_RANK = 16


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
        if self.n_jobs is not None and (not isinstance(self.n_jobs, int) or self.n_jobs == 0):
            raise ValueError(f"`n_jobs` must be None or a non-zero whole number, got {self.n_jobs!r}.")

    def limit(self, samples: Array) -> int:
        """Bytes that may be used."""
        if self.memory_limit is not None:
            return as_bytes(self.memory_limit)
        return int(SHARE_OF_FREE * free_memory(samples))


def predict_cost(n: int, d: int, n_resamples: int = 999, *, n_jobs: int | None = None) -> CostPrediction:
    """Memory and time of a test with NumPy arrays on this machine, without running it.

    Parameters
    ----------
    n, d : int
        Number of observations and of coordinates.
    n_resamples : int
        Number of bootstrap draws.
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
    """
    return predict_costs(n, d, n_resamples, n_jobs, CPU_TILE, DENSE_UP_TO)


def make_gram(
    problem: SteinProblem, n_resamples: int, settings: Settings, settled: Callable[[GramSummary], bool]
) -> Gram:
    """The engine for a problem, chosen by its size and the memory allowed.

    ``settled`` tells a low-rank engine that a summary already decides the test for certain.
    """
    samples, engine = problem.samples, settings.engine
    n, d = (int(size) for size in samples.shape)
    jobs = _jobs(samples, settings)
    if engine == "auto":
        engine = _automatic(samples, n_resamples, jobs)
    if engine == "dense":
        _check_fits(dense_cost(n, d, n_resamples, _itemsize(samples)), settings.limit(samples), n)
        return DenseGram(problem)
    if engine == "blocked":
        return _blocked(problem, n_resamples, settings, jobs)
    fallback = _fallback(problem, n_resamples, settings, jobs) if settings.engine == "auto" else None
    here = min(jobs, joblib.cpu_count())  # its threads share memory: a cluster is of no use to them
    rank = _affordable_rank(n, d, here, _itemsize(samples), settings.limit(samples))
    return LowRankGram(problem, rank, here, settings.progress, settled, fallback)


def _automatic(samples: Array, n_resamples: int, jobs: int) -> str:
    n, d = (int(size) for size in samples.shape)
    if n > DENSE_UP_TO and (not isinstance(samples, np.ndarray) or dtype_name(samples) != "float64"):
        return "blocked"  # an accelerator is fastest at plain products; low rank certifies nothing in single precision
    return choose_engine(n, d, n_resamples, jobs, CPU_TILE, DENSE_UP_TO)


def _jobs(samples: Array, settings: Settings) -> int:
    if not isinstance(samples, np.ndarray):
        return 1
    if settings.n_jobs is None and samples.shape[0] < _SERIAL_BELOW and not workers_configured():
        return 1
    return available_jobs(settings.n_jobs)


def _blocked(problem: SteinProblem, n_resamples: int, settings: Settings, jobs: int) -> BlockedGram:
    samples, tile = problem.samples, _tile(problem.samples)
    n, d = (int(size) for size in samples.shape)
    cost = blocked_cost(n, d, n_resamples, tile, jobs, _itemsize(samples))
    _check_fits(cost, settings.limit(samples), n)
    n_jobs = None if settings.n_jobs is None and workers_configured() else jobs
    return BlockedGram(problem, tile, n_jobs, settings.progress)


def _fallback(problem: SteinProblem, n_resamples: int, settings: Settings, jobs: int) -> BlockedGram | None:
    """The exact engine, where it may be waited for and fits."""
    n, d = (int(size) for size in problem.samples.shape)
    cost = blocked_cost(n, d, n_resamples, CPU_TILE, jobs)
    affordable = cost.seconds <= _PATIENCE and cost.memory <= settings.limit(problem.samples)
    return _blocked(problem, n_resamples, replace(settings, engine="blocked"), jobs) if affordable else None


def _affordable_rank(n: int, d: int, jobs: int, itemsize: int, limit: int) -> int:
    rank = (limit - lowrank_memory(n, d, 0, jobs, itemsize)) // (n * itemsize)
    if rank < _LEAST_RANK:
        least = lowrank_memory(n, d, _LEAST_RANK, jobs, itemsize)
        _check_fits(Cost("lowrank", least, 0.0), limit, n)
    return int(min(rank, n))


def _itemsize(samples: Array) -> int:
    return 4 if dtype_name(samples) == "float32" else 8


def _tile(samples: Array) -> int:
    """Small tiles waste less of the triangle of a small matrix, and stay in a core's cache on a CPU."""
    if isinstance(samples, np.ndarray):
        return CPU_TILE // 2 if samples.shape[0] < 3 * CPU_TILE else CPU_TILE
    return DEVICE_TILE if is_accelerated(samples) else HOST_TILE


_REMEDIES = {
    "dense": 'Use engine="blocked"',
    "blocked": "Use fewer `n_resamples`, or engine='lowrank' in few dimensions",
    "lowrank": 'Use engine="blocked"',
}


def _check_fits(cost: Cost, limit: int, n: int) -> None:
    if cost.memory > limit:
        raise MemoryError(
            f"the {cost.engine} engine needs {in_words(cost.memory)} for n = {n:,}, but `memory_limit` is "
            f"{in_words(limit)}. {_REMEDIES[cost.engine]}, or raise `memory_limit`."
        )
