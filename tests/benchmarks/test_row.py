"""A case is run in a process of its own, and its row is complete."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import steinball as sb

pytestmark = pytest.mark.exact

ROOT = Path(__file__).parents[2]


def run_row(**fields: Any) -> dict[str, Any]:
    command = [sys.executable, "-m", "benchmarks.row", json.dumps(fields)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    row: dict[str, Any] = json.loads(done.stdout)
    return row


def test_a_case_runs_in_a_process_of_its_own() -> None:
    row = run_row(n=300, d=2, outliers=0.15, jobs=1, engine="blocked", least_speedup=1.0)
    x = np.random.default_rng(0).standard_normal((300, 2))
    x[:45] = 10.0
    model, draws = sb.models.Gaussian(np.zeros(2), 1.0), sb.WeightedBootstrap(500)
    here = sb.robust_ksd_test(x, model, 0.05, tilt=sb.PolynomialTilt(), calibration=draws, rng=0)
    assert (row["pvalue"], row["rejected"]) == (here.pvalue, here.rejected)
    assert (row["n"], row["d"], row["outliers"], row["engine"], row["grade"]) == (300, 2, 0.15, "blocked", "exact")
    assert min(row["seconds"], row["predicted"], row["products"], row["speedup"]) > 0.0
    assert row["memory"] < 10**8


def test_a_case_need_not_be_compared() -> None:
    row = run_row(n=220, d=1, outliers=0.0, jobs=1, engine="dense", compared=False)
    assert (row["products"], row["speedup"], row["engine"]) == (None, None, "dense")


def test_the_peak_of_memory_is_seen() -> None:
    """80 MB for a moment, in a process of its own."""
    code = "import benchmarks.row as r, numpy as np\nwith r.Peak() as p: np.ones(10**7)\nprint(p.value)"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert 7e7 < int(done.stdout) < 1.2e8
