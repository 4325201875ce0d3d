"""From a file to a verdict, as a user goes, on every Python that is there."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

import steinball

NEEDED = "numpy, scipy, array_api_compat, joblib, threadpoolctl, rich"


def interpreter(version: str) -> str:
    """This Python, or another one with what the package needs; otherwise the test is skipped, with the reason."""
    if version == f"{sys.version_info.major}.{sys.version_info.minor}":
        return sys.executable
    found = shutil.which(f"python{version}")
    if found is None or subprocess.run([found, "-c", ""], capture_output=True, check=False).returncode:
        pytest.skip(f"there is no Python {version} here")
    if subprocess.run([found, "-c", f"import {NEEDED}"], capture_output=True, check=False).returncode:
        pytest.skip(f"Python {version} is here, but not with {NEEDED}")
    return found


@pytest.fixture
def pressures(tmp_path: Path) -> str:
    """A file as people have it: a header, an id, a date, missing cells, and 4 % of wild values."""
    rng = np.random.default_rng(0)
    x = stats.t(6, 101.3, 2.5).rvs(size=250, random_state=rng)
    x[:10] = 180.0
    cells = [f"{value:.6f}" for value in x]
    cells[30], cells[31] = "", "NA"
    lines = [f"{k},2024-01-{1 + k % 28:02d},{cell}" for k, cell in enumerate(cells)]
    path = tmp_path / "bp.csv"
    path.write_text("id,date,pressure\n" + "\n".join(lines) + "\n", encoding="utf-8")
    return str(path)


@pytest.mark.parametrize("version", ["3.11", "3.12", "3.13"])
def test_a_csv_file_and_a_model_by_name_become_a_verdict_as_json(version: str, pressures: str) -> None:
    python, source = interpreter(version), str(Path(steinball.__file__).parents[1])
    options = ["--columns", "pressure", "--missing", "drop", "--contamination", "5%", "--json", "--no-progress"]
    for model, rejected in (("scipy:t:df=6,loc=101.3,scale=2.5", False), ("normal:loc=99,scale=2", True)):
        done = subprocess.run(
            [python, "-m", "steinball", "test", pressures, *options, "--model", model],
            capture_output=True, text=True, check=False, env={**os.environ, "PYTHONPATH": source},
        )  # fmt: skip
        assert done.stderr == ""
        verdict = json.loads(done.stdout)
        assert (verdict["n"], verdict["rejected"], done.returncode) == (248, rejected, int(rejected))
