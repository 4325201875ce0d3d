"""The demonstration tells a true story."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from steinball.cli import demo
from steinball.datasets import load_galaxies

pytestmark = pytest.mark.exact


def test_the_report_says_all_that_it_should_in_eighty_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(demo, "SPLITS", 5)
    text = demo.render_demo(demo.compare(demo.SEED, 0.0), demo.compare(demo.SEED, demo.TOLERANCE))
    verdict, _, rest = text.partition("\n\n")
    assert verdict.startswith("UNDECIDED at level 0.05.")
    assert max(map(len, rest.split("\n"))) <= 80
    for word in (
        "kernel exponential family",
        "D  ",
        "θ  ",
        "τ  ",
        "sample",
        "threshold",
        "p-value",
        "conceded",
        "20 %",
    ):
        assert word in text
    assert text.count("Standard: NOT REJECTED at level 0.05") == 1
    assert text.count("Standard: REJECTED at level 0.05") == 1
    assert text.count("Robust: NOT REJECTED at level 0.05") == 2
    assert "fits" not in text


def test_it_ends_with_the_paths_of_its_picture_and_its_report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(demo, "SPLITS", 1)
    pytest.importorskip("matplotlib")
    *_, picture, page = demo.demonstrate(str(tmp_path / "new")).split("\n")
    assert Path(picture.removeprefix("Picture  ")).read_bytes().startswith(b"\x89PNG")
    assert Path(page.removeprefix("Report   ")).read_text(encoding="utf-8").startswith("<!doctype html>")


def test_without_matplotlib_the_demonstration_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(demo, "SPLITS", 1)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    text = demo.demonstrate(str(tmp_path))
    assert "Picture  not drawn: pictures need matplotlib" in text
    assert "Report   " in text


def test_outlier_counts_are_those_of_the_paper() -> None:
    assert [demo.compare(0, share).robust.n - 41 for share in (0.0, 0.05, 0.1, 0.2)] == [0, 2, 4, 10]


def test_the_halves_are_disjoint_and_complete() -> None:
    first, second = demo._halves(np.random.default_rng(1))
    np.testing.assert_array_equal(np.sort(np.concatenate([first, second]), axis=0), load_galaxies())


def test_the_split_shown_is_a_typical_one() -> None:
    """Its p-values lie between the quartiles of those of the splits that are counted."""
    for share in (0.0, demo.TOLERANCE):
        pvalues = [demo.compare(seed, share).standard.pvalue for seed in range(demo.SPLITS)]
        low, high = np.quantile(pvalues, [0.25, 0.75])
        assert low <= demo.compare(demo.SEED, share).standard.pvalue <= high
