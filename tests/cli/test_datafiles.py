"""Files to samples: what is read, and what is said about what cannot be."""

from __future__ import annotations

import io
import pickle
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from steinball.cli.csvtext import read_csv_text
from steinball.cli.datafiles import read_samples

pytestmark = pytest.mark.exact

EXPECTED = np.array([[1.0, 2.5], [-3.0, 4e-3]])


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
        ("x,y\n1,2\n3,n/a\n", r"line 3, column 2 \(`y`\): `n/a` is not a number; choose numeric columns"),
        ("x,y\n1,2\n\n# no\n,4\n", r"line 5, column 1 \(`x`\): the cell is empty"),
        ("1,2\n3,nan\n", "line 2, column 2: `nan` is not finite"),
        ("1,2\n3,-inf\n", "line 2, column 2: `-inf` is not finite"),
        ("1;2\n3;4,5\n", "line 2, column 2: `4,5` has a decimal comma"),
        ("1,2\n1_0,3\n", "line 2, column 1: `1_0` is not a number"),
        ("1,2\n3\n", "line 2 has 1 cells, but the first line has 2"),
        ("1;2\n3\n", "line 2 has 1 cells, but the first line has 2"),
        ("1 2\n3\n", "line 2 has 1 cells, but the first line has 2"),
        ("1,5;2,5\n3;4\n", "line 1, column 1: `1,5` has a decimal comma"),
        ("1,5;2\n3;4\n", "line 1, column 1: `1,5` has a decimal comma"),
        ("x,2\n3,4\n", "line 1 holds both numbers .* and words .* `--header` or `--no-header`"),
        ("x,y\n", "a header but no data"),
        ("\n# nothing\n", "holds no data"),
        (",0,1\n0,1.5,2.5\n", "line 1, column 1: the cell is empty"),
    ],
)
def test_a_bad_csv_is_refused_with_its_place(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        read_csv_text(text)


def test_a_header_of_numbers_is_read_as_one_when_told_so() -> None:
    np.testing.assert_array_equal(read_csv_text("0,1\n5,6\n", header=True), [[5.0, 6.0]])
    np.testing.assert_array_equal(read_csv_text("0,1\n5,6\n"), [[0.0, 1.0], [5.0, 6.0]])
    with pytest.raises(ValueError, match="line 1, column 1: `x` is not a number"):
        read_csv_text("x,y\n5,6\n", header=False)


def test_columns_are_chosen_by_name_or_by_position_from_one() -> None:
    text = "id,name,x,y\n7,a,1,2\n8,b,3,4\n"
    np.testing.assert_array_equal(read_csv_text(text, columns="y,x"), [[2.0, 1.0], [4.0, 3.0]])
    np.testing.assert_array_equal(read_csv_text(text, columns="3, y"), [[1.0, 2.0], [3.0, 4.0]])
    np.testing.assert_array_equal(read_csv_text("1,2\n3,4\n", columns="2"), [[2.0], [4.0]])


@pytest.mark.parametrize(
    ("text", "columns", "message"),
    [
        ("x,y\n1,2\n", "z", "no column `z`; the columns are called x, y"),
        ("1,2\n3,4\n", "0", "no column `0`; the columns are numbered 1 to 2"),
        ("1,2\n3,4\n", "3", "no column `3`"),
        ("x,x\n1,2\n", "x", "several columns are called `x`"),
    ],
)
def test_a_column_that_is_not_there_is_named(text: str, columns: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        read_csv_text(text, columns=columns)


def test_csv_with_a_byte_order_mark_and_other_endings(tmp_path: Path) -> None:
    path = tmp_path / "points.TXT"
    path.write_bytes(b"\xef\xbb\xbfx,y\n1,2.5\n-3,4e-3\n")
    np.testing.assert_array_equal(read_samples(str(path)), EXPECTED)
    np.testing.assert_array_equal(read_samples(str(path), columns="x"), EXPECTED[:, :1])


def test_standard_input_is_csv(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(b"1,2.5\n-3,4e-3\n")))
    np.testing.assert_array_equal(read_samples("-"), EXPECTED)


def test_text_that_is_not_utf8_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "points.csv"
    path.write_bytes(b"caf\xe9\n1\n2\n")
    with pytest.raises(ValueError, match="must be UTF-8 text, but byte 4 is not"):
        read_samples(str(path))


def test_numpy_files(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", EXPECTED.astype(np.float32))
    read = read_samples(str(tmp_path / "a.npy"))
    assert read.dtype == np.float32
    np.testing.assert_array_equal(read, EXPECTED.astype(np.float32))
    np.save(tmp_path / "b.npy", np.arange(3))
    np.testing.assert_array_equal(read_samples(str(tmp_path / "b.npy")), [[0], [1], [2]])
    np.testing.assert_array_equal(read_samples(str(tmp_path / "a.npy"), columns="2"), read[:, 1:])


def test_the_array_of_an_npz_is_chosen_by_key(tmp_path: Path) -> None:
    np.savez(tmp_path / "one.npz", x=EXPECTED)
    np.savez(tmp_path / "two.npz", x=EXPECTED, y=-EXPECTED)
    np.testing.assert_array_equal(read_samples(str(tmp_path / "one.npz")), EXPECTED)
    np.testing.assert_array_equal(read_samples(str(tmp_path / "two.npz"), key="y"), -EXPECTED)
    with pytest.raises(ValueError, match=r"holds 2 arrays \(x, y\); choose one with `--key`"):
        read_samples(str(tmp_path / "two.npz"))
    with pytest.raises(ValueError, match="has no array `z`; it has x, y"):
        read_samples(str(tmp_path / "two.npz"), key="z")


class Bomb:
    """Pickled as a call of ``exec``: unpickling it would set a flag."""

    exploded = False

    def __reduce__(self) -> tuple[Any, ...]:
        return setattr, (Bomb, "exploded", True)


@pytest.mark.parametrize("suffix", [".npy", ".npz"])
def test_pickles_are_never_loaded(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"bomb{suffix}"
    objects = np.array([Bomb()], dtype=object)
    if suffix == ".npy":
        np.save(path, objects, allow_pickle=True)
    else:
        np.savez(path, x=objects)
    with pytest.raises(ValueError, match="never unpickles"):
        read_samples(str(path))
    path.write_bytes(pickle.dumps(Bomb()))
    with pytest.raises(ValueError, match=r"never unpickles|could not be read as a NumPy file"):
        read_samples(str(path))
    assert not Bomb.exploded


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (np.zeros((2, 2, 2)), r"shape \(n,\) or \(n, d\), got \(2, 2, 2\)"),
        (np.zeros(3, dtype=complex), "must hold real numbers, got dtype complex128"),
        (np.array(["a", "b"]), "must hold real numbers, got dtype <U1"),
        (np.float64(3.0), r"got \(\)"),
        (np.array([[1.0, 2.0], [3.0, np.nan]]), "nan in row 2, column 2"),
    ],
)
def test_a_numpy_file_of_something_else_is_refused(tmp_path: Path, array: Any, message: str) -> None:
    np.save(tmp_path / "a.npy", array)
    with pytest.raises(ValueError, match=message):
        read_samples(str(tmp_path / "a.npy"))


def test_a_truncated_numpy_file_is_refused(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", EXPECTED)
    (tmp_path / "b.npy").write_bytes((tmp_path / "a.npy").read_bytes()[:-4])
    (tmp_path / "c.npz").write_bytes(b"PK\x03\x04 not a zip file")
    (tmp_path / "d.npy").write_bytes(b"")
    for name in ("b.npy", "c.npz", "d.npy"):
        with pytest.raises(ValueError, match="could not be read as a NumPy file"):
            read_samples(str(tmp_path / name))


def test_parquet(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    path = str(tmp_path / "a.parquet")
    parquet.write_table(pa.table({"id": ["a", "b"], "x": EXPECTED[:, 0], "n": [3, 4], "m": [1.0, None]}), path)
    np.testing.assert_array_equal(read_samples(path, columns="n,x"), [[3.0, 1.0], [4.0, -3.0]])
    with pytest.raises(
        ValueError, match=r"column `id` of .* holds string, not numbers; choose others with `--columns`"
    ):
        read_samples(path)
    with pytest.raises(ValueError, match=r"column `m` of .* has no finite number in row 2"):
        read_samples(path, columns="m")
    Path(path).write_bytes(b"not parquet")
    with pytest.raises(ValueError, match="could not be read as Parquet"):
        read_samples(path)


def test_parquet_without_pyarrow_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    with pytest.raises(ValueError, match=r"pip install 'steinball\[io\]'"):
        read_samples("a.parquet")


@pytest.mark.parametrize(
    ("source", "options", "message"),
    [
        ("a.xlsx", {}, "must end in .csv"),
        ("a", {}, "must end in .csv"),
        ("a.csv", {"key": "x"}, "`--key` names an array of an NPZ file"),
        ("a.npy", {"header": True}, "are for CSV files"),
    ],
)
def test_options_that_do_not_belong_to_the_file_are_refused(source: str, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        read_samples(source, **options)
