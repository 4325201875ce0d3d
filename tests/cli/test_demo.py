"""The demonstration tells a true story."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

import steinball as sb
from steinball.cli import commands as demo
from steinball.datasets import load_wages

pytestmark = pytest.mark.exact


@pytest.fixture(scope="module")
def story() -> dict[str, Any]:
    return demo.tell()


def test_the_story_is_one_screen_of_plain_words_with_one_verdict_of_each_kind(story: dict[str, Any]) -> None:
    text = demo.render_demo(story)
    lines = text.split("\n")
    assert len(lines) <= 42  # and three more for the picture and the report
    assert max(map(len, lines)) <= 80
    assert (text.count("GOOD ENOUGH"), text.count("MISFIT"), text.count("REJECTED")) == (1, 1, 1)
    assert not re.search("[α-ωΑ-Ω]|KSD|bootstrap", text)
    assert story["good"].region not in text
    assert " ".join(story["wrong"].region.split()) in " ".join(text.split())


def test_what_the_story_says_of_the_wages_is_so() -> None:
    yearly = load_wages()[:, 0] * 30_000.0 / 712.25
    assert np.mean(np.abs(yearly - 1000.0 * np.round(yearly / 1000.0)) < 1.0) > 0.5
    assert int(np.sum(np.abs(yearly - 99_999.0) < 1.0)) == 177
    first, second = sb.split(load_wages(), rng=demo.SEED)
    assert (len(first) + len(second), len(second)) == (25_631, 12_815)
    assert round(stats.norm(*stats.norm.fit(first[:, 0])).cdf(0.0), 2) == 0.07


def test_the_halves_shown_are_typical_of_random_halves() -> None:
    found = []
    for seed in range(8):
        first, second = sb.split(load_wages(), rng=seed)
        gamma = stats.gamma(*stats.gamma.fit(first[:, 0], floc=0.0))
        found.append(sb.region_test(second, gamma, tolerance=demo.TOLERANCE))
        assert found[-1].at(tolerance=0.0).rejected
    assert {result.verdict for result in found} <= {"good enough", "undecided"}
    assert sum(result.verdict == "good enough" for result in found) >= 6
    low, high = np.quantile([result.difference_bound for result in found], [0.25, 0.75])
    assert low <= found[demo.SEED].difference_bound <= high


def test_it_ends_with_the_paths_of_its_picture_and_its_report(
    story: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("matplotlib")
    monkeypatch.setattr(demo, "tell", lambda: story)
    text = demo.demonstrate(str(tmp_path / "new"))
    assert len(text.split("\n")) <= 45
    *_, picture, page = text.split("\n")
    assert Path(picture.removeprefix("Picture  ")).read_bytes().startswith(b"\x89PNG")
    assert Path(page.removeprefix("Report   ")).read_text(encoding="utf-8").startswith("<!doctype html>")


def test_without_matplotlib_the_demonstration_says_so(
    story: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(demo, "tell", lambda: story)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    text = demo.demonstrate(str(tmp_path))
    assert "Picture  not drawn: pictures need matplotlib" in text
    assert "Report   " in text
