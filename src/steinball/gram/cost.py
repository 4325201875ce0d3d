"""What a test will cost, before it is run."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from functools import cache

import numpy as np

from steinball.gram.memory import in_words
from steinball.gram.weights import CHUNK

BLOCKS_AT_ONCE = 6
"""Arrays of the size of a tile that are alive together."""

KEPT_WEIGHTS = 2**23
"""Up to this many weights, serial work converts them to floating point once and keeps them."""

PANEL = 64
"""Candidates for pivots that the low-rank engine looks at together."""

COLUMNS_AT_ONCE = 2**16
"""Points whose weights the low-rank engine has in floating point at once."""

NOMINAL_RATE = 4e10  # floating-point operations a second by which an engine is chosen
_ELEMENT = 8e-9  # seconds for the elementwise work on one pair, on one core
_WEIGHT = 6e-9  # seconds to draw one bootstrap weight
_SAMPLE = 1e-4  # seconds of calls for one sample of the model
_RANKS = (45, 150, 400, 800, 1400)  # at tr R = 1e-3 tr U, for d = 1, 2, …


@dataclass(frozen=True)
class Cost:
    """Memory in bytes and time in seconds of one engine for one problem."""

    engine: str
    memory: int
    seconds: float

    def __str__(self) -> str:
        return f"{self.engine}: {in_words(self.memory)}, {duration(self.seconds)}"


def duration(seconds: float) -> str:
    """A time in words."""
    for unit, size in (("h", 3600.0), ("min", 60.0), ("s", 1.0)):
        if seconds >= 2 * size:
            return f"about {seconds / size:.0f} {unit}"
    return "about a second" if seconds > 0.5 else "less than a second"


@dataclass(frozen=True)
class CostPrediction:
    """What each engine would cost, and which one ``engine="auto"`` takes; made by :func:`steinball.predict_cost`."""

    n: int
    dimension: int
    n_resamples: int
    engine: str
    costs: tuple[Cost, ...]

    def __getitem__(self, engine: str) -> Cost:
        for cost in self.costs:
            if cost.engine == engine:
                return cost
        raise KeyError(f"no cost of {engine!r} here, only of {', '.join(repr(cost.engine) for cost in self.costs)}")

    @property
    def memory(self) -> int:
        """Bytes that the engine of choice needs."""
        return self[self.engine].memory

    @property
    def seconds(self) -> float:
        """Seconds that the engine of choice takes, roughly."""
        return self[self.engine].seconds

    def __str__(self) -> str:
        rows = [f"{'*' if cost.engine == self.engine else ' '} {cost}" for cost in self.costs]
        return "\n".join([f"n = {self.n:,}, d = {self.dimension}, {self.n_resamples} draws", *rows])


@cache
def flops_per_second() -> float:
    """Rate of a matrix product on one core, measured once."""
    from threadpoolctl import threadpool_limits

    a = np.random.default_rng(0).standard_normal((256, 256))
    best = np.inf
    with threadpool_limits(limits=1, user_api="blas"):
        for _ in range(5):
            start = time.perf_counter()
            a @ a
            best = min(best, time.perf_counter() - start)
    return float(2 * 256**3 / best)


def likely_rank(dimension: int) -> int | None:
    """The rank that tr R ≤ 10⁻³ tr U takes with the default kernel, or ``None`` where low rank does not pay."""
    return _RANKS[dimension - 1] if dimension <= len(_RANKS) else None


def dense_cost(n: int, d: int, n_resamples: int, itemsize: int = 8, rate: float | None = None) -> Cost:
    """The dense engine."""
    memory = (BLOCKS_AT_ONCE * n * n + 4 * n_resamples * n) * itemsize
    pair = (8 * d + 2 * n_resamples) / (rate or flops_per_second()) + 3 * _ELEMENT
    seconds = n * n * pair + n * n_resamples * _WEIGHT
    return Cost("dense", memory, seconds)


def blocked_cost(
    n: int, d: int, n_resamples: int, tile: int, jobs: int, itemsize: int = 8, rate: float | None = None
) -> Cost:
    """The blocked engine: weights as single bytes (twice, while they are gathered), and a few tiles per worker."""
    tile = min(tile, n)
    kept = n * (n_resamples + 10 * d + 8) * itemsize if jobs == 1 and n * n_resamples < KEPT_WEIGHTS else 0
    worker = (BLOCKS_AT_ONCE * tile * tile + 4 * n_resamples * tile + 4 * n + 10 * d * tile) * itemsize
    pair = (8 * d + 2 * n_resamples) / (rate or flops_per_second()) + _ELEMENT
    memory = 2 * n * n_resamples + kept + jobs * worker
    return Cost("blocked", memory, n * n / 2 * pair / jobs + n * n_resamples * _WEIGHT)


def lowrank_cost(
    n: int, d: int, n_resamples: int, jobs: int, itemsize: int = 8, rate: float | None = None
) -> Cost | None:
    """The low-rank engine, where it pays."""
    rank = likely_rank(d)
    if rank is None or rank >= n // 4:
        return None
    seconds = n * rank * ((rank + 2 * n_resamples) / (rate or flops_per_second()) + 3 * _ELEMENT) / jobs
    return Cost("lowrank", lowrank_memory(n, d, rank, jobs, itemsize), seconds + n * n_resamples * _WEIGHT)


def replicates_cost(n: int, d: int, replicates: int, jobs: int = 1, rate: float = NOMINAL_RATE) -> float:
    """Seconds for the pairs of so many samples of the model, drawn and scored one after the other."""
    pairs = 0.5 * n * (n + 128.0) * replicates  # half of the tiles on the diagonal is thrown away
    return (pairs * (8 * d / rate + _ELEMENT) + replicates * _SAMPLE) / jobs + n * d * replicates * _WEIGHT


def cheaper_rank(n: int, d: int, n_resamples: int) -> int:
    """The rank r at which n·r·(r + 2B) products are as many as the n²(4d + B) of the exact pass."""
    return int(math.sqrt(n_resamples**2 + n * (n_resamples + 4 * d)) - n_resamples)


def lowrank_memory(n: int, d: int, rank: int, jobs: int, itemsize: int = 8) -> int:
    """The factor (its newest panel twice), points and residuals; and for each worker a chunk of weights being drawn."""
    drawing, projecting = 24 * min(2**20, CHUNK * n), 8 * CHUNK * min(n, COLUMNS_AT_ONCE)
    worker = 2 * CHUNK * n + max(drawing, projecting)
    return n * (rank + PANEL + 10 * d + 12) * itemsize + jobs * worker


def choose_engine(n: int, d: int, n_resamples: int, tile: int, dense_up_to: int) -> str:
    """The engine that ``"auto"`` means: exact unless low rank is clearly faster on one core of a fixed speed.

    Neither this machine nor the number of workers has a say: the same data and seed give the same answer everywhere.
    """
    if n <= dense_up_to:
        return "dense"
    low_rank = lowrank_cost(n, d, n_resamples, 1, rate=NOMINAL_RATE)
    exact = blocked_cost(n, d, n_resamples, tile, 1, rate=NOMINAL_RATE)
    return "lowrank" if low_rank is not None and 3.0 * low_rank.seconds + 1.0 < exact.seconds else "blocked"
