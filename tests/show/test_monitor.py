"""The page of a monitor."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import steinball as sb

pytestmark = pytest.mark.exact


def test_the_page_says_whether_there_was_an_alarm_and_lists_the_last_ones(tmp_path: Path) -> None:
    monitor = sb.Monitor(sb.models.Gaussian(dimension=2), 0.05, 1000)
    quiet = monitor.report(tmp_path / "page.html").read_text("utf-8")
    assert ">NO ALARM</span> so far" in quiet
    assert "Last alarms" not in quiet
    rng = np.random.default_rng(0)
    monitor.update(rng.normal(size=(200, 2)))
    monitor.update(rng.normal([0.0, 2.0], size=(40, 2)))
    page = monitor.report(tmp_path / "page.html", title="The <feed>").read_text("utf-8")
    assert "<h1>The &lt;feed&gt;</h1>" in page
    assert ">ALARM</span> at row" in page
    assert f"<td>{monitor.alarms[0].row}</td><td>" in page
    assert "src=" not in page
    assert "nan" not in page.partition("</style>")[2]
