from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import steinball as sb
from steinball.explain.labels import labels_of

pytestmark = pytest.mark.exact

N = 6
VALUES = np.random.default_rng(0).normal(size=(N, 2))
IDS = [f"patient {i}" for i in range(N)]
ALL = np.arange(N)


def pandas_frame(**more: Any) -> Any:
    pandas = pytest.importorskip("pandas")
    return pandas.DataFrame({"pressure": VALUES[:, 0], "age": VALUES[:, 1]}, **more)


def test_without_data_columns_are_numbered_and_rows_are_rows() -> None:
    labels = labels_of(None, VALUES, ALL, N)
    assert (labels.names, labels.ids, labels.row(3)) == (("x1", "x2"), (), "row 3")


def test_a_pandas_frame_gives_its_columns_and_its_index() -> None:
    labels = labels_of(pandas_frame(index=IDS), VALUES, ALL, N)
    assert (labels.names, labels.row(2)) == (("pressure", "age"), "patient 2")
    assert labels_of(pandas_frame(), VALUES, ALL, N).ids == ()


def test_columns_that_were_not_tested_may_be_there_and_the_first_names_the_rows() -> None:
    frame = pandas_frame().assign(id=IDS, other=1.0)[["other", "id", "age", "pressure"]]
    labels = labels_of(frame[["id", "other", "age", "pressure"]], VALUES, ALL, N)
    assert (labels.names, labels.row(1)) == (("pressure", "age"), "patient 1")


@pytest.mark.parametrize("library", ["polars", "pyarrow"])
def test_frames_of_other_libraries_are_read(library: str) -> None:
    module = pytest.importorskip(library)
    make = module.DataFrame if library == "polars" else module.table
    labels = labels_of(make({"id": IDS, "pressure": VALUES[:, 0], "age": VALUES[:, 1]}), VALUES, ALL, N)
    assert (labels.names, labels.row(5)) == (("pressure", "age"), "patient 5")


def test_a_series_names_one_column() -> None:
    labels = labels_of(pandas_frame()["age"], VALUES[:, 1:], ALL, N)
    assert labels.names == ("age",)


def test_columns_are_taken_in_their_order_where_the_data_were_moved() -> None:
    assert labels_of(pandas_frame(), VALUES + 1.0, ALL, N).names == ("pressure", "age")


def test_points_outside_the_support_are_left_out_of_the_comparison() -> None:
    assert labels_of(pandas_frame(), VALUES[1:], ALL[1:], N).names == ("pressure", "age")


def test_what_cannot_be_the_tested_data_is_refused() -> None:
    with pytest.raises(TypeError, match="`data` must be the frame that was tested"):
        labels_of(VALUES, VALUES, ALL, N)
    with pytest.raises(ValueError, match="`data` must have the 6 rows that were tested, got 5"):
        labels_of(pandas_frame().iloc[:5], VALUES, ALL, N)
    with pytest.raises(ValueError, match="`data` must hold the 2 columns that were tested; 3 of its columns"):
        labels_of(pandas_frame().assign(more=0.0), VALUES + 1.0, ALL, N)
    with pytest.raises(ValueError, match="`data` must have the 6 rows"):
        labels_of(pandas_frame().iloc[:0], VALUES, ALL, N)


def test_an_explanation_carries_names_and_ids() -> None:
    pandas = pytest.importorskip("pandas")
    x = np.random.default_rng(0).normal(size=(100, 2))
    x[:12] = [0.0, 4.0]
    frame = pandas.DataFrame({"age": x[:, 0], "<script>": x[:, 1]}, index=[f"<b>{i}</b>" for i in range(100)])
    found = sb.robust_ksd_test(frame, sb.models.Gaussian([0.0, 0.0]), 0.02, rng=0).explain(frame, top=12)
    assert found.names[found.coordinates.argmax()] == "<script>"
    assert found.label(int(found.points[0])) == f"<b>{found.points[0]}</b>"
    page = found._repr_html_()
    assert "<script" not in page
    assert "<b>" not in page
    assert "&lt;script&gt;" in page
    assert found.witness_along("age")[1].shape == found.witness_along(0)[1].shape
