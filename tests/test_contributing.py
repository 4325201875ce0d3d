"""The walks of CONTRIBUTING.md run: each defines a new thing and uses it."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import pytest

pytestmark = pytest.mark.exact

ROOT = Path(__file__).parents[1]
WALK = re.compile(r"^### (?P<title>[\w ]+)\n.*?^```python\n(?P<code>.*?)^```$", re.MULTILINE | re.DOTALL)
WALKS = {walk["title"]: walk["code"] for walk in WALK.finditer((ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8"))}


def test_there_is_a_walk_for_everything_that_is_added() -> None:
    things = ("kernel", "tilt", "model", "family", "adapter", "calibration", "radius", "test", "experiment")
    assert [title.split()[1] for title in WALKS] == list(things)


@pytest.mark.parametrize("title", WALKS)
def test_a_walk_defines_a_thing_and_uses_it(title: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("walk.py").write_text(WALKS[title], encoding="utf-8")
    runpy.run_path("walk.py", run_name="walk")


@pytest.mark.parametrize("title", WALKS)
def test_a_walk_checks_what_it_did(title: str) -> None:
    assert "\nassert " in WALKS[title]
