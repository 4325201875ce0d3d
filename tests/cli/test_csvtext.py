"""Delimited text to numbers: dialects, columns, and the place of what is not a number."""

from __future__ import annotations

import io
import sys
from itertools import islice
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from steinball.cli import csvtext
from steinball.cli.csvtext import LiveLines, read_csv
from steinball_command.options import DataFile

pytestmark = pytest.mark.exact

EXPECTED = np.array([[1.0, 2.5], [-3.0, 4e-3]])


class Lines:
    """A stream that gives so many lines at a time."""

    def __init__(self, text: str, at_once: int) -> None:
        self.lines, self.at_once = io.StringIO(text, newline=""), at_once

    def read1(self, _: int) -> bytes:
        return "".join(islice(self.lines, self.at_once)).encode()

    def tell(self) -> int:
        return 0


def read_csv_text(text: str, at_once: int = 4096, /, **options: Any) -> Any:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "stdin", SimpleNamespace(buffer=Lines(text, at_once)))
        return read_csv(DataFile("-", **options), lambda size, share: None)[0]


@pytest.mark.parametrize(
    "text",
    [
        "1,2.5\n-3,4e-3\n",
        "x,y\n1,2.5\n-3,4e-3",
        "1;2.5\r\n-3;4e-3\r\n",
        "1\t2.5\n-3\t4e-3\n",
        "  1   2.5\n -3   4e-3\n",
        "velocity (km/s), a 'name'\n1, 2.5\n-3, 4e-3\n",
        '"x","y, squared"\n"1","2.5"\n"-3","4e-3"\n',
        "# written by hand\n\nx y\n1 2.5\n\n-3 4e-3\n\n",
    ],
    ids=["comma", "header", "semicolon", "tab", "white space", "words", "quotes", "comments and blanks"],
)
def test_csv_dialects_give_the_same_numbers(text: str) -> None:
    np.testing.assert_array_equal(read_csv_text(text), EXPECTED)


def test_one_column_may_have_a_header_of_several_words() -> None:
    np.testing.assert_array_equal(read_csv_text('"galaxy velocity"\n1\n2\n'), [[1.0], [2.0]])


@given(
    st.lists(
        st.tuples(*[st.floats(allow_nan=False, allow_infinity=False)] * 3),
        min_size=1,
        max_size=8,
    ),
    st.sampled_from([",", ";", "\t", " "]),
)
def test_every_float_survives_the_way_through_csv(rows: list[tuple[float, ...]], delimiter: str) -> None:
    text = "\n".join(delimiter.join(map(repr, row)) for row in rows)
    np.testing.assert_array_equal(read_csv_text(text), rows)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x,y\n1,2\n3,n/a\n", r"line 3, column 2 \(`y`\): `n/a` stands for a missing value; .*`--missing drop`"),
        ("x,y\n1,2\n\n# no\n,4\n", r"line 5, column 1 \(`x`\): the cell is empty"),
        ("1,2\n3,nan\n", "line 2, column 2: `nan` stands for a missing value; .*`--missing drop`"),
        ("1,2\n3,-inf\n", "line 2, column 2: `-inf` is not finite"),
        ("1;2\n3;4,5\n", "line 2, column 2: `4,5` needs `--decimal ,`"),
        ("1,2\n1_0,3\n", "line 2, column 1: `1_0` is not a number"),
        ("1,2\n3\n", "line 2 has 1 cells, but the first line has 2"),
        ("1;2\n3\n", "line 2 has 1 cells, but the first line has 2"),
        ("1 2\n3\n", "line 2 has 1 cells, but the first line has 2"),
        ("1 2\n3 4 5\n", "line 2 has 3 cells, but the first line has 2"),
        ("1,5;2,5\n3;4\n", "line 1, column 1: `1,5` needs `--decimal ,`"),
        ("1,5;2\n3;4\n", "line 1, column 1: `1,5` needs `--decimal ,`"),
        ("x,2\n3,4\n", "line 1 holds both numbers .* and words .* `--header` or `--no-header`"),
        ("x,y\n", "a header but no data"),
        ("\n# nothing\n", "holds no data"),
        ('""\n""\n', "holds no data"),
        (",0,2\n0,1.5,2.5\n", "line 1, column 1: the cell is empty"),
    ],
)
def test_a_bad_csv_is_refused_with_its_place(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        read_csv_text(text)


def test_a_delimiter_in_a_quoted_cell_that_is_not_read_cuts_nothing() -> None:
    text = 'name,x,y\n"p",1,2\n"a,b",3,4\n"c\nd",5,6\n'
    np.testing.assert_array_equal(read_csv_text(text, columns="y"), [[2.0], [4.0], [6.0]])
    with pytest.raises(ValueError, match="line 3 has 2 cells, but the first line has 3"):
        read_csv_text('name,x,y\n"p",1,2\n"e,f",7\n', columns="y")


def test_a_header_of_numbers_is_read_as_one_when_told_so() -> None:
    np.testing.assert_array_equal(read_csv_text("0,1\n5,6\n", header=True), [[5.0, 6.0]])
    np.testing.assert_array_equal(read_csv_text("0,1\n5,6.5\n"), [[0.0, 1.0], [5.0, 6.5]])
    with pytest.raises(ValueError, match="line 1, column 1: `x` is not a number"):
        read_csv_text("x,y\n5,6\n", header=False)


def test_columns_are_chosen_by_name_or_by_position_from_one() -> None:
    text = "id,name,x,y\n7,a,1,2\n8,b,3,4\n"
    np.testing.assert_array_equal(read_csv_text(text, columns="y,x"), [[2.0, 1.0], [4.0, 3.0]])
    np.testing.assert_array_equal(read_csv_text(text, columns="3, y"), [[1.0, 2.0], [3.0, 4.0]])
    np.testing.assert_array_equal(read_csv_text("1,2\n3,4\n", columns="2"), [[2.0], [4.0]])


@pytest.mark.parametrize(
    "text",
    ["x;y\n1,5;2\n-3e2;+4,25\n", "1,5\t2\n-300\t4,25\n", '"1,5", "2"\n"-300","4,25"\n', "1,5 2,0\n-300 4,25\n"],
    ids=["semicolons", "tabs", "quotes", "white space"],
)
def test_decimal_commas_are_read_where_they_are_said_to_be_there(text: str) -> None:
    np.testing.assert_array_equal(read_csv_text(text, decimal=","), [[1.5, 2.0], [-300.0, 4.25]])


def test_one_column_of_decimal_commas_is_read_where_it_is_said_to_be_one() -> None:
    np.testing.assert_array_equal(read_csv_text("1,5\n2,5\n", decimal=","), [[1.5], [2.5]])
    np.testing.assert_array_equal(read_csv_text("body height\n1,5\n2\n", decimal=","), [[1.5], [2.0]])


@pytest.mark.parametrize(
    ("cell", "options", "words"),
    [
        ("1.886", {"decimal": ","}, '`1.886` needs `--decimal , --thousands "."` or `--decimal .`; say which'),
        ("1.234,5", {"decimal": ","}, '`1.234,5` needs `--decimal , --thousands "."`'),
        ("1.234,5", {}, '`1.234,5` needs `--decimal , --thousands "."`'),
        ("4.25", {"decimal": ","}, "`4.25` needs `--decimal .`"),
        ("1.88", {"decimal": ",", "thousands": "."}, "`1.88` needs `--decimal .`"),
        ("1,225.13", {}, '`1,225.13` needs `--decimal . --thousands ","`'),
        ("1,225", {}, '`1,225` needs `--decimal ,` or `--decimal . --thousands ","`; say which'),
        ("1'225", {}, '`1\'225` needs `--decimal , --thousands "\'"` or `--decimal . --thousands "\'"`; say which'),
        ("1 225,5", {"decimal": ","}, '`1 225,5` needs `--decimal , --thousands " "`'),
        ("12,25", {"thousands": ","}, "`12,25` needs `--decimal ,`"),
        ("1,225,13", {"thousands": ","}, "`1,225,13` is not a number; .* or, for a missing value, say `--na 1,225,13`"),
    ],
)
def test_marks_that_were_not_said_to_be_there_are_refused(cell: str, options: dict[str, str], words: str) -> None:
    """A point beside decimal commas was read as one: 1.886 for 1886."""
    with pytest.raises(ValueError, match=rf"line 3, column 2 \(`b`\): {words}"):
        read_csv_text(f"a;b\n1;2\n1;{cell}\n", **options)
    np.testing.assert_array_equal(read_csv_text(f"a;b\n1;2\n1;{cell}\n", columns="a", **options), [[1.0], [1.0]])


@pytest.mark.parametrize(
    ("text", "options"),
    [
        ("a;b\n1,225.13;2\n-12,345,678;1e3\n", {"thousands": ","}),
        ("1,225.13;2\n-12,345,678;1e3\n", {"thousands": ","}),
        ('"1,225.13","2"\n"-12,345,678","1000"\n', {"thousands": ","}),
        ('a,b\n"1,225.13", "2"\n"-12,345,678",1000\n', {"thousands": ","}),
        ("1.225,13;2\n-12.345.678;1.000,0\n", {"thousands": ".", "decimal": ","}),
        ("1 225,13;2\n-12\u202f345\xa0678;1000\n", {"thousands": " ", "decimal": ","}),
        ("1'225.13\t2\n-12'345'678\t1'000\n", {"thousands": "'"}),
    ],
)
def test_thousands_are_read_where_they_are_said_to_be_there(text: str, options: dict[str, str]) -> None:
    np.testing.assert_array_equal(read_csv_text(text, **options), [[1225.13, 2.0], [-12345678.0, 1000.0]])


def test_one_column_of_thousands_is_read() -> None:
    for text, options in (
        ("1,225.5\n7\n", {"thousands": ","}), ("1 225,5\n7\n", {"thousands": " ", "decimal": ","}),
        ("x\n1.225,5\n7\n", {"thousands": ".", "decimal": ","}),
    ):  # fmt: skip
        np.testing.assert_array_equal(read_csv_text(text, **options), [[1225.5], [7.0]])


@pytest.mark.parametrize(
    ("text", "choice"),
    [
        (",x,y\n0,1.5,2\n1,2.5,3\n", "2,3"),
        ("Unnamed: 0,x,y\n0,1.5,2\n1,2.5,3\n", "2,3"),
        ("\tx\ty\n0\t1.5\t2\n1\t2.5\t3\n", "2,3"),
        (',"x","y"\n"1",1.5,2\n"2",2.5,3\n', "2,3"),
        (",0,1\n0,1.5,2\n1,2.5,3\n", "2,3"),
        (",,x,y\na,0,1.5,2\na,1,2.5,3\n", "3,4"),
    ],
    ids=["pandas", "read and written again", "tabs", "R", "array", "two levels"],
)
def test_the_index_of_a_frame_is_not_taken_for_a_coordinate(text: str, choice: str) -> None:
    with pytest.raises(ValueError, match=rf"looks like the index of a pandas frame.*`--columns {choice}`"):
        read_csv_text(text)
    np.testing.assert_array_equal(read_csv_text(text, columns=choice), [[1.5, 2.0], [2.5, 3.0]])


def test_a_column_without_a_name_elsewhere_is_read() -> None:
    np.testing.assert_array_equal(read_csv_text("x,,y\n1,2,3\n"), [[1.0, 2.0, 3.0]])


@pytest.mark.parametrize("text", ["1,5\n2,75\n", "-1,5\n+0,25e3\n\n# end\n", "1,2"])
def test_a_column_of_decimal_commas_is_not_taken_for_two_columns(text: str) -> None:
    with pytest.raises(ValueError, match=r"one number with a decimal comma, or two whole numbers.*`--columns 1,2`"):
        read_csv_text(text)
    assert read_csv_text(text, columns="1,2").shape[1] == 2


@pytest.mark.parametrize("text", ["1,5\n2,-7\n", "1,5\n2.5,7\n", "1, 5\n2, 7\n", "x,y\n1,5\n2,7\n", "1,5,2\n2,7,3\n"])
def test_two_columns_that_are_no_decimal_commas_are_read(text: str) -> None:
    assert read_csv_text(text).shape == (2, text.splitlines()[-1].count(",") + 1)


def test_a_decimal_comma_may_be_ruled_out_far_into_a_file() -> None:
    assert read_csv_text("1,5\n" * 95 + "1,5.5\n", 10).shape == (96, 2)


@pytest.mark.parametrize(
    ("text", "columns", "message"),
    [
        ("x,y\n1,2\n", "z", "no column `z`; the columns are called x, y"),
        ("1,2\n3,4\n", "0", "no column `0`; the columns are numbered 1 to 2"),
        ("1,2\n3,4\n", "3", "no column `3`"),
        ("x,x\n1,2\n", "x", "several columns are called `x`"),
        ("x,y\n1,2\n", "y,y", "`--columns y,y` names column 2 twice"),
        ("x,y\n1,2\n", "x, 1", "`--columns x, 1` names column 1 twice"),
    ],
)
def test_a_column_that_is_not_there_is_named(text: str, columns: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        read_csv_text(text, columns=columns)


def test_what_is_no_number_is_found_in_every_block_of_a_file() -> None:
    for bad, message in (
        ("1,x", "is not a number"),
        ("1,2,3", "has 3 cells"),
        ("1,1_0", "not a number"),
        ("1,nan", "a missing value"),
        ("1,inf", "finite"),
    ):
        with pytest.raises(ValueError, match=rf"line 26.*{message}"):
            read_csv_text("1,2.5\n" * 25 + bad + "\n" + "1,2.5\n" * 25, 10)


@pytest.mark.parametrize("gap", ["", '""', "   ", "NA"], ids=["blank line", "quotes", "white space", "word"])
@pytest.mark.parametrize("header", ["", "x\n", "# made by hand\n\nx\n"], ids=["bare", "header", "comment"])
def test_a_gap_in_a_file_of_one_column_is_a_missing_value(gap: str, header: str) -> None:
    """Wherever blocks of lines end; `np.loadtxt` and others leave blank lines out, and n with them."""
    cells = ["1", gap, gap, "2", "3", gap, "4"]
    text = header + "".join(f"{cell}\n" for cell in cells)
    line = header.count("\n") + 2
    for size in range(1, 9):
        with pytest.raises(ValueError, match=rf"line {line}, column 1( \(`x`\))?: .*`--missing drop`"):
            read_csv_text(text, size)
        found = read_csv_text(text, size, missing="drop")[:, 0]
        np.testing.assert_array_equal(found, [1.0, np.nan, np.nan, 2.0, 3.0, np.nan, 4.0])


@pytest.mark.parametrize("size", [1, 2, 5])
def test_lines_are_cut_alike_wherever_what_comes_is_cut(size: int) -> None:
    stream = io.BytesIO(b"one\r\ntwo\rthree\n\r\n\r\rlast")
    parts = SimpleNamespace(read1=lambda _: stream.read(size))
    assert list(LiveLines(parts, DataFile("-"))) == ["one\r\n", "two\r", "three\n", "\r\n", "\r", "\r", "last"]


def test_a_long_line_is_not_searched_for_its_end_again_and_again(monkeypatch: pytest.MonkeyPatch) -> None:
    searched, pattern = [], csvtext._LINE

    def findall(text: str) -> list[str]:
        searched.append(text)
        return pattern.findall(text)

    monkeypatch.setattr(csvtext, "_LINE", SimpleNamespace(findall=findall))
    stream = io.BytesIO(b"1\n" + b"0" * 200_000)
    parts = SimpleNamespace(read1=lambda _: stream.read(1000))
    assert [len(line) for line in LiveLines(parts, DataFile("-"))] == [2, 200_000]
    assert set(searched) == {"1\n", ""}


@pytest.mark.parametrize("size", [1, 2, 4096])
def test_blank_lines_are_no_rows_at_the_ends_of_a_file_or_between_rows_of_several_cells(size: int) -> None:
    for text in ("\n\n1\n2\n\n\n", "1\n# half\n# past\n2\n", "\n# one\n\nx\n1\n# two\n2\n\n", "x\r\n1\r\n2\r\n\r\n"):
        np.testing.assert_array_equal(read_csv_text(text, size), [[1.0], [2.0]])
    for text in ("x,y\n\n1,2.5\n\n   \n3,4\n\n", '"x","y"\n\n"1","2.5"\n\n3,4\n\n', "1 2.5\n\n3 4\n"):
        np.testing.assert_array_equal(read_csv_text(text, size), [[1.0, 2.5], [3.0, 4.0]])


@pytest.mark.parametrize("size", [1, 4096])
def test_texts_and_numbers_may_be_declared_as_missing(size: int) -> None:
    text = "x,y\n1,-99.9\nk.A.,2\n3,-9.99e1\n4,5\n?,NA\n"
    with pytest.raises(ValueError, match=r"line 3, column 1 \(`x`\): `k.A.` is not a number; .* say `--na k.A.`"):
        read_csv_text(text, size)
    na = ["k.A.", "-99.90", "?"]
    with pytest.raises(ValueError, match=r"line 2, column 2 \(`y`\): `-99.9` stands for a missing value; .*drop"):
        read_csv_text(text, size, na=na)
    nan = np.nan
    expected = [[1.0, nan], [nan, 2.0], [3.0, nan], [4.0, 5.0], [nan, nan]]
    np.testing.assert_array_equal(read_csv_text(text, size, na=na, missing="drop"), expected)


def test_a_missing_number_is_written_as_the_others_are() -> None:
    text = "x;y\n1;-99,9\n-1.000;2\n"
    options = {"decimal": ",", "thousands": ".", "missing": "drop"}
    np.testing.assert_array_equal(read_csv_text(text, na=["-99,9", "-1000"], **options), [[1.0, np.nan], [np.nan, 2.0]])


def test_units_below_a_header_are_an_error_with_its_remedy() -> None:
    text = "pressure,temperature\nkPa,°C\n101.5,20\n99,21\n"
    with pytest.raises(ValueError, match=r"line 2, column 1 \(`pressure`\): `kPa` is not .*`--skip-lines 2`"):
        read_csv_text(text)
    np.testing.assert_array_equal(read_csv_text(text, skip_lines="2"), [[101.5, 20.0], [99.0, 21.0]])


@pytest.mark.parametrize("lines", ["1-2,4", " 4 , 1 - 2", "4,1,2", "1-2,4-4,99"])
def test_lines_are_left_out_and_the_others_keep_their_numbers(lines: str) -> None:
    text = "Export of 1 May\nby hand; with a semicolon\nx,y\nm,s\n1,2.5\n3,4\n"
    np.testing.assert_array_equal(read_csv_text(text, skip_lines=lines), [[1.0, 2.5], [3.0, 4.0]])
    with pytest.raises(ValueError, match=r"line 7, column 2 .*`--columns`, or, for a missing value, say `--na six`"):
        read_csv_text(text + "5,six\n", skip_lines=lines)
    one = "x\n1\nhalf\n3\n"  # not a missing value of a file with one column
    np.testing.assert_array_equal(read_csv_text(one, skip_lines="3"), [[1.0], [3.0]])


@pytest.mark.parametrize("lines", ["", "two", "1-", "-1", "1;2", "1,,2"])
def test_lines_to_leave_out_are_numbers(lines: str) -> None:
    with pytest.raises(ValueError, match=f"`--skip-lines` must be numbers of lines, such as 2 or 1-3,5, got `{lines}`"):
        read_csv_text("1\n2\n", skip_lines=lines)
