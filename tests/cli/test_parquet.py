"""Lists and missing values in Parquet files; test_datafiles.py has the rest."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from steinball.cli import datafiles
from steinball_command.options import DataFile

pytestmark = pytest.mark.exact


def read_table(source: str, **options: Any) -> Any:
    return datafiles.read_table(DataFile(source, **options))


def written(path: Path, columns: dict[str, Any], types: dict[str, Any] | None = None) -> str:
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    arrays = {name: pyarrow.array(values, (types or {}).get(name)) for name, values in columns.items()}
    parquet.write_table(pyarrow.table(arrays), path, row_group_size=2)
    return str(path)


LISTS = [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]


@pytest.mark.parametrize("kind", ["list_", "large_list", "fixed"])
def test_a_column_of_lists_is_as_many_columns(tmp_path: Path, kind: str) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    number = pyarrow.float32()
    made = {
        "list_": pyarrow.list_(number), "large_list": pyarrow.large_list(number), "fixed": pyarrow.list_(number, 2),
    }[kind]  # fmt: skip
    path = written(tmp_path / "a.parquet", {"k": [7, 8, 9], "emb": LISTS}, {"emb": made})
    np.testing.assert_array_equal(read_table(path, columns="emb").samples, np.array(LISTS, dtype=np.float32))
    assert read_table(path, columns="emb").samples.dtype == np.float32
    np.testing.assert_array_equal(read_table(path).samples, np.column_stack([[7, 8, 9], LISTS]))


def test_lists_must_be_of_one_length_and_hold_numbers(tmp_path: Path) -> None:
    ragged = written(tmp_path / "a.parquet", {"emb": [[1.0, 2.0], [3.0, 4.0], [5.0]]})
    with pytest.raises(ValueError, match="holds lists of 2 numbers, but 1 in row 3"):
        read_table(ragged)
    words = written(tmp_path / "b.parquet", {"emb": [["a"], ["b"]]})
    with pytest.raises(ValueError, match="not numbers; choose others"):
        read_table(words)


def test_missing_rows_are_dropped_only_when_asked(tmp_path: Path) -> None:
    columns = {"k": [1, None, 3, 4], "emb": [[1.0, 2.0], [3.0, 4.0], None, [7.0, float("nan")]]}
    path = written(tmp_path / "a.parquet", columns)
    for chosen, row in (("k", 2), ("emb", 3)):
        with pytest.raises(ValueError, match=rf"in row {row}; remove or impute it, or drop such rows"):
            read_table(path, columns=chosen)
    np.testing.assert_array_equal(read_table(path, missing="drop").samples, [[1.0, 1.0, 2.0]])
    np.testing.assert_array_equal(read_table(path, columns="k", missing="drop").samples[:, 0], [1.0, 3.0, 4.0])
    none = written(tmp_path / "b.parquet", {"k": [float("nan"), None]})
    with pytest.raises(ValueError, match="no row is left"):
        read_table(none, missing="drop")
    wild = written(tmp_path / "c.parquet", {"k": [float("inf"), 1.0]})
    with pytest.raises(ValueError, match="has inf in row 1"):
        read_table(wild, missing="drop")
