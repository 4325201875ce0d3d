"""The shape of the package: rooms, public names, extras, documents."""

from __future__ import annotations

import ast
import importlib
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
    "frames",
    "arrays",
    "cautions",
    "remarks",
    "progress",
    "text",
    "files",
    "predictive",
    "kernels",
    "tilts",
    "models",
    "adapters",
    "jumps",
    "regions",
    "stein",
    "gram",
    "tau",
    "rows",
    "problem",
    "checks",
    "discrepancy",
    "comparison",
    "radius",
    "calibration",
    "evidence",
    "explain",
    "record",
    "results",
    "fitting",
    "gof",
    "posterior",
    "sequential",
    "datasets",
    "planning",
    "show",
    "cli",
)

# A result shows itself: inside the methods for that it may look down the list.
MAY_LOOK_DOWN_INSIDE_FUNCTIONS = {"results": {"show"}, "sequential": {"show"}}

# Not in the list of rooms: the package itself, and `python -m steinball`.
DOORS = {"__init__", "__main__"}


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
    assert violations("gram", ast.parse("def f():\n    import steinball.gof.ksd")) == ["gram imports gof"]
    assert violations("results", ast.parse("import steinball.show")) == ["results imports show"]
    assert violations("results", ast.parse("def f():\n    import steinball.show")) == []
    assert violations("arrays", ast.parse("if TYPE_CHECKING:\n    from steinball.gof import ksd_test")) == []


def test_the_architecture_page_lists_the_rooms_in_their_order() -> None:
    page = (ROOT / "docs" / "developer" / "architecture.md").read_text(encoding="utf-8")
    table = re.findall(r"(?m)^\| `(\w+)(?:\.py|/)` \|", page)
    assert tuple(table) == ROOMS


def test_every_room_of_the_list_exists() -> None:
    assert {path.relative_to(PACKAGE).with_suffix("").parts[0] for path in source_files()} == {*ROOMS, *DOORS}


def test_no_file_is_named_for_nothing() -> None:
    assert not {p.name for p in source_files()} & {"utils.py", "helpers.py", "common.py", "misc.py"}


# Rooms whose tests mirror them file by file.
MIRRORED = ("explain", "tau", "jumps", "models", "radius")


@pytest.mark.parametrize("room", MIRRORED)
def test_every_module_has_its_file_of_tests_and_no_file_tests_nothing(room: str) -> None:
    modules = {path.stem for path in (PACKAGE / room).glob("*.py")} - {"__init__"}
    assert {path.stem.removeprefix("test_") for path in (ROOT / "tests" / room).glob("test_*.py")} == modules


def test_core_tests_import_no_experiment() -> None:
    tests = [path for path in (ROOT / "tests").rglob("*.py") if "experiments" not in path.relative_to(ROOT).parts]
    imports = (name for path in tests for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
               for name in _imported_names(node))  # fmt: skip
    assert [name for name in imports if name.partition(".")[0] == "experiments"] == []


# What asks a neighbor what it is


OWNERS = ("calibration", "models", "radius")


def asked_for(tree: ast.AST) -> Iterator[ast.expr]:
    """What the code compares a type with: by isinstance, issubclass, `type(x) is`, or a class pattern."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and ast.unparse(node.func) in {"isinstance", "issubclass"}:
            yield from _alternatives(node.args[1])
        elif isinstance(node, ast.Compare) and ast.unparse(node.left).startswith("type("):
            for other in node.comparators:
                yield from _alternatives(other)
        elif isinstance(node, ast.MatchClass):
            yield node.cls


def _alternatives(node: ast.expr) -> Iterator[ast.expr]:
    if isinstance(node, ast.Tuple | ast.List | ast.Set):
        for part in node.elts:
            yield from _alternatives(part)
    elif isinstance(node, ast.BinOp):
        yield from _alternatives(node.left)
        yield from _alternatives(node.right)
    else:
        yield node


def is_concrete(value: Any, room: str) -> bool:
    """Whether this is a calibration, radius or model, or a class that serves one, of another room than ``room``."""
    if not inspect.isclass(value) or not value.__module__.startswith("steinball."):
        return False
    home = room_of(value.__module__)
    return home in OWNERS and home != room and not (inspect.isabstract(value) or getattr(value, "_is_protocol", False))


def concrete_classes_asked_for(tree: ast.AST, names: dict[str, Any], room: str) -> set[str]:
    found = set()
    for expression in asked_for(tree):
        try:
            value = eval(ast.unparse(expression), names)
        except (AttributeError, NameError, TypeError):  # a local variable
            continue
        if is_concrete(value, room):
            found.add(value.__name__)
    return found


def test_no_room_asks_which_calibration_radius_or_model_it_was_given() -> None:
    offenders = {}
    for path in source_files():
        inside = path.relative_to(PACKAGE)
        name = ".".join(("steinball", *inside.with_suffix("").parts)).removesuffix(".__init__")
        if name == "steinball.__main__":
            continue
        try:
            names = dict(vars(importlib.import_module(name)))
        except ImportError:
            assert name.startswith("steinball.adapters."), name  # the adapter of a library that is not there
            continue
        found = concrete_classes_asked_for(ast.parse(path.read_text(encoding="utf-8")), names, inside.parts[0])
        if found:
            offenders[inside.as_posix()] = found
    assert offenders == {}


def test_asking_would_be_seen() -> None:
    names = {"sb": steinball, "Gaussian": steinball.models.Gaussian, "Kernel": steinball.kernels.Gaussian}
    for text in (
        "isinstance(x, Gaussian)", "isinstance(x, (int, sb.models.Gaussian))", "isinstance(x, int | Gaussian)",
        "type(x) is Gaussian", "type(x) in (int, Gaussian)", "match x:\n    case Gaussian(): pass",
    ):  # fmt: skip
        assert concrete_classes_asked_for(ast.parse(text), names, "gof") == {"Gaussian"}
    assert concrete_classes_asked_for(ast.parse("isinstance(x, Gaussian)"), names, "models") == set()
    for text in ("isinstance(x, sb.models.Model)", "isinstance(x, sb.radius.Radius)", "isinstance(x, Kernel)"):
        assert concrete_classes_asked_for(ast.parse(text), names, "gof") == set()


# Each with its reason; a number is how often, at most. `models/knowledge.py` asks users' models, and the files of array
# libraries ask those: they are not counted.
ASKERS = {"arrays.py", "frames.py", "models/knowledge.py", "models/autodiff.py"}
PROBES = {
    "cli/outcome.py": (1, "what the terminal can do"),
    "cli/specs.py": (3, "a name in a user's file, and whether it is a model"),
    "tau/isotropic.py": (1, "fields of its own dataclass, by name"),
    "gram/cost.py": (1, "what the operating system can tell"),
    "kernels/base.py": (2, "fields of its own dataclass, by name"),
    "kernels/radial.py": (1, "fields of its own dataclass, by name"),
    "models/base.py": (1, "a model of JAX stands in for the user's"),
    "results/base.py": (2, "fields of a result, by name"),
    "text.py": (1, "fields of any dataclass, by name"),
    "tilts/edge.py": (1, "fields of its own dataclass, by name"),
}


def calls_of(tree: ast.AST, names: set[str]) -> int:
    """How often one of these functions is called."""
    return sum(isinstance(node, ast.Call) and ast.unparse(node.func) in names for node in ast.walk(tree))


def test_attributes_are_declared_and_not_probed_for() -> None:
    for path in source_files():
        name = path.relative_to(PACKAGE).as_posix()
        found = calls_of(ast.parse(path.read_text(encoding="utf-8")), {"getattr", "hasattr"})
        assert name in ASKERS or found <= PROBES.get(name, (0, ""))[0], f"{name} probes {found} times"


def test_every_warning_goes_through_one_function() -> None:
    emitting = {"warnings.warn", "warnings.warn_explicit", "warn"}
    found = [p for p in source_files() if calls_of(ast.parse(p.read_text(encoding="utf-8")), emitting)]
    assert [path.name for path in found] == ["remarks.py"]


# Public names


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
    "steinball.FitResult": "made by fit_test, whose docstring shows it",
    "steinball.GofResult": "made by the tests, whose docstrings show it",
    "steinball.calibration.BoundingNull": "abstract",
    "steinball.calibration.JointNull": "abstract",
    "steinball.calibration.Null": "abstract",
    "steinball.cautions.DependentRowsWarning": "a warning",
    "steinball.cautions.FewRowsWarning": "a warning",
    "steinball.cautions.UnboundedSteinKernelWarning": "a warning",
    "steinball.cautions.UncertifiedSupremumWarning": "a warning",
    "steinball.fitting.Estimate": "made by estimators",
    "steinball.fitting.Estimator": "abstract",
    "steinball.fitting.ExponentialFamily": "abstract",
    "steinball.cautions.SeparatedModesWarning": "a warning: the example is that of SteinballWarning",
    "steinball.kernels.Kernel": "abstract",
    "steinball.cautions.FittedOnDataWarning": "a warning",
    "steinball.cautions.RareFeaturesWarning": "a warning",
    "steinball.cautions.RoundedDataWarning": "a warning",
    "steinball.cautions.SteinIdentityWarning": "a warning",
    "steinball.cautions.LogDensityWarning": "a warning",
    "steinball.cautions.WrongScoreWarning": "a warning",
    "steinball.cautions.RemovalWarning": "a warning",
}


@pytest.mark.parametrize(("name", "value"), public_callables(), ids=[name for name, _ in public_callables()])
def test_every_public_callable_has_a_docstring_with_an_example(name: str, value: Any) -> None:
    text = inspect.getdoc(value) or ""
    assert text
    assert ">>>" in text or name in NO_EXAMPLE_NEEDED or getattr(value, "_is_protocol", False)


def test_no_exemption_is_out_of_date() -> None:
    assert set(NO_EXAMPLE_NEEDED) <= {name for name, _ in public_callables()}


EXTRAS = {
    "torch",
    "jax",
    "jaxlib",
    "matplotlib",
    "pyarrow",
    "pandas",
    "polars",
    "plotly",
    "jinja2",
    "dask",
    "distributed",
}

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
import numpy as np, steinball as sb, steinball.cli.commands
x = np.random.default_rng(0).normal(size=50)
print(sb.robust_ksd_test(x, sb.models.Gaussian(0.0, 1.0), contamination=0.05, rng=0).summary())
"""
    done = run_python(BLOCK_EXTRAS + code)
    assert done.returncode == 0, done.stderr
    assert "UNDECIDED at level 0.05" in done.stdout


# Slow to import, and needed by nobody who only imports the package.
HEAVY = EXTRAS | {"scipy.stats", "cupy", "dask", "rich", "typer", "experiments", "IPython"}


def test_importing_the_package_loads_nothing_heavy() -> None:
    done = run_python(f"import steinball, sys; print({HEAVY!r} & set(sys.modules))")
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "set()"


def test_the_list_of_what_is_heavy_would_see_it() -> None:
    done = run_python(f"import steinball, scipy.stats, sys; print({HEAVY!r} & set(sys.modules))")
    assert done.stdout.strip() == "{'scipy.stats'}"


def test_the_command_is_there_before_any_library_is_loaded() -> None:
    """So that it can say which one is broken."""
    done = run_python("import steinball_command, sys; print({'numpy', 'scipy', 'steinball'} & set(sys.modules))")
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
    """Whoever imports a room imports the package first, so the rooms that it loads itself come in one order for all."""
    code = f"""
import importlib, sys
import steinball
for room in [room for room in {ROOMS!r} if "steinball." + room not in sys.modules]:
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


# Modules without a test file of their own name, each with the place of its tests.
TESTED_ELSEWHERE = {
    "adapters/density.py": "test_torch.py, test_numpyro.py: the adapters that are made of it",
    "adapters/estimators.py": "test_scikit_learn.py, test_statsmodels.py: a file of tests a library",
    "adapters/samplers.py": "test_posterior.py, and test_arviz.py to test_stan.py: a file of tests a library",
    "adapters/scipy_distribution.py": "test_scipy.py: the models of the adapter",
    "comparison.py": "comparison/: embeddings, extremes, pairs",
    "calibration/base.py": "test_null.py: the null distributions and the p-value convention",
    "datasets/data.py": "test_contamination.py, test_shipped.py: the two kinds of data",
    "evidence/check.py": "gof/test_check.py: the test that decides by it",
    "evidence/kernels.py": "gof/test_aggregated.py, gof/test_robust_aggregated.py: the tests that decide by it",
    "evidence/ksd.py": "results/test_gof.py: the decision of a result",
    "evidence/means.py": "gof/test_mode_weights.py, gof/test_mmd.py: the tests that decide by it",
    "evidence/regions.py": "gof/test_regions.py: the test that decides by it",
    "gof/assess.py": "test_every_combination.py and test_problem.py: every test goes through it",
    "gram/base.py": "test_engines_agree.py: what every engine answers",
    "gram/whole.py": "test_dense.py, test_isolated.py, test_replicates.py: its three matrices",
    "gram/tiles.py": "test_blocked.py: the engine that is made of them",
    "posterior.py": "posterior/: draws, and the test",
    "regions/reading.py": "gof/test_regions.py: every kind of model",
    "remarks.py": "test_cautions.py: where warnings point",
    "results/aggregated.py": "gof/test_aggregated.py: the result of that test",
    "results/check.py": "gof/test_check.py: the result of that test",
    "results/regions.py": "gof/test_regions.py: the result of that test",
    "show/panels.py": "test_page.py: the page that is made of them",
    "show/svg.py": "test_page.py: the page that is made of it",
    "show/view.py": "test_pictures.py: the blamed points",
}


def test_every_module_has_a_test_file_of_its_name() -> None:
    """Mirrored folder by folder; ``__main__.py`` is tested in ``test_main.py``."""
    modules = {path.relative_to(PACKAGE) for path in source_files() if path.name != "__init__.py"}
    without = {m.as_posix() for m in modules if not (ROOT / "tests" / m.parent / _test_file(m)).exists()}
    assert without - set(TESTED_ELSEWHERE) == set(), "write the test file, or say where the tests are"
    assert set(TESTED_ELSEWHERE) - without == set(), "these have their file now, or are gone"


def _test_file(module: Path) -> str:
    return f"test_{module.stem.strip('_')}.py"


def test_no_test_asserts_a_wall_time() -> None:
    """How long something takes depends on the machine: tests count, and ``benchmarks`` measure."""
    clocks = re.compile(r"\b(perf_counter|process_time|timeit)[(]")
    files = [path.relative_to(ROOT / "tests") for path in sorted((ROOT / "tests").rglob("*.py"))]
    timed = [file for file in files if clocks.search((ROOT / "tests" / file).read_text(encoding="utf-8"))]
    assert [file.as_posix() for file in timed] == []


def test_no_test_module_needs_an_extra_as_a_whole() -> None:
    """Where it is not installed, pytest would lose all tests of the module without a word: ``importorskip`` in one."""
    extras = (
        r"^(?:import|from) (torch|jax|matplotlib|pandas|polars|pyarrow|dask|distributed|sklearn|numpyro|pymc|arviz)\b"
    )
    files = sorted((ROOT / "tests").rglob("*.py"))
    found = [str(path.relative_to(ROOT)) for path in files if re.search(extras, path.read_text("utf-8"), re.MULTILINE)]
    assert found == []
