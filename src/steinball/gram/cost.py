"""How much memory there is, and what a test will cost before it is run."""

from __future__ import annotations

import math
import os
import re
import timeit
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from array_api_compat import is_cupy_array, is_torch_array

from steinball.arrays import Array, MemoryLimitError
from steinball.gram.weights import CHUNK

_UNITS = {"": 1, "b": 1} | {f"{letter}b": 10 ** (3 * k) for k, letter in enumerate("kmgt", 1)}
_UNITS |= {f"{letter}ib": 2 ** (10 * k) for k, letter in enumerate("kmgt", 1)}


def as_bytes(limit: Any) -> int:
    """A number of bytes from a number or a text such as ``"2 GB"``.

    Examples
    --------
    >>> as_bytes("1.5 GB")
    1500000000
    """
    if isinstance(limit, (int, float)) and not isinstance(limit, bool) and 1 <= limit < math.inf:
        return int(limit)
    match = re.fullmatch(r"\s*([0-9]+\.?[0-9]*|\.[0-9]+)\s*([kmgt]?i?b?)\s*", str(limit).lower())
    size = int(float(match[1]) * _UNITS[match[2]]) if match is not None and match[2] in _UNITS else 0
    if size < 1:
        raise ValueError(f"`memory_limit` must be a positive number of bytes or a text such as '2 GB', got {limit!r}.")
    return size


def free_memory(samples: Array) -> int:
    """Bytes that are free where ``samples`` live: on the device, or on the host."""
    if is_torch_array(samples) and samples.device.type == "cuda":
        import torch

        return int(torch.cuda.mem_get_info(samples.device)[0])
    return int(samples.device.mem_info[0]) if is_cupy_array(samples) else free_on_host()


def free_on_host(root: Path = Path("/")) -> int:
    """Bytes that this process may still take: the least of what the machine and its control groups leave.

    ``root`` is where the system's files are looked for.
    """
    pages = os.sysconf("SC_PHYS_PAGES") if hasattr(os, "sysconf") else 0
    guess = int(pages * os.sysconf("SC_PAGE_SIZE") // 2) if pages > 0 else 4 * 10**9
    available = 1024 * _number(root / "proc/meminfo", "MemAvailable:")
    return max(0, min([available or guess, *_free_in_groups(root)]))


def _free_in_groups(root: Path) -> Iterator[int]:
    """What every control group with a limit leaves, from that of this process up to the root."""
    top = root / "sys/fs/cgroup"
    for path in (line[3:] for line in _lines(root / "proc/self/cgroup") if line.startswith("0::")):
        group = top / path.strip("/")  # in a container the path may be the host's, which is not there
        for folder in (group, *group.parents[: len(group.parts) - len(top.parts)]):
            taken = _number(folder / "memory.current") - _number(folder / "memory.stat", "inactive_file")
            limits = (_number(folder / name) for name in ("memory.max", "memory.high"))
            yield from (limit - taken for limit in limits if limit)


def _lines(path: Path) -> list[str]:
    """The lines of a file of the system; none where it is not there or not for us."""
    try:
        return path.read_text(encoding="utf-8").splitlines()
    except OSError:
        return []


def _number(path: Path, name: str = "") -> int:
    """The first whole number of a line of a file that begins with ``name``; 0 where there is none, as in ``max``."""
    found = (re.match(rf"{name}\s*(\d+)", line) for line in _lines(path))
    return next((int(match[1]) for match in found if match), 0)


def check_room(size: int, name: str) -> None:
    """Refuse what takes more bytes than are free on the host."""
    free = free_on_host()
    if size > free:
        raise MemoryLimitError(f"`{name}` needs {in_words(size)}, but {in_words(free)} are free. Ask for fewer.")


def in_words(size: float) -> str:
    """A number of bytes for people.

    Examples
    --------
    >>> in_words(2.5e9)
    '2.5 GB'
    """
    for unit in ("bytes", "kB", "MB", "GB"):
        if size < 1000:
            return f"{size:.{int(unit != 'bytes')}f} {unit}"
        size /= 1000.0
    return f"{size:.1f} TB"


BLOCKS_AT_ONCE = 6
"""Arrays of the size of a tile that are alive together."""

KEPT_WEIGHTS = 2**23
"""Up to this many weights, serial work converts them to floating point once and keeps them."""

PANEL = 64
"""Candidates for pivots that the low-rank engine looks at together."""

COLUMNS_AT_ONCE = 2**16
"""Points whose weights the low-rank engine has in floating point at once."""

_NOMINAL_RATE = 4e10  # floating-point operations a second by which an engine is chosen
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
        known = {cost.engine: cost for cost in self.costs}
        if engine not in known:
            raise KeyError(f"no cost of {engine!r} here, only of {', '.join(map(repr, known))}")
        return known[engine]

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
    with threadpool_limits(limits=1, user_api="blas"):
        return 2 * 256**3 / min(timeit.repeat(lambda: a @ a, number=1, repeat=5))


@dataclass(frozen=True)
class Size:
    """A problem as engines see it: n points, d coordinates, draws, bytes of a number, and the speed of a core.

    ``rate`` are the floating-point operations a second of a matrix product, measured unless it is given.
    """

    n: int
    d: int
    n_resamples: int
    itemsize: int = 8
    rate: float = _NOMINAL_RATE

    @property
    def measured(self) -> Size:
        """The same on the cores of this machine; by default neither it nor its load has a say."""
        return replace(self, rate=flops_per_second())

    @property
    def likely_rank(self) -> int | None:
        """The rank that tr R ≤ 10⁻³ tr U takes with the default kernel, or ``None`` where low rank does not pay."""
        return _RANKS[self.d - 1] if self.d <= len(_RANKS) else None

    @property
    def cheaper_rank(self) -> int:
        """The rank r at which n·r·(r + 2B) products are as many as the n²(4d + B) of the exact pass."""
        draws = self.n_resamples
        return int(math.sqrt(draws**2 + self.n * (draws + 4 * self.d)) - draws)

    def _seconds(self, products: float, element: float) -> float:
        """One pair: so many operations of matrix products, and the elementwise work."""
        return products / self.rate + element * _ELEMENT

    def dense(self) -> Cost:
        """The dense engine."""
        n, draws = self.n, self.n_resamples
        memory = (BLOCKS_AT_ONCE * n * n + 4 * draws * n) * self.itemsize
        return Cost("dense", memory, n * n * self._seconds(8 * self.d + 2 * draws, 3) + n * draws * _WEIGHT)

    def blocked(self, tile: int, jobs: int = 1) -> Cost:
        """The blocked engine: weights as single bytes (twice, while they are gathered), and a few tiles per worker."""
        n, d, draws, tile = self.n, self.d, self.n_resamples, min(tile, self.n)
        kept = n * (draws + 10 * d + 8) * self.itemsize if jobs == 1 and n * draws < KEPT_WEIGHTS else 0
        worker = (BLOCKS_AT_ONCE * tile * tile + 4 * draws * tile + 4 * n + 10 * d * tile) * self.itemsize
        seconds = n * n / 2 * self._seconds(8 * d + 2 * draws, 1) / jobs + n * draws * _WEIGHT
        return Cost("blocked", 2 * n * draws + kept + jobs * worker, seconds)

    def lowrank(self, jobs: int = 1) -> Cost | None:
        """The low-rank engine, where it pays."""
        n, draws, rank = self.n, self.n_resamples, self.likely_rank
        if rank is None or rank >= n // 4:
            return None
        seconds = n * rank * self._seconds(rank + 2 * draws, 3) / jobs + n * draws * _WEIGHT
        return Cost("lowrank", self.lowrank_memory(rank, jobs), seconds)

    def lowrank_memory(self, rank: int, jobs: int) -> int:
        """The factor (its newest panel twice), points and residuals; for each worker a chunk of weights being drawn."""
        n = self.n
        drawing, projecting = 24 * min(2**20, CHUNK * n), 8 * CHUNK * min(n, COLUMNS_AT_ONCE)
        worker = 2 * CHUNK * n + max(drawing, projecting)
        return n * (rank + PANEL + 10 * self.d + 12) * self.itemsize + jobs * worker

    def replicates(self, count: int, jobs: int = 1) -> float:
        """Seconds for the pairs of so many samples of the model, drawn and scored one after the other."""
        pairs = 0.5 * self.n * (self.n + 128.0) * count  # half of the tiles on the diagonal is thrown away
        seconds = pairs * self._seconds(8 * self.d, 1) + count * _SAMPLE
        return seconds / jobs + self.n * self.d * count * _WEIGHT
