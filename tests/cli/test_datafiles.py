"""Files to samples: what is read, and what is said about what cannot be."""

from __future__ import annotations

import io
import pickle
import subprocess
import sys
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import steinball as sb
from steinball.arrays import as_samples
from steinball.cli import csvtext, datafiles
from steinball_command.options import DataFile

pytestmark = pytest.mark.exact

EXPECTED = np.array([[1.0, 2.5], [-3.0, 4e-3]])


def read_table(source: str, *, memory_limit: str | None = None, **options: Any) -> Any:
    return datafiles.read_table(DataFile(source, **options), memory_limit)


def test_csv_with_a_byte_order_mark_and_other_endings(tmp_path: Path) -> None:
    path = tmp_path / "points.TXT"
    path.write_bytes(b"\xef\xbb\xbfx,y\n1,2.5\n-3,4e-3\n")
    np.testing.assert_array_equal(read_table(str(path)).samples, EXPECTED)
    np.testing.assert_array_equal(read_table(str(path), columns="x").samples, EXPECTED[:, :1])


def test_standard_input_is_csv(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(b"1,2.5\n-3,4e-3\n")))
    np.testing.assert_array_equal(read_table("-").samples, EXPECTED)


def test_text_that_is_not_utf8_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "points.csv"
    path.write_bytes(b"caf\xe9\n1\n2\n")
    with pytest.raises(ValueError, match="must be UTF-8 text, but line 1 is not"):
        read_table(str(path))


@pytest.mark.parametrize("encoding", ["latin-1", "cp1252", "utf-16", "utf-16-le", "UTF-8", "utf-8-sig"])
def test_an_encoding_that_is_named_is_read(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "points.csv"
    path.write_bytes("größe;höhe\r\n1;2,5\r\n-3;4e-3\r\n".encode(encoding))
    table = read_table(str(path), encoding=encoding, decimal=",")
    assert table.names == ("größe", "höhe")
    np.testing.assert_array_equal(table.samples, EXPECTED)
    if encoding in ("latin-1", "cp1252", "utf-16"):
        other = "utf-16" if encoding == "utf-16" else "latin-1"
        with pytest.raises(ValueError, match=f"must be UTF-8 text, but line 1 is not; .* `--encoding {other}`"):
            read_table(str(path))


@pytest.mark.parametrize("encoding", ["utf-16", "utf-32", "ascii", "utf-7", "idna"])
def test_an_encoding_that_is_not_the_files_is_refused(tmp_path: Path, encoding: str) -> None:
    (tmp_path / "points.csv").write_bytes("größe\n1\n2\n".encode())
    with pytest.raises(ValueError, match=f"must be {encoding} text, but line 1 is not; name its encoding"):
        read_table(str(tmp_path / "points.csv"), encoding=encoding)


def test_an_encoding_that_nobody_knows_is_refused(tmp_path: Path) -> None:
    (tmp_path / "points.csv").write_text("1\n2\n")
    for name in ("klingon", "hex", ""):
        with pytest.raises(ValueError, match=f"`--encoding` must be one that Python knows, got `{name}`"):
            read_table(str(tmp_path / "points.csv"), encoding=name)


def test_standard_input_may_have_an_encoding_and_stays_open(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.BytesIO("café\n1\n2\n".encode("latin-1"))
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=stream))
    assert read_table("-", encoding="latin-1").names == ("café",)
    assert not stream.closed


def test_lines_may_end_with_a_carriage_return(tmp_path: Path) -> None:
    path = tmp_path / "points.csv"
    for text in (b"x,y\r1,2.5\r-3,4e-3\r", b'"x\ry",z\r\n1,2.5\r\n-3,4e-3'):
        path.write_bytes(text)
        np.testing.assert_array_equal(read_table(str(path)).samples, EXPECTED)


def test_a_byte_that_is_not_utf8_is_found_far_into_a_file(tmp_path: Path) -> None:
    path = tmp_path / "points.csv"
    path.write_bytes(b"\xef\xbb\xbf" + b"1,2.5\n" * 5000 + b"1,\xff\n")
    with pytest.raises(ValueError, match="but line 5001 is not"):
        read_table(str(path))


def test_a_line_without_an_end_is_not_read_as_a_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(csvtext, "_LONGEST_LINE", 1000)
    path = tmp_path / "points.csv"
    path.write_bytes(b"1,2.5\n" + b"0" * 10**6)
    with pytest.raises(ValueError, match=r"line 2 of .* has more than 1.0 kB; is it text\?"):
        read_table(str(path))


def test_numpy_files(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", EXPECTED.astype(np.float32))
    read = read_table(str(tmp_path / "a.npy")).samples
    assert read.dtype == np.float32
    np.testing.assert_array_equal(read, EXPECTED.astype(np.float32))
    np.save(tmp_path / "b.npy", np.arange(3))
    np.testing.assert_array_equal(read_table(str(tmp_path / "b.npy")).samples, [[0], [1], [2]])
    np.testing.assert_array_equal(read_table(str(tmp_path / "a.npy"), columns="2").samples, read[:, 1:])


def test_the_array_of_an_npz_is_chosen_by_key(tmp_path: Path) -> None:
    np.savez(tmp_path / "one.npz", x=EXPECTED)
    np.savez(tmp_path / "two.npz", x=EXPECTED, y=-EXPECTED)
    np.testing.assert_array_equal(read_table(str(tmp_path / "one.npz")).samples, EXPECTED)
    np.testing.assert_array_equal(read_table(str(tmp_path / "two.npz"), key="y").samples, -EXPECTED)
    with pytest.raises(ValueError, match=r"holds 2 arrays \(x, y\); choose one with `--key`"):
        read_table(str(tmp_path / "two.npz"))
    with pytest.raises(ValueError, match="has no array `z`; it has x, y"):
        read_table(str(tmp_path / "two.npz"), key="z")


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
        read_table(str(path))
    path.write_bytes(pickle.dumps(Bomb()))
    with pytest.raises(ValueError, match=r"never unpickles|could not be read as a NumPy file"):
        read_table(str(path))
    assert not Bomb.exploded


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (np.zeros((2, 2, 2)), r"shape \(n,\) or \(n, d\), got \(2, 2, 2\)"),
        (np.zeros(3, dtype=complex), "must hold real numbers, got dtype complex128"),
        (np.array(["a", "b"]), "must hold real numbers, got dtype <U1"),
        (np.float64(3.0), r"got \(\)"),
        (np.array([[1.0, 2.0], [3.0, np.nan]]), "column 2 of .* has no number in row 2; .*`--missing drop`"),
    ],
)
def test_a_numpy_file_of_something_else_is_refused(tmp_path: Path, array: Any, message: str) -> None:
    np.save(tmp_path / "a.npy", array)
    with pytest.raises(ValueError, match=message):
        read_table(str(tmp_path / "a.npy"))


def test_a_truncated_numpy_file_is_refused(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", EXPECTED)
    (tmp_path / "b.npy").write_bytes((tmp_path / "a.npy").read_bytes()[:-4])
    (tmp_path / "c.npz").write_bytes(b"PK\x03\x04 not a zip file")
    (tmp_path / "d.npy").write_bytes(b"")
    for name in ("b.npy", "c.npz", "d.npy"):
        with pytest.raises(ValueError, match="could not be read as a NumPy file"):
            read_table(str(tmp_path / name))


def test_parquet(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    path = str(tmp_path / "a.parquet")
    parquet.write_table(pa.table({"id": ["a", "b"], "x": EXPECTED[:, 0], "n": [3, 4], "m": [1.0, None]}), path)
    np.testing.assert_array_equal(read_table(path, columns="n,x").samples, [[3.0, 1.0], [4.0, -3.0]])
    with pytest.raises(
        ValueError, match=r"column `id` of .* holds string, not numbers; choose others with `--columns`"
    ):
        read_table(path)
    with pytest.raises(ValueError, match=r"column `m` of .* has no number in row 2"):
        read_table(path, columns="m")
    Path(path).write_bytes(b"not parquet")
    with pytest.raises(ValueError, match="could not be read as Parquet"):
        read_table(path)


def write_parquet(path: Path, columns: dict[str, Any] | Any, rows_per_group: int) -> str:
    pa = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    table = pa.table(columns) if isinstance(columns, dict) else columns
    parquet.write_table(table, path, row_group_size=rows_per_group)
    return str(path)


def test_row_groups_and_batches_are_put_together_in_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Groups of 30 rows read 7 rows at a time, columns in another order than in the file."""
    monkeypatch.setattr(datafiles, "_ROWS_AT_ONCE", 7)
    x = np.random.default_rng(0).normal(size=(100, 3))
    path = write_parquet(tmp_path / "a.parquet", {name: x[:, k] for k, name in enumerate("abc")}, 30)
    np.testing.assert_array_equal(read_table(path).samples, x)
    np.testing.assert_array_equal(read_table(path, columns="c,a").samples, x[:, [2, 0]])
    np.testing.assert_array_equal(read_table(path, columns="b,1").samples, x[:, [1, 0]])


@pytest.mark.parametrize(("value", "message"), [(None, "no number"), (float("nan"), "no number"), (-np.inf, "-inf")])
def test_what_is_missing_in_a_later_row_group_is_named_with_its_row_and_column(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, value: float | None, message: str
) -> None:
    monkeypatch.setattr(datafiles, "_ROWS_AT_ONCE", 7)
    values: list[float | None] = list(range(100))
    values[82] = value
    path = write_parquet(tmp_path / "a.parquet", {"x": np.zeros(100), "y": values}, 30)
    with pytest.raises(ValueError, match=rf"column `y` of .* has {message} in row 83; remove or impute it"):
        read_table(path)
    np.testing.assert_array_equal(read_table(path, columns="x").samples, np.zeros((100, 1)))


def test_integers_with_a_null_do_not_become_floats_first(tmp_path: Path) -> None:
    path = write_parquet(tmp_path / "a.parquet", {"k": [2**60 + 1, None]}, 10)
    with pytest.raises(ValueError, match=r"column `k` of .* has no number in row 2"):
        read_table(path)


def test_types_are_read_from_the_schema_before_any_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_parquet(
        tmp_path / "a.parquet", {"x": [1.0, 2.0], "day": np.array(["2020-01-01"] * 2, dtype="M8[D]")}, 1
    )
    parquet = pytest.importorskip("pyarrow.parquet")
    monkeypatch.setattr(parquet.ParquetFile, "iter_batches", None)  # reading would fail in another way
    with pytest.raises(ValueError, match=r"column `day` of .* holds date32.*, not numbers"):
        read_table(path)


def test_the_dtype_of_a_parquet_file_is_the_common_one_of_its_columns(tmp_path: Path) -> None:
    columns = {"h": np.arange(3, dtype=np.float32), "i": np.arange(3, dtype=np.int16), "d": np.arange(3.0)}
    path = write_parquet(tmp_path / "a.parquet", columns, 2)
    assert read_table(path, columns="h").samples.dtype == np.float32
    assert read_table(path, columns="h,i").samples.dtype == np.float32
    assert read_table(path, columns="i").samples.dtype == np.int16
    assert read_table(path).samples.dtype == np.float64


def test_columns_that_share_a_name_are_told_apart_by_position(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    table = pa.Table.from_arrays([pa.array([1.0, 2.0]), pa.array([5, 6]), pa.array([3.0, 4.0])], names=["x", "a", "x"])
    path = write_parquet(tmp_path / "a.parquet", table, 1)
    np.testing.assert_array_equal(read_table(path).samples, [[1.0, 5.0, 3.0], [2.0, 6.0, 4.0]])
    np.testing.assert_array_equal(read_table(path, columns="3,a").samples, [[3.0, 5.0], [4.0, 6.0]])
    with pytest.raises(ValueError, match="several columns are called `x`"):
        read_table(path, columns="x")


def test_a_numpy_file_is_mapped_and_not_copied(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", EXPECTED)
    for read in (read_table(str(tmp_path / "a.npy")).samples, as_samples(read_table(str(tmp_path / "a.npy")).samples)):
        assert is_mapped(read)
        assert not read.flags.writeable
    np.save(tmp_path / "b.npy", EXPECTED[:, 0])
    assert is_mapped(as_samples(read_table(str(tmp_path / "b.npy")).samples))
    np.save(tmp_path / "c.npy", np.asfortranarray(EXPECTED))
    np.testing.assert_array_equal(read_table(str(tmp_path / "c.npy")).samples, EXPECTED)


def is_mapped(x: Any) -> bool:
    """Whether the memory of an array is a file's."""
    while isinstance(x, np.ndarray) and not isinstance(x, np.memmap):
        x = x.base
    return isinstance(x, np.memmap)


def test_a_number_that_is_not_finite_is_found_far_into_a_mapped_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(datafiles, "_ROWS_AT_ONCE", 10)
    x = np.zeros((40, 2))
    x[[33, 37], [1, 0]] = np.nan, np.inf
    np.save(tmp_path / "a.npy", x)
    for columns in (None, "2"):  # a column has its place in the file, whichever are chosen
        with pytest.raises(ValueError, match=r"column 2 of .* has no number in row 34"):
            read_table(str(tmp_path / "a.npy"), columns=columns)


def peak(work: Callable[[], Any]) -> int:
    """The most memory that NumPy and Python held at one moment of ``work``, beyond what was held before."""
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_large_files_are_read_in_little_memory(tmp_path: Path) -> None:
    """200,000 × 2 numbers are 3.2 MB: mapped they cost next to nothing, and Parquet little more than themselves."""
    x = np.random.default_rng(0).normal(size=(200_000, 2))
    np.save(tmp_path / "a.npy", x)
    assert peak(lambda: read_table(str(tmp_path / "a.npy")).samples) < 0.15 * x.nbytes
    path = write_parquet(tmp_path / "a.parquet", {"x": x[:, 0], "y": x[:, 1], "unused": [["words"]] * len(x)}, 20_000)
    read_table(path, columns="x")  # what pyarrow loads once
    assert peak(lambda: read_table(path, columns="x,y").samples) < 1.5 * x.nbytes
    np.testing.assert_array_equal(read_table(path, columns="x,y").samples, x)


def test_a_csv_file_takes_less_memory_than_it_has_bytes(tmp_path: Path) -> None:
    """200,000 × 2 numbers: 7.7 MB of text, 3.2 MB of numbers."""
    x = np.random.default_rng(0).normal(size=(200_000, 2))
    np.savetxt(tmp_path / "a.csv", x, delimiter=",", header="x,y", comments="", fmt="%.17g")
    size = (tmp_path / "a.csv").stat().st_size
    found: list[Any] = []
    assert peak(lambda: found.append(read_table(str(tmp_path / "a.csv")).samples)) < min(0.9 * size, 2.0 * x.nbytes)
    np.testing.assert_array_equal(found[0], x)


def test_of_an_npz_file_nothing_but_the_chosen_array_is_loaded(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", small=EXPECTED, large=np.zeros((500_000, 2)), words=np.array(["a", "b"]))
    assert peak(lambda: read_table(str(tmp_path / "a.npz"), key="small").samples) < 500_000


def large_files(folder: Path) -> Iterator[str]:
    """The same 8 MB of zeros in every kind of file that is loaded as a whole; the NPZ file has 8 kB."""
    x = np.zeros((500_000, 2))
    np.savez_compressed(folder / "a.npz", x=x)
    assert (folder / "a.npz").stat().st_size < 20_000
    (folder / "a.csv").write_text("0.5,1\n" * len(x))
    yield from (str(folder / "a.npz"), str(folder / "a.csv"))
    yield write_parquet(folder / "a.parquet", {"x": x[:, 0], "y": x[:, 1]}, 100_000)


def test_a_file_larger_than_the_memory_is_refused_before_it_is_read(tmp_path: Path) -> None:
    for path in large_files(tmp_path):
        assert read_table(path, memory_limit="9 MB").samples.nbytes == 8_000_000

        def refuse(path: str = path) -> None:
            with pytest.raises(ValueError, match=r"take about [78]\..* MB, but 4.0 MB of memory.*`--memory-limit`"):
                read_table(path, memory_limit="4 MB")

        assert peak(refuse) < 4_000_000


def test_standard_input_is_refused_once_it_is_too_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(b"0.5,1\n" * 100_000)))
    with pytest.raises(ValueError, match=r"numbers of `-` take about 1\.. MB, but 1.0 MB of memory may be used"):
        read_table("-", memory_limit="1 MB")


@pytest.mark.parametrize("name", [None, "t"])
def test_the_index_of_a_pandas_frame_in_parquet_is_not_taken_for_a_coordinate(tmp_path: Path, name: str | None) -> None:
    """As a frame has one after `sample`, or with dates as its rows' names."""
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    path = str(tmp_path / "a.parquet")
    frame = pandas.DataFrame({"x": [1.0, 2.0, 3.0], "y": [4.0, 5.0, 6.0]}, index=pandas.Index([2, 0, 1], name=name))
    frame.to_parquet(path)
    with pytest.raises(ValueError, match=r"looks like the index of a pandas frame.*`--columns 1,2`"):
        read_table(path)
    np.testing.assert_array_equal(read_table(path, columns="x,y").samples, frame.to_numpy())
    frame.reset_index(drop=True).to_parquet(path)
    np.testing.assert_array_equal(read_table(path).samples, frame.to_numpy())
    frame.to_csv(tmp_path / "a.csv")
    if name is None:
        with pytest.raises(ValueError, match=r"looks like the index of a pandas frame.*`--columns 2,3`"):
            read_table(str(tmp_path / "a.csv"))


def test_a_mapped_file_is_tested_as_the_array_it_holds(tmp_path: Path) -> None:
    """200,000 points, whose matrix would take 320 GB, within a limit that the predicted cost states."""
    x = np.random.default_rng(0).normal(size=(200_000, 2))
    np.save(tmp_path / "a.npy", x)
    options: dict[str, Any] = {"calibration": sb.WeightedBootstrap(19), "rng": 0, "memory_limit": "300 MB", "n_jobs": 1}
    results = [
        sb.robust_ksd_test(data, sb.models.Gaussian([0.0, 0.0]), 0.05, engine="lowrank", **options)
        for data in (x, read_table(str(tmp_path / "a.npy")).samples)
    ]
    assert results[0].to_dict() == results[1].to_dict()
    assert results[1].grade == "certified"


def test_parquet_needs_no_pandas(tmp_path: Path) -> None:
    """In a process that cannot import it; the extra `io` does not bring it."""
    path = write_parquet(tmp_path / "a.parquet", {"x": EXPECTED[:, 0], "n": np.array([3, 4], dtype=np.int16)}, 1)
    code = f"""
import sys
sys.modules["pandas"] = None
from steinball.cli.datafiles import DataFile, read_table
print(read_table(DataFile({path!r})).samples.tolist(), read_table(DataFile({path!r}, "n")).samples.dtype)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "[[1.0, 3.0], [-3.0, 4.0]] int16\n"


def test_parquet_without_pyarrow_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    with pytest.raises(ValueError, match=r"pip install 'steinball\[io\]'"):
        read_table("a.parquet")


@pytest.mark.parametrize(
    ("source", "options", "message"),
    [
        ("a.xlsx", {}, r"`a.xlsx` is a workbook. Save its sheet as CSV \(UTF-8\) .* `pandas.read_excel"),
        ("A.XLS", {"columns": "x"}, "is a workbook"),
        ("a.json", {}, "must end in .csv"),
        ("a", {}, "must end in .csv"),
        ("a.csv", {"key": "x"}, "`--key` names an array of an NPZ file"),
        ("a.npy", {"header": True}, "`--header` is for CSV files"),
        ("a.npy", {"thousands": ","}, "`--thousands` is for CSV files"),
        ("a.parquet", {"encoding": "latin-1"}, "`--encoding` is for CSV files"),
        ("a.npz", {"na": ["-99"]}, "`--na` is for CSV files"),
        ("a.npy", {"skip_lines": "2"}, "`--skip-lines` is for CSV files"),
        ("a.csv", {"thousands": "."}, "`--thousands` must be a comma, .* another mark than `--decimal`, got `.`"),
        ("a.csv", {"thousands": ",", "decimal": ","}, "another mark than `--decimal`, got `,`"),
        ("a.csv", {"thousands": ""}, "`--thousands` must be a comma"),
    ],
)
def test_options_that_do_not_belong_to_the_file_are_refused(source: str, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        read_table(source, **options)


def test_rows_with_a_missing_value_are_dropped_when_asked(tmp_path: Path) -> None:
    text = tmp_path / "a.csv"
    text.write_text("id,x,y\n1,1.5,NA\n2,,3\n3,4.5,5\n4,2,nan\n5,6,-\n")
    np.testing.assert_array_equal(read_table(str(text), missing="drop").samples, [[3.0, 4.5, 5.0]])
    np.testing.assert_array_equal(
        read_table(str(text), columns="x", missing="drop").samples[:, 0], [1.5, 4.5, 2.0, 6.0]
    )
    with pytest.raises(ValueError, match=r"the cell is empty.*`--missing drop`"):
        read_table(str(text), columns="x")
    np.save(tmp_path / "a.npy", np.array([[1.0, np.nan], [2.0, 3.0]]))
    np.testing.assert_array_equal(read_table(str(tmp_path / "a.npy"), missing="drop").samples, [[2.0, 3.0]])
    with pytest.raises(ValueError, match="`--missing` must be error or drop"):
        read_table(str(text), missing="keep")


def test_rows_have_the_numbers_of_the_file_where_some_are_missing(tmp_path: Path) -> None:
    """Gaps in rows 5, 10, … of a file of one column; the value 40 is in row 42, whatever was left out before it."""
    cells = ["0.5"] * 50
    cells[4:45:5] = [""] * 9
    cells[41] = "40"
    path = tmp_path / "gaps.csv"
    path.write_text("x\n" + "\n".join(cells) + "\n")
    with pytest.raises(ValueError, match=r"line 6, column 1 \(`x`\): the cell is empty"):
        read_table(str(path))
    table = read_table(str(path), missing="drop")
    assert (len(table.samples), table.dropped) == (41, 9)
    assert table.labels.ids[int(table.samples.argmax())] == "row 42"
    np.save(tmp_path / "gaps.npy", [0.0, np.nan, 1.0, np.inf])
    with pytest.raises(ValueError, match=r"column 1 of .* has inf in row 4"):
        read_table(str(tmp_path / "gaps.npy"), missing="drop")
