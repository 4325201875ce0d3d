"""The generated pages."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

import pytest

from experiments.framework.collection import Collection
from experiments.framework.expectations import below
from experiments.framework.page import write_page
from experiments.framework.run import run, run_again
from experiments.framework.table import Results, as_record, rates_of, read_results
from experiments.paper import experiment
from experiments.paper.table1 import NEEDS, render_table1

pytestmark = pytest.mark.paper


def test_the_page_shows_figure_claims_and_misses_and_keeps_the_tables(tmp_path: Path) -> None:
    out, to = tmp_path / "out", tmp_path / "docs"
    run(experiment("kef-power"), out, repeats=2, jobs=1)
    collection = Collection("paper", "about", "# Head\n", {"kef-power": experiment("kef-power")})
    page = write_page(collection, out, to).read_text(encoding="utf-8")
    assert page.startswith("# Head\n\n| experiment |")
    assert "## kef-power" in page
    assert experiment("kef-power").says in page
    assert "| R-KSD rejects mostly at δ = 2 |" in page
    for target in re.findall(r"\]\(([^)#]+)\)", page):
        assert (to / target).exists() or target == "table1.md"
    # The aggregated table is enough to draw and to check again.
    again = read_results(to / "tables" / "kef-power.csv")
    assert [r.rejections for r in again.rates] == [r.rejections for r in read_results(out / "kef-power.csv").rates]
    assert len(again.curves) == len(read_results(out / "kef-power.csv").curves) > 0


def test_the_page_says_which_cells_were_run_again(tmp_path: Path) -> None:
    """The toy rejects always, so every cell misses, and is extended."""
    found = dataclasses.replace(
        experiment("kef-power"),
        expectations=(below("never", 0.0, test="imq-ksd", axes={"offset": (2,)}),),
        repeats=1,
        again=3,
    )
    collection = Collection("paper", "about", "# Head\n", {"kef-power": found})
    run(found, tmp_path / "out", jobs=1)
    assert "extended" not in write_page(collection, tmp_path / "out", tmp_path / "docs").read_text(encoding="utf-8")
    run_again(found, tmp_path / "out", jobs=1)
    page = write_page(collection, tmp_path / "out", tmp_path / "docs").read_text(encoding="utf-8")
    assert f"1 of {len(found.grid)} cells missed a claim at 1 repeats and were extended to 3" in page


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
