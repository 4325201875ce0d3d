"""``steinball paper``."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from experiments.framework.run import run
from experiments.framework.table import COLUMNS, read_records, write_records
from experiments.paper import EXPERIMENTS, experiment

pytestmark = pytest.mark.paper

Command = Callable[..., Any]


@pytest.fixture
def out(tmp_path: Path) -> Path:
    run(experiment("kef-power"), tmp_path, repeats=3, jobs=1)
    return tmp_path


def test_list_names_every_experiment(command: Command) -> None:
    ended = command("paper", "list")
    assert ended.exit_code == 0
    assert [line.split()[0] for line in ended.stdout.splitlines()] == list(EXPERIMENTS)


def test_run_writes_the_table_and_says_where(command: Command, tmp_path: Path) -> None:
    options = ["--repeats", "2", "--jobs", "1", "--seed", "3", "--variant", "text", "--out", str(tmp_path)]
    ended = command("paper", "run", "kef-power", *options)
    assert ended.exit_code == 0, ended.stderr
    assert str(tmp_path / "kef-power.csv") in ended.stdout
    assert {r["variant"] for r in read_records(tmp_path / "kef-power.csv")} == {"text"}


def test_figure_writes_png_and_svg(command: Command, out: Path) -> None:
    ended = command("paper", "figure", "kef-power", "--out", str(out), "--to", str(out / "figures"))
    assert ended.exit_code == 0, ended.stderr
    assert sorted(path.name for path in (out / "figures").iterdir()) == ["kef-power.png", "kef-power.svg"]


def _planted(out: Path, rejected: Callable[[dict[str, str]], bool]) -> None:
    """The table of kef-power with decisions of our choosing, a hundred of each."""
    cells = [r for r in read_records(out / "kef-power.csv") if r["repeat"] == "0"]
    rows = [{**r, "repeat": str(k), "rejected": str(int(rejected(r)))} for r in cells for k in range(100)]
    write_records(out / "kef-power.csv", COLUMNS, rows)


def test_check_ends_with_0_when_everything_holds(command: Command, out: Path) -> None:
    _planted(out, lambda r: float(r["offset"]) >= (2.0 if r["test"] == "r-ksd" else 1.0))
    ended = command("paper", "check", "kef-power", "--out", str(out))
    assert ended.exit_code == 0, ended.stdout
    assert ", 0 missed\n" in ended.stdout


def test_check_ends_with_1_on_a_planted_miss(command: Command, out: Path) -> None:
    _planted(out, lambda r: float(r["offset"]) >= 1.0 and r["test"] != "r-ksd")
    ended = command("paper", "check", "kef-power", "--out", str(out))
    assert ended.exit_code == 1
    assert "MISSES    r-ksd at offset=2: 0.000" in ended.stdout


def test_an_unknown_name_is_an_error_with_a_suggestion(command: Command, tmp_path: Path) -> None:
    ended = command("paper", "run", "outlier", "--out", str(tmp_path))
    assert ended.exit_code == 2
    assert "did you mean `outliers`?" in ended.stderr


def test_a_missing_table_is_an_error_that_says_what_to_run(command: Command, tmp_path: Path) -> None:
    ended = command("paper", "check", "weights", "--out", str(tmp_path))
    assert ended.exit_code == 2
    assert "paper run weights" in ended.stderr
