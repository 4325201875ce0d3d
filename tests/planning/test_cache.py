from __future__ import annotations

import json
from pathlib import Path

import pytest

from steinball.planning import cache
from steinball.planning.cache import Cache

pytestmark = pytest.mark.exact


@pytest.fixture(autouse=True)
def _forgetful(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "_memory", {})


def test_memory_is_shared_and_the_longest_run_is_kept() -> None:
    Cache().keep("a", [0.1, 0.2])
    Cache().keep("a", [0.1])
    assert Cache().known("a") == [0.1, 0.2]
    assert Cache().known("b") == Cache().known(None) == []


def test_memory_does_not_grow_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "_MOST", 3)
    for key in "abcde":
        Cache().keep(key, [0.5])
    assert [Cache().known(key) for key in "abcde"] == [[], [], [0.5], [0.5], [0.5]]


def test_a_file_outlives_the_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "plan.json"
    Cache(path).keep("a", [0.1])
    Cache(str(path)).keep("b", [0.2])
    monkeypatch.setattr(cache, "_memory", {})
    assert (Cache(path).known("a"), Cache(path).known("b")) == ([0.1], [0.2])
    assert json.loads(path.read_text())["schema"] == "steinball.planning/1"
    assert [file.name for file in tmp_path.iterdir()] == ["plan.json"]


def test_two_writers_keep_what_the_other_wrote(tmp_path: Path) -> None:
    one, two = Cache(tmp_path / "plan.json"), Cache(tmp_path / "plan.json")
    one.keep("a", [0.1])
    two.keep("b", [0.2])
    assert set(json.loads((tmp_path / "plan.json").read_text())["pvalues"]) == {"a", "b"}


@pytest.mark.parametrize(
    "text", ["", "{", "[]", '{"schema": "other/1"}', '{"schema": "steinball.planning/1", "pvalues": {"a": ["x"]}}']
)
def test_a_file_that_is_no_cache_is_refused_and_not_overwritten(tmp_path: Path, text: str) -> None:
    path = tmp_path / "notes.json"
    path.write_text(text)
    with pytest.raises(ValueError, match=r"`cache`: .*notes.json' is not a cache of simulated p-values"):
        Cache(path)
    assert path.read_text() == text
