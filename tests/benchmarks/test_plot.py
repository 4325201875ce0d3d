"""The figure is drawn from the tables alone."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks import plot

pytestmark = pytest.mark.exact


def measured(n: int, d: int, engine: str) -> dict[str, Any]:
    """A measurement of 10 ms at n = 1,000 that grows as n²."""
    return {"n": n, "d": d, "engine": engine, "grade": "exact", "seconds": (n / 1e4) ** 2, "memory": n * 1e3}


@pytest.fixture
def tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(plot, "RESULTS", tmp_path)
    monkeypatch.setattr(plot, "FIGURE", tmp_path / "drawn" / "scaling")
    return tmp_path


def test_the_figure_is_drawn_from_the_tables_alone(tables: Path) -> None:
    pytest.importorskip("matplotlib")
    rows = [measured(n, d, "blocked") for n in (1_000, 2_000) for d in (2, 10)]
    (tables / "growth.json").write_text(json.dumps({"rows": rows}))
    plot.main()
    files = [tables / "drawn" / f"scaling.{kind}" for kind in ("png", "svg")]
    first = [file.read_bytes() for file in files]
    plot.main()
    assert [file.read_bytes() for file in files] == first
    assert all(len(content) > 5_000 for content in first)


def test_sizes_beyond_the_growth_table_come_from_the_table_of_targets() -> None:
    near = measured(1_000, 2, "lowrank")
    far = {**measured(1_000_000, 2, "lowrank"), "outliers": 0.0, "grade": "certified"}
    other = {**far, "outliers": 0.15, "seconds": 1.0}
    (line,) = plot.cpu_lines({"rows": [near]}, [far, other])
    assert [n for n, _, _ in line.points] == [1_000, 1_000_000]
    assert line.points[1][1] == far["seconds"]
    (unsure,) = plot.cpu_lines({"rows": [{**near, "grade": "approximate"}]}, None)
    assert unsure.filled == (False,)


def test_the_recorded_gpu_rows_make_one_line() -> None:
    rows = [
        {"n": n, "d": 10, "outliers": o, "seconds": n / 1e5, "memory_gb": 2.0}
        for n in (10**6, 10**5)
        for o in (0, 0.15)
    ]
    (line,) = plot.gpu_line({"scaling": rows})
    assert line.points == ((10**5, 1.0, 2e9), (10**6, 10.0, 2e9))
    assert plot.gpu_line(None) == []


def test_without_tables_there_is_no_figure(tables: Path) -> None:
    pytest.importorskip("matplotlib")
    with pytest.raises(SystemExit, match=r"run `python -m benchmarks.growth` first"):
        plot.main()
