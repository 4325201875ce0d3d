"""What is shipped: the sdist is complete, and the wheel alone is enough to use the library."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import sysconfig
import tarfile
import venv
import zipfile
from pathlib import Path

import pytest

import steinball

pytestmark = pytest.mark.exact

ROOT = Path(__file__).parents[1]
# Nothing of the source tree may reach the new environment.
ENVIRONMENT = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}


def run(*command: str | Path, folder: Path) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(command, cwd=folder, env=ENVIRONMENT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    return done


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the sdist, and the wheel that was built from it."""
    folder = tmp_path_factory.mktemp("dist")
    run(sys.executable, "-m", "build", "--no-isolation", "--outdir", folder, ROOT, folder=folder)
    return folder


def test_the_wheel_holds_the_package_with_its_data_and_nothing_else(built: Path) -> None:
    (wheel,) = built.glob("*.whl")
    assert wheel.name == f"steinball-{steinball.__version__}-py3-none-any.whl"
    names = set(zipfile.ZipFile(wheel).namelist())
    information = f"steinball-{steinball.__version__}.dist-info/"
    sources = {str(path.relative_to(ROOT / "src")) for path in (ROOT / "src").rglob("*.py")}
    data = {"steinball/datasets/galaxies.csv", "steinball/py.typed"}
    data |= {"steinball/report/page.css", "steinball/report/page.js"}
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


def environment_with(wheel: Path, folder: Path) -> Path:
    """A new environment with the wheel installed, and the dependencies of this one in reach."""
    venv.create(folder, with_pip=False)
    install = ["install", "--quiet", "--no-deps", "--no-index", str(wheel)]
    run(sys.executable, "-m", "pip", "--python", folder / "bin" / "python", *install, folder=folder.parent)
    (packages,) = folder.glob("lib/python*/site-packages")
    # A path in a .pth file does not run the .pth files there, so this tree's own editable install stays out.
    here = {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}
    (packages / "dependencies.pth").write_text("\n".join(sorted(here)))
    return folder


def test_the_wheel_alone_runs_the_demo_and_a_test(built: Path, tmp_path: Path) -> None:
    environment = environment_with(next(built.glob("*.whl")), tmp_path / "environment")
    demo = run(environment / "bin" / "steinball", "demo", folder=tmp_path)
    assert "Robust: NOT REJECTED at level 0.05" in demo.stdout
    assert demo.stderr == ""
    code = """
import numpy as np, steinball as sb
print(sb.__file__)
print(sb.robust_ksd_test(np.linspace(-2, 2, 50), sb.models.Gaussian(), contamination=0.1, rng=0).rejected)
"""
    where, rejected = run(environment / "bin" / "python", "-c", code, folder=tmp_path).stdout.split()
    assert Path(where).is_relative_to(environment)
    assert rejected == "False"


README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_wheel_alone_runs_the_lines_of_the_readme_word_for_word(built: Path, tmp_path: Path) -> None:
    environment = environment_with(next(built.glob("*.whl")), tmp_path / "environment")
    (tmp_path / "readme.py").write_text("".join(re.findall(r"(?ms)^```python\n(.*?)^```", README)), encoding="utf-8")
    done = run(environment / "bin" / "python", "readme.py", folder=tmp_path)
    assert done.stdout == "".join(re.findall(r"(?ms)^```text\n(.*?)^```", README))
    assert "<html" in (tmp_path / "fit.html").read_text(encoding="utf-8")


def test_the_command_of_the_readme_makes_a_report_of_ones_own_csv(built: Path, tmp_path: Path) -> None:
    environment = environment_with(next(built.glob("*.whl")), tmp_path / "environment")
    (line,) = re.findall(r"`steinball (test data.csv .*?)`", README)
    (tmp_path / "data.csv").write_text("id,height\n" + "".join(f"a{i},{(i * 37 % 100) / 25 - 2}\n" for i in range(100)))
    done = run(environment / "bin" / "steinball", *shlex.split(line), folder=tmp_path)
    assert done.stdout.startswith(("UNDECIDED", "GOOD ENOUGH"))
    assert "height" in (tmp_path / "fit.html").read_text(encoding="utf-8")
