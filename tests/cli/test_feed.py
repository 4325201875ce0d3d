"""Rows of a feed: lines as they come, in pieces of any size, and the rows before a line that is none."""

from __future__ import annotations

import io
import os
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from steinball.cli import csvtext
from steinball.cli.csvtext import LiveLines, TextRows, complete_rows, read_csv
from steinball.cli.datafiles import open_feed
from steinball_command.options import DataFile

pytestmark = pytest.mark.exact
PIPE = DataFile("-")


class Pieces:
    """A stream that gives its bytes in pieces of the given sizes."""

    def __init__(self, content: bytes, sizes: list[int]) -> None:
        self.rest, self.sizes = content, sizes

    def read1(self, _: int) -> bytes:
        size = self.sizes.pop() if self.sizes else len(self.rest)
        piece, self.rest = self.rest[:size], self.rest[size:]
        return piece


def taken(content: str, sizes: list[int] | None = None, **options: Any) -> list[list[float]]:
    stream = Pieces(content.encode(options.get("encoding", "utf-8")), sizes or [])
    return [row for batch in complete_rows(TextRows(stream, DataFile("-", **options))) for row in batch.tolist()]


@given(st.lists(st.sampled_from(["a", "ü", "\n", "\r", "\r\n", ",", "1"])), st.lists(st.integers(1, 5)))
def test_lines_are_those_of_a_file_in_whatever_pieces_they_come(parts: list[str], sizes: list[int]) -> None:
    text = "".join(parts)
    assert list(LiveLines(Pieces(text.encode(), sizes), PIPE)) == list(io.StringIO(text, newline=""))


@pytest.mark.parametrize(
    ("content", "options"),
    [
        ("x,y\n1,2\n3,4\n5,6", {}),
        ("# made today\nx;y\n1;2\n3;4\n", {"columns": "y"}),
        ("1 2\r\n3 4\r\n", {}),
        ('"a\nb",c\n1,2\n"3",4\n', {}),
        ("x\nm\n1\n2\n3\n", {"skip_lines": "2,4"}),
        ("x\n1,5\n2,5\n", {"decimal": ",", "header": True}),
        ("\ufeffx\n1\n2\n", {}),
        ("x\n1\n2\n", {"encoding": "utf-16"}),
        ("7\n", {}),
    ],
)
def test_a_feed_reads_what_a_file_reads(content: str, options: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_bytes(content.encode(options.get("encoding", "utf-8")))
    read = read_csv(DataFile(str(path), **options), lambda size, share: None)[0]
    for sizes in ([], [1] * 99, [3, 2] * 30):
        assert taken(content, sizes, **options) == read.tolist()


def test_rows_come_before_the_stream_ends() -> None:
    reader, writer = os.pipe()
    with open(reader, "rb") as stream, open(writer, "wb", buffering=0) as pipe:
        pipe.write(b"x\n1\n2\n3")
        batches = iter(TextRows(stream, PIPE))
        assert next(batches).tolist() == [[1.0], [2.0]]
        pipe.write(b"\n4\n")
        assert next(batches).tolist() == [[3.0], [4.0]]
        threading.Timer(0.05, pipe.close).start()
        assert list(batches) == []


def test_a_million_rows_are_never_all_there() -> None:
    """A stream that makes its rows when they are asked for, of which no more than two batches are kept."""

    class Endless:
        given = 0

        def read1(self, _: int) -> bytes:
            self.given += 1
            return b"0.25\n" * 5000 if self.given <= 200 else b""

    sizes = [len(batch) for batch in TextRows(Endless(), PIPE)]
    assert sum(sizes) == 1_000_000
    assert max(sizes) <= 5000


@pytest.mark.parametrize(
    ("bad", "message"),
    [("nan", "line 4, column 1"), ("3,4", "line 4 has 2 cells"), ("oh", "`oh` is not a number"), ("inf", "not finite")],
)
@pytest.mark.parametrize("sizes", [[], [1] * 40])
def test_the_rows_before_a_bad_line_are_given_first(bad: str, message: str, sizes: list[int]) -> None:
    feed, found = TextRows(Pieces(f"x\n1\n2\n{bad}\n5\n".encode(), list(sizes)), PIPE), list[Any]()
    with pytest.raises(ValueError, match=message):
        found.extend(batch for batch in feed)
    assert np.concatenate(found).ravel().tolist() == [1.0, 2.0]


def test_missing_values_may_be_dropped() -> None:
    assert taken("x,y\n1,2\n,3\n4,NA\n5,6\n", missing="drop") == [[1.0, 2.0], [5.0, 6.0]]


@pytest.mark.parametrize(
    ("content", "options", "message"),
    [
        (b"", {}, "holds no data"),
        (b"\xff\xfe\xff", {}, "must be UTF-8 text"),
        (b"1,5\n2,5\n", {}, "decimal comma, or two whole numbers"),
        (b"x\n1\n", {"encoding": "no-such"}, "`--encoding`"),
        (b"a,b\n1,2\n", {"columns": "c"}, "`--columns`"),
    ],
)
def test_what_is_no_feed_is_refused(content: bytes, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        list(complete_rows(TextRows(io.BytesIO(content), DataFile("-", **options))))


def test_a_line_without_end_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(csvtext, "_LONGEST_LINE", 100)
    with pytest.raises(ValueError, match="is it text"):
        list(LiveLines(io.BytesIO(b"1" * 1000), PIPE))


def test_files_of_arrays_are_refused() -> None:
    with pytest.raises(ValueError, match="must be text"), open_feed(DataFile("rows.npy")):
        pass
