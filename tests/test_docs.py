"""The documents are true: their Python runs, their commands run, and both print what the page says.

In a page, a ``text`` block right after a ``python`` block is what that prints. A ``console`` block holds commands
after ``$`` and below each what it prints; nothing below means that the output is not shown. A line of three dots
stands for any lines. All blocks of a page run in one folder and one after the other.
"""

from __future__ import annotations

import contextlib
import io
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from steinball.cli import app

pytestmark = pytest.mark.exact

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\((?!https?:)([^)#]+)[^)]*\)")


def matches(expected: str, printed: str) -> bool:
    """Whether ``printed`` is ``expected``, with a line of three dots standing for any lines."""
    parts = [re.escape(part) for part in re.split(r"(?m)^\s*\.\.\.$\n?", expected.rstrip() + "\n")]
    return re.fullmatch(r"(?:.*\n)*?".join(parts), printed.rstrip() + "\n") is not None


def run_python(code: str, names: dict[str, Any], page: str) -> str:
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(compile(code, page, "exec"), names)
    return printed.getvalue()


def run_command(command: str) -> str:
    words = shlex.split(command)
    assert words[0] == "steinball", command
    done = CliRunner().invoke(app, words[1:])
    assert done.exit_code in (0, 1, 2)
    return str(done.output)


def check_console(block: str) -> None:
    for part in re.split(r"(?m)^\$ ", block)[1:]:
        command, _, expected = part.partition("\n")
        if command.startswith("steinball"):
            printed = run_command(command)
            assert not expected.strip() or matches(expected, printed), f"$ {command}\n{printed}"


def check_page(text: str, page: str) -> int:
    """Run every block of a page; the number of blocks that were run."""
    names: dict[str, Any] = {"__name__": "__page__"}
    printed, ran = "", 0
    for language, block in BLOCK.findall(text):
        if language == "text":
            assert matches(block, printed), f"{page} says\n{block}\nbut it prints\n{printed}"
            continue
        ran += language in {"python", "console"}
        printed = run_python(block, names, page) if language == "python" else ""
        if language == "console":
            check_console(block)
    return ran


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_a_page_runs_and_prints_what_it_says(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    check_page(page.read_text(encoding="utf-8"), page.name)


@pytest.mark.parametrize("page", [*PAGES, ROOT / "CONTRIBUTING.md", ROOT / "VISION.md"], ids=lambda p: p.name)
def test_links_lead_to_files(page: Path) -> None:
    for target in LINK.findall(page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), target


def test_a_page_that_lies_is_caught() -> None:
    assert check_page("```python\nprint(1)\n```\n\n```text\n1\n```\n", "true") == 1
    for lie in (
        "```python\nprint(1)\n```\n\n```text\n2\n```\n",
        "```console\n$ steinball --version\nsteinball 9\n```\n",
    ):
        with pytest.raises(AssertionError):
            check_page(lie, "lie")
    with pytest.raises(NameError):
        check_page("```python\nnothing\n```\n", "broken")
    assert matches("a\n...\nd\n", "a\nb\nc\nd\n")
    assert not matches("a\n...\nd\n", "a\nb\nc\n")


def test_most_pages_have_something_to_run() -> None:
    counted = [page.name for page in PAGES if "```python" in page.read_text(encoding="utf-8")]
    assert {"README.md", "getting-started.md", "choosing-a-tolerance.md", "command-line.md", "models.md"} <= set(
        counted
    )
