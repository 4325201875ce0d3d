"""The pages about libraries that the other tests do without."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
BEGIN, END = "```python\n", "```"


def test_the_page_about_other_libraries_prints_what_it_says(capsys: pytest.CaptureFixture[str]) -> None:
    for library in ("sklearn", "numpyro", "zuko"):
        pytest.importorskip(library, reason=f"{library} is not installed")
    names: dict[str, Any] = {}
    parts = (ROOT / "docs" / "your-object-elsewhere.md").read_text(encoding="utf-8").split(BEGIN)[1:]
    for part in parts:
        code, _, rest = part.partition(END)
        exec(compile(code, "your-object-elsewhere.md", "exec"), names)
        said = rest.partition("```text\n")[2].partition(END)[0]
        assert capsys.readouterr().out == said
