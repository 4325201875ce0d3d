"""The documents are true: their Python runs, their commands run, and both print what the page says.

In a page, a ``text`` block right after a ``python`` block is what that prints. A ``console`` block holds commands
after ``$`` and below each what it prints; nothing below means that the output is not shown. A line of three dots
stands for any lines. All blocks of a page run in one folder and one after the other. The cells of pages that the site
executes run here too. Where a section (a heading of the second order) needs a library that is not installed, the rest
of the section is left out, the other sections run, and the page is reported as skipped, with the reason.
"""

from __future__ import annotations

import contextlib
import io
import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.exact

Command = Callable[..., Any]

ROOT = Path(__file__).parents[1]
# Folders that begin with an underscore hold what is built.
PAGES = [ROOT / "README.md", *(p for p in sorted((ROOT / "docs").rglob("*.md")) if "/_" not in p.as_posix())]
EXTRAS = {"arviz", "blackjax", "jax", "numpyro", "pymc", "sklearn", "statsmodels", "torch", "xarray", "zuko"}
BLOCK = re.compile(r"^```(?:(\w+)|\{code-cell\} ipython3)\n(?:^:tags:.*?\n)?(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\((?!https?:)([^)#]+)[^)]*\)")


def matches(expected: str, printed: str) -> bool:
    """Whether ``printed`` is ``expected``, with a line of three dots standing for any lines."""
    parts = [re.escape(part) for part in re.split(r"(?m)^\s*\.\.\.$\n?", expected.rstrip() + "\n")]
    return re.fullmatch(r"(?:.*\n)*?".join(parts), printed.rstrip() + "\n") is not None


def run_python(code: str, names: dict[str, Any], page: str) -> str:
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(compile(code, page, "exec"), names)
    return printed.getvalue()


def check_console(block: str, command: Command) -> None:
    for part in re.split(r"(?m)^\$ ", block)[1:]:
        line, _, expected = part.partition("\n")
        if line.startswith("steinball"):
            done = command(*shlex.split(line)[1:])
            printed = done.stdout + done.stderr
            assert not expected.strip() or matches(expected, printed), f"$ {line}\n{printed}"


def check_page(text: str, page: str, command: Command) -> tuple[int, set[str]]:
    """Run every block of a page; the number of blocks that were run, and the libraries that sections miss."""
    names: dict[str, Any] = {"__name__": "__page__"}
    ran, missing = 0, set[str]()
    for section in re.split(r"(?m)^(?=## )", text):
        try:
            ran += check_section(section, page, names, command)
        except ModuleNotFoundError as error:
            if error.name not in EXTRAS:
                raise
            missing.add(error.name)
    return ran, missing


def check_section(text: str, page: str, names: dict[str, Any], command: Command) -> int:
    """Run every block of a section; the number of blocks that were run."""
    printed, ran = "", 0
    for language, block in BLOCK.findall(text):
        language = language or "python"
        if language == "text":
            assert matches(block, printed), f"{page} says\n{block}\nbut it prints\n{printed}"
            continue
        ran += language in {"python", "console"}
        printed = run_python(block, names, page) if language == "python" else ""
        if language == "console":
            check_console(block, command)
    return ran


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_a_page_runs_and_prints_what_it_says(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: Command
) -> None:
    monkeypatch.chdir(tmp_path)
    _, missing = check_page(page.read_text(encoding="utf-8"), page.name, command)
    if missing:
        pytest.skip(f"not installed, so that their sections did not run: {', '.join(sorted(missing))}")


@pytest.mark.parametrize(
    "page", [*PAGES, ROOT / "CONTRIBUTING.md", ROOT / "RELEASING.md", ROOT / "VISION.md"], ids=lambda p: p.name
)
def test_links_lead_to_files(page: Path) -> None:
    """The source distribution comes without the figures of paper and evidence, which are drawn from their tables."""
    figures = "figures/" if not (page.parent / "figures").exists() else "\0"
    for target in LINK.findall(page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists() or target.startswith(figures), target


def anchors(page: Path) -> set[str]:
    """The places of a page that a link can lead to: its headings in lower case, without marks, with hyphens."""
    headings = re.findall(r"(?m)^#+ (.*)$", page.read_text(encoding="utf-8"))
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_links_lead_to_headings(page: Path) -> None:
    for target, anchor in re.findall(r"\]\((?!https?:)([^)#]*)#([^)]+)\)", page.read_text(encoding="utf-8")):
        assert anchor in anchors(page.parent / target if target else page), f"{target}#{anchor}"


def test_a_page_that_lies_is_caught(command: Command) -> None:
    assert check_page("```python\nprint(1)\n```\n\n```text\n1\n```\n", "true", command) == (1, set())
    for lie in (
        "```python\nprint(1)\n```\n\n```text\n2\n```\n",
        "```console\n$ steinball --version\nsteinball 9\n```\n",
    ):
        with pytest.raises(AssertionError):
            check_page(lie, "lie", command)
    with pytest.raises(NameError):
        check_page("```python\nnothing\n```\n", "broken", command)
    assert matches("a\n...\nd\n", "a\nb\nc\nd\n")
    assert not matches("a\n...\nd\n", "a\nb\nc\n")


def test_a_section_that_needs_a_missing_library_does_not_hide_the_others(command: Command) -> None:
    needs = "## A\n\n```python\nraise ModuleNotFoundError(name='pymc')\n```\n\n```python\nnothing\n```\n\n"
    assert check_page(f"{needs}## B\n\n```python\nprint(1)\n```\n", "page", command) == (1, {"pymc"})
    with pytest.raises(NameError):
        check_page(f"{needs}## B\n\n```python\nnothing\n```\n", "page", command)
    with pytest.raises(ModuleNotFoundError):
        check_page(needs.replace("pymc", "numpy"), "page", command)


def test_most_pages_have_something_to_run() -> None:
    counted = [page.name for page in PAGES if "```python" in page.read_text(encoding="utf-8")]
    assert {"README.md", "getting-started.md", "choosing-a-tolerance.md", "command-line.md", "models.md"} <= set(
        counted
    )
