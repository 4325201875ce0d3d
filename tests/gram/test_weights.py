"""Streams of weights: any range of rows is the same, whoever asks and in whatever order."""

from __future__ import annotations

import numpy as np
import pytest

from steinball.gram.weights import CHUNK, Chunk, WeightStream, gather

pytestmark = pytest.mark.exact

SEED = np.random.SeedSequence(3)


def draw(generator: np.random.Generator, rows: int, n: int) -> Chunk:
    return generator.integers(0, 100, size=(rows, n), dtype=np.int8)


def stream(start: int, stop: int, n: int = 5, seed: np.random.SeedSequence = SEED) -> WeightStream:
    return WeightStream(draw, n, seed, start, stop)


@pytest.mark.parametrize(("start", "stop"), [(0, 1), (0, CHUNK), (10, CHUNK + 3), (CHUNK, 2 * CHUNK), (70, 150)])
def test_a_range_of_rows_is_a_part_of_the_whole(start: int, stop: int) -> None:
    whole = gather(stream(0, 3 * CHUNK), 5)
    np.testing.assert_array_equal(gather(stream(start, stop), 5), whole[start:stop])
    assert whole.shape == (3 * CHUNK, 5)


def test_a_stream_may_be_read_twice_and_chunks_in_any_order() -> None:
    rows = stream(10, 150)
    first = list(rows)
    makers = rows.makers()
    for k in reversed(range(len(makers))):
        np.testing.assert_array_equal(makers[k](), first[k])
    np.testing.assert_array_equal(np.concatenate(list(rows)), np.concatenate(first))


def test_streams_are_equal_when_their_rows_are() -> None:
    same = np.random.SeedSequence(3)
    assert stream(0, 10) == stream(0, 10, seed=same)
    assert hash(stream(0, 10)) == hash(stream(0, 10, seed=same))
    for other in (stream(0, 11), stream(1, 10), stream(0, 10, n=6), stream(0, 10, seed=np.random.SeedSequence(4))):
        assert stream(0, 10) != other
    assert stream(0, 10) != "rows"


def test_no_rows_are_an_empty_matrix() -> None:
    assert gather([], 7).shape == (0, 7)


@pytest.mark.exact
def test_a_short_stream_is_drawn_once_and_not_written_to() -> None:
    calls: list[int] = []

    def draw(generator: np.random.Generator, rows: int, n: int) -> Chunk:
        calls.append(rows)
        return generator.integers(0, 9, size=(rows, n))

    first, second = (WeightStream(draw, 5, np.random.SeedSequence(3), 0, 100) for _ in range(2))
    np.testing.assert_array_equal(gather(first, 5), gather(second, 5))
    assert calls == [CHUNK, CHUNK]
    assert not any(chunk.flags.writeable for chunk in first)
    other = WeightStream(draw, 5, np.random.SeedSequence(4), 0, 100)
    assert not np.array_equal(gather(first, 5), gather(other, 5))
