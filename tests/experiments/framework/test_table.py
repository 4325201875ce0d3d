"""Tables: rates, intervals, lookups."""

from __future__ import annotations

from pathlib import Path

import pytest
from scipy import stats

from experiments.framework.table import (
    COLUMNS,
    GRID,
    Rates,
    as_record,
    as_text,
    rates_of,
    read_records,
    read_results,
    sort_records,
    wilson,
    write_rates,
    write_records,
)

pytestmark = pytest.mark.exact

DOCUMENTS = Path(__file__).parents[3] / "docs"
COMMITTED = [path for path in sorted(DOCUMENTS.glob("*/tables/*.csv")) if not path.stem.endswith("-curves")]


def table() -> Rates:
    rows = [
        {"test": "r-ksd", "variant": "published", "n": n, "bandwidth": b, "repeat": k, "rejected": int(k < hits)}
        | {"ksd": 0.1 * k, "tau": 1.0, "seconds": 0.5, "pvalue": 0.5, "radius": 0.25}
        for n, b, hits in ((50, "median", 1), (500, "median", 3), (500, 0.1, 4))
        for k in range(4)
    ]
    return rates_of([as_record(row) for row in rows])


@pytest.mark.parametrize(("successes", "trials"), [(0, 100), (1, 100), (5, 100), (50, 100), (100, 100), (3, 7)])
def test_the_interval_is_wilsons(successes: int, trials: int) -> None:
    expected = stats.binomtest(successes, trials).proportion_ci(method="wilson")
    assert wilson(successes, trials) == pytest.approx((expected.low, expected.high), abs=1e-9)


def test_no_trials_say_nothing() -> None:
    assert wilson(0, 0) == (0.0, 1.0)


def test_rates_count_rejections_by_cell_and_test() -> None:
    rates = table()
    assert len(rates) == 3
    one = rates.one(n=500, bandwidth="median")
    assert (one.repeats, one.rejections, one.rate) == (4, 3, 0.75)
    assert one.ksd == pytest.approx(0.15)
    assert one.radius == 0.25


def test_a_number_is_found_whatever_its_type() -> None:
    rates = table()
    assert rates.one(n=500.0, bandwidth=0.1) is rates.one(n="500", bandwidth="0.1")
    assert as_text(0.05) == as_text("0.05") == "0.05"
    assert as_text(100) == as_text(100.0) == "100"


def test_none_or_many_rows_are_an_error() -> None:
    with pytest.raises(ValueError, match="0 rows with n=7"):
        table().one(n=7)
    with pytest.raises(ValueError, match="2 rows"):
        table().one(n=500)


def test_values_come_as_numbers_in_order_then_words() -> None:
    assert table().values("bandwidth") == ["0.1", "median"]
    assert [row.number("n") for row in table().select(bandwidth="median").along("n")] == [50.0, 500.0]


def test_an_aggregated_table_reads_back_as_the_rates_it_was_written_from(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    write_rates(path, table())
    again = read_results(path).rates
    assert [(r.where, r.repeats, r.rejections) for r in again] == [(r.where, r.repeats, r.rejections) for r in table()]


def test_rows_and_their_aggregate_are_read_by_the_same_function(tmp_path: Path) -> None:
    rows = [{"test": "r-ksd", "variant": "published", "n": 50, "repeat": 0, "rejected": 1, "seconds": 1.0}]
    write_records(tmp_path / "rows.csv", COLUMNS, [as_record(row) for row in rows])
    assert read_results(tmp_path / "rows.csv").rates.one(n=50).rate == 1.0


def test_the_documents_have_tables() -> None:
    assert len(COMMITTED) > 20


@pytest.mark.parametrize("path", COMMITTED, ids=lambda path: path.stem)
def test_the_tables_of_the_documents_are_read_whatever_columns_have_come_since(path: Path) -> None:
    rates = read_results(path).rates
    assert len(rates) > 0
    assert all(set(row.where) == {"variant", "test", *GRID} for row in rates)


def test_sorting_moves_whole_rows_and_keeps_equal_ones_in_their_order(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    records = [{"a": str(k), "b": f"row {k}"} for k in (2, 0, 1, 0)]
    write_records(path, ("a", "b"), [{**r, "b": f"{r['b']}, {i}"} for i, r in enumerate(records)])
    sort_records(path, lambda record: record["a"])
    assert [r["b"] for r in read_records(path)] == ["row 0, 1", "row 0, 3", "row 1, 2", "row 2, 0"]
