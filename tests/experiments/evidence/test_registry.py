"""The room of evidence: what is in it, and its command."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import experiments.evidence
from experiments.evidence import EVIDENCE, EXPERIMENTS
from experiments.framework.base import Cell, Experiment, Row
from experiments.framework.collection import Collection
from experiments.framework.command import app, commands_of, evidence_app
from experiments.framework.expectations import below
from experiments.framework.table import GRID, read_results
from experiments.paper import EXPERIMENTS as PAPER

pytestmark = pytest.mark.exact

ROOM = Path(experiments.evidence.__file__).parent


def test_every_file_with_an_experiment_is_registered() -> None:
    texts = {path.stem: path.read_text(encoding="utf-8") for path in ROOM.glob("*.py")}
    holding = {name for name, text in texts.items() if "\nEXPERIMENT = " in text}
    assert holding == {experiment.trial.__module__.rpartition(".")[2] for experiment in EXPERIMENTS.values()}


def test_no_name_is_taken_twice() -> None:
    assert not set(EXPERIMENTS) & set(PAPER)
    assert all(name == experiment.name for name, experiment in EXPERIMENTS.items())


@pytest.mark.parametrize("found", EXPERIMENTS.values(), ids=lambda e: e.name)
def test_a_piece_of_evidence_has_claims_and_cells_in_the_words_of_the_table(found: Experiment) -> None:
    assert found.expectations
    assert {column for cell in found.grid for column in cell} <= set(GRID)
    assert len({str(sorted(cell.items())) for cell in found.grid}) == len(found.grid)


def test_its_tables_and_page_have_folders_of_their_own() -> None:
    assert (EVIDENCE.out, EVIDENCE.page) == (Path("out/evidence"), Path("docs/evidence"))


def test_both_collections_have_the_same_commands() -> None:
    def names(found: Any) -> list[str]:
        return [command.name for command in found.registered_commands]

    assert names(app) == names(evidence_app) == ["list", "run", "figure", "check", "page"]


def test_a_missing_table_names_the_command_that_makes_it(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="steinball evidence run edge"):
        EVIDENCE.results(EVIDENCE.experiment("edge"), tmp_path)


def test_an_unknown_name_is_an_error_with_a_suggestion() -> None:
    with pytest.raises(ValueError, match="did you mean `edge`"):
        EVIDENCE.experiment("egde")
    with pytest.raises(ValueError, match="steinball evidence list"):
        EVIDENCE.experiment("zzz")


Command = Callable[..., Any]


def sure(cell: Cell, rng: np.random.Generator) -> list[Row]:
    """A test that always rejects."""
    return [{"test": "sure", "n": cell["n"], "kind": "sure", "rejected": 1, "pvalue": 0.01, "seconds": 0.0}]


def toy() -> Collection:
    """Two cells, one of which has a claim that it misses."""
    found = Experiment(
        name="toy", title="a toy", reference="nowhere", says="Nothing.", grid=({"n": 1}, {"n": 2}), trial=sure,
        repeats=2, again=5, expectations=(below("never", 0.5, test="sure", axes={"n": (2,)}),),
        draw=lambda results, figure: None,
    )  # fmt: skip
    return Collection("toy", "A toy.", "# Toys", {"toy": found})


def repeats(path: Path) -> dict[str, int]:
    return {row.where["n"]: row.repeats for row in read_results(path).rates}


def test_a_run_looks_again_at_cells_that_miss_unless_repeats_are_stated(tmp_path: Path) -> None:
    runner, app = CliRunner(), commands_of(toy())
    short = runner.invoke(app, ["run", "toy", "--out", str(tmp_path / "a"), "--jobs", "1", "--repeats", "2"])
    assert short.exit_code == 0, short.output
    assert repeats(tmp_path / "a" / "toy.csv") == {"1": 2, "2": 2}
    whole = runner.invoke(app, ["run", "toy", "--out", str(tmp_path / "a"), "--jobs", "1"])
    assert whole.exit_code == 0, whole.output
    assert repeats(tmp_path / "a" / "toy.csv") == {"1": 2, "2": 5}


def test_a_collection_has_its_own_check_and_page(tmp_path: Path) -> None:
    runner, app, out = CliRunner(), commands_of(toy()), ["--out", str(tmp_path)]
    assert runner.invoke(app, ["run", "all", "--jobs", "1", *out]).exit_code == 0
    assert runner.invoke(app, ["check", "all", *out]).exit_code == 1
    assert runner.invoke(app, ["page", *out, "--to", str(tmp_path / "page")]).exit_code == 0
    page = (tmp_path / "page" / "index.md").read_text(encoding="utf-8")
    assert page.startswith("# Toys\n\n| experiment |")
    assert "1 of 2 cells missed a claim at 2 repeats and were extended to 5" in page
    assert (tmp_path / "page" / "figures" / "toy.png").exists()
    assert read_results(tmp_path / "page" / "tables" / "toy.csv").rates.one(n=2, kind="sure").repeats == 5
    missing = runner.invoke(app, ["check", "toy", "--out", str(tmp_path / "nowhere")])
    assert missing.exit_code == 2


def test_the_command_lists_the_evidence(command: Command) -> None:
    ended = command("evidence", "list")
    assert ended.exit_code == 0
    assert [line.split()[0] for line in ended.stdout.splitlines()] == list(EXPERIMENTS)
