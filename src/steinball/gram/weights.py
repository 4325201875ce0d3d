"""Streams of bootstrap weights: any range of an endless matrix, in chunks, the same for everybody who asks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from steinball.arrays import generator_at
from steinball.gram.workers import share_threads

Chunk = NDArray[np.integer]
Weights = Iterable[Chunk]
"""Chunks of bootstrap weights, each (b, n), in the smallest exact integer dtype. May be read more than once."""

CHUNK = 64
"""Draws per chunk of weights. It fixes which random numbers a draw sees, so it is part of the results."""

_THREADS_FROM = 2**24
_FEW = 2**20


@dataclass(frozen=True, eq=False)
class WeightStream:
    """Rows ``start:stop`` of an endless matrix of weights that depends on ``seed`` and n alone, in chunks.

    ``draw(generator, rows, n)`` gives the rows of one chunk. Chunks are made whole and cut, so that any range of draws
    is the same whoever asks for it, in whatever order.
    """

    draw: Callable[[np.random.Generator, int, int], Chunk]
    n: int
    seed: np.random.SeedSequence
    start: int
    stop: int

    def __eq__(self, other: object) -> bool:
        """Whether the rows are the same, known without drawing them."""
        if not isinstance(other, WeightStream):
            return NotImplemented
        return self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def _key(self) -> tuple[object, ...]:
        return self.draw, self.n, *seed_key(self.seed), self.start, self.stop

    def __iter__(self) -> Iterator[Chunk]:
        if self.n * (self.stop - self.start) <= _FEW:
            return iter(_last_chunks(self))
        return (make() for make in self.makers())

    def makers(self) -> list[Callable[[], Chunk]]:
        """One function per chunk that draws it; they may run at the same time."""
        return [lambda k=k: self._chunk(k) for k in range(self.start // CHUNK, -(-self.stop // CHUNK))]  # type: ignore[misc]

    def _chunk(self, k: int) -> Chunk:
        rows = self.draw(generator_at(self.seed, k), CHUNK, self.n)
        return rows[max(0, self.start - k * CHUNK) : min(CHUNK, self.stop - k * CHUNK)]


@lru_cache(maxsize=2)  # a fit reads them twice, and a next test of the same seed once more
def _last_chunks(stream: WeightStream) -> tuple[Chunk, ...]:
    """The chunks of a short stream, not to be written to."""
    chunks = tuple(make() for make in stream.makers())
    for chunk in chunks:
        chunk.flags.writeable = False
    return chunks


def seed_key(seed: np.random.SeedSequence) -> tuple[object, ...]:
    """What tells seeds apart."""
    entropy = seed.entropy if isinstance(seed.entropy, int | None) else tuple(seed.entropy)
    return entropy, tuple(seed.spawn_key)


@dataclass(frozen=True)
class ChainedWeights:
    """Several streams of weights, one behind the other."""

    streams: tuple[Weights, ...]

    def __iter__(self) -> Iterator[Chunk]:
        return chain.from_iterable(self.streams)


def chunk_makers(weights: Weights) -> list[Callable[[], Chunk]]:
    """The chunks as functions still to be called, where the stream allows it, so that threads can draw them."""
    if isinstance(weights, WeightStream):
        return weights.makers()
    return [lambda chunk=chunk: chunk for chunk in weights]  # type: ignore[misc]


def gather(weights: Weights, n: int, n_jobs: int | None = 1) -> Chunk:
    """All chunks as one matrix (B, n), drawn by several threads when they are large."""
    makers = chunk_makers(weights)
    if not makers:
        return np.empty((0, n), dtype=np.int8)
    if n_jobs == 1 or len(makers) * CHUNK * n < _THREADS_FROM:
        return np.concatenate(list(weights))
    return np.concatenate(list(share_threads(lambda make: make(), makers, n_jobs)))
