"""The site lists every page and every public name. Nothing here needs Sphinx."""

from __future__ import annotations

import inspect
import re
import runpy
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import steinball as sb

pytestmark = pytest.mark.exact

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = [page for page in sorted(DOCS.rglob("*.md")) if "/_" not in page.relative_to(ROOT).as_posix()]
TREE = re.compile(r"(?ms)^```\{toctree\}\n(.*?)^```")
LISTED = re.compile(r"(?ms)^\.\. currentmodule:: (\S+)\n(.*?)^```")
BUILT = ("../_project/",)
"""Pages that the build copies from the root of the repository."""


def entries(page: Path) -> Iterator[Path]:
    """The pages that a page has in its tables of contents."""
    for tree in TREE.findall(page.read_text(encoding="utf-8")):
        for line in tree.splitlines():
            name = re.sub(r".*<(.*)>", r"\1", line.strip())
            if name and not name.startswith((":", *BUILT)):
                yield (page.parent / f"{name}.md").resolve()


def test_every_page_is_in_exactly_one_table_of_contents() -> None:
    listed = [entry for page in PAGES for entry in entries(page)]
    assert [entry for entry in listed if not entry.exists()] == []
    assert sorted(listed) == [page for page in PAGES if page != DOCS / "index.md"]


def public() -> dict[str, Any]:
    """Every public thing by its name; what has two names, by the shorter."""
    found: dict[int, tuple[str, Any]] = {}
    modules = [(name, getattr(sb, name)) for name in sb.__all__]
    top = [("steinball", name, thing) for name, thing in modules if not isinstance(thing, ModuleType)]
    deep = [(f"steinball.{name}", key, getattr(module, key)) for name, module in modules
            if isinstance(module, ModuleType) for key in module.__all__]  # fmt: skip
    for module, name, thing in [*top, *deep]:
        found.setdefault(id(thing), (f"{module}.{name}", thing))
    return dict(found.values())


def test_every_public_name_has_an_entry_in_the_reference_and_nothing_else_has() -> None:
    pages = "".join(page.read_text(encoding="utf-8") for page in sorted((DOCS / "api").glob("*.md")))
    blocks = [(module, re.findall(r"(?m)^   (\w+)$", block)) for module, block in LISTED.findall(pages)]
    listed = [f"{module}.{name}" for module, found in blocks for name in found]
    assert sorted(listed) == sorted(public())


@pytest.mark.parametrize("name", sorted(public()))
def test_every_public_name_has_an_example(name: str) -> None:
    text = inspect.getdoc(public()[name]) or ""
    assert ">>>" in text.partition("Examples\n--------\n")[2]


def test_the_readme_begins_with_what_to_type_and_a_picture() -> None:
    lines = (ROOT / "README.md").read_text(encoding="utf-8").splitlines()
    assert len(lines) <= 120
    first = "\n".join(lines[:15])
    for wanted in ("make demo", "make test", "](docs/images/overview.png)"):
        assert wanted in first


def test_the_figure_of_the_decision_page_is_what_its_script_draws() -> None:
    draw = runpy.run_path(str(DOCS / "images" / "which_test.py"))["draw"]
    assert (DOCS / "images" / "which-test.svg").read_text(encoding="utf-8") == draw()


def test_the_report_on_the_first_page_is_of_the_check_on_that_page(tmp_path: Path) -> None:
    extension = DOCS / "_ext" / "live_report.py"
    page = runpy.run_path(str(extension))["write_report"](tmp_path)
    text = (DOCS / "getting-started.md").read_text(encoding="utf-8")
    assert f'src="{page.relative_to(tmp_path)}"' in text
    code = extension.read_text(encoding="utf-8")
    for start in ("rng = ", r"heights\[", "heights = np", "heights = rng", "model = ", "result = "):
        (line,) = re.findall(rf"(?m)^    ({start}.*)$", code)
        assert line in text
    assert "result = sb.check(heights, model, contamination=0.1, rng=0)" in code


def test_links_to_pages_outside_the_site_are_turned_to_their_copies() -> None:
    turn = runpy.run_path(str(DOCS / "_ext" / "outside.py"))["turn"]
    developer = DOCS / "developer"
    assert turn("[a](../../CONTRIBUTING.md#walks)", developer, developer) == "[a](../_project/CONTRIBUTING.md#walks)"
    assert turn("[`b`](../../experiments)", developer, developer) == "`b`"
    assert turn("[c](results.md)", developer, developer) == "[c](results.md)"
    assert turn("[d](docs/chains.md)", ROOT, DOCS / "_project") == "[d](../chains.md)"
    assert turn("[e](https://semver.org)", ROOT, DOCS) == "[e](https://semver.org)"


@pytest.fixture
def extension(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What the site does with docstrings, by name."""
    monkeypatch.syspath_prepend(str(DOCS / "_ext"))
    return runpy.run_path(str(DOCS / "_ext" / "docstrings.py"))


def completed(extension: dict[str, Any], name: str) -> list[str]:
    thing = public()[name]
    lines = (inspect.getdoc(thing) or "").splitlines()
    extension["complete"](None, "class" if isinstance(thing, type) else "function", name, thing, None, lines)
    return lines


FUNCTIONS = sorted(name for name, thing in public().items() if inspect.isfunction(thing))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_parameter_is_described_where_it_is_passed(name: str, extension: dict[str, Any]) -> None:
    entries = list(extension["entries_in"](completed(extension, name), "Parameters"))
    described = {one for names, _, _ in entries for one in names.replace("*", "").split(", ")}
    assert not any("As in :func:" in line for _, _, text in entries for line in text)
    if described:
        assert described >= set(inspect.signature(public()[name]).parameters) - {"kwargs", "options"}


def test_the_robust_test_describes_its_parameters_itself() -> None:
    assert "As in" not in (inspect.getdoc(sb.robust_ksd_test) or "")


def test_a_result_has_a_table_of_its_fields_and_of_those_of_its_bases(extension: dict[str, Any]) -> None:
    lines = completed(extension, "steinball.GofResult")
    assert "Attributes" not in lines
    assert lines.count(".. list-table:: Fields") == 1
    for field in ("``ksd, squared_ksd``", "``rejected``", "``pvalue, level``"):
        assert sum(line.startswith("   * - ") and field in line for line in lines) == 1


def test_groups_of_the_reference_are_public_names_pages_and_literature(extension: dict[str, Any]) -> None:
    found = runpy.run_path(str(DOCS / "_ext" / "related.py"))
    names = {f"steinball.{name}" for group in found["GROUPS"] for name in group.names.split()}
    assert names == set(public())
    for group in found["GROUPS"]:
        assert all((DOCS / "theory" / f"{page}.md").exists() for page in group.pages.split())
        assert set(group.literature.split()) <= set(found["LITERATURE"])
    lines = completed(extension, "steinball.robust_ksd_test")
    assert "steinball.ksd_test" in lines
    assert "- :doc:`/theory/boundary-bootstrap`, with proofs" in lines


def test_signatures_hide_private_fields(extension: dict[str, Any]) -> None:
    show = extension["show_signature"]
    shown, _ = show(None, "", "", None, None, "(*, n, n_jobs=None, _record=<factory>, ksd, _doubt='', _radius)", None)
    assert shown == "(*, n, n_jobs=None, ksd)"


def test_bars_of_docstrings_are_escaped_outside_mathematics(extension: dict[str, Any]) -> None:
    process = extension["process"]
    lines = ["|x| ≤ 1 and :math:`|x|`", ".. math:: |x|", "    = |y|", "", "``a | b``", ">>> 1 | 2"]
    process(None, "", "", None, None, lines)
    assert lines == [r"\|x\| ≤ 1 and :math:`|x|`", ".. math:: |x|", "    = |y|", "", "``a | b``", ">>> 1 | 2"]
