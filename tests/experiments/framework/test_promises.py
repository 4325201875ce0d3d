"""The files of a run: one writer at a time, nothing counted twice, and never half a file."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from experiments.framework.base import Cell, Experiment, Row
from experiments.framework.run import run
from experiments.framework.table import read_results, sort_records, write_records
from steinball.files import only_writer

pytestmark = pytest.mark.exact

ROOT = Path(__file__).parents[3]


def trial(cell: Cell, rng: np.random.Generator) -> list[Row]:
    value = float(rng.random())
    shared = {"n": cell["n"], "ksd": value, "rejected": int(value > 0.5), "pvalue": 1.0 - value, "seconds": 0.0}
    return [{"test": "imq-ksd", **shared}, {"test": "r-ksd", "tolerance": 0.05, **shared}]


def toy(**changes: Any) -> Experiment:
    settings: dict[str, Any] = {
        "name": "toy",
        "title": "a toy",
        "reference": "nowhere",
        "says": "nothing",
        "grid": ({"n": 50}, {"n": 100}),
        "trial": trial,
        "repeats": 5,
        "expectations": (),
        "draw": lambda results, figure: None,
    }
    return Experiment(**{**settings, **changes})


def test_a_second_run_of_one_table_is_refused_while_the_first_goes_on(tmp_path: Path) -> None:
    seen: list[str] = []

    def beside(cell: Cell, rng: np.random.Generator) -> list[Row]:
        with pytest.raises(BlockingIOError, match=r"another process is writing this file: .*toy\.csv"):
            run(toy(), tmp_path, jobs=1)
        run(toy(name="other"), tmp_path, jobs=1)  # another table in the same folder is no matter
        seen.append("refused")
        return trial(cell, rng)

    path = run(toy(trial=beside, repeats=1), tmp_path, jobs=1)
    assert seen == ["refused", "refused"]
    assert {rate.repeats for rate in read_results(path).rates} == {1}
    assert not list(tmp_path.glob("*.lock"))


def test_a_run_that_was_killed_keeps_nobody_out(tmp_path: Path) -> None:
    """Killed, as by kill -9, in its third trial, with the lock in its hands."""
    code = f"""
import os, signal, sys
sys.path.insert(0, {str(Path(__file__).parent)!r})
from pathlib import Path
import test_promises as toys
calls = []
def dying(cell, rng):
    calls.append(1)
    if len(calls) == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    return toys.trial(cell, rng)
toys.run(toys.toy(trial=dying), Path({str(tmp_path / "killed")!r}), jobs=1)
"""
    killed = subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False)
    assert killed.returncode == -signal.SIGKILL
    whole = run(toy(), tmp_path / "whole", jobs=1).read_bytes()
    assert run(toy(), tmp_path / "killed", jobs=1).read_bytes() == whole


def test_rows_that_are_there_twice_are_refused_by_whoever_reads_them(tmp_path: Path) -> None:
    path = run(toy(), tmp_path, jobs=1)
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    path.write_text("".join([*lines, lines[3]]), encoding="utf-8")
    with pytest.raises(ValueError, match=r"toy\.csv` has rows twice, which are no independent repeats"):
        read_results(path)
    with pytest.raises(ValueError, match=r"toy\.csv` has rows twice"):
        run(toy(), tmp_path, jobs=1)


@pytest.mark.parametrize("kept", [1, 5, 20])
def test_a_last_row_that_is_cut_off_is_left_out_when_a_table_is_read(tmp_path: Path, kept: int) -> None:
    path = run(toy(), tmp_path, jobs=1)
    *lines, last = path.read_text(encoding="utf-8").splitlines(keepends=True)
    path.write_text("".join([*lines, last[:kept]]), encoding="utf-8")
    assert sorted(rate.repeats for rate in read_results(path).rates) == [4, 5, 5, 5]


def test_a_stamp_that_is_cut_off_is_named(tmp_path: Path) -> None:
    run(toy(), tmp_path, jobs=1)
    stamp = tmp_path / "toy.run.json"
    stamp.write_bytes(stamp.read_bytes()[:20])
    with pytest.raises(ValueError, match=r"toy.run.json` must say which seed and grid .* but is truncated"):
        run(toy(), tmp_path, jobs=1)


def test_a_full_disk_leaves_tables_and_stamps_as_they_were(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    path = run(toy(), tmp_path, jobs=1)
    before = {file.name: file.read_bytes() for file in tmp_path.iterdir()}
    monkeypatch.setattr(os, "fsync", full)
    for work in (
        lambda: run(toy(), tmp_path, jobs=1),
        lambda: sort_records(path, lambda record: record["repeat"]),
        lambda: write_records(path, ("a",), [{"a": "1"}]),
    ):
        with pytest.raises(OSError, match="No space left on device"):
            work()
    assert {file.name: file.read_bytes() for file in tmp_path.iterdir()} == before


def test_a_run_waits_for_nobody_who_only_reads(tmp_path: Path) -> None:
    path = run(toy(repeats=2), tmp_path, jobs=1)
    with only_writer(path):
        assert {rate.repeats for rate in read_results(path).rates} == {2}
