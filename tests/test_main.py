"""``python -m steinball`` is the command, and its help starts without what it does not need."""

from __future__ import annotations

import subprocess
import sys

import pytest

import steinball

pytestmark = pytest.mark.exact

# The array libraries that models are written in, what reads and draws, and the slow half of SciPy.
NOT_FOR_HELP = {
    "benchmarks", "cupy", "dask", "distributed", "experiments", "jax", "jaxlib", "matplotlib", "pandas", "polars",
    "pyarrow", "scipy.stats", "torch",
}  # fmt: skip


def start(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-X", "importtime", "-m", "steinball", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True)


@pytest.mark.parametrize("arguments", [("--help",), ("--version",), ("test", "--help")])
def test_help_and_version_import_no_experiment_and_no_library_of_models(arguments: tuple[str, ...]) -> None:
    """Each module that is imported has its line on stderr."""
    imported = {line.rpartition("|")[2].strip() for line in start(*arguments).stderr.splitlines()}
    assert {"steinball", "steinball_command.options"} <= imported
    assert imported & NOT_FOR_HELP == set()


def test_the_module_is_the_command() -> None:
    assert start("--version").stdout == f"steinball {steinball.__version__}\n"
