"""Table 1 of the paper, from made-up tables."""

from __future__ import annotations

import pytest

from experiments.framework.table import Results, as_record, rates_of
from experiments.paper.table1 import render_table1

pytestmark = pytest.mark.paper

NEEDS = ("non-robustness", "contamination-rate", "outliers", "tightness")


def rates(imq: int, tilted: int, robust: int) -> dict[str, Results]:
    """Tables with so many rejections of a hundred by each test, wherever Table 1 looks."""
    hits = {"imq-ksd": imq, "tilted-ksd": tilted, "r-ksd": robust}
    cells = [{"rate": rate, "n": 2000} for rate in (0.6, 0.7)]
    cells += [{"outlier": z, "contamination": 0.05} for z in (0.1, 1, 10, 100)]
    rows = [
        as_record(
            {"test": test, "variant": "published", "repeat": k, "rejected": int(k < count), "seconds": 0.0, **cell}
        )
        for test, count in hits.items()
        for cell in cells
        for k in range(100)
    ]
    return dict.fromkeys(NEEDS, Results(rates_of(rows)))


def marks(page: str) -> list[list[str]]:
    """The two middle columns of every line."""
    lines = [line.split("|") for line in page.splitlines() if line.startswith("| ") and "Theorem" in line]
    return [[cell.strip() for cell in line[2:4]] for line in lines]


def test_table_1_confirms_the_paper_where_the_rates_do() -> None:
    assert marks(render_table1(rates(imq=100, tilted=5, robust=0))) == [
        ["✗", "✗"],
        ["✓", "✗ (not confirmed)"],
        ["✓", "✓"],
    ]


def test_table_1_says_so_where_the_rates_do_not_confirm_it() -> None:
    page = marks(render_table1(rates(imq=5, tilted=30, robust=30)))
    assert page[0] == ["✗ (not confirmed)", "✗ (not confirmed)"]
    assert page[1] == ["✓ (not confirmed)", "✗"]
    assert page[2] == ["✓ (not confirmed)", "✓ (not confirmed)"]
