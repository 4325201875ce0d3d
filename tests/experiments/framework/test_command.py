"""``python -m experiments``: the commands of a collection, and how they end."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from experiments.__main__ import run as run_commands
from experiments.framework.base import Cell, Experiment, Row
from experiments.framework.collection import Collection
from experiments.framework.command import commands_of
from experiments.framework.expectations import below
from experiments.framework.run import run
from experiments.framework.table import COLUMNS, read_records, read_results, write_records
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
    assert {path.stem for path in (out / "figures").iterdir()} == {"kef-power", "kef-power-boundary"}
    assert {path.suffix for path in (out / "figures").iterdir()} == {".png", ".svg"}


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
    assert ended.stderr == "steinball: error: `outlier` is no experiment: did you mean `outliers`?\n"


def test_a_missing_table_is_an_error_that_says_what_to_run(command: Command, tmp_path: Path) -> None:
    ended = command("paper", "check", "weights", "--out", str(tmp_path))
    assert ended.exit_code == 2
    assert "paper run weights" in ended.stderr


def sure(cell: Cell, rng: np.random.Generator) -> list[Row]:
    """A test that always rejects."""
    return [{"test": "sure", "n": cell["n"], "kind": "sure", "rejected": 1, "pvalue": 0.01, "seconds": 0.0}]


def toy(trial: Any = sure) -> Collection:
    """Two cells, one of which has a claim that it misses."""
    found = Experiment(
        name="toy", title="a toy", reference="nowhere", says="Nothing.", grid=({"n": 1}, {"n": 2}), trial=trial,
        repeats=2, again=5, expectations=(below("never", 0.5, test="sure", axes={"n": (2,)}),),
        draw=lambda results, figure: None,
    )  # fmt: skip
    return Collection("toy", "A toy.", "# Toys", {"toy": found})


def repeats(path: Path) -> dict[str, int]:
    return {row.where["n"]: row.repeats for row in read_results(path).rates}


@pytest.fixture
def toys(command_of: Callable[..., Command]) -> Command:
    """The commands of the toy."""
    app = commands_of(toy())
    return command_of(lambda: run_commands(app), "toys")


def test_a_run_looks_again_at_cells_that_miss_unless_repeats_are_stated(toys: Command, tmp_path: Path) -> None:
    options = ["--out", str(tmp_path), "--jobs", "1"]
    assert toys("run", "toy", *options, "--repeats", "2").exit_code == 0
    assert repeats(tmp_path / "toy.csv") == {"1": 2, "2": 2}
    assert toys("run", "toy", *options).exit_code == 0
    assert repeats(tmp_path / "toy.csv") == {"1": 2, "2": 5}


def test_a_collection_has_its_own_check_and_page(toys: Command, tmp_path: Path) -> None:
    out = ["--out", str(tmp_path)]
    assert toys("run", "all", "--jobs", "1", *out).exit_code == 0
    assert toys("check", "all", *out).exit_code == 1
    assert toys("page", *out, "--to", str(tmp_path / "page")).exit_code == 0
    index, page = ((tmp_path / "page" / name).read_text(encoding="utf-8") for name in ("index.md", "toy.md"))
    assert index.startswith("# Toys\n\n| experiment |")
    assert "1 of 2 cells missed a claim at 2 repeats and were extended to 5" in page
    assert (tmp_path / "page" / "figures" / "toy.png").exists()
    assert read_results(tmp_path / "page" / "tables" / "toy.csv").rates.one(n=2, kind="sure").repeats == 5
    assert toys("check", "toy", "--out", str(tmp_path / "nowhere")).exit_code == 2


@pytest.mark.parametrize("name", ["paper", "evidence"])
def test_both_collections_have_the_same_commands(command: Command, name: str) -> None:
    for each in ("list", "run", "figure", "check", "page"):
        ended = command(name, each, "--help")
        assert ended.exit_code == 0
        assert f"{name} {each}" in ended.stdout


@pytest.mark.parametrize(
    "arguments",
    [
        ("paper", "run", "weights", "--variant", "nonsense"),
        ("paper", "run", "weights", "--repeats", "0"),
        ("paper", "run", "weights", "--repeats", "many"),
        ("paper", "run"),
        ("paper", "paint"),
        ("figures",),
    ],
)
def test_whatever_is_wrong_ends_with_2_and_nothing_on_stdout(
    command: Command, arguments: tuple[str, ...], tmp_path: Path
) -> None:
    out = ["--out", str(tmp_path)] if "weights" in arguments else []
    ended = command(*arguments, *out)
    assert ended.exit_code == 2
    assert ended.stdout == ""
    assert ended.stderr


def stopped(cell: Cell, rng: np.random.Generator) -> list[Row]:
    raise KeyboardInterrupt


def broken(cell: Cell, rng: np.random.Generator) -> list[Row]:
    raise ZeroDivisionError("by\nzero")


@pytest.mark.parametrize(
    ("trial", "code", "line"),
    [(stopped, 130, "steinball: interrupted\n"), (broken, 2, "steinball: error: ZeroDivisionError: by zero\n")],
)
def test_a_trial_that_ends_badly_ends_the_command_in_one_line(
    command_of: Callable[..., Command], trial: Any, code: int, line: str, tmp_path: Path
) -> None:
    app = commands_of(toy(trial))
    ended = command_of(lambda: run_commands(app), "toys")("run", "toy", "--jobs", "1", "--out", str(tmp_path))
    assert (ended.exit_code, ended.stdout, ended.stderr) == (code, "", line)
