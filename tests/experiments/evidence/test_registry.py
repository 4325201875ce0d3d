"""The room of evidence: what is in it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import experiments.evidence
from experiments.evidence import EXPERIMENTS
from experiments.framework.base import Experiment
from experiments.framework.table import GRID
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


def test_the_command_lists_the_evidence(command: Callable[..., Any]) -> None:
    ended = command("evidence", "list")
    assert ended.exit_code == 0
    assert [line.split()[0] for line in ended.stdout.splitlines()] == list(EXPERIMENTS)
