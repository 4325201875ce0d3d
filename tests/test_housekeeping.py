"""What keeps the workers of the suite small, and measures them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.housekeeping import STEP, Housekeeper, give_back, peak

pytestmark = pytest.mark.exact


def test_compiled_programs_are_dropped_and_can_be_made_again() -> None:
    jax = pytest.importorskip("jax")
    twice = jax.jit(lambda x: 2.0 * x)
    assert float(twice(1.0)) == 2.0
    give_back()
    assert float(twice(np.float64(3.0))) == 6.0


def test_memory_is_given_back_once_and_again_only_after_it_has_grown(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = iter([100, 90, 90, 90 + STEP, 91 + STEP, 95])
    monkeypatch.setattr("tests.housekeeping.resident", lambda: next(sizes))
    housekeeper = Housekeeper(50)
    assert housekeeper.tidy()
    assert not housekeeper.tidy()
    assert not housekeeper.tidy()
    assert housekeeper.tidy()
    assert housekeeper.threshold == 95 + STEP


GREEDY = """
import numpy as np
def test_much(): assert np.ones(40_000_000).sum() > 0
def test_little(): pass
"""


@pytest.mark.skipif(peak() == 0, reason="the system does not tell how much memory a process has taken")
def test_the_peak_of_a_worker_is_written_with_the_modules_that_raised_it(tmp_path: Path) -> None:
    (tmp_path / "test_greedy.py").write_text(GREEDY)
    (tmp_path / "test_modest.py").write_text("def test_nothing(): pass\n")
    root = Path(__file__).parents[1]
    environment = {**os.environ, "STEINBALL_MEMORY": str(tmp_path / "memory.txt"), "PYTHONPATH": str(root)}
    environment.pop("PYTEST_XDIST_WORKER", None)
    words = ["-q", "-p", "tests.conftest", "-p", "no:cacheprovider", "--rootdir", str(tmp_path), str(tmp_path)]
    subprocess.run([sys.executable, "-m", "pytest", *words], env=environment, check=True, capture_output=True)
    worker, module = (tmp_path / "memory.txt").read_text().splitlines()
    assert 320 < int(worker.removeprefix("main peak ").removesuffix(" MB")) < 900
    assert module.startswith("main test_greedy.py +3")
