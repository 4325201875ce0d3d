"""The verdicts of ``python -m benchmarks`` are true."""

from __future__ import annotations

from typing import Any

import pytest

from benchmarks import __main__ as table
from benchmarks.cases import Case

pytestmark = pytest.mark.exact

ROW = {
    "n": 1000, "d": 2, "outliers": 0.0, "seconds": 11.0, "predicted": 33.0, "products": 1.2, "speedup": 30.0,
    "memory": 2e9,
}  # fmt: skip


@pytest.mark.parametrize(
    ("targets", "words", "met"),
    [
        ({}, [], []),
        ({"most_products": 1.2}, ["≤ 1.2 products"], [True]),
        ({"most_products": 1.1}, ["≤ 1.1 products"], [False]),
        ({"least_speedup": 30.0}, ["≥ 30 × plain"], [True]),
        ({"least_speedup": 31.0}, ["≥ 31 × plain"], [False]),
        ({"most_memory": 2e9}, ["≤ 2.0 GB"], [True]),
        ({"most_memory": 1e9, "most_products": 2.0}, ["≤ 2 products", "≤ 1.0 GB"], [True, False]),
        ({"most_growth": 11.0}, ["11.0 ≤ 11 × the time of a tenth"], [True]),
        ({"most_growth": 10.0}, ["11.0 ≤ 10 × the time of a tenth"], [False]),
        ({"most_off": 3.0}, ["predicted within a factor of 3"], [True]),
        ({"most_off": 2.9}, ["predicted within a factor of 2.9"], [False]),
    ],
)
def test_each_target_is_judged_by_its_own_number(targets: dict[str, Any], words: list[str], met: list[bool]) -> None:
    tenth = [{**ROW, "n": 100, "outliers": share, "seconds": 1.0 + share} for share in (0.15, 0.0)]
    found = table.verdicts(Case(n=1000, d=2, outliers=0.0, jobs=1, **targets), ROW, tenth)
    assert found == list(zip(words, met, strict=True))


def test_growth_without_the_smaller_case_is_not_met() -> None:
    found = table.verdicts(Case(n=1000, d=2, outliers=0.0, jobs=1, most_growth=12.0), ROW, [])
    assert [met for _, met in found] == [False]


def test_a_missed_target_is_printed_as_missed() -> None:
    case = Case(n=1000, d=2, outliers=0.0, jobs=1, most_products=1.0, least_speedup=1.0)
    row = {**ROW, "engine": "blocked", "grade": "exact"}
    text = table.line(case, row, table.verdicts(case, row, []))
    assert "≤ 1 products: MISSED; ≥ 1 × plain: met" in text
    assert text.startswith("n=1,000 d=2 outliers=0 ")
