"""What every test shares: the array libraries, and properties that are checked on the same examples every time."""

from __future__ import annotations

import atexit
import contextlib
import gc
import importlib
import io
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Generator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any
from unittest import mock

import array_api_compat
import pytest
from hypothesis import settings

from tests.housekeeping import Housekeeper, Meter

os.environ.setdefault("JAX_ENABLE_X64", "1")  # read when JAX is first imported: float64 as in the other libraries


def _folder_of_programs() -> str:
    """A folder that goes when the run ends; each worker has its own in it: JAX writes where others may be reading."""
    shared, worker = (os.environ.get(name) for name in ("JAX_COMPILATION_CACHE_DIR", "PYTEST_XDIST_WORKER"))
    if shared and worker:
        return str(Path(shared) / worker)
    folder = tempfile.mkdtemp(prefix="steinball-programs-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


# What JAX compiles is also kept on disk: the housekeeper drops it from memory many times, and to read a program again
# takes a third of the time.
os.environ["JAX_COMPILATION_CACHE_DIR"] = _folder_of_programs()
os.environ["JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS"] = "0"

settings.register_profile("steinball", derandomize=True, deadline=None, print_blob=True)
settings.load_profile("steinball")

# Tests put outliers into the first rows and take few points on purpose; what is said of that has tests of its own.
# Examples of docstrings and documents are to be free of it.
REMARKS = ("DependentRowsWarning", "FewRowsWarning")


def pytest_configure(config: pytest.Config) -> None:
    if path := os.environ.get("STEINBALL_MEMORY"):
        config.pluginmanager.register(Meter(Path(path)))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents and item.path.name != "test_docs.py":
            for name in REMARKS:
                item.add_marker(pytest.mark.filterwarnings(f"ignore::steinball.cautions.{name}"))


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Fail where a module of tests cannot be imported: looking for doctests skips it, and then nothing else is said."""
    report = yield
    if (
        report.skipped
        and Path(__file__).parent in collector.path.parents
        and "unable to import" in str(report.longrepr)
    ):
        report.outcome = "failed"
    return report


def pytest_collection_finish() -> None:
    """Leave the tests themselves out of all later garbage collections, each of which takes 0.4 s longer with them."""
    gc.collect()
    gc.freeze()


HOUSEKEEPER = Housekeeper()


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown() -> None:
    """Workers run thousands of tests, and are to stay below 2 GB."""
    HOUSEKEEPER.tidy()


LIBRARIES = ("numpy", "array_api_strict", "torch", "jax")


def _load(library: str) -> Any:
    """The array API namespace of a library."""
    module = importlib.import_module("jax.numpy" if library == "jax" else library)
    return array_api_compat.array_namespace(module.asarray([0.0]))


@pytest.fixture(params=LIBRARIES)
def xp(request: pytest.FixtureRequest) -> Any:
    """The array API namespace of each installed library in turn."""
    library: str = request.param
    try:
        return _load(library)
    except ImportError:
        pytest.skip(f"{library} is not installed")


@dataclass(frozen=True)
class Ended:
    """How a command ended."""

    exit_code: int
    stdout: str
    stderr: str


def _run(main: Callable[[], None], program: str, *arguments: str) -> Ended:
    out, err = io.StringIO(), io.StringIO()
    with (
        mock.patch.object(sys, "argv", [program, *arguments]),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
        pytest.raises(SystemExit) as ending,
    ):
        main()
    code = ending.value.code
    assert code is None or isinstance(code, int)
    return Ended(code or 0, out.getvalue(), err.getvalue())


@pytest.fixture
def command_of() -> Callable[[Callable[[], None], str], Callable[..., Ended]]:
    """An entry point and its name to a command: a function of its arguments, in this process."""
    return lambda main, program: partial(_run, main, program)


@pytest.fixture
def command(command_of: Callable[..., Callable[..., Ended]]) -> Callable[..., Ended]:
    """The command ``steinball`` as a function of its arguments, in this process."""
    from steinball_command import main

    return command_of(main, "steinball")
