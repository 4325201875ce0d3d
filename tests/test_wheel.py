"""What is shipped: the sdist is complete, and the wheel alone is enough to use the library."""

from __future__ import annotations

import fcntl
import os
import re
import shlex
import subprocess
import sys
import tarfile
import venv
import zipfile
from collections.abc import Callable
from pathlib import Path
from statistics import NormalDist

import numpy as np
import pytest

import steinball

pytestmark = pytest.mark.exact

ROOT = Path(__file__).parents[1]
# Nothing of the source tree may reach the new environment; threads of linear algebra would wait for each other.
ENVIRONMENT = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
ENVIRONMENT |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}


def run(*command: str | Path, folder: Path) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(command, cwd=folder, env=ENVIRONMENT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    return done


def made_once(factory: pytest.TempPathFactory, name: str, make: Callable[[Path], str]) -> tuple[Path, str]:
    """A folder that is made once in a run, also where several workers ask for it, and what its maker said."""
    base = factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / name
    folder.mkdir(exist_ok=True)
    with Path(folder, "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        said = folder / "said"
        if not said.exists():
            said.write_text(make(folder))
    return folder, said.read_text()


def build(folder: Path) -> str:
    run(sys.executable, "-m", "build", "--no-isolation", "--outdir", folder, ROOT, folder=folder)
    return ""


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the sdist, and the wheel that was built from it."""
    return made_once(tmp_path_factory, "dist", build)[0]


def test_the_wheel_holds_the_package_with_its_data_and_nothing_else(built: Path) -> None:
    (wheel,) = built.glob("*.whl")
    assert wheel.name == f"steinball-{steinball.__version__}-py3-none-any.whl"
    names = set(zipfile.ZipFile(wheel).namelist())
    information = f"steinball-{steinball.__version__}.dist-info/"
    sources = {str(path.relative_to(ROOT / "src")) for path in (ROOT / "src").rglob("*.py")}
    data = {
        "steinball/datasets/galaxies.csv",
        "steinball/datasets/nile.csv",
        "steinball/datasets/wages.csv",
        "steinball/py.typed",
    }
    data |= {f"steinball/show/{name}" for name in ("live.html", "page.css", "page.html", "page.js")}
    assert {name for name in names if not name.startswith(information)} == sources | data
    assert not any("experiments" in name or "benchmarks" in name or "tests" in name for name in names)


def test_the_wheel_asks_for_the_dependencies_and_offers_no_extra_for_developers(built: Path) -> None:
    (wheel,) = built.glob("*.whl")
    archive = zipfile.ZipFile(wheel)
    (metadata,) = (name for name in archive.namelist() if name.endswith("/METADATA"))
    text = archive.read(metadata).decode()
    extras = {line.removeprefix("Provides-Extra: ") for line in text.splitlines() if line.startswith("Provides-Extra")}
    assert extras == {"cluster", "io", "jax", "plot", "torch"}
    assert "pytest" not in text


def test_the_sdist_holds_what_a_developer_needs(built: Path) -> None:
    (sdist,) = built.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    wanted = ["tests/conftest.py", "docs/getting-started.md", "docs/developer/architecture.md", "Makefile", "LICENSE"]
    wanted += ["experiments/__main__.py", "benchmarks/__main__.py", "CONTRIBUTING.md", "RELEASING.md", ".ci/lowest.py"]
    wanted += [".github/workflows/test.yml", ".pre-commit-config.yaml"]
    assert {*wanted, "README.md", "CITATION.cff", "pyproject.toml", ".ci/run"} <= names
    assert not any("/." in name or name.startswith(".venv") for name in names)
    assert sdist.stat().st_size < 4_000_000


# Precompiled files would take longer to write than all tests here to run.
INSTALL = ("install", "--quiet", "--no-compile", "--retries", "1", "--timeout", "30")


def pip(environment: Path, *words: str | Path) -> subprocess.CompletedProcess[str]:
    """Install into an environment that has no pip of its own."""
    command = [sys.executable, "-m", "pip", "--python", environment / "bin" / "python", *words]
    return subprocess.run(command, cwd=environment, env=ENVIRONMENT, capture_output=True, text=True, check=False)


def install(wheel: Path, folder: Path) -> str:
    """Install the wheel with what it asks for; why not, where no registry can be reached."""
    venv.create(folder / "environment", with_pip=False)
    done = pip(folder / "environment", *INSTALL, wheel)
    if done.returncode == 0:
        return ""
    other = pip(folder / "environment", *INSTALL, "--dry-run", "--no-deps", "--ignore-installed", "threadpoolctl")
    assert other.returncode != 0, f"the wheel cannot be installed:\n{done.stdout}\n{done.stderr}"
    return f"no registry of packages can be reached: {other.stderr.strip().splitlines()[-1]}"


@pytest.fixture(scope="module")
def programs(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The programs of a new environment with the wheel, its dependencies and nothing else."""
    (wheel,) = built.glob("*.whl")
    folder, why_not = made_once(tmp_path_factory, "installed", lambda folder: install(wheel, folder))
    if why_not and os.environ.get("STEINBALL_REQUIRE_REGISTRY"):
        pytest.fail(f"STEINBALL_REQUIRE_REGISTRY is set, but {why_not}")
    if why_not:
        pytest.skip(why_not)
    return folder / "environment" / "bin"


def page(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def blocks(language: str, text: str) -> str:
    return "".join(re.findall(rf"(?ms)^```{language}\n(.*?)^```", text))


def test_the_environment_has_the_wheel_with_its_data_and_what_it_asks_for(programs: Path, tmp_path: Path) -> None:
    code = """
import importlib.metadata, steinball
print(steinball.__file__, len(steinball.datasets.load_galaxies()))
print(*(found.name for found in importlib.metadata.distributions()))
"""
    first, second = run(programs / "python", "-c", code, folder=tmp_path).stdout.splitlines()
    where, galaxies = first.split()
    assert Path(where).is_relative_to(programs.parent)
    assert galaxies == "82"
    assert {"steinball", "numpy", "scipy", "rich"} <= set(second.split())
    assert not {"pytest", "matplotlib", "torch", "jax", "pandas", "pip", "typer"} & set(second.split())


@pytest.mark.parametrize("name", ["README.md", "docs/getting-started.md"])
def test_the_lines_of_the_first_pages_print_what_these_say(name: str, programs: Path, tmp_path: Path) -> None:
    (tmp_path / "lines.py").write_text(blocks("python", page(name)), encoding="utf-8")
    done = run(programs / "python", "lines.py", folder=tmp_path)
    assert done.stdout == blocks("text", page(name))
    assert done.stderr == ""
    assert "<html" in (tmp_path / "fit.html").read_text(encoding="utf-8")
    for line in re.findall(r"(?m)^\$ steinball (.*)$", blocks("console", page(name))):
        (tmp_path / "fit.html").unlink()
        assert run(programs / "steinball", *shlex.split(line), folder=tmp_path).stdout.startswith(
            ("UNDECIDED", "GOOD ENOUGH")
        )
        assert "height" in (tmp_path / "fit.html").read_text(encoding="utf-8")


_PLACES = np.random.default_rng(0).permutation(100).tolist()
_HEIGHTS = [NormalDist(170.0, 7.0).inv_cdf((place + 0.5) / 100) for place in _PLACES]
FILES = {
    "header and ids": "id,height\n" + "".join(f"a{i},{value}\n" for i, value in enumerate(_HEIGHTS)),
    "semicolons, an index, a gap": ";height;name\n0;;x\n"
    + "".join(f"{i};{value:.2f};x\n" for i, value in enumerate(_HEIGHTS, 1)),
}


@pytest.mark.parametrize("text", FILES.values(), ids=FILES)
def test_the_command_of_the_readme_makes_a_report_of_ones_own_csv(text: str, programs: Path, tmp_path: Path) -> None:
    (line,) = re.findall(r"(?m)^steinball (check data.csv .*)$", page("README.md"))
    (tmp_path / "data.csv").write_text(text)
    done = run(programs / "steinball", *shlex.split(line), folder=tmp_path)
    assert done.stdout.startswith("UNDECIDED")
    assert "The 100 rows fit the model" in done.stdout
    assert "height" in (tmp_path / "fit.html").read_text(encoding="utf-8")
