"""The files around the code agree with each other: versions of Python, lower bounds, hooks and targets."""

from __future__ import annotations

import re
import runpy
import tomllib
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.exact

ROOT = Path(__file__).parents[1]
PYPROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
LOWEST = runpy.run_path(str(ROOT / ".ci" / "lowest.py"))["lowest"]


def text_of(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def requirements() -> list[str]:
    extras = PYPROJECT["project"]["optional-dependencies"].values()
    return [*PYPROJECT["project"]["dependencies"], *(name for extra in extras for name in extra)]


def test_every_dependency_of_the_library_has_a_lower_bound_and_no_other() -> None:
    assert [re.sub("==", ">=", pinned) for pinned in LOWEST(requirements())] == requirements()


@pytest.mark.parametrize("requirement", ["numpy", "numpy<3", "numpy>=2,<3", "numpy==2.0"])
def test_another_kind_of_bound_is_refused(requirement: str) -> None:
    with pytest.raises(ValueError, match="no plain lower bound"):
        list(LOWEST([requirement]))


def test_what_developers_need_is_a_group_and_no_extra() -> None:
    assert set(PYPROJECT["project"]["optional-dependencies"]) == {"cluster", "io", "jax", "plot", "torch"}
    assert {"core-test", "test", "lint", "dev", "docs"} <= set(PYPROJECT["dependency-groups"])


def test_the_workflow_runs_every_python_that_is_promised() -> None:
    promised = re.findall(r"Python :: (3\.\d+)", text_of("pyproject.toml"))
    assert PYPROJECT["project"]["requires-python"] == f">={promised[0]}"
    workflow = text_of(".github/workflows/test.yml")
    assert re.findall(r'"(3\.\d+)"', re.findall(r"python: \[(.*)\]", workflow)[0]) == promised
    assert f'python-version: "{promised[0]}"' in workflow


def test_the_workflow_and_the_documents_run_targets_that_there_are() -> None:
    targets = set(re.findall(r"(?m)^([a-z-]+):", text_of("Makefile")))
    for name in (".github/workflows/test.yml", "CONTRIBUTING.md", "RELEASING.md", "README.md", ".ci/run"):
        assert set(re.findall(r"(?m)(?:^|`|run: |exec )make ([a-z-]+)", text_of(name))) <= targets, name


def test_hooks_are_local() -> None:
    assert re.findall(r"repo: (\S+)", text_of(".pre-commit-config.yaml")) == ["local"]


def test_no_project_file_names_an_address() -> None:
    """There is no place on the web that is ours, and none is made up."""
    files = ["pyproject.toml", "Makefile", ".pre-commit-config.yaml", "RELEASING.md", "CONTRIBUTING.md", "CITATION.cff"]
    files += [str(path.relative_to(ROOT)) for path in (ROOT / ".github").rglob("*") if path.is_file()]
    assert [name for name in files if re.search(r"https?://", text_of(name))] == []
