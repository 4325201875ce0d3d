"""Frames of other libraries: their values, and the names of their columns."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import steinball as sb
from steinball.arrays import as_samples
from steinball.frames import column_names, labels_of

pytestmark = pytest.mark.exact


def frames(library: str, columns: dict[str, Any]) -> Any:
    module = pytest.importorskip(library)
    return module.table(columns) if library == "pyarrow" else module.DataFrame(columns)


FRAMES = ["pandas", "polars", "pyarrow"]


@pytest.mark.parametrize("library", FRAMES)
def test_frames_are_read_column_by_column(library: str) -> None:
    x = as_samples(frames(library, {"a": [1.5, 2.5], "b": [3, 4]}))
    assert isinstance(x, np.ndarray)
    np.testing.assert_array_equal(x, [[1.5, 3.0], [2.5, 4.0]])


@pytest.mark.parametrize("library", FRAMES)
@pytest.mark.parametrize("values", [["x", "y"], [True, False], [["a"], ["b"]]], ids=["text", "bool", "list"])
def test_a_column_that_holds_no_numbers_is_named(library: str, values: list[Any]) -> None:
    frame = frames(library, {"good": [1.0, 2.0], "bad": values})
    with pytest.raises(
        TypeError, match=r"`samples` must hold numbers only, but column `bad` is \w+.*Drop or encode it"
    ):
        as_samples(frame)


@pytest.mark.parametrize("library", FRAMES)
@pytest.mark.parametrize("values", [[1.0, None, 3.0], [1, None, 3]], ids=["float", "int"])
def test_what_a_frame_misses_is_found_by_row(library: str, values: list[Any]) -> None:
    with pytest.raises(ValueError, match=r"1 of 3 rows hold NaN or infinity \(first: row 1\)"):
        as_samples(frames(library, {"a": values, "b": [1, 2, 3]}))


def test_series_are_one_column() -> None:
    pandas, polars, pyarrow = (pytest.importorskip(library) for library in FRAMES)
    for series in (
        pandas.Series([1, 2]),
        polars.Series([1, 2]),
        pyarrow.array([1, 2]),
        pyarrow.chunked_array([[1], [2]]),
    ):
        np.testing.assert_array_equal(as_samples(series), [[1.0], [2.0]])
    for series in (pandas.Series(["a"]), polars.Series(["a"]), pyarrow.array(["a"])):
        with pytest.raises(TypeError, match="`samples` must hold numbers only"):
            as_samples(series)
    with pytest.raises(ValueError, match="1 of 2 rows hold NaN"):
        as_samples(pyarrow.array([1.0, None]))


def test_frames_of_unusual_columns_are_understood() -> None:
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    nullable = pandas.DataFrame({"a": pandas.array([1.5, 2.5], dtype="Float64"), "b": [3, 4]})
    np.testing.assert_array_equal(as_samples(nullable), [[1.5, 3.0], [2.5, 4.0]])
    missing = pandas.DataFrame({"a": pandas.array([1, None], dtype="Int64"), "b": [3, 4]})
    with pytest.raises(ValueError, match="1 of 2 rows hold NaN"):
        as_samples(missing)
    repeated = pandas.DataFrame([[1, "x"], [2, "y"]], columns=["a", "a"])
    with pytest.raises(TypeError, match="column `a` is"):
        as_samples(repeated)
    assert as_samples(polars.DataFrame({"a": polars.Series([1.0, 2.0], dtype=polars.Float32)})).dtype == np.float32
    with pytest.raises(TypeError, match=r"`samples` is a lazy frame; call its `collect\(\)` first"):
        as_samples(polars.DataFrame({"a": [1.0, 2.0]}).lazy())
    with pytest.raises(ValueError, match="at least one column"):
        as_samples(pandas.DataFrame(index=[0, 1]))


class InferenceData:
    """Like ArviZ's: groups of variables, no array."""

    __module__ = "arviz.data.inference_data"


class DataArray:
    """Like xarray's: an array whose axes have names."""

    __module__ = "xarray.core.dataarray"

    def __init__(self, values: Any, dims: tuple[str, ...]) -> None:
        self._values, self.dims = values, dims

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return np.asarray(self._values, dtype=dtype)


def test_posteriors_with_named_chains_say_how_to_become_rows() -> None:
    for posterior in (InferenceData(), DataArray(np.zeros((4, 1000)), ("chain", "draw"))):
        with pytest.raises(TypeError, match=r"are no rows yet\. `sb.mcmc_test.*stack them.*chains=\.\.\.\)"):
            as_samples(posterior)
    assert as_samples(DataArray(np.zeros((10, 2)), ("observation", "column"))).shape == (10, 2)


@pytest.mark.parametrize("library", FRAMES)
def test_a_column_of_lists_is_as_many_columns_and_names_are_kept(library: str) -> None:
    frame = frames(library, {"x": [1.0, 2.0], "emb": [[3.0, 4.0], [5.0, 6.0]]})
    np.testing.assert_array_equal(as_samples(frame), [[1.0, 3.0, 4.0], [2.0, 5.0, 6.0]])
    assert column_names(frame) == ["x", "emb[0]", "emb[1]"]
    ragged = frames(library, {"emb": [[3.0, 4.0], [5.0]]})
    with pytest.raises(ValueError, match="the lists of column `emb` differ in length"):
        as_samples(ragged)


def test_names_of_columns_come_into_the_result() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(np.random.default_rng(0).normal(size=(50, 2)), columns=["mass", "charge"])
    assert sb.ksd_test(frame, lambda x: -x, rng=0).details["columns"] == ["mass", "charge"]
    assert sb.ksd_test(frame.mass, lambda x: -x, rng=0).details["columns"] == ["mass"]
    assert "columns" not in sb.ksd_test(frame.to_numpy(), lambda x: -x, rng=0).details


def test_every_test_names_the_columns_however_the_frame_was_passed() -> None:
    pandas = pytest.importorskip("pandas")
    values = np.random.default_rng(0).normal(size=(50, 2))
    frame = pandas.DataFrame(values, columns=["mass", "charge"])
    model = sb.models.Gaussian([0.0, 0.0])
    several = sb.robust_ksdagg_test(frame, model, 0.05, rng=0)
    assert several.details["columns"] == ["mass", "charge"]
    plain = sb.ksdagg_test(frame, model, n_resamples=200, n_resamples_level=200, rng=0)
    by_name = sb.ksd_test(x=frame, model=model, rng=0)
    for result in (several, plain, by_name, by_name.at(level=0.1)):
        assert result.explain().names == ("mass", "charge")


def test_columns_without_names_are_numbered() -> None:
    pandas = pytest.importorskip("pandas")
    values = np.random.default_rng(0).normal(size=(50, 2))
    for frame, names in ((pandas.DataFrame(values), ("x1", "x2")), (pandas.Series(values[:, 0]), ("x1",))):
        result = sb.ksd_test(frame, lambda x: -x, rng=0)
        assert "columns" not in result.details
        assert result.explain().names == names


def test_a_column_of_lists_names_the_parts_in_an_explanation() -> None:
    pandas = pytest.importorskip("pandas")
    values = np.random.default_rng(0).normal(size=(50, 2))
    result = sb.ksd_test(pandas.DataFrame({"emb": values.tolist()}), lambda x: -x, rng=0)
    assert result.explain().names == ("emb[0]", "emb[1]")


def test_frames_that_are_refused_are_refused_by_the_test_itself() -> None:
    polars = pytest.importorskip("polars")
    with pytest.raises(TypeError, match="`samples` is a lazy frame"):
        sb.ksd_test(polars.DataFrame({"a": [1.0, 2.0]}).lazy(), lambda x: -x)
    with pytest.raises(TypeError, match="column `b` is"):
        sb.ksd_test(polars.DataFrame({"a": [1.0, 2.0], "b": ["x", "y"]}), lambda x: -x)


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
