"""The shape of the experiments: framework, then the paper, then the evidence; the library knows none of them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

pytestmark = pytest.mark.exact

ROOT = Path(__file__).parents[2]

ROOMS = ("framework", "paper", "evidence")
"""A file imports only from its own room and those before it."""


def imported(path: Path) -> Iterator[str]:
    """The dotted names of the modules that a file imports, wherever it does so."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def sources(*folders: str) -> list[Path]:
    return sorted(path for folder in folders for path in (ROOT / folder).rglob("*.py"))


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("path", sources(*(f"experiments/{room}" for room in ROOMS)), ids=name_of)
def test_imports_go_from_the_framework_to_the_paper_to_the_evidence(path: Path) -> None:
    room = path.relative_to(ROOT).parts[1]
    below = tuple(f"experiments.{later}" for later in ROOMS[ROOMS.index(room) + 1 :])
    assert [name for name in imported(path) if name.startswith(below)] == []


def test_the_framework_names_no_experiment() -> None:
    """Not even as text: what belongs to one collection reaches it as a field of the collection."""
    for path in sources("experiments/framework"):
        text = path.read_text(encoding="utf-8")
        assert "experiments.paper" not in text, path.name
        assert "experiments.evidence" not in text, path.name


def test_every_room_of_the_list_exists() -> None:
    folders = {path.name for path in (ROOT / "experiments").iterdir() if (path / "__init__.py").exists()}
    assert folders == set(ROOMS)


@pytest.mark.parametrize("path", sources("src"), ids=name_of)
def test_the_library_imports_nothing_that_is_not_shipped(path: Path) -> None:
    assert {name.split(".")[0] for name in imported(path)} & {"experiments", "benchmarks", "tests"} == set()


def core_tests() -> list[Path]:
    own = ("tests/experiments/", "tests/benchmarks/")
    return [path for path in sources("tests") if not name_of(path).startswith(own)]


def test_core_tests_import_no_experiment() -> None:
    importing = {name_of(p) for p in core_tests() if any(name.split(".")[0] == "experiments" for name in imported(p))}
    assert importing == set()


# Modules without a test file of their own name, each with the place of its tests; experiments are those of a registry.
TESTED_ELSEWHERE = {
    "benchmarks/device.py": "needs a GPU; its recorded rows are in benchmarks/test_plot.py",
    "benchmarks/memory.py": "measures children; its table is in docs/developer/reliability.md",
    "experiments/evidence/adversaries.py": "the optimizer of the radii, with the test of their adversaries",
    "experiments/evidence/exact_settings.py": "evidence/test_exact.py: the experiment that is made of them",
    "experiments/evidence/predictive_settings.py": "evidence/test_predictive.py: the experiment that is made of them",
    "experiments/evidence/promise_edges.py": "evidence/test_promise.py: the experiment that is made of them",
    "experiments/evidence/regions_settings.py": "evidence/test_regions.py: the experiment that is made of them",
    "experiments/paper/data.py": "test_registry.py: the samples of every experiment",
    "experiments/paper/kef.py": "test_registry.py: the experiments on kernel exponential families",
}


def test_every_module_beside_the_library_has_a_test_file_of_its_name() -> None:
    def has_tests(path: Path) -> bool:
        folder = ROOT / "tests" / path.relative_to(ROOT).parent
        return (folder / f"test_{path.stem.strip('_')}.py").exists()

    modules = [path for path in sources("experiments", "benchmarks") if path.name != "__init__.py"]
    others = [path for path in modules if "\nEXPERIMENT = " not in path.read_text(encoding="utf-8")]
    without = {name_of(path) for path in others if not has_tests(path)}
    assert without <= set(TESTED_ELSEWHERE), "write the test file, or say where the tests are"
