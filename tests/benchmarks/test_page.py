"""The tables of docs/benchmarks.md and docs/other-tests.md are those that were recorded."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks import page

pytestmark = pytest.mark.exact

ROW = {"n": 1000, "d": 2, "outliers": 0.0, "seconds": 11.0, "products": 1.2, "speedup": 30.0, "memory": 2e9}


def test_the_pages_show_what_was_recorded() -> None:
    """After a new measurement, ``python -m benchmarks.page`` brings them up to date."""
    texts = [path.read_text(encoding="utf-8") for path in page.PAGES]
    assert [page.fill(text) for text in texts] == texts
    for name in page.TABLES:
        assert f"<!-- {name} -->" in "".join(texts)


def test_shares_of_competitors_stand_by_what_is_wrong_and_by_test() -> None:
    cell = {"rejected": 3, "repeats": 4, "n": 200}
    tests = ("MMD", "`check`, tolerance")
    found = page.competitor_tables({f"1 | sd × 0.8 | {test}": cell for test in tests})
    assert "**1 column, 200 rows, 4 samples each; nothing is tolerated**" in found
    assert "| the rows | MMD |\n| --- | --- |\n| sd × 0.8 | 0.75 |" in found
    assert "| the rows | `check`, tolerance |" in found.partition("5 % is tolerated")[2]


def test_a_table_of_the_page_says_what_was_missed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("benchmarks.plot.RESULTS", tmp_path)
    row = {**ROW, "jobs": 2, "engine": "lowrank", "grade": "certified", "when": "2026-01-02", "speedup": None}
    target = [{"target": "≤ 1 products", "met": False}, {"target": "≤ 4.0 GB", "met": True}]
    (tmp_path / "cpu.json").write_text(json.dumps([{**row, "targets": target}]))
    filled = page.fill("before\n<!-- cpu -->\nold\n<!-- end -->\nafter\n<!-- peers -->\nkept\n<!-- end -->\n")
    assert "old" not in filled
    assert "<!-- peers -->\nkept\n<!-- end -->" in filled
    assert "Measured on 2026-01-02." in filled
    assert "| 1,000 | 2 | 0 % | 2 | lowrank, certified | 11 s | 1.2 |  | 2.0 GB | ≤ 1 products: **missed**; " in filled
    assert page.fill(filled) == filled


@pytest.mark.parametrize(
    ("value", "words"), [(0.0123, "12.3 ms"), (1.234, "1.23 s"), (99.5, "99.5 s"), (1234.5, "1234 s")]
)
def test_times_have_three_digits(value: float, words: str) -> None:
    assert page.seconds(value) == words
