"""The shape of the package: rooms, public names, extras, documents."""

from __future__ import annotations

import ast
import inspect
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import steinball

pytestmark = pytest.mark.exact

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "steinball"

ROOMS = (
    "arrays",
    "progress",
    "files",
    "kernels",
    "tilts",
    "models",
    "jumps",
    "stein",
    "gram",
    "features",
    "problem",
    "discrepancy",
    "calibration",
    "radius",
    "results",
    "gof",
    "sequential",
    "estimation",
    "explain",
    "datasets",
    "report",
    "cli",
)

# A result renders and explains itself: inside its methods it may look down the list.
MAY_LOOK_DOWN_INSIDE_FUNCTIONS = {"results": {"explain", "report"}}

# Not in the list of rooms: the package itself, its public names, and `python -m steinball`.
DOORS = {"__init__", "__main__", "names"}


def room_of(name: str) -> str:
    """The room that a dotted name below ``steinball`` lies in; a public name lies in the package itself."""
    room = name.split(".")[1] if "." in name else "__init__"
    return room if room in ROOMS else "__init__"


def source_files() -> list[Path]:
    return sorted(PACKAGE.rglob("*.py"))


def _is_type_checking(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and ast.unparse(node.test) in {"TYPE_CHECKING", "typing.TYPE_CHECKING"}


def imported_rooms(node: ast.AST, inside_function: bool = False) -> Iterator[tuple[str, bool]]:
    """(room, whether inside a function) of every import of this package that runs."""
    for child in ast.iter_child_nodes(node):
        if _is_type_checking(child):
            continue
        deeper = inside_function or isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef))
        for name in _imported_names(child):
            if name == "steinball" or name.startswith("steinball."):
                yield room_of(name), deeper
        yield from imported_rooms(child, deeper)


def _imported_names(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        assert node.level == 0, "imports are absolute"
        base = node.module or ""
        return [f"{base}.{alias.name}" for alias in node.names] if base == "steinball" else [base]
    return []


def violations(room: str, tree: ast.AST) -> list[str]:
    """The rooms that code of ``room`` imports although they lie below it."""
    if room in DOORS:
        return []
    allowed = set(ROOMS[: ROOMS.index(room) + 1])
    if room == ROOMS[-1]:
        allowed.add("__init__")  # the command line is a user of the library
    inside = allowed | MAY_LOOK_DOWN_INSIDE_FUNCTIONS.get(room, set())
    return [
        f"{room} imports {other}"
        for other, in_function in imported_rooms(tree)
        if other not in (inside if in_function else allowed)
    ]


@pytest.mark.parametrize("path", source_files(), ids=lambda p: str(p.relative_to(PACKAGE)))
def test_imports_only_go_up_the_list_of_rooms(path: Path) -> None:
    room = path.relative_to(PACKAGE).with_suffix("").parts[0]
    assert room in DOORS or room in ROOMS, f"{room} is not in the list of rooms"
    assert violations(room, ast.parse(path.read_text(encoding="utf-8"))) == []


def test_an_import_down_the_list_would_be_seen() -> None:
    assert violations("kernels", ast.parse("from steinball.gof import ksd_test")) == ["kernels imports gof"]
    assert violations("kernels", ast.parse("from steinball import gof")) == ["kernels imports gof"]
    assert violations("gram", ast.parse("def f():\n    import steinball.report.text")) == ["gram imports report"]
    assert violations("results", ast.parse("import steinball.report")) == ["results imports report"]
    assert violations("results", ast.parse("def f():\n    import steinball.report")) == []
    assert violations("arrays", ast.parse("if TYPE_CHECKING:\n    from steinball.gof import ksd_test")) == []


def test_the_architecture_page_lists_the_rooms_in_their_order() -> None:
    page = (ROOT / "docs" / "developer" / "architecture.md").read_text(encoding="utf-8")
    table = re.findall(r"(?m)^\| `(\w+)(?:\.py|/)` \|", page)
    assert tuple(table) == ROOMS


def test_every_room_of_the_list_exists() -> None:
    assert {path.relative_to(PACKAGE).with_suffix("").parts[0] for path in source_files()} == {*ROOMS, *DOORS}


def test_no_file_is_named_for_nothing() -> None:
    assert not {p.name for p in source_files()} & {"utils.py", "helpers.py", "common.py", "misc.py"}


def public_modules() -> list[ModuleType]:
    """The package, and the packages and modules that are public names of it."""
    members = [getattr(steinball, name) for name in steinball.__all__]
    return [steinball, *(member for member in members if isinstance(member, ModuleType))]


@pytest.mark.parametrize("module", public_modules(), ids=lambda m: m.__name__)
def test_public_names_equal_all(module: ModuleType) -> None:
    declared = module.__all__
    assert len(set(declared)) == len(declared), "a name is listed twice"
    assert [name for name in declared if not hasattr(module, name)] == []
    own = {name for name, value in vars(module).items() if not name.startswith("_") and _is_own(value, module)}
    assert own == {name for name in declared if _is_own(getattr(module, name), module)}


def _is_own(value: Any, module: ModuleType) -> bool:
    """Whether a module is where users find this: in a package all that it imports, in a file what it defines."""
    if not (inspect.isclass(value) or inspect.isfunction(value)):
        return False
    return hasattr(module, "__path__") or value.__module__ == module.__name__


def public_callables() -> list[tuple[str, Any]]:
    found: dict[int, tuple[str, Any]] = {}
    for module in public_modules():
        for name in module.__all__:
            value = getattr(module, name)
            if inspect.isclass(value) or inspect.isfunction(value):
                found.setdefault(id(value), (f"{module.__name__}.{name}", value))
    return sorted(found.values(), key=lambda item: item[0])


# Each with its reason.
NO_EXAMPLE_NEEDED = {
    "steinball.GofResult": "made by the tests, whose docstrings show it",
    "steinball.jumps.SeparatedModesWarning": "a warning",
    "steinball.jumps.as_jumps": "between rooms: called by the tests with what the user passed",
    "steinball.jumps.warn_if_multimodal": "between rooms",
    "steinball.kernels.Kernel": "abstract",
    "steinball.radius.as_radius": "between rooms: called by the tests with what the user passed",
    "steinball.features.Supremum": "between rooms: a value and its kind",
    "steinball.features.UnboundedSteinKernelWarning": "a warning",
    "steinball.features.find_supremum": "between rooms: called by the tests with what the user passed",
    "steinball.features.warn_if_unbounded": "between rooms",
}


@pytest.mark.parametrize(("name", "value"), public_callables(), ids=[name for name, _ in public_callables()])
def test_every_public_callable_has_a_docstring_with_an_example(name: str, value: Any) -> None:
    text = inspect.getdoc(value) or ""
    assert text
    assert ">>>" in text or name in NO_EXAMPLE_NEEDED or getattr(value, "_is_protocol", False)


def test_no_exemption_is_out_of_date() -> None:
    assert set(NO_EXAMPLE_NEEDED) <= {name for name, _ in public_callables()}


EXTRAS = {"torch", "jax", "jaxlib", "matplotlib", "pyarrow", "pandas", "polars", "plotly", "jinja2"}

BLOCK_EXTRAS = f"""
import sys
EXTRAS = {EXTRAS!r}
class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.partition('.')[0] in EXTRAS:
            raise ImportError(name + ' is blocked')
sys.meta_path.insert(0, Blocked())
"""


def run_python(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=False)


def test_the_package_and_a_whole_test_work_without_any_extra() -> None:
    code = """
import numpy as np, steinball as sb, steinball.cli
x = np.random.default_rng(0).normal(size=50)
print(sb.robust_ksd_test(x, sb.models.Gaussian(0.0, 1.0), contamination=0.05, rng=0).summary())
"""
    done = run_python(BLOCK_EXTRAS + code)
    assert done.returncode == 0, done.stderr
    assert "REJECTED" in done.stdout


def test_importing_the_package_loads_no_extra() -> None:
    done = run_python(f"import steinball, sys; print({EXTRAS!r} & set(sys.modules))")
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "set()"


def test_the_command_is_there_before_any_library_is_loaded() -> None:
    """So that it can say which one is broken."""
    done = run_python("import steinball, steinball.cli, sys; print({'numpy', 'scipy', 'typer'} & set(sys.modules))")
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "set()"


def test_public_names_are_there_however_they_are_asked_for() -> None:
    for code in (
        "import steinball as sb; sb.ksd_test",
        "from steinball import *; ksd_test",
        "from steinball import tilts",
    ):
        done = run_python(code)
        assert done.returncode == 0, done.stderr
    done = run_python("import steinball as sb; print({*sb.__all__} <= {*dir(sb)}, hasattr(sb, 'nothing'))")
    assert done.stdout.strip() == "True False"


def test_every_room_may_be_imported_before_the_others() -> None:
    code = f"""
import importlib, sys
for room in {ROOMS!r}:
    for name in [name for name in sys.modules if name.partition(".")[0] == "steinball"]:
        del sys.modules[name]
    importlib.import_module("steinball." + room)
"""
    done = run_python(code)
    assert done.returncode == 0, done.stderr


def test_the_version_is_the_same_everywhere() -> None:
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert f"\nversion: {steinball.__version__}\n" in citation
    assert f"## {steinball.__version__}" in changelog
